//! Scene that the scenarios share: processes and events by name, and a record of who did what when.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::future::Future;
use std::ops::Deref;
use std::rc::Rc;
use vp_core::{Event, Process, Sim, Simulation, Time};

/// A scenario, by its name in the records.
pub(crate) type Scenario = (&'static str, fn(&mut Simulation, &Scene));

/// Pairs functions with their names.
macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        /// The scenarios of this file.
        pub(crate) const ALL: &[crate::scene::Scenario] = &[$((stringify!($name), $name)),*];
    };
}
pub(crate) use scenarios;

pub(crate) const fn ns(n: u64) -> Time {
    Time::ns(n)
}

/// A simulation seen from its models, and what they say.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) sim: Sim,
    events: Rc<RefCell<BTreeMap<&'static str, Event>>>,
    lines: Rc<RefCell<Vec<String>>>,
}

impl Scene {
    pub(crate) fn new(sim: &Sim) -> Scene {
        Scene { sim: sim.clone(), events: Rc::default(), lines: Rc::default() }
    }

    /// One line: time in picoseconds, delta cycle, who, what. Who drives the simulation speaks between
    /// delta cycles.
    pub(crate) fn say(&self, who: &str, what: impl Display) {
        let delta = if who == "main" { "-".to_owned() } else { self.sim.delta().to_string() };
        let time = self.sim.now().as_ps();
        self.lines.borrow_mut().push(format!("{time} {delta} {who} {what}"));
    }

    pub(crate) fn take(&self) -> Vec<String> {
        self.lines.take()
    }

    /// The event of that name.
    pub(crate) fn event(&self, name: &'static str) -> Event {
        self.events.borrow_mut().entry(name).or_insert_with(|| self.sim.event(name)).clone()
    }

    pub(crate) fn thread<F>(&self, name: &'static str, body: impl FnOnce(Me) -> F) -> Process
    where
        F: Future<Output = ()> + 'static,
    {
        self.sim.process(name, body(Me { scene: self.clone(), name }))
    }

    pub(crate) fn method(
        &self,
        name: &'static str,
        sensitive: &[&Event],
        mut body: impl FnMut(&Me) + 'static,
    ) -> Process {
        let me = Me { scene: self.clone(), name };
        let method = sensitive.iter().fold(self.sim.method(name), |method, event| method.sensitive(event));
        method.run(move |_| body(&me))
    }

    /// A method that is not called at the start.
    pub(crate) fn quiet_method(
        &self,
        name: &'static str,
        sensitive: &[&Event],
        mut body: impl FnMut(&Me) + 'static,
    ) -> Process {
        let me = Me { scene: self.clone(), name };
        let method = sensitive.iter().fold(self.sim.method(name), |method, event| method.sensitive(event));
        method.dont_initialize().run(move |_| body(&me))
    }
}

/// A process of a scene.
pub(crate) struct Me {
    pub(crate) scene: Scene,
    pub(crate) name: &'static str,
}

impl Deref for Me {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.scene
    }
}

impl Me {
    pub(crate) fn say(&self, what: impl Display) {
        self.scene.say(self.name, what);
    }

    pub(crate) async fn wait(&self, delay: Time) {
        self.sim.wait(delay).await;
    }

    /// Waits for the event of that name.
    pub(crate) async fn on(&self, event: &'static str) {
        self.event(event).wait().await;
    }
}

/// Numbers the calls of a method, from 1.
pub(crate) fn counter() -> impl FnMut() -> u32 {
    let mut calls = 0;
    move || {
        calls += 1;
        calls
    }
}
