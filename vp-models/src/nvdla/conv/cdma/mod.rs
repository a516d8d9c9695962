//! CDMA, the convolution DMA: brings input and weights to the convolution buffer, each at its own pace.
//!
//! [`layer`] decodes a register group; [`feature`] and [`image`] (with [`pixel`]) know the two kinds of input: which
//! reads bring it, and what the buffer then holds. Here are the processes that read as far as the buffer has room.

pub mod feature;
pub mod image;
mod intake;
pub mod layer;
pub mod pixel;

use self::intake::{FeatureIntake, ImageIntake, TO_USABLE, Usable, WeightArrival, WeightIntake};
use self::layer::{Input, Layer};
use super::buffer::{Banks, Buffer, Fetch};
use super::hardware::Hardware;
use crate::bus::DelayLine;
use crate::bus::axi::{ReadStream, Taker};
use crate::nvdla::control::Control;
use crate::nvdla::dma::ReadDma;
use crate::nvdla::engine::Surroundings;
use crate::nvdla::float::Specials;
use crate::nvdla::glb::Source;
use crate::nvdla::interrupts::Interrupts;
use crate::nvdla::nocif::read_id;
use crate::nvdla::numeric::Precision;
use crate::nvdla::registers::{Group, RegisterRef, cdma as reg};
use crate::nvdla::timing::Timing;
use std::cell::Cell;
use std::rc::Rc;
use vp_core::{Sim, Time, join};

/// Atoms of one read of weights.
const READ_ATOMS: u32 = 8;

/// Cycles from the start of a layer to the first read of features.
const TO_FEATURES: u32 = 5;

/// The same of an image, and of weights.
const TO_OTHERS: u32 = 2;

/// The engine.
pub(super) struct Cdma {
    sim: Sim,
    cycle: Time,
    timing: Timing,
    hardware: Hardware,
    control: Rc<Control>,
    interrupts: Rc<Interrupts>,
    buffer: Rc<Buffer>,
    data: Rc<ReadDma>,
    weights: Rc<ReadDma>,
    /// Whether a beat of the bus is an atom.
    atom_a_beat: bool,
    /// Bytes of weights that go into the buffer in a cycle: a beat of the bus, and no less than an atom.
    weight_beat: u32,
}

/// What a layer takes over from its predecessor, as CDMA sees it.
#[derive(Clone, Copy)]
struct Before {
    banks: Banks,
    kept_data: bool,
    kept_weights: bool,
    was_image: bool,
}

/// Reads that have been asked for: so many lines, or so many bytes of weights; `None` is the end.
type Asked = DelayLine<Option<u32>>;

/// Counts what the performance and statistics registers show of one client.
#[derive(Default)]
struct Watch {
    /// Elements that are no finite numbers, before they are flushed.
    specials: Cell<Specials>,
    /// Cycles in which a read could not be made.
    stalled: Cell<u64>,
    /// Cycles in which reads were outstanding.
    waited: Cell<u64>,
}

impl Watch {
    fn count(&self, specials: Specials) {
        let mut all = self.specials.get();
        all += specials;
        self.specials.set(all);
    }
}

impl Cdma {
    pub(super) fn new(around: &Surroundings<'_>, control: Rc<Control>, buffer: Rc<Buffer>) -> Rc<Cdma> {
        let Surroundings { sim, cycle, config, timing, ports, interrupts, .. } = *around;
        let hardware = Hardware::from(config);
        // What comes can wait between bus and engine only if that moves whole atoms.
        let atom_a_beat = ports.primary.config().beat_bytes == hardware.atom;
        let places = if atom_a_beat { &timing.conv.data_places[..] } else { &[] };
        let data = ReadDma::unbuffered(ports, "nvdla.cdma.data", read_id::CDMA_DATA, places);
        let weights = ReadDma::unbuffered(ports, "nvdla.cdma.weight", read_id::CDMA_WEIGHT, &[]);
        Rc::new(Cdma {
            sim: sim.clone(),
            cycle,
            timing: timing.clone(),
            hardware,
            control,
            interrupts: interrupts.clone(),
            buffer,
            data,
            weights,
            atom_a_beat,
            weight_beat: ports.primary.config().beat_bytes.max(hardware.atom),
        })
    }

