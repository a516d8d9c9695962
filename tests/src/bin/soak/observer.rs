//! Programs that look at all of a server's platforms, while they run, begin and end.

use std::time::Duration;

use rand::Rng as _;
use rand::rngs::SmallRng;

use crate::Around;
use crate::process::{self, Ended};
use crate::server::Place;
use crate::tally::Party;

/// Shows what goes on there; half of those who look are killed, many of them in the middle of it.
pub(crate) fn work(place: &Place, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
    // Not so much that others have no processor.
    std::thread::sleep(Duration::from_millis(random.random_range(0..400)));
    let era = place.era();
    let kill = random.random_bool(0.5).then(|| Duration::from_millis(random.random_range(1..60)));
    let mut command = around.client();
    command.args(["status", "--connect", &place.address]);
    around.tally.begun(Party::Observer);
    match process::run(&mut command, kill)? {
        Ended::Itself { is_good: true, printed } => {
            around.tally.compared(Party::Observer);
            let shows_one = printed.contains(" simulated in ");
            let may_have_none = !place.has_witness() && printed.contains("has no platform");
            if !shows_one && !may_have_none {
                return Err(format!("{command:?} shows no platform: {printed}"));
            }
        }
        // Its server was killed: that is said, and is an error.
        Ended::Itself { .. } if !place.has_been_there_since(era) => {}
        Ended::Itself { printed, .. } => return Err(format!("{command:?}: {printed}")),
        Ended::Killed => around.tally.killed(Party::Observer),
        Ended::Hung => return Err(format!("{command:?} does not end")),
    }
    Ok(())
}
