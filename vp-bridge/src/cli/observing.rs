//! Options about files that are written while a platform runs, and what came of the files.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use vp_models::hub::Hub;
use vp_models::platform::Description;
use vp_observers::{Files, Finished, Observers};
use vp_server::{ObservePlatforms, PlatformObserver};

use super::{Failure, Verdict, text};

/// Options that say which files are written about what a platform does.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Observing")]
pub(super) struct ObserveArgs {
    /// Write each register access to this file, with time, name, fields, and who asked: as JSON, which `vp run FILE.jsonl` plays again,
    /// or, if the name ends in .txt or .log, as text
    #[arg(long, value_name = "FILE")]
    registers: Option<PathBuf>,

    /// What came of the files of all platforms.
    #[arg(skip)]
    outcome: Arc<Outcome>,
}

/// What came of the files of a command's platforms.
#[derive(Debug, Default)]
struct Outcome {
    /// How many platforms have begun.
    platforms: AtomicUsize,
    finished: Mutex<Finished>,
}

impl Outcome {
    fn add(&self, finished: Finished) {
        let mut all = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        all.notes.extend(finished.notes);
        all.errors.extend(finished.errors);
    }

    fn take(&self) -> Finished {
        std::mem::take(&mut self.finished.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ObserveArgs {
    /// The first of these options that is given.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        self.registers.as_ref().map(|_| "--registers")
    }

    fn files(&self) -> Files {
        Files { registers: self.registers.clone() }
    }

    /// Puts observers beside a platform of this process.
    pub(super) fn attach(&self, hub: &mut Hub) -> Result<Observed, Failure> {
        let (files, outcome) = (self.files(), self.outcome.clone());
        if files.is_empty() {
            return Ok(Observed { observers: None, outcome });
        }
        let number = outcome.platforms.fetch_add(1, Ordering::Relaxed);
        let observers = files.of_platform(number).attach(hub).map_err(Failure::new)?;
        Ok(Observed { observers: Some(observers), outcome })
    }

    /// What looks on at each platform of a server, if anything does.
    pub(super) fn of_server(
        &self,
        description: &Description,
    ) -> Result<Option<Arc<dyn ObservePlatforms>>, Failure> {
        let files = self.files();
        if files.is_empty() {
            return Ok(None);
        }
        files.check(description).map_err(Failure::new)?;
        Ok(Some(Arc::new(OnServer(self.clone()))))
    }

    /// What came of the command: wrong if a file was not written. Tells what a person should know of the files.
    pub(super) fn conclude(&self, verdict: Result<Verdict, Failure>) -> Result<Verdict, Failure> {
        let Finished { notes, errors } = self.outcome.take();
        for note in notes {
            anstream::eprintln!("{} {note}", text::styled(text::YELLOW, "note:"));
        }
        let mut errors = errors.into_iter();
        let Some(first) = errors.next() else { return verdict };
        let rest = errors.map(|error| error.to_string());
        match verdict {
            Ok(_) => {
                let lines = rest.fold(first.to_string(), |lines, error| lines + "\n" + &error);
                Err(Failure { what: lines, ..Failure::new("") })
            }
            Err(failure) => {
                anstream::eprintln!("{} {first}", text::styled(text::RED, "error:"));
                rest.for_each(|error| anstream::eprintln!("{} {error}", text::styled(text::RED, "error:")));
                Err(failure)
            }
        }
    }
}

/// The observers of a platform of this process. When it is dropped they end, and their files have their names.
pub(super) struct Observed {
    observers: Option<Observers>,
    outcome: Arc<Outcome>,
}

impl Drop for Observed {
    fn drop(&mut self) {
        if let Some(observers) = self.observers.take() {
            self.outcome.add(observers.finish());
        }
    }
}

/// What looks on at a server's platforms.
#[derive(Debug)]
struct OnServer(ObserveArgs);

impl ObservePlatforms for OnServer {
    fn begin(&self, _: &str, hub: &mut Hub) -> Result<Box<dyn PlatformObserver>, String> {
        let observed = self.0.attach(hub).map_err(|failure| failure.to_string())?;
        Ok(Box::new(observed))
    }
}

impl PlatformObserver for Observed {
    fn finish(mut self: Box<Self>) -> Result<(), String> {
        let Some(observers) = self.observers.take() else { return Ok(()) };
        let finished = observers.finish();
        finished.notes.iter().for_each(|note| tracing::warn!("{note}"));
        let errors: Vec<String> = finished.errors.iter().map(ToString::to_string).collect();
        self.outcome.add(finished);
        if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
    }
}