    /// Runs layers one after the other; ends never.
    pub(super) async fn run(self: Rc<Self>) {
        let mut before = None;
        for number in 0.. {
            let (group, registers, enabled) = self.control.next_group().await;
            match Layer::decode(&registers, &self.hardware) {
                Ok(layer) => {
                    let label = format!("{} slices", layer.input.height());
                    self.control.begin(&label, group);
                    let fetch = Rc::new(fetch(&registers, &layer, before));
                    self.buffer.announce(fetch.clone());
                    if fetch.clear_data || fetch.clear_weights {
                        // Both units wait for each other (RTL, `NV_NVDLA_CDMA_wt.v` and `_CSC_sg.v`, state PEND).
                        let (here, there) = self.timing.conv.agreed;
                        let begun = self.buffer.begun(number).await;
                        let agreed = (enabled + self.cycles(here)).max(begun + self.cycles(there));
                        self.sim.wait_until(agreed).await;
                    }
                    let perf = registers.flag(reg::d_perf_enable::DMA_EN).then_some(group);
                    join(
                        self.fetch_data(&layer, &fetch, number, group, perf),
                        self.fetch_weights(&layer, &fetch, number, group, perf),
                    )
                    .await;
                    self.control.end(&label, group);
                    before = Some(Before {
                        banks: layer.banks,
                        kept_data: layer.reuse.keep_data,
                        kept_weights: layer.reuse.keep_weight,
                        was_image: layer.input.is_image(),
                    });
                }
                Err(refused) => {
                    self.control.warn(&format!("layer refused: {refused}"));
                    self.buffer.announce(Rc::new(Fetch::nothing()));
                    self.raise(Source::CdmaData(group)).await;
                    self.raise(Source::CdmaWeight(group)).await;
                }
            }
            self.control.finish();
        }
    }

    fn cycles(&self, count: u32) -> Time {
        self.cycle * u64::from(count)
    }

    /// Reports one half of a layer done. The group is software's again when both are.
    async fn raise(&self, source: Source) {
        let after = match source {
            Source::CdmaData(_) => self.timing.conv.data_to_interrupt,
            _ => self.timing.conv.weight_to_interrupt,
        };
        self.sim.wait(self.cycles(after)).await;
        self.interrupts.raise(source);
    }

    async fn fetch_data(&self, layer: &Layer, fetch: &Fetch, number: u64, group: usize, perf: Option<usize>) {
        let watch = Watch::default();
        if fetch.slices > 0 {
            let asked = Asked::new(&self.sim, "nvdla.cdma.data.asked", Time::ZERO);
            let usable = Usable::default();
            let stream = self.data.stream(layer.input.ram());
            if self.atom_a_beat {
                stream.set_taker(Some(self.intake(&layer.input, usable.clone())));
            }
            join(
                self.ask_data(layer, fetch, &asked, &watch),
                self.take_data(layer, fetch, number, (&asked, &usable), &watch),
            )
            .await;
            stream.set_taker(None);
            self.show(perf, reg::D_PERF_DAT_READ_STALL, &watch.stalled);
            self.show(perf, reg::D_PERF_DAT_READ_LATENCY, &watch.waited);
        }
        let Specials { nan, infinite } = watch.specials.get();
        let counts = [(reg::D_NAN_INPUT_DATA_NUM, nan), (reg::D_INF_INPUT_DATA_NUM, infinite)];
        self.control.show(group, &counts);
        self.raise(Source::CdmaData(group)).await;
    }

    fn intake(&self, input: &Input, usable: Usable) -> Rc<dyn Taker> {
        match input {
            Input::Feature(feature) => Rc::new(FeatureIntake::new(feature, self.cycle, usable)),
            Input::Image(image) => {
                let line = (image.slots(), image.height);
                let now = self.sim.now();
                Rc::new(ImageIntake::new(line, image.two_planes(), self.cycle, now, usable))
            }
        }
    }

    /// Asks for lines, as many at once as are fetched together, when the buffer has room for them.
    async fn ask_data(&self, layer: &Layer, fetch: &Fetch, asked: &Asked, watch: &Watch) {
        let input = &layer.input;
        let stream = self.data.stream(input.ram());
        let capacity = layer.banks.data * self.hardware.bank_entries;
        let path = self.cycles(self.timing.conv.data_path);
        let start = self.cycles(if input.is_image() { TO_OTHERS } else { TO_FEATURES });
        let mut next = self.sim.now() + start + path;
        let mut first = 0;
        while first < input.height() {
            let lines = input.lines_at_once().min(input.height() - first);
            let since = self.sim.now();
            if !self.buffer.reserve_entries(fetch, lines * layer.entries, capacity).await {
                break;
            }
            if self.sim.now() > since {
                next = next.max(self.sim.now() + path);
            }
            asked.push(Some(lines));
            let reads = input.reads(first, lines);
            for read in &reads {
                let due = next + self.cycle * read.cycle;
                self.sim.wait_until(due).await;
                self.request(stream, read.address, read.bytes, watch).await;
                next += self.sim.now() - due;
            }
            next += self.cycle * input.request_cycles(reads.len());
            first += lines;
        }
        asked.push(None);
    }

