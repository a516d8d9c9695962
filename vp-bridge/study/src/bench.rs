//! Runs points: makes platforms and plans of them, and measures.

use super::energy::is_sram;
use super::file::Study;
use super::measured::{Direction, Histogram, Machine, Measured, MeasuredLayer, Outcome, Port, Timeline};
use super::model;
use super::networks::{self, NetworkFacts, Read};
use super::point::Point;
use super::watch::{Gauge, Latencies, Outstanding};
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use twox_hash::XxHash3_64;
use vp_core::Time;
use vp_host::LocalHost;
use vp_host::network::{self, Inference, Memories, Network, Plan, PlanError, PlanOptions, Runner, Work};
use vp_host::{Bound, Bounds, Host, Memory, Statistics};
use vp_models::activity::MacWork;
use vp_models::bus::axi::Traffic;
use vp_models::nvdla::config::MemoryInterface;
use vp_models::occupancy::BufferFill;
use vp_models::platform::{Description, NvdlaDescription, Platform};

/// A point, ready to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The point.
    pub point: Point,
    /// Everything that its numbers depend on, as a hash.
    pub key: String,
    /// The platform.
    pub description: Description,
    /// The settings that made it of the one that the point names.
    pub settings: Vec<String>,
    /// Options with which the point's network is planned.
    pub options: PlanOptions,
    /// Frames in all: what the study says, or more up to a multiple of these.
    pub frames: u32,
    /// The words of a command line that say which parts of the platform are outside.
    pub outside: Vec<String>,
    /// Facts of the point's network.
    pub network: NetworkFacts,
    /// A hash of everything that its network is made of.
    pub network_identity: u64,
}

/// Workbench that points share: networks, and what has been planned of them.
pub struct Bench {
    folder: PathBuf,
    seed: u64,
    frames: u32,
    limit: Option<Time>,
    plans: Mutex<HashMap<String, Arc<Once<Planned>>>>,
    networks: Mutex<HashMap<String, Arc<Once<Read>>>>,
    outside: Option<Outside>,
}

/// Function that runs on a host, once.
pub type OnHost<'a> = dyn FnMut(&mut dyn Host) -> Result<(), String> + 'a;

