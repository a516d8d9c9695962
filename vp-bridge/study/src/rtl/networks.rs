//! Networks that the planner's own register programs ran on the RTL: cycles in all, and of each step.
//!
//! A file has a line a measurement; columns `network`, `platform`, `read_latency`, `write_latency`, `limit`, `rtl_cycles` and
//! `weight_bytes_aligned_to`, and `step` and `name` where the cycles are of one step. A network's name may say how many of its
//! layers ran and the size of its input, `mobilenet_v1:3:32`. The CPU was as [`Runner`] has it: it acts in the cycle in which it
//! sees the interrupt.

use super::RtlError;
use super::table::{Cells, Setting};
use std::path::Path;
use vp_core::Time;
use vp_host::Host;
use vp_host::LocalHost;
use vp_host::network::{Network, Options, Plan, RunError, Runner, Work, digits, example_input};
use vp_host::program::address;
use vp_models::nvdla::registers::{Unit, cdma};
use vp_models::platform::{Description, Platform};

/// Steps of a case that are read, frame after frame: as many as were measured have to run.
const MOST_STEPS: usize = 10_000;

/// Case that ran: a network on a platform with a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The network, as the file names it.
    pub network: String,
    /// The built-in platform that models what was measured.
    pub platform: String,
    /// The memory.
    pub setting: Setting,
    /// Number of bytes of which D_WEIGHT_BYTES was made a multiple.
    pub weight_bytes: u32,
}

/// A case, and what the RTL took for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkRow {
    /// Case that ran.
    pub case: Case,
    /// From the first layer's enable to the last layer's interrupt, if that was measured.
    pub total: Option<u64>,
    /// The cycles of steps, from the first enable to the interrupt, by the step's place and name. Places go on from one frame to
    /// the next.
    pub steps: Vec<(usize, String, u64)>,
}

/// Cycles that the model took for a case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkRun {
    /// From the first layer's enable to the last layer's interrupt.
    pub total: u64,
    /// The plan's steps, their names and cycles, frame after frame.
    pub steps: Vec<(String, u64)>,
}

/// Returns true if a file of measurements is of networks: its first column is then `network`.
pub(super) fn is_of_networks(path: &Path) -> Result<bool, RtlError> {
    let mut reader = super::csv_of(path)?;
    let header = reader.headers().map_err(|error| RtlError::new(path, error))?;
    Ok(header.get(0) == Some("network"))
}

/// Adds a file's measurements to those of other files: totals and steps of a case belong together.
pub(super) fn read(path: &Path, rows: &mut Vec<NetworkRow>) -> Result<(), RtlError> {
    let mut reader = super::csv_of(path)?;
    let header = reader.headers().map_err(|error| RtlError::new(path, error))?.clone();
    for record in reader.records() {
        let record = record.map_err(|error| RtlError::new(path, error))?;
        let line = record.position().map_or(0, csv::Position::line);
        let cells = Cells(header.iter().zip(record.iter()).collect());
        add(&cells, rows).map_err(|what| RtlError::new(path, format!("line {line}: {what}")))?;
    }
    Ok(())
}

fn add(cells: &Cells<'_>, rows: &mut Vec<NetworkRow>) -> Result<(), String> {
    let setting = Setting {
        read_latency: cells.number("read_latency")?,
        write_latency: cells.number("write_latency")?,
        read_outstanding: cells.number("limit")?,
    };
    // `128 (project)`: what was the planner's own way when it was measured.
    let aligned = cells.text("weight_bytes_aligned_to")?;
    let weight_bytes = aligned.split(' ').next().and_then(|text| text.parse().ok()).filter(|&it| it > 0);
    let case = Case {
        network: cells.text("network")?.to_owned(),
        platform: cells.text("platform")?.to_owned(),
        setting,
        weight_bytes: weight_bytes
            .ok_or_else(|| format!("weight_bytes_aligned_to: `{aligned}` begins with no number above 0"))?,
    };
    let at = rows.iter().position(|row| row.case == case).unwrap_or_else(|| {
        rows.push(NetworkRow { case, total: None, steps: Vec::new() });
        rows.len() - 1
    });
    let cycles = cells.number("rtl_cycles")?;
    if cells.has("step") {
        let step: usize = cells.number("step")?;
        if step >= MOST_STEPS {
            return Err(format!("step: {step} is not below {MOST_STEPS}"));
        }
        rows[at].steps.push((step, cells.text("name")?.to_owned(), cycles));
    } else {
        rows[at].total = Some(cycles);
    }
    Ok(())
}

impl Case {
    /// Returns true if the case ran on a configuration, whichever branch that was built from.
    #[must_use]
    pub fn is_of(&self, config: &str) -> bool {
        self.platform == config || self.platform.strip_suffix("_master") == Some(config)
    }

