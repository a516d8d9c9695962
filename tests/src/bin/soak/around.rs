//! Context that all parties of a round share.

use std::process::Command;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use vp_remote::{RemoteHost, RemoteOptions};

use crate::Site;
use crate::clients::Reference;
use crate::layers::Layer;
use crate::process::{self, Ended};
use crate::server::ServerPlace;
use crate::tally::{Party, Tally};

/// Context that all parties of a round share.
pub(crate) struct Around<'a> {
    pub(crate) site: &'a Site,
    pub(crate) reference: &'a Reference,
    pub(crate) layers: &'a [Layer],
    pub(crate) tally: &'a Tally,
    /// Time until which clients begin something new.
    pub(crate) until: Instant,
}

impl Around<'_> {
    /// The program under test as a client, which shows what servers with TLS ask for.
    pub(crate) fn client(&self) -> Command {
        let mut command = self.site.vp();
        command.envs(self.site.lab.of_client());
        command
    }

    /// The CPU of a platform of that name, within this program.
    pub(crate) fn cpu(&self, place: &ServerPlace, platform: &str) -> Result<RemoteHost, String> {
        let options = RemoteOptions { platform: Some(platform.to_owned()), ..RemoteOptions::default() };
        place.connect(&self.site.lab, options)
    }

    /// One of the layers.
    pub(crate) fn layer(&self, random: &mut SmallRng) -> &Layer {
        &self.layers[random.random_range(0..self.layers.len())]
    }

    /// Runs a program at a server, and kills it after `kill` if that is given. What it printed, if it came to its end, is what `check` looks at.
    pub(crate) fn run_at(
        &self,
        place: &ServerPlace,
        party: Party,
        command: &mut Command,
        kill: Option<Duration>,
        check: impl FnOnce(&str) -> Result<(), String>,
    ) -> Result<(), String> {
        let era = place.era();
        self.tally.begun(party);
        match process::run(command, kill)? {
            Ended::Itself { is_good: true, printed } => {
                self.tally.compared(party);
                check(&printed).map_err(|why| format!("{command:?}: {why}"))
            }
            // Its server was killed: that is said, and is an error.
            Ended::Itself { .. } if !place.has_been_there_since(era) => Ok(()),
            Ended::Itself { printed, .. } => Err(format!("{command:?}: {printed}")),
            Ended::Killed => {
                self.tally.killed(party);
                Ok(())
            }
            Ended::Hung => Err(format!("{command:?} does not end")),
        }
    }

    /// Does one thing after the other until the round is over.
    pub(crate) fn repeat(
        &self,
        party: Party,
        seed: u64,
        mut work: impl FnMut(&mut SmallRng) -> Result<(), String>,
    ) {
        let mut random = SmallRng::seed_from_u64(seed);
        while Instant::now() < self.until && !self.tally.is_hopeless() {
            if let Err(why) = work(&mut random) {
                self.tally.wrong(party, &why);
            }
        }
    }
}
