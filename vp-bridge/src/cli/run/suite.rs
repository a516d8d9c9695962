//! Jobs and networks on the FPGA AI Suite's inference IP.

use std::io::Write;

use vp_host::Statistics;
use vp_host::fpga_ai_suite::{Driver, Inference, Job, Model};
use vp_host::network::{Options, digits};
use vp_models::fpga_ai_suite::Architecture;
use vp_models::platform::{Description, DeviceDescription};

use super::super::hosts::OpenedHost;
use super::super::record::{self, Record};
use super::super::{Failure, Verdict, memory, standard, text};
use super::named::Named;
use super::{Args, MOST_INPUT};
use crate::cli::out;

/// The platform for jobs, if none is asked for.
pub(super) const DEFAULT_PLATFORM: &str = "fpga-ai-suite";

/// Runs a job.
pub(super) fn main(mut job: Job, args: &Args) -> Result<Verdict, Failure> {
    args.results.refuse_files()?;
    if !args.input.is_empty() && (job.outputs.is_some() || job.labels.is_some()) {
        return Err(Failure::new("--input: the job says what comes of its own inputs, and of no others")
            .hint("give its graph in place of it"));
    }
    for path in &args.input {
        let bytes = standard::read("--input", path, MOST_INPUT)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
        job.add_inputs(&path.display().to_string(), &bytes).map_err(Failure::new)?;
    }
    if job.inputs.is_empty() {
        let elements = job.model.graph.input().elements();
        return Err(Failure::new(format!("{} has no inputs", job.model.name)).hint(format!(
            "give --input FILE, of {} bytes an input, or a job file",
            text::grouped(elements)
        )));
    }
    let OpenedHost { parts: _parts, mut host, description, headline, observed: _observed } =
        args.host.open(DEFAULT_PLATFORM)?;
    args.faults.arm(host.as_mut())?;
    let description = match description {
        Some(description) => description,
        None => {
            let statistics = host.statistics().map_err(Failure::new)?;
            let text = statistics.text("platform.description").unwrap_or_default();
            Description::parse(text).map_err(Failure::new)?
        }
    };
    let architecture = architecture(&description)?;
    let inputs: Vec<&[i8]> = job.inputs.iter().map(Vec::as_slice).collect();
    let mut driver = Driver::open(host.as_mut(), architecture, &job.model, description.dbb0.range())
        .map_err(Failure::new)?;
    let inferences = driver.infer(&inputs).map_err(Failure::new)?;
    if let Some(path) = &args.output {
        let bytes: Vec<u8> =
            inferences.iter().flat_map(|it| it.output.iter().map(|value| *value as u8)).collect();
        standard::write(path, bytes)?;
    }
    let statistics = host.statistics().map_err(Failure::new)?;
    for warning in host.warnings() {
        out::eprintln!("{} {warning}", text::styled(text::RED, "warning:"));
    }
    let ran = JobRun { job: &job, inferences: &inferences, statistics: &statistics };
    match args.results.json {
        true => record::print(&ran.record(&description))?,
        false if args.takes_standard_output()? => {}
        false => ran.show(&headline)?,
    }
    Ok(if ran.first_wrong().is_none() { Verdict::Right } else { Verdict::Wrong })
}

/// A job that was run.
struct JobRun<'a> {
    job: &'a Job,
    inferences: &'a [Inference],
    statistics: &'a Statistics,
}

/// The IP that a platform carries.
fn architecture(description: &Description) -> Result<&Architecture, Failure> {
    match &description.device {
        DeviceDescription::FpgaAiSuite(architecture) => Ok(architecture),
        _ => Err(Failure::new(format!(
            "{} carries another device, and this job is for an FPGA AI Suite IP",
            description.name
        ))
        .hint(format!("take --platform {DEFAULT_PLATFORM}"))),
    }
}

/// A network as a job, without inputs.
pub(super) fn of_network(named: &Named) -> Result<Job, Failure> {
    let model = match named {
        Named::File(path) if !standard::is_standard(path) => Model::load(path).map_err(Failure::new)?,
        _ => Model::of_network(&named.load(&Options::default())?).map_err(Failure::new)?,
    };
    Ok(Job { model, inputs: Vec::new(), outputs: None, labels: None })
}

