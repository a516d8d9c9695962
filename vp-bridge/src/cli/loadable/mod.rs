//! `vp loadable`: what loadables consist of and where two differ, and other forms of one.

mod diff;
mod show;
mod trace;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use vp_host::loadable::contents::Contents;
use vp_host::loadable::convert::convert;
use vp_host::loadable::{Generation, describe};
use vp_host::trace::MAX_SURFACE_BYTES;

use super::{Failure, Verdict, out, record, standard};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show tasks, operations, surfaces, memory and blobs of a loadable
    Show {
        /// Loadable, or `-` for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// Print JSON in place of text
        #[arg(long)]
        json: bool,
    },
    /// Show in which parts two loadables differ
    ///
    /// Of each part the number of differences and the first of them. Addresses are compared by the memory that they name. The exit status
    /// is that of diff(1): 0 if both are the same, 1 if they differ, 2 if they cannot be compared.
    Diff {
        /// Loadable
        #[arg(value_name = "A", value_parser = standard::named())]
        one: PathBuf,

        /// Loadable to compare it with
        #[arg(value_name = "B", value_parser = standard::named())]
        other: PathBuf,

        /// Print JSON in place of text
        #[arg(long)]
        json: bool,
    },
    /// Write a loadable for a driver of the other interface
    ///
    /// Up to interface 0.11 of NVIDIA's driver data cubes have 28 bytes, from 0.12 on (April 2019) 32 bytes, with an offset.
    Convert {
        /// Loadable, or `-` for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// File to write, whole or not at all; `-` for standard output
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,

        /// Interface of the driver: 0.11 or 0.12
        #[arg(long, value_name = "VERSION")]
        interface: Generation,
    },
    /// Write the register writes and data of a loadable as a trace for a bench without a driver
    ///
    /// The loadable is run on the model, in the order of NVIDIA's driver. The trace waits where the driver waited for interrupts, and checks
    /// what the run has left in memory. DRAM is at 0x80000000, SRAM at 0x50000000.
    Trace(trace::Args),
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    match &args.command {
        Command::Show { file, json } => {
            let description = describe::describe(&read(file)?);
            match json {
                true => record::print(&description)?,
                false => show::show(&mut out::stdout(), file, &description)?,
            }
            Ok(Verdict::Right)
        }
        Command::Diff { one, other, json } => diff::main([one, other], *json).map_err(Failure::of_comparison),
        Command::Convert { file, output, interface } => {
            let converted = convert(&read(file)?, *interface).map_err(|error| wrong(file, error))?;
            standard::write(output, converted.write())?;
            Ok(Verdict::Right)
        }
        Command::Trace(args) => trace::main(args),
    }
}

fn wrong(file: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("{}: {error}", file.display()))
}

/// The tables of a loadable.
fn read(file: &Path) -> Result<Contents, Failure> {
    let is_model = file
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("onnx") || extension == "toml");
    Contents::read(&bytes(file)?).map_err(|error| match wrong(file, error) {
        failure if is_model => failure.hint("vp compile makes a loadable of a model or a network"),
        failure => failure,
    })
}

fn bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    standard::read("the loadable", file, MAX_SURFACE_BYTES).map_err(|error| wrong(file, error))
}
