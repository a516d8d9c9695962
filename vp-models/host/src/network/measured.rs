//! A network run on a platform, once or several times, with figures for each layer: how long, how much, and what bounded it.

use super::cpu::{CpuEstimate, CpuModel};
use super::description::Network;
use super::error::{MeasureError, RunError};
use super::plan::{ConvolutionMethod, Memories, Plan, PlanOptions, Work};
use super::run::{Inference, Runner, Span};
use crate::LocalHost;
use crate::{Activity, Bounds, DriverError, Host, Moved, Statistics};
use vp_core::Time;
use vp_models::activity::MacWork;
use vp_models::memory::dram::DramActivity;
use vp_models::occupancy::WorkCounts;
use vp_models::platform::{Description, Platform};

/// Result of running a network on some frames, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The network's layers, in their order. Together their spans are the whole run.
    pub layers: Vec<LayerFigures>,
    /// Frames that it ran on; all figures are of all of them together.
    pub frames: usize,
    /// Outputs, each frame after frame; all zeros if the platform skips the arithmetic.
    pub outputs: Vec<Vec<i8>>,
    /// Time from the first register write after the first input was there to the last layer's last interrupt.
    pub time: Time,
    /// One cycle of the device.
    pub period: Time,
    /// The platform's counters at the end.
    pub statistics: Statistics,
}

/// The figures of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerFigures {
    /// Name of the layer.
    pub name: String,
    /// Hardware layers that it took, a frame.
    pub steps: usize,
    /// The layer whose hardware layers do this one too, if there is one: then it has no time of its own.
    pub within: Option<String>,
    /// True if it ran when several frames had come so far, once for all of them.
    pub together: bool,
    /// True if the CPU did it, or a part of it: no simulated time passed for that.
    pub is_cpu: bool,
    /// Estimate of what the CPU took for it, if it did some of it: beside the device's time, and of all frames.
    pub cpu: Option<CpuEstimate>,
    /// Time at which its first hardware layer had its turn: when the one before was done.
    pub begin: Time,
    /// Time at which its last hardware layer was done.
    pub end: Time,
    /// Products that it needs: by the direct method, whichever it takes.
    pub macs: u64,
    /// Method of convolution, if it convolved; products are those of all frames.
    pub method: ConvolutionMethod,
    /// Cycles for which these keep the whole MAC array busy, partly filled stripes and groups included.
    pub mac_cycles: u64,
    /// Time that it took.
    pub time: Time,
    /// Parts of its time, by what bounded them; nothing where nobody watched.
    pub bounds: Bounds,
    /// Bytes moved in its time, by memory interface.
    pub moved: Vec<Moved>,
    /// Amounts of work that the units did in its time; nothing where nobody watched.
    pub work: WorkCounts,
    /// Activity of each DRAM in its time, by memory interface; nothing where nobody watched.
    pub drams: Vec<(&'static str, DramActivity)>,
    /// Bytes that BDMA copies into SRAM for it, while layers before it run.
    pub copied: u64,
}

impl LayerFigures {
    /// The time it took.
    pub fn time(&self) -> Time {
        self.time
    }

    /// Products that the array made for it: as many as it needs, or by Winograd's method those of its tiles.
    pub fn products(&self) -> u64 {
        self.method.winograd_products.unwrap_or(self.macs)
    }

    /// Bytes read, and bytes written, at an interface: `dbb0` or `sram0`.
    pub fn bytes_at(&self, port: &str) -> (u64, u64) {
        let moved = self.moved.iter().filter(|moved| moved.port == port);
        moved.fold((0, 0), |(read, written), moved| (read + moved.read, written + moved.written))
    }

    /// Bytes read, and bytes written, at all interfaces.
    pub fn bytes(&self) -> (u64, u64) {
        self.moved.iter().fold((0, 0), |(read, written), moved| (read + moved.read, written + moved.written))
    }
}

impl Measured {
    /// Plans a network for a platform, builds that, and runs the network on it once.
    ///
    /// # Errors
    /// When the platform cannot be built, or has no room for the network, or does not run it to its end.
    pub fn of(network: &Network, description: &Description, input: &[i8]) -> Result<Measured, MeasureError> {
        Measured::batched(network, description, &[input], 1)
    }

    /// Measures as [`Measured::of`] does, for inputs of which so many run at once.
    ///
    /// # Errors
    /// As [`Measured::of`], and when the hardware does not take so many.
    pub fn batched(
        network: &Network,
        description: &Description,
        inputs: &[&[i8]],
        frames: u32,
    ) -> Result<Measured, MeasureError> {
        Measured::with(network, description, inputs, &PlanOptions { frames, ..PlanOptions::default() })
    }

