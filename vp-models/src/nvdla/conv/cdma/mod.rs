//! CDMA, the convolution DMA: brings input and weights to the convolution buffer, each at its own pace.
//!
//! ```text
//!  register group --> `CdmaLayer` --> `Fetch`: what is read, and what the layer before has left ------------> CSC
//!                                       |                         (`Buffer::announce`)
//!            +--------------------------+-----------------------------+
//!            v input                                                  v weights
//!   `DataRequests`                                        `WeightRequests`, `CompressedRequests`
//!     asks the buffer: is there room for the next lines?    asks the buffer: is there room for the next part?
//!            | reads, which the memory interface takes one by one     |
//!            v                                                        v
//!   beats: `FeatureIntake`, `WideFeatureIntake`,          beats: `WeightIntake`
//!   `ImageIntake`, `WinogradIntake`
//!     when is a line usable?                                when is a group of kernels whole?
//!            | `Buffer::put_slices`                                   | `put_weights`, `weights_usable`
//!            +------------------------> CBUF <------------------------+
//!            |                                                        |
//!            +--> interrupt of CDMA data                              +--> interrupt of CDMA weights
//! ```
//!
//! Both halves of a layer run side by side, each at the pace of its reads. Where a layer splits the banks otherwise than the one
//! before, a half first waits until CSC has begun it, too. CSC gives back room while it computes, and so lets both go on.
//!
//! [`layer`] is what a register group says (`decode`). [`feature`], [`image`] (with [`pixel`]) and
//! [`winograd`] are the kinds of input: which reads bring it, and what the buffer then holds. `requests` are
//! the reads, `compressed` those of compressed weights; `weights` writes what comes of others to the buffer. This module has the processes.

mod compressed;
mod decode;
mod encode;
pub mod feature;
pub mod image;
mod intake;
pub mod layer;
pub mod pixel;
pub mod read;
mod requests;
mod weight_room;
mod weights;
mod wide_feature;
mod wide_winograd;
pub mod winograd;

use self::compressed::CompressedRequests;
use self::intake::{Counted, FeatureIntake, ImageIntake, TO_USABLE, Usable, WeightIntake};
use self::layer::{CdmaLayer, Input};
use self::requests::{DataRequests, Task, WeightRequests};
use self::weights::WeightWriter;
use self::wide_feature::WideFeatureIntake;
use self::wide_winograd::WinogradIntake;
use super::buffer::{Banks, Buffer, Fetch};
use super::hardware::Hardware;
use crate::bus::DelayLine;
use crate::bus::axi::{BeatConsumer, ReadStream, RequestPlaces, RequestWatch, WeightedRoundRobin};
use crate::checkpoint::{Checkpoint, CheckpointError, Remembers};
use crate::nvdla::control::Control;
use crate::nvdla::dma::ReadDma;
use crate::nvdla::engine::EngineContext;
use crate::nvdla::float::SpecialCounts;
use crate::nvdla::glb::{Interrupt, InterruptSource};
use crate::nvdla::interrupts::Interrupts;
use crate::nvdla::nocif::read_id;
use crate::nvdla::numeric::Precision;
use crate::nvdla::registers::{Group, RegisterRef, cdma as reg};
use crate::nvdla::timing::Timing;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::{Sim, Time, join, select};

/// Cycles by which the next layer begins, as if it were enabled then, before the later of a layer's two interrupts: registers change five cycles
/// behind done, as behind a write, and the interrupt is at the pin six behind it (RTL, `NV_NVDLA_CDMA_status.v`, status2dma_fsm_switch and
/// dat_done_intr; `NV_NVDLA_CDMA_regfile.v`, reg2dp_op_en_reg; `NV_NVDLA_GLB_ic.v`).
const BEFORE_INTERRUPT: u32 = 1;

/// Returns the cycles by which an input's interrupt comes later behind the time at which CSC can use its last lines than that of features. It comes a
/// fixed time behind the last entry: CSC is told of that three cycles later for features, at once for an image, and a cycle before for Winograd's
/// method (RTL, `NV_NVDLA_CDMA_dc.v`, dat_updt_d3, is_rsp_done, delay_cnt_end; `NV_NVDLA_CDMA_IMG_pack.v`, pk_out_data_updt, and `_IMG_ctrl.v`,
/// delay_cnt_end; branch nvdlav1, `NV_NVDLA_CDMA_wg.v`, rsp_slice_done_d1, is_rsp_done).
fn interrupt_later(input: &Input) -> u32 {
    match input {
        Input::Feature(_) => 0,
        Input::Image(_) => 3,
        Input::Winograd(_) => 4,
    }
}

