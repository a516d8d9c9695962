//! Debuggers at a hub: where each stop and step leaves time, what waits meanwhile, and that the run is the one without them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use vp_core::Time;
use vp_hub::{
    Access, Accesses, BreakOn, Breakpoint, Completion, DebugCommand, DebugEvent, Failure, FailureKind, Hit,
    Hub, Input, MOST_BREAKPOINTS, MemoryGuarantees, Operation, Output, PartyCommand, PartyId, Recorded, Role,
    RunState, StepBy, StopReport, StopWhy, Tag, TimeMode, Until, replay,
};
use vp_models::nvdla::registers::{Unit, glb, sdp};
use vp_models::platform::Description;
use vp_tests::program::Program;
use vp_tests::random::Draw;
use vp_tests::stage::{CSB, LINE, MEMORY, hub};

const CPU: PartyId = PartyId(1);
/// No party: it only looks on, and stops.
const DEBUGGER: PartyId = PartyId(9);
const CYCLE: Time = Time::ns(1);

/// Result of a command of the CPU's, and time of it.
type CommandResult = (Time, Result<Completion, Failure>);

/// A CPU with a layer to be run, and a debugger beside it.
struct Bench {
    hub: Hub,
    description: Description,
    mode: TimeMode,
    todo: VecDeque<PartyCommand>,
    /// True if the CPU waits for the end of a command.
    is_waiting: bool,
    /// Outputs that the CPU was told.
    told: Vec<Output>,
    /// Results of the debugger's commands.
    done: Vec<Result<Completion, Failure>>,
    /// Stops that the debugger was told besides.
    stops: Vec<StopReport>,
    /// Number of times that the CPU was told that time stands.
    cpu_told: u32,
    recording: Rc<RefCell<Vec<Recorded>>>,
    outputs: Vec<Output>,
    next_tag: u64,
}

fn register(hub: &Hub, unit: Unit, register: vp_models::registers::RegisterRef) -> u64 {
    hub.platform().map().address(unit, register).unwrap().into()
}

impl Bench {
    fn new(mode: TimeMode) -> Bench {
        let mut draw = Draw::new("nv_small", 3);
        let layer = draw.sdp(true);
        let description = draw.description().clone();
        let mut hub = hub(&description, mode);
        let recording: Rc<RefCell<Vec<Recorded>>> = Rc::default();
        let record = recording.clone();
        hub.record_to(move |recorded| record.borrow_mut().push(recorded));
        let mut program = Program::new(hub.platform().map());
        program.sdp(&layer, 0);
        program.enable_sdp(0);
        let access = |operation| PartyCommand::Access(Access { port: CSB, at: None, operation });
        let mut todo: VecDeque<PartyCommand> = VecDeque::new();
        for (port, role) in [(CSB, Role::Initiator), (LINE, Role::Sink), (MEMORY, Role::Initiator)] {
            todo.push_back(PartyCommand::Attach { port, role, range: None });
        }
        for write in &program.writes {
            let address = register(&hub, write.unit, write.register);
            todo.push_back(access(Operation::RegisterWrite { address, value: write.value }));
        }
        if mode == TimeMode::Lockstep {
            todo.push_back(PartyCommand::Advance(Until::Interrupt { port: LINE, limit: None }));
            let address = register(&hub, Unit::Glb, glb::S_INTR_STATUS);
            todo.push_back(access(Operation::RegisterRead { address }));
            todo.push_back(access(Operation::RegisterWrite { address, value: 1 }));
            todo.push_back(PartyCommand::Advance(Until::Time(Time::us(900))));
        }
        let (done, stops, outputs) = Default::default();
        let mut bench = Bench {
            hub,
            description,
            mode,
            todo,
            is_waiting: false,
            told: Vec::new(),
            done,
            stops,
            cpu_told: 0,
            recording,
            outputs,
            next_tag: 1000,
        };
        bench.handle(Input::Enter {
            party: CPU,
            name: "the CPU".into(),
            memory: MemoryGuarantees::default(),
        });
        bench
    }

    fn handle(&mut self, input: Input) {
        self.hub.handle(input);
        self.poll();
    }