    /// Measures as [`Measured::batched`] does, planned as these options say.
    ///
    /// # Errors
    /// As [`Measured::batched`], and when what is to be in SRAM cannot be there.
    pub fn with(
        network: &Network,
        description: &Description,
        inputs: &[&[i8]],
        options: &PlanOptions,
    ) -> Result<Measured, MeasureError> {
        let nvdla = description.nvdla().ok_or(MeasureError::NoNvdla)?;
        let plan = Plan::with(network, &nvdla.config, &Memories::of(description), options)?;
        let mut host = LocalHost::new(Platform::build(description)?);
        host.watch();
        Ok(Measured::on(network, &plan, &mut host, description.period, inputs, || ())?)
    }

    /// Runs a network as it is planned, on one input after the other. Without a host that is watched there is neither what
    /// bounded nor what was moved. `done` is told of each frame that has come out.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn on(
        network: &Network,
        plan: &Plan,
        host: &mut dyn Host,
        period: Time,
        inputs: &[&[i8]],
        mut done: impl FnMut(),
    ) -> Result<Measured, RunError> {
        let mut inferences = Vec::with_capacity(inputs.len());
        let mut runner = Runner::new(plan, &mut *host)?;
        runner.run(inputs, |_, inference| {
            inferences.push(inference);
            done();
        })?;
        let of_counters = |error| DriverError::Host { place: "the platform's counters".to_owned(), error };
        let statistics = host.statistics().map_err(of_counters)?;
        let frames = inputs.len();
        let mut layers = planned(network, plan, frames);
        let started = inferences.first().map_or(Time::ZERO, |inference| inference.started);
        let mut last = started;
        for Inference { started, steps, .. } in &inferences {
            last = add_frame(&mut layers, plan, *started, steps);
        }
        for layer in &mut layers {
            let (products, cycles) = (layer.products(), layer.mac_cycles);
            let capacity = cycles * plan.macs_a_cycle;
            layer.bounds.part_idle_macs(MacWork { products, capacity, cycles, period });
        }
        for (at, within) in plan.within.iter().enumerate() {
            if let Some(within) = within {
                let LayerFigures { begin, end, name, .. } = &layers[*within];
                let (begin, end, name) = (*begin, *end, name.clone());
                (layers[at].begin, layers[at].end, layers[at].within) = (begin, end, Some(name));
            }
        }
        for layer in layers.iter_mut().filter(|layer| layer.begin == Time::MAX) {
            layer.begin = layer.end;
        }
        let mut outputs = vec![Vec::new(); plan.outputs.len()];
        for Inference { outputs: of_frame, .. } in inferences {
            outputs.iter_mut().zip(of_frame).for_each(|(all, one)| all.extend(one));
        }
        let mut measured = Measured { layers, frames, outputs, time: last - started, period, statistics };
        measured.estimate_cpu(plan, &CpuModel::default());
        Ok(measured)
    }

    /// Estimates anew what the CPU took, for another one.
    pub fn estimate_cpu(&mut self, plan: &Plan, model: &CpuModel) {
        let runs = self.frames.div_ceil(plan.frames.max(1)) as u64;
        let works = plan.cpu_works();
        for (layer, work) in self.layers.iter_mut().zip(works) {
            layer.cpu = work.map(|work| model.estimate(work.times(runs)));
        }
    }

    /// Estimated time of the CPU; none where it does nothing.
    pub fn cpu_time(&self) -> Option<Time> {
        let times = self.layers.iter().filter_map(|layer| layer.cpu.map(|cpu| cpu.time));
        times.reduce(|sum, time| sum + time)
    }

    /// Returns the parts of the whole time, by what bounded them.
    pub fn bounds(&self) -> Bounds {
        self.layers.iter().fold(Bounds::default(), |mut sum, layer| {
            sum += layer.bounds;
            sum
        })
    }

    /// Cycles of the whole run.
    pub fn cycles(&self) -> u64 {
        self.time.cycles(self.period)
    }
}

