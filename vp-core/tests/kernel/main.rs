//! Promises of the kernel: the names of the tests are the promises.

mod channels;
mod combine;
mod destructors;
mod determinism;
mod events;
mod life;
mod livelock;
mod methods;
mod observing;
mod processes;
mod reference;

use std::cell::RefCell;
use std::rc::Rc;
use vp_core::{Sim, Time};

/// Notes what happens, in order, with the time in nanoseconds where that matters.
#[derive(Clone)]
struct Log {
    sim: Sim,
    from: Time,
    lines: Rc<RefCell<Vec<String>>>,
}

impl Log {
    fn new(sim: &Sim) -> Log {
        Log { sim: sim.clone(), from: sim.now(), lines: Rc::default() }
    }

    fn say(&self, what: &str) {
        self.lines.borrow_mut().push(what.to_owned());
    }

    fn at(&self, what: &str) {
        self.say(&format!("{what}@{}", (self.sim.now() - self.from).as_ps() / 1_000));
    }

    fn take(&self) -> String {
        self.lines.take().join(" ")
    }
}
