//! Requests that come in the cycle of a grant.

use super::*;
use vp_core::observe::Stage;

/// An interface of bursts of a beat, of which the arbiter grants so many at once.
fn case(granted_beats: u32) -> Case {
    Case {
        latency: Latency::Fixed(20),
        beats: 1,
        granted_beats,
        realigns: false,
        outstanding: [64, 64],
        pipeline: PipelineConfig { before_count: 3, behind_count: 2 },
        beats_limit: 64,
        bandwidth: None,
        duplex: false,
        memory: Memory::Inside,
        clients: Vec::new(),
    }
}

/// Returns the clients in the order of their bursts, of which the second client asks for its own in the fifth cycle: at once, or when what
/// wakes it has been woken in that cycle itself.
fn order(is_woken_in_turn: bool) -> Vec<u32> {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let interconnect = Interconnect::new(&sim, "axi", config(&case(1)), Rc::new(Ram::new(0..MEMORY)));
    let seen = Rc::new(TransferLog::default());
    sim.observe(seen.clone());
    let fifo = ReadStreamConfig { capacity: 512, lines: u32::MAX, credit_return: Time::ns(5) };
    let streams = [0, 1].map(|id| ReadStream::new(&interconnect, "client", id, fifo));
    let [first, second] = streams.clone();
    sim.process("first", async move { first.request(0, 96).await });
    let (clock, turn) = (sim.clone(), sim.event("turn"));
    sim.process("second", async move {
        clock.wait_until(Time::ns(5)).await;
        if is_woken_in_turn {
            turn.notify_delta();
            turn.wait().await;
        }
        second.request(0x400, 24).await;
    });
    simulation.run();
    let transfers = seen.0.take();
    let requests = transfers[0].iter().filter(|(_, transfer)| transfer.stage == Stage::Request);
    requests.map(|(_, transfer)| transfer.id).collect()
}

#[test]
fn a_request_counts_in_its_cycle_however_late_in_it_it_comes() {
    let at_once = order(false);
    assert_eq!(at_once.len(), 15);
    assert_eq!(order(true), at_once);
}

/// On nv_full's RTL weights and input ask together: a block of two bursts, one of each of three pieces of input, and blocks of four in between.
#[test]
fn what_the_arbiter_grants_at_once_goes_on_burst_by_burst() {
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let interconnect = Interconnect::new(&sim, "axi", config(&case(4)), Rc::new(Ram::new(0..MEMORY)));
    let seen = Rc::new(TransferLog::default());
    sim.observe(seen.clone());
    let fifo = ReadStreamConfig { capacity: 512, lines: u32::MAX, credit_return: Time::ns(5) };
    let streams = [9, 8].map(|id| ReadStream::new(&interconnect, "client", id, fifo));
    let [weights, input] = streams;
    sim.process("weights", async move { weights.request(16, 80).await });
    sim.process("input", async move {
        for place in [0x400, 0x500, 0x600] {
            input.request(place, 8).await;
        }
    });
    simulation.run();
    let transfers = seen.0.take();
    let requests = transfers[0].iter().filter(|(_, transfer)| transfer.stage == Stage::Request);
    let ids: Vec<u32> = requests.map(|(_, transfer)| transfer.id).collect();
    assert_eq!(ids, [9, 9, 8, 9, 9, 9, 9, 8, 9, 9, 9, 9, 8]);
}
