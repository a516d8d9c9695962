//! Waits of the platform for a memory outside, and what it does not have to wait for.

use crate::common::raw::{CSB, DBB, IRQ, Raw};
use crate::common::{SOURCE, Served, TARGET, copy_registers, local, pattern};
use vp_host::Host as _;
use vp_models::memory::Ram;
use vp_protocols::native::{
    AccessKind, Activity, Capabilities, Connection, ErrorCode, Event, MemoryRead, MemoryWrite, Notice,
    Posted, RegisterWrite, Reply, Request, RequestId, Role, Time, TimeMode, Until,
};

/// 2 KiB, all of them in one page.
const SIZE: (u32, u32, u32) = (8, 8, 32);

/// The CPU, the memory and the interrupt controller in one session.
struct Machine {
    raw: Raw,
    ram: Ram,
    /// Writes that are done and not answered.
    silent: Vec<RequestId>,
    /// Bursts that have come.
    bursts: usize,
}

/// Events that a machine is told and does not see to by itself.
enum MachineEvent {
    Write(RequestId),
    Line(bool),
    Warning(String),
    Activity(Activity),
    Reached,
}

impl Machine {
    /// A copy is under way, and the machine waits for the interrupt.
    fn starting(served: &Served, max_in_flight: u32) -> Machine {
        let capabilities = Capabilities::ALL.union(Capabilities::MEMORY_IN_ORDER);
        let mut machine = Machine::joining(served, max_in_flight, capabilities);
        machine.start();
        machine
    }

    fn joining(served: &Served, max_in_flight: u32, capabilities: Capabilities) -> Machine {
        let mut hello = Connection::hello("machine 1.0", Some("p"), TimeMode::Lockstep);
        hello.max_in_flight = max_in_flight;
        hello.capabilities = capabilities;
        let mut raw = Raw::greet(&served.address, hello);
        for (port, role) in [(CSB, Role::Initiator), (DBB, Role::Target), (IRQ, Role::Sink)] {
            assert_eq!(raw.attach(port, role), Reply::Done);
        }
        let ram = Ram::new(0x8000_0000..0x1_0000_0000);
        let (width, height, channels) = SIZE;
        ram.write(u64::from(SOURCE), &pattern((width * height * channels) as usize)).unwrap();
        Machine { raw, ram, silent: Vec::new(), bursts: 0 }
    }

    fn start(&mut self) {
        let map = local().map();
        let (width, height, channels) = SIZE;
        for (register, value) in copy_registers(width, height, channels) {
            let address = u64::from(map.find(register).unwrap().address);
            let write = RegisterWrite { port: CSB, address, value, at: None };
            self.raw.connection.post(Posted::RegisterWrite(write), &[]).unwrap();
        }
        self.raw.send(Request::Advance { until: Until::Interrupt { port: IRQ, limit: None } });
    }

