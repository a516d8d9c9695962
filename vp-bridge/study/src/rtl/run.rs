//! A row's trace on the model, under the row's memory.

use super::log::Requests;
use super::table::{Row, SecondTraffic, Traffic};
use std::cell::RefCell;
use std::rc::Rc;
use vp_core::observe::{Observation, Observer, Stage, What};
use vp_core::{Sim, Time};
use vp_host::Host as _;
use vp_host::LocalHost;
use vp_host::trace::Trace;
use vp_host::trace::player::{self, FailureKind, PlayOptions};
use vp_models::platform::{Description, Platform};

/// Run of a trace on the model. Cycles count from the first enable.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// To the last interrupt.
    pub cycles: u64,
    /// To the first read address.
    pub first_read: Option<u64>,
    /// To the last acknowledgement of a write.
    pub last_write: Option<u64>,
    /// Layers of each unit, with the cycles at which they began and ended.
    pub spans: Vec<Span>,
    /// Traffic over the primary interface.
    pub traffic: Traffic,
    /// Traffic over the secondary interface.
    pub second: SecondTraffic,
    /// Each channel's requests.
    pub requests: Requests,
    /// True if memory holds what the trace expects.
    pub right: bool,
}

/// A layer of one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The unit, such as `sdp`.
    pub unit: String,
    /// First cycle of the layer.
    pub begin: u64,
    /// Last cycle of the layer; none if it did not end.
    pub end: Option<u64>,
}

/// Plays a trace on a platform fresh from reset.
///
/// # Errors
/// Why there is nothing to compare: the trace could not be played, or not to its end.
pub fn run(trace: &Trace, description: &Description) -> Result<Run, String> {
    let platform = Platform::build(description).map_err(|error| error.to_string())?;
    let mut host = LocalHost::new(platform);
    let config = &description.nvdla().ok_or("the platform carries no NVDLA")?.config;
    let beats = [config.primary().width_bytes, config.secondary().map_or(1, |it| it.width_bytes)];
    let seen = Rc::new(RunObserver { sim: host.platform().sim(), beats, kept: RefCell::default() });
    host.platform().sim().observe(seen.clone());
    let map = host.map();
    let outcome =
        player::play(trace, &mut host, &map, &PlayOptions::default()).map_err(|error| error.to_string())?;
    let of_memory = |kind: &FailureKind| matches!(kind, FailureKind::Crc { .. });
    if let Some(failure) = outcome.failures.iter().find(|failure| !of_memory(&failure.kind)) {
        return Err(failure.to_string());
    }
    let statistics = host.statistics().map_err(|error| error.to_string())?;
    let get = |name: &str| statistics.get(name).ok_or_else(|| format!("no layer ran: no {name}"));
    let (enabled, period, cycles) =
        (Time::ps(get("nvdla.enabled")?), Time::ps(get("period")?), get("nvdla.cycles")?);
    let after = |time: Time| if time > enabled { (time - enabled).cycles(period) } else { 0 };
    let kept = seen.kept.take();
    let span = |layer: Layer| Span { unit: layer.unit, begin: after(layer.begin), end: layer.end.map(after) };
    Ok(Run {
        cycles,
        first_read: kept.first_read.map(after),
        last_write: kept.last_write.map(after),
        spans: kept.layers.into_iter().map(span).collect(),
        traffic: Traffic::counted(&statistics),
        second: SecondTraffic::counted(&statistics),
        requests: kept.requests,
        right: outcome.passed(),
    })
}

impl Run {
    /// Model less RTL, in cycles.
    #[must_use]
    pub fn off(&self, row: &Row) -> i64 {
        self.cycles as i64 - row.cycles as i64
    }