    /// The network itself.
    fn load(&self) -> Result<Network, String> {
        let mut parts = self.network.split(':');
        let name = parts.next().unwrap_or_default();
        let mut number = |what: &str| match parts.next() {
            None | Some("") => Ok(None),
            Some(text) => text
                .parse::<u32>()
                .map(Some)
                .map_err(|_| format!("{}: `{text}` is no number of {what}", self.network)),
        };
        let (layers, size) = (number("layers")?, number("lines and columns")?);
        let options = Options { input_size: size.map(|size| [size, size]), ..Options::default() };
        let network = Network::named(name, &options).map_err(|error| error.to_string())?;
        let mut network = network.ok_or_else(|| format!("no network `{name}` comes with the platform"))?;
        if let Some(layers) = layers {
            network = network.truncated(layers as usize);
        }
        if network.layers.is_empty() {
            return Err(format!("{}: at least one layer has to run", self.network));
        }
        Ok(network)
    }

    /// Runs it on the model.
    fn run(&self, steps: usize) -> Result<NetworkRun, String> {
        let mut description = Description::named(&self.platform).map_err(|error| error.to_string())?;
        self.setting.apply(&mut description);
        let network = self.load()?;
        let config = &description.nvdla().ok_or("the platform carries no NVDLA")?.config;
        let mut plan =
            Plan::new(&network, config, description.dbb0.range()).map_err(|error| error.to_string())?;
        align_weights(&mut plan, self.weight_bytes);
        let mut host = LocalHost::new(Platform::build(&description).map_err(|error| error.to_string())?);
        wait_for_buffer(&mut host)?;
        let frames = steps.div_ceil(plan.steps.len()).max(1);
        let inputs: Vec<Vec<i8>> = match network.name.as_str() {
            "digits" => digits::samples().iter().cycle().take(frames).map(|it| it.pixels.to_vec()).collect(),
            _ => (0..frames as u64).map(|frame| example_input(network.input, frame)).collect(),
        };
        let mut runner = Runner::new(&plan, &mut host).map_err(|error| error.to_string())?;
        let mut spans = Vec::new();
        match runner.run(&inputs, |_, inference| spans.extend(inference.steps)) {
            // Weights that are no multiple of the buffer's entry leave other bytes, and a warning; the cycles stand.
            Ok(()) | Err(RunError::Warned(_)) => {}
            Err(error) => return Err(error.to_string()),
        }
        let cycles = |begin: Time, end: Time| (end - begin).cycles(description.period);
        let begin = spans.iter().map(|span| span.enabled).min().unwrap_or_default();
        let end = spans.iter().map(|span| span.done).max().unwrap_or_default();
        let names = plan.steps.iter().map(|step| step.name.clone()).cycle();
        let steps = names.zip(&spans).map(|(name, span)| (name, cycles(span.enabled, span.done)));
        Ok(NetworkRun { total: cycles(begin, end), steps: steps.collect() })
    }
}

impl NetworkRow {
    /// Runs the same on the model, on as many frames as have steps here.
    ///
    /// # Errors
    /// Why it cannot be run, or not to its end.
    pub fn run(&self) -> Result<NetworkRun, String> {
        self.case.run(self.steps.iter().map(|(at, ..)| at + 1).max().unwrap_or_default())
    }
}

/// Makes the bytes of weights that each layer reads a multiple of this.
fn align_weights(plan: &mut Plan, multiple: u32) {
    for step in &mut plan.steps {
        let Work::Hardware { program, .. } = &mut step.work else { continue };
        let value = |register| {
            let mut of_cdma = program.writes.iter().filter(|write| write.unit == Unit::Cdma);
            of_cdma.find(|write| write.register == register).map(|write| write.value)
        };
        let sizes = (value(cdma::D_WEIGHT_SIZE_0), value(cdma::D_WEIGHT_SIZE_1));
        let (Some(kernel), Some(kernels)) = sizes else { continue };
        let bytes = ((kernel + 1) * (kernels + 1)).next_multiple_of(multiple);
        let writes = program.writes.iter_mut().filter(|write| write.unit == Unit::Cdma);
        for write in writes.filter(|write| write.register == cdma::D_WEIGHT_BYTES) {
            write.value = bytes;
        }
    }
}

/// A driver waits for the buffer, which is cleared after reset.
fn wait_for_buffer(host: &mut LocalHost) -> Result<(), String> {
    let register = cdma::S_CBUF_FLUSH_STATUS;
    let address = address(host.map(), Unit::Cdma, register).map_err(|error| error.to_string())?;
    while host.read(address).map_err(|error| error.to_string())? & 1 == 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(network: &str, steps: usize) -> Result<NetworkRun, String> {
        let setting = Setting { read_latency: 1, write_latency: 1, read_outstanding: 256 };
        let case =
            Case { network: network.to_owned(), platform: "nv_small".to_owned(), setting, weight_bytes: 8 };
        case.run(steps)
    }

    #[test]
    fn as_many_frames_run_as_have_steps() {
        let [one, two] = [4, 5].map(|steps| run("digits", steps).unwrap());
        assert_eq!((one.steps.len(), two.steps.len()), (4, 8));
        assert_eq!(one.steps[0].0, "conv1");
        assert!(two.total > one.total && one.total >= one.steps.iter().map(|step| step.1).sum());
    }

    #[test]
    fn what_cannot_run_is_told() {
        assert_eq!(run("digits:0", 0).unwrap_err(), "digits:0: at least one layer has to run");
        assert_eq!(run("digits:some", 0).unwrap_err(), "digits:some: `some` is no number of layers");
        assert_eq!(run("nonet", 0).unwrap_err(), "no network `nonet` comes with the platform");
    }
}
