//! A platform whose memory is another program, with a clock of its own: that program is killed and comes again, and the CPU stays.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use rand::Rng as _;
use rand::rngs::SmallRng;
use vp_remote::RemoteHost;

use crate::Around;
use crate::process;
use crate::server::ServerPlace;
use crate::tally::Party;

/// Number of times that a memory comes.
const LIVES: u8 = 3;

/// Runs a layer with each of some memories, one after the other. One that is killed when the layer is through has done what it should.
pub(crate) fn work(place: &ServerPlace, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    let name = format!("clocked{}", random.random::<u32>());
    let address = &place.address;
    let mut cpu = around.cpu(place, &name)?;
    for life in 0..LIVES {
        live(place, &name, &mut cpu, random, around)
            .map_err(|why| format!("{address}: memory {life} of {name}: {why}"))?;
    }
    cpu.close().map_err(|error| format!("{address}: {error}"))
}

fn live(
    place: &ServerPlace,
    name: &str,
    cpu: &mut RemoteHost,
    random: &mut SmallRng,
    around: &Around<'_>,
) -> Result<(), String> {
    around.tally.begun(Party::Partner);
    let mut command = around.client();
    command.args(["attach-device", &place.address, "--as", "memory:dbb0", "--shared", name]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut memory = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let mut line = String::new();
    let said = memory.stdout.take().map(|said| BufReader::new(said).read_line(&mut line));
    if !line.starts_with("attached to ") {
        process::end(&mut memory);
        return Err(format!("{command:?} says {line:?}: {said:?}"));
    }
    let layer = around.layer(random);
    let longest = process::kill_time(random).unwrap_or(Duration::from_secs(3600));
    let (played, is_killed) = process::during(&mut memory, longest, || {
        cpu.reset().map_err(|error| format!("a reset: {error}")).and_then(|()| layer.play_in_time(cpu))
    });
    around.tally.killed(Party::Partner);
    if !is_killed {
        played?;
        around.tally.compared(Party::Partner);
    }
    Ok(())
}
