//! Sessions with a clock of their own: a memory that drives its pins edge by edge, and partners that break the contract of time.

use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::common::raw::DBB;
use crate::common::{Served, description, run};
use bytes::Bytes;
use vp_client::native::{AxiChannel, Driven, PortEvent, PortId, Promised, Reaction, Role, Time, TimeMode};
use vp_client::{Client, Error, Handler, Options, Refusal};
use vp_host::Host as _;
use vp_host::LocalHost;
use vp_host::trace::Trace;
use vp_host::trace::player::{self, PlayOptions};
use vp_models::bus::axi::Latency;
use vp_models::memory::Ram;
use vp_models::platform::{Description, Platform};
use vp_remote::{RemoteHost, RemoteOptions};

const PERIOD: u64 = 1000;
const NAME: &str = "p";

/// Loaders and checks go to the bytes; what is timed is kept for later.
struct Pins {
    ram: Ram,
    driven: Vec<(Driven, Bytes)>,
    promised: Promised,
}

impl Handler for Pins {
    fn read(&mut self, _: PortId, address: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.ram.read(address, into).unwrap();
        Ok(())
    }

    fn write(&mut self, _: PortId, address: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.ram.write(address, bytes).unwrap();
        Ok(())
    }

    fn driven(&mut self, driven: Driven, data: &Bytes) {
        self.driven.push((driven, data.clone()));
    }

    fn promised(&mut self, promised: Promised) {
        self.promised = promised;
    }
}

/// The memory of `dbb0`, which gives the first beat of a read two edges after its address, and a response to a write one edge after
/// its last beat.
struct PinMemory {
    client: Client<Pins>,
    /// Cycle at which the data bus is free.
    free: u64,
    /// Id of the answer, address of the next beat, and beats of each write under way.
    writes: Vec<(u16, u64, u16)>,
    /// Number of the platform's events that the memory has taken into account.
    heard: u64,
    /// True if the memory drives resets back.
    drives_back: bool,
}

fn attached(served: &Served) -> Client<Pins> {
    let options = Options { platform: Some(NAME.to_owned()), share: false, ..Options::new("partner 1.0") };
    let promised = Promised { heard: 0, next: Some(Time::ZERO) };
    let pins = Pins { ram: Ram::new(0x8000_0000..0x1_0000_0000), driven: Vec::new(), promised };
    let mut client = Client::connect(&served.address, &options, pins).unwrap();
    client.clock(Reaction::NextEdge, 0).unwrap();
    client.attach(DBB, Role::Target, None).unwrap();
    client
}

impl PinMemory {
    fn new(served: &Served) -> PinMemory {
        let client = attached(served);
        PinMemory { client, free: 0, writes: Vec::new(), heard: 0, drives_back: true }
    }

    fn drive(&mut self, at: u64, event: PortEvent, data: &[u8]) -> Result<(), Error> {
        self.client.drive(DBB, Time::ps(at), event, data)
    }

    fn take(&mut self, Driven { at, event, .. }: Driven, data: &[u8]) -> Result<(), Error> {
        let at = at.as_ps();
        match event {
            PortEvent::ReadAddress { id, address, beats } => {
                for beat in 0..beats {
                    let mut bytes = [0; 8];
                    self.client.handler().ram.read(address + 8 * u64::from(beat), &mut bytes).unwrap();
                    let seen = self.free.max(at + 2 * PERIOD);
                    self.free = seen + PERIOD;
                    self.drive(
                        seen,
                        PortEvent::ReadData { id, last: beat + 1 == beats, error: false },
                        &bytes,
                    )?;
                }
            }
            PortEvent::WriteAddress { id, address, beats } => self.writes.push((id, address & !7, beats)),
            PortEvent::WriteData { strobes, last } => {
                let (id, address, _) = self.writes[0];
                for (lane, byte) in data.iter().enumerate().filter(|(lane, _)| strobes >> lane & 1 == 1) {
                    self.client.handler().ram.write(address + lane as u64, &[*byte]).unwrap();
                }
                self.writes[0].1 += 8;
                if last {
                    self.writes.remove(0);
                    self.drive(at + PERIOD, PortEvent::WriteResponse { id, error: false }, &[])?;
                }
            }
            PortEvent::Ready { channel: AxiChannel::ReadData | AxiChannel::WriteResponse, .. } => {}
            PortEvent::Reset => {
                (self.free, self.writes) = (0, Vec::new());
                if self.drives_back {
                    self.drive(at + PERIOD, PortEvent::Reset, &[])?;
                }
            }
            other => panic!("{other:?}"),
        }
        Ok(())
    }

