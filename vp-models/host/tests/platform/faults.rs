//! Faults that are injected: what each does to a layer, that they are told, and that the same ones give the same run.

use std::path::Path;

use bytes::Bytes;
use vp_core::Time;
use vp_host::LocalHost;
use vp_host::trace::Trace;
use vp_host::trace::player::{self, Outcome, PlayOptions};
use vp_host::{Host, HostError, Memory};
use vp_hub::{
    Access, Activity, Completion, Hub, Input, MemoryGuarantees, Operation, Output, PartyCommand, PartyId,
    PortId, Recorded, Role, RunState, Tag, TimeMode, Until, replay,
};
use vp_models::platform::{Description, Platform};

/// PDP from memory to memory: reads 512 bursts from 0x80000000 on and writes 128 to 0x80020000.
const LAYER: &str = "pdp_max_3x3_s2_16x16x16";

fn trace() -> Trace {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/nv_small").join(LAYER);
    Trace::load(&folder.join(format!("{LAYER}.cfg"))).unwrap()
}

/// Outcome of the layer.
struct Played {
    outcome: Result<Outcome, String>,
    hash: u64,
    cycles: Option<u64>,
    /// Text that is said of each fault.
    faults: Vec<String>,
    warnings: Vec<String>,
}

impl Played {
    /// Returns true if the layer ended with what it should leave in memory.
    fn passed(&self) -> bool {
        self.outcome.as_ref().is_ok_and(Outcome::passed)
    }

    /// Returns the reason for which it did not pass.
    fn why(&self) -> String {
        match &self.outcome {
            Ok(outcome) => outcome.failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            Err(error) => error.clone(),
        }
    }
}

fn host_with(faults: &str) -> LocalHost {
    let mut host = LocalHost::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap());
    host.inject_faults(faults).unwrap();
    host
}

fn run_on(mut host: LocalHost) -> Played {
    let map = host.map();
    let outcome = player::play(&trace(), &mut host, &map, &PlayOptions::default());
    let warnings = host.warnings().iter().map(|warning| warning.text.clone()).collect();
    let platform = host.platform();
    Played {
        outcome: outcome.map_err(|error| error.to_string()),
        hash: platform.event_hash(),
        cycles: platform.statistics().get("nvdla.cycles"),
        faults: platform.faults().report(),
        warnings,
    }
}

/// Runs the layer with faults, a table each.
fn run(faults: &[&str]) -> Played {
    let tables: Vec<String> = faults.iter().map(|fault| format!("[[fault]]\n{fault}\n")).collect();
    run_on(host_with(&tables.concat()))
}

#[test]
fn without_a_fault_a_run_is_as_it_was() {
    let plain = run_on(LocalHost::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap()));
    let none = run(&[]);
    assert!(plain.passed());
    assert_eq!((plain.hash, plain.cycles), (none.hash, none.cycles));
    assert!(none.faults.is_empty());
}

#[test]
fn one_that_is_armed_and_never_strikes_changes_nothing_and_is_said() {
    let plain = run(&[]);
    let armed = run(&[
        "kind = 'error'\nport = 'dbb0'\nafter = 100000",
        "kind = 'stall'\nport = 'dbb0'\nchannel = 'b'\naddress = 0x90000000",
        "kind = 'lost-interrupt'\nafter = 1",
        "kind = 'register-flip'\nregister = 'CDP.D_DATA_FORMAT'\nbit = 0",
    ]);
    assert!(armed.passed());
    assert_eq!((armed.hash, armed.cycles), (plain.hash, plain.cycles));
    assert!(armed.faults.len() == 4 && armed.faults.iter().all(|fault| fault.ends_with(": never struck")));
}

#[test]
fn a_read_that_is_answered_with_an_error_brings_zeros_and_the_layer_ends() {
    let ran = run(&["kind = 'error'\nport = 'dbb0'\ndirection = 'read'\nafter = 100\ntimes = 20"]);
    assert!(!ran.passed(), "what it leaves is wrong");
    // The RTL does not look at RRESP: the interrupt comes.
    assert_eq!(ran.outcome.unwrap().interrupts.len(), 1);
    assert_eq!(ran.cycles, run(&[]).cycles);
    let said = "error at dbb0, reads: SLVERR; after 100; at most 20 times: struck 20 times, from ";
    assert!(ran.faults[0].starts_with(said), "{}", ran.faults[0]);
    let warned = |text: &str| ran.warnings.iter().any(|warning| warning.contains(text));
    assert!(warned("not served: SLVERR, by fault 1; zeros returned"), "{:?}", ran.warnings);
    assert!(warned("faults: fault 1, error: read of 8 bytes at 0x80000"), "{:?}", ran.warnings);
}

