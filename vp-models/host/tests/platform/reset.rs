//! A reset in the middle of work: what follows goes as on a fresh platform, but for the time at which it begins.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use vp_core::observe::{Observation, Observer, Transfer, What};
use vp_core::{Sim, Time};
use vp_host::LocalHost;
use vp_host::fpga_ai_suite::{Driver, Model};
use vp_host::trace::Trace;
use vp_host::trace::player::{self, PlayOptions};
use vp_host::{Counter, Host};
use vp_models::fpga_ai_suite::Architecture;
use vp_models::fpga_ai_suite::graph::{Converter, Graph, Operation, Shape, Sums, Tensor};
use vp_models::platform::{Description, Platform};

/// The clock of the platforms here.
const CYCLE: Time = Time::ns(1);

/// Work for a device: what comes of it, or why it came to no end.
type Work = fn(&mut LocalHost) -> Result<Vec<i8>, String>;

/// A convolution, SDP and PDP on the fly, judged by what it leaves in memory.
fn layer(host: &mut LocalHost) -> Result<Vec<i8>, String> {
    let name = "conv_sdp_pdp_3x3_prelu_maxpool_12x10x8x16";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/nv_small").join(name);
    let trace = Trace::load(&folder.join(format!("{name}.cfg"))).unwrap();
    let map = host.map();
    let outcome =
        player::play(&trace, host, &map, &PlayOptions::default()).map_err(|error| error.to_string())?;
    match &outcome.failures[..] {
        [] => Ok(Vec::new()),
        failures => Err(failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    }
}

/// Three jobs of one fully connected layer.
fn jobs(host: &mut LocalHost) -> Result<Vec<i8>, String> {
    let filters: Vec<u8> = (0..64 * 32u32).map(|at| (at * 7 % 251) as u8).collect();
    let mut graph = Graph::new(Shape { height: 2, width: 8, channels: 4 }, filters.len() as u32).unwrap();
    let converter = Converter { offset: 0, scale: 1, shift: 9 };
    let sums = Sums { kernels: 32, weights: 0, bias: None, relu: false, converter };
    graph.add(Tensor::Input, Operation::FullyConnected { sums }, None).unwrap();
    let model = Model { name: "small".into(), graph: graph.whole().unwrap(), filters };
    let inputs: Vec<Vec<i8>> =
        (1..4).map(|seed| (0..64).map(|at| (at * 37 + seed * 11) as u8 as i8).collect()).collect();
    let inputs: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
    let architecture = Architecture::default();
    let mut driver = Driver::open(host, &architecture, &model, 0x8000_0000..0x9000_0000)
        .map_err(|error| error.to_string())?;
    let inferred = driver.infer(&inputs).map_err(|error| error.to_string())?;
    assert!(inferred.iter().zip(&inputs).all(|(inference, input)| inference.output == model.infer(input)));
    Ok(inferred.into_iter().flat_map(|inference| inference.output).collect())
}

/// Events that observers are told, from a moment on, by names and by times since then.
struct ObservationLog {
    sim: Sim,
    since: Cell<Time>,
    lines: RefCell<Vec<String>>,
}

impl Observer for ObservationLog {
    fn observe(&self, &Observation { time, source, what, .. }: &Observation<'_>) {
        let (since, source) = (self.since.get(), self.sim.source_name(source));
        let time = time - since;
        let what = match what {
            What::Transfer(transfer) => {
                What::Transfer(Transfer { requested: transfer.requested - since, ..transfer })
            }
            other => other,
        };
        self.lines.borrow_mut().push(format!("{time} {source} {what:?}"));
    }
}

/// A platform with an observer.
fn observed(description: &Description) -> (LocalHost, Rc<ObservationLog>) {
    let host = LocalHost::new(Platform::build(description).unwrap());
    let sim = host.platform().sim();
    let told =
        Rc::new(ObservationLog { sim: sim.clone(), since: Cell::default(), lines: RefCell::default() });
    sim.observe(told.clone());
    host.watch();
    (host, told)
}

/// The counters, but for those that are moments or hashes of them, or count for the whole simulation.
fn counters(host: &mut LocalHost) -> Vec<Counter> {
    let is_moment = |name: &str| {
        ["time", "events.hash", "kernel.activations", "nvdla.enabled", "nvdla.done"].contains(&name)
            || name.starts_with("layer.") && (name.ends_with(".begin") || name.ends_with(".end"))
    };
    let counters = host.statistics().unwrap().counters.into_iter();
    counters.filter(|counter| !is_moment(&counter.name)).collect()
}

/// Does the work once on a fresh platform, and again behind resets in its middle.
fn is_the_same_behind_resets(platform: &str, settings: &[&str], work: Work) {
    let description = Description::named(platform).unwrap().with(settings.iter().copied()).unwrap();
    let (mut fresh, told) = observed(&description);
    let result = work(&mut fresh).unwrap();
    let (whole, expected) = (fresh.now().unwrap(), told.lines.take());
    let (counted, activity) = (counters(&mut fresh), fresh.activity().unwrap());

    let (mut host, told) = observed(&description);
    for part in 1..6 {
        // On a clock edge: those of the platform are counted from the beginning of time.
        let limit = host.now().unwrap() + CYCLE * ((whole / 6).cycles(CYCLE) * part);
        host.set_limit(limit);
        let ended = work(&mut host).unwrap_err();
        assert!(ended.contains("by the limit"), "{ended}");
        host.reset().unwrap();
        host.set_limit(Time::MAX);
        assert!(host.platform().is_quiescent());

        let since = host.now().unwrap();
        told.since.set(since);
        told.lines.take();
        assert_eq!(work(&mut host).unwrap(), result);
        assert_eq!(host.now().unwrap() - since, whole, "{platform} {settings:?}: reset in part {part}");
        assert_eq!(told.lines.take(), expected, "{platform} {settings:?}: reset in part {part}");
        assert_eq!(counters(&mut host), counted);
        let again = host.activity().unwrap();
        assert_eq!((again.bounds, again.moved), (activity.bounds, activity.moved.clone()));
        host.reset().unwrap();
    }
}

#[test]
fn a_layer_of_nvdla_goes_as_on_a_fresh_platform() {
    for settings in [&[][..], &["dbb0.cache.sets=64"], &["dbb0.traffic.cpu.rate=1_000_000_000"]] {
        is_the_same_behind_resets("nv_small", settings, layer);
    }
}

#[test]
fn jobs_of_the_fpga_ai_suite_go_as_on_a_fresh_platform() {
    is_the_same_behind_resets("fpga-ai-suite", &[], jobs);
}

#[test]
fn observers_are_told_that_what_had_begun_is_over() {
    let description = Description::named("fpga-ai-suite").unwrap();
    let (mut host, told) = observed(&description);
    host.set_limit(Time::ns(700));
    jobs(&mut host).unwrap_err();
    let count = |what: &str| told.lines.borrow().iter().filter(|line| line.contains(what)).count();
    let (begun, ended) = (count("Begin {"), count("End {"));
    assert!(begun > ended && !host.platform().is_quiescent(), "{begun} {ended}");
    host.reset().unwrap();
    assert_eq!((count("Begin {"), count("End {")), (begun, begun));
    assert!(host.platform().layers().is_empty());
}