/// Atoms of one read of weights.
const READ_ATOMS: u32 = 8;

/// Cycles from the start of a layer to the first read of features.
const TO_FEATURES: u32 = 5;

/// Cycles from the start of a layer to the first read for Winograd's method, or to asking for padding (seen on nvdlav1).
const TO_WINOGRAD: u32 = 2;

/// Registers more that those pass on their way from the check for room (RTL, branch nvdlav1, `NV_NVDLA_CDMA_wg.v`, req_valid_d2; `_dc.v` has req_valid_d1
/// alone).
const WINOGRAD_REGISTERS: u32 = 1;

/// Cycles from the start of a layer to the first read of an image, or of weights.
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
    /// True if a beat of the bus is an atom.
    atom_a_beat: bool,
    /// True if one is two atoms of the shared buffer of nvdlav1.
    pair_a_beat: bool,
    /// Bytes of weights that go into the buffer in a cycle: a beat of the bus, and no less than an atom.
    weight_beat: u32,
    /// Turn of the reads of weights and masks, which layers leave to the next one (RTL, branch nvdlav1, `NV_NVDLA_CDMA_WT_wrr_arb.v`, wt_left).
    turn: Rc<RefCell<WeightedRoundRobin>>,
    /// Layers that have ended, and what the last one has left.
    layers: Cell<u64>,
    before: Cell<Option<Before>>,
    /// Halves of layers that are done, on the way to their interrupts.
    done: DelayLine<Interrupt>,
}

/// State that a layer takes over from its predecessor, as CDMA sees it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Before {
    banks: Banks,
    kept_data: bool,
    kept_weights: bool,
    was_image: bool,
}

/// Registers for requests of input between CDMA and the memory interface, and of weights, which do not go through the multiplexer (RTL,
/// `NV_NVDLA_DMAIF_rdreq`, `NV_NVDLA_CDMA_dma_mux`).
const REGISTERS: [usize; 2] = [2, 1];

/// Requests of each whose data is not taken, at most (`NV_NVDLA_CDMA_DC_fifo`, `_IMG_fifo`, `_WT_fifo`).
const UNDER_WAY: usize = 128;

/// Counts what the statistics registers show of one client.
#[derive(Default)]
struct Watch {
    /// Elements that are no finite numbers, before they are flushed.
    specials: Cell<SpecialCounts>,
}

impl Watch {
    fn count(&self, specials: SpecialCounts) {
        let mut all = self.specials.get();
        all += specials;
        self.specials.set(all);
    }
}

