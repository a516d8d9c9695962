//! The interface of a memory that takes its own time.
//!
//! A memory whose latency does not depend on what else it has to do is described by [`super::AxiConfig`], and an interface
//! knows at once when its answers come. Others (a DRAM, a cache, a memory with several masters) do not know it themselves
//! before they have chosen whom to serve next. These are asked through a [`TimedPort`]; data still comes from the
//! [`super::AxiTarget`]: the port says when, never what.

use super::Burst;
use std::rc::Rc;
use vp_core::{Event, Time};

/// The receiver of the tags of served transfers.
pub type Served = Rc<dyn Fn(u64)>;

/// One master's port at a memory. Reads and writes have separate queues.
pub trait TimedPort {
    /// Returns true if another transfer of that direction is taken now.
    fn has_room(&self, write: bool) -> bool;

    /// Fires when there may be room again.
    fn room(&self, write: bool) -> &Event;

    /// Takes a transfer, identified by `tag`. For a write, all data is there.
    fn request(&self, write: bool, tag: u64, burst: &Burst);

    /// Sets who is told of reads whose data can be on the bus, or of writes that the memory has taken. They may
    /// be served in another order than that of the requests.
    fn on_served(&self, write: bool, served: Served);

    /// Hears when the read that it is just telling of is taken from the bus: until then its data stands there.
    fn taken(&self, _at: Time) {}
}
