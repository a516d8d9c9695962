//! Tests of what the buffer promises to CDMA and CSC.

use super::*;
use vp_core::{Simulation, Time};

fn fetch() -> Fetch {
    Fetch {
        registers: None,
        precision: Precision::Int8,
        slices: 2,
        slice_elements: 1,
        weights: true,
        clear_data: false,
        clear_weights: false,
        cancelled: Cell::new(false),
    }
}

fn line(value: i8) -> Vec<Elements> {
    vec![Elements::Int8(vec![value])]
}

#[test]
fn a_full_buffer_takes_the_next_line_when_one_is_released() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let buffer = Buffer::new(&sim, 1, Rc::default());
    let (cdma, clock, seen) = (buffer.clone(), sim.clone(), Rc::new(Cell::new(Time::ZERO)));
    let when = seen.clone();
    sim.process("cdma", async move {
        let fetch = fetch();
        for value in 0..3 {
            while !cdma.has_entries(2, 5) {
                cdma.freed().await;
            }
            cdma.take_entries(2);
            cdma.put_slices(&fetch, 0, 2, line(value));
        }
        when.set(clock.now());
    });
    let (csc, clock) = (buffer.clone(), sim.clone());
    sim.process("csc", async move {
        csc.slices(2).await;
        clock.wait(Time::ns(7)).await;
        csc.release_slices(1);
    });
    simulation.run();
    assert_eq!(seen.get(), Time::ns(7));
    let values = buffer.with_slices(2, |slices| slices.flat_map(Elements::values).collect::<Vec<_>>());
    assert_eq!(values, [1, 2]);
}

#[test]
fn who_asks_is_told_how_full_it_is() {
    let simulation = Simulation::new();
    let occupancy = Rc::<Occupancy>::default();
    let buffer = Buffer::new(&simulation.sim(), 8, occupancy.clone());
    let (told, seen) = (Rc::new(RefCell::new(Vec::new())), fetch());
    let fills = told.clone();
    buffer.take_entries(1);
    occupancy.on_buffer(move |_, fill| fills.borrow_mut().push((fill.data, fill.weights)));
    buffer.take_entries(2);
    buffer.put_slices(&seen, 0, 3, line(1));
    buffer.start_weights(&seen, 0, None);
    buffer.take_weight_room(Stored::Weights, 8);
    buffer.put_weights(0, Stored::Weights, &[0; 8]);
    buffer.release_slices(1);
    buffer.release_weights(0, 8);
    assert_eq!(*told.borrow(), [(24, 0), (24, 8), (0, 8), (0, 0)]);
}

#[test]
fn weights_are_read_where_they_lie_and_released_from_the_front() {
    let mut simulation = Simulation::new();
    let buffer = Buffer::new(&simulation.sim(), 1, Rc::default());
    buffer.start_weights(&fetch(), 4, None);
    let cdma = buffer.clone();
    simulation.sim().process("cdma", async move {
        assert!(
            !cdma.has_weight_room(Stored::Weights, 12, 10) && cdma.has_weight_room(Stored::Weights, 8, 10)
        );
        cdma.take_weight_room(Stored::Weights, 8);
        cdma.put_weights(4, Stored::Weights, &[0, 1, 2, 3, 4, 5, 6, 7]);
        cdma.weights_usable(4, 8, Time::ns(3));
        assert!(!cdma.has_weight_room(Stored::Weights, 4, 10));
        cdma.freed().await;
        assert!(cdma.has_weight_room(Stored::Weights, 4, 10));
    });
    let csc = buffer.clone();
    simulation.sim().process("csc", async move {
        assert_eq!(csc.weights(4, 8).await, Some(Time::ns(3)));
        csc.release_weights(4, 3);
    });
    simulation.run();
    assert_eq!(buffer.weight_bytes(4, 3..6), [3, 4, 5]);
}

#[test]
fn what_nobody_wants_any_more_leaves_no_trace() {
    let simulation = Simulation::new();
    let buffer = Buffer::new(&simulation.sim(), 1, Rc::default());
    let fetch = fetch();
    buffer.start_weights(&fetch, 0, None);
    buffer.state.borrow_mut().entries = 2;
    buffer.take_weight_room(Stored::Weights, 4);
    buffer.cancel(0, &fetch);
    buffer.put_slices(&fetch, 0, 2, line(1));
    buffer.put_weights(0, Stored::Weights, &[0; 4]);
    let state = buffer.state.borrow();
    assert_eq!((state.entries, state.rooms[0].taken, state.slices.len()), (0, 0, 0));
}