/// Returns the figures of layers that are known before they run.
fn planned(network: &Network, plan: &Plan, frames: usize) -> Vec<LayerFigures> {
    let mut layers: Vec<LayerFigures> = network
        .layers
        .iter()
        .zip(&plan.together)
        .map(|(layer, &together)| LayerFigures {
            together,
            name: layer.name.clone(),
            steps: 0,
            within: None,
            is_cpu: false,
            cpu: None,
            begin: Time::MAX,
            end: Time::ZERO,
            macs: layer.macs() * frames as u64,
            method: ConvolutionMethod::default(),
            mac_cycles: 0,
            time: Time::ZERO,
            bounds: Bounds::default(),
            moved: Vec::new(),
            work: WorkCounts::default(),
            drams: Vec::new(),
            copied: 0,
        })
        .collect();
    for step in &plan.steps {
        match step.work {
            Work::Hardware { .. } => layers[step.layer].steps += 1,
            Work::Copy { bytes, .. } => layers[step.layer].copied += bytes,
            Work::Cpu { .. } => layers[step.layer].is_cpu = true,
        }
    }
    // As often as the plan is run.
    let runs = frames.div_ceil(plan.frames) as u64;
    layers.iter_mut().for_each(|layer| layer.copied *= runs);
    // A frame's share of those that a plan of several has.
    layers.iter_mut().for_each(|layer| layer.steps = layer.steps.div_ceil(plan.frames));
    layers
}

/// Adds what the steps of a frame took, in the order in which they were done; tells when the last one was.
fn add_frame(layers: &mut [LayerFigures], plan: &Plan, started: Time, steps: &[Span]) -> Time {
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|&at| steps[at].done);
    let mut from = started;
    // Copies are made while layers run.
    for at in order.into_iter().filter(|&at| plan.steps[at].copied().is_none()) {
        let (step, span) = (&plan.steps[at], &steps[at]);
        let layer = &mut layers[step.layer];
        let (begin, until) = match &span.activity {
            Some(Activity { from, until, bounds, moved, work, drams }) => {
                layer.bounds += *bounds;
                add(&mut layer.moved, moved);
                for (port, activity) in drams {
                    match layer.drams.iter_mut().find(|(known, _)| known == port) {
                        Some((_, sum)) => *sum += *activity,
                        None => layer.drams.push((port, *activity)),
                    }
                }
                layer.work.iter_mut().zip(work).for_each(|(sum, done)| *sum += done);
                (*from, *until)
            }
            None => (from, span.taken),
        };
        layer.begin = layer.begin.min(begin);
        layer.end = layer.end.max(until);
        layer.mac_cycles += step.mac_cycles;
        layer.method += step.method;
        layer.time += until - begin;
        from = until;
    }
    from
}

