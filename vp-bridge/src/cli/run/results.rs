//! Results of `vp run` for other programs: JSON in place of text, CSV and JUnit beside it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde_json::json;
use vp_host::network::{LayerFigures, Measured, Network, Plan};
use vp_host::{Bounds, Memory, Warning};
use vp_models::occupancy::Work;
use vp_models::platform::{Arithmetic, Description};
use vp_study::energy::Energy;

use super::energy::Estimate;
use super::model_answers::{Answered, BroughtModel};
use super::report::Tally;
use super::{Judged, Run, outputs};
use crate::cli::record::{self, Record};
use crate::cli::{Failure, standard};

/// Options about what other programs are told.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Results for other programs")]
pub(super) struct ResultArgs {
    /// Print the result as JSON in place of text (docs/commands.md lists the names)
    #[arg(long)]
    pub(super) json: bool,

    /// Write the table as CSV: a line for each trace, or for each layer of a network
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write passes and failures as JUnit XML, a case for each trace or network
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

impl ResultArgs {
    /// The files that are written.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [("--csv", self.csv.as_deref()), ("--junit", self.junit.as_deref())];
        files.into_iter().filter_map(|(option, path)| Some((option, path?)))
    }

    /// Refuses what only runs of NVDLA have.
    pub(super) fn refuse_files(&self) -> Result<(), Failure> {
        match self.csv.is_some() || self.junit.is_some() {
            true => Err(Failure::new(
                "--csv and --junit are for traces, and for networks on NVDLA; --json is for all",
            )),
            false => Ok(()),
        }
    }

    /// Writes the files about traces, and prints JSON if that is wanted: says whether it is.
    pub(super) fn tell_traces(&self, runs: &[Run], left_out: usize) -> Result<bool, Failure> {
        if let Some(path) = &self.csv {
            record::write_csv(path, &runs.iter().map(of_trace).collect::<Vec<_>>())?;
        }
        self.write_junit(runs.iter().map(case_of).collect())?;
        if self.json {
            let with_counters = |run: &Run| match &run.result {
                Ok(ran) => of_trace(run)
                    .with("outputs", ran.outcome.execution.as_ref().map(outputs::json))
                    .with("counters", record::counters(&ran.statistics.counters)),
                Err(_) => of_trace(run).with("outputs", None::<()>).with("counters", None::<()>),
            };
            let Tally { passed, failed, not_compared, unsupported } = Tally::of(runs);
            record::print(&json!({
                "runs": runs.iter().map(with_counters).collect::<Vec<_>>(),
                "passed": passed,
                "failed": failed,
                "not_compared": not_compared,
                "not_supported": unsupported,
                "not_run": left_out,
            }))?;
        }
        Ok(self.json)
    }

    /// Writes the files about a network, and prints JSON if that is wanted: says whether it is.
    pub(super) fn tell_network(
        &self,
        (network, plan): (&Network, &Plan),
        description: &Description,
        (measured, took): (&Measured, Duration),
        estimate: Option<&Estimate>,
        (model, answered): (Option<&BroughtModel>, Option<&Answered>),
    ) -> Result<bool, Failure> {
        let of_layer = |(place, layer)| {
            let mut record = of_layer(place, layer, measured);
            if let Some(estimate) = estimate {
                put_energy(&mut record, estimate.layers[place]);
            }
            record
        };
        let layers: Vec<Record> = measured.layers.iter().enumerate().map(of_layer).collect();
        if let Some(path) = &self.csv {
            record::write_csv(path, &layers)?;
        }
        self.write_junit(vec![Case::passed(&network.name, &description.name, took)])?;
        if self.json {
            let mut whole = of_network(network, plan, description, measured);
            if let Some(estimate) = estimate {
                whole.put("energy_technology", &estimate.coefficients.technology);
                whole.put("energy_per_frame_uj", estimate.whole().total() / 1e6 / measured.frames as f64);
                whole.put("power_mw", estimate.watts(measured) * 1e3);
                put_energy(&mut whole, estimate.whole());
                for memory in &estimate.memories {
                    whole.put(format!("energy_basis.{}", memory.port), &memory.basis);
                }
            }
            if let Some(model) = model {
                model.put(&mut whole, answered);
            }
            let counters = record::counters(&measured.statistics.counters);
            record::print(&whole.with("layers", layers).with("counters", counters))?;
        }
        Ok(self.json)
    }

    /// A network could not be run.
    pub(super) fn tell_failure(&self, network: &str, platform: &str, why: &Failure) -> Result<(), Failure> {
        self.write_junit(vec![Case::wrong(network, platform, NonSuccessKind::Error, why.to_string())])
    }

