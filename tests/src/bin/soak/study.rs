//! A study that is killed again and again, and has the same table in the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rand::Rng as _;
use rand::rngs::SmallRng;

use crate::Around;
use crate::process::{self, Ended};
use crate::tally::Party;

/// Some points of a small network.
const STUDY: &str = r#"name = "soak"
[sweep]
network = ["digits"]
platform = ["nv_small"]
"dbb0.read_latency" = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 400]
"#;

/// A study, and the table of one that nobody has killed.
pub(crate) struct Study {
    folder: PathBuf,
    file: PathBuf,
    table: String,
    /// Time that the whole study takes.
    whole: Duration,
}

impl Study {
    pub(crate) fn new(vp: Command, folder: &Path) -> Result<Study, String> {
        let file = folder.join("soak.toml");
        fs::write(&file, STUDY).map_err(|error| error.to_string())?;
        let (whole, started) = (folder.join("whole"), Instant::now());
        process::output(&mut command(vp, &file, &whole))?;
        Ok(Study { folder: folder.to_owned(), table: table(&whole)?, file, whole: started.elapsed() })
    }

    /// Kills runs of it until the round is over, and has the last one come to its end.
    pub(crate) fn work(&self, random: &mut SmallRng, around: &Around<'_>) -> Result<(), String> {
        let output = self.folder.join(format!("killed{}", random.random::<u32>()));
        around.tally.begun(Party::Study);
        loop {
            let more = Instant::now() < around.until;
            let kill = more
                .then(|| Duration::from_millis(random.random_range(1..self.whole.as_millis() as u64 + 2)));
            match process::run(&mut command(around.client(), &self.file, &output), kill)? {
                Ended::Killed => around.tally.killed(Party::Study),
                Ended::Itself { is_good: true, .. } => break,
                Ended::Itself { printed, .. } => return Err(format!("one that was killed: {printed}")),
                Ended::Hung => return Err("one that was killed does not end".to_owned()),
            }
        }
        around.tally.compared(Party::Study);
        let table = table(&output)?;
        if table != self.table {
            return Err(format!("one that was killed has another table:\n{table}\nnot\n{}", self.table));
        }
        fs::remove_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))
    }
}

fn command(mut vp: Command, file: &Path, output: &Path) -> Command {
    vp.arg("study").arg(file).arg("--output").arg(output).args(["--jobs", "1"]);
    vp
}

/// Reads the table of points that a study has left.
fn table(output: &Path) -> Result<String, String> {
    let file = output.join("results.csv");
    fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
}