#[test]
fn a_write_that_is_answered_with_an_error_is_lost() {
    let fault = "kind = 'error'\nport = 'dbb0'\nresponse = 'decerr'\naddress = 0x80020000\nbytes = 8";
    let mut host = host_with(&format!("[[fault]]\n{fault}\n"));
    let map = host.map();
    let outcome = player::play(&trace(), &mut host, &map, &PlayOptions::default()).unwrap();
    assert!(!outcome.passed());
    let mut bytes = [1; 16];
    host.fetch(Memory::Primary, 0x8002_0000, &mut bytes).unwrap();
    assert_eq!(bytes[..8], [0; 8], "as the memory was");
    assert_ne!(bytes[8..], [0; 8]);
    let report = host.platform().faults().report();
    assert!(report[0].contains("write of 8 bytes at 0x80020000"), "{report:?}");
}

#[test]
fn a_channel_that_stands_delays_the_layer_by_that_much() {
    let plain = run(&[]).cycles.unwrap();
    for channel in ["ar", "r", "aw", "w", "b"] {
        let fault =
            format!("kind = 'stall'\nport = 'dbb0'\nchannel = '{channel}'\ncycles = 20000\nafter = 3");
        let ran = run(&[&fault]);
        assert!(ran.passed(), "{channel}: {:?}", ran.outcome);
        let later = ran.cycles.unwrap() - plain;
        // All else goes on until it waits for that channel.
        assert!((20_000 - plain..=20_000).contains(&later), "{channel}: {later}");
        assert!(ran.faults[0].contains("; once: struck at "), "{:?}", ran.faults);
    }
}

#[test]
fn a_channel_that_stands_for_ever_is_a_run_that_ends_with_a_sentence() {
    for channel in ["ar", "r", "aw", "w", "b"] {
        let fault = format!("kind = 'stall'\nport = 'dbb0'\nchannel = '{channel}'\nafter = 3");
        let why = run(&[&fault]).why();
        assert!(why.contains("nothing left to simulate"), "{channel}: {why}");
        assert!(why.contains("pdp is in the middle of 16x16x16"), "{channel}: {why}");
    }
}

#[test]
fn a_lost_interrupt_leaves_the_cpu_waiting() {
    let ran = run(&["kind = 'lost-interrupt'"]);
    let why = ran.why();
    assert!(why.contains("nothing left to simulate"), "{why}");
    assert!(ran.faults[0].starts_with("lost-interrupt; once: struck at "), "{:?}", ran.faults);
    assert!(ran.warnings.iter().any(|warning| warning.contains("the line stays low")), "{:?}", ran.warnings);
}

/// Returns the time at which the line goes high, for the layer.
fn interrupt(faults: &str) -> Time {
    run_on(host_with(faults)).outcome.unwrap().interrupts[0].time
}

#[test]
fn a_delayed_interrupt_comes_so_many_cycles_later() {
    let late = interrupt("[[fault]]\nkind = 'delayed-interrupt'\ncycles = 777\n");
    assert_eq!(late - interrupt(""), Time::ns(777));
}

#[test]
fn a_spurious_interrupt_is_a_pulse_of_the_line() {
    let mut host = host_with("[[fault]]\nkind = 'spurious-interrupt'\ncycles = 9\nat = '5 us'\n");
    assert_eq!(host.wait_interrupt(), Ok(Time::us(5)));
    assert_eq!(host.read(0x100c), Ok(0), "nothing is pending");
    assert!(matches!(host.wait_interrupt(), Err(HostError::Idle { .. })), "it is over");
    assert_eq!(
        host.platform().faults().report(),
        ["spurious-interrupt: 9 cycles; from 5 µs on; once: struck at 5 µs: the line is high for 9 cycles"]
    );
}

#[test]
fn a_spurious_interrupt_may_follow_a_real_one() {
    let mut host = host_with("[[fault]]\nkind = 'spurious-interrupt'\ncycles = 1000\n");
    let bits = [("GLB.S_INTR_SET", 1 << 4), ("GLB.S_INTR_STATUS", 1 << 4)];
    let [set, clear] = bits.map(|(name, bits)| (host.map().find(name).unwrap().address, bits));
    host.write_acknowledged(set.0, set.1).unwrap();
    host.wait_interrupt().unwrap();
    host.write_acknowledged(clear.0, clear.1).unwrap();
    assert!(host.platform().irq().level(), "it was cleared, and is high again");
    assert_eq!(host.read(0x100c), Ok(0));
    let report = host.platform().faults().report();
    assert!(report[0].contains("the line rises once more, for 1000 cycles"), "{report:?}");
}

