//! Jobs, from their descriptors to their interrupts: three processes, each with one job at a time.
//!
//! One fetches configuration, filters and input, one computes layer after layer, one stores the output. So a job computes
//! while the next one is read and the one before is written. A reset is noticed between two parts of what a process does:
//! the job is then dropped without a word, and the process takes the next one.

use std::rc::Rc;

use super::compute;
use super::configuration::{Configuration, MOST_WORDS};
use super::counts::add;
use super::csr::Interrupt;
use super::device::Suite;
use super::dma::Cut;
use super::graph::{GraphLayer, Operation, Shape, Tensor};
use super::job::Job;
use super::queue::Descriptor;
use super::timing;
use crate::occupancy::Datapath;
use vp_core::observe::{Kinds, What};
use vp_core::{Time, select};

/// End of a job before its output is there.
enum JobEnd {
    /// The IP was reset.
    Reset,
    /// Streaming was stopped while it waited for its input.
    Stopped,
    /// Something is wrong with it.
    Wrong(String),
}

impl JobEnd {
    /// End of a job whose part does not lie in memory as a whole, or that is not wanted.
    fn of(cut: Cut, part: &str) -> JobEnd {
        match cut {
            Cut::Unwanted => JobEnd::Reset,
            Cut::Refused(refused) => JobEnd::Wrong(format!("{part}: {refused}")),
        }
    }
}

/// A layer's output: on the chip, or in the intermediate buffer.
enum Features {
    OnChip(Vec<i8>),
    Spilled { address: u32, bytes: u64 },
}

impl Suite {
    fn is_wanted(&self, resets: u64) -> bool {
        self.resets.get() == resets
    }

    pub(super) async fn fetch(self: Rc<Self>) {
        loop {
            self.slots.acquire(1).await;
            let descriptor = self.next_descriptor().await;
            let (number, resets) = (self.next_job.get(), self.resets.get());
            self.next_job.set(number + 1);
            add(&self.counts.begun, 1);
            self.activity.borrow_mut().begin(self.sim.now());
            self.open.borrow_mut().push(number);
            if self.sim.is_observed(Kinds::WORK) {
                let label = &format!("a request of {} configuration words", descriptor.config_words);
                self.sim.report(self.job_source, What::Begin { label, id: number });
            }
            match self.read(number, resets, descriptor).await {
                Ok(job) => self.to_compute.put(job).await,
                Err(end) => self.end_early(number, resets, end),
            }
        }
    }

    async fn next_descriptor(&self) -> Descriptor {
        loop {
            if self.is_listening()
                && let Some(descriptor) = self.queue.borrow_mut().pop()
            {
                return descriptor;
            }
            self.may_begin.wait().await;
        }
    }

    /// Reads what a job needs.
    async fn read(&self, number: u64, resets: u64, descriptor: Descriptor) -> Result<Job, JobEnd> {
        let is_wanted = || self.is_wanted(resets);
        let words = self.configuration_words(resets, descriptor).await?;
        let configuration =
            Configuration::decode(&words).map_err(|refused| JobEnd::Wrong(refused.to_string()))?;
        let graph = &configuration.graph;
        let filters = match self.architecture.ddr_free {
            true => {
                let on_chip = self.on_chip.borrow();
                let filters = on_chip.filters(configuration.filters_at, graph.filter_bytes());
                filters
                    .map(<[u8]>::to_vec)
                    .ok_or_else(|| JobEnd::Wrong("filters beyond the scratchpad".into()))?
            }
            false => {
                let at = descriptor.config_base.wrapping_add(configuration.filters_at);
                let count = |bytes| add(&self.counts.filter_bytes, self.architecture.whole_words(bytes));
                let filters = self.dma.filters.read(at, graph.filter_bytes().into(), is_wanted, count).await;
                filters.map_err(|cut| JobEnd::of(cut, "filters"))?
            }
        };
        let bytes = graph.input().elements();
        let count = |bytes| add(&self.counts.input_bytes, self.architecture.whole_words(bytes));
        let input = match &self.stream {
            Some(stream) => {
                let taken = stream.take(bytes as usize).await;
                let taken = taken.ok_or(if is_wanted() { JobEnd::Stopped } else { JobEnd::Reset })?;
                count(bytes);
                taken
            }
            None => {
                let input = self.dma.input.read(descriptor.io_base, bytes, is_wanted, count).await;
                input.map_err(|cut| JobEnd::of(cut, "input"))?
            }
        };
        if !is_wanted() {
            return Err(JobEnd::Reset);
        }
        let input = input.into_iter().map(|byte| byte as i8).collect();
        Ok(Job { number, resets, descriptor, configuration, filters, input, output: Vec::new() })
    }

