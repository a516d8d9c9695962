//! Signs of life of a run that takes long: the operation under way and the simulated time, on standard error. On a terminal a line that is drawn
//! anew each second; elsewhere, such as in a log, a line now and then.

use crate::cli::out;
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use vp_core::Time;
use vp_host::forward_host;
use vp_host::{Host, HostError};

use super::{terminal, text};

/// From a line to the next where nobody sees it drawn anew.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// From a drawing to the next.
const BETWEEN_DRAWINGS: Duration = Duration::from_secs(1);

/// Clock cycles after which a platform of this process says how far it is.
pub(super) const CYCLES: u64 = 100_000;

/// Beginning of this program's first run, and the time of the last line: several runs, one after the other, have one interval.
static SAID: LazyLock<(Instant, Mutex<Instant>)> = LazyLock::new(|| {
    let now = Instant::now();
    (now, Mutex::new(now))
});

/// Progress of a run.
#[derive(Debug, Default)]
struct Progress {
    /// Name of the trace or network.
    program: String,
    /// Name of the operation, layer or line under way.
    place: String,
    time: Time,
    /// The platform's clock; zero where that is not known.
    period: Time,
    is_over: bool,
}

impl Progress {
    /// `NN_L0_0: operation 5 (PDP), 12 345 678 cycles`
    fn sentence(&self) -> String {
        let Progress { program, place, time, period, .. } = self;
        let mut parts: Vec<String> = [place.clone()].into_iter().filter(|place| !place.is_empty()).collect();
        parts.push(match *period {
            Time::ZERO => format!("{time} of simulated time"),
            period => text::counted(time.cycles(period), "cycle"),
        });
        let of = if program.is_empty() { String::new() } else { format!("{program}: ") };
        text::one_line(&format!("{of}{}", parts.join(", ")))
    }
}

/// Progress of a run, shared with the thread that tells it.
#[derive(Clone, Debug, Default)]
pub(super) struct Alive(Arc<(Mutex<Progress>, Condvar)>);

impl Alive {
    fn update(&self, update: impl FnOnce(&mut Progress)) {
        update(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Progress on a platform with this clock.
    pub(super) fn of_period(period: Time) -> Alive {
        let alive = Alive::default();
        alive.update(|progress| progress.period = period);
        alive
    }

    /// Sets the simulated time.
    pub(super) fn is_at(&self, time: Time) {
        self.update(|progress| progress.time = time);
    }

    /// Tells the progress again and again until the run is over.
    fn tell(&self) {
        if terminal::is_hidden() {
            return self.tell_in_lines();
        }
        let mut bar = None;
        while let Some(sentence) = self.after(BETWEEN_DRAWINGS) {
            bar.get_or_insert_with(|| terminal::progress(0, "{elapsed}  {msg}")).set_message(sentence);
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
    }

    fn tell_in_lines(&self) {
        let (began, said) = &*SAID;
        let last = || *said.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(sentence) = self.after(BETWEEN_LINES.saturating_sub(last().elapsed())) {
            out::eprintln!("still running after {} s: {sentence}", began.elapsed().as_secs());
            *said.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
    }

    /// Progress after this time as a sentence; none if the run is over by then.
    fn after(&self, time: Duration) -> Option<String> {
        let (progress, over) = &*self.0;
        let progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = over.wait_timeout_while(progress, time, |progress| !progress.is_over);
        let (progress, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (!progress.is_over).then(|| progress.sentence())
    }
}

/// A host, of whose run others are told that it is alive.
pub(super) struct ToldHost {
    host: Box<dyn Host>,
    alive: Alive,
    teller: Option<JoinHandle<()>>,
}

impl ToldHost {
    pub(super) fn new(host: Box<dyn Host>, alive: Alive) -> ToldHost {
        let told = alive.clone();
        // Without it the run is as good.
        let thread = || std::thread::Builder::new().name("alive".to_owned()).spawn(move || told.tell()).ok();
        let teller = if terminal::is_quiet() { None } else { thread() };
        ToldHost { host, alive, teller }
    }
}

impl Drop for ToldHost {
    fn drop(&mut self) {
        self.alive.update(|progress| progress.is_over = true);
        self.alive.0.1.notify_all();
        if let Some(teller) = self.teller.take() {
            let _ = teller.join();
        }
    }
}

impl Host for ToldHost {
    forward_host!(
        host: write, write_acknowledged, read, now, load, fetch, stream, map, device, inject_faults, statistics, activity, warnings, set_limit
    );

    fn wait_interrupt(&mut self) -> Result<Time, HostError> {
        let waited = self.host.wait_interrupt();
        if let Ok(time) = waited {
            self.alive.is_at(time);
        }
        waited
    }

    fn running(&mut self, program: &str) {
        self.alive.update(|progress| program.clone_into(&mut progress.program));
    }

    fn doing(&mut self, what: &str) {
        self.alive.update(|progress| what.clone_into(&mut progress.place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_says_what_it_is_at_and_its_cycles() {
        let alive = Alive::of_period(Time::ns(1));
        let sentence = || alive.0.0.lock().unwrap().sentence();
        alive.is_at(Time::us(12));
        assert_eq!(sentence(), "12 000 cycles");
        alive
            .update(|progress| (progress.program, progress.place) = ("lenet".to_owned(), "conv1".to_owned()));
        assert_eq!(sentence(), "lenet: conv1, 12 000 cycles");
        alive.update(|progress| progress.period = Time::ZERO);
        assert_eq!(sentence(), "lenet: conv1, 12 µs of simulated time");
    }

    #[test]
    fn a_host_that_is_dropped_ends_what_tells_of_it() {
        let description = vp_models::platform::Description::named("nv_small").unwrap();
        let platform = vp_models::platform::Platform::build(&description).unwrap();
        let alive = Alive::default();
        let host = Box::new(vp_host::LocalHost::new(platform));
        let mut told = ToldHost::new(host, alive.clone());
        told.doing("a layer");
        drop(told);
        // The thread has let go of it.
        assert_eq!(Arc::strong_count(&alive.0), 1);
        assert!(alive.0.0.lock().unwrap().is_over);
    }
}
