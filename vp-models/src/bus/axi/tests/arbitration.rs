//! Requests that come in the cycle of a grant.

use super::*;
use vp_core::observe::Stage;

/// Returns the clients in the order of their bursts, of which the second client asks for its own in the fifth cycle: at once, or when what
/// wakes it has been woken in that cycle itself.
fn order(is_woken_in_turn: bool) -> Vec<u32> {
    let case = Case {
        latency: Latency::Fixed(20),
        beats: 1,
        outstanding: [64, 64],
        pipeline: PipelineConfig { before_count: 3, behind_count: 2 },
        beats_limit: 64,
        bandwidth: None,
        duplex: false,
        memory: Memory::Inside,
        clients: Vec::new(),
    };
    let mut simulation = Simulation::new();
    let sim = simulation.sim();
    let interconnect = Interconnect::new(&sim, "axi", config(&case), Rc::new(Ram::new(0..MEMORY)));
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
