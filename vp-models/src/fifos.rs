//! Levels of the FIFOs between units: told as they change, only while somebody asks for them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::observe::LevelUnit;
use vp_core::{Name, Time};

/// A FIFO, as its level is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FifoInfo {
    /// Name of the FIFO, such as `nvdla.cdp_rdma.read_fifo`.
    pub name: Name,
    /// Unit of its level.
    pub unit: LevelUnit,
}

/// Listener that is told of a change: the FIFO's number, when, and by how much.
type OnChange = Box<dyn Fn(usize, Time, i64)>;

/// All FIFOs of a platform whose levels can be told.
///
/// They are all empty at first, and after a reset.
#[derive(Default)]
pub struct Fifos {
    known: RefCell<Vec<FifoInfo>>,
    is_watched: Cell<bool>,
    on_change: RefCell<Vec<OnChange>>,
}

impl Fifos {
    /// All there are, each at the place of its number.
    pub fn all(&self) -> Vec<FifoInfo> {
        self.known.borrow().clone()
    }

    /// Tells this, from now on, whenever a level changes: the FIFO's number, when, and by how much. That may lie ahead, where
    /// it is known; a reset before then has it not happen.
    pub fn on_change(&self, told: impl Fn(usize, Time, i64) + 'static) {
        self.on_change.borrow_mut().push(Box::new(told));
        self.is_watched.set(true);
    }

    /// The level of this FIFO. Several of one name are one: a client has one FIFO at each memory interface, of which a layer
    /// uses one.
    pub(crate) fn level(self: &Rc<Self>, name: impl Into<Name>, unit: LevelUnit) -> FifoLevel {
        let info = FifoInfo { name: name.into(), unit };
        let mut known = self.known.borrow_mut();
        let number = known.iter().position(|it| it.name == info.name).unwrap_or_else(|| {
            known.push(info);
            known.len() - 1
        });
        FifoLevel { fifos: self.clone(), number }
    }
}

/// Handle through which a FIFO tells its level.
pub(crate) struct FifoLevel {
    fifos: Rc<Fifos>,
    number: usize,
}

impl FifoLevel {
    /// Returns true if somebody asks for the level.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.fifos.is_watched.get()
    }

    /// Changes the level at that time, which may lie ahead.
    #[inline]
    pub(crate) fn change(&self, time: Time, by: i64) {
        if self.is_watched() {
            self.tell(time, by);
        }
    }

    fn tell(&self, time: Time, by: i64) {
        self.fifos.on_change.borrow().iter().for_each(|told| told(self.number, time, by));
    }
}