/// Opens a platform for the point of that number, and gives it to what is to run on it.
pub type Open = dyn Fn(usize, &Description, &mut OnHost<'_>) -> Result<(), String> + Send + Sync;

/// Parts of each point's platform that are in other programs.
pub struct Outside {
    /// The words of a command line that say which.
    pub words: Vec<String>,
    /// Starts them for a platform, and ends them.
    pub open: Box<Open>,
}

/// Made by the first who asks for it, while others who do wait.
type Once<T> = OnceLock<Result<Arc<T>, String>>;

struct Planned {
    loaded: Arc<Read>,
    plan: Plan,
}

impl Bench {
    /// For the points of this study.
    pub fn new(study: &Study) -> Bench {
        Bench {
            folder: study.folder.clone(),
            seed: study.seed,
            frames: study.frames,
            limit: study.limit,
            plans: Mutex::default(),
            networks: Mutex::default(),
            outside: None,
        }
    }

    /// Has parts of each point's platform in other programs. What goes on inside is not seen then: of ports there are no latencies one by
    /// one, of layers not what bounds them, and nothing over time.
    #[must_use]
    pub fn with_outside(self, outside: Outside) -> Bench {
        Bench { outside: Some(outside), ..self }
    }

    /// Returns true if parts of platforms are in other programs.
    pub fn has_outside(&self) -> bool {
        self.outside.is_some()
    }

    /// Returns what is to be run at a point.
    ///
    /// # Errors
    /// Why it cannot be run.
    pub fn job(&self, point: &Point) -> Result<Job, String> {
        let (description, settings) = point.description(&self.folder, self.seed)?;
        let network = self.network(point, &description)?;
        let (options, limit) = (point.plan_options()?, self.limit);
        let batch = options.frames;
        let most = nvdla(&description)?.config.cubes_at_once();
        if batch > most {
            let (config, frames) = (description.name.clone(), batch);
            return Err(format!("batch = {batch}: {}", PlanError::Batch { config, frames, most }));
        }
        options.check(&nvdla(&description)?.config).map_err(|error| error.to_string())?;
        let frames = self.frames.next_multiple_of(batch);
        let outside = self.outside.as_ref().map_or_else(Vec::new, |outside| outside.words.clone());
        let mut identity =
            format!("{}\n{:016x}\n{frames} {limit:?} {options:?}", description.to_toml(), network.identity);
        if !outside.is_empty() {
            identity += &format!("\n{}", outside.join("\n"));
        }
        let key = format!("{:016x}", XxHash3_64::oneshot(identity.as_bytes()));
        let (point, network_identity) = (point.clone(), network.identity);
        let network = network.facts.clone();
        Ok(Job { point, key, description, settings, options, frames, outside, network, network_identity })
    }

    /// Plans what is to be run, as far as that has not been done.
    ///
    /// # Errors
    /// Why it cannot be run.
    pub fn check(&self, job: &Job) -> Result<(), String> {
        self.plan(job).map(|_| ())
    }

    /// The key of a point that cannot be run: of what it says.
    pub fn key_of_failure(&self, point: &Point) -> String {
        let parameters: Vec<String> = point.all().map(|(name, value)| format!("{name}={value}")).collect();
        format!(
            "{:016x}",
            XxHash3_64::oneshot(format!("{}\n{}", parameters.join("\n"), self.seed).as_bytes())
        )
    }

    /// Runs a point; `closely` keeps what happened over time. A panic of a model is the point's failure.
    pub fn run(&self, job: &Job, closely: bool) -> Outcome {
        let ran = catch_unwind(AssertUnwindSafe(|| self.measure(job, closely)));
        match ran {
            Ok(Ok(measured)) => Outcome::Ran(Box::new(measured)),
            Ok(Err(why)) => Outcome::Failed(why),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason");
                Outcome::Failed(format!("the model gave up: {text}"))
            }
        }
    }

    fn network(&self, point: &Point, description: &Description) -> Result<Arc<Read>, String> {
        let name = point.network()?;
        let settings = point.network_settings();
        if !model::is_one(name) {
            let place = once(&self.networks, format!("{name} {settings:?}"));
            return place.get_or_init(|| networks::load(name, &settings, &self.folder).map(Arc::new)).clone();
        }
        // What becomes of a model's nodes depends on the units that there are.
        let config = &nvdla(description)?.config;
        let place = once(&self.networks, format!("{name} {settings:?} {config:?}"));
        place.get_or_init(|| model::load(name, &settings, &self.folder, config).map(Arc::new)).clone()
    }

    fn plan(&self, job: &Job) -> Result<Arc<Planned>, String> {
        let loaded = self.network(&job.point, &job.description)?;
        let (nvdla, memories) = (nvdla(&job.description)?, Memories::of(&job.description));
        let key = format!("{:016x} {:?} {memories:?} {:?}", loaded.identity, nvdla.config, job.options);
        let place = once(&self.plans, key);
        place
            .get_or_init(|| {
                let plan = Plan::with(&loaded.network, &nvdla.config, &memories, &job.options);
                let plan = plan.map_err(|error| unplanned(&loaded, &error))?;
                Ok(Arc::new(Planned { loaded: loaded.clone(), plan }))
            })
            .clone()
    }

    fn measure(&self, job: &Job, closely: bool) -> Result<Measured, String> {
        let planned = self.plan(job)?;
        let Planned { loaded, plan } = &*planned;
        if let Some(outside) = &self.outside {
            return self.measure_outside(job, &planned, outside);
        }
        let platform = Platform::build(&job.description).map_err(|error| error.to_string())?;
        let watched = Watched::start(&platform, closely);
        let mut host = LocalHost::new(platform);
        host.watch();
        let inferences = self.infer(job, plan, &mut host)?;
        let (start, end) = span(&inferences);
        let layers = layers(&loaded.network, plan, &inferences, &job.description);
        let platform = host.platform();
        Ok(Measured {
            period: job.description.period.as_ps(),
            time: (end - start).as_ps(),
            frames: job.frames,
            macs: layers.iter().map(|layer| layer.macs).sum(),
            event_hash: format!("{:016x}", platform.event_hash()),
            machine: machine(&job.description, plan)?,
            ports: watched.ports(platform),
            sram_bytes: plan.sram_bytes,
            timeline: closely.then(|| watched.timeline(plan, &inferences, start, end)),
            layers,
        })
    }

    /// Runs all frames.
    fn infer(&self, job: &Job, plan: &Plan, host: &mut dyn Host) -> Result<Vec<Inference>, String> {
        if let Some(limit) = self.limit {
            host.set_limit(limit);
        }
        // No time depends on what is in it.
        let input = vec![0; plan.input.host_bytes()];
        let inputs = vec![input.as_slice(); job.frames as usize];
        let mut inferences = Vec::with_capacity(inputs.len());
        Runner::new(plan, host)
            .map_err(|error| error.to_string())?
            .run(&inputs, |_, inference| inferences.push(inference))
            .map_err(|error| error.to_string())?;
        Ok(inferences)
    }

    /// Measures a job on a platform with parts in other programs, by what its counters tell.
    fn measure_outside(&self, job: &Job, planned: &Planned, outside: &Outside) -> Result<Measured, String> {
        let Planned { loaded, plan } = planned;
        let mut measured = None;
        let mut run = |host: &mut dyn Host| {
            let inferences = self.infer(job, plan, host)?;
            let (start, end) = span(&inferences);
            let layers = layers(&loaded.network, plan, &inferences, &job.description);
            let statistics = host.statistics().map_err(|error| error.to_string())?;
            measured = Some(Measured {
                period: job.description.period.as_ps(),
                time: (end - start).as_ps(),
                frames: job.frames,
                macs: layers.iter().map(|layer| layer.macs).sum(),
                event_hash: statistics.text("events.hash").unwrap_or_default().to_owned(),
                machine: machine(&job.description, plan)?,
                ports: ["dbb0", "sram0"].iter().filter_map(|name| counted(name, &statistics)).collect(),
                sram_bytes: plan.sram_bytes,
                timeline: None,
                layers,
            });
            Ok(())
        };
        (outside.open)(job.point.number, &job.description, &mut run)?;
        measured.ok_or_else(|| "nothing was run".to_owned())
    }
}

