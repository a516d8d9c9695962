//! `vp save` of a platform, and `vp serve --restore` of its file. The saver is killed, or not: then there is the whole platform, or no file.

use std::path::Path;

use rand::Rng as _;
use rand::rngs::SmallRng;
use vp_host::{Host, Memory};

use crate::Around;
use crate::layers::Layer;
use crate::process::{self, text};
use crate::server::{Server, ServerPlace};
use crate::tally::Party;

/// Bytes beside a layer's, apart from them, so that a file takes a while to write.
const BASE: u64 = 0x9000_0000;
const BYTES: usize = 1 << 20;

/// Layer, bytes and event hash that a platform has, for comparison with what is restored.
struct Known<'a> {
    layer: &'a Layer,
    bytes: Vec<u8>,
    /// The event hash.
    events: String,
}

/// Saves a platform on which a layer has run.
pub(crate) fn work(place: &ServerPlace, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    process::pause(random, 1000);
    let name = format!("saved{}", random.random::<u32>());
    let mut cpu = around.cpu(place, &name)?;
    let layer = around.layer(random);
    layer.play_in_time(&mut cpu)?;
    let mut bytes = vec![0_u8; BYTES];
    random.fill(&mut bytes[..]);
    cpu.load(Memory::Primary, BASE, &bytes).map_err(text)?;
    let known = Known { layer, bytes, events: events(&mut cpu)? };

    // What a saver that is killed leaves beside its file goes with the folder.
    let folder = tempfile::tempdir_in(&around.site.temporary).map_err(text)?;
    let file = folder.path().join("saved.vpsv");
    let mut command = around.client();
    command.args(["save", "--connect", &place.address, "--shared", &name, "--wait", "60"]).arg(&file);
    let kill = process::kill_time_within(random, 150);
    around.run_at(place, Party::Saver, &mut command, kill, |_| match file.exists() {
        true => Ok(()),
        false => Err("there is no file".to_owned()),
    })?;
    if file.exists() {
        known.check_restored(&file, around).map_err(|why| format!("{name} at {}: {why}", place.address))?;
    }
    cpu.close().map_err(text)
}

fn events(host: &mut dyn Host) -> Result<String, String> {
    let statistics = host.statistics().map_err(text)?;
    statistics.text("events.hash").map(str::to_owned).ok_or_else(|| "no event hash".to_owned())
}

fn fetched(host: &mut dyn Host, memory: Memory, base: u64, size: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; size];
    host.fetch(memory, base, &mut bytes).map_err(text)?;
    Ok(bytes)
}

impl Known<'_> {
    /// Has another server go on from a file: its platform has to be this one.
    fn check_restored(&self, file: &Path, around: &Around<'_>) -> Result<(), String> {
        let mut command = around.site.vp();
        let socket = file.with_extension("socket");
        command.args(["serve", "--listen", &format!("unix:{}", socket.display()), "--restore"]).arg(file);
        let server = Server::start(command, ServerPlace::default())?;
        let mut cpu = around.cpu(&server.place, "restored")?;
        self.layer.check(|sum| fetched(&mut cpu, sum.memory, sum.base, sum.size as usize))?;
        if fetched(&mut cpu, Memory::Primary, BASE, BYTES)? != self.bytes {
            return Err("other bytes are restored than were there".to_owned());
        }
        match events(&mut cpu)? {
            events if events == self.events => Ok(()),
            events => Err(format!("the event hash is {events}, and was {}", self.events)),
        }
    }
}
