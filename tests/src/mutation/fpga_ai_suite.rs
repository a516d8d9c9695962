//! The FPGA AI Suite IP: its driver's inferences of a small network, by way of a host that changes what it writes.

use rand::Rng as _;
use vp_core::Time;
use vp_host::LocalHost;
use vp_host::fpga_ai_suite::{Driver, Model};
use vp_host::network::digits;
use vp_host::{Host, HostError, Memory};
use vp_models::fpga_ai_suite::Architecture;
use vp_models::platform::{Description, Platform};

use super::{Mutator, PATIENCE, step_to_interrupt};
use crate::progress::Progress;

/// Words of memory of a load that may be changed: configuration comes first.
const WORDS: usize = 256;

/// A host that changes words on their way.
struct Changing<'a> {
    host: LocalHost,
    mutator: Mutator,
    progress: &'a Progress,
    writes: u64,
}

pub(super) fn run(platform: &str, seed: u64, progress: &Progress) -> u64 {
    let description = Description::named(platform).expect("a built-in platform");
    let architecture = Architecture::named(platform).expect("a built-in platform");
    let model = Model::of_network(&digits::network()).expect("a network that fits");
    let host = LocalHost::new(Platform::build(&description).expect("it can be built"));
    let mut host = Changing { host, mutator: Mutator::new(seed), progress, writes: 0 };
    let samples = digits::samples();
    let first = host.mutator.random.random_range(0..samples.len() - 4);
    let inputs: Vec<&[i8]> = samples[first..first + 3].iter().map(|sample| &sample.pixels[..]).collect();
    // Whatever comes of it: what the driver makes of a device that is programmed wrongly is no matter here.
    if let Ok(mut driver) = Driver::open(&mut host, &architecture, &model, description.dbb0.range()) {
        let _ = driver.infer(&inputs);
        let _ = driver.counters();
    }
    // Then some words of the registers, once each.
    let until = host.host.now().expect("time") + PATIENCE;
    for address in (0..description.dbb0.range().start.min(0x1000) as u32).step_by(4) {
        if host.mutator.one_in(8) {
            let _ = host.write(address, 0x8000_0000);
        }
    }
    step_to_interrupt(&mut host.host, until, progress);
    host.writes
}

impl Host for Changing<'_> {
    vp_host::forward_host!(host: now, fetch, stream, map, device, statistics);

    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.writes += 1;
        let value = self.mutator.word(value);
        self.host.write(address, value)
    }

    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.writes += 1;
        let value = self.mutator.word(value);
        self.host.set_limit(Time::MAX);
        self.host.write_acknowledged(address, value)
    }

    fn read(&mut self, address: u32) -> Result<u32, HostError> {
        self.progress.step();
        self.host.set_limit(Time::MAX);
        self.host.read(address)
    }

    fn wait_interrupt(&mut self) -> Result<Time, HostError> {
        let until = self.host.now()? + PATIENCE * 4;
        match step_to_interrupt(&mut self.host, until, self.progress) {
            true => self.host.now(),
            false => Err(HostError::Idle { time: self.host.now()?, report: "no interrupt".to_owned() }),
        }
    }

    fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        let mut bytes = bytes.to_vec();
        for word in bytes.as_chunks_mut::<4>().0.iter_mut().take(WORDS) {
            *word = self.mutator.word(u32::from_le_bytes(*word)).to_le_bytes();
        }
        self.host.load(memory, address, &bytes)
    }

    fn set_limit(&mut self, _: Time) {}
}