fn add(sums: &mut Vec<Moved>, moved: &[Moved]) {
    for one in moved {
        match sums.iter_mut().find(|sum| sum.port == one.port) {
            Some(sum) => (sum.read, sum.written) = (sum.read + one.read, sum.written + one.written),
            None => sums.push(*one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bound;
    use crate::network::{Options, digits, example_input};
    use vp_models::memory::dram::{Background, CommandKind};
    use vp_models::platform::Arithmetic;

    fn digits_on(change: impl Fn(&mut Description)) -> Measured {
        let mut description = Description::named("nv_small").unwrap();
        change(&mut description);
        Measured::of(&digits::network(), &description, &digits::samples()[0].pixels).unwrap()
    }

    #[test]
    fn layers_share_the_whole_time_and_all_that_is_moved() {
        let measured = digits_on(|_| {});
        let times = measured.layers.iter().fold(Time::ZERO, |sum, layer| sum + layer.time());
        assert_eq!((times, measured.bounds().total()), (measured.time, measured.time));
        for (direction, bytes) in [("read", 0), ("write", 1)] {
            let moved: u64 = measured.layers.iter().map(|layer| <[u64; 2]>::from(layer.bytes())[bytes]).sum();
            assert_eq!(measured.statistics.get(&format!("dbb0.{direction}.bytes")), Some(moved));
        }
    }

    #[test]
    fn layers_share_all_that_a_dram_did() {
        let measured = digits_on(|description| {
            *description = description.with(["dbb0.dram.standard=DDR4-2400R"]).unwrap();
        });
        let mut whole = DramActivity::default();
        measured.layers.iter().flat_map(|layer| &layer.drams).for_each(|(_, activity)| whole += *activity);
        for kind in [CommandKind::Activate, CommandKind::Read, CommandKind::Write] {
            let counted = measured.statistics.get(&format!("dbb0.dram0.command.{}", kind.name()));
            assert_eq!(Some(whole.commands(kind)), counted, "{kind:?}");
        }
        let times = Background::ALL.map(|background| whole.background(background));
        assert_eq!(times.into_iter().fold(Time::ZERO, |sum, time| sum + time), measured.time);
    }

    #[test]
    fn frames_follow_each_other_and_their_figures_are_sums() {
        let description = Description::named("nv_small").unwrap();
        let network = digits::network();
        let plan =
            Plan::new(&network, &description.nvdla().unwrap().config, description.dbb0.range()).unwrap();
        let samples = digits::samples();
        let run = |inputs: &[&[i8]]| {
            let mut host = LocalHost::new(Platform::build(&description).unwrap());
            host.watch();
            Measured::on(&network, &plan, &mut host, description.period, inputs, || ()).unwrap()
        };
        let each: Vec<Measured> = samples[..2].iter().map(|sample| run(&[&sample.pixels])).collect();
        let both = run(&[&samples[0].pixels, &samples[1].pixels]);
        assert_eq!((each[0].frames, both.frames), (1, 2));
        assert_eq!(both.outputs[0], [each[0].outputs[0].clone(), each[1].outputs[0].clone()].concat());
        let times = both.layers.iter().fold(Time::ZERO, |sum, layer| sum + layer.time());
        assert_eq!(times, both.time);
        for (layer, one) in both.layers.iter().zip(&each[0].layers) {
            let [twice, once] = [layer, one].map(|it| (it.macs, it.mac_cycles, it.bytes()));
            assert_eq!(twice, (2 * once.0, 2 * once.1, (2 * once.2.0, 2 * once.2.1)));
            assert_eq!(layer.steps, one.steps);
        }
    }

    #[test]
    fn frames_at_once_make_what_they_make_one_by_one_and_share_their_weights() {
        let network = Network::named("lenet", &Options::default()).unwrap().unwrap();
        let description = Description::named("nv_large").unwrap();
        let inputs: Vec<Vec<i8>> = (1..=5).map(|seed| example_input(network.input, seed)).collect();
        let inputs: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
        let run = |frames: u32| {
            let config = &description.nvdla().unwrap().config;
            let plan = Plan::batched(&network, config, description.dbb0.range(), frames).unwrap();
            let mut host = LocalHost::new(Platform::build(&description).unwrap());
            host.watch();
            Measured::on(&network, &plan, &mut host, description.period, &inputs, || ()).unwrap()
        };
        let one = run(1);
        // The last plan has one frame of zeros, or all of them.
        for frames in [2, 5, 6, 16] {
            let many = run(frames);
            assert_eq!((many.frames, &many.outputs), (5, &one.outputs), "{frames} at once");
            let read = |measured: &Measured| {
                measured.layers.iter().find(|layer| layer.name == "fc1").unwrap().bytes().0
            };
            assert!(read(&many) < read(&one) * 2 / 3, "{frames} at once: {} of {}", read(&many), read(&one));
        }
    }

    /// Merged rows of an image share the lanes, and more than that do not fit.
    #[test]
    fn no_image_is_multiplied_faster_than_the_array_can() {
        for (platform, size, stride) in [
            ("nv_large", 3, 1),
            ("nv_large", 7, 2),
            ("nv_large", 11, 4),
            ("nv_large", 3, 8),
            ("nv_small", 3, 2),
            ("nv_small", 5, 1),
        ] {
            let text = format!(
                "name = 'first'\nseed = 1\ninput = {{ width = 67, height = 67, channels = 3, image = true }}\n\
                 [[layer]]\nname = 'conv'\nkind = 'convolution'\nkernels = 96\nkernel = [{size}, {size}]\n\
                 stride = [{stride}, {stride}]"
            );
            let network = Network::parse(&text, &mut |_| Err("none".to_owned())).unwrap();
            let mut description = Description::named(platform).unwrap();
            description.arithmetic = Arithmetic::Skipped;
            let input = vec![0; network.input.elements()];
            let measured = Measured::of(&network, &description, &input).unwrap();
            let (layer, cycles) = (&measured.layers[0], measured.cycles());
            assert!(layer.mac_cycles <= cycles, "{platform} {size}: {} in {cycles}", layer.mac_cycles);
        }
    }

    /// Returns the bound of the last of some layers on nv_large, with memory that nobody waits for.
    fn bound_on_large(input: &str, layers: &str) -> (Bound, LayerFigures) {
        let text = format!("name = 'few'\nseed = 1\ninput = {{ {input} }}\n{layers}");
        let network = Network::parse(&text, &mut |_| Err("none".to_owned())).unwrap();
        let mut description = Description::named("nv_large").unwrap();
        description.arithmetic = Arithmetic::Skipped;
        description.dbb0.read_latency = Some(vp_models::bus::axi::Latency::Fixed(1));
        let input = vec![0; network.input.elements()];
        let measured = Measured::of(&network, &description, &input).unwrap();
        let layer = measured.layers.last().unwrap().clone();
        assert_eq!((layer.bounds.total(), layer.time()), (layer.time, layer.time));
        (layer.bounds.largest(), layer)
    }

    #[test]
    fn the_unit_that_sets_the_pace_bounds_a_layer() {
        let convolution = |kernels: u32, size: u32| {
            format!(
                "[[layer]]\nname = 'conv'\nkind = 'convolution'\nkernels = {kernels}\nkernel = [{size}, {size}]\n"
            )
        };
        // A product for each sum: the array makes 32 sums a cycle, and SDP takes 16.
        let (bound, layer) = bound_on_large("width = 56, height = 56, channels = 64", &convolution(256, 1));
        assert_eq!(bound, Bound::Sdp);
        let busy = layer.mac_cycles as f64 / layer.time().cycles(Time::ns(1)) as f64;
        let parts = layer.bounds;
        assert!(busy < 0.4 && parts[Bound::Sdp] > (parts[Bound::MacArray] + parts[Bound::IdleMacs]) * 4);
        // Eighteen cycles for each sum of 1152.
        let (bound, layer) = bound_on_large("width = 28, height = 28, channels = 128", &convolution(128, 3));
        let [idle, used] = [Bound::IdleMacs, Bound::MacArray].map(|bound| layer.bounds[bound]);
        // While the pipeline fills nothing is multiplied.
        assert!(bound == Bound::MacArray && idle * 1000 < used, "{idle} {used}");
        // Sixteen channels in lanes of 64.
        let (bound, layer) = bound_on_large("width = 28, height = 28, channels = 16", &convolution(32, 5));
        assert_eq!(bound, Bound::IdleMacs);
        let [idle, used] = [Bound::IdleMacs, Bound::MacArray].map(|bound| layer.bounds[bound].as_ps() as f64);
        assert!((2.0..3.05).contains(&(idle / used)), "{idle} {used}");
        // Half of the kernels that it takes at once, by Winograd's method: of its products, which are fewer than the layer's, half are made.
        let winograd = format!("winograd = 'always'\n{}", convolution(16, 3));
        let (_, layer) = bound_on_large("width = 30, height = 30, channels = 64", &winograd);
        let [idle, used] = [Bound::IdleMacs, Bound::MacArray].map(|bound| layer.bounds[bound].as_ps() as f64);
        assert!((1.0..1.2).contains(&(idle / used)), "{idle} {used}");
    }

    #[test]
    fn poolings_and_normalisations_are_bound_by_their_units() {
        let pooling = "[[layer]]\nname = 'pool'\nkind = 'pooling'\nmethod = 'max'\nkernel = [2, 2]\n";
        assert_eq!(bound_on_large("width = 56, height = 56, channels = 64", pooling).0, Bound::Pdp);
        let normalisation = "[[layer]]\nname = 'norm'\nkind = 'normalisation'\nchannels = 5\nalpha = 0.0005\nbeta = 0.75\nk = 2.0\nscale = 0.5\n";
        assert_eq!(bound_on_large("width = 28, height = 28, channels = 64", normalisation).0, Bound::Cdp);
    }

    #[test]
    fn a_slow_memory_bounds_by_its_latency() {
        let slow = digits_on(|description| {
            description.dbb0.read_latency = Some(vp_models::bus::axi::Latency::Fixed(2000));
            description.dbb0.read_outstanding = 1;
        });
        assert_eq!(slow.bounds().largest(), Bound::ReadLatency);
        let narrow = digits_on(|description| description.dbb0.bandwidth = Some(10_000_000));
        assert_eq!(narrow.layers[1].bounds.largest(), Bound::ReadBandwidth);
    }

    #[test]
    fn without_arithmetic_all_happens_when_it_does_otherwise() {
        let computed = digits_on(|_| {});
        let skipped = digits_on(|description| description.arithmetic = Arithmetic::Skipped);
        assert_eq!(computed.layers, skipped.layers);
        assert_eq!(computed.statistics.text("events.hash"), skipped.statistics.text("events.hash"));
        assert!(computed.outputs[0].iter().any(|score| *score != 0));
        assert!(skipped.outputs[0].iter().all(|score| *score == 0));
    }
}
