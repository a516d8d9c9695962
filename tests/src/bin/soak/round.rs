//! A round: all parties at once, who begin something new until it is over, and then end.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use rand::Rng as _;
use rand::rngs::SmallRng;
use rustix::process::{Pid, Signal, kill_process};

use crate::c::C;
use crate::process::PATIENCE;
use crate::qemu::Qemu;
use crate::server::{Server, ServerPlace};
use crate::study::Study;
use crate::tally::Party;
use crate::witness::Witness;
use crate::{Around, clients, debugger, noise, observer, partner, python, remote_port, renode, saver};

/// Guests of QEMU at a time.
const GUESTS: usize = 2;

/// Parties that work in a round, besides clients and witnesses of each server.
pub(crate) struct Parties<'a> {
    pub(crate) study: &'a Study,
    pub(crate) qemu: Option<&'a Qemu>,
    pub(crate) c: Option<&'a C>,
    pub(crate) has_python: bool,
    /// Clients at each server.
    pub(crate) clients: usize,
}

/// One thing that a party does at a server.
type Work = fn(&ServerPlace, &mut SmallRng, &Around<'_>) -> Result<(), String>;

/// Parties at all servers, who begin something new until the round is over, and end.
pub(crate) fn run(
    servers: &mut [Server],
    witnesses: &mut [Witness],
    parties: &Parties<'_>,
    random: &mut SmallRng,
    around: &Around<'_>,
) {
    let steady = servers.iter().filter(|server| server.place.is_steady());
    let processes: Vec<u32> = steady.map(Server::process).collect();
    let steady = servers.iter().filter(|server| server.place.has_cpus());
    let places: &[Arc<ServerPlace>] = &steady.map(|server| server.place.clone()).collect::<Vec<_>>();
    let (is_over, over) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || watch(&over, &processes, around));
        std::thread::scope(|scope| {
            for server in servers {
                let mut works: Vec<(Party, Work)> =
                    vec![(Party::Noise, noise::work as Work), (Party::Observer, observer::work as Work)];
                if server.place.is_for_guests {
                    for qemu in parties.qemu.into_iter().flat_map(|qemu| [qemu; GUESTS]) {
                        let (place, seed) = (server.place.clone(), random.random());
                        scope.spawn(move || {
                            around.repeat(Party::Qemu, seed, |random| qemu.work(&place, random, around));
                        });
                    }
                } else {
                    works.extend((0..parties.clients).map(|_| (Party::Client, clients::work as Work)));
                }
                if server.place.remote_port.is_some() {
                    works.push((Party::RemotePort, remote_port::work));
                }
                if server.place.has_cpus() {
                    works.push((Party::Partner, partner::work));
                }
                for (party, work) in works {
                    let (place, seed) = (server.place.clone(), random.random());
                    scope.spawn(move || around.repeat(party, seed, |random| work(&place, random, around)));
                }
                if !server.place.is_steady() {
                    let seed = random.random();
                    scope.spawn(move || {
                        if let Err(why) = server.die_again_and_again(seed, around) {
                            around.tally.wrong(Party::Server, &why);
                        }
                    });
                }
            }
            for witness in witnesses {
                scope.spawn(move || around.repeat(Party::Witness, 0, |_| witness.work(around)));
            }
            // One at a time of each, now at this server, now at that.
            let mut works: Vec<(Party, Work)> =
                vec![(Party::Debugger, debugger::work as Work), (Party::Saver, saver::work as Work)];
            works.extend(parties.has_python.then_some((Party::Python, python::work as Work)));
            for (party, work) in works {
                let seed = random.random();
                scope.spawn(move || {
                    around.repeat(party, seed, |random| work(one_of(places, random), random, around));
                });
            }
            if let Some(c) = parties.c {
                let seed = random.random();
                scope.spawn(move || {
                    around.repeat(Party::C, seed, |random| c.work(one_of(places, random), random, around));
                });
            }
            let [study, renode] = [random.random(), random.random()];
            scope.spawn(move || {
                around.repeat(Party::Study, study, |random| parties.study.work(random, around));
            });
            scope.spawn(move || around.repeat(Party::Renode, renode, |random| renode::work(random, around)));
        });
        drop(is_over);
    });
}

fn one_of<'a>(places: &'a [Arc<ServerPlace>], random: &mut SmallRng) -> &'a ServerPlace {
    &places[random.random_range(0..places.len())]
}

/// Kills the servers if a round does not end, so that who waits for them does.
fn watch(over: &Receiver<()>, processes: &[u32], around: &Around<'_>) {
    // Programs are given up earlier, one after the other.
    let patience = around.until.saturating_duration_since(Instant::now()) + 4 * PATIENCE;
    if over.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
        around.tally.wrong(Party::Server, &format!("a round does not end: {}", around.tally.line()));
        for process in processes.iter().filter_map(|process| i32::try_from(*process).ok()) {
            _ = Pid::from_raw(process).map(|process| kill_process(process, Signal::KILL));
        }
    }
}
