//! Timelines of a real run, decoded and held to what the run itself says.

#![allow(clippy::print_stderr, reason = "what is skipped is said")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{self, Ran, run};
use prost::Message as _;
use vp_core::observe::Stage;
use vp_host::Bound;
use vp_models::nvdla::registers::RegisterMap;
use vp_observers::perfetto::{Data, EventType, Trace, TrackDescriptor, TrackEvent};
use vp_observers::{Files, LayerNames};

/// A slice: its track, name and times in ns, the arrows at it, and the numbers beside its end.
#[derive(Debug, Clone, Default)]
struct Slice {
    track: u64,
    name: String,
    from: u64,
    until: u64,
    flows: Vec<u64>,
    numbers: BTreeMap<String, u64>,
}

/// Contents of a timeline's file.
struct Timeline {
    tracks: BTreeMap<u64, TrackDescriptor>,
    slices: Vec<Slice>,
    instants: Vec<(u64, u64, TrackEvent)>,
    counts: BTreeMap<u64, Vec<(u64, i64)>>,
}

impl Timeline {
    fn read(path: &Path) -> Timeline {
        let trace = Trace::decode(std::fs::read(path).unwrap().as_slice()).unwrap();
        let mut timeline = Timeline {
            tracks: BTreeMap::new(),
            slices: Vec::new(),
            instants: Vec::new(),
            counts: BTreeMap::new(),
        };
        let mut open = BTreeMap::<u64, Slice>::new();
        let mut last = 0;
        for packet in trace.packet {
            let time = packet.timestamp.unwrap_or(0);
            let event = match packet.data.unwrap() {
                Data::TrackDescriptor(track) => {
                    drop(timeline.tracks.insert(track.uuid.unwrap(), track));
                    continue;
                }
                Data::TrackEvent(event) => event,
            };
            assert!(time >= last, "in the order of time");
            last = time;
            let track = event.track_uuid.unwrap();
            assert!(timeline.tracks.contains_key(&track), "a track is described before it is used");
            match EventType::try_from(event.r#type.unwrap()).unwrap() {
                EventType::SliceBegin => {
                    let (name, flows) = (event.name.unwrap(), event.flow_ids);
                    let slice = Slice { track, name, from: time, flows, ..Slice::default() };
                    assert!(open.insert(track, slice).is_none(), "slices of one track do not overlap");
                }
                EventType::SliceEnd => {
                    let slice = open.remove(&track).expect("a slice has begun");
                    let number = |it: &vp_observers::perfetto::DebugAnnotation| {
                        Some((it.name.clone()?, it.uint_value?))
                    };
                    let numbers = event.debug_annotations.iter().filter_map(number).collect();
                    timeline.slices.push(Slice { until: time, numbers, ..slice });
                }
                EventType::Instant => timeline.instants.push((time, track, event)),
                EventType::Counter => {
                    timeline.counts.entry(track).or_default().push((time, event.counter_value.unwrap()));
                }
                EventType::Unspecified => panic!("an event of no kind"),
            }
        }
        assert!(open.is_empty(), "all slices end: {open:?}");
        timeline
    }

    /// The tracks of a name, below one of another name.
    fn named(&self, parent: &str, name: &str) -> Vec<u64> {
        let is = |track: &&TrackDescriptor| {
            let above = track.parent_uuid.and_then(|parent| self.tracks.get(&parent));
            track.name.as_deref() == Some(name)
                && above.and_then(|above| above.name.as_deref()) == Some(parent)
        };
        self.tracks.values().filter(is).map(|track| track.uuid.unwrap()).collect()
    }

    fn slices_on(&self, tracks: &[u64]) -> Vec<&Slice> {
        self.slices.iter().filter(|slice| tracks.contains(&slice.track)).collect()
    }

    fn counts(&self, parent: &str, name: &str) -> &[(u64, i64)] {
        let tracks = self.named(parent, name);
        assert_eq!(tracks.len(), 1, "{name}");
        self.counts.get(&tracks[0]).map_or(&[], Vec::as_slice)
    }
}

fn ran(folder: &Path) -> (Ran, PathBuf) {
    let path = folder.join("run.perfetto");
    let layers = LayerNames::of(&common::plan());
    let ran = run(&Files { timeline: Some(path.clone()), layers, ..Files::default() });
    assert!(ran.finished.errors.is_empty() && ran.finished.notes.is_empty(), "{:?}", ran.finished);
    (ran, path)
}

/// Returns the time during which any of some slices lasted.
fn together(mut slices: Vec<&Slice>) -> u64 {
    slices.sort_by_key(|slice| slice.from);
    let mut end = 0;
    slices.iter().fold(0, |sum, slice| {
        let from = slice.from.max(end);
        end = end.max(slice.until);
        sum + slice.until.saturating_sub(from)
    })
}

