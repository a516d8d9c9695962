//! Runtime's work with the IP, at any host.

use std::collections::VecDeque;
use std::ops::Range;

use thiserror::Error;

use super::layout::{Layout, LayoutError};
use super::model::Model;
use crate::{Host, HostError, Memory};
use vp_core::Time;
use vp_models::fpga_ai_suite::{Architecture, Hash};
use vp_models::fpga_ai_suite::{debug, registers as reg};
use vp_models::registers::RegisterRef;

/// Bytes sent into the stream at once, at most: every session over a socket takes so many.
const MOST_SENT: usize = 8 << 10;

/// A model on an IP.
pub struct Driver<'a> {
    host: &'a mut dyn Host,
    architecture: Architecture,
    layout: Layout,
    input_bytes: usize,
    output_bytes: usize,
    in_flight: usize,
    /// The completion count as last seen.
    complete: u32,
    /// Requests may be under way whose inferences nobody waits for any more.
    has_failed: bool,
}

/// Result for an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inference {
    /// The output.
    pub output: Vec<i8>,
    /// Time at which its interrupt was served.
    pub done: Time,
}

/// The IP's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Inferences complete.
    pub complete: u32,
    /// Clocks with any job active.
    pub active_clocks: u64,
    /// Clocks times jobs active.
    pub job_clocks: u64,
    /// Memory words of input features read.
    pub input_words: u64,
    /// Memory words of filters and biases read.
    pub filter_words: u64,
    /// Memory words of output features written.
    pub output_words: u64,
}

/// Reason for which a model does not run.
#[derive(Debug, Error)]
pub enum DriverError {
    /// The host says no.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The IP is another.
    #[error("the IP's architecture is {found}, and the model is for {expected}")]
    Hash {
        /// The architecture that the model is for.
        expected: Hash,
        /// Architecture that the discovery ROM shows.
        found: Hash,
    },
    /// No room is left in memory.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// An input is of another size.
    #[error("an input of {found} elements: the graph takes {expected}")]
    Input {
        /// Number of elements that the graph takes.
        expected: usize,
        /// Number of elements of the input.
        found: usize,
    },
    /// The IP has raised its error bit.
    #[error("the IP says that there is an error{why}")]
    Device {
        /// Details of the error: what the IP's queue shows, and what the platform said.
        why: String,
    },
}