    fn write_junit(&self, cases: Vec<Case>) -> Result<(), Failure> {
        let Some(path) = &self.junit else { return Ok(()) };
        let text = junit(cases).to_string().map_err(Failure::new)?;
        standard::write(path, text)
    }
}

/// A case of JUnit's.
struct Case {
    name: String,
    platform: String,
    took: Duration,
    status: TestCaseStatus,
}

impl Case {
    fn passed(name: &str, platform: &str, took: Duration) -> Case {
        let status = TestCaseStatus::success();
        Case { name: name.to_owned(), platform: platform.to_owned(), took, status }
    }

    fn wrong(name: &str, platform: &str, kind: NonSuccessKind, why: String) -> Case {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(why.lines().next().unwrap_or_default()).set_description(why);
        Case { status, ..Case::passed(name, platform, Duration::ZERO) }
    }
}

/// A suite a platform.
fn junit(cases: Vec<Case>) -> Report {
    let mut suites: Vec<TestSuite> = Vec::new();
    for Case { name, platform, took, status } in cases {
        let mut case = TestCase::new(name, status);
        case.set_classname(platform.as_str()).set_time(took);
        let known = suites.iter().position(|suite| suite.name.as_str() == platform);
        let place = known.unwrap_or_else(|| {
            suites.push(TestSuite::new(platform));
            suites.len() - 1
        });
        suites[place].add_test_case(case);
    }
    let mut report = Report::new("vp run");
    report.add_test_suites(suites);
    report
}

fn case_of(run: &Run) -> Case {
    let platform = run.result.as_ref().map_or(&run.configuration, |ran| &ran.platform);
    let (name, judged) = (&run.name, run.verdict());
    let why = match &run.result {
        Ok(ran) if judged == Judged::Unsupported => {
            let unfit = ran.outcome.failures.iter().filter(|failure| failure.kind.is_of_platform());
            unfit.map(ToString::to_string).chain(ran.warnings.iter().map(ToString::to_string)).collect()
        }
        Ok(ran) => ran.outcome.failures.iter().map(ToString::to_string).collect(),
        Err(failure) => vec![failure.to_string()],
    };
    let mut case = match (judged, &run.result) {
        (Judged::Passed, _) => Case::passed(name, platform, run.took),
        (Judged::NotCompared, _) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message("nothing compared");
            Case { status, ..Case::passed(name, platform, run.took) }
        }
        (Judged::Unsupported, _) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(why.first().cloned().unwrap_or_default());
            Case { status, ..Case::passed(name, platform, run.took) }
        }
        (Judged::Failed, Ok(_)) => Case::wrong(name, platform, NonSuccessKind::Failure, why.join("\n")),
        (Judged::Failed, Err(_)) => Case::wrong(name, platform, NonSuccessKind::Error, why.join("\n")),
    };
    case.took = run.took;
    case
}

fn of_trace(run: &Run) -> Record {
    let result = match (run.verdict(), &run.result) {
        (Judged::Failed, Err(_)) => "error",
        (Judged::Failed, Ok(_)) => "failed",
        (Judged::Passed, _) => "passed",
        (Judged::NotCompared, _) => "not_compared",
        (Judged::Unsupported, _) => "not_supported",
    };
    let ran = run.result.as_ref().ok();
    let get = |name: &str| ran.and_then(|ran| ran.statistics.get(name));
    let both = |what: &str| Some(get(&format!("dbb0.{what}"))? + get(&format!("sram0.{what}")).unwrap_or(0));
    let texts = |texts: Option<Vec<String>>| texts.unwrap_or_default();
    Record::default()
        .with("trace", &run.name)
        .with("platform", ran.map_or(&run.configuration, |ran| &ran.platform))
        .with("result", result)
        .with("cycles", get("nvdla.cycles"))
        .with("rtl_cycles", ran.and_then(|ran| ran.rtl))
        .with("read_bytes", both("read.bytes"))
        .with("written_bytes", both("write.bytes"))
        .with("read_latency_mean_cycles", get("dbb0.read.latency.mean"))
        .with("event_hash", ran.and_then(|ran| ran.statistics.text("events.hash")))
        .with(
            "failures",
            texts(ran.map(|ran| ran.outcome.failures.iter().map(ToString::to_string).collect())),
        )
        .with("warnings", texts(ran.map(|ran| ran.warnings.iter().map(Warning::to_string).collect())))
        .with("error", run.result.as_ref().err().map(ToString::to_string))
}

