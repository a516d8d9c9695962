//! The kernel's order of events beside SystemC's: the scenarios of `tests/systemc`, line by line with what
//! SystemC printed (`tests/data/systemc-orders`).
//!
//! Where the kernel differs, what it does instead is beside the record, and `README.md` there says why.

mod channels;
mod clocks;
mod events;
mod life;
mod methods;
mod processes;
mod recorded;
mod scene;
mod waits;

use scene::{Scenario, Scene};
use vp_core::Simulation;

/// Every scenario, by the name it has in the records.
fn scenarios() -> impl Iterator<Item = Scenario> {
    [events::ALL, waits::ALL, methods::ALL, channels::ALL, clocks::ALL, processes::ALL, life::ALL]
        .into_iter()
        .flatten()
        .copied()
}

/// Plays a scenario, and returns what happens in it, in order.
fn play(run: fn(&mut Simulation, &Scene)) -> Vec<String> {
    let mut simulation = Simulation::new();
    let scene = Scene::new(&simulation.sim());
    run(&mut simulation, &scene);
    scene.take()
}
