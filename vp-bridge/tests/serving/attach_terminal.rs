//! `vp attach` at a terminal: completion, history, and Ctrl-C, as a user types them.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::Served;
use rexpect::process::{Signal, WaitStatus};
use rexpect::session::{Options as Terminal, PtySession, spawn_with_options};
use vp_client::native::Capabilities;
use vp_client::{Client, Options as ClientOptions};
use vp_host::Host as _;
use vp_remote::RemoteOptions;
use vp_server::Options;

/// After this something hangs.
const PATIENCE: u64 = 60_000;
const UP: &str = "\u{1b}[A";

fn attach(served: &Served, state: &Path) -> PtySession {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vp"));
    command.args(["attach", &served.address.to_string()]);
    command.env("XDG_STATE_HOME", state).env("TERM", "xterm").env("NO_COLOR", "1");
    let terminal = Terminal::new().timeout_ms(Some(PATIENCE)).strip_ansi_escape_codes(true);
    spawn_with_options(command, terminal).unwrap()
}

/// Types keys, and waits until this is on the screen.
fn types(session: &mut PtySession, keys: &str, shown: &str) {
    session.send(keys).unwrap();
    session.flush().unwrap();
    session.exp_string(shown).unwrap_or_else(|error| panic!("{keys:?}: no {shown:?}: {error}"));
}

/// Waits until a platform's time stands, or runs.
fn until(observer: &mut Client<()>, stands: bool) {
    while observer.debug_state().unwrap().stopped.is_some() != stands {
        thread::yield_now();
    }
}

#[test]
fn commands_are_completed_kept_and_interrupted_at_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::at(&format!("unix:{}", folder.path().join("s").display()), Options::default());
    let lab = || Some("lab".to_owned());
    let mut host = served.join(RemoteOptions { platform: lab(), ..RemoteOptions::default() });
    let options = ClientOptions::observer("test 1.0", lab());
    let capabilities = options.capabilities.union(Capabilities::DEBUGGING);
    let mut observer =
        Client::connect(&served.address, &ClientOptions { capabilities, ..options }, ()).unwrap();
    // A program that lets time go on.
    let is_over = Arc::new(AtomicBool::new(false));
    let program = {
        let is_over = is_over.clone();
        thread::spawn(move || {
            let status = host.map().find("GLB.S_INTR_STATUS").unwrap().address;
            while !is_over.load(Ordering::Relaxed) {
                host.read(status).unwrap();
            }
        })
    };

    let mut session = attach(&served, folder.path());
    session.exp_string("platform lab, session").unwrap();
    session.exp_string("runs; `help` lists commands").unwrap();
    session.exp_string("(vp) ").unwrap();
    // A word that only one can be, and a name of the platform's.
    types(&mut session, "unit\t", "units");
    types(&mut session, "\r", "nothing is unfinished");
    types(&mut session, "break SDP.D_OP_E\t", "SDP.D_OP_ENABLE");
    types(&mut session, "wr\t\r", "breakpoint 1: write of SDP.D_OP_ENABLE");
    // Several: what they have in common, and then which they are.
    types(&mut session, "sto\t\r", "stopped at ");
    types(&mut session, "ste\tc\t\r", "stopped at ");
    types(&mut session, "st\t\t", "status");
    session.exp_string("stop").unwrap();
    session.exp_string("step").unwrap();

    // Ctrl-C gives up a line, and leaves the platform as it is.
    types(&mut session, "nonsense\u{3}", "(vp) ");
    until(&mut observer, true);
    // One that comes while nothing is waited for, as from another terminal, ends no later wait.
    session.process_mut().signal(Signal::SIGINT).unwrap();
    session.exp_string("(vp) ").unwrap();
    types(&mut session, "break time 100 s\r", "breakpoint 2: time 100 s");
    session.send("continue\r").unwrap();
    session.flush().unwrap();
    until(&mut observer, false);
    // While a run goes on it ends the run and not the program.
    types(&mut session, "\u{3}", "stopped at ");
    until(&mut observer, true);
    // The history: the line before the last one.
    types(&mut session, &format!("{UP}{UP}"), "break time 100 s");
    types(&mut session, "\r", "breakpoint 3: time 100 s");
    types(&mut session, "quit\r", "\n");
    session.exp_eof().unwrap();
    let status = session.process().wait().unwrap();
    assert!(matches!(status, WaitStatus::Exited(_, 0)), "{status:?}");
    // Time goes on when the debugger has left.
    until(&mut observer, false);

    // The next session has the history of this one.
    let mut next = attach(&served, folder.path());
    next.exp_string("(vp) ").unwrap();
    types(&mut next, UP, "quit");
    types(&mut next, &format!("{UP}\r"), ": time 100 s");
    // Several lines at once, as they are pasted: each is carried out.
    types(&mut next, "break time 101 s\rbreak time 102 s\rbreak time 103 s\r", ": time 101 s");
    next.exp_string(": time 102 s").unwrap();
    next.exp_string(": time 103 s").unwrap();
    // Ctrl-D leaves.
    next.send("\u{4}").unwrap();
    next.flush().unwrap();
    next.exp_eof().unwrap();
    is_over.store(true, Ordering::Relaxed);
    program.join().unwrap();
}