/// From the first frame's input to where the driver went on behind the last step: not always that ends last.
fn span(inferences: &[Inference]) -> (Time, Time) {
    let start = inferences.first().map_or(Time::ZERO, |inference| inference.started);
    let ends = inferences.iter().flat_map(|inference| &inference.steps).map(|span| span.taken);
    (start, ends.max().unwrap_or(start))
}

/// Returns what went over an interface, by the platform's counters; none if nothing did.
fn counted(name: &str, statistics: &Statistics) -> Option<Port> {
    let direction = |direction: &str| {
        let count = |what: &str| statistics.get(&format!("{name}.{direction}.{what}")).unwrap_or(0);
        Direction {
            bursts: count("bursts"),
            bytes: count("bytes"),
            most_outstanding: count("most_outstanding"),
            latencies: Histogram::default(),
        }
    };
    let (reads, writes) = (direction("read"), direction("write"));
    (reads.bursts + writes.bursts > 0).then(|| Port { name: name.to_owned(), reads, writes })
}

fn once<T>(map: &Mutex<HashMap<String, Arc<Once<T>>>>, key: String) -> Arc<Once<T>> {
    map.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone()
}

/// Returns what the hardware can do at best.
fn machine(description: &Description, plan: &Plan) -> Result<Machine, String> {
    let config = &nvdla(description)?.config;
    let (interface, cycle) = (config.primary(), description.period.as_ps() as f64 / 1e12);
    // As much as the bus carries and the memory gives.
    let rate = |interface: MemoryInterface, bandwidth: Option<u64>| {
        let bus = f64::from(interface.width_bytes);
        bandwidth.map_or(bus, |rate| bus.min(rate as f64 * cycle))
    };
    let sram = config.secondary().filter(|_| plan.sram_bytes > 0);
    Ok(Machine {
        macs: plan.macs_a_cycle,
        data_type: Some(plan.precision.into()),
        read_bytes: rate(interface, description.dbb0.bandwidth),
        sram_read_bytes: sram.map_or(0.0, |sram| rate(sram, description.sram0.bandwidth)),
        burst_bytes: u64::from(interface.width_bytes * interface.max_burst),
        read_outstanding: description.dbb0.read_outstanding.into(),
        buffer_bytes: config.cbuf_bytes().into(),
    })
}