    /// Figures in which the traffic differs from the RTL's. Bursts and bytes must be equal; the most reads and writes outstanding
    /// may differ by a tenth.
    #[must_use]
    pub fn traffic_differences(&self, row: &Row) -> Vec<String> {
        let (ours, theirs) = (&self.traffic, &row.traffic);
        let mut wrong = Vec::new();
        let mut exact = |what: &str, ours: String, theirs: String| {
            if ours != theirs {
                wrong.push(format!("{what}: {ours}, the RTL {theirs}"));
            }
        };
        exact("read bursts by id", format!("{:?}", ours.reads), format!("{:?}", theirs.reads));
        exact("write bursts by id", format!("{:?}", ours.writes), format!("{:?}", theirs.writes));
        exact("bytes read", ours.read_bytes.to_string(), theirs.read_bytes.to_string());
        exact("bytes written", ours.write_bytes.to_string(), theirs.write_bytes.to_string());
        let mut most = vec![
            ("most reads outstanding", ours.most_reads, theirs.most_reads),
            ("most writes outstanding", ours.most_writes, theirs.most_writes),
        ];
        if let Some(theirs) = row.second {
            let most_reads = |it: SecondTraffic| SecondTraffic { most_reads: 0, ..it };
            let (ours, theirs_rest) = (most_reads(self.second), most_reads(theirs));
            exact("secondary interface", format!("{ours:?}"), format!("{theirs_rest:?}"));
            most.push(("most reads outstanding there", self.second.most_reads, theirs.most_reads));
        }
        // A tenth of few is less than one, and one more or less is a matter of a cycle.
        let far = |ours: u64, theirs: u64| ours.abs_diff(theirs) > (theirs / 10).max(1);
        let most = most.into_iter().filter(|(_, ours, theirs)| far(*ours, *theirs));
        wrong.extend(most.map(|(what, ours, theirs)| format!("{what}: {ours}, the RTL {theirs}")));
        wrong
    }
}

/// An observer that keeps what [`Run`] tells.
struct RunObserver {
    sim: Sim,
    /// Bytes of a beat on the primary and on the secondary interface: what a request's address and length are on the pins,
    /// where strobes tell the rest.
    beats: [u32; 2],
    kept: RefCell<ObservedRun>,
}

#[derive(Default)]
struct ObservedRun {
    requests: Requests,
    first_read: Option<Time>,
    last_write: Option<Time>,
    layers: Vec<Layer>,
}

/// A layer of the unit that reports as `source`, in one of its register groups.
struct Layer {
    source: usize,
    group: u64,
    unit: String,
    begin: Time,
    end: Option<Time>,
}

impl Observer for RunObserver {
    fn observe(&self, observation: &Observation<'_>) {
        let &Observation { time, source, what, .. } = observation;
        let mut kept = self.kept.borrow_mut();
        match what {
            What::Transfer(transfer) if transfer.stage == Stage::Request => {
                let second = &*self.sim.source_name(source) != "dbb0";
                let port = if second { "sram0" } else { "dbb0" };
                let request = whole_beats(transfer.address, transfer.bytes, self.beats[usize::from(second)]);
                let channel = (port, transfer.write, transfer.id);
                kept.requests.entry(channel).or_default().push(request);
                if !transfer.write {
                    kept.first_read.get_or_insert(time);
                }
            }
            What::Transfer(transfer) if transfer.write && transfer.stage == Stage::Response => {
                kept.last_write = Some(time);
            }
            What::Begin { id, .. } => {
                let name = self.sim.source_name(source);
                let unit = name.rsplit('.').next().unwrap_or_default().to_owned();
                kept.layers.push(Layer { source: source.index(), group: id, unit, begin: time, end: None });
            }
            What::End { id, .. } => {
                let open = kept.layers.iter_mut().rev();
                let mut open = open.filter(|layer| (layer.source, layer.group) == (source.index(), id));
                if let Some(layer) = open.next() {
                    layer.end = Some(time);
                }
            }
            _ => {}
        }
    }
}

/// The beats that some bytes lie in: their address and length.
fn whole_beats(address: u64, bytes: u32, beat: u32) -> (u64, u32) {
    let wide = u64::from(beat.max(1));
    let start = address / wide * wide;
    let end = (address + u64::from(bytes)).next_multiple_of(wide);
    (start, (end - start) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_of_a_beat_is_on_the_pins_as_the_whole() {
        assert_eq!(whole_beats(0xe0, 32, 64), (0xc0, 64));
        assert_eq!(whole_beats(0xc0, 64, 64), (0xc0, 64));
        assert_eq!(whole_beats(0xe0, 64, 64), (0xc0, 128));
    }
}