    fn poll(&mut self) {
        while let Some(output) = self.hub.poll() {
            match &output {
                Output::Completed { party, result, .. } if *party == DEBUGGER => {
                    self.done.push(result.clone());
                }
                Output::Completed { .. } => {
                    self.is_waiting = false;
                    self.told.push(output.clone());
                }
                Output::Stopped { party, report } if *party == DEBUGGER => self.stops.push(report.clone()),
                Output::Stopped { .. } => self.cpu_told += 1,
                _ => self.told.push(output.clone()),
            }
            self.outputs.push(output);
        }
    }

    /// Gives the debugger's command, and returns its result as far as that is known at once.
    fn debug(&mut self, command: DebugCommand) -> Option<Result<Completion, Failure>> {
        let before = self.done.len();
        self.next_tag += 1;
        self.handle(Input::Debugger { party: DEBUGGER, tag: Tag(self.next_tag), command });
        self.done.get(before).cloned()
    }

    fn set(&mut self, on: BreakOn) -> u32 {
        self.set_with(on, 0, false)
    }

    fn set_with(&mut self, on: BreakOn, skip: u32, once: bool) -> u32 {
        match self.debug(DebugCommand::Break(Breakpoint { on, skip, once })) {
            Some(Ok(Completion::Value(number))) => number,
            other => panic!("{other:?}"),
        }
    }

    fn refused(&mut self, command: DebugCommand) -> (FailureKind, String) {
        match self.debug(command) {
            Some(Err(Failure { kind, reason })) => (kind, reason),
            other => panic!("{other:?}"),
        }
    }

    /// Runs until nothing moves any more: the CPU gives its commands one by one.
    fn run(&mut self) {
        loop {
            while !self.is_waiting
                && let Some(command) = self.todo.pop_front()
            {
                self.is_waiting = true;
                self.next_tag += 1;
                let tag = Tag(self.next_tag);
                self.handle(Input::Command { party: CPU, tag, command });
            }
            let ran = self.hub.run(Time::MAX);
            self.poll();
            let may_ask = !self.is_waiting && !self.todo.is_empty();
            if !matches!(ran, RunState::Again | RunState::InInstant) && !may_ask {
                return;
            }
        }
    }

    /// Runs to where time is stopped.
    fn stop(&mut self) -> StopReport {
        self.run();
        self.hub.stopped().cloned().expect("time is stopped")
    }

    /// Steps on until the CPU is through, and gives where each step has ended.
    fn step_through(&mut self, by: StepBy) -> Vec<StopReport> {
        let mut reports = Vec::new();
        loop {
            assert_eq!(self.debug(DebugCommand::Step { by, count: 1 }), None);
            self.run();
            match self.hub.stopped() {
                Some(report) => reports.push(report.clone()),
                None => return reports,
            }
        }
    }

    /// Results that the CPU was told, without their tags; the time; and the hash of everything.
    fn outcome(&self) -> (Vec<CommandResult>, Time, u64) {
        let told = self.told.iter().filter_map(|output| match output {
            Output::Completed { time, result, .. } => Some((*time, result.clone())),
            _ => None,
        });
        (told.collect(), self.hub.now(), self.hub.platform().event_hash())
    }

    fn check_replay(&mut self) {
        // What has run since the last input is in no recording.
        for party in [DEBUGGER, CPU] {
            self.handle(Input::Leave { party, why: "the end".into() });
        }
        let written = postcard::to_allocvec(&*self.recording.borrow()).unwrap();
        let read: Vec<Recorded> = postcard::from_bytes(&written).unwrap();
        let mut again = hub(&self.description, self.mode);
        let outputs = replay(&mut again, &read).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(outputs, self.outputs);
        assert_eq!(again.now(), self.hub.now());
        assert_eq!(again.platform().event_hash(), self.hub.platform().event_hash());
    }
}

fn plain() -> Bench {
    let mut bench = Bench::new(TimeMode::Lockstep);
    bench.run();
    bench
}

#[test]
fn stepping_through_a_layer_by_anything_leaves_the_run_as_it_was() {
    let plain = plain();
    for by in [StepBy::Cycle, StepBy::Event, StepBy::Layer, StepBy::Access] {
        let mut bench = Bench::new(TimeMode::Lockstep);
        let reports = bench.step_through(by);
        assert!(!reports.is_empty() && reports.iter().all(|report| report.why == StopWhy::Stepped), "{by:?}");
        assert!(reports.is_sorted_by_key(|report| report.time));
        assert_eq!(bench.outcome(), plain.outcome(), "{by:?}");
        bench.check_replay();
    }
}

