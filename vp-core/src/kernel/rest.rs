//! Saving a simulation at rest, and continuing it in another one.
//!
//! At rest nothing is under way: no process is runnable, nothing is notified, no process holds time. Then the
//! kernel's only state from the past is a few counts and the numbers of the sources. Models save their own
//! state.

use super::Simulation;
use crate::observe::{SourceInfo, SourceKind};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Work that is still under way in a simulation that is not at rest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// Something happens by itself, then at the earliest.
    #[error("something is due at {0}")]
    Due(Time),
    /// A process waits for an answer from outside.
    #[error("an answer from outside is awaited")]
    Held,
}

/// Reason for which a simulation cannot continue from the saved state of another one: it is not built in the same way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// A source reports another kind of observation, or does not exist.
    #[error("`{0}` is not observed as it was")]
    Source(String),
    /// The saved numbers are none that a simulation comes to.
    #[error("it stands at {0}, with counts that no run comes to")]
    Counts(Time),
    /// The simulation that was built has something to do by itself.
    #[error("what is built does not come to rest by itself: {0}")]
    Busy(#[from] Busy),
}

/// State of a simulation that is at rest ([`Simulation::rest`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    now: Time,
    active_until: Time,
    delta_cycles: u64,
    /// True if something has run since the last delta cycle.
    has_run: bool,
    activations: u64,
    sources: Vec<Announced>,
}

/// A source, as it was announced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Announced {
    name: String,
    kind: SourceKind,
    /// True if the source has an owner; if so, announcing a similar source makes a new one.
    has_owner: bool,
}

impl Rest {
    /// The simulated time.
    pub fn now(&self) -> Time {
        self.now
    }
}

impl Simulation {
    /// Time since which nothing has happened, as far as runs that are over tell.
    ///
    /// ```
    /// use vp_core::{Simulation, Time};
    /// let mut simulation = Simulation::new();
    /// let sim = simulation.sim();
    /// sim.clone().process("p", async move { sim.wait(Time::ns(3)).await });
    /// simulation.run_until(Time::ns(9));
    /// assert_eq!((simulation.active_until(), simulation.now()), (Time::ns(3), Time::ns(9)));
    /// ```
    pub fn active_until(&self) -> Time {
        Time::ps(self.kernel.active_until.get())
    }

    /// Returns the state of the simulation, if it is at rest.
    ///
    /// # Errors
    /// What is under way.
    pub fn rest(&self) -> Result<Rest, Busy> {
        let kernel = &self.kernel;
        if kernel.holds.get() > 0 {
            return Err(Busy::Held);
        }
        if let Some(due) = self.next_time() {
            return Err(Busy::Due(due));
        }
        let announced = |(SourceInfo { name, kind }, has_owner): (SourceInfo, bool)| Announced {
            name: name.to_string(),
            kind,
            has_owner,
        };
        Ok(Rest {
            now: self.now(),
            active_until: self.active_until(),
            delta_cycles: self.delta_cycles(),
            has_run: kernel.ran.get(),
            activations: self.activations(),
            sources: kernel.observing.sources().into_iter().map(announced).collect(),
        })
    }

    /// A simulation at the time at which another one was at rest. If the same models are built in it, they
    /// announce the same sources and get the same numbers. Observers are told nothing before
    /// [`Simulation::resume`].
    ///
    /// ```
    /// use vp_core::{Simulation, Time};
    /// /// Counts what it is asked for.
    /// fn build(simulation: &Simulation) -> vp_core::Event {
    ///     let (sim, ask) = (simulation.sim(), simulation.sim().work_event("ask"));
    ///     let asked = ask.clone();
    ///     sim.clone().server("counter", async move {
    ///         loop {
    ///             asked.wait().await;
    ///             sim.wait(Time::ns(2)).await;
    ///         }
    ///     });
    ///     ask
    /// }
    ///
    /// let mut first = Simulation::new();
    /// let ask = build(&first);
    /// ask.notify_after(Time::ns(5));
    /// assert!(first.rest().is_err());
    /// first.run_until(Time::ns(10));
    /// let rest = first.rest().unwrap();
    ///
    /// let mut second = Simulation::at_rest(&rest).unwrap();
    /// let ask = build(&second);
    /// second.resume(&rest).unwrap();
    /// assert_eq!((second.now(), second.activations()), (Time::ns(10), first.activations()));
    /// ask.notify();
    /// second.run();
    /// assert_eq!(second.now(), Time::ns(12));
    /// ```
    ///
    /// # Errors
    /// A number is larger than a simulation can have.
    pub fn at_rest(rest: &Rest) -> Result<Simulation, ResumeError> {
        // Far from the end of all numbers, so that there is room to go on.
        let most = rest.now.as_ps().max(rest.delta_cycles).max(rest.activations);
        if most > u64::MAX / 2 || rest.active_until > rest.now {
            return Err(ResumeError::Counts(rest.now));
        }
        let simulation = Simulation::new();
        let sim = simulation.sim();
        for Announced { name, kind, .. } in &rest.sources {
            sim.source(name, *kind);
        }
        simulation.kernel.now.set(rest.now.as_ps());
        simulation.kernel.observing.clear_source_owners();
        simulation.kernel.observing.mute(true);
        Ok(simulation)
    }

