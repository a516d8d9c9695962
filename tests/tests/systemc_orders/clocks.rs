//! Clocks, and what is clocked by them.

use crate::scene::{Scene, ns, scenarios};
use vp_core::{Clock, Signal, Simulation, Time};

scenarios![clock_edges, clock_of_an_odd_period, clocked_registers];

fn clock_edges(simulation: &mut Simulation, scene: &Scene) {
    let clock = Clock::new(&scene.sim, "clock", ns(10));
    for (name, edge) in [("rising", clock.posedge()), ("falling", clock.negedge())] {
        let line = clock.signal().clone();
        scene.quiet_method(name, &[edge], move |me| me.say(u8::from(line.read())));
    }
    simulation.run_for(ns(32));
}

fn clock_of_an_odd_period(simulation: &mut Simulation, scene: &Scene) {
    let clock = Clock::new(&scene.sim, "clock", Time::ps(5));
    scene.quiet_method("rising", &[clock.posedge()], |me| me.say(1));
    scene.quiet_method("falling", &[clock.negedge()], |me| me.say(0));
    simulation.run_for(Time::ps(12));
}

fn clocked_registers(simulation: &mut Simulation, scene: &Scene) {
    let clock = Clock::new(&scene.sim, "clock", ns(10));
    let (q1, q2) = (Signal::new(&scene.sim, "q1", 0), Signal::new(&scene.sim, "q2", 0));
    let first = q1.clone();
    scene.quiet_method("first", &[clock.posedge()], move |_| first.write(first.read() + 1));
    let (input, output) = (q1.clone(), q2.clone());
    scene.quiet_method("second", &[clock.posedge()], move |_| output.write(input.read()));
    scene.quiet_method("monitor", &[clock.negedge()], move |me| {
        me.say(format!("{} {}", q1.read(), q2.read()));
    });
    simulation.run_for(ns(38));
}