impl<'a> Driver<'a> {
    /// Takes an IP into use: refuses another architecture, resets it, loads the model into memory that begins and ends there,
    /// or onto the chip, and lets it interrupt.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn open(
        host: &'a mut dyn Host,
        architecture: &Architecture,
        model: &Model,
        memory: Range<u64>,
    ) -> Result<Driver<'a>, DriverError> {
        let mut hash = [0; 16];
        for (bytes, register) in
            hash.chunks_exact_mut(4).zip([reg::HASH_0, reg::HASH_1, reg::HASH_2, reg::HASH_3])
        {
            bytes.copy_from_slice(&host.read(register.offset.into())?.to_le_bytes());
        }
        let (expected, found) = (architecture.hash(), Hash(hash));
        if expected != found {
            return Err(DriverError::Hash { expected, found });
        }
        // As many as there are places for: those that are active, and those that wait.
        let most = architecture.queue_depth.min(architecture.jobs_in_flight + 2);
        let input_bytes = model.graph.input().elements() as usize;
        let fitting = (architecture.stream_buffer as usize / input_bytes.max(1)).max(1);
        let in_flight = if architecture.streaming { fitting.min(most as usize) } else { most as usize };
        let layout = Layout::new(architecture, model, in_flight as u32, memory)?;
        let output_bytes = model.graph.output_shape().elements() as usize;
        let architecture = architecture.clone();
        let (complete, has_failed) = (0, false);
        let mut driver =
            Driver { host, architecture, layout, input_bytes, output_bytes, in_flight, complete, has_failed };
        driver.write(reg::IP_RESET, 1)?;
        driver.load(model)?;
        driver.start()?;
        Ok(driver)
    }

    /// Begins to use an IP that was reset and has the model.
    fn start(&mut self) -> Result<(), DriverError> {
        self.complete = 0;
        self.write(reg::INTERMEDIATE_BASE, self.layout.intermediate_base)?;
        self.write(reg::INTERRUPT_MASK, 0b11)?;
        if self.architecture.streaming {
            // The stream is refused what comes before it is on.
            self.host.write_acknowledged(reg::STREAMING.offset.into(), 1)?;
        }
        Ok(())
    }

    /// Sets the number of requests that are queued and not complete at most; 1 waits for each before the next one.
    pub fn set_in_flight(&mut self, requests: usize) {
        self.in_flight = requests.clamp(1, self.layout.io_bases.len());
    }

    /// Returns the places of everything in memory.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Runs inputs, several at a time, and gives what comes out in their order.
    ///
    /// # Errors
    /// [`DriverError::Device`] when the IP says that one did not run; others that were queued are lost then, and the IP is
    /// reset before the next ones.
    pub fn infer(&mut self, inputs: &[&[i8]]) -> Result<Vec<Inference>, DriverError> {
        let expected = self.input_bytes;
        if let Some(input) = inputs.iter().find(|input| input.len() != expected) {
            return Err(DriverError::Input { expected, found: input.len() });
        }
        if self.has_failed {
            self.write(reg::IP_RESET, 1)?;
            self.start()?;
        }
        self.has_failed = true;
        let inferences = self.run(inputs)?;
        self.has_failed = false;
        Ok(inferences)
    }

    fn run(&mut self, inputs: &[&[i8]]) -> Result<Vec<Inference>, DriverError> {
        let mut waiting = inputs.iter();
        let mut free: VecDeque<u32> = self.layout.io_bases.iter().copied().take(self.in_flight).collect();
        let mut under_way = VecDeque::new();
        let mut done = Vec::with_capacity(inputs.len());
        loop {
            while let Some(io_base) = free.front().copied()
                && let Some(input) = waiting.next()
            {
                self.request(io_base, input)?;
                free.pop_front();
                under_way.push_back(io_base);
            }
            if under_way.is_empty() {
                return Ok(done);
            }
            let (complete, time) = self.wait()?;
            for _ in 0..complete {
                let Some(io_base) = under_way.pop_front() else { break };
                let mut output = vec![0; self.output_bytes];
                let at = u64::from(io_base) + u64::from(self.layout.output_at);
                self.host.fetch(Memory::Primary, at, &mut output)?;
                done.push(Inference {
                    output: output.into_iter().map(|byte| byte as i8).collect(),
                    done: time,
                });
                free.push_back(io_base);
            }
        }
    }

    /// The IP's counters.
    ///
    /// # Errors
    /// When the host does not answer.
    pub fn counters(&mut self) -> Result<Counters, DriverError> {
        let mut pair = |low: RegisterRef, high: RegisterRef| -> Result<u64, DriverError> {
            // Halves are not consistent while a job runs: the upper one is looked at twice.
            loop {
                let before = self.host.read(high.offset.into())?;
                let low = self.host.read(low.offset.into())?;
                if self.host.read(high.offset.into())? == before {
                    return Ok(u64::from(before) << 32 | u64::from(low));
                }
            }
        };
        Ok(Counters {
            active_clocks: pair(reg::ACTIVE_CLOCKS_LOW, reg::ACTIVE_CLOCKS_HIGH)?,
            job_clocks: pair(reg::JOB_CLOCKS_LOW, reg::JOB_CLOCKS_HIGH)?,
            input_words: pair(reg::INPUT_WORDS_LOW, reg::INPUT_WORDS_HIGH)?,
            filter_words: pair(reg::FILTER_WORDS_LOW, reg::FILTER_WORDS_HIGH)?,
            output_words: pair(reg::OUTPUT_WORDS_LOW, reg::OUTPUT_WORDS_HIGH)?,
            complete: self.read(reg::COMPLETION_COUNT)?,
        })
    }

    /// Asks the debug network.
    ///
    /// # Errors
    /// When the host does not answer.
    pub fn debug(&mut self, address: u32) -> Result<u32, DriverError> {
        self.write(reg::DEBUG_ADDRESS, address)?;
        while self.read(reg::DEBUG_VALID)? == 0 {}
        self.read(reg::DEBUG_DATA)
    }

    fn load(&mut self, model: &Model) -> Result<(), DriverError> {
        if !self.architecture.ddr_free {
            let base = u64::from(self.layout.config_base);
            self.host.load(Memory::Primary, base, &self.layout.config_bytes())?;
            if !model.filters.is_empty() {
                let at = base + u64::from(self.layout.filters_at);
                self.host.load(Memory::Primary, at, &model.filters)?;
            }
            return Ok(());
        }
        for (address, word) in (0..).zip(self.layout.words.clone()) {
            self.update(&word.to_le_bytes(), address)?;
        }
        let scratchpad =
            reg::UPDATE_CONTROL::KIND.only_bits().insert(0, reg::UPDATE_CONTROL::KIND::SCRATCHPAD);
        for (address, bytes) in (0..).zip(model.filters.chunks(self.architecture.memory_word as usize)) {
            self.update(bytes, scratchpad | address)?;
        }
        Ok(())
    }

    /// Writes a word of the model through the update registers.
    fn update(&mut self, bytes: &[u8], control: u32) -> Result<(), DriverError> {
        for (at, bytes) in (u32::from(reg::UPDATE_0.offset)..).step_by(4).zip(bytes.chunks(4)) {
            let word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
            self.host.write(at, word)?;
        }
        self.write(reg::UPDATE_CONTROL, control)
    }

    /// Puts an input in its place and queues a request for it.
    fn request(&mut self, io_base: u32, input: &[i8]) -> Result<(), DriverError> {
        let bytes: Vec<u8> = input.iter().map(|value| *value as u8).collect();
        let has_room = self.input_bytes <= self.architecture.stream_buffer as usize;
        match self.architecture.streaming {
            true if has_room => bytes.chunks(MOST_SENT).try_for_each(|piece| self.host.stream(piece))?,
            true => {}
            false => self.host.load(Memory::Primary, io_base.into(), &bytes)?,
        }
        self.write(reg::CONFIG_BASE, self.layout.config_base)?;
        self.write(reg::CONFIG_WORDS, self.layout.words.len() as u32 - 2)?;
        self.write(reg::IO_BASE, io_base)?;
        if self.architecture.streaming && !has_room { self.feed(&bytes) } else { Ok(()) }
    }

    /// Sends an input that the stream cannot hold as a whole while its job, which is queued, takes it: as much at a time as
    /// there is room for.
    fn feed(&mut self, mut bytes: &[u8]) -> Result<(), DriverError> {
        while !bytes.is_empty() {
            let waiting = self.debug(debug::STREAM_WAITING)?;
            let room = self.architecture.stream_buffer.saturating_sub(waiting) as usize;
            if room == 0 {
                // A job that is refused takes nothing.
                self.refuse_error()?;
                continue;
            }
            let (piece, rest) = bytes.split_at(room.min(MOST_SENT).min(bytes.len()));
            self.host.stream(piece)?;
            bytes = rest;
        }
        Ok(())
    }

    /// Waits for an interrupt and serves it. Gives how many inferences are complete since the last time.
    fn wait(&mut self) -> Result<(u32, Time), DriverError> {
        let time = self.host.wait_interrupt()?;
        let status = self.refuse_error()?;
        // What happens after this was seen sets the bits anew.
        self.write(reg::INTERRUPT_CONTROL, status)?;
        let count = self.read(reg::COMPLETION_COUNT)?;
        let more = count.wrapping_sub(self.complete);
        self.complete = count;
        Ok((more, time))
    }

    /// Returns the interrupt status; an error in it is cleared, and returned as one.
    fn refuse_error(&mut self) -> Result<u32, DriverError> {
        let status = self.read(reg::INTERRUPT_CONTROL)?;
        if reg::INTERRUPT_CONTROL::ERROR.only_bits().extract(status) == 0 {
            return Ok(status);
        }
        self.write(reg::INTERRUPT_CONTROL, status)?;
        Err(self.error())
    }

    fn error(&mut self) -> DriverError {
        let shown = match self.read(reg::DIAGNOSTICS) {
            Ok(shown) => shown,
            Err(error) => return error,
        };
        let mut why: Vec<String> = self.host.warnings().into_iter().map(|warning| warning.text).collect();
        let is = |field: vp_models::registers::FieldRef| field.only_bits().extract(shown) != 0;
        if is(reg::DIAGNOSTICS::OVERFLOW) {
            why.push("its queue has overflown".to_owned());
        }
        if is(reg::DIAGNOSTICS::LIMIT) {
            why.push("it is not licensed and has done what it does".to_owned());
        }
        let why = if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) };
        DriverError::Device { why }
    }

    fn read(&mut self, register: RegisterRef) -> Result<u32, DriverError> {
        Ok(self.host.read(register.offset.into())?)
    }

    fn write(&mut self, register: RegisterRef, value: u32) -> Result<(), DriverError> {
        Ok(self.host.write(register.offset.into(), value)?)
    }
}