    /// Waits for something, and deals with it: all it causes goes out in one write.
    fn turn(&mut self, told: &mut Option<Promised>) -> Result<(), Error> {
        let before = *told;
        let moved = |client: &mut Client<Pins>| {
            let pins = client.handler_mut();
            let has_news = !pins.driven.is_empty() || Some(pins.promised) != before;
            has_news.then(|| (std::mem::take(&mut pins.driven), pins.promised))
        };
        let Some((driven, promised)) = self.client.wait(None, moved)? else { return Ok(()) };
        *told = Some(promised);
        let is_first = self.heard == 0;
        self.heard += driven.len() as u64;
        let has_heard = !driven.is_empty();
        for (driven, data) in driven {
            self.take(driven, &data)?;
        }
        if is_first || has_heard {
            // It does nothing by itself.
            self.client.promise(self.heard, None)?;
        }
        self.client.flush()
    }
}

/// Serves until told to end, or until its session does: why.
fn serve(mut memory: PinMemory) -> JoinHandle<Error> {
    thread::spawn(move || {
        let mut told = None;
        loop {
            if let Err(error) = memory.turn(&mut told) {
                return error;
            }
        }
    })
}

fn trace() -> Trace {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/nv_small/sdp_residual_sum_8x8x16");
    Trace::load(&folder.join("sdp_residual_sum_8x8x16.cfg")).unwrap()
}

/// nv_small with such a memory.
fn described() -> Description {
    let mut described = description();
    described.dbb0.read_latency = Some(Latency::Fixed(2));
    described.dbb0.write_latency = Latency::Fixed(1);
    described
}

fn cpu(served: &Served, time_mode: TimeMode) -> RemoteHost {
    let platform = Some(NAME.to_owned());
    served.join(RemoteOptions { platform, time_mode, ..RemoteOptions::default() })
}

fn a_memory_at_pins_is_the_same_run_over(address: &str) {
    let local = LocalHost::new(Platform::build(&described()).unwrap());
    let (_, local) = run(&trace(), &mut { local });
    let served = Served::at(address, vp_server::Options::default());
    let mut cpu = cpu(&served, TimeMode::Lockstep);
    let memory = serve(PinMemory::new(&served));
    let (_, remote) = run(&trace(), &mut cpu);
    assert!(local.get("nvdla.cycles").is_some());
    assert_eq!(remote.get("nvdla.cycles"), local.get("nvdla.cycles"));
    drop(cpu);
    drop(served);
    assert!(matches!(memory.join().unwrap(), Error::Ended(_)));
}

#[test]
fn a_memory_at_pins_over_tcp_takes_the_cycles_that_one_inside_takes() {
    a_memory_at_pins_is_the_same_run_over("tcp:127.0.0.1:0");
}

#[test]
fn a_memory_at_pins_over_a_unix_socket_takes_the_cycles_that_one_inside_takes() {
    let folder = tempfile::tempdir().unwrap();
    a_memory_at_pins_is_the_same_run_over(&format!("unix:{}", folder.path().join("vp.sock").display()));
}

/// Lets the trace end in the middle of its layer.
fn begin(host: &mut impl vp_host::Host) {
    let (map, now) = (host.map(), host.now().unwrap());
    host.set_limit(now + vp_core::Time::ns(700));
    let ended = player::play(&trace(), host, &map, &PlayOptions::default());
    assert!(!ended.is_ok_and(|outcome| outcome.passed()));
    host.set_limit(vp_core::Time::MAX);
}

#[test]
fn a_memory_at_pins_that_drives_resets_back_takes_the_same_cycles_behind_them() {
    let mut local = LocalHost::new(Platform::build(&described()).unwrap());
    begin(&mut local);
    local.reset().unwrap();
    let (_, local) = run(&trace(), &mut local);
    let served = Served::at("tcp:127.0.0.1:0", vp_server::Options::default());
    let mut cpu = cpu(&served, TimeMode::Lockstep);
    let memory = serve(PinMemory::new(&served));
    for _ in 0..3 {
        begin(&mut cpu);
        cpu.reset().unwrap();
    }
    let (outcome, remote) = run(&trace(), &mut cpu);
    assert!(outcome.passed(), "{outcome:?}");
    assert!(local.get("nvdla.cycles").is_some());
    assert_eq!(remote.get("nvdla.cycles"), local.get("nvdla.cycles"));
    drop(cpu);
    drop(served);
    assert!(matches!(memory.join().unwrap(), Error::Ended(_)));
}

