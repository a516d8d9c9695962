//! `vp loadable trace`: the register writes of a loadable with its data, for a bench without a driver.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use vp_host::LocalHost;
use vp_host::loadable::{Loadable, run_from};
use vp_host::trace::made::{Recorder, Script};
use vp_host::trace::{Trace, TraceSource, platform_of_loadable};
use vp_models::platform::Platform;

use super::super::platform_args;
use super::super::text::counted;
use super::super::{Failure, Verdict, out, run};
use super::{bytes, wrong};

/// Address at which benches of the vendor have their DRAM.
const DRAM: u64 = 0x8000_0000;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Loadable, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Folder to make: the script, and its surface files
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,

    /// Language of the script: cfg, with a stream of registers for each unit, or txn, one strict sequence
    #[arg(long, value_name = "LANGUAGE", default_value = "cfg")]
    format: Language,

    /// Built-in platform, or a TOML file, for which it is [default: as of `vp run`]
    #[arg(long)]
    platform: Option<String>,

    /// Input, as `vp run` takes it; may be given more than once, in the order in which tensors are bound
    #[arg(long, value_name = "FILE")]
    input: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Language {
    Cfg,
    Txn,
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let file = &args.file;
    let loadable = Loadable::parse(&bytes(file)?).map_err(|error| wrong(file, error))?;
    let name = match super::super::standard::is_standard(file) {
        true => "loadable".into(),
        false => file.file_stem().unwrap_or_default().to_string_lossy(),
    };
    let chosen = match &args.platform {
        Some(platform) => platform.clone(),
        None => {
            let source = TraceSource::of(file);
            let choice = platform_of_loadable(source.as_ref(), &loadable);
            choice.map_err(|error| wrong(file, error))?.platform.to_owned()
        }
    };
    let description = platform_args::load(&chosen)?;
    let inputs = run::inputs(&loadable, &args.input)?;
    check(&args.output)?;
    let mut host = LocalHost::new(Platform::build(&description).map_err(Failure::new)?);
    let mut recorder = Recorder::new(&mut host);
    run_from(DRAM, &loadable, &inputs, 1, &mut recorder).map_err(|error| wrong(file, error))?;
    let (script, other) = match args.format {
        Language::Cfg => (Script::Cfg, "--format txn"),
        Language::Txn => (Script::Txn, "--format cfg"),
    };
    let trace = recorder.trace(&name, script).map_err(|error| {
        let failure = wrong(file, &error);
        match error {
            vp_host::trace::made::MadeError::Between { .. } | vp_host::trace::made::MadeError::Queue => {
                failure.hint(other)
            }
            _ => failure,
        }
    })?;
    let script = save(&trace, &args.output)?;
    let summary = trace.summary();
    let mut out = out::stdout();
    writeln!(
        out,
        "{}: {}, {}, {}",
        script.display(),
        counted(summary.register_writes as u64, "register write"),
        counted(summary.interrupts as u64, "interrupt"),
        counted(summary.memory_checks as u64, "check"),
    )?;
    writeln!(out, "vp run {} --platform {chosen}", script.display())?;
    Ok(Verdict::Right)
}

/// Refuses a folder with something in it.
fn check(folder: &Path) -> Result<(), Failure> {
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new(format!("{} is there, and not empty", folder.display()))
            .hint("name a folder that is made, or an empty one")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(wrong(folder, error)),
    }
}

/// Writes a trace into a folder as a whole, or not at all; gives the script's path.
fn save(trace: &Trace, folder: &Path) -> Result<PathBuf, Failure> {
    let cannot = |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", folder.display()));
    let absolute = std::path::absolute(folder).map_err(cannot)?;
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(wrong(folder, "it has no name"));
    };
    let partial = parent.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    fs::create_dir(&partial).map_err(cannot)?;
    let saved = trace.save(&partial).and_then(|script| {
        // Takes the place of an empty folder, too.
        fs::rename(&partial, &absolute)?;
        Ok(folder.join(script.file_name().unwrap_or_default()))
    });
    saved.map_err(|error| {
        let _ = fs::remove_dir_all(&partial);
        cannot(error)
    })
}