#[test]
fn a_step_goes_as_far_as_it_says() {
    let mut bench = Bench::new(TimeMode::Lockstep);
    let cycles = bench.step_through(StepBy::Cycle);
    assert!(cycles.iter().zip(1..).all(|(report, cycle)| report.time == CYCLE * cycle));
    assert_eq!(cycles.last().unwrap().time, Time::us(900));

    let mut bench = Bench::new(TimeMode::Lockstep);
    let accesses = bench.step_through(StepBy::Access);
    let expected = bench.told.iter().filter(|output| matches!(output, Output::Completed { .. })).count();
    // All commands but three Attaches and two Advances.
    assert_eq!(accesses.len(), expected - 5);
    let enable = register(&bench.hub, Unit::Sdp, sdp::D_OP_ENABLE);
    let is_enable = |report: &&StopReport| matches!(report.hits[0].seen, DebugEvent::Register { write: true, address, value: 1 } if address == enable);
    assert_eq!(accesses.iter().filter(is_enable).count(), 1);
    assert!(accesses.iter().all(|report| report.hits[0].time == report.time));

    let mut bench = Bench::new(TimeMode::Lockstep);
    let layers = bench.step_through(StepBy::Layer);
    assert_eq!(layers.len(), 1);
    let DebugEvent::Layer { end: true, unit, number: 0, .. } = &layers[0].hits[0].seen else { panic!() };
    assert_eq!(unit, "sdp");

    // Several at once are as many one by one.
    let mut bench = Bench::new(TimeMode::Lockstep);
    let events = bench.step_through(StepBy::Event);
    let mut bench = Bench::new(TimeMode::Lockstep);
    bench.debug(DebugCommand::Step { by: StepBy::Event, count: 7 });
    assert_eq!(bench.stop().time, events[6].time);
    bench.debug(DebugCommand::Step { by: StepBy::Cycle, count: 7 });
    assert_eq!(bench.stop().time, events[6].time + CYCLE * 7);
}

#[test]
fn a_breakpoint_stops_where_a_register_is_accessed_and_as_it_says() {
    let mut bench = Bench::new(TimeMode::Lockstep);
    let status = register(&bench.hub, Unit::Glb, glb::S_INTR_STATUS);
    let enable = register(&bench.hub, Unit::Sdp, sdp::D_OP_ENABLE);
    let on = |address, access, value| BreakOn::Register { address, access, value };
    let never = bench.set(on(enable, Accesses::Any, Some(0)));
    bench.set(on(enable, Accesses::Read, None));
    let enables = bench.set(on(enable, Accesses::Write, Some(1)));
    let statuses = bench.set_with(on(status, Accesses::Any, None), 1, false);
    let report = bench.stop();
    assert_eq!((report.by, report.why), (DEBUGGER, StopWhy::Breakpoint));
    let [
        Hit { breakpoint: Some(number), time, seen: DebugEvent::Register { write: true, address, value: 1 } },
    ] = report.hits[..]
    else {
        panic!("{report:?}")
    };
    assert_eq!((number, time, address), (enables, bench.hub.now(), enable));
    assert_eq!(bench.stops, [report]);
    // The write has taken effect.
    assert_eq!(bench.hub.peek_registers(CSB, enable, 1, None), Ok(vec![1]));
    bench.debug(DebugCommand::Continue);
    // The first access is passed over: the second is the write that clears it.
    let report = bench.stop();
    assert!(matches!(report.hits[0], Hit { breakpoint: Some(number), .. } if number == statuses));
    assert!(matches!(report.hits[0].seen, DebugEvent::Register { write: true, .. }));
    bench.debug(DebugCommand::Continue);
    bench.run();
    assert_eq!(bench.outcome(), plain().outcome());
    let hits: Vec<(u32, u32)> = bench.hub.breakpoints().iter().map(|set| (set.number, set.hits)).collect();
    assert!(hits.contains(&(never, 0)) && hits.contains(&(enables, 1)) && hits.contains(&(statuses, 1)));
    bench.check_replay();
}

