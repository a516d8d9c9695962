//! Scripts for the guest program (`guest/script.h`): what a trace does to a host, recorded while it passes in this process.

use std::path::Path;

use vp_host::LocalHost;
use vp_host::fpga_ai_suite::{Driver, Model};
use vp_host::network::digits;
use vp_host::trace::cfg::CfgCommand;
use vp_host::trace::player::{PlayOptions, play};
use vp_host::trace::{Body, RegisterNames as _, Trace};
use vp_host::{Host, HostError, Memory};
use vp_models::fpga_ai_suite::{Architecture, registers as suite};
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{Description, Platform};

/// A script in the making.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    map: RegisterMap,
    words: Vec<u32>,
}

/// `enum step` of `guest/script.h`.
#[derive(Debug, Clone, Copy)]
enum Step {
    End,
    Write,
    Read,
    Interrupts,
    Load,
    Check,
    Say,
    Restart,
    UntilError,
    UntilAnswer,
    ReadTimes,
    Times,
    Watch,
    Sleep,
    #[allow(dead_code, reason = "a benchmark reads so")]
    Reads,
    #[allow(dead_code, reason = "a benchmark writes so")]
    Writes,
    #[allow(dead_code, reason = "a test is heard")]
    Hear,
}

impl Script {
    /// A script for a device with this map that does nothing yet.
    pub(crate) fn new(map: RegisterMap) -> Script {
        let status = address(map, "GLB.S_INTR_STATUS");
        Script { map, words: vec![status] }
    }

    /// A script for an FPGA AI Suite IP that does nothing yet: there is no NVDLA, and the interrupts' status is the CSR block's.
    pub(crate) fn for_suite() -> Script {
        let status = suite::INTERRUPT_CONTROL.offset.into();
        Script { map: RegisterMap::Foreign, words: vec![status] }
    }

    /// Inferences of the digits network on an FPGA AI Suite IP, one after the other, with all that a driver does.
    ///
    /// # Panics
    /// When they do not run in this process.
    pub(crate) fn inferences(mut self, platform: &str, count: usize) -> Script {
        let description = Description::named(platform).expect("a platform of that name");
        let architecture = Architecture::named(platform).expect("an architecture of that name");
        let model = Model::of_network(&digits::network()).expect("a model");
        let samples = digits::samples();
        let inputs: Vec<&[i8]> = samples.iter().take(count).map(|sample| &sample.pixels[..]).collect();
        let mut host = Recorder {
            above: 0,
            before: None,
            high_words: Vec::new(),
            host: LocalHost::new(Platform::build(&description).expect("a platform")),
            status: suite::INTERRUPT_CONTROL.offset.into(),
            seen: 0,
            script: &mut self,
        };
        let memory = 0x8000_0000..0x8100_0000;
        let mut driver = Driver::open(&mut host, &architecture, &model, memory).expect("an IP");
        driver.set_in_flight(1);
        let inferred = driver.infer(&inputs).expect("inferences");
        assert!(inferred.iter().zip(inputs).all(|(one, input)| one.output == model.infer(input)));
        self
    }

    /// A layer, with its memory and its interrupts, and what must be there in the end.
    ///
    /// # Panics
    /// When the trace does not pass in this process.
    pub(crate) fn layer(self, trace: &Path) -> Script {
        self.layer_at(trace, 0)
    }

    /// A layer as [`Script::layer`] has it, which before its first interrupt waits until a word of memory changes.
    pub(crate) fn layer_watching(self, trace: &Path, address: u64) -> Script {
        self.play(trace, 0, Some(BeforeInterrupt::Watch(address)))
    }

    /// A layer as [`Script::layer`] has it, with all of its memory so many times 4 GiB higher up in the guest.
    pub(crate) fn layer_at(self, trace: &Path, above: u32) -> Script {
        self.play(trace, above, None)
    }

    /// A layer as [`Script::layer`] has it, which before its first interrupt says that it is enabled, and waits until somebody types
    /// something.
    #[allow(dead_code, reason = "a test is heard")]
    pub(crate) fn layer_heard(self, trace: &Path) -> Script {
        self.play(trace, 0, Some(BeforeInterrupt::Hear))
    }