    async fn configuration_words(&self, resets: u64, descriptor: Descriptor) -> Result<Vec<u64>, JobEnd> {
        let Descriptor { config_base, config_words, .. } = descriptor;
        if config_words > MOST_WORDS {
            return Err(JobEnd::Wrong(format!(
                "CSR.CONFIG_WORDS: {config_words} words are no configuration"
            )));
        }
        if self.architecture.ddr_free {
            self.sim.wait(self.cycle * config_words).await;
            let on_chip = self.on_chip.borrow();
            let words = on_chip.configuration(config_base, config_words).map(<[u64]>::to_vec);
            return words.ok_or_else(|| JobEnd::Wrong("a configuration beyond its memory".into()));
        }
        let is_wanted = || self.is_wanted(resets);
        let bytes = self.dma.configuration.read(config_base, 8 * config_words, is_wanted, |_| {}).await;
        let bytes = bytes.map_err(|cut| JobEnd::of(cut, "configuration"))?;
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        Ok(bytes.chunks_exact(8).map(word).collect())
    }

    pub(super) async fn compute(self: Rc<Self>) {
        loop {
            let mut job = self.to_compute.get().await;
            match self.run(&mut job).await {
                Ok(()) => self.to_store.put(job).await,
                Err(end) => self.end_early(job.number, job.resets, end),
            }
        }
    }

    /// Runs a job's layers.
    async fn run(&self, job: &mut Job) -> Result<(), JobEnd> {
        let graph = &job.configuration.graph;
        let mut made: Vec<Features> = Vec::new();
        let mut spill_at = job.descriptor.intermediate_base;
        for (place, layer) in graph.layers().iter().enumerate() {
            if !self.is_wanted(job.resets) {
                return Err(JobEnd::Reset);
            }
            let input = self.features(job, &made, layer.source).await?;
            let operand = match layer.operation {
                Operation::Elementwise { other, .. } => self.features(job, &made, other).await?,
                _ => Vec::new(),
            };
            // A graph that was decoded reads what comes before.
            let shape = graph.shape(layer.source).unwrap_or(graph.input());
            let number = self.next_layer.get();
            self.next_layer.set(number + 1);
            let is_observed = self.sim.is_observed(Kinds::WORK);
            let label =
                &if is_observed { format!("{} {shape}", name(&layer.operation)) } else { String::new() };
            self.sim.report(self.layer_source, What::Begin { label, id: number });
            let begin = self.sim.now();
            let output = self.output(job, layer, shape, [&input, &operand]).await;
            self.occupancy.busy(Datapath::Array, begin, self.sim.now());
            self.sim.report(self.layer_source, What::End { label, id: number });
            if !self.is_wanted(job.resets) {
                // What is counted is of after the reset.
                return Err(JobEnd::Reset);
            }
            add(&self.counts.layers, 1);
            if place + 1 == graph.layers().len() {
                job.output = output;
                break;
            }
            let bytes = output.len() as u64;
            if bytes <= self.architecture.feature_buffer.into() || self.architecture.ddr_free {
                made.push(Features::OnChip(output));
                continue;
            }
            let is_wanted = || self.is_wanted(job.resets);
            let spilled = self.dma.spill.write(spill_at, &bytes_of(&output), is_wanted, |_| {}).await;
            spilled.map_err(|cut| JobEnd::of(cut, "intermediate buffer"))?;
            made.push(Features::Spilled { address: spill_at, bytes });
            spill_at = spill_at.wrapping_add(self.architecture.whole_words(bytes) as u32);
        }
        Ok(())
    }

