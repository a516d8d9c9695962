//! Warnings as people get them.
//!
//! Models report what is wrong each time that it happens. What repeats is told twice: when it first happens, and once more
//! when the work that it belongs to ends, with how often it happened and where. What happened once is told once.

use crate::checkpoint::{Checkpoint, CheckpointError};
use serde::{Deserialize, Serialize};
use vp_core::observe::{Warning, WarningMarks};
use vp_core::{Name, Time};

use crate::backlog::{Backlog, warnings_left_out};

/// Causes that may repeat at a time; of more, the oldest is told as if its work had ended.
const MOST_CAUSES: usize = 256;

/// Something a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warned {
    /// Time of the warning.
    pub time: Time,
    /// Source that says it.
    pub source: Name,
    /// Text of the warning.
    pub text: String,
    /// Marks of the warning.
    pub marks: WarningMarks,
}

/// Cause that makes two warnings of one source the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Cause {
    Named(String),
    Access { client: String, write: bool },
}

impl Cause {
    /// Cause of a warning which may repeat.
    fn of(warning: &Warning<'_>) -> Option<Cause> {
        match *warning {
            Warning::Once(_) | Warning::Marked { .. } => None,
            Warning::Repeated { cause, .. } => Some(Cause::Named(cause.to_owned())),
            Warning::Access { client, write, .. } => Some(Cause::Access { client: client.to_owned(), write }),
        }
    }
}

/// A cause that has been told and may have repeated since.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Repeating {
    source: Name,
    cause: Cause,
    /// Text that was said the first time; of an access, why it was not served.
    text: String,
    count: u64,
    /// Times at which it happened first and last.
    times: [Time; 2],
    /// The first and the last byte of all accesses.
    bytes: [u64; 2],
}

impl Repeating {
    /// Returns true if it belongs to the work of `unit`: `nvdla.sdp` has the client `nvdla.sdp_rdma.brdma`, and a job of an IP all
    /// of its clients.
    fn belongs_to(&self, unit: &str) -> bool {
        let worker = match &self.cause {
            Cause::Named(_) => &*self.source,
            Cause::Access { client, .. } => client.as_str(),
        };
        let unit = unit.strip_suffix(".job").unwrap_or(unit);
        let rest = worker.strip_prefix(unit);
        worker.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_']))
    }

    /// Returns a text that says how often it happened, and where.
    fn summary(&self) -> String {
        let Repeating { cause, text, count, times: [first, last], bytes: [start, end], .. } = self;
        match cause {
            Cause::Named(_) => format!("{text} ({count} times, from {first} to {last})"),
            Cause::Access { client, write } => {
                let asked = asked(client, *write);
                format!("{asked} 0x{start:x} to 0x{end:x} in {count} bursts, from {first} to {last}: {text}")
            }
        }
    }
}

/// `nvdla.bdma writes`
fn asked(client: &str, write: bool) -> String {
    let client = if client.is_empty() { "the device" } else { client };
    format!("{client} {}", if write { "writes" } else { "reads" })
}

/// The warnings of one platform, or of another that may repeat itself.
#[derive(Debug, Default)]
pub struct Warnings {
    repeating: Vec<Repeating>,
    told: Backlog<Warned>,
    reported: u64,
}

impl Warnings {
    /// Something is wrong, for the first time or again.
    pub fn add(&mut self, time: Time, source: &Name, warning: &Warning<'_>) {
        self.reported += 1;
        let (text, bytes) = match *warning {
            Warning::Access { address, bytes, text, .. } => {
                (text, [address, address.saturating_add(u64::from(bytes.saturating_sub(1)))])
            }
            Warning::Once(text) | Warning::Marked { text, .. } | Warning::Repeated { text, .. } => {
                (text, [0, 0])
            }
        };
        let marks = if let Warning::Marked { marks, .. } = *warning { marks } else { WarningMarks::NONE };
        let Some(cause) = Cause::of(warning) else {
            return self.tell(time, source, text.to_owned(), marks);
        };
        let known = self.repeating.iter_mut().find(|known| known.cause == cause && known.source == *source);
        if let Some(known) = known {
            known.count += 1;
            known.times[1] = time;
            known.bytes = [known.bytes[0].min(bytes[0]), known.bytes[1].max(bytes[1])];
            return;
        }
        let first = match *warning {
            Warning::Access { client, write, address, bytes, .. } => {
                format!("{} {bytes} bytes at 0x{address:x}: {text}", asked(client, write))
            }
            Warning::Once(_) | Warning::Marked { .. } | Warning::Repeated { .. } => text.to_owned(),
        };
        self.tell(time, source, first, marks);
        if self.repeating.len() == MOST_CAUSES {
            let oldest = self.repeating.remove(0);
            self.sum_up(time, &oldest);
        }
        let (source, text) = (source.clone(), text.to_owned());
        self.repeating.push(Repeating { source, cause, text, count: 1, times: [time; 2], bytes });
    }

