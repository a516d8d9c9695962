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
mod commands;
mod compare;
mod compare_rtl;
mod compile;
mod demo;
mod diff;
mod fault_args;
mod hosts;
mod inputs;
mod live;
mod loadable;
mod memory;
mod memory_limit;
mod observing;
mod out;
mod parts;
mod plan;
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

use clap::Parser;
use nix::sys::signal::{SigSet, Signal};
use std::ffi::OsString;
use std::fmt;
use std::process::ExitCode;
use vp_models::platform::EVENT_HASH_VERSION;
use vp_models::printable;

/// Version of this program.
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
#[command(help_template = commands::help_template())]
#[command(after_help = "`vp help COMMAND` or `vp COMMAND --help` shows a command's options.")]
struct Cli {
    #[command(flatten)]
    terminal: terminal::TerminalArgs,

    #[command(subcommand)]
    command: commands::Command,
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
    match command.main() {
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