/// Returns the reason for which a network cannot be planned, with the line of its file that asks for it.
fn unplanned(loaded: &Read, error: &PlanError) -> String {
    match (&loaded.file, error.line(&loaded.network)) {
        (Some(file), Some(line)) => format!("{}:{line}: {error}", file.display()),
        _ => error.to_string(),
    }
}

/// The NVDLA that a study is of.
fn nvdla(description: &Description) -> Result<&NvdlaDescription, String> {
    description.nvdla().ok_or_else(|| format!("{} carries no NVDLA", description.name))
}

/// The layers of a network, over all its frames.
fn layers(
    network: &Network,
    plan: &Plan,
    inferences: &[Inference],
    description: &Description,
) -> Vec<MeasuredLayer> {
    let period = description.period;
    let (runs, at_once) = (inferences.len() as u64, plan.frames as u64);
    let layer = |layer: &network::NetworkLayer| MeasuredLayer {
        name: layer.name.clone(),
        macs: layer.macs() * runs * at_once,
        ..MeasuredLayer::default()
    };
    let mut layers: Vec<MeasuredLayer> = network.layers.iter().map(layer).collect();
    for (at, within) in plan.within.iter().enumerate() {
        layers[at].within = within.map(|within| layers[within].name.clone());
    }
    for step in &plan.steps {
        layers[step.layer].parts += u64::from(matches!(step.work, Work::Hardware { .. }));
        layers[step.layer].copied += step.copied().unwrap_or(0) * runs;
        layers[step.layer].mac_cycles += step.mac_cycles * runs;
        layers[step.layer].is_compressed |= step.method.is_compressed;
        if let Some(products) = step.method.winograd_products {
            *layers[step.layer].winograd_products.get_or_insert(0) += products * runs;
        }
    }
    // A frame's share.
    layers.iter_mut().for_each(|layer| layer.parts = layer.parts.div_ceil(at_once));
    for inference in inferences {
        // The time from the end of one step to that of the next one is the next one's. Copies are made while layers run.
        let steps = plan.steps.iter().zip(&inference.steps);
        let mut ends: Vec<_> = steps.filter(|(step, _)| step.copied().is_none()).collect();
        ends.sort_by_key(|(_, span)| span.taken);
        let mut since = inference.started;
        for (step, span) in ends {
            layers[step.layer].time += (span.taken - since).as_ps();
            since = span.taken;
        }
    }
    for (step, span) in inferences.iter().flat_map(|inference| plan.steps.iter().zip(&inference.steps)) {
        let (layer, Some(activity)) = (&mut layers[step.layer], &span.activity) else { continue };
        for (sum, (_, part)) in layer.bounds.iter_mut().zip(activity.bounds.parts()) {
            *sum += part.as_ps();
        }
        layer.work.iter_mut().zip(activity.work).for_each(|(sum, done)| *sum += done);
        for (port, activity) in &activity.drams {
            *layer.drams.entry((*port).to_owned()).or_default() += *activity;
        }
        for moved in &activity.moved {
            (layer.read, layer.written) = (layer.read + moved.read, layer.written + moved.written);
            if moved.port == Memory::Secondary.port() {
                layer.sram_read += moved.read;
                layer.sram_written += moved.written;
            }
            if is_sram(description, moved.port) {
                layer.sram += moved.read + moved.written;
            }
        }
    }
    for layer in &mut layers {
        let (products, cycles) = (layer.products(), layer.mac_cycles);
        let work = MacWork { products, capacity: cycles * plan.macs_a_cycle, cycles, period };
        let times = Bound::ALL.map(|bound| (bound, Time::ps(layer.bounds[bound as usize])));
        let mut bounds = Bounds::from_iter(times);
        bounds.part_idle_macs(work);
        layer.bounds = bounds.parts().map(|(_, time)| time.as_ps());
    }
    layers
}

