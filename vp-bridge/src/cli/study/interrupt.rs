//! Words at Ctrl-C in a study: how many points are kept, and how to go on.

use crate::cli::Failure;
use crate::cli::out;
use crate::cli::text::counted;
use indicatif::ProgressBar;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Listens for the signals that end a program, to its end.
pub(super) struct Interrupt(Arc<Mutex<Standing>>);

/// Progress of a study.
#[derive(Default)]
struct Standing {
    kept: usize,
    all: usize,
    bar: Option<ProgressBar>,
    /// Points run; before, values are checked.
    is_running: bool,
}

impl Interrupt {
    /// Begins to listen.
    pub(super) fn listen() -> Result<Interrupt, Failure> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let interrupt = Interrupt(Arc::default());
        let standing = interrupt.0.clone();
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                let standing = standing.lock().unwrap_or_else(PoisonError::into_inner);
                standing.bar.iter().for_each(ProgressBar::finish_and_clear);
                let (kept, all) = (standing.kept, counted(standing.all as u64, "point"));
                let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
                let again = again(words);
                let said = match standing.is_running {
                    true => format!(
                        "{kept} of {all} are kept, those that were under way are not; go on with `{again}`"
                    ),
                    false => {
                        format!("values were checked, and nothing has been run; begin again with `{again}`")
                    }
                };
                // Nobody is there to be told of a failure.
                _ = writeln!(out::stderr(), "interrupted: {said}");
                // As a shell tells who was ended by a signal. What is kept is on the disk.
                std::process::exit(128 + signal);
            }
        });
        Ok(interrupt)
    }

    /// Notes that so many points are kept, of all that there are up to now.
    pub(super) fn stands_at(&self, kept: usize, all: usize, bar: ProgressBar) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Standing { kept, all, bar: Some(bar), is_running: true };
    }

    /// Another point is kept.
    pub(super) fn kept(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).kept += 1;
    }
}

/// The command that goes on with what this one does: without `--fresh`, which forgets what is kept.
fn again(arguments: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = arguments.skip(1).filter(|word| word != "--fresh").collect();
    let words = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
    format!("vp {words}")
}

#[cfg(test)]
mod tests {
    use super::again;

    #[test]
    fn going_on_forgets_nothing() {
        let words = ["/usr/bin/vp", "study", "my study.toml", "--fresh", "--jobs", "2"];
        assert_eq!(again(words.into_iter().map(str::to_owned)), "vp study 'my study.toml' --jobs 2");
    }
}
