//! The project's small layers, played by a CPU of any kind; and what they leave in process.

use std::path::Path;
use std::time::Instant;

use vp_core::Time;
use vp_host::LocalHost;
use vp_host::trace::Trace;
use vp_host::trace::player::{Outcome, PlayOptions, Sum, play};
use vp_host::{Host, HostError, Memory, Statistics};
use vp_models::nvdla::registers::{RegisterMap, Unit, glb};
use vp_models::platform::{Description, Platform};

use crate::process::PATIENCE;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/nv_small");

const NAMES: [&str; 6] = [
    "cdp_lrn5_7x5x20",
    "conv_3x3_bias_relu_9x7x12x20",
    "pdp_max_3x3_s2_16x16x16",
    "sdp_pdp_batchnorm_relu_maxpool_16x16x16",
    "sdp_prelu_5x7x13",
    "sdp_residual_sum_8x8x16",
];

/// A layer, and what it leaves.
pub(crate) struct Layer {
    trace: Trace,
    sums: Vec<Sum>,
    time: Time,
    /// Times at which the layer's CPU has seen the first interrupt, and the last one.
    interrupts: [Time; 2],
}

/// All of them, after a run in process.
pub(crate) fn all() -> Result<Vec<Layer>, String> {
    NAMES.iter().map(|name| Layer::named(name)).collect()
}

impl Layer {
    pub(crate) fn named(name: &str) -> Result<Layer, String> {
        let script = Path::new(FOLDER).join(name).join(name).with_extension("cfg");
        let trace = Trace::load(&script).map_err(|error| error.to_string())?;
        let description = Description::named("nv_small").map_err(|error| error.to_string())?;
        let platform = Platform::build(&description).map_err(|error| error.to_string())?;
        let mut layer = Layer { trace, sums: Vec::new(), time: Time::ZERO, interrupts: [Time::ZERO; 2] };
        let outcome = layer.outcome(&mut LocalHost::new(platform))?;
        layer.time = outcome.finish - outcome.start;
        let seen = [outcome.interrupts.first(), outcome.interrupts.last()];
        layer.interrupts = seen.map(|seen| seen.map_or(Time::ZERO, |seen| seen.time));
        layer.sums = outcome.sums;
        match layer.sums.is_empty() || layer.interrupts.contains(&Time::ZERO) {
            true => Err(format!("{name} leaves nothing that is compared, or raises no interrupt")),
            false => Ok(layer),
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.trace.name()
    }

    /// On a fresh platform.
    pub(crate) fn interrupts(&self) -> [Time; 2] {
        self.interrupts
    }

    /// The regions that are compared.
    pub(crate) fn sums(&self) -> &[Sum] {
        &self.sums
    }

    fn outcome(&self, host: &mut dyn Host) -> Result<Outcome, String> {
        let played = play(&self.trace, host, &RegisterMap::Small, &PlayOptions::default());
        let outcome = played.map_err(|error| format!("{}: {error}", self.name()))?;
        match outcome.failures.first() {
            Some(failure) => Err(format!("{}: {failure}", self.name())),
            None => Ok(outcome),
        }
    }

    /// Plays it; what it leaves must be what it leaves in process.
    pub(crate) fn play(&self, host: &mut dyn Host) -> Result<Time, String> {
        let outcome = self.outcome(host)?;
        match outcome.sums == self.sums {
            true => Ok(outcome.finish - outcome.start),
            false => Err(format!("{}: it leaves {:?}, not {:?}", self.name(), outcome.sums, self.sums)),
        }
    }

    /// Plays it as [`Layer::play`] does; it must take the same simulated time as in process, too.
    pub(crate) fn play_in_time(&self, host: &mut dyn Host) -> Result<(), String> {
        match self.play(host)? {
            time if time == self.time => Ok(()),
            time => Err(format!("{}: it takes {time}, not {}", self.name(), self.time)),
        }
    }

    /// The bytes that are given of each region must be what it leaves in process.
    pub(crate) fn check(&self, mut bytes: impl FnMut(&Sum) -> Result<Vec<u8>, String>) -> Result<(), String> {
        for sum in &self.sums {
            let crc = crc32fast::hash(&bytes(sum)?);
            if crc != sum.crc {
                return Err(format!("{}: the CRC is {crc:#x} where {sum:?} is left", self.name()));
            }
        }
        Ok(())
    }
}

/// A CPU's access to the device and the memory, with nobody who waits for the interrupt.
pub(crate) trait Bus {
    /// A register of the device.
    fn read(&mut self, address: u32) -> Result<u32, String>;
    fn write(&mut self, address: u32, value: u32) -> Result<(), String>;
    /// Bytes of the memory.
    fn load(&mut self, address: u64, bytes: &[u8]) -> Result<(), String>;
    fn fetch(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), String>;
    /// Lets time pass, where it does not by itself.
    fn pass(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A CPU at a bus: it looks at the status until an interrupt is there.
pub(crate) struct Cpu<B>(pub(crate) B);

fn lost(why: String) -> HostError {
    HostError::Transport(why)
}

impl<B: Bus> Host for Cpu<B> {
    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.0.write(address, value).map_err(lost)
    }

    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.write(address, value)
    }

    fn read(&mut self, address: u32) -> Result<u32, HostError> {
        self.0.read(address).map_err(lost)
    }

    fn wait_interrupt(&mut self) -> Result<Time, HostError> {
        let address = |register| {
            let address = RegisterMap::Small.address(Unit::Glb, register);
            address.ok_or_else(|| lost("the map has no such register".to_owned()))
        };
        let (status, mask) = (address(glb::S_INTR_STATUS)?, address(glb::S_INTR_MASK)?);
        let began = Instant::now();
        while self.read(status)? & !self.read(mask)? == 0 {
            self.0.pass().map_err(lost)?;
            if began.elapsed() > PATIENCE {
                return Err(HostError::Idle { time: Time::ZERO, report: "no interrupt".to_owned() });
            }
        }
        Ok(Time::ZERO)
    }

    fn now(&mut self) -> Result<Time, HostError> {
        Ok(Time::ZERO)
    }

    fn load(&mut self, _: Memory, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        self.0.load(address, bytes).map_err(lost)
    }

    fn fetch(&mut self, _: Memory, address: u64, bytes: &mut [u8]) -> Result<(), HostError> {
        self.0.fetch(address, bytes).map_err(lost)
    }

    fn map(&self) -> RegisterMap {
        RegisterMap::Small
    }

    fn device(&self) -> &str {
        "nvdla"
    }

    fn statistics(&mut self) -> Result<Statistics, HostError> {
        Err(HostError::Refused("nobody tells them here".to_owned()))
    }

    fn set_limit(&mut self, _: Time) {}
}