#[test]
fn breakpoints_stop_at_the_interrupt_at_layers_and_at_times() {
    let mut bench = Bench::new(TimeMode::Lockstep);
    let layer = |unit: &str, end| BreakOn::Layer { unit: unit.into(), end };
    let [begin, end, _] = [layer("", false), layer("sdp", true), layer("pdp", true)].map(|on| bench.set(on));
    let line = bench.set(BreakOn::Interrupt);
    // Not on an edge: the next one is meant.
    let time = bench.set(BreakOn::Time(Time::us(800) + Time::ps(3)));
    let mut seen = Vec::new();
    loop {
        bench.run();
        let Some(report) = bench.hub.stopped().cloned() else { break };
        seen.extend(report.hits.iter().map(|hit| hit.breakpoint.unwrap()));
        match seen.last() {
            Some(last) if *last == line => assert!(bench.hub.platform().irq().level()),
            Some(last) if *last == time => assert_eq!(bench.hub.now(), Time::us(800) + CYCLE),
            _ => {}
        }
        bench.debug(DebugCommand::Continue);
    }
    assert_eq!(seen, [begin, end, line, time]);
    assert!(bench.hub.breakpoints().iter().all(|set| set.number != time), "it goes when it is hit");
    assert_eq!(bench.outcome(), plain().outcome());
    bench.check_replay();
}

#[test]
fn a_breakpoint_at_memory_stops_in_the_instant_of_the_burst() {
    for access in [Accesses::Read, Accesses::Write] {
        let mut bench = Bench::new(TimeMode::Lockstep);
        bench.set(BreakOn::Memory { port: MEMORY, range: 0x8000_0000..0x9000_0000, access });
        let mut stops = 0;
        let mut last = Time::ZERO;
        loop {
            bench.run();
            let Some(report) = bench.hub.stopped().cloned() else { break };
            stops += 1;
            assert!(report.time > last, "an instant stops once");
            last = report.time;
            for hit in &report.hits {
                let DebugEvent::Burst { port: MEMORY, write, .. } = hit.seen else { panic!("{hit:?}") };
                assert_eq!((write, hit.time), (access == Accesses::Write, report.time));
            }
            bench.debug(DebugCommand::Continue);
        }
        assert!(stops > 1, "{access:?}");
        assert_eq!(bench.outcome(), plain().outcome());
        bench.check_replay();
    }
}

#[test]
fn what_a_breakpoint_at_memory_does_not_touch_goes_on() {
    let mut bench = Bench::new(TimeMode::Lockstep);
    let range = 0x8000_0000..0x8000_0001;
    bench.set_with(
        BreakOn::Memory { port: MEMORY, range: 0xbfff_0000..0xbfff_0001, access: Accesses::Any },
        0,
        true,
    );
    bench.set_with(BreakOn::Memory { port: MEMORY, range, access: Accesses::Any }, u32::MAX, true);
    bench.run();
    assert_eq!((bench.hub.stopped(), bench.outcome()), (None, plain().outcome()));
}

#[test]
fn while_time_stands_commands_wait_and_what_goes_round_time_is_answered() {
    for mode in [TimeMode::Lockstep, TimeMode::Free] {
        let mut bench = Bench::new(mode);
        bench.set(BreakOn::Layer { unit: String::new(), end: false });
        let stopped = bench.stop();
        let (before, position) = (bench.told.len(), bench.hub.position());
        let address = register(&bench.hub, Unit::Sdp, sdp::D_OP_ENABLE);
        let read = Access { port: CSB, at: None, operation: Operation::RegisterRead { address } };
        let kind = vp_hub::AccessKind::Debug;
        let peek = Operation::MemoryRead { address: 0x8000_0000, length: 4, kind };
        for (tag, access) in [(1, read), (2, Access { port: MEMORY, at: None, operation: peek })] {
            let command = PartyCommand::Access(access);
            bench.handle(Input::Command { party: CPU, tag: Tag(tag), command });
        }
        for _ in 0..3 {
            assert_eq!(bench.hub.run(Time::MAX), RunState::Waiting);
            bench.poll();
        }
        assert_eq!(bench.hub.now(), stopped.time);
        assert_eq!(bench.hub.position().time, position.time);
        let tags = |bench: &Bench| -> Vec<u64> {
            let tag = |output: &Output| match output {
                Output::Completed { tag, .. } => Some(tag.0),
                _ => None,
            };
            bench.told[before..].iter().filter_map(tag).collect()
        };
        assert_eq!(tags(&bench), [2], "{mode:?}");
        assert_eq!(bench.hub.activity(), vp_hub::Activity::Held);
        bench.debug(DebugCommand::Continue);
        bench.run();
        assert!(tags(&bench).contains(&1), "{mode:?}");
        bench.check_replay();
    }
}