/// The names are those of a study's tables (`docs/study.md`).
fn of_layer(place: usize, layer: &LayerFigures, measured: &Measured) -> Record {
    let LayerFigures {
        name, steps, within, is_cpu, cpu, macs, method, mac_cycles, bounds, moved, work, ..
    } = layer;
    let (read, written) = layer.bytes();
    let mut record = Record::default()
        .with("layer", place + 1)
        .with("name", name)
        .with("within", within)
        .with("is_cpu", is_cpu)
        .with("cpu_cycles", cpu.map(|cpu| cpu.time.cycles(measured.period)))
        .with("cpu_operations", cpu.map(|cpu| cpu.work.operations))
        .with("parts", steps)
        .with("cycles", layer.time().cycles(measured.period))
        .with("macs", macs)
        .with("products", layer.products())
        .with("is_winograd", method.is_winograd())
        .with("is_compressed", method.is_compressed)
        .with("mac_cycles", mac_cycles)
        .with("read_bytes", (!moved.is_empty()).then_some(read))
        .with("written_bytes", (!moved.is_empty()).then_some(written));
    let (read, written) = layer.bytes_at(Memory::Secondary.port());
    for (name, bytes) in [("sram0.read_bytes", read), ("sram0.written_bytes", written)] {
        record.put(name, (!moved.is_empty()).then_some(bytes));
    }
    record.put("copied_bytes", layer.copied);
    put_bounds(&mut record, bounds, measured);
    for (kind, done) in Work::ALL.into_iter().zip(work) {
        record.put(kind.key(), (!moved.is_empty()).then_some(done));
    }
    record
}

fn put_bounds(record: &mut Record, bounds: &Bounds, measured: &Measured) {
    // Of a platform elsewhere it is not known.
    let is_seen = measured.layers.iter().any(|layer| !layer.moved.is_empty());
    for (bound, time) in bounds.parts() {
        let name = format!("bound.{}_cycles", bound.key());
        record.put(name, is_seen.then(|| time.cycles(measured.period)));
    }
}

/// An estimate of energy, with the names of a study's tables.
fn put_energy(record: &mut Record, energy: Energy) {
    record.put("energy_uj", energy.total() / 1e6);
    for (part, picojoules) in energy.parts() {
        record.put(format!("energy.{}_uj", part.key()), picojoules / 1e6);
    }
}

fn of_network(network: &Network, plan: &Plan, description: &Description, measured: &Measured) -> Record {
    let cycles = measured.cycles();
    let frames = measured.frames.max(1) as f64;
    let is_computed = description.arithmetic == Arithmetic::Computed;
    let output = measured.outputs.concat();
    let mut record = Record::default()
        .with("network", &network.name)
        .with("platform", &description.name)
        .with("frames", measured.frames)
        .with("time_ns", measured.time.as_ps() as f64 / 1e3)
        .with("cycles", cycles)
        .with("cycles_per_frame", cycles as f64 / frames)
        .with("cpu_cycles", measured.cpu_time().map(|time| time.cycles(measured.period)))
        .with("frames_per_second", frames * 1e12 / measured.time.as_ps().max(1) as f64)
        .with("memory_bytes", plan.bytes)
        .with("sram_bytes", plan.sram_bytes)
        .with("precision", network.precision.to_string())
        .with("differs_from_direct", measured.layers.iter().any(|layer| layer.method.is_winograd()))
        .with("output_elements", output.len() / network.precision.bytes())
        .with("output_fnv1a", is_computed.then(|| format!("{:016x}", super::network::sum(&output))))
        .with("event_hash", measured.statistics.text("events.hash"));
    put_bounds(&mut record, &measured.bounds(), measured);
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_a_suite_for_each_platform_and_counts_what_failed() {
        let report = junit(vec![
            Case::passed("one", "nv_small", Duration::from_millis(1_500)),
            Case::wrong("two", "nv_large", NonSuccessKind::Failure, "wrong\nand why".to_owned()),
            Case::wrong("three", "nv_small", NonSuccessKind::Error, "no such file".to_owned()),
        ]);
        assert_eq!((report.tests, report.failures, report.errors), (3, 1, 1));
        let text = report.to_string().unwrap();
        for part in [
            r#"<testsuite name="nv_small" tests="2""#,
            r#"<testcase name="one" classname="nv_small" time="1.500"/>"#,
            r#"<failure message="wrong">wrong"#,
            r#"<error message="no such file">"#,
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
