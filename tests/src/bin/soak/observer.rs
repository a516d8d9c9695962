//! Programs that look at all of a server's platforms, while they run, begin and end.

use rand::rngs::SmallRng;

use crate::Around;
use crate::process;
use crate::server::ServerPlace;
use crate::tally::Party;

/// Shows what goes on there; half of those who look are killed, many of them in the middle of it.
pub(crate) fn work(place: &ServerPlace, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    process::pause(random, 400);
    let mut command = around.client();
    command.args(["status", "--connect", &place.address]);
    let kill = process::kill_time_within(random, 60);
    around.run_at(place, Party::Observer, &mut command, kill, |printed| {
        let shows_one = printed.contains(" simulated in ");
        let may_have_none = !place.has_witness() && printed.contains("has no platform");
        match shows_one || may_have_none {
            true => Ok(()),
            false => Err(format!("it shows no platform: {printed}")),
        }
    })
}