#[test]
fn what_a_partner_drives_that_drives_no_reset_back_is_not_looked_at() {
    let served = Served::at("tcp:127.0.0.1:0", vp_server::Options::default());
    let mut cpu = cpu(&served, TimeMode::Lockstep);
    let memory = serve(PinMemory { drives_back: false, ..PinMemory::new(&served) });
    begin(&mut cpu);
    cpu.reset().unwrap();
    let map = cpu.map();
    // No read is ever answered, and no rule is broken.
    let ended = player::play(&trace(), &mut cpu, &map, &PlayOptions::default());
    assert!(!ended.is_ok_and(|outcome| outcome.passed()));
    drop(cpu);
    drop(served);
    let Error::Ended(reason) = memory.join().unwrap() else { panic!("an end") };
    assert!(!reason.contains("contract"), "{reason}");
}

#[test]
fn a_partner_that_resets_by_itself_has_to_go() {
    is_expelled(
        |partner| partner.drive(DBB, Time::ZERO, PortEvent::Reset, &[]).unwrap(),
        "dbb0, at 0 s: it drives a reset that nobody has asked for: a partner drives one for each that it is sent",
    );
}

/// The partner breaks the contract: its/// The partner breaks the contract: its session ends and says why, the platform goes on with the memory inside.
fn is_expelled(breaks: impl FnOnce(&mut Client<Pins>), why: &str) {
    let served = Served::tcp();
    let mut cpu = cpu(&served, TimeMode::Lockstep);
    let mut partner = attached(&served);
    breaks(&mut partner);
    let Err(Error::Ended(reason)) = partner.wait(None, |_| None::<()>) else { panic!("an end") };
    assert_eq!(reason, format!("the server ended the session: contract of time broken: session 2: {why}"));
    run(&trace(), &mut cpu);
    let warnings = cpu.warnings();
    assert!(warnings.iter().any(|warning| warning.text.contains(why)), "{warnings:?}");
}

#[test]
fn a_partner_that_breaks_a_rule_of_axi_has_to_go_and_the_others_go_on() {
    let event = PortEvent::ReadData { id: 7, last: true, error: false };
    is_expelled(
        |partner| partner.drive(DBB, Time::ZERO, event, &[0; 8]).unwrap(),
        "dbb0, at 0 s: R with id 7: no read of that id is open",
    );
}

#[test]
fn a_partner_that_breaks_its_promise_has_to_go_and_the_others_go_on() {
    let event = PortEvent::Ready { channel: AxiChannel::ReadAddress, ready: false };
    is_expelled(
        |partner| {
            partner.promise(0, Some(Time::ps(5 * PERIOD))).unwrap();
            partner.drive(DBB, Time::ps(4 * PERIOD), event, &[]).unwrap();
        },
        "dbb0, at 0 s: it drives something to be seen at 4 ns, having promised nothing before 5 ns",
    );
}

#[test]
fn a_partner_that_promises_nothing_is_put_out_after_a_while() {
    for mode in [TimeMode::Lockstep, TimeMode::Free] {
        let owner_timeout = Duration::from_millis(50);
        let served =
            Served::at("tcp:127.0.0.1:0", vp_server::Options { owner_timeout, ..Default::default() });
        let mut cpu = cpu(&served, mode);
        let mut partner = attached(&served);
        let now = partner.time();
        partner.promise(0, Some(now + Time::ps(PERIOD))).unwrap();
        partner.flush().unwrap();
        let partner = thread::spawn(move || partner.wait(None, |_| None::<()>));
        cpu.read(0).unwrap();
        let Err(Error::Ended(reason)) = partner.join().unwrap() else { panic!("an end") };
        let why =
            "the server ended the session: request left unanswered: session 2: simulated time stands at ";
        assert!(reason.starts_with(why), "{mode:?}: {reason}");
        assert!(reason.ends_with("within 0.05 s it has promised no more"), "{mode:?}: {reason}");
        run(&trace(), &mut cpu);
    }
}
