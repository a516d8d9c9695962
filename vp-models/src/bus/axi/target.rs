//! The memory side of an AXI interface: in this process, or behind a socket.

use super::Burst;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;
use vp_core::{Event, Sim};

/// A burst that no memory could serve (an AXI DECERR or SLVERR response).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("no access to 0x{address:x} ({bytes} bytes): {why}")]
pub struct Unmapped {
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes.
    pub bytes: u32,
    /// Description of what is at the address instead, or the reason for which the memory refused.
    pub why: String,
}

/// Answer of a memory.
pub enum Answer<T> {
    /// The access is done.
    Now(Result<T, Unmapped>),
    /// The access is under way; the interface holds simulated time if the answer is not there when its modelled latency
    /// is over.
    Later(Rc<Completion<T>>),
}

/// Takes an answer out of its place, if there is one.
///
/// # Errors
/// It is still to come.
pub(super) fn take_answer<T>(
    place: &mut Option<Answer<T>>,
) -> Result<Option<Result<T, Unmapped>>, Rc<Completion<T>>> {
    match place.take() {
        None => Ok(None),
        Some(Answer::Now(answer)) => Ok(Some(answer)),
        Some(Answer::Later(completion)) => match completion.take() {
            Some(answer) => Ok(Some(answer)),
            None => {
                *place = Some(Answer::Later(completion.clone()));
                Err(completion)
            }
        },
    }
}

/// An answer under way.
pub struct Completion<T> {
    value: RefCell<Option<Result<T, Unmapped>>>,
    done: Event,
    /// Change that a fault makes to the answer.
    change: RefCell<Option<Change<T>>>,
}

/// Change that is made to an answer on its way.
type Change<T> = Box<dyn FnOnce(&mut T)>;

impl<T> Completion<T> {
    /// An answer that has not come yet.
    pub fn new(sim: &Sim, name: &str) -> Rc<Completion<T>> {
        Rc::new(Completion { value: RefCell::new(None), done: sim.event(name), change: RefCell::default() })
    }

    /// The answer has come.
    pub fn complete(&self, mut value: Result<T, Unmapped>) {
        if let (Ok(value), Some(change)) = (&mut value, self.change.take()) {
            change(value);
        }
        *self.value.borrow_mut() = Some(value);
        self.done.notify_delta();
    }

    /// Has the answer changed before it is there, if it is none of an error.
    pub(crate) fn change(&self, change: impl FnOnce(&mut T) + 'static) {
        *self.change.borrow_mut() = Some(Box::new(change));
    }

    /// The answer, if it has come.
    pub(crate) fn take(&self) -> Option<Result<T, Unmapped>> {
        self.value.borrow_mut().take()
    }

    /// Waits until the answer has come, while simulated time stands.
    pub(crate) async fn done(&self, sim: &Sim) {
        while self.value.borrow().is_none() {
            let _hold = sim.hold();
            self.done.wait().await;
        }
    }
}

/// A memory that serves bursts. It is called in the order of the bus; it may answer at once or later.
pub trait AxiTarget {
    /// Reads `burst.bytes` bytes.
    fn read(&self, burst: &Burst) -> Answer<Vec<u8>>;

    /// Appends the bytes to the output, if it can answer at once. `None`: call [`AxiTarget::read`] instead. It
    /// appends nothing unless the read is done.
    fn read_onto(&self, burst: &Burst, onto: &mut Vec<u8>) -> Option<Result<(), Unmapped>> {
        let _ = (burst, onto);
        None
    }

    /// Writes `data`, all of it. Answers when the memory holds it.
    fn write(&self, burst: &Burst, data: &[u8]) -> Answer<()>;
}
