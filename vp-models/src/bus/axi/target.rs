//! The memory side of an AXI interface: in this process, or beyond a socket.

use super::Burst;
use std::cell::RefCell;
use std::rc::Rc;
use vp_core::{Event, Sim};

/// A burst that nobody could serve (an AXI DECERR or SLVERR response).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no memory at 0x{address:x} ({bytes} bytes): {why}")]
pub struct Unmapped {
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes.
    pub bytes: u32,
    /// What there is instead, or why the memory refused.
    pub why: String,
}

/// What a memory answers.
pub enum Answer<T> {
    /// It is done.
    Now(Result<T, Unmapped>),
    /// It is under way; the interface holds simulated time if its modelled latency has passed before.
    Later(Rc<Completion<T>>),
}

/// An answer under way.
pub struct Completion<T> {
    value: RefCell<Option<Result<T, Unmapped>>>,
    done: Event,
}

impl<T> Completion<T> {
    /// An answer that has not come yet.
    pub fn new(sim: &Sim, name: &str) -> Rc<Completion<T>> {
        Rc::new(Completion { value: RefCell::new(None), done: sim.event(name) })
    }

    /// The answer has come.
    pub fn complete(&self, value: Result<T, Unmapped>) {
        *self.value.borrow_mut() = Some(value);
        self.done.notify_delta();
    }

    /// Waits for the answer while simulated time stands.
    pub(crate) async fn wait(&self, sim: &Sim) -> Result<T, Unmapped> {
        loop {
            if let Some(value) = self.value.borrow_mut().take() {
                return value;
            }
            let _hold = sim.hold();
            self.done.wait().await;
        }
    }
}

impl<T> Answer<T> {
    /// The answer, waited for if need be.
    pub(crate) async fn get(self, sim: &Sim) -> Result<T, Unmapped> {
        match self {
            Answer::Now(value) => value,
            Answer::Later(completion) => completion.wait(sim).await,
        }
    }
}

/// A memory that serves bursts. It is asked in the order of the bus; it may answer at once or later.
pub trait AxiTarget {
    /// Reads `burst.bytes` bytes.
    fn read(&self, burst: &Burst) -> Answer<Vec<u8>>;

    /// Writes `data`, all of it. Answers when the memory holds it.
    fn write(&self, burst: &Burst, data: &[u8]) -> Answer<()>;
}
