//! Counts of what has been done, by whom, and of what was wrong.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Parties that take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Party {
    /// `vp serve`.
    Server,
    /// A program that runs something at a server, over TCP, TLS, or a Unix socket with ring and shared memory.
    Client,
    /// `vp study`.
    Study,
    /// `vp attach-device`: a memory with a clock.
    Partner,
    /// `vp attach`.
    Debugger,
    /// `vp save`.
    Saver,
    /// A CPU in C.
    C,
    /// A program in Python.
    Python,
    /// QEMU with the library.
    Qemu,
    /// A CPU and memory that speak Remote-Port.
    RemotePort,
    /// `vp renode`, or the Renode that it is a peripheral of.
    Renode,
    /// A session that stays.
    Witness,
    /// `vp status`.
    Observer,
    /// A peer that sends garbage, or nothing.
    Noise,
}

impl Party {
    const ALL: [Party; 14] = [
        Party::Server,
        Party::Client,
        Party::Study,
        Party::Partner,
        Party::Debugger,
        Party::Saver,
        Party::C,
        Party::Python,
        Party::Qemu,
        Party::RemotePort,
        Party::Renode,
        Party::Witness,
        Party::Observer,
        Party::Noise,
    ];

    fn name(self) -> &'static str {
        match self {
            Party::Server => "server",
            Party::Client => "client",
            Party::Study => "study",
            Party::Partner => "partner",
            Party::Debugger => "debugger",
            Party::Saver => "saver",
            Party::C => "c",
            Party::Python => "python",
            Party::Qemu => "qemu",
            Party::RemotePort => "remote-port",
            Party::Renode => "renode",
            Party::Witness => "witness",
            Party::Observer => "observer",
            Party::Noise => "noise",
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Done {
    begun: u64,
    killed: u64,
    compared: u64,
}

#[derive(Debug, Default)]
struct TallyState {
    done: [Done; Party::ALL.len()],
    skipped: Vec<(Party, String)>,
    wrong: u64,
}

/// Number of wrong results above which more of them say nothing new.
const HOPELESS: u64 = 20;

/// Counts of what has been done since a time.
pub(crate) struct Tally {
    began: Instant,
    state: Mutex<TallyState>,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally { began: Instant::now(), state: Mutex::default() }
    }

    fn change<T>(&self, change: impl FnOnce(&mut TallyState) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn begun(&self, party: Party) {
        self.change(|state| state.done[party as usize].begun += 1);
    }

    pub(crate) fn killed(&self, party: Party) {
        self.change(|state| state.done[party as usize].killed += 1);
    }

    /// A result was looked at.
    pub(crate) fn compared(&self, party: Party) {
        self.change(|state| state.done[party as usize].compared += 1);
    }

    /// A party takes no part, and why.
    pub(crate) fn skipped(&self, party: Party, why: String) {
        self.change(|state| state.skipped.push((party, why)));
    }

    /// Says at once what was wrong, of whom and when.
    pub(crate) fn wrong(&self, party: Party, what: &str) {
        self.change(|state| state.wrong += 1);
        let (seconds, party) = (self.began.elapsed().as_secs(), party.name());
        _ = writeln!(io::stderr(), "wrong: after {seconds} s: {party}: {}", what.trim_end());
    }

    pub(crate) fn is_hopeless(&self) -> bool {
        self.wrongs() > HOPELESS
    }

    pub(crate) fn wrongs(&self) -> u64 {
        self.change(|state| state.wrong)
    }

    /// `120 s; 0 wrong; server: 12 begun, 10 killed; client: …`
    pub(crate) fn line(&self) -> String {
        self.change(|state| {
            let mut line = format!("{} s; {} wrong", self.began.elapsed().as_secs(), state.wrong);
            for party in Party::ALL {
                let Done { begun, killed, compared } = state.done[party as usize];
                let why = state.skipped.iter().find(|(of, _)| *of == party).map(|(_, why)| why);
                let name = party.name();
                // Nothing can go wrong in writing to a string.
                _ = match why {
                    Some(why) => write!(line, "; {name}: skipped: {why}"),
                    None => write!(line, "; {name}: {begun} begun"),
                };
                for (count, what) in [(killed, "killed"), (compared, "results compared")] {
                    if count > 0 {
                        _ = write!(line, ", {count} {what}");
                    }
                }
            }
            line
        })
    }
}