    async fn take_data(
        &self,
        layer: &Layer,
        fetch: &Fetch,
        number: u64,
        (asked, usable): (&Asked, &Usable),
        watch: &Watch,
    ) {
        let input = &layer.input;
        let stream = self.data.stream(input.ram());
        let mut first = 0;
        while let Some(lines) = asked.next().await {
            let start = self.sim.now();
            let mut bytes = vec![0; input.bytes(lines)];
            for read in input.reads(first, lines) {
                stream.take(&mut bytes[read.at..read.at + read.bytes as usize]).await;
            }
            self.waited(watch, start);
            let latest = self.sim.now() + self.cycle * TO_USABLE;
            let usable = usable.borrow_mut().pop_front().unwrap_or(latest);
            self.sim.wait_until(usable).await;
            let slices = input.lines(layer.precision, lines, &bytes);
            self.buffer.put_slices(fetch, number, layer.entries, slices);
            watch.count(input.specials(&bytes));
            first += lines;
        }
    }

    async fn fetch_weights(
        &self,
        layer: &Layer,
        fetch: &Fetch,
        number: u64,
        group: usize,
        perf: Option<usize>,
    ) {
        let watch = Watch::default();
        if fetch.weights {
            let asked = Asked::new(&self.sim, "nvdla.cdma.weight.asked", Time::ZERO);
            self.buffer.start_weights(fetch, number);
            let stream = self.weights.stream(layer.weights.ram);
            let came = Rc::new(WeightIntake::default());
            if self.atom_a_beat {
                stream.set_taker(Some(came.clone()));
            }
            join(
                self.ask_weights(layer, (fetch, number), &asked, &watch),
                self.take_weights(layer, number, (&asked, &came), &watch),
            )
            .await;
            stream.set_taker(None);
            self.show(perf, reg::D_PERF_WT_READ_STALL, &watch.stalled);
            self.show(perf, reg::D_PERF_WT_READ_LATENCY, &watch.waited);
        }
        let Specials { nan, infinite } = watch.specials.get();
        let counts = [(reg::D_NAN_INPUT_WEIGHT_NUM, nan), (reg::D_INF_INPUT_WEIGHT_NUM, infinite)];
        self.control.show(group, &counts);
        self.raise(Source::CdmaWeight(group)).await;
    }

    /// Asks for weights, eight atoms at once up to a multiple of eight, as the buffer has room; what lies in its
    /// FIFOs may come on top (RTL, `NV_NVDLA_CDMA_wt.v`, `wt_req_overflow`).
    async fn ask_weights(&self, layer: &Layer, (fetch, number): (&Fetch, u64), asked: &Asked, watch: &Watch) {
        let (weights, atom) = (&layer.weights, self.hardware.atom);
        let stream = self.weights.stream(weights.ram);
        let ahead = READ_ATOMS * atom / self.hardware.entry_bytes * atom;
        let capacity = layer.banks.weight * self.hardware.bank_bytes() + ahead;
        let together = self.hardware.group_kernels(layer.precision);
        let path = self.cycles(self.timing.conv.weight_path);
        let mut next = self.sim.now() + self.cycles(TO_OTHERS) + path;
        let mut group = 0;
        let mut done = 0;
        while done < weights.bytes && !fetch.cancelled.get() {
            let address = weights.base.wrapping_add(u64::from(done));
            let run = READ_ATOMS - (address / u64::from(atom) % u64::from(READ_ATOMS)) as u32;
            let wanted = (run * atom).min(weights.bytes - done);
            let since = self.sim.now();
            // CSC releases nothing before it has all of a group.
            let starves = |released: u64| {
                while self.group_end(layer, group) <= released && (group + 1) * together < weights.kernels {
                    group += 1;
                }
                u64::from(done) < self.group_end(layer, group)
            };
            let bytes = self.buffer.reserve_weights(number, (wanted, atom), capacity, starves).await;
            if self.sim.now() > since {
                next = next.max(self.sim.now() + path);
            }
            asked.push(Some(bytes));
            self.sim.wait_until(next).await;
            self.request(stream, address, bytes, watch).await;
            next = self.sim.now() + self.cycle;
            done += bytes;
        }
        asked.push(None);
    }

