//! What Ctrl-C at a study says: how many points are kept, and how to go on.

use crate::cli::Failure;
use crate::cli::text::counted;
use indicatif::ProgressBar;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Listens for the signals that end a program, as long as it lives.
pub(super) struct Interrupt {
    kept: Arc<AtomicUsize>,
    handle: Handle,
}

impl Interrupt {
    /// Begins to listen, with so many points kept of all.
    pub(super) fn listen(kept: usize, all: usize, bar: ProgressBar) -> Result<Interrupt, Failure> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let (handle, kept) = (signals.handle(), Arc::new(AtomicUsize::new(kept)));
        let seen = kept.clone();
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                bar.finish_and_clear();
                let kept = seen.load(Ordering::Relaxed);
                let said = format!(
                    "{kept} of {} are kept, those that were under way are not; go on with `{}`",
                    counted(all as u64, "point"),
                    again(std::env::args())
                );
                // Nobody is there to be told of a failure.
                _ = writeln!(anstream::stderr(), "interrupted: {said}");
                // As a shell tells who was ended by a signal. What is kept is on the disk.
                std::process::exit(128 + signal);
            }
        });
        Ok(Interrupt { kept, handle })
    }

    /// Another point is kept.
    pub(super) fn kept(&self) {
        self.kept.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.handle.close();
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