#[test]
fn a_bit_of_memory_flips_at_a_time_or_when_it_is_read() {
    let flip = |when: &str| {
        let mut host = host_with(&format!(
            "[[fault]]\nkind = 'memory-flip'\nport = 'dbb0'\naddress = 0x80000005\nbit = 6\n{when}\n"
        ));
        let map = host.map();
        let passed = player::play(&trace(), &mut host, &map, &PlayOptions::default()).unwrap().passed();
        let mut bytes = [0; 1];
        host.fetch(Memory::Primary, 0x8000_0005, &mut bytes).unwrap();
        (passed, bytes[0], host.platform().faults().report())
    };
    let (passed, right, _) = flip("after = 1000");
    assert!(passed);
    let (_, read, report) = flip("");
    assert_eq!(read, right ^ 1 << 6, "{report:?}");
    assert!(report[0].contains("before the read of 8 bytes at 0x80000000"), "{report:?}");
    let (_, in_time, report) = flip("at = '30 ns'");
    assert_eq!(in_time, right ^ 1 << 6, "{report:?}");
    let said = format!("struck at 30 ns: the byte is 0x{in_time:02x}, and was 0x{right:02x}");
    assert!(report[0].ends_with(&said), "{report:?}");
}

#[test]
fn a_bit_of_a_register_flips_after_it_is_written() {
    // An output of 3 columns in place of 7 and one more.
    let ran = run(&["kind = 'register-flip'\nregister = 'PDP.D_DATA_CUBE_OUT_WIDTH'\nbit = 2"]);
    assert!(!ran.passed());
    assert!(ran.faults[0].contains("struck at ") && ran.faults[0].ends_with(": after an access to it"));
    let mut host = host_with(
        "[[fault]]\nkind = 'register-flip'\nregister = 'GLB.S_INTR_MASK'\nbit = 4\nat = '1 us'\n\
         [[fault]]\nkind = 'register-flip'\nregister = 'MCIF.CFG_OUTSTANDING_CNT'\nbit = 0\nat = '1 us'\n\
         [[fault]]\nkind = 'register-flip'\nregister = 'SDP.D_DATA_CUBE_WIDTH'\nbit = 12\ngroup = 1\nat = '1 us'\n\
         [[fault]]\nkind = 'spurious-interrupt'\ncycles = 1\nat = '2 us'\n",
    );
    host.wait_interrupt().unwrap();
    let mut read = |name: &str| host.read(host.map().find(name).unwrap().address).unwrap();
    assert_eq!(read("GLB.S_INTR_MASK"), 1 << 4);
    assert_eq!(read("MCIF.CFG_OUTSTANDING_CNT"), 0xffff ^ 1);
    assert_eq!(read("SDP.D_DATA_CUBE_WIDTH"), 0, "group 0 is as it was");
    let pointer = host.map().find("SDP.S_POINTER").unwrap().address;
    host.write(pointer, 1).unwrap();
    assert_eq!(host.read(host.map().find("SDP.D_DATA_CUBE_WIDTH").unwrap().address), Ok(1 << 12));
}

const DRAWN: &str =
    "[[fault]]\nkind = 'stall'\nport = 'dbb0'\nchannel = 'r'\ncycles = 30\nprobability = 0.05\nseed = ";

