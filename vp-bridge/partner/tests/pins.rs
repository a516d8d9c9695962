//! A platform of which all but the device is at pins: a CPU that programs it edge by edge, and memories of fixed latency. It
//! takes the cycles of the platform with a CPU and memories of its own.

use std::path::Path;
use std::rc::Rc;

use vp_core::Time;
use vp_host::LocalHost;
use vp_host::trace::player::{self, PlayOptions};
use vp_host::trace::{Trace, discover};
use vp_host::{Host, HostError, Memory, Statistics, Warning};
use vp_models::bus::axi::Latency;
use vp_models::memory::Ram;
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{Description, Platform};
use vp_partner::pins::{Handle, LineSink, RegisterAccess, RegisterInitiator, Subordinate, TargetPins};
use vp_partner::{FixedLatency, LocalLink, Partner, PartnerOptions};

/// Edges after which a test gives up.
const PATIENCE: u64 = 10_000_000;

/// A CPU and memories at pins.
struct PinHost {
    partner: Partner,
    csb: Handle<RegisterInitiator>,
    irq: Handle<LineSink>,
    memories: Vec<FixedLatency>,
    rams: Vec<Rc<Ram>>,
    /// Access that the CPU drives.
    access: Option<RegisterAccess>,
    level: bool,
    edges: u64,
}

impl PinHost {
    fn new(description: &Description, latency: u64) -> PinHost {
        let link = LocalLink::new(Platform::build(description).unwrap());
        let mut partner = Partner::new(Box::new(link), PartnerOptions::default()).unwrap();
        let (csb, irq) = (partner.attach("csb0").unwrap(), partner.attach("irq0").unwrap());
        let ports =
            partner.link().ports().iter().filter(|port| ["dbb0", "sram0"].contains(&port.name.as_str()));
        let (names, rams): (Vec<String>, Vec<Rc<Ram>>) = ports
            .map(|port| (port.name.clone(), Rc::new(Ram::new(port.base..port.base + port.size))))
            .unzip();
        let memories = (names.iter().zip(&rams))
            .map(|(name, ram)| FixedLatency::attach(&mut partner, name, ram.clone(), latency).unwrap());
        let memories = memories.collect();
        PinHost { partner, csb, irq, memories, rams, access: None, level: false, edges: 0 }
    }

    fn edge(&mut self) -> TargetPins {
        self.edges += 1;
        assert!(self.edges < PATIENCE, "it does not end");
        let partner = &mut self.partner;
        partner.sample(self.csb, &self.access).unwrap();
        partner.sample(self.irq, &()).unwrap();
        for memory in &self.memories {
            memory.sample(partner).unwrap();
        }
        let answer = partner.seen(self.csb).unwrap();
        self.level = partner.seen(self.irq).unwrap();
        for memory in &mut self.memories {
            memory.edge(partner).unwrap();
        }
        if answer.ready {
            self.access = None;
        }
        answer
    }

    fn send(&mut self, access: RegisterAccess) -> Option<TargetPins> {
        self.access = Some(access);
        while self.access.is_some() {
            self.edge();
        }
        if access.posted {
            return None;
        }
        loop {
            let answer = self.edge();
            if answer.read.is_some() || answer.write_complete {
                return Some(answer);
            }
        }
    }
}

impl Host for PinHost {
    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.send(RegisterAccess { address, write: Some(value), posted: true });
        Ok(())
    }

    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        let answer = self.send(RegisterAccess { address, write: Some(value), posted: false });
        assert!(answer.is_some_and(|answer| answer.write_complete));
        Ok(())
    }

    fn read(&mut self, address: u32) -> Result<u32, HostError> {
        let answer = self.send(RegisterAccess { address, write: None, posted: false });
        Ok(answer.and_then(|answer| answer.read).unwrap())
    }

    fn wait_interrupt(&mut self) -> Result<Time, HostError> {
        while !self.level {
            self.edge();
        }
        self.now()
    }

    fn now(&mut self) -> Result<Time, HostError> {
        Ok(self.partner.now())
    }

    fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        self.rams[memory as usize].write(address, bytes).unwrap();
        Ok(())
    }

    fn fetch(&mut self, memory: Memory, address: u64, bytes: &mut [u8]) -> Result<(), HostError> {
        self.rams[memory as usize].read(address, bytes).unwrap();
        Ok(())
    }

    fn map(&self) -> RegisterMap {
        RegisterMap::Small
    }

    fn device(&self) -> &str {
        "nvdla"
    }

    fn statistics(&mut self) -> Result<Statistics, HostError> {
        Ok(Statistics::default())
    }

    fn warnings(&mut self) -> Vec<Warning> {
        Vec::new()
    }

    fn set_limit(&mut self, _: Time) {}
}

