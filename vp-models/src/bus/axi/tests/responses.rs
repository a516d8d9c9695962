//! Tests of what a client learns of bursts that no memory served.

use super::*;

fn interconnect(simulation: &Simulation, memory: Memory) -> (Rc<Interconnect>, Rc<Slow>) {
    let sim = simulation.sim();
    let config = AxiConfig {
        period: Time::ns(1),
        beat_bytes: 8,
        burst_beats: 2,
        transaction_beats: 2,
        realigns_reads: false,
        address_bits: 64,
        read_outstanding: 8,
        read_pipeline: PipelineConfig { before_count: 3, behind_count: 2 },
        write_outstanding: 8,
        write_pipeline: PipelineConfig { before_count: 1, behind_count: 1 },
        read_latency: Latency::Fixed(5),
        write_latency: Latency::Fixed(3),
        bandwidth: None,
        duplex: false,
        seed: 7,
        request_registers: RegisterKind::Catching,
        write_overlap: false,
        write_gathering: None,
    };
    let ram = Ram::new(0..MEMORY);
    let slow = Rc::new(Slow { sim: sim.clone(), ram, memory, answers: RefCell::default() });
    (Interconnect::new(&sim, "axi", config, slow.clone()), slow)
}

fn run(simulation: &mut Simulation, memory: &Slow) {
    while simulation.run() == Stop::Held {
        memory.answers.take().into_iter().for_each(|answer| answer());
    }
}

const EVERY: [Memory; 3] = [Memory::Inside, Memory::AtOnce, Memory::Later];

#[test]
fn the_first_burst_in_no_memory_is_reported_to_the_taker_of_its_data() {
    for memory in EVERY {
        let mut simulation = Simulation::new();
        let (interconnect, slow) = interconnect(&simulation, memory);
        let config = ReadStreamConfig { capacity: 256, lines: u32::MAX, credit_return: Time::ZERO };
        let [stream, other] = [0, 1].map(|id| ReadStream::new(&interconnect, "reads", id, config));
        let responses = Rc::new(RefCell::new(Vec::new()));
        let (log, from) = (responses.clone(), stream.clone());
        simulation.sim().process("take", async move {
            // Two bursts of memory, and two behind it.
            from.request(MEMORY - 32, 64).await;
            for _ in 0..2 {
                let mut bytes = [1; 32];
                from.take(&mut bytes).await;
                log.borrow_mut().push((bytes, from.take_refused().map(|refused| refused.address)));
            }
            from.request(0, 16).await;
            from.take(&mut [0; 16]).await;
            log.borrow_mut().push(([0; 32], from.take_refused().map(|refused| refused.address)));
        });
        let from = other.clone();
        simulation.sim().process("others", async move {
            from.request(0, 64).await;
            from.take(&mut [0; 64]).await;
        });
        run(&mut simulation, &slow);
        assert_eq!(
            responses.take(),
            [([0; 32], None), ([0; 32], Some(MEMORY)), ([0; 32], None)],
            "{memory:?}"
        );
        assert_eq!(other.take_refused(), None, "{memory:?}");
    }
}

#[test]
fn a_write_that_no_memory_took_is_reported_when_it_is_acknowledged() {
    for memory in EVERY {
        let mut simulation = Simulation::new();
        let (interconnect, slow) = interconnect(&simulation, memory);
        let stream = WriteStream::new(&interconnect, "writes", 0);
        let responses = Rc::new(RefCell::new(Vec::new()));
        let (log, to) = (responses.clone(), stream.clone());
        simulation.sim().process("put", async move {
            for (address, bytes) in [(MEMORY - 16, 48u32), (0, 16)] {
                to.line(address, bytes);
                to.put(&vec![9; bytes as usize], 4).await;
                to.drained().await;
                let refused = to.take_refused();
                log.borrow_mut().push(refused.map(|refused| (refused.address, refused.bytes)));
            }
        });
        run(&mut simulation, &slow);
        assert_eq!(responses.take(), [Some((MEMORY, 16)), None], "{memory:?}");
        let mut last = [0; 16];
        slow.ram.read(MEMORY - 16, &mut last).unwrap();
        assert_eq!(last, [9; 16], "what memory there is has its part");
    }
}

#[test]
fn a_request_waits_for_the_place_of_the_first_one_under_way() {
    let mut simulation = Simulation::new();
    let (interconnect, slow) = interconnect(&simulation, Memory::Inside);
    let (places, back) = (2, Time::ns(5));
    let config = ReadStreamConfig { capacity: 1024, lines: places, credit_return: back };
    let stream = ReadStream::new(&interconnect, "reads", 0, config);
    let (asked, taken) = (Rc::new(RefCell::new(Vec::new())), Rc::new(RefCell::new(Vec::new())));
    let (sim, log, from) = (simulation.sim(), asked.clone(), stream.clone());
    simulation.sim().process("ask", async move {
        for line in 0..4 {
            // Two bursts each.
            from.request(line * 64, 64).await;
            log.borrow_mut().push(sim.now());
        }
    });
    let (sim, log) = (simulation.sim(), taken.clone());
    simulation.sim().process("take", async move {
        for _ in 0..8 {
            stream.take(&mut [0; 32]).await;
            log.borrow_mut().push(sim.now());
        }
    });
    run(&mut simulation, &slow);
    let (asked, taken) = (asked.take(), taken.take());
    assert_eq!(asked[..2], [Time::ZERO; 2]);
    // With the last byte of the line that is two before it, and not with its first.
    assert_eq!(asked[2..], [taken[1] + back, taken[3] + back]);
}