/// Observations that are made of a run.
struct Watched {
    latencies: Vec<Rc<Latencies>>,
    outstanding: Vec<Rc<Outstanding>>,
    /// Bytes of input and of weights in the convolution buffer.
    buffer: Rc<RefCell<[Gauge; 2]>>,
}

impl Watched {
    fn start(platform: &Platform, closely: bool) -> Watched {
        let (sim, period) = (platform.sim(), platform.description().period);
        let sources = platform.memories().iter().map(|memory| memory.interconnect().source());
        let latencies: Vec<_> =
            sources.clone().map(|source| Rc::new(Latencies::new(source, period))).collect();
        let outstanding: Vec<_> = match closely {
            true => sources.map(|source| Rc::new(Outstanding::new(source, period))).collect(),
            false => Vec::new(),
        };
        for latencies in &latencies {
            sim.observe(latencies.clone());
        }
        for outstanding in &outstanding {
            sim.observe(outstanding.clone());
        }
        let buffer = Rc::new(RefCell::new([Gauge::new(period), Gauge::new(period)]));
        if closely {
            let gauges = buffer.clone();
            platform.on_buffer(move |time, BufferFill { data, weights }| {
                let [of_data, of_weights] = &mut *gauges.borrow_mut();
                of_data.set(time, data);
                of_weights.set(time, weights);
            });
        }
        Watched { latencies, outstanding, buffer }
    }

    /// Returns what went over each interface that was used.
    fn ports(&self, platform: &Platform) -> Vec<Port> {
        let ports = platform.memories().iter().zip(&self.latencies).map(|(memory, latencies)| {
            let [reads, writes] = latencies.histograms();
            let statistics = memory.statistics();
            let direction = |traffic: &Traffic, latencies| Direction {
                bursts: traffic.bursts,
                bytes: traffic.bytes,
                most_outstanding: traffic.most_outstanding(),
                latencies,
            };
            Port {
                name: memory.name().to_owned(),
                reads: direction(&statistics.reads(), reads),
                writes: direction(&statistics.writes(), writes),
            }
        });
        ports.filter(|port| port.reads.bursts + port.writes.bursts > 0).collect()
    }

    fn timeline(&self, plan: &Plan, inferences: &[Inference], start: Time, end: Time) -> Timeline {
        let mut gauges: Vec<(String, Gauge)> = Vec::new();
        for (name, outstanding) in ["dbb0", "sram0"].into_iter().zip(&self.outstanding) {
            let [reads, writes] = outstanding.gauges();
            gauges.push((format!("{name} reads"), reads));
            gauges.push((format!("{name} writes"), writes));
        }
        let [data, weights] = self.buffer.borrow().clone();
        gauges.extend([("buffer data".to_owned(), data), ("buffer weights".to_owned(), weights)]);
        let span = gauges.iter().map(|(_, gauge)| gauge.span_at(end)).max().unwrap_or(1);
        let levels = gauges.into_iter().map(|(name, gauge)| gauge.levels(&name, end, span)).collect();
        let mut layers: Vec<(u64, String)> = Vec::new();
        for (step, at) in inferences.iter().flat_map(|inference| plan.steps.iter().zip(&inference.steps)) {
            if layers.last().is_none_or(|(_, name)| *name != step.name) {
                layers.push((at.enabled.as_ps(), step.name.clone()));
            }
        }
        Timeline { span, start: start.as_ps(), levels, layers }
    }
}