#[test]
fn slices_are_the_layers_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let (ran, path) = ran(folder.path());
    let timeline = Timeline::read(&path);
    let mut layers = 0;
    for track in timeline.named("nv_small", "units") {
        let units = timeline.tracks.values().filter(|below| below.parent_uuid == Some(track));
        let names: std::collections::BTreeSet<&str> = units.filter_map(|unit| unit.name.as_deref()).collect();
        for unit in names {
            let slices = timeline.slices_on(&timeline.named("units", unit));
            assert_eq!(slices.len() as u64, ran.count(&format!("unit.{unit}.layers")), "{unit}");
            assert_eq!(together(slices.clone()) * 1000, ran.count(&format!("unit.{unit}.busy")), "{unit}");
            layers += slices.len();
        }
    }
    assert!(layers > 12, "{layers}");
    let sdp: Vec<String> =
        timeline.slices_on(&timeline.named("units", "sdp")).iter().map(|slice| slice.name.clone()).collect();
    assert_eq!(sdp, ["conv1", "conv2", "conv3", "fc"]);
}

#[test]
fn interrupts_and_memory_traffic_are_joined_with_their_layers() {
    let folder = tempfile::tempdir().unwrap();
    let (ran, path) = ran(folder.path());
    let timeline = Timeline::read(&path);
    let interrupts = timeline.slices_on(&timeline.named("CPU", "irq0"));
    let rises = ran.seen.levels.borrow().iter().filter(|(_, level)| *level > 0).count();
    assert_eq!(interrupts.len(), rises);
    let from_layers: Vec<u64> = timeline
        .slices
        .iter()
        .filter(|slice| {
            timeline.tracks[&slice.track].parent_uuid == Some(timeline.named("nv_small", "units")[0])
        })
        .flat_map(|slice| slice.flows.clone())
        .collect();
    for interrupt in interrupts {
        assert!(interrupt.flows.iter().any(|flow| from_layers.contains(flow)), "{interrupt:?}");
        let ends =
            |event: &TrackEvent| event.terminating_flow_ids.iter().any(|flow| interrupt.flows.contains(flow));
        let taken = timeline.instants.iter().find(|(_, _, event)| ends(event)).expect("the CPU takes it");
        assert!(taken.0 >= interrupt.from);
    }
    for direction in ["read", "write"] {
        let of = |slice: &&Slice| {
            let name = timeline.tracks[&slice.track].name.clone().unwrap();
            slice.name == "DMA" && name.contains(&format!("{direction}s"))
        };
        let slices: Vec<&Slice> = timeline.slices.iter().filter(of).collect();
        let sum = |what: &str| slices.iter().map(|slice| slice.numbers[what]).sum::<u64>();
        assert_eq!(sum("bytes"), ran.count(&format!("dbb0.{direction}.bytes")));
        assert_eq!(sum("bursts"), ran.count(&format!("dbb0.{direction}.bursts")));
        let joined = slices.iter().filter(|slice| slice.flows.iter().any(|flow| from_layers.contains(flow)));
        assert_eq!(joined.count(), slices.len());
    }
}

#[test]
fn the_cpus_accesses_are_those_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let (ran, path) = ran(folder.path());
    let timeline = Timeline::read(&path);
    let track = timeline.named("CPU", "csb0")[0];
    let instants = timeline.instants.iter().filter(|(_, of, _)| *of == track);
    let shown: Vec<(u64, String, u64)> = instants
        .map(|(time, _, event)| {
            let value =
                event.debug_annotations.iter().find(|it| it.name.as_deref() == Some("value")).unwrap();
            (*time, event.name.clone().unwrap(), value.uint_value.unwrap())
        })
        .collect();
    let accesses = ran.seen.accesses.borrow();
    let expected: Vec<(u64, String, u64)> = accesses
        .iter()
        .map(|&(time, write, address, value)| {
            let register = RegisterMap::Small.at(address).unwrap();
            let name = format!("{} {register}", if write { "write" } else { "read" });
            (time.as_ps() / 1000, name, value.into())
        })
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn counters_are_those_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let (ran, path) = ran(folder.path());
    let timeline = Timeline::read(&path);
    // A window of 1024 cycles of 1 ns.
    let window = 1024.0 * common::description().period.as_ps() as f64 * 1e-12;
    let windows = ran.end.as_ps().div_ceil((window * 1e12) as u64);
    for (direction, write) in [("read", false), ("write", true)] {
        let most = timeline
            .counts("counters", &format!("dbb0 {direction}s outstanding"))
            .iter()
            .map(|it| it.1)
            .max();
        // At one instant bursts end before others begin, or after.
        let counted = ran.count(&format!("dbb0.{direction}.most_outstanding")) as i64;
        assert_eq!(most.unwrap(), counted, "{direction}");
        let values = timeline.counts("counters", &format!("dbb0 {direction}"));
        let mut bytes = 0.0;
        for number in 0..windows {
            let from = (number as f64 * window * 1e9) as u64;
            let value = values.iter().take_while(|(time, _)| *time <= from).last().map_or(0, |it| it.1);
            bytes += value as f64 * window;
        }
        let transfers = ran.seen.transfers.borrow();
        let asked = transfers.iter().filter(|(_, it)| it.stage == Stage::Request && it.write == write);
        let asked: f64 = asked.map(|(_, it)| f64::from(it.bytes)).sum();
        assert!((bytes - asked).abs() <= windows as f64, "{bytes} of {asked} bytes {direction}");
    }
    let buffer = timeline.counts("counters", "nvdla.cbuf.data").iter().map(|it| it.1).max().unwrap();
    assert!((1..=128 << 10).contains(&buffer), "{buffer}");
}