    /// A piece of work of `unit` has ended: what happened in it again is told with how often.
    pub fn ended(&mut self, time: Time, unit: &str) {
        self.sum_up_if(time, |repeating| repeating.belongs_to(unit));
    }

    /// Whatever happens from now on is told anew.
    pub fn sum_up_all(&mut self, time: Time) {
        self.sum_up_if(time, |_| true);
    }

    /// Returns what was told since the last call. After [`Backlog::MOST`] that nobody asked for, the oldest are only counted.
    pub fn take(&mut self) -> Vec<Warned> {
        if self.told.is_empty() {
            return Vec::new();
        }
        let (left_out, mut told) = self.told.take();
        if left_out > 0 {
            let time = told.first().map_or(Time::ZERO, |first| first.time);
            let (text, marks) = (warnings_left_out(left_out), WarningMarks::NONE);
            told.insert(0, Warned { time, source: "platform".into(), text, marks });
        }
        told
    }

    /// Returns the number of times that something was wrong, whether or not it was told.
    pub fn reported(&self) -> u64 {
        self.reported
    }

    /// Counts anew; what is to be told stays.
    pub(super) fn restart_count(&mut self) {
        self.reported = 0;
    }

    /// Returns true if something was told that may have happened again since.
    pub fn may_repeat(&self) -> bool {
        !self.repeating.is_empty()
    }

    fn sum_up_if(&mut self, time: Time, which: impl Fn(&Repeating) -> bool) {
        if self.repeating.is_empty() {
            return;
        }
        let (over, goes_on) = std::mem::take(&mut self.repeating).into_iter().partition(which);
        self.repeating = goes_on;
        let over: Vec<Repeating> = over;
        over.iter().for_each(|repeating| self.sum_up(time, repeating));
    }

    fn sum_up(&mut self, time: Time, repeating: &Repeating) {
        if repeating.count > 1 {
            self.tell(time, &repeating.source, repeating.summary(), WarningMarks::NONE);
        }
    }

    fn tell(&mut self, time: Time, source: &Name, text: String, marks: WarningMarks) {
        self.told.push(Warned { time, source: source.clone(), text, marks });
    }
}