impl Cdma {
    pub(super) fn new(around: &EngineContext<'_>, control: Rc<Control>, buffer: Rc<Buffer>) -> Rc<Cdma> {
        let EngineContext { sim, cycle, config, timing, ports, interrupts, .. } = *around;
        let hardware = Hardware::from(config);
        // It is known when atoms are taken where a beat of the bus is one, and on nvdlav1 where it is two.
        let atom_a_beat = ports.primary.config().beat_bytes == hardware.atom;
        let is_pair = |beat_bytes| beat_bytes == wide_feature::BEAT * hardware.atom;
        let pair_a_beat =
            hardware.paces_wide_input && ports.all().all(|port| is_pair(port.config().beat_bytes));
        let places = if atom_a_beat || pair_a_beat { &timing.conv.data_places[..] } else { &[] };
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
            pair_a_beat,
            weight_beat: ports.primary.config().beat_bytes.max(hardware.atom),
            turn: Rc::default(),
            layers: Cell::new(0),
            before: Cell::new(None),
            done: DelayLine::new(sim, "nvdla.cdma.done", cycle * u64::from(BEFORE_INTERRUPT)),
        })
    }

    /// Runs layers one after the other; ends never.
    pub(super) async fn run(self: Rc<Self>) {
        loop {
            let number = self.layers.get();
            let (group, registers, enabled) = self.control.next_group().await;
            match CdmaLayer::decode(&registers, &self.hardware) {
                Ok(layer) => {
                    let label = || format!("{} slices", layer.input.height());
                    self.control.begin(label, group);
                    let fetch = Rc::new(fetch(&registers, &layer, self.before.get()));
                    let unconverted = layer.unconverted().filter(|_| fetch.slices > 0);
                    let unaligned = layer.unaligned(&registers, [fetch.slices > 0, fetch.weights]);
                    for sentence in unaligned.into_iter().chain(unconverted) {
                        self.control.warn(sentence);
                    }
                    self.buffer.announce(fetch.clone());
                    let perf = registers.flag(reg::D_PERF_ENABLE::DMA_EN).then_some(group);
                    let task = Task {
                        sim: &self.sim,
                        cycle: self.cycle,
                        hardware: &self.hardware,
                        layer: &layer,
                        number,
                        buffer: &self.buffer,
                        fetch: &fetch,
                        turn: &self.turn,
                    };
                    // Data waits where the banks of data change, weights where any do (RTL, `NV_NVDLA_CDMA_dc.v`, `_img.v`,
                    // `_wg.v` and `_wt.v`, need_pending).
                    let data = async {
                        if fetch.clear_data {
                            self.agree(number, enabled).await;
                        }
                        self.fetch_data(&task, group, perf).await;
                    };
                    let weights = async {
                        if fetch.clear_data || fetch.clear_weights {
                            self.agree(number, enabled).await;
                        }
                        self.fetch_weights(&task, group, perf).await;
                    };
                    join(data, weights).await;
                    self.control.end(label, group);
                    self.before.set(Some(Before {
                        banks: layer.banks,
                        kept_data: layer.reuse.keep_data,
                        kept_weights: layer.reuse.keep_weight,
                        was_image: layer.input.is_image(),
                    }));
                }
                Err(refused) => {
                    self.control.refuse(&refused);
                    self.buffer.announce(Rc::new(Fetch::nothing()));
                    self.end_data(group, 0).await;
                    self.end_weights(group).await;
                }
            }
            self.layers.set(number + 1);
            self.control.finish();
        }
    }

    /// Waits until CSC, too, has come to a layer that splits the banks otherwise: both units wait for each other (RTL,
    /// `NV_NVDLA_CDMA_wt.v` and `_CSC_sg.v`, state PEND).
    async fn agree(&self, number: u64, enabled: Time) {
        let (here, there) = self.timing.conv.agreed;
        let begun = self.buffer.begun(number).await;
        let agreed = (enabled + self.cycles(here)).max(begun + self.cycles(there));
        self.sim.wait_until(agreed).await;
    }

    fn cycles(&self, count: u32) -> Time {
        self.cycle * u64::from(count)
    }

    /// Ends a layer's input; the interrupt comes so many cycles later than that of features.
    async fn end_data(&self, group: usize, later: u32) {
        let after = self.timing.conv.data_to_interrupt + later;
        self.end_half(InterruptSource::CdmaData.of_group(group), after).await;
    }

    /// Ends a layer's weights.
    async fn end_weights(&self, group: usize) {
        let after = self.timing.conv.weight_to_interrupt;
        self.end_half(InterruptSource::CdmaWeight.of_group(group), after).await;
    }

    /// Ends one half of a layer. The group is software's again when both have ended.
    async fn end_half(&self, interrupt: Interrupt, after: u32) {
        self.sim.wait(self.cycles(after - BEFORE_INTERRUPT)).await;
        self.done.push(interrupt);
    }

    /// Reports halves of layers done; ends never.
    pub(super) async fn report(self: Rc<Self>) {
        loop {
            let interrupt = self.done.next().await;
            self.interrupts.raise(interrupt);
        }
    }

    /// Fetches the input of a layer of a register group, and counts in the registers of `perf`.
    async fn fetch_data(&self, task: &Task<'_>, group: usize, perf: Option<usize>) {
        let Task { layer, fetch, .. } = *task;
        let watch = Watch::default();
        if fetch.slices > 0 {
            self.warn_of_offset(&layer.input);
            let usable = Usable::default();
            let stream = self.data.stream(layer.input.ram());
            let intake = self.intake(&layer.input, usable.clone());
            let counts = self.count(perf, stream, (intake, REGISTERS[0]));
            let requests = DataRequests::new(task, self.timing.conv.data_path, counts.as_ref());
            let ask = async {
                while requests.room().await {
                    stream.run_requester(requests.clone()).await;
                }
            };
            join(ask, self.take_data(task, &requests, &usable, &watch)).await;
            stream.set_taker(None);
            stream.end_watch();
            self.show(perf, reg::D_PERF_DAT_READ_STALL, counts.as_deref().map(RequestWatch::stalled));
            self.show(perf, reg::D_PERF_DAT_READ_LATENCY, counts.as_deref().map(RequestWatch::outstanding));
        }
        let SpecialCounts { nan, infinite } = watch.specials.get();
        let counts = [(reg::D_NAN_INPUT_DATA_NUM, nan), (reg::D_INF_INPUT_DATA_NUM, infinite)];
        self.control.show(group, &counts);
        let later = if fetch.slices > 0 { interrupt_later(&layer.input) } else { 0 };
        self.end_data(group, later).await;
    }

    fn intake(&self, input: &Input, usable: Usable) -> Option<Rc<dyn BeatConsumer>> {
        let (cycle, now) = (self.cycle, self.sim.now());
        Some(match input {
            Input::Feature(feature) if self.atom_a_beat => {
                Rc::new(FeatureIntake::new(feature, cycle, usable))
            }
            Input::Feature(feature) if self.pair_a_beat => {
                Rc::new(WideFeatureIntake::new(feature, cycle, now, usable))
            }
            Input::Image(image) if self.atom_a_beat => {
                Rc::new(ImageIntake::new(image, 1, (cycle, now), usable))
            }
            Input::Image(image) if self.pair_a_beat => {
                Rc::new(ImageIntake::new(image, wide_feature::BEAT, (cycle, now), usable))
            }
            Input::Winograd(input) if self.pair_a_beat => {
                Rc::new(WinogradIntake::new(input, (cycle, now), usable))
            }
            _ => return None,
        })
    }

    /// Has a half's beats taken, and its requests counted if that is switched on.
    fn count(
        &self,
        perf: Option<usize>,
        stream: &ReadStream,
        (consumer, registers): (Option<Rc<dyn BeatConsumer>>, usize),
    ) -> Option<Rc<RequestWatch>> {
        let Some(_) = perf else {
            stream.set_taker(consumer);
            return None;
        };
        let places = RequestPlaces { registers, under_way: Some(UNDER_WAY) };
        let watch = stream.watch(places, self.cycles(self.timing.conv.counted_around));
        stream.set_taker(Some(Rc::new(Counted { consumer, watch: watch.clone() })));
        Some(watch)
    }

    /// Puts lines into the buffer.
    async fn take_data(&self, task: &Task<'_>, requests: &DataRequests, usable: &Usable, watch: &Watch) {
        let Task { layer, fetch, number, .. } = *task;
        let input = &layer.input;
        let stream = self.data.stream(input.ram());
        while requests.asked.some().await {
            let Some(lines) = requests.asked.pop() else { return };
            let mut bytes = vec![0; input.bytes(lines.first, lines.count)];
            let all = lines.reads.iter().map(|read| read.bytes as usize).sum();
            stream.wait_for_data(all).await;
            stream.take_all(all, |data| {
                let mut left = data;
                for read in &*lines.reads {
                    let (data, rest) = left.split_at(read.bytes as usize);
                    bytes[read.at..read.at + data.len()].copy_from_slice(data);
                    left = rest;
                }
            });
            let usable = usable.borrow_mut().pop_front();
            self.sim.wait_until(usable.unwrap_or(self.sim.now() + self.cycle * TO_USABLE)).await;
            let slices = layer.lines(lines.first, lines.count, &bytes);
            self.buffer.put_slices(fetch, number, layer.entries, slices);
            watch.count(input.specials(&bytes));
        }
    }

    /// Fetches the weights of a layer of a register group, and counts in the registers of `perf`.
    async fn fetch_weights(&self, task: &Task<'_>, group: usize, perf: Option<usize>) {
        let Task { layer, fetch, number, .. } = *task;
        let watch = Watch::default();
        if fetch.weights {
            let compressed = layer.weights.compressed;
            let element = compressed.map(|_| layer.precision.bytes() as u32);
            self.buffer.start_weights(fetch, number, element);
            let stream = self.weights.stream(layer.weights.ram);
            let came = Rc::new(WeightIntake::default());
            let intake = self.atom_a_beat.then(|| came.clone() as Rc<dyn BeatConsumer>);
            let counts = self.count(perf, stream, (intake, REGISTERS[1]));
            let path = self.timing.conv.weight_path;
            if let Some(compressed) = compressed {
                let requests =
                    CompressedRequests::new(task, (path, self.weight_beat, compressed), counts.as_ref());
                let ask = async {
                    while requests.can_go_on().await {
                        stream.run_requester(requests.clone()).await;
                    }
                };
                join(ask, self.take_compressed(task, &requests, &came, &watch)).await;
            } else {
                let requests = WeightRequests::new(task, (path, self.weight_beat), counts.as_ref());
                let ask = async {
                    while requests.room().await {
                        stream.run_requester(requests.clone()).await;
                    }
                };
                let writer = WeightWriter::new(self, task, &requests, (&came, &watch));
                select(join(ask, writer.run()), self.watch_for_lack_of_room(layer, number)).await;
            }
            stream.set_taker(None);
            stream.end_watch();
            self.show(perf, reg::D_PERF_WT_READ_STALL, counts.as_deref().map(RequestWatch::stalled));
            if self.timing.registers.counts_weight_latency {
                self.show(
                    perf,
                    reg::D_PERF_WT_READ_LATENCY,
                    counts.as_deref().map(RequestWatch::outstanding),
                );
            }
        }
        let SpecialCounts { nan, infinite } = watch.specials.get();
        let counts = [(reg::D_NAN_INPUT_WEIGHT_NUM, nan), (reg::D_INF_INPUT_WEIGHT_NUM, infinite)];
        self.control.show(group, &counts);
        self.end_weights(group).await;
    }

    /// Says that pixels are taken from elsewhere than the offset says.
    fn warn_of_offset(&self, input: &Input) {
        if let Input::Image(image) = input
            && let Some([pixels, passed]) = image.offset_beyond_an_atom()
        {
            let (field, offset) = (reg::D_PIXEL_OFFSET::PIXEL_X_OFFSET, image.x_offset);
            self.control.warn(format_args!(
                "CDMA.{field} is {offset}, and an atom holds {pixels} pixels of this format: CDMA shifts within an atom, and takes \
                 pixels from {passed} of the line on (NV_NVDLA_CDMA_IMG_ctrl, pixel_element_sft). Let D_DAIN_ADDR_LOW_0 point to \
                 the atom with the first pixel, and the offset count in it"
            ));
        }
    }

    /// Puts a counter into its group's register, if counting is switched on.
    fn show(&self, perf: Option<usize>, register: RegisterRef, time: Option<Time>) {
        if let (Some(group), Some(time)) = (perf, time) {
            self.control.show(group, &[(register, time.cycles(self.cycle))]);
        }
    }
}

