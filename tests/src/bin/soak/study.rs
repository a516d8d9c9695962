//! A study that is killed again and again, and has the same table in the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::Around;
use crate::process::{self, Ended};

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
    /// How long it takes.
    whole: Duration,
}

impl Study {
    pub(crate) fn new(vp: &Path, folder: &Path) -> Result<Study, String> {
        let file = folder.join("soak.toml");
        fs::write(&file, STUDY).map_err(|error| error.to_string())?;
        let (whole, started) = (folder.join("whole"), Instant::now());
        match process::run(&mut command(vp, &file, &whole), None)? {
            Ended::Itself { is_good: true, .. } => {}
            Ended::Itself { printed, .. } => return Err(format!("vp study: {printed}")),
            _ => return Err("vp study does not end".to_owned()),
        }
        Ok(Study { folder: folder.to_owned(), table: table(&whole)?, file, whole: started.elapsed() })
    }

    /// Kills runs of it until one comes to its end, again and again.
    pub(crate) fn work(&self, seed: u64, around: &Around<'_>) {
        let mut random = SmallRng::seed_from_u64(seed);
        while Instant::now() < around.until {
            self.run_to_its_end(&mut random, around);
        }
    }

    fn run_to_its_end(&self, random: &mut SmallRng, around: &Around<'_>) {
        let output = self.folder.join(format!("killed{}", random.random::<u32>()));
        let done = loop {
            let more = Instant::now() < around.until;
            let kill = more
                .then(|| Duration::from_millis(random.random_range(1..self.whole.as_millis() as u64 + 2)));
            match process::run(&mut command(around.vp, &self.file, &output), kill) {
                Ok(Ended::Killed) => around.count(|tally| tally.studies += 1),
                Ok(Ended::Itself { is_good: true, .. }) => break table(&output),
                Ok(Ended::Itself { printed, .. }) => {
                    break Err(format!("a study that was killed: {printed}"));
                }
                Ok(Ended::Hung) => break Err("a study that was killed does not end".to_owned()),
                Err(why) => break Err(why),
            }
        };
        around.count(|tally| tally.checked += 1);
        match done {
            Ok(table) if table == self.table => {}
            Ok(table) => around
                .wrong(format!("a study that was killed has another table:\n{table}\nnot\n{}", self.table)),
            Err(why) => around.wrong(why),
        }
        _ = fs::remove_dir_all(&output);
    }
}

fn command(vp: &Path, file: &Path, output: &Path) -> Command {
    let mut command = Command::new(vp);
    command.arg("study").arg(file).arg("--output").arg(output).args(["--jobs", "1"]);
    command
}

/// What it found: its table of points.
fn table(output: &Path) -> Result<String, String> {
    let file = output.join("results.csv");
    fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
}