#[test]
fn the_same_seed_is_the_same_run_and_another_is_another() {
    let hash = |seed: u32| run_on(host_with(&format!("{DRAWN}{seed}\n"))).hash;
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

#[test]
fn a_text_that_is_refused_arms_nothing() {
    let mut host = host_with("");
    let text = "[[fault]]\nkind = 'lost-interrupt'\n[[fault]]\nkind = 'error'\nport = 'dbb1'\n";
    let refused = host.inject_faults(text).unwrap_err();
    let said = HostError::Refused(
        "line 5: fault 2: port = \"dbb1\": of this platform, error can be at dbb0".to_owned(),
    );
    assert_eq!(refused, said);
    assert!(host.platform().faults().report().is_empty());
    assert!(host.inject_faults(&"#".repeat(1 << 17)).is_err());
}

#[test]
fn a_reset_leaves_faults_armed_and_what_they_have_counted() {
    let mut host = host_with("[[fault]]\nkind = 'lost-interrupt'\nafter = 1\n");
    let map = host.map();
    let play = |host: &mut LocalHost| player::play(&trace(), host, &map, &PlayOptions::default());
    assert!(play(&mut host).unwrap().passed());
    host.reset().unwrap();
    assert!(!play(&mut host).unwrap().passed(), "its second interrupt is lost");
    let report = host.platform().faults().report();
    assert!(report[0].starts_with("lost-interrupt; after 1; once: struck at "), "{report:?}");
}

#[test]
fn statistics_have_each_fault() {
    let mut host = host_with("[[fault]]\nkind = 'spurious-interrupt'\ncycles = 9\nat = '5 us'\n");
    host.wait_interrupt().unwrap();
    let statistics = host.statistics().unwrap();
    assert_eq!(statistics.get("fault.1.struck"), Some(1));
    assert_eq!(statistics.text("fault.1"), Some(&*host.platform().faults().report()[0]));
}

// Parties.

const CPU: PartyId = PartyId(1);
const OWNER: PartyId = PartyId(2);

/// A hub with a CPU that has enabled the layer and waits for its end, and the owner of the memory, who answers with zeros until nothing
/// more is asked.
struct Outside {
    hub: Hub,
    outputs: Vec<Output>,
    answered: usize,
}

impl Outside {
    fn new(faults: &str) -> Outside {
        let platform = Platform::build(&Description::named("nv_small").unwrap()).unwrap();
        let mut outside =
            Outside { hub: Hub::new(platform, TimeMode::Lockstep), outputs: Vec::new(), answered: 0 };
        for (party, name) in [(CPU, "the CPU"), (OWNER, "the owner")] {
            outside.hub.handle(Input::Enter {
                party,
                name: name.into(),
                memory: MemoryGuarantees::default(),
            });
        }
        let attach = |port, role| PartyCommand::Attach { port: PortId(port), role, range: None };
        outside.command(OWNER, attach(2, Role::Target));
        outside.command(CPU, attach(0, Role::Initiator));
        outside.command(CPU, attach(1, Role::Sink));
        outside.command(CPU, PartyCommand::Inject { faults: faults.to_owned() });
        outside
    }

    fn command(&mut self, party: PartyId, command: PartyCommand) {
        let tag = Tag(self.outputs.len() as u64 + 1_000);
        self.hub.handle(Input::Command { party, tag, command });
    }

    /// Programs the layer by the script's own writes.
    fn enable(&mut self) {
        struct Writes(Vec<(u32, u32)>, LocalHost);
        impl Host for Writes {
            vp_host::forward_host!(1: read, wait_interrupt, now, load, fetch, map, device, statistics, set_limit);

            fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
                self.0.push((address, value));
                self.1.write(address, value)
            }
            fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
                self.write(address, value)
            }
        }
        let mut writes = Writes(Vec::new(), host_with(""));
        let map = writes.map();
        player::play(&trace(), &mut writes, &map, &PlayOptions::default()).unwrap();
        let status = map.find("GLB.S_INTR_STATUS").unwrap().address;
        for (address, value) in writes.0.into_iter().filter(|(address, _)| *address != status) {
            let operation = Operation::RegisterWrite { address: address.into(), value };
            self.hub.handle(Input::Posted {
                party: CPU,
                access: Access { port: PortId(0), at: None, operation },
            });
        }
        let until = Until::Interrupt { port: PortId(1), limit: None };
        self.hub.handle(Input::Command { party: CPU, tag: Tag(1), command: PartyCommand::Advance(until) });
    }

    /// Runs until nothing more comes; tells whether the CPU's wait is over.
    fn run(&mut self) -> bool {
        loop {
            let ran = self.hub.run(Time::MAX);
            let mut is_any = false;
            while let Some(output) = self.hub.poll() {
                if let Output::Request { party, request, access, .. } = &output {
                    let zeros =
                        if access.write.is_none() { vec![0; access.length as usize] } else { Vec::new() };
                    let result = Ok(Bytes::from(zeros));
                    self.hub.handle(Input::Answer { party: *party, request: *request, result });
                    self.answered += 1;
                }
                is_any = true;
                self.outputs.push(output);
            }
            if ran == RunState::Waiting && !is_any {
                let is_over = |output: &Output| {
                    matches!(
                        output,
                        Output::Completed { tag: Tag(1), result: Ok(Completion::Reached(_)), .. }
                    )
                };
                return self.outputs.iter().any(is_over);
            }
        }
    }
}

