//! Time of a platform, as its sessions see it and may act on it.

use super::{code, read};
use crate::common::raw::{CSB, DBB, IRQ, Raw};
use crate::common::{self, Served, copy, fetch_target, local, run, start_copy};
use vp_host::{Host, HostError};
use vp_protocols::native::{
    AccessKind, Activity, Attach, ErrorCode, Event, MemoryRead, Notice, Posted, RegisterRead, RegisterWrite,
    Reply, Request, Role, Time, TimeMode, Until, Why,
};
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};

#[test]
fn an_interrupt_is_told_before_the_answer_that_shows_it() {
    let served = Served::tcp();
    let mut cpu = Raw::open(&served.address, None, TimeMode::Lockstep);
    assert_eq!(cpu.attach(CSB, Role::Initiator), Reply::Done);
    let mut before = Vec::new();
    let id = cpu.send(Request::Attach(Attach { port: IRQ, role: Role::Sink, range: None }));
    assert_eq!(cpu.reply(&mut before).0, id);
    let low = Event::Notice(Notice::Interrupt { port: IRQ, level: false, time: Time::ZERO });
    assert_eq!(before, [low], "the level found is told on attaching");
    let map = local().map();
    for (register, value) in common::copy_registers(8, 8, 8) {
        let address = u64::from(map.find(register).unwrap().address);
        let write = RegisterWrite { port: CSB, address, value, at: None };
        cpu.connection.post(Posted::RegisterWrite(write), &[]).unwrap();
    }
    let advance = cpu.send(Request::Advance { until: Until::Interrupt { port: IRQ, limit: None } });
    let mut before = Vec::new();
    let (id, time, reply) = cpu.reply(&mut before);
    assert_eq!((id, reply), (advance, Reply::Reached { why: Why::Interrupt }));
    assert_eq!(before, [Event::Notice(Notice::Interrupt { port: IRQ, level: true, time })]);
}

#[test]
fn a_platform_that_runs_free_delivers_the_interrupt_by_itself() {
    for mode in [TimeMode::Free, TimeMode::Paced { picoseconds_per_nanosecond: 1000 }] {
        for memory in [MemoryPlace::Inside, MemoryPlace::Client] {
            let served = Served::tcp();
            let options = RemoteOptions { time_mode: mode, memory, ..RemoteOptions::default() };
            let mut host = served.join(options);
            let expected = start_copy(&mut host, 8, 8, 32);
            host.wait_interrupt().unwrap();
            assert_eq!(fetch_target(&mut host, expected.len()), expected);
            run(&copy(4, 4, 8), &mut host_again(&served, mode, memory));
        }
    }
}

/// The answer to a read does not wait for what the platform has to do besides.
#[test]
fn a_platform_that_runs_free_answers_in_the_middle_of_a_layer() {
    let served = Served::tcp();
    let mut host = served.join(RemoteOptions { time_mode: TimeMode::Free, ..RemoteOptions::default() });
    start_copy(&mut host, 16, 8192, 32);
    let version = host.map().find("GLB.S_NVDLA_HW_VERSION").unwrap().address;
    for _ in 0..3 {
        host.read(version).unwrap();
        assert_eq!(host.status().unwrap().activity, Activity::Running);
    }
}

fn host_again(served: &Served, time_mode: TimeMode, memory: MemoryPlace) -> RemoteHost {
    served.join(RemoteOptions { time_mode, memory, ..RemoteOptions::default() })
}

#[test]
fn a_paced_platform_is_not_ahead_of_the_wall_clock() {
    let served = Served::tcp();
    // A thousandth of real time: a layer of a few µs takes some ms.
    let time_mode = TimeMode::Paced { picoseconds_per_nanosecond: 1 };
    // The platform is younger than this moment, and time stands at zero when it is built.
    let began = std::time::Instant::now();
    let mut host = served.join(RemoteOptions { time_mode, ..RemoteOptions::default() });
    start_copy(&mut host, 8, 8, 32);
    let simulated = host.wait_interrupt().unwrap();
    let passed = began.elapsed();
    assert!(u128::from(simulated.as_ps()) <= passed.as_nanos(), "{simulated} in {passed:?}");
}

