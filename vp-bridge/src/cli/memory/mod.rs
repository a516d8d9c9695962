//! `vp memory`: a platform's memories without its device; and text on what memories did in a run.

mod counted;
mod curve;
mod replay;

use super::platform_args::{PlatformArgs, changed};
use super::{Failure, Verdict, text};
use clap::{Subcommand, ValueEnum};
pub(super) use counted::{lines, show};
use std::path::Path;
use vp_models::memory::dram::Grade;
use vp_models::memory::{MemoryFormula, MemoryModel};
use vp_models::platform::{Description, DescriptionError, MemoryDescription};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Play a trace of requests into a memory
    ///
    /// Traces: `CLOCK R|W 0xADDRESS [BYTES]` a line, as --memory-requests of `vp run` writes them; those of Ramulator (LD|ST ADDRESS, or R|W and a
    /// place) and of DRAMsim3 (0xADDRESS READ|WRITE CLOCK). Packed ones (gzip) too; - is standard input. Requests without clocks are made as
    /// fast as the memory takes them.
    Replay(replay::Args),
    /// Draw a memory's latency over its bandwidth
    ///
    /// Requests come at random times (Poisson), of reads alone, two reads a write, and as many of both; as a stream, at random, in runs of 16
    /// bursts, and row after row of one bank. Beside the curves: latency without load and bandwidth by formula.
    Curve(curve::Args),
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    match &args.command {
        Command::Replay(args) => replay::main(args),
        Command::Curve(args) => curve::main(args),
    }
}

/// Memory of a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MemoryName {
    Dbb0,
    Sram0,
}

impl MemoryName {
    const fn name(self) -> &'static str {
        match self {
            MemoryName::Dbb0 => "dbb0",
            MemoryName::Sram0 => "sram0",
        }
    }

    fn of(self, description: &Description) -> &MemoryDescription {
        match self {
            MemoryName::Dbb0 => &description.dbb0,
            MemoryName::Sram0 => &description.sram0,
        }
    }
}

/// Options that choose the memory.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Memory")]
struct MemoryArgs {
    /// Built-in platform, a platform's file, or a file that has only `[dram]` or `[dbb0.dram]` [default: nv_small]
    #[arg(long, value_name = "NAME|FILE")]
    platform: Option<String>,

    /// DRAM behind DBBIF, by its speed grade, such as DDR4-2400R or LPDDR5-6400 [default: the platform's]
    #[arg(long, value_name = "GRADE")]
    dram: Option<Grade>,

    /// Set any value of the platform by its name in the TOML file, such as dbb0.dram.page=closed; may be given more than once
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
}

impl MemoryArgs {
    /// Returns the platform asked for: `file`, or that of the option.
    fn description(&self, file: Option<&str>) -> Result<Description, Failure> {
        let name = file.or(self.platform.as_deref()).unwrap_or("nv_small");
        let Some(mut description) = section(name)? else {
            let chosen = PlatformArgs::of_memory(Some(name.to_owned()), self.dram, self.settings.clone());
            return chosen.description(name);
        };
        if let Some(grade) = self.dram {
            description.dbb0.model.dram = Some(vp_models::memory::dram::DramConfig::of(grade));
        }
        changed(&description, &self.settings)
    }
}

/// Line that is put above a file that has only a section of a memory.
const ABOVE: &str = "name = \"nv_small\"\n";

/// Reads a file that has only the section of a DRAM: that of nv_small's `dbb0`. Nothing if it is no such file.
fn section(name: &str) -> Result<Option<Description>, Failure> {
    let path = Path::new(name);
    if Description::named(name).is_ok() || !path.is_file() {
        return Ok(None);
    }
    // A file that cannot be read, or is no TOML, is told of as a platform's.
    let Ok(text) = vp_models::bounded_file::read_description(path) else { return Ok(None) };
    let Ok(table) = text.parse::<toml::Table>() else { return Ok(None) };
    let has = |key: &str| table.contains_key(key);
    let text = match table.len() {
        1 if has("dram") => text.replace("[dram", "[dbb0.dram"),
        1 if has("dbb0") => text,
        _ => return Ok(None),
    };
    let whole = format!("{ABOVE}{text}\n[nvdla]\nbase = \"nv_small\"\n");
    let above = |error| match error {
        DescriptionError::Text(mut error) => {
            error.line = error.line.map(|line| line.saturating_sub(1));
            DescriptionError::Text(error)
        }
        error => error,
    };
    Description::parse(&whole).map(Some).map_err(|error| Failure::new(above(error).in_file(path)))
}

/// Describes a memory in one line.
fn headline(description: &Description, memory: MemoryName, formula: &MemoryFormula) -> String {
    let model: &MemoryModel = &memory.of(description).model;
    let latency = match memory {
        MemoryName::Dbb0 => description.dbb_latency(),
        MemoryName::Sram0 => description.sram_latency(),
    };
    let model = MemoryModel { traffic: Vec::new(), ..model.clone() };
    let what = super::platform_args::times(&model, latency);
    let peak = formula.peak.map_or_else(String::new, |peak| format!(" · at most {}", gigabytes(peak)));
    format!(
        "{} of {}: {what}{peak} · clock {}",
        memory.name(),
        description.name,
        text::frequency(formula.clock)
    )
}

/// A rate as people read it: `19.2 GB/s`.
fn gigabytes(rate: f64) -> String {
    let value = rate / 1e9;
    let digits = if value < 10.0 { 2 } else { 1 };
    format!("{value:.digits$} GB/s")
}

/// The platform of a file or an option, for its own tests.
#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Description, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dram.toml");
        std::fs::write(&path, text).unwrap();
        let args = MemoryArgs { platform: None, dram: None, settings: Vec::new() };
        args.description(path.to_str())
            .map_err(|failure| failure.to_string().replace(&format!("{}/", folder.path().display()), ""))
    }

    #[test]
    fn a_file_may_have_only_the_section_of_a_dram() {
        for text in [
            "[dram]\nstandard = \"LPDDR5-6400\"\n[dram.timing]\ntRCD = 20",
            "[dbb0.dram]\nstandard = \"LPDDR5-6400\"\ntiming.tRCD = 20",
            "dbb0.dram = { standard = \"LPDDR5-6400\", timing = { tRCD = 20 } }",
        ] {
            let dram = of(text).unwrap().dbb0.model.dram.unwrap();
            assert_eq!((dram.standard.name(), dram.timing().unwrap().tRCD), ("LPDDR5-6400", 20));
        }
    }

    #[test]
    fn what_is_wrong_with_such_a_file_is_told_with_its_line() {
        let wrong = of("# mine\n[dram]\nstandard = \"DDR9\"\n").unwrap_err();
        assert!(wrong.starts_with("dram.toml:3: ") && wrong.contains("no DRAM `DDR9`"), "{wrong}");
        let wrong = of("[dbb0.dram]\nstandard = \"DDR4-2400R\"\nranks = 9\n").unwrap_err();
        assert!(wrong.starts_with("dram.toml:3: "), "{wrong}");
    }
}