    /// A layer's output, after the time that it takes. It is computed in parts, each when its time begins, so that nobody waits
    /// long for a simulation that computes; a reset does not wait for the layer's end.
    async fn output(
        &self,
        job: &Job,
        layer: &GraphLayer,
        shape: Shape,
        [input, operand]: [&[i8]; 2],
    ) -> Vec<i8> {
        let time = self.cycle * timing::cycles(&self.architecture, shape, layer);
        let (begin, elements) = (self.sim.now(), layer.output.elements());
        if self.skips_arithmetic {
            select(self.sim.wait(time), self.was_reset.wait()).await;
            return vec![0; elements as usize];
        }
        let at_once = compute::at_once(shape, &layer.operation);
        let mut output = Vec::with_capacity(elements as usize);
        while (output.len() as u64) < elements && self.is_wanted(job.resets) {
            let until = elements.min(output.len() as u64 + at_once);
            let part = output.len()..until as usize;
            output.extend(compute::elements(layer, part, shape, input, operand, &job.filters));
            let due = u128::from(time.as_ps()) * u128::from(until) / u128::from(elements);
            let left = (begin + Time::ps(due as u64)).since(self.sim.now());
            select(self.sim.wait(left), self.was_reset.wait()).await;
        }
        output
    }

    async fn features(&self, job: &Job, made: &[Features], tensor: Tensor) -> Result<Vec<i8>, JobEnd> {
        let features = match tensor {
            Tensor::Input => return Ok(job.input.clone()),
            Tensor::Layer(layer) => made.get(layer),
        };
        match features {
            Some(Features::OnChip(features)) => Ok(features.clone()),
            Some(&Features::Spilled { address, bytes }) => {
                let is_wanted = || self.is_wanted(job.resets);
                let read = self.dma.spilled.read(address, bytes, is_wanted, |_| {}).await;
                let read = read.map_err(|cut| JobEnd::of(cut, "intermediate buffer"))?;
                Ok(read.into_iter().map(|byte| byte as i8).collect())
            }
            None => Err(JobEnd::Wrong("a layer that does not come before".into())),
        }
    }

    pub(super) async fn store(self: Rc<Self>) {
        loop {
            let job = self.to_store.get().await;
            let at = job.descriptor.io_base.wrapping_add(job.configuration.output_at);
            let is_wanted = || self.is_wanted(job.resets);
            let count = |bytes| add(&self.counts.output_bytes, self.architecture.whole_words(bytes));
            match self.dma.output.write(at, &bytes_of(&job.output), is_wanted, count).await {
                Ok(()) => self.complete(job.number),
                Err(cut) => self.end_early(job.number, job.resets, JobEnd::of(cut, "output")),
            }
        }
    }

    fn complete(&self, number: u64) {
        self.end(number);
        add(&self.counts.complete, 1);
        self.raise(Interrupt::Complete);
    }

    fn end_early(&self, number: u64, resets: u64, end: JobEnd) {
        // Who is wrong and wanted no more is not told.
        if !self.is_wanted(resets) {
            return self.slots.release(1);
        }
        self.end(number);
        match end {
            JobEnd::Reset => {}
            JobEnd::Stopped => {
                self.warn(format_args!("job {number} is dropped: its input stream was turned off"));
            }
            JobEnd::Wrong(why) => {
                add(&self.counts.failed, 1);
                self.warn(format_args!("job {number} is refused: {why}"));
                self.raise(Interrupt::Error);
            }
        }
    }

    /// A job is active no more, and its slot is free.
    fn end(&self, number: u64) {
        self.open.borrow_mut().retain(|open| *open != number);
        self.activity.borrow_mut().end(self.sim.now());
        self.sim.report(self.job_source, What::End { label: "job", id: number });
        self.slots.release(1);
    }
}

fn name(operation: &Operation) -> &'static str {
    match operation {
        Operation::Convolution { .. } => "convolution",
        Operation::FullyConnected { .. } => "fully connected",
        Operation::Pooling { .. } => "pooling",
        Operation::Elementwise { .. } => "element-wise",
        Operation::Activation(_) => "activation",
    }
}

fn bytes_of(features: &[i8]) -> Vec<u8> {
    features.iter().map(|value| *value as u8).collect()
}