#[test]
fn in_free_mode_time_does_not_catch_up() {
    let mut bench = Bench::new(TimeMode::Free);
    bench.set(BreakOn::Layer { unit: "sdp".into(), end: false });
    let stopped = bench.stop();
    bench.hub.grant(stopped.time + CYCLE * 5);
    assert_eq!(bench.hub.run(Time::MAX), RunState::Waiting);
    bench.debug(DebugCommand::Step { by: StepBy::Cycle, count: 9 });
    // Time goes as far as it may, and the step waits for the rest.
    while bench.hub.run(Time::MAX) == RunState::Again {}
    bench.poll();
    assert!(bench.hub.stopped().is_none() && bench.hub.now() <= stopped.time + CYCLE * 5);
    bench.hub.grant(Time::MAX);
    assert_eq!(bench.stop().time, stopped.time + CYCLE * 9);
    bench.check_replay();
}

#[test]
fn a_step_waits_for_whoever_lets_time_move_and_a_stop_ends_it() {
    let mut bench = Bench::new(TimeMode::Lockstep);
    let todo = std::mem::take(&mut bench.todo);
    assert_eq!(bench.debug(DebugCommand::Step { by: StepBy::Cycle, count: 1 }), None);
    bench.run();
    assert_eq!((bench.hub.stopped(), bench.done.len()), (None, 0));
    let (kind, reason) = bench.refused(DebugCommand::Step { by: StepBy::Event, count: 1 });
    assert_eq!((kind, &*reason), (FailureKind::PortBusy, "session 9 steps: stop first"));
    bench.debug(DebugCommand::Stop);
    let stopped = |done: &Result<Completion, Failure>| matches!(done, Ok(Completion::Stopped(report)) if report.why == StopWhy::Asked);
    // The step's end, and the stop's.
    assert!(bench.done[1..].iter().all(stopped) && bench.done.len() == 3, "{:?}", bench.done);
    bench.debug(DebugCommand::Step { by: StepBy::Cycle, count: 1 });
    bench.debug(DebugCommand::Continue);
    assert!(matches!(&bench.done[3], Err(failure) if failure.kind == FailureKind::Cancelled));
    bench.todo = todo;
    bench.run();
    assert_eq!(bench.outcome(), plain().outcome());
}

#[test]
fn a_debugger_that_goes_leaves_nothing_behind() {
    let mut bench = Bench::new(TimeMode::Lockstep);
    bench.set(BreakOn::Interrupt);
    bench.set(BreakOn::Layer { unit: String::new(), end: false });
    bench.stop();
    bench.debug(DebugCommand::Continue);
    bench.stop();
    assert_eq!(bench.cpu_told, 1, "the others are told once");
    bench.handle(Input::Leave { party: DEBUGGER, why: "the end".into() });
    assert_eq!((bench.hub.stopped(), bench.hub.breakpoints()), (None, Vec::new()));
    bench.run();
    assert_eq!(bench.outcome(), plain().outcome());
    bench.check_replay();
}

#[test]
fn a_reset_leaves_breakpoints_and_a_stop() {
    let mut bench = Bench::new(TimeMode::Lockstep);
    let todo = bench.todo.clone();
    bench.set(BreakOn::Memory { port: MEMORY, range: 0x8000_0000..0x9000_0000, access: Accesses::Read });
    bench.stop();
    bench.handle(Input::Command { party: CPU, tag: Tag(1), command: PartyCommand::Reset });
    bench.is_waiting = false;
    assert!(bench.hub.stopped().is_some());
    bench.todo = todo.into_iter().skip(3).collect();
    bench.debug(DebugCommand::Continue);
    let report = bench.stop();
    assert!(matches!(report.hits[0].seen, DebugEvent::Burst { .. }));
}