impl Fetch {
    /// In place of a refused layer.
    fn nothing() -> Fetch {
        Fetch {
            registers: None,
            precision: Precision::Int8,
            slices: 0,
            slice_elements: 0,
            weights: false,
            clear_data: false,
            clear_weights: false,
            cancelled: Cell::new(true),
        }
    }
}

/// Returns what is fetched of a layer: not what its predecessor has kept for it, unless the banks change, for then they
/// are cleared first (RTL, `NV_NVDLA_CDMA_dc.v` and `_wt.v`, states IDLE and PEND).
fn fetch(registers: &Group, layer: &CdmaLayer, before: Option<Before>) -> Fetch {
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
        precision: layer.precision,
        slices: if has_data { 0 } else { layer.input.height() },
        slice_elements: layer.input.line_elements(),
        weights: !has_weights,
        clear_data,
        clear_weights,
        cancelled: Cell::new(false),
    }
}

impl Remembers for Cdma {
    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Cdma {
            sim: _,
            cycle: _,
            timing: _,
            hardware: _,
            control: _,
            interrupts: _,
            buffer,
            data,
            weights,
            atom_a_beat: _,
            pair_a_beat: _,
            weight_beat: _,
            turn,
            layers,
            before,
            done,
        } = self;
        buffer.checkpoint(at)?;
        data.checkpoint(at)?;
        weights.checkpoint(at)?;
        at.part("nvdla.cdma.layers")?;
        at.cell(layers)?;
        at.cell(before)?;
        turn.borrow_mut().checkpoint(at)?;
        done.checkpoint(at)
    }
}