#[test]
fn a_silent_owner_of_a_memory_is_waited_for() {
    let mut outside = Outside::new("[[fault]]\nkind = 'silent-partner'\nport = 'dbb0'\nafter = 20\n");
    outside.enable();
    assert!(!outside.run());
    assert!(outside.answered > 20);
    assert!(outside.hub.is_silent(OWNER));
    assert_eq!(outside.hub.activity(), Activity::Held);
    let report = outside.hub.platform().faults().report();
    assert!(report[0].ends_with(": nothing comes any more of the owner"), "{report:?}");
    outside.hub.handle(Input::Leave { party: OWNER, why: "it was put out".into() });
    assert!(outside.run(), "the memory inside is in its place");
}

#[test]
fn a_failing_owner_of_a_memory_is_put_out() {
    for fault in ["after = 20", "at = '600 ns'"] {
        let text = format!("[[fault]]\nkind = 'failing-partner'\nport = 'dbb0'\n{fault}\n");
        let mut outside = Outside::new(&text);
        outside.enable();
        assert!(outside.run(), "{fault}: the memory inside is in its place");
        let expelled = outside.outputs.iter().find_map(|output| match output {
            Output::Expelled { party: OWNER, failure, .. } => Some(failure.reason.clone()),
            _ => None,
        });
        assert!(expelled.unwrap().ends_with("it fails, by fault 1"));
    }
}

#[test]
fn a_fault_of_a_partner_whom_there_is_none_of_is_said_to_have_missed() {
    let mut outside = Outside::new("[[fault]]\nkind = 'silent-partner'\nport = 'irq0'\nat = '100 ns'\n");
    outside.enable();
    assert!(outside.run());
    let report = outside.hub.platform().faults().report();
    let said = "never struck: at 100 ns, irq0 is nobody's who has a clock or owns its memory";
    assert!(report[0].ends_with(said), "{report:?}");
}

#[test]
fn a_bit_of_a_memory_outside_flips_on_its_way() {
    let flip = |fault: &str| {
        let mut outside = Outside::new(fault);
        outside.enable();
        assert!(outside.run());
        let written = |output: &Output| match output {
            Output::Request { access, .. } => {
                access.write.as_ref().is_some_and(|(data, _)| data.iter().any(|byte| *byte != 0))
            }
            _ => false,
        };
        outside.outputs.iter().any(written)
    };
    assert!(!flip(""), "the largest of zeros is zero");
    assert!(flip("[[fault]]\nkind = 'memory-flip'\nport = 'dbb0'\naddress = 0x80000005\nbit = 6\n"));
}

#[test]
fn a_recording_with_faults_runs_again_to_the_same_event_hash() {
    let text = format!(
        "{DRAWN}3\n[[fault]]\nkind = 'error'\nport = 'dbb0'\nevery = 50\n\
         [[fault]]\nkind = 'spurious-interrupt'\ncycles = 3\nat = '15 us'\n\
         [[fault]]\nkind = 'failing-partner'\nport = 'dbb0'\nat = '900 ns'\n"
    );
    let recording = std::rc::Rc::new(std::cell::RefCell::new(Vec::<Recorded>::new()));
    let platform = || Platform::build(&Description::named("nv_small").unwrap()).unwrap();
    let mut outside = Outside::new("");
    outside.hub = Hub::new(platform(), TimeMode::Lockstep);
    let told = recording.clone();
    outside.hub.record_to(move |entry| told.borrow_mut().push(entry));
    for party in [CPU, OWNER] {
        outside.hub.handle(Input::Enter { party, name: "it".into(), memory: MemoryGuarantees::default() });
    }
    let attach = |port, role| PartyCommand::Attach { port: PortId(port), role, range: None };
    outside.command(OWNER, attach(2, Role::Target));
    outside.command(CPU, attach(0, Role::Initiator));
    outside.command(CPU, PartyCommand::Inject { faults: text });
    outside.enable();
    outside.run();
    outside.command(CPU, PartyCommand::Advance(Until::Time(Time::us(20))));
    outside.run();
    outside.hub.handle(Input::Leave { party: CPU, why: "the end".into() });
    let mut again = Hub::new(platform(), TimeMode::Lockstep);
    replay(&mut again, &recording.borrow()).unwrap();
    assert_eq!(again.platform().event_hash(), outside.hub.platform().event_hash());
    let report = again.platform().faults().report();
    assert_eq!(report, outside.hub.platform().faults().report());
    assert!(report.iter().all(|fault| !fault.contains("never struck")), "{report:?}");
}