/// The digits network on its samples.
pub(super) fn built_in() -> Result<Job, Failure> {
    let model = Model::of_network(&digits::network()).map_err(Failure::new)?;
    let (inputs, labels) = digits::samples().into_iter().map(|sample| (sample.pixels, sample.label)).unzip();
    Ok(Job { model, inputs, outputs: None, labels: Some(labels) })
}

/// Shows what the jobs of a platform came to.
pub(super) fn show_jobs(out: &mut impl Write, statistics: &Statistics) -> Result<(), Failure> {
    show_counters(out, statistics, statistics.get("fpga_ai_suite.complete").unwrap_or_default())
}

fn show_counters(out: &mut impl Write, statistics: &Statistics, count: u64) -> Result<(), Failure> {
    let get = |name: &str| statistics.get(name).unwrap_or_default();
    let each = |words: u64| text::grouped(words.div_ceil(count.max(1)));
    let active = get("fpga_ai_suite.active");
    let period = get("period");
    let overlap = get("fpga_ai_suite.active_jobs") as f64 / active.max(1) as f64;
    writeln!(out, "inferences  {}", text::grouped(count))?;
    writeln!(
        out,
        "time        {} cycles an inference, {overlap:.2} jobs at a time ({} µs)",
        each(active),
        text::grouped(format_args!("{:.3}", (active * period) as f64 / count.max(1) as f64 / 1e6)),
    )?;
    writeln!(
        out,
        "words       {} of input, {} of filters, {} of output an inference",
        each(get("fpga_ai_suite.input")),
        each(get("fpga_ai_suite.filters")),
        each(get("fpga_ai_suite.output")),
    )?;
    writeln!(out, "interrupts  {}", text::grouped(get("fpga_ai_suite.interrupts")))?;
    Ok(())
}

impl JobRun<'_> {
    /// The first inference whose output is not the expected one.
    fn first_wrong(&self) -> Option<usize> {
        let outputs = self.job.outputs.as_ref()?;
        self.inferences.iter().zip(outputs).position(|(it, expected)| &it.output != expected)
    }

    /// Returns the number of inferences that have the right label, if the job says those.
    fn right(&self) -> Option<u64> {
        let labels = self.job.labels.as_ref()?;
        let right =
            self.inferences.iter().zip(labels).filter(|(it, label)| digits::answer(&it.output) == **label);
        Some(right.count() as u64)
    }

    fn record(&self, description: &Description) -> Record {
        let JobRun { job, inferences, statistics } = self;
        let result =
            job.outputs.as_ref().map(|_| if self.first_wrong().is_none() { "passed" } else { "failed" });
        Record::default()
            .with("model", &job.model.name)
            .with("platform", &description.name)
            .with("inferences", inferences.len())
            .with("result", result)
            .with("right_labels", self.right())
            .with("event_hash", statistics.text("events.hash"))
            .with("counters", record::counters(&statistics.counters))
    }

    fn show(&self, headline: &str) -> Result<(), Failure> {
        let JobRun { job, inferences, statistics } = self;
        let mut out = out::stdout();
        let (model, graph) = (&job.model, &job.model.graph);
        writeln!(out, "{headline}")?;
        let layers = text::counted(graph.layers().len() as u64, "layer");
        let filters = text::size(model.filters.len() as u64);
        let shapes = format!("{} to {}", graph.input(), graph.output_shape());
        writeln!(out, "{} · {shapes} · {layers} · {filters} of filters\n", model.name)?;

        let count = inferences.len() as u64;
        show_counters(&mut out, statistics, count)?;
        memory::show(&mut out, statistics)?;
        if let Some(hash) = statistics.text("events.hash") {
            writeln!(out, "event hash  {hash}")?;
        }
        super::warnings::show_faults(&mut out, statistics)?;
        if let Some(right) = self.right() {
            let share = 100.0 * right as f64 / count.max(1) as f64;
            writeln!(out, "accuracy    {share:.1} %: {} of {}", text::grouped(right), text::grouped(count))?;
        }
        if job.outputs.is_some() {
            match self.first_wrong() {
                None => writeln!(out, "outputs     {} as expected", text::styled(text::GREEN, "PASS"))?,
                Some(first) => {
                    let fail = text::styled(text::RED, "FAIL");
                    writeln!(out, "outputs     {fail}: that of input {first} is not as expected")?;
                }
            }
        }
        Ok(())
    }
}
