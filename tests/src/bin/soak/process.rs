//! Programs that are started, waited for with patience, and killed.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rand::Rng as _;
use rand::rngs::SmallRng;

/// Time that anything may take that is not killed. What takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Time between two looks at something that does not tell by itself.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

/// Path of the program or library `name`, which that package builds beside this program.
pub(crate) fn beside(name: &str, package: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = own.with_file_name(name);
    // Cargo's tests have theirs in a folder of their own; what an earlier build has left is older.
    let built = |path: &PathBuf| path.metadata().and_then(|file| file.modified()).ok();
    let places = [own.with_file_name("deps").join(name), program];
    let found = places.into_iter().filter(|path| path.exists()).max_by_key(built);
    found.ok_or_else(|| format!("no {name} beside {}: cargo build -p {package}", own.display()))
}

/// A program's end.
pub(crate) enum Ended {
    /// By itself; whether it says it went well, and what it printed.
    Itself { is_good: bool, printed: String },
    /// Killed at the time that was asked for.
    Killed,
    /// Killed because it did not end.
    Hung,
}

/// Runs a program, and kills it after `kill` if that is given.
pub(crate) fn run(command: &mut Command, kill: Option<Duration>) -> Result<Ended, String> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    // What a program prints is read while it runs: a full pipe would stop it.
    let mut readers = Vec::new();
    let pipes: [Option<Box<dyn std::io::Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| Box::new(pipe) as _),
        child.stderr.take().map(|pipe| Box::new(pipe) as _),
    ];
    for mut pipe in pipes.into_iter().flatten() {
        readers.push(std::thread::spawn(move || {
            let mut printed = Vec::new();
            _ = pipe.read_to_end(&mut printed);
            String::from_utf8_lossy(&printed).into_owned()
        }));
    }
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ended::Itself { is_good: status.success(), printed: String::new() },
            Ok(None) if kill.is_some_and(|kill| started.elapsed() >= kill) => break Ended::Killed,
            Ok(None) if started.elapsed() > PATIENCE => break Ended::Hung,
            Ok(None) => std::thread::sleep(LOOK),
            Err(error) => return Err(format!("{command:?}: {error}")),
        }
    };
    end(&mut child);
    let printed = readers.into_iter().filter_map(|reader| reader.join().ok()).collect::<String>();
    Ok(match ended {
        Ended::Itself { is_good, .. } => Ended::Itself { is_good, printed },
        other => other,
    })
}

/// Runs a program to its end, which has to be a good one, and gives what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    match run(command, None)? {
        Ended::Itself { is_good: true, printed } => Ok(printed),
        Ended::Itself { printed, .. } => Err(format!("{command:?}: {printed}")),
        _ => Err(format!("{command:?} does not end")),
    }
}

/// Does something beside a program that runs, which is killed after `life`, or when that is done. Gives whether it was killed before.
pub(crate) fn during<T>(child: &mut Child, life: Duration, work: impl FnOnce() -> T) -> (T, bool) {
    let (is_over, over) = channel::<()>();
    std::thread::scope(|scope| {
        let killer = scope.spawn(move || {
            let waited = over.recv_timeout(life);
            end(child);
            waited == Err(RecvTimeoutError::Timeout)
        });
        let done = work();
        drop(is_over);
        (done, killer.join().unwrap_or(false))
    })
}

/// Kills a program, if it still runs.
pub(crate) fn end(child: &mut Child) {
    _ = child.kill();
    _ = child.wait();
}

/// Time after which to kill a program, if at all: half of them, most while they run.
pub(crate) fn kill_time(random: &mut SmallRng) -> Option<Duration> {
    kill_time_within(random, 600)
}

/// Time after which to kill a program that is over within `longest` milliseconds, if at all.
pub(crate) fn kill_time_within(random: &mut SmallRng, longest: u64) -> Option<Duration> {
    random.random_bool(0.5).then(|| Duration::from_millis(random.random_range(1..longest)))
}

/// Waits for so many milliseconds at most, so that others have the processors.
pub(crate) fn pause(random: &mut SmallRng, longest: u64) {
    std::thread::sleep(Duration::from_millis(random.random_range(0..longest)));
}

/// Text of an error, for `map_err`.
#[expect(clippy::needless_pass_by_value, reason = "errors come by value")]
pub(crate) fn text(error: impl ToString) -> String {
    error.to_string()
}