#[test]
fn to_be_saved_is_no_reason_for_time_to_move_that_a_debugger_has_stopped() {
    let mut bench = Bench::new(TimeMode::Lockstep);
    // The last wait would settle it.
    bench.todo.pop_back();
    bench.run();
    bench.debug(DebugCommand::Stop);
    let stopped = bench.hub.now();
    let refused = bench.hub.save(&mut Vec::new()).unwrap_err().to_string();
    assert_eq!(refused, "the platform is not at rest: a debugger has stopped its time");
    bench.handle(Input::Settle { limit: Time::MAX });
    assert_eq!(bench.hub.now(), stopped);
    bench.debug(DebugCommand::Continue);
    // Nor beyond where it has it stop.
    let soon = stopped + CYCLE * 1000;
    bench.set(BreakOn::Time(soon));
    bench.handle(Input::Settle { limit: Time::MAX });
    assert!(bench.hub.now() < soon);
    bench.debug(DebugCommand::Clear { number: 1 });
    bench.handle(Input::Settle { limit: Time::MAX });
    assert!(bench.hub.now() > soon);
    bench.check_replay();
}

#[test]
fn a_breakpoint_that_is_hit_on_the_way_to_rest_stops_time_and_is_told() {
    let mut bench = Bench::new(TimeMode::Lockstep);
    let rest = bench.todo.split_off(bench.todo.len() - 4);
    bench.run();
    bench.set(BreakOn::Layer { unit: String::new(), end: true });
    bench.handle(Input::Settle { limit: Time::MAX });
    let report = bench.hub.stopped().cloned().expect("the layer has ended");
    assert!(matches!(report.hits[0].seen, DebugEvent::Layer { end: true, .. }));
    assert_eq!((bench.stops.as_slice(), bench.hub.now()), (&[report.clone()][..], report.time));
    assert!(bench.hub.save(&mut Vec::new()).is_err());
    bench.debug(DebugCommand::Continue);
    bench.todo = rest;
    bench.run();
    assert_eq!(bench.outcome().2, plain().outcome().2);
    bench.check_replay();
}

#[test]
fn what_no_breakpoint_can_be_is_refused() {
    let mut bench = Bench::new(TimeMode::Lockstep);
    bench.run();
    let refused =
        |bench: &mut Bench, on| bench.refused(DebugCommand::Break(Breakpoint { on, skip: 0, once: false }));
    let any = Accesses::Any;
    let register = |address| BreakOn::Register { address, access: Accesses::Any, value: None };
    assert_eq!(refused(&mut bench, register(2)).0, FailureKind::Misaligned);
    assert_eq!(refused(&mut bench, register(1 << 40)).0, FailureKind::DecodeError);
    let memory = |port, range| BreakOn::Memory { port, range, access: any };
    assert_eq!(refused(&mut bench, memory(CSB, 0..4)).0, FailureKind::WrongRole);
    assert_eq!(refused(&mut bench, memory(MEMORY, 0..4)).0, FailureKind::BadRange);
    let start = 0x8000_0000;
    assert_eq!(refused(&mut bench, memory(MEMORY, start..start)).0, FailureKind::BadRange);
    let (kind, reason) = refused(&mut bench, BreakOn::Time(Time::us(1)));
    assert_eq!((kind, &*reason), (FailureKind::BadRange, "1 µs is over: it is 900 µs"));
    assert_eq!(refused(&mut bench, BreakOn::Time(Time::ps(u64::MAX))).0, FailureKind::BadRange);
    let unit = "x".repeat(33);
    assert_eq!(refused(&mut bench, BreakOn::Layer { unit, end: true }).0, FailureKind::BadRange);
    assert_eq!(bench.refused(DebugCommand::Clear { number: 1 }).1, "there is no breakpoint 1");
    assert_eq!(bench.refused(DebugCommand::Step { by: StepBy::Event, count: 0 }).0, FailureKind::BadRange);
    let far = DebugCommand::Step { by: StepBy::Cycle, count: u32::MAX };
    bench.debug(far);
    bench.debug(DebugCommand::Stop);
    for _ in 0..MOST_BREAKPOINTS {
        bench.set(BreakOn::Interrupt);
    }
    let (kind, reason) = refused(&mut bench, BreakOn::Interrupt);
    assert_eq!(kind, FailureKind::Unsupported);
    assert!(reason.contains("32 breakpoints"), "{reason}");
}
