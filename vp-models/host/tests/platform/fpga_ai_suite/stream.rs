//! Inputs over the input stream, and models on the chip.

use super::*;
use vp_hub::{
    Access, AccessKind, Completion, FailureKind, Hub, Input, MemoryGuarantees, Operation, Output,
    PartyCommand, PartyId, PortId, Role, RunState, Tag, TimeMode,
};

fn streaming() -> Architecture {
    Architecture { streaming: true, ..Architecture::default() }
}

fn bytes(input: &[i8]) -> Vec<u8> {
    input.iter().map(|value| *value as u8).collect()
}

#[test]
fn a_job_takes_its_input_from_the_stream() {
    let (architecture, model) = (streaming(), small());
    let mut host = host(&architecture);
    let given = inputs(6);
    let given: Vec<&[i8]> = given.iter().map(Vec::as_slice).collect();
    let mut driver = Driver::open(&mut host, &architecture, &model, memory()).unwrap();
    let inferred = driver.infer(&given).unwrap();
    assert!(inferred.iter().zip(&given).all(|(inference, input)| inference.output == model.infer(input)));
    let counters = driver.counters().unwrap();
    assert_eq!([counters.input_words, counters.output_words], [6 * 2, 6]);
}

#[test]
fn descriptors_begin_when_streaming_is_active() {
    let mut prepared = Prepared::new(&streaming());
    prepared.write(STREAMING, 0);
    assert!(prepared.host.stream(&[1]).unwrap_err().to_string().contains("does not listen to stream0"));
    prepared.request(0, &inputs(1)[0]);
    (0..200).for_each(|_| assert_eq!(prepared.read(0x240), 0, "no job is active"));
    prepared.write(STREAMING, 1);
    assert_eq!(prepared.read(STREAMING), 1);
    prepared.host.stream(&bytes(&inputs(1)[0][..40])).unwrap();
    (0..500).for_each(|_| assert_eq!(prepared.read(COMPLETION_COUNT), 0, "the input is not whole"));
    prepared.host.stream(&bytes(&inputs(1)[0][40..])).unwrap();
    prepared.poll(COMPLETION_COUNT, 1);
    let expected = prepared.model.infer(&inputs(1)[0]);
    assert_eq!(prepared.output(0), expected);
}

#[test]
fn a_stop_drops_the_job_that_waits_for_its_input_and_keeps_the_others() {
    let mut prepared = Prepared::new(&streaming());
    prepared.request(0, &inputs(2)[0]);
    prepared.request(1, &inputs(2)[1]);
    prepared.host.stream(&bytes(&inputs(1)[0][..40])).unwrap();
    (0..500).for_each(|_| _ = prepared.read(0));
    prepared.write(STREAMING, 0);
    (0..500).for_each(|_| _ = prepared.read(0));
    assert_eq!([ICR, COMPLETION_COUNT].map(|address| prepared.read(address)), [0, 0]);
    assert!(prepared.told().contains("job 0 is dropped: its input stream was turned off"));
    prepared.write(STREAMING, 1);
    prepared.host.stream(&bytes(&inputs(2)[1])).unwrap();
    prepared.poll(COMPLETION_COUNT, 1);
    let expected = prepared.model.infer(&inputs(2)[1]);
    assert_eq!(prepared.output(1), expected, "what was half an input is gone");
}

#[test]
fn a_stream_that_is_full_refuses_more() {
    let architecture = Architecture { stream_buffer: 100, ..streaming() };
    let mut prepared = Prepared::new(&architecture);
    prepared.host.stream(&[0; 64]).unwrap();
    let error = prepared.host.stream(&[0; 64]).unwrap_err().to_string();
    assert!(error.contains("has room for 36 bytes more, and not for 64: let time pass"), "{error}");
    let port = prepared.host.platform().ports().into_iter().find(|port| port.name == "stream0").unwrap();
    assert_eq!((port.size, port.width), (100, 256));
}

#[test]
fn an_input_that_the_stream_cannot_hold_is_fed_as_it_is_taken() {
    // An input has 64 bytes; a memory word, which is taken as a whole, 32.
    for stream_buffer in [32, 33, 50, 63] {
        let (architecture, model) = (Architecture { stream_buffer, ..streaming() }, small());
        let mut host = host(&architecture);
        let given = inputs(3);
        let given: Vec<&[i8]> = given.iter().map(Vec::as_slice).collect();
        let mut driver = Driver::open(&mut host, &architecture, &model, memory()).unwrap();
        let inferred = driver.infer(&given).unwrap();
        assert!(inferred.iter().zip(&given).all(|(inference, input)| inference.output == model.infer(input)));
        assert_eq!(driver.counters().unwrap().input_words, 3 * 2, "{stream_buffer}");
    }
}