    /// Lets what was built since [`Simulation::at_rest`] come to rest, and continues from there, with the
    /// counts of the saved simulation and with reports to observers.
    ///
    /// # Errors
    /// It does not come to rest, or has announced other sources. The simulation cannot be used then.
    pub fn resume(&mut self, rest: &Rest) -> Result<(), ResumeError> {
        self.run_until(rest.now);
        self.rest()?;
        let kernel = &self.kernel;
        let sources = kernel.observing.sources();
        for (at, (source, has_owner)) in sources.iter().enumerate() {
            let before = rest.sources.get(at);
            // One that only comes with what it reports has its owner all the same.
            if before.is_none_or(|before| *has_owner && !before.has_owner) {
                return Err(ResumeError::Source(source.name.to_string()));
            }
        }
        let ownerless = rest.sources.iter().enumerate().filter(|(_, source)| !source.has_owner);
        kernel.observing.set_ownerless(ownerless.map(|(at, _)| at as u32).collect());
        kernel.observing.mute(false);
        kernel.schedule.set_activations(rest.activations);
        kernel.count_deltas_from(rest.delta_cycles);
        kernel.ran.set(rest.has_run);
        kernel.active_until.set(rest.active_until.as_ps());
        Ok(())
    }

    /// Lets what was built since [`Simulation::end_all`] come to rest, at the present time. Observers are told nothing of it: it is what a
    /// saved state was before.
    ///
    /// # Errors
    /// It does not come to rest.
    pub fn rest_unobserved(&mut self) -> Result<(), Busy> {
        self.kernel.observing.mute(true);
        self.run_until(self.now());
        self.kernel.observing.mute(false);
        self.rest().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{EventHash, LevelUnit, What};
    use std::rc::Rc;

    /// Reports a level each time that it is told to.
    fn build(simulation: &Simulation, name: &str) -> (crate::Event, Rc<EventHash>) {
        let (sim, hash) = (simulation.sim(), Rc::new(EventHash::default()));
        sim.observe(hash.clone());
        let source = sim.source(name, SourceKind::Level { bits: 8, unit: LevelUnit::Bytes });
        let tell = sim.work_event("tell");
        let told = tell.clone();
        sim.clone().server("teller", async move {
            sim.report(source, What::Level(1));
            loop {
                told.wait().await;
                sim.report(source, What::Level(2));
            }
        });
        (tell, hash)
    }

    #[test]
    fn what_goes_on_reports_what_the_other_would_have() {
        let mut first = Simulation::new();
        first.sim().source("before", SourceKind::Warnings);
        let (tell, hash) = build(&first, "fill");
        first.run_until(Time::ns(7));
        let rest = first.rest().unwrap();
        let mut second = Simulation::at_rest(&rest).unwrap();
        let (tell_again, resumed) = build(&second, "fill");
        second.resume(&rest).unwrap();
        assert_eq!(resumed.count(), 0, "told what it reported while it came to rest");
        resumed.resume(hash.value(), hash.count());
        for (simulation, tell) in [(&mut first, tell), (&mut second, tell_again)] {
            tell.notify_after(Time::ns(3));
            simulation.run();
        }
        assert_eq!((resumed.value(), resumed.count()), (hash.value(), hash.count()));
        assert_eq!(second.rest(), first.rest());
        // The one without an owner in the second has it there all the same.
        assert_eq!(second.sim().source("before", SourceKind::Warnings).index(), 2);
    }

    #[test]
    fn refuses_to_go_on_with_another_source() {
        let mut first = Simulation::new();
        build(&first, "fill");
        first.run();
        let rest = first.rest().unwrap();
        let mut second = Simulation::at_rest(&rest).unwrap();
        build(&second, "other");
        assert_eq!(second.resume(&rest), Err(ResumeError::Source("other".to_owned())));
    }

    #[test]
    fn is_not_at_rest_while_something_is_due_or_time_is_held() {
        let mut simulation = Simulation::new();
        let later = simulation.sim().event("later");
        later.notify_after(Time::ns(4));
        assert_eq!(simulation.rest(), Err(Busy::Due(Time::ns(4))));
        simulation.run();
        let hold = simulation.sim().hold();
        assert_eq!(simulation.rest(), Err(Busy::Held));
        drop(hold);
        assert!(simulation.rest().is_ok());
    }
}
