//! The command line: what to do, on which platform, and how it is shown.
//!
//! One file a command. Commands return an error or say whether all went well; only [`main`] turns that into
//! an exit status. Results go to standard output, everything else to standard error.

mod alive;
mod attach;
mod attach_device;
mod certificates;
mod check_peer;
#[cfg(target_os = "linux")]
mod child;
mod compare;
mod compare_rtl;
mod demo;
mod diff;
mod fault_args;
mod hosts;
mod inputs;
mod live;
mod memory;
mod memory_limit;
mod observing;
mod out;
mod parts;
mod platform;
mod platform_args;
#[cfg(target_os = "linux")]
mod qemu;
mod record;
mod recording;
mod regs;
mod renode;
mod replay;
mod rtl;
mod run;
mod runtime;
mod save;
mod sequences;
mod serve;
mod shell;
mod standard;
mod study;
mod terminal;
mod text;

use clap::{Parser, Subcommand};
use nix::sys::signal::{SigSet, Signal};
use std::ffi::OsString;
use std::fmt;
use std::process::ExitCode;
use vp_models::platform::EVENT_HASH_VERSION;
use vp_models::printable;

/// This program's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that this program was built of, if it is a release.
fn commit() -> Option<&'static str> {
    Some(env!("VP_COMMIT")).filter(|commit| !commit.is_empty())
}

/// Returns the version, with the commit, and with what decides whether two programs find the same event hash.
fn long_version() -> String {
    let commit = commit().unwrap_or("none: it is no release build");
    format!("{VERSION}\ncommit      {commit}\nevent hash  version {EVENT_HASH_VERSION}")
}

/// A virtual platform for NVDLA: runs layers, serves registers and memory over sockets, counts cycles.
#[derive(Debug, Parser)]
#[command(name = "vp", version = VERSION, long_version = long_version(), max_term_width = 110)]
struct Cli {
    #[command(flatten)]
    terminal: terminal::TerminalArgs,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Classify handwritten digits with a small network, and show where the time goes
    Demo(demo::Args),
    /// Run traces of register writes and check what they leave in memory
    Run(run::Args),
    /// Serve a platform to programs that connect
    Serve(serve::Args),
    /// Save a served platform where it next comes to rest: `vp serve --restore` goes on from there
    Save(save::Args),
    /// Be a part of a served platform: its device, or a memory with its times
    AttachDevice(attach_device::Args),
    /// Debug a served platform: look at it, stop its time, step it, have it stop where something happens
    Attach(attach::Args),
    /// Show where a served platform's driver waits, and what its device waits for
    Where(attach::whereabouts::Args),
    /// Check which rules of a protocol another program keeps, rule by rule
    CheckPeer(check_peer::Args),
    /// Start QEMU with a platform's device in its guest
    #[cfg(target_os = "linux")]
    Qemu(qemu::Args),
    /// Be a co-simulated peripheral of Renode, which starts this program
    Renode(renode::Args),
    /// Run a recording again, without those who took part, and check that it goes as it went
    Replay(replay::Args),
    /// Show the first difference of two recordings or register logs, with what is around it on both sides
    Diff(diff::Args),
    /// Show the register map, whole or what matches, or what registers of a served platform hold
    Regs(regs::Args),
    /// Show what goes on at a server's platforms: sessions, ports, units, time
    Status(live::status::Args),
    /// Show the counters of a served platform
    Stats(live::stats::Args),
    /// Show bytes of a served platform's memory
    Peek(live::memory::Args),
    /// Set bytes of a served platform's memory, or one of its registers
    Poke(live::poke::Args),
    /// Run traces with a part of the platform in another program and with the model, and name the first transaction that differs
    Compare(compare::Args),
    /// Compare the model's cycles and memory traffic with measurements of the vendor's RTL
    CompareRtl(compare_rtl::Args),
    /// Ask a question at many points: sweeps of platforms, memories and networks, with tables and a report
    Study(study::Args),
    /// List, describe, check and print platforms
    Platform(platform::Args),
    /// Print the script by which a shell completes commands and options
    Completions(shell::CompletionsArgs),
    /// Write the manual's pages into a folder
    Man(shell::ManArgs),
}