#[test]
fn waiting_for_an_interrupt_that_cannot_come_ends_with_the_reason() {
    let served = Served::tcp();
    for mode in [TimeMode::Lockstep, TimeMode::Free] {
        let mut host = served.join(RemoteOptions { time_mode: mode, ..RemoteOptions::default() });
        let error = host.wait_interrupt().unwrap_err();
        assert!(
            matches!(&error, HostError::Idle { report, .. } if report == vp_models::platform::NOTHING_RUNS),
            "{error}"
        );
    }
    let map = local().map();
    let enable = map.find("PDP.D_OP_ENABLE").unwrap().address;
    let outcome = |host: &mut dyn Host| {
        host.write(enable, 1).unwrap();
        host.wait_interrupt().unwrap_err()
    };
    assert_eq!(outcome(&mut served.host(MemoryPlace::Inside)), outcome(&mut local()));
}

#[test]
fn a_limit_ends_the_wait_as_it_does_in_process() {
    let limit = vp_core::Time::ns(700);
    let mut near = local();
    near.set_limit(limit);
    start_copy(&mut near, 8, 8, 32);
    let served = Served::tcp();
    let mut far = served.host(MemoryPlace::Client);
    far.set_limit(limit);
    start_copy(&mut far, 8, 8, 32);
    assert_eq!(far.wait_interrupt(), near.wait_interrupt());
    assert_eq!(far.now(), Ok(limit));
}

#[test]
fn time_can_be_moved_by_hand_and_requests_scheduled() {
    let served = Served::tcp();
    let mut raw = Raw::open(&served.address, None, TimeMode::Lockstep);
    assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
    raw.send(Request::Advance { until: Until::Time(Time::ps(123_456)) });
    let (_, time, reply) = raw.reply(&mut Vec::new());
    assert_eq!((time, reply), (Time::ps(123_456), Reply::Reached { why: Why::Time }));
    raw.send(Request::RegisterRead(RegisterRead { port: CSB, address: 0, at: Some(Time::ps(1_000_000)) }));
    let (_, time, _) = raw.reply(&mut Vec::new());
    assert_eq!(
        time,
        Time::ps(1_019_000),
        "18 cycles after the moment asked for, and the one after which a CPU goes on"
    );
    raw.send(Request::Ping);
    assert_eq!(raw.reply(&mut Vec::new()).1, Time::ps(1_019_000));
}

#[test]
fn steps_lead_from_one_thing_to_do_to_the_next() {
    let served = Served::tcp();
    // The layer's interrupt, as an Advance finds it.
    let mut host = served.host(MemoryPlace::Inside);
    start_copy(&mut host, 8, 8, 8);
    let raised = Time::ps(host.wait_interrupt().unwrap().as_ps());
    let map = local().map();
    let mut raw = Raw::open(&served.address, None, TimeMode::Lockstep);
    assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
    assert_eq!(raw.attach(IRQ, Role::Sink), Reply::Done);
    assert_eq!(raw.attach(DBB, Role::Target), Reply::Done);
    for (register, value) in common::copy_registers(8, 8, 8) {
        let address = u64::from(map.find(register).unwrap().address);
        let write = RegisterWrite { port: CSB, address, value, at: None };
        raw.connection.post(Posted::RegisterWrite(write), &[]).unwrap();
    }
    let (mut to, mut asked, mut owed) = (Time::ZERO, Vec::new(), 0);
    let mut levels = Vec::new();
    loop {
        raw.send(Request::Step { to });
        let next = loop {
            match raw.next() {
                // Memory is asked at the moment to which the step leads, and has answered before it is over.
                Event::Request { id, request: Request::MemoryRead(read), .. } => {
                    assert_eq!(read.at, Some(to));
                    asked.push(to);
                    let zeros = vec![0; read.length as usize];
                    raw.connection.reply(id, Time::ZERO, Reply::Data, &zeros).unwrap();
                }
                Event::Request { id, request: Request::MemoryWrite(write), .. } => {
                    assert_eq!(write.at, Some(to));
                    owed += 1;
                    raw.connection.reply(id, Time::ZERO, Reply::Done, &[]).unwrap();
                }
                Event::Notice(Notice::Interrupt { level, time, .. }) => levels.push((level, time)),
                Event::Reply { time, reply: Reply::Stepped { next }, .. } => {
                    assert_eq!(time, to);
                    break next;
                }
                other => panic!("{other:?}"),
            }
        };
        let Some(next) = next else { break };
        assert!(next > to, "{next:?} after {to:?}");
        to = next;
    }
    assert!(!asked.is_empty() && owed > 0);
    assert_eq!(levels, [(true, raised)]);
    // Nothing is left to do, and a step takes time along all the same.
    let later = to + Time::ps(1);
    raw.send(Request::Step { to: later });
    assert_eq!(raw.reply(&mut Vec::new()).1, later);
    let free = Raw::open(&served.address, None, TimeMode::Free).ask(Request::Step { to });
    assert_eq!(code(&free), ErrorCode::WrongTimeMode);
}