#[test]
fn layers_at_pins_take_the_cycles_of_layers_inside() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/nv_small");
    let mut sources = discover(&folder).unwrap();
    sources.sort_by(|one, other| one.name.cmp(&other.name));
    for latency in [1, 50, 400] {
        for source in &sources {
            let trace = Trace::load(&source.script).unwrap();
            let mut description = Description::named("nv_small").unwrap();
            description.dbb0.read_latency = Some(Latency::Fixed(latency));
            let mut inside = LocalHost::new(Platform::build(&description).unwrap());
            let map = inside.map();
            player::play(&trace, &mut inside, &map, &PlayOptions::default()).unwrap();
            let mut pins = PinHost::new(&description, u64::from(latency));
            let outcome = player::play(&trace, &mut pins, &map, &PlayOptions::default()).unwrap();
            assert!(outcome.passed(), "{}: {outcome:?}", source.name);
            let of = |name: &str| inside.platform().statistics().get(name);
            for counter in ["nvdla.cycles", "dbb0.read.bursts", "dbb0.write.bursts", "dbb0.read.latency.mean"]
            {
                let seen = pins.partner.counter(counter).unwrap();
                assert_eq!(
                    (seen, seen.is_some()),
                    (of(counter), true),
                    "{} at {latency}: {counter}",
                    source.name
                );
            }
        }
    }
}

#[test]
fn what_the_platform_warns_of_is_given_once() {
    let mut host = PinHost::new(&Description::named("nv_small").unwrap(), 50);
    assert_eq!(host.partner.next_warning(), None);
    let map = host.map();
    // The configuration has no Winograd: the layer is refused.
    for (register, value) in
        [("SDP.D_FEATURE_MODE_CFG", 4), ("SDP_RDMA.D_OP_ENABLE", 1), ("SDP.D_OP_ENABLE", 1)]
    {
        host.write(map.find(register).unwrap().address, value).unwrap();
    }
    for _ in 0..500 {
        host.edge();
    }
    let warnings: Vec<_> = std::iter::from_fn(|| host.partner.next_warning()).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let (time, text) = &warnings[0];
    assert!(*time > Time::ZERO && text.contains("Winograd"), "{warnings:?}");
    assert_eq!(host.partner.next_warning(), None);
}

#[test]
fn the_memory_that_a_partner_is_takes_no_more_of_the_host_than_it_may() {
    let description = Description::named("nv_small").unwrap();
    let partner = |options| {
        let link = LocalLink::new(Platform::build(&description).unwrap());
        Partner::new(Box::new(link), options).unwrap()
    };
    let mut small = partner(PartnerOptions { memory_limit: 1 << 20, ..PartnerOptions::default() });
    let dbb0 = small.attach::<Subordinate>("dbb0").unwrap();
    let ram = small.memory(dbb0).unwrap();
    let base = ram.range().start;
    // Bytes far apart, as a platform may write them.
    let refused = (0..1 << 15).find_map(|at| ram.write(base + (at << 14), &[1]).err());
    let told = refused.expect("a limit").to_string();
    assert!(told.contains("the limit of 1048576 bytes for this platform's memory is reached"), "{told}");
    ram.write(base, &[2]).unwrap();

    let usual = PartnerOptions::default().memory_limit;
    assert_eq!(usual, vp_models::memory::usual_limit());
    let mut other = partner(PartnerOptions::default());
    let dbb0 = other.attach::<Subordinate>("dbb0").unwrap();
    other.memory(dbb0).unwrap().write(base, &[1; 3 << 20]).unwrap();
}