    fn play(mut self, trace: &Path, above: u32, before: Option<BeforeInterrupt>) -> Script {
        let description = Description::named(self.map.name()).expect("a platform of the map's name");
        let trace = Trace::load(trace).expect("a trace");
        let mut host = Recorder {
            above,
            before,
            high_words: written(&trace)
                .filter(|(name, _)| name.ends_with("BASE_ADDR_HIGH"))
                .map(|(name, _)| address(self.map, name))
                .collect(),
            host: LocalHost::new(Platform::build(&description).expect("a platform")),
            status: address(self.map, "GLB.S_INTR_STATUS"),
            seen: 0,
            script: &mut self,
        };
        let map = host.script.map;
        let outcome = play(&trace, &mut host, &map, &PlayOptions::default()).expect("a run");
        assert!(outcome.passed(), "{}: {:?}", outcome.name, outcome.failures);
        self
    }

    /// Writes what a trace writes into registers of these units; no memory, no interrupts.
    pub(crate) fn writes(mut self, trace: &Path, units: &[&str]) -> Script {
        let trace = Trace::load(trace).expect("a trace");
        for (name, value) in written(&trace) {
            let is_wanted = name.split_once('.').is_some_and(|(unit, _)| units.contains(&unit));
            self = if is_wanted { self.write(name, value) } else { self };
        }
        self
    }

    pub(crate) fn read(self, register: &str, expected: u32) -> Script {
        let offset = address(self.map, register);
        self.step(Step::Read, &[offset, expected])
    }

    pub(crate) fn write(self, register: &str, value: u32) -> Script {
        let offset = address(self.map, register);
        self.step(Step::Write, &[offset, value])
    }

    pub(crate) fn say(self, text: &str) -> Script {
        let length = words(text.len());
        self.step(Step::Say, &[length]).data(text.as_bytes())
    }

    /// Restarts the machine, the first time it gets here.
    pub(crate) fn restart(self) -> Script {
        self.step(Step::Restart, &[])
    }

    /// Reads the register until the bus says that it cannot.
    pub(crate) fn until_error(self, register: &str) -> Script {
        let offset = address(self.map, register);
        self.step(Step::UntilError, &[offset])
    }

    /// Sleeps for a second again and again, and reads the register in between, until the bus says that it cannot.
    pub(crate) fn sleep_until_error(self, register: &str) -> Script {
        let offset = address(self.map, register);
        self.step(Step::Sleep, &[offset])
    }

    /// Reads the register until there is an answer.
    pub(crate) fn until_answer(self, register: &str) -> Script {
        let offset = address(self.map, register);
        self.step(Step::UntilAnswer, &[offset])
    }

    /// Reads the register so often, and says the nanoseconds between the ends of the reads.
    pub(crate) fn read_times(self, register: &str, count: u32) -> Script {
        let offset = address(self.map, register);
        self.step(Step::ReadTimes, &[offset, count])
    }

    /// Reads the register so often, and says the nanoseconds of all.
    #[allow(dead_code, reason = "a benchmark reads so")]
    pub(crate) fn reads(self, register: &str, count: u32) -> Script {
        let offset = address(self.map, register);
        self.step(Step::Reads, &[offset, count])
    }

    /// Writes 0 to the register so often, reads it, and says the nanoseconds of all.
    #[allow(dead_code, reason = "a benchmark writes so")]
    pub(crate) fn write_often(self, register: &str, count: u32) -> Script {
        let offset = address(self.map, register);
        self.step(Step::Writes, &[offset, count])
    }

    /// Waits until somebody types something.
    #[allow(dead_code, reason = "a test is heard")]
    pub(crate) fn hear(self) -> Script {
        self.step(Step::Hear, &[])
    }

    /// Says when it is, when the last write was made, and when the last interrupt came.
    pub(crate) fn times(self) -> Script {
        self.step(Step::Times, &[])
    }

