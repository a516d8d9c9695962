//! `vp attach`: a debugger for a platform that a server serves.
//!
//! Its session is an observer, with the right to stop simulated time for all: it looks at registers, memory and units without
//! side effects, whether time stands or not. Commands come from a terminal, from `-c`, or from standard input.

mod command;
mod complete;
mod debugger;
pub(super) mod whereabouts;

use std::io::{self, BufRead, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use vp_models::bounded_file::read_line_at_most;
use vp_transport::Address;

use super::live::WhichArgs;
use super::{Failure, Verdict, text};
use crate::cli::out;
use complete::Names;
use debugger::{After, Debugger};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
`help` at the prompt lists the commands. Ctrl-C stops simulated time. `quit` or Ctrl-D leaves: breakpoints are
removed, and time continues. In lockstep time advances only on requests of other sessions; a step waits for them.

  vp attach unix:/tmp/vp.sock -c 'break irq; continue; regs GLB; where'")]
pub(super) struct Args {
    /// Address of the server: tcp:HOST:PORT, tls:HOST:PORT or unix:PATH
    #[arg(value_name = "ADDR")]
    address: Address,

    #[command(flatten)]
    which: WhichArgs,

    /// Commands to run in place of a prompt, separated by `;`. The first that fails ends them
    #[arg(short, long = "command", value_name = "COMMANDS")]
    commands: Vec<String>,

    /// Seconds after which to give up waiting for a breakpoint or the end of a step [default: none]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=1e9).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("`{text}` is no number of seconds"))
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted.clone())?;
    let debugger = Debugger::open(&args.address, &args.which, args.timeout, interrupted.clone())?;
    if !args.commands.is_empty() {
        let lines = args.commands.iter().flat_map(|commands| commands.split(';')).map(str::to_owned);
        return script(debugger, lines.map(Ok));
    }
    match io::stdin().is_terminal() {
        true => prompt(debugger, &interrupted),
        false => script(debugger, lines(io::stdin().lock())),
    }
}

/// Most bytes of a line with commands.
const MOST_LINE: u64 = 1 << 20;

/// The lines of a script.
fn lines(mut from: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    std::iter::from_fn(move || {
        let mut line = String::new();
        match read_line_at_most(&mut from, MOST_LINE, &mut line) {
            Ok(0) => None,
            Ok(_) => Some(Ok(line.trim_end_matches(['\n', '\r']).to_owned())),
            Err(error) => Some(Err(error)),
        }
    })
}

/// Carries out commands until one fails.
fn script(
    mut debugger: Debugger,
    lines: impl Iterator<Item = io::Result<String>>,
) -> Result<Verdict, Failure> {
    let mut out = out::stdout();
    for line in lines {
        for part in line?.split(';') {
            match debugger.carry_out(part, &mut out) {
                Ok(After::Next) => {}
                Ok(After::Quit) => return Ok(Verdict::Right),
                Err(failure) if failure.is_broken_pipe => return Err(failure),
                Err(failure) => {
                    return Err(Failure { what: format!("{}: {failure}", part.trim()), ..failure });
                }
            }
        }
    }
    Ok(Verdict::Right)
}

/// Reads commands from the terminal, with history and completion.
fn prompt(mut debugger: Debugger, interrupted: &AtomicBool) -> Result<Verdict, Failure> {
    let config = Config::builder().auto_add_history(true).completion_type(CompletionType::List).build();
    let mut editor: Editor<Names, FileHistory> = Editor::with_config(config).map_err(Failure::new)?;
    editor.set_helper(Some(debugger.names()));
    let history = history_file();
    if let Some(path) = &history {
        // There may be none yet.
        let _ = editor.load_history(path);
    }
    let mut out = out::stdout();
    write!(out, "{}", debugger.greeting()?)?;
    let verdict = loop {
        let line = match editor.readline("(vp) ") {
            Ok(line) => line,
            // A line that is given up; the platform is left as it is.
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break Ok(Verdict::Right),
            Err(error) => break Err(Failure::new(error)),
        };
        // One that came when nothing was waited for stops nothing later.
        take_interrupt(interrupted);
        match debugger.carry_out(&line, &mut out) {
            Ok(After::Next) => {}
            Ok(After::Quit) => break Ok(Verdict::Right),
            Err(failure) if debugger.is_over() => break Err(failure),
            Err(failure) => {
                out::eprintln!("{} {failure}", text::styled(text::RED, "error:"));
            }
        }
    };
    if let Some(path) = history {
        // A history that cannot be kept is no reason to fail.
        let _ = path.parent().map(std::fs::create_dir_all);
        let _ = editor.save_history(&path);
    }
    verdict
}

/// Path of the history, in the folder where the user's programs keep their state: the XDG Base Directory Specification, `XDG_STATE_HOME`.
fn history_file() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("vp/attach-history"))
}

/// Returns true if Ctrl-C was pressed since the last call.
fn take_interrupt(interrupted: &AtomicBool) -> bool {
    interrupted.swap(false, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_is_refused() {
        let ends = lines(io::BufReader::new(io::repeat(b'x'))).next();
        assert_eq!(ends.unwrap().unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let script: Vec<String> = lines(&b"status\r\n\nquit"[..]).map(Result::unwrap).collect();
        assert_eq!(script, ["status", "", "quit"]);
    }
}