#[test]
fn a_time_beyond_the_horizon_is_refused_and_the_platform_goes_on() {
    let served = Served::tcp();
    let mut raw = Raw::open(&served.address, None, TimeMode::Lockstep);
    assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
    assert_eq!(raw.attach(DBB, Role::Initiator), Reply::Done);
    for time in [u64::MAX, u64::MAX - 2, (1 << 62) + 1].map(Time::ps) {
        let at = Some(time);
        let timed = MemoryRead {
            port: DBB,
            address: 0x8000_0000,
            length: 4,
            access: AccessKind::Timed,
            axi_id: 0,
            at,
        };
        for request in [
            Request::Advance { until: Until::Time(time) },
            Request::Step { to: time },
            Request::Advance { until: Until::Interrupt { port: IRQ, limit: at } },
            Request::RegisterRead(RegisterRead { port: CSB, address: 0, at }),
            Request::RegisterWrite(RegisterWrite { port: CSB, address: 0, value: 0, at }),
            Request::MemoryRead(timed),
        ] {
            assert_eq!(code(&raw.ask(request)), ErrorCode::BadRange);
        }
    }
    assert!(matches!(raw.ask(read(0)), Reply::Value { .. }));
    // The last moment that can be named is not the end.
    let last = Request::Advance { until: Until::Time(Time::ps(1 << 62)) };
    assert_eq!(raw.ask(last), Reply::Reached { why: Why::Time });
    assert!(matches!(raw.ask(read(0)), Reply::Value { .. }));
    assert_eq!(raw.ask(Request::Reset), Reply::Done);
    assert!(matches!(raw.ask(read(0)), Reply::Value { .. }));
}

#[test]
fn a_pace_beyond_measure_does_not_use_up_time() {
    let served = Served::tcp();
    for ratio in [u64::MAX, 1 << 60] {
        let mode = TimeMode::Paced { picoseconds_per_nanosecond: ratio };
        let mut raw = Raw::open(&served.address, None, mode);
        assert_eq!(raw.attach(CSB, Role::Initiator), Reply::Done);
        for _ in 0..3 {
            raw.send(read(0));
            let (_, time, reply) = raw.reply(&mut Vec::new());
            assert!(matches!(reply, Reply::Value { .. }), "{reply:?}");
            assert!(time < Time::ps(1_000_000_000), "{time:?}");
        }
    }
}

#[test]
fn only_the_cpu_of_a_platform_that_has_one_moves_time_and_resets() {
    let served = Served::tcp();
    let mut stranger = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    let advance = |time| Request::Advance { until: Until::Time(Time::ps(time)) };
    assert_eq!(stranger.ask(advance(1000)), Reply::Reached { why: Why::Time });
    assert_eq!(stranger.ask(Request::Reset), Reply::Done);
    let mut cpu = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(cpu.attach(CSB, Role::Initiator), Reply::Done);
    assert_eq!(stranger.attach(DBB, Role::Initiator), Reply::Done);
    for request in [advance(1 << 40), Request::Advance { until: Until::Idle }, Request::Reset] {
        let Reply::Failed { code, reason } = stranger.ask(request) else { panic!() };
        assert_eq!(code, ErrorCode::NotAttached);
        assert!(reason.contains("session 2 holds csb0"), "{reason}");
    }
    let (address, length, access, axi_id) = (0x8000_0000, 4, AccessKind::Timed, 0);
    let scheduled = |at| MemoryRead { port: DBB, address, length, access, axi_id, at: Some(Time::ps(at)) };
    assert_eq!(code(&stranger.ask(Request::MemoryRead(scheduled(1 << 40)))), ErrorCode::NotAttached);
    assert_eq!(stranger.ask(Request::MemoryRead(scheduled(0))), Reply::Data);
    assert_eq!(cpu.ask(advance(2000)), Reply::Reached { why: Why::Time });
    assert_eq!(cpu.ask(Request::Reset), Reply::Done);
}

#[test]
fn posted_writes_in_lockstep_let_no_time_pass_until_something_is_waited_for() {
    let served = Served::tcp();
    let mut host = served.host(MemoryPlace::Inside);
    start_copy(&mut host, 8, 8, 32);
    host.ping().unwrap();
    assert_eq!(host.now(), Ok(vp_core::Time::ZERO));
    let status = host.status().unwrap();
    assert_eq!(status.time_mode, TimeMode::Lockstep);
}