impl Warnings {
    pub(super) fn checkpoint(&mut self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // What is to be told is told by who saves.
        let Warnings { repeating, told: _, reported } = self;
        at.value(repeating)?;
        at.value(reported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: &str = "nvdla.sdp";

    fn burst(client: &str, write: bool, address: u64) -> Warning<'_> {
        Warning::Access { client, write, address, bytes: 64, text: "no memory" }
    }

    fn texts(warnings: &mut Warnings) -> Vec<String> {
        warnings.take().into_iter().map(|warned| warned.text).collect()
    }

    #[test]
    fn what_repeats_is_told_at_once_and_when_its_work_ends() {
        let (mut warnings, port) = (Warnings::default(), Name::from("dbb0"));
        for (cycle, address) in [0x140, 0x100, 0x180].into_iter().enumerate() {
            warnings.add(Time::ns(cycle as u64), &port, &burst("nvdla.sdp_rdma.mrdma", false, address));
        }
        assert_eq!(texts(&mut warnings), ["nvdla.sdp_rdma.mrdma reads 64 bytes at 0x140: no memory"]);
        warnings.ended(Time::ns(5), UNIT);
        let summary = "nvdla.sdp_rdma.mrdma reads 0x100 to 0x1bf in 3 bursts, from 0 s to 2 ns: no memory";
        assert_eq!(texts(&mut warnings), [summary]);
        assert_eq!(warnings.reported(), 3);
        // The next layer's.
        warnings.add(Time::ns(6), &port, &burst("nvdla.sdp_rdma.mrdma", false, 0x100));
        assert_eq!(texts(&mut warnings).len(), 1);
    }

    #[test]
    fn what_happens_once_is_told_once() {
        let (mut warnings, unit) = (Warnings::default(), Name::from(UNIT));
        warnings.add(Time::ZERO, &unit, &Warning::Repeated { cause: "lost", text: "lost: 1" });
        warnings.add(Time::ZERO, &unit, &Warning::Once("refused"));
        warnings.ended(Time::ns(5), UNIT);
        assert_eq!(texts(&mut warnings), ["lost: 1", "refused"]);
    }

    #[test]
    fn marks_are_told_with_their_warning_alone() {
        let (mut warnings, unit) = (Warnings::default(), Name::from(UNIT));
        let marks = WarningMarks { refused: true, lacking: false };
        for warning in [
            Warning::Once("odd"),
            Warning::Marked { marks, text: "refused" },
            Warning::Repeated { cause: "lost", text: "lost: 1" },
        ] {
            warnings.add(Time::ZERO, &unit, &warning);
        }
        let told: Vec<WarningMarks> = warnings.take().iter().map(|warned| warned.marks).collect();
        assert_eq!(told, [WarningMarks::NONE, marks, WarningMarks::NONE]);
    }

    #[test]
    fn the_end_of_another_units_work_ends_nothing() {
        let (mut warnings, port) = (Warnings::default(), Name::from("dbb0"));
        for client in ["nvdla.sdp", "nvdla.sdp", "nvdla.sdpx", "nvdla.sdpx"] {
            warnings.add(Time::ZERO, &port, &burst(client, true, 0));
        }
        warnings.ended(Time::ZERO, "nvdla.pdp");
        assert_eq!(texts(&mut warnings).len(), 2);
        warnings.ended(Time::ZERO, UNIT);
        assert_eq!(texts(&mut warnings).len(), 1);
        warnings.sum_up_all(Time::ZERO);
        assert_eq!(texts(&mut warnings).len(), 1);
    }

    #[test]
    fn directions_and_clients_are_told_apart() {
        let (mut warnings, port) = (Warnings::default(), Name::from("dbb0"));
        for (client, write) in [("a", false), ("a", true), ("b", true), ("a", false), ("b", true)] {
            warnings.add(Time::ZERO, &port, &burst(client, write, 0));
        }
        assert_eq!(texts(&mut warnings).len(), 3);
        warnings.sum_up_all(Time::ZERO);
        assert_eq!(texts(&mut warnings).len(), 2);
    }

    #[test]
    fn a_job_has_all_clients_of_its_ip() {
        let (mut warnings, port) = (Warnings::default(), Name::from("dbb0"));
        (0..2).for_each(|_| warnings.add(Time::ZERO, &port, &burst("ip.filters", false, 0)));
        warnings.ended(Time::ZERO, "ip.job");
        assert_eq!(texts(&mut warnings).len(), 2);
    }

    #[test]
    fn what_nobody_takes_is_bounded_and_what_is_left_out_counted() {
        let (mut warnings, unit) = (Warnings::default(), Name::from(UNIT));
        for number in 0..10_000 {
            let cause = number.to_string();
            warnings.add(Time::ZERO, &unit, &Warning::Repeated { cause: &cause, text: &cause });
        }
        assert_eq!(warnings.repeating.len(), MOST_CAUSES);
        let told = texts(&mut warnings);
        assert_eq!((told.len(), &*told[1]), (4097, "5904"));
        assert_eq!(told[0], "5904 warnings before these left out: nobody asked for them");
        assert_eq!(texts(&mut warnings), Vec::<String>::new());
    }
}