    /// The script as the guest has it in memory.
    pub(crate) fn bytes(self) -> Vec<u8> {
        self.step(Step::End, &[]).words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn step(mut self, step: Step, arguments: &[u32]) -> Script {
        self.words.push(step as u32);
        self.words.extend(arguments);
        self
    }

    fn data(mut self, bytes: &[u8]) -> Script {
        let word = |part: &[u8]| part.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
        self.words.extend(bytes.chunks(4).map(word));
        self
    }
}

/// The registers that a trace writes, and what.
fn written(trace: &Trace) -> impl Iterator<Item = (&str, u32)> {
    let Body::Cfg(lines) = trace.body() else { panic!("not in the language of our traces") };
    lines.iter().filter_map(|line| match &line.command {
        CfgCommand::RegWrite { register, value } => Some((register.as_str(), *value)),
        _ => None,
    })
}

fn address(map: RegisterMap, register: &str) -> u32 {
    map.resolve(register).unwrap_or_else(|error| panic!("{error}"))
}

fn words(length: usize) -> u32 {
    u32::try_from(length).expect("a length that a guest has room for")
}

/// Something that a guest waits for between the enabling of a layer and its first interrupt.
enum BeforeInterrupt {
    /// A change of the word at this address.
    Watch(u64),
    /// A character on the console.
    #[allow(dead_code, reason = "a test is heard")]
    Hear,
}

/// A host that does what it is told, and writes down what a guest would do.
///
/// A guest may find two interrupts at once where this host saw one and one: so what matters is which bits of the status
/// come, and that they are cleared, which the guest does by itself.
struct Recorder<'a> {
    host: LocalHost,
    /// Number of times 4 GiB that the guest's memory is higher up, and the registers that hold the upper words of addresses.
    above: u32,
    /// Something to wait for before the first interrupt.
    before: Option<BeforeInterrupt>,
    high_words: Vec<u32>,
    status: u32,
    /// Bits that have come and are not cleared.
    seen: u32,
    script: &'a mut Script,
}

impl Recorder<'_> {
    fn step(&mut self, step: Step, arguments: &[u32], data: &[u8]) {
        let script = std::mem::replace(self.script, Script { map: self.script.map, words: Vec::new() });
        *self.script = script.step(step, arguments).data(data);
    }

    fn memory_step(&mut self, step: Step, address: u64, bytes: &[u8]) {
        let (low, high) = (address as u32, (address >> 32) as u32 + self.above);
        self.step(step, &[low, high, words(bytes.len())], bytes);
    }
}

impl Host for Recorder<'_> {
    vp_host::forward_host!(host: wait_interrupt, now, map, device, statistics, warnings, set_limit);

    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        match address == self.status {
            true => self.seen &= !value,
            false if self.high_words.contains(&address) => {
                self.step(Step::Write, &[address, value + self.above], &[]);
            }
            false => self.step(Step::Write, &[address, value], &[]),
        }
        self.host.write(address, value)
    }

    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.write(address, value)
    }

    fn read(&mut self, address: u32) -> Result<u32, HostError> {
        let value = self.host.read(address)?;
        if address != self.status {
            self.step(Step::Read, &[address, value], &[]);
        } else if value & !self.seen != 0 {
            match self.before.take() {
                Some(BeforeInterrupt::Watch(watched)) => {
                    self.step(Step::Watch, &[watched as u32, (watched >> 32) as u32], &[]);
                }
                Some(BeforeInterrupt::Hear) => {
                    let text = b"enabled\n";
                    self.step(Step::Say, &[words(text.len())], text);
                    self.step(Step::Hear, &[], &[]);
                }
                None => {}
            }
            self.step(Step::Interrupts, &[value & !self.seen], &[]);
            self.seen |= value;
        }
        Ok(value)
    }

    fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        self.memory_step(Step::Load, address, bytes);
        self.host.load(memory, address, bytes)
    }

    fn fetch(&mut self, memory: Memory, address: u64, bytes: &mut [u8]) -> Result<(), HostError> {
        self.host.fetch(memory, address, bytes)?;
        self.memory_step(Step::Check, address, bytes);
        Ok(())
    }
}