#[test]
fn inferences_after_one_that_failed_are_their_own() {
    let (architecture, model) = (streaming(), small());
    // The second output is where memory ends.
    let layout = Layout::new(&architecture, &model, 2, memory()).unwrap();
    let mut description = description(&architecture);
    description.dbb0.size = u64::from(layout.io_bases[1]) - memory().start;
    let mut host = LocalHost::new(Platform::build(&description).unwrap());
    let given = inputs(4);
    let mut driver = Driver::open(&mut host, &architecture, &model, memory()).unwrap();
    let wrong = driver.infer(&[&given[0], &given[1][1..]]).unwrap_err().to_string();
    assert_eq!(wrong, "an input of 63 elements: the graph takes 64");
    let lost = driver.infer(&[&given[0], &given[1], &given[2]]).unwrap_err().to_string();
    assert!(lost.contains("is refused: output: no access to 0x"), "{lost}");
    driver.set_in_flight(1);
    let inferred = driver.infer(&[&given[3], &given[2]]).unwrap();
    assert_eq!(inferred[0].output, model.infer(&given[3]));
    assert_eq!(inferred[1].output, model.infer(&given[2]));
}

#[test]
fn who_feeds_a_job_that_is_refused_is_told() {
    let architecture = Architecture { stream_buffer: 32, licensed: false, inference_limit: 1, ..streaming() };
    let (mut host, given) = (host(&architecture), inputs(2));
    let mut driver = Driver::open(&mut host, &architecture, &small(), memory()).unwrap();
    let error = driver.infer(&[&given[0], &given[1]]).unwrap_err().to_string();
    assert!(error.contains("it is not licensed"), "{error}");
}

#[test]
fn a_model_on_the_chip_is_not_read_from_memory() {
    let architecture = Architecture { ddr_free: true, ..streaming() };
    let (mut host, model) = (host(&architecture), small());
    let mut driver = Driver::open(&mut host, &architecture, &model, memory()).unwrap();
    let inferred = driver.infer(&[&inputs(1)[0]]).unwrap();
    assert_eq!(inferred[0].output, model.infer(&inputs(1)[0]));
    assert_eq!(driver.counters().unwrap().filter_words, 0);
    assert_eq!(host.statistics().unwrap().get("dbb0.read.bytes"), Some(0));
}

#[test]
fn a_model_on_the_chip_stays_over_a_reset() {
    let mut prepared = Prepared::new(&Architecture { ddr_free: true, ..streaming() });
    prepared.write(IP_RESET, 1);
    prepared.write(STREAMING, 1);
    prepared.request(0, &inputs(1)[0]);
    prepared.host.stream(&bytes(&inputs(1)[0])).unwrap();
    prepared.poll(COMPLETION_COUNT, 1);
    let expected = prepared.model.infer(&inputs(1)[0]);
    assert_eq!(prepared.output(0), expected);
}

#[test]
fn a_stream_takes_what_is_sent_to_it_as_a_whole_and_is_no_memory() {
    const PARTY: PartyId = PartyId(1);
    let architecture = streaming();
    let mut hub = Hub::new(Platform::build(&description(&architecture)).unwrap(), TimeMode::Lockstep);
    hub.handle(Input::Enter { party: PARTY, name: "a party".into(), memory: MemoryGuarantees::default() });
    let port = |hub: &Hub, name| {
        let at = hub.ports().iter().position(|port| port.name == name);
        PortId(at.unwrap() as u16)
    };
    let [csr, memory, stream] = ["csr0", "dbb0", "stream0"].map(|name| port(&hub, name));
    let mut command = |command| {
        hub.handle(Input::Command { party: PARTY, tag: Tag(0), command });
        while hub.run(vp_core::Time::MAX) != RunState::Waiting {}
        let completed = std::iter::from_fn(|| hub.poll()).find_map(|output| match output {
            Output::Completed { result, .. } => Some(result.map_err(|failure| failure.kind)),
            _ => None,
        });
        completed.unwrap()
    };
    for port in [csr, memory, stream] {
        command(PartyCommand::Attach { port, role: Role::Initiator, range: None }).unwrap();
    }
    let mut access = |port, operation| command(PartyCommand::Access(Access { port, at: None, operation }));
    let sent = |bytes: usize, kind| Operation::StreamSend { data: vec![1; bytes].into(), kind };
    let room = architecture.stream_buffer as usize;
    assert_eq!(access(stream, sent(1, AccessKind::Debug)), Err(FailureKind::NotAccepted), "it is off");
    let on = Operation::RegisterWrite { address: STREAMING.into(), value: 1 };
    assert_eq!(access(csr, on), Ok(Completion::Done));
    assert_eq!(access(stream, sent(room + 1, AccessKind::Debug)), Err(FailureKind::BadRange));
    assert_eq!(access(stream, sent(room - 4, AccessKind::Timed)), Ok(Completion::Done));
    assert_eq!(access(stream, sent(5, AccessKind::Timed)), Err(FailureKind::NotAccepted), "room for 4");
    assert_eq!(access(stream, sent(4, AccessKind::Debug)), Ok(Completion::Done));
    assert_eq!(access(memory, sent(4, AccessKind::Debug)), Err(FailureKind::WrongRole));
    for kind in [AccessKind::Timed, AccessKind::Debug] {
        let read = Operation::MemoryRead { address: 0, length: 4, kind };
        assert_eq!(access(stream, read), Err(FailureKind::Unsupported));
        let write = Operation::MemoryWrite { address: 0, data: vec![0; 4].into(), strobes: None, kind };
        assert_eq!(access(stream, write), Err(FailureKind::Unsupported));
    }
}