#[test]
fn stalls_are_what_bounded_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let (ran, path) = ran(folder.path());
    let timeline = Timeline::read(&path);
    let counted = timeline.counts("stalls", "stalled, read latency").last().unwrap().1 as u64;
    let read_latency = ran.bounds[Bound::ReadLatency];
    assert!(counted > 100);
    // The run was looked at layer by layer, which cuts what is written at a cut.
    assert!(
        counted.abs_diff(read_latency.cycles(common::description().period)) * 100 <= counted,
        "{counted} {read_latency}"
    );
    let slices = timeline.slices_on(&timeline.named("stalls", "waits for"));
    assert!(!slices.is_empty());
    for reason in ["read latency", "write", "driver"] {
        let shown: u64 =
            slices.iter().filter(|slice| slice.name == reason).map(|it| it.until - it.from).sum();
        let name = format!("stalled, {reason}");
        let counted = timeline.counts("stalls", &name).last().map_or(0, |it| it.1 as u64);
        assert!(shown <= counted, "{reason}: {shown} ns of {counted}");
    }
    assert!(slices.iter().all(|slice| slice.until - slice.from >= 64));
}

/// A Python with Perfetto's classes, if there is one.
fn python() -> Option<&'static str> {
    let has = |python: &&str| {
        let import = "from perfetto.protos.perfetto.trace import perfetto_trace_pb2";
        Command::new(python).args(["-c", import]).output().is_ok_and(|output| output.status.success())
    };
    ["python3", "target/perfetto/bin/python3", "../../target/perfetto/bin/python3"].into_iter().find(has)
}

#[test]
fn perfettos_own_classes_read_it() {
    let Some(python) = python() else {
        eprintln!(
            "skipped: timelines with Perfetto's own classes: no Python with perfetto (pip install perfetto)"
        );
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (_, path) = ran(folder.path());
    let script = "
import sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
trace = Trace()
trace.ParseFromString(open(sys.argv[1], 'rb').read())
assert not trace.FindInitializationErrors()
kinds, tracks, unknown = {}, 0, 0
for packet in trace.packet:
    assert packet.trusted_packet_sequence_id == 1
    tracks += packet.HasField('track_descriptor')
    if packet.HasField('track_event'):
        kind = TrackEvent.Type.Name(packet.track_event.type)
        kinds[kind] = kinds.get(kind, 0) + 1
print(tracks, *[kinds[k] for k in ('TYPE_SLICE_BEGIN', 'TYPE_SLICE_END', 'TYPE_INSTANT', 'TYPE_COUNTER')])
flows = sum(len(p.track_event.flow_ids) for p in trace.packet)
print(flows, len(trace.SerializeToString()))
";
    let output = Command::new(python).args(["-c", script]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let timeline = Timeline::read(&path);
    let counts: usize = timeline.counts.values().map(Vec::len).sum();
    let (tracks, slices, instants) = (timeline.tracks.len(), timeline.slices.len(), timeline.instants.len());
    let flows: usize = timeline.slices.iter().map(|slice| slice.flows.len()).sum();
    let bytes = std::fs::metadata(&path).unwrap().len();
    let expected = format!("{tracks} {slices} {slices} {instants} {counts}\n{flows} {bytes}\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn sql_finds_what_was_written() {
    if Command::new("trace_processor_shell").arg("--version").output().is_err() {
        eprintln!("skipped: timelines with SQL: no trace_processor_shell");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (ran, path) = ran(folder.path());
    let query = folder.path().join("query.sql");
    let sql = "select count(*) from slice join track on slice.track_id = track.id where track.name = 'sdp';";
    std::fs::write(&query, sql).unwrap();
    let output = Command::new("trace_processor_shell").arg("-q").args([&query, &path]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let layers = ran.count("unit.sdp.layers").to_string();
    assert!(text.lines().any(|line| line.trim() == layers), "{text}");
}