    /// Goes on until something is to be decided. Reads are answered, writes done.
    fn next(&mut self) -> MachineEvent {
        loop {
            let event = self.raw.next();
            self.bursts += usize::from(matches!(event, Event::Request { .. }));
            match event {
                Event::Request {
                    id,
                    request: Request::MemoryRead(MemoryRead { address, length, .. }),
                    ..
                } => {
                    let mut data = vec![0; length as usize];
                    self.ram.read(address, &mut data).unwrap();
                    self.raw.connection.reply(id, Time::ZERO, Reply::Data, &data).unwrap();
                }
                Event::Request {
                    id,
                    request: Request::MemoryWrite(MemoryWrite { address, .. }),
                    payload,
                } => {
                    self.ram.write(address, &payload).unwrap();
                    return MachineEvent::Write(id);
                }
                Event::Notice(Notice::Interrupt { level, .. }) => return MachineEvent::Line(level),
                Event::Notice(Notice::Warning { text, .. }) => return MachineEvent::Warning(text),
                Event::Reply { reply: Reply::Reached { .. }, .. } => return MachineEvent::Reached,
                Event::Reply { reply: Reply::Status(status), .. } => {
                    return MachineEvent::Activity(status.activity);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn answer(&mut self, id: RequestId, reply: Reply) {
        self.raw.connection.reply(id, Time::ZERO, reply, &[]).unwrap();
    }

    fn is_copied(&self) -> bool {
        let (width, height, channels) = SIZE;
        let wanted = pattern((width * height * channels) as usize);
        let mut found = vec![0; wanted.len()];
        self.ram.read(u64::from(TARGET), &mut found).unwrap();
        found == wanted
    }
}

#[test]
fn writes_to_memory_that_is_there_are_not_waited_for_and_stand_before_the_interrupt() {
    let served = Served::tcp();
    let mut machine = Machine::starting(&served, 256);
    let mut is_first = true;
    loop {
        match machine.next() {
            MachineEvent::Write(id) if std::mem::take(&mut is_first) => machine.answer(id, Reply::Done),
            MachineEvent::Write(id) => machine.silent.push(id),
            MachineEvent::Line(true) => break,
            MachineEvent::Line(false) => {}
            MachineEvent::Warning(text) => panic!("{text}"),
            MachineEvent::Activity(_) | MachineEvent::Reached => panic!("an answer before the line"),
        }
    }
    assert!(machine.is_copied());
    assert!(machine.silent.len() > 10, "{} writes", machine.silent.len());
}

#[test]
fn no_more_writes_are_trusted_than_there_may_be_requests_without_an_answer() {
    let served = Served::tcp();
    let waves = waves(&mut Machine::starting(&served, 8));
    // The first write to the page is waited for, and others are not.
    assert_eq!(waves[0], 1);
    assert!(waves.len() > 2 && waves.iter().any(|&wave| wave > 2), "{waves:?}");
    assert!(waves.iter().all(|&wave| wave <= 8), "{waves:?}");
}

#[test]
fn what_nobody_waits_for_any_more_counts_as_unanswered_all_the_same() {
    let served = Served::tcp();
    let capabilities = Capabilities::ALL.union(Capabilities::MEMORY_IN_ORDER);
    // Room for the copy's last writes, were it not for what another has left behind.
    let (most, left) = (108, 100);
    let mut machine = Machine::joining(&served, most, capabilities);
    let mut other = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    assert_eq!(other.attach(DBB, Role::Initiator), Reply::Done);
    for _ in 0..left {
        let (address, length, access, axi_id, at) = (u64::from(SOURCE), 4, AccessKind::Debug, 0, None);
        other.send(Request::MemoryRead(MemoryRead { port: DBB, address, length, access, axi_id, at }));
    }
    other.flush();
    // They are never answered.
    for _ in 0..left {
        let event = machine.raw.next();
        assert!(matches!(event, Event::Request { request: Request::MemoryRead(_), .. }), "{event:?}");
    }
    drop(other);
    while !matches!(machine.raw.ask(Request::Status), Reply::Status(status) if status.sessions == 1) {}
    machine.start();
    let waves = waves(&mut machine);
    assert!(waves.iter().all(|&wave| wave <= most as usize - left), "{waves:?}");
}

/// Answers writes only when the platform cannot go on. Says how many it left unanswered each time.
fn waves(machine: &mut Machine) -> Vec<usize> {
    let mut waves = Vec::new();
    let mut seen = 0;
    machine.raw.send(Request::Status);
    loop {
        match machine.next() {
            MachineEvent::Write(id) => machine.silent.push(id),
            MachineEvent::Activity(activity) => {
                let is_stuck = std::mem::replace(&mut seen, machine.bursts) == machine.bursts;
                if is_stuck && activity == Activity::Held && !machine.silent.is_empty() {
                    waves.push(machine.silent.len());
                    for id in std::mem::take(&mut machine.silent) {
                        machine.answer(id, Reply::Done);
                    }
                }
                machine.raw.send(Request::Status);
            }
            MachineEvent::Line(true) => break,
            MachineEvent::Line(false) => {}
            MachineEvent::Warning(text) => panic!("{text}"),
            MachineEvent::Reached => panic!("an answer before the line"),
        }
    }
    assert!(machine.is_copied());
    waves
}

/// Another session might see the interrupt, and look into the memory, before the write has got there.
#[test]
fn time_waits_for_every_write_while_there_is_another_session() {
    let served = Served::tcp();
    let mut other = Raw::open(&served.address, Some("p"), TimeMode::Lockstep);
    every_write_is_waited_for(Machine::starting(&served, 256), |_| {
        let Reply::Status(status) = other.ask(Request::Status) else { panic!("no status") };
        assert_eq!(status.activity, Activity::Held);
    });
}

#[test]
fn time_waits_for_every_write_of_who_does_not_say_that_it_keeps_the_order() {
    let served = Served::tcp();
    let mut machine = Machine::joining(&served, 256, Capabilities::ALL);
    machine.start();
    every_write_is_waited_for(machine, |machine| {
        machine.raw.send(Request::Status);
        match machine.next() {
            MachineEvent::Activity(activity) => assert_eq!(activity, Activity::Held),
            _ => panic!("time went on"),
        }
    });
}

/// `check` is called while one is not answered.
fn every_write_is_waited_for(mut machine: Machine, mut check: impl FnMut(&mut Machine)) {
    let mut writes = 0;
    loop {
        match machine.next() {
            MachineEvent::Write(id) => {
                writes += 1;
                check(&mut machine);
                machine.answer(id, Reply::Done);
            }
            MachineEvent::Line(true) => break,
            MachineEvent::Line(false) => {}
            MachineEvent::Warning(text) => panic!("{text}"),
            MachineEvent::Activity(_) | MachineEvent::Reached => panic!("an answer before the line"),
        }
    }
    assert!(machine.is_copied());
    assert!(writes > 10, "{writes}");
}

#[test]
fn a_trusted_write_that_fails_is_warned_of_and_one_to_no_memory_is_an_error_of_the_bus() {
    for works_at_first in [true, false] {
        let served = Served::tcp();
        let mut machine = Machine::starting(&served, 256);
        let (mut count, mut warnings) = (0, Vec::new());
        loop {
            match machine.next() {
                MachineEvent::Write(id) => {
                    count += 1;
                    let reply = match count {
                        1 if works_at_first => Reply::Done,
                        _ => Reply::Failed { code: ErrorCode::DecodeError, reason: "it is gone".into() },
                    };
                    machine.answer(id, reply);
                }
                MachineEvent::Warning(text) => warnings.push(text),
                MachineEvent::Line(_) | MachineEvent::Activity(_) => {}
                MachineEvent::Reached => break,
            }
        }
        let is_late = |text: &String| text.starts_with("late answer: the device writes ");
        // Those that were not waited for may fail behind the answer.
        while works_at_first && !warnings.iter().any(is_late) {
            let MachineEvent::Warning(text) = machine.next() else { panic!("no warning") };
            warnings.push(text);
        }
        let is_lost = |text: &String| text.contains("it is gone") && text.contains("; data lost");
        assert!(warnings.iter().all(is_lost), "{:?}", warnings.last());
        // Once it has failed it is trusted no more.
        assert_eq!(warnings.iter().any(is_late), works_at_first, "{warnings:?}");
        assert!(warnings.len() <= 4, "{warnings:?}");
        if !works_at_first {
            let [first, summary] = &warnings[..] else { panic!("{warnings:?}") };
            assert!(first.contains(" bytes at 0x"), "{first}");
            assert!(summary.contains(&format!(" in {count} bursts, from ")), "{summary}");
        }
    }
}