/// Reason for which a command could not do its work, as a person is told it.
#[derive(Debug)]
struct Failure {
    what: String,
    /// Hint at what would be right, if that is known.
    hint: Option<String>,
    /// True if there is no way to the server.
    is_connection: bool,
    /// True if the platform lacks what was asked for, and nothing is wrong.
    is_lack: bool,
    /// True if whoever read the output has gone.
    is_broken_pipe: bool,
    /// The exit status.
    status: u8,
}

impl Failure {
    fn new(what: impl fmt::Display) -> Failure {
        // It may quote what a server, or a file of somebody else's, has said.
        let what = printable::lines(&what.to_string()).into_owned();
        Failure { what, hint: None, is_connection: false, is_lack: false, is_broken_pipe: false, status: 1 }
    }

    fn connection(what: impl fmt::Display) -> Failure {
        Failure { is_connection: true, ..Failure::new(what) }
    }

    /// Makes the failure that of a comparison, as diff(1) has it: its exit status is 2, because 1 says that something differs.
    fn of_comparison(self) -> Failure {
        Failure { status: 2, ..self }
    }

    fn hint(mut self, hint: impl fmt::Display) -> Failure {
        self.hint = Some(printable::lines(&hint.to_string()).into_owned());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What follows the first line stands below it, behind "error: ".
        let below = |text: &str| text.replace('\n', "\n       ");
        f.write_str(&below(&self.what))?;
        match &self.hint {
            Some(hint) => write!(f, "\n       {}", below(hint)),
            None => Ok(()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        let is_broken_pipe = error.kind() == std::io::ErrorKind::BrokenPipe;
        Failure { is_broken_pipe, ..Failure::new(error) }
    }
}

/// Verdict on whether what was run turned out right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Right,
    Wrong,
}

/// Parses the command line. What is wrong with it is told with the arguments as they may be shown.
fn parse() -> Cli {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    Cli::try_parse_from(&arguments).unwrap_or_else(|error| {
        let shown = arguments.iter().map(|argument| text::one_line(&argument.to_string_lossy()));
        match Cli::try_parse_from(shown) {
            Err(error) => error.exit(),
            Ok(_) => {
                out::eprintln!("{}", error.render());
                std::process::exit(error.exit_code())
            }
        }
    })
}

pub(super) fn main() -> ExitCode {
    // A file beyond the limit of its size (`ulimit -f`) is then an error of the write, which is told; the signal would end the
    // program without a word. Children do not inherit it: they are started with no signal blocked.
    let _ = SigSet::from(Signal::SIGXFSZ).thread_block();
    let Cli { terminal, command } = parse();
    terminal.apply();
    let result = match command {
        Command::Demo(args) => demo::main(&args),
        Command::Run(args) => run::main(&args),
        Command::Serve(args) => serve::main(&args),
        Command::Save(args) => save::main(&args),
        Command::CheckPeer(args) => check_peer::main(&args),
        Command::Attach(args) => attach::main(&args),
        Command::Where(args) => attach::whereabouts::main(&args),
        Command::AttachDevice(args) => attach_device::main(&args),
        #[cfg(target_os = "linux")]
        Command::Qemu(args) => qemu::main(&args),
        Command::Renode(args) => renode::main(&args),
        Command::Replay(args) => replay::main(&args),
        Command::Diff(args) => diff::main(&args).map_err(Failure::of_comparison),
        Command::Regs(args) => regs::main(&args),
        Command::Status(args) => live::status::main(&args),
        Command::Stats(args) => live::stats::main(&args),
        Command::Peek(args) => live::memory::main(&args),
        Command::Poke(args) => live::poke::main(&args),
        Command::Compare(args) => compare::main(&args).map_err(Failure::of_comparison),
        Command::CompareRtl(args) => compare_rtl::main(&args).map_err(Failure::of_comparison),
        Command::Study(args) => study::main(&args),
        Command::Platform(args) => platform::main(&args),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
    };
    match result {
        Ok(Verdict::Right) => ExitCode::SUCCESS,
        Ok(Verdict::Wrong) => ExitCode::FAILURE,
        Err(failure) if failure.is_broken_pipe => ExitCode::SUCCESS,
        Err(failure) => {
            record::print_failure(&failure);
            out::eprintln!("{} {failure}", text::styled(text::RED, "error:"));
            ExitCode::from(failure.status)
        }
    }
}