    /// The bytes of weights that must be there for CSC to use a group of kernels: whole entries, and for the last group
    /// all that are read, if they have room.
    fn group_end(&self, layer: &Layer, group: u32) -> u64 {
        let (weights, entry) = (&layer.weights, u64::from(self.hardware.entry_bytes));
        let together = self.hardware.group_kernels(layer.precision);
        let all = u64::from(weights.bytes);
        let end = |group| weights.group_end(group, together).next_multiple_of(entry).min(all);
        let is_last = (group + 1) * together >= weights.kernels;
        let before = if group > 0 { end(group - 1) } else { 0 };
        let room = u64::from(layer.banks.weight * self.hardware.bank_bytes());
        if is_last && all - before + entry <= room { all } else { end(group) }
    }

    /// Puts weights into the buffer, and tells which groups of kernels CSC can use when; ends when it can use all.
    async fn take_weights(
        &self,
        layer: &Layer,
        number: u64,
        (asked, came): (&Asked, &WeightIntake),
        watch: &Watch,
    ) {
        let (weights, atom) = (&layer.weights, self.hardware.atom);
        let stream = self.weights.stream(weights.ram);
        let capacity = layer.banks.weight * self.hardware.bank_bytes();
        let together = self.hardware.group_kernels(layer.precision);
        let groups = weights.kernels.div_ceil(together);
        let latency = self.cycles(self.timing.conv.weight_arrival);
        let arrival = WeightArrival::new(self.cycle);
        let (mut written, mut group) = (0, 0);
        let mut bytes = vec![0; (READ_ATOMS * atom) as usize];
        while let Some(count) = asked.next().await {
            let start = self.sim.now();
            let bytes = &mut bytes[..count as usize];
            stream.take(bytes).await;
            self.waited(watch, start);
            if layer.precision == Precision::Fp16 {
                watch.count(Specials::of(bytes));
            }
            for beat in bytes.chunks(self.weight_beat as usize) {
                let came = came.came.borrow_mut().pop_front().unwrap_or_else(|| self.sim.now());
                let mut due = came + latency;
                if self.buffer.weights_held() + beat.len() as u32 > capacity {
                    self.buffer.weights_released(beat.len() as u32, capacity).await;
                    due = due.max(self.sim.now());
                }
                self.buffer.put_weights(number, beat);
                arrival.write(due);
                written += beat.len() as u64;
                while group < groups && written >= self.group_end(layer, group) {
                    let end = self.group_end(layer, group);
                    self.buffer.weights_usable(number, end, arrival.usable());
                    group += 1;
                }
            }
        }
        self.sim.wait_until(arrival.last_usable()).await;
    }

    async fn request(&self, stream: &ReadStream, address: u64, bytes: u32, watch: &Watch) {
        let start = self.sim.now();
        stream.request(address, bytes).await;
        watch.stalled.set(watch.stalled.get() + (self.sim.now() - start).cycles(self.cycle));
    }

    fn waited(&self, watch: &Watch, since: Time) {
        watch.waited.set(watch.waited.get() + (self.sim.now() - since).cycles(self.cycle));
    }

    /// Puts a counter into its group's register, if counting is switched on.
    fn show(&self, perf: Option<usize>, register: RegisterRef, count: &Cell<u64>) {
        if let Some(group) = perf {
            let count = count.get().min(u32::MAX.into()) as u32;
            self.control.registers().borrow_mut().set(group, register, count);
        }
    }
}

impl Fetch {
    /// In place of a refused layer.
    fn nothing() -> Fetch {
        Fetch {
            registers: None,
            slices: 0,
            slice_elements: 0,
            weights: false,
            clear_data: false,
            clear_weights: false,
            cancelled: Cell::new(true),
        }
    }
}

/// What is fetched of a layer: not what its predecessor has kept for it, unless the banks change, for then they
/// are cleared first (RTL, `NV_NVDLA_CDMA_dc.v` and `_wt.v`, states IDLE and PEND).
fn fetch(registers: &Group, layer: &Layer, before: Option<Before>) -> Fetch {
    let clear_data = before.is_none_or(|before| before.banks.data != layer.banks.data);
    let clear_weights = before.is_none_or(|before| before.banks != layer.banks);
    let same_kind = |before: &Before| before.was_image == layer.input.is_image();
    let has_data = layer.reuse.data
        && !clear_data
        && before.is_some_and(|before| before.kept_data && same_kind(&before));
    let has_weights =
        layer.reuse.weight && !clear_weights && before.is_some_and(|before| before.kept_weights);
    Fetch {
        registers: Some(registers.clone()),
        slices: if has_data { 0 } else { layer.input.height() },
        slice_elements: layer.input.line_elements(),
        weights: !has_weights,
        clear_data,
        clear_weights,
        cancelled: Cell::new(false),
    }
}
