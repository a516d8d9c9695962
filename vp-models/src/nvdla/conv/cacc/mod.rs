//! CACC, the accumulator: rounds and clips the sums of each stripe and hands them to SDP.
//!
//! [`layer`] decodes a register group and clips; here is the process.

pub mod layer;

use self::layer::CaccLayer;
use super::delivery::{Batch, Delivery};
use super::hardware::Hardware;
use super::sums::Sums;
use crate::bus::DelayLine;
use crate::checkpoint::{Checkpoint, CheckpointError, Remembers};
use crate::nvdla::control::Control;
use crate::nvdla::engine::EngineContext;
use crate::nvdla::glb::InterruptSource;
use crate::nvdla::interrupts::Interrupts;
use crate::nvdla::numeric::Precision;
use crate::nvdla::order::Pairs;
use crate::nvdla::registers::cacc as reg;
use crate::nvdla::timing::Timing;
use std::collections::VecDeque;
use std::rc::Rc;
use vp_core::{Sim, Time};

/// Cycles from a layer's first package until CACC adds up its first sums: its enable has to take effect by then. On nv_small's RTL an enable
/// after 24, 25 and 29 of them left a layer's bytes right, and one after 30, 30 and 31 wrong.
const ENABLE_AFTER_PACKAGE: u64 = 29;

/// Cycles by which sums of fp16 come later (RTL, branch nvdlav1, `NV_NVDLA_CACC_calculator.v`, calc_dlv_valid_out).
const FLOAT_LATER: u64 = 2;

/// Message that CSC sends.
pub(super) enum Message {
    /// Complete sums.
    Stripe(Stripe),
    /// No layer is there.
    Abandoned,
}

/// The sums of a stripe, for one group of kernels.
pub(super) struct Stripe {
    pub(super) positions: u32,
    pub(super) kernels: usize,
    /// Credits that were taken for each position.
    pub(super) credits: u32,
    pub(super) sums: Sums,
    /// Time of the layer's first package.
    pub(super) begun: Time,
    /// True if the stripe is the layer's last.
    pub(super) last: bool,
}

/// The engine.
pub(super) struct Cacc {
    sim: Sim,
    cycle: Time,
    timing: Timing,
    hardware: Hardware,
    control: Rc<Control>,
    interrupts: Rc<Interrupts>,
    delivery: Rc<Delivery>,
    sums: Rc<DelayLine<Message>>,
    endings: DelayLine<FinishingLayer>,
}

/// A layer whose sums are all added up.
struct FinishingLayer {
    group: usize,
    /// Shape of the layer, for people, and number of sums that were clipped. None: refused.
    layer: Option<(String, u64)>,
    /// SDP has yet to take sums.
    is_taken: bool,
    /// Beats in which an atom is handed over, fewer than of int8: the interrupt comes as many cycles sooner behind the first.
    fewer_beats: u32,
}

impl Cacc {
    pub(super) fn new(
        around: &EngineContext<'_>,
        control: Rc<Control>,
        delivery: Rc<Delivery>,
        sums: Rc<DelayLine<Message>>,
    ) -> Rc<Cacc> {
        let EngineContext { sim, cycle, config, timing, interrupts, .. } = *around;
        Rc::new(Cacc {
            sim: sim.clone(),
            cycle,
            timing: timing.clone(),
            hardware: Hardware::from(config),
            control,
            interrupts: interrupts.clone(),
            delivery,
            sums,
            endings: DelayLine::new(sim, "nvdla.cacc.endings", Time::ZERO),
        })
    }

    /// Runs layers one after the other; ends never. The registers are the next layer's when a layer's last sums are in the delivery
    /// buffer, from where SDP may take them much later (RTL, `NV_NVDLA_CACC_delivery_ctrl.v`, dp2reg_done).
    pub(super) async fn run(self: Rc<Self>) {
        loop {
            let (group, registers, _) = self.control.next_group().await;
            let ending = match CaccLayer::decode(&registers, &self.hardware) {
                Ok(layer) => {
                    let [width, height, channels] = layer.size;
                    let label = || format!("{width}x{height}x{channels}");
                    self.control.begin(label, group);
                    let (clipped, is_taken) = self.deliver(&layer, group).await;
                    let beats = |precision| self.delivery.credits_of(self.hardware.lanes(precision));
                    let fewer_beats = beats(Precision::Int8) - beats(layer.precision);
                    FinishingLayer { group, layer: Some((label(), clipped)), is_taken, fewer_beats }
                }
                Err(refused) => {
                    self.control.refuse(&refused);
                    self.delivery.abandon();
                    self.drop_layer().await;
                    FinishingLayer { group, layer: None, is_taken: false, fewer_beats: 0 }
                }
            };
            self.endings.push(ending);
            self.control.finish();
        }
    }

    /// Reports layers that SDP has taken; ends never.
    pub(super) async fn report(self: Rc<Self>) {
        loop {
            let FinishingLayer { group, layer, is_taken, fewer_beats } = self.endings.next().await;
            let taken = if is_taken { self.delivery.layer_taken().await } else { self.sim.now() };
            if let Some((label, clipped)) = layer {
                let later = self.timing.conv.delivered_to_interrupt - fewer_beats;
                let later = self.cycle * u64::from(later);
                self.sim.wait_until(taken + later).await;
                self.control.end(|| label, group);
                let clipped = clipped.min(u32::MAX.into()) as u32;
                self.control.registers().borrow_mut().set(group, reg::D_OUT_SATURATION, clipped);
            }
            self.interrupts.raise(InterruptSource::Cacc.of_group(group));
        }
    }

    /// Puts a layer's sums where SDP takes them. Counts what is clipped, and says whether all has come.
    async fn deliver(&self, layer: &CaccLayer, group: usize) -> (u64, bool) {
        let lanes = self.hardware.lanes(layer.precision) as usize;
        let later = if layer.precision == Precision::Fp16 { FLOAT_LATER } else { 0 };
        let latency = self.cycle * (u64::from(self.timing.conv.to_sdp) + later);
        let [width, height, channels] = layer.size.map(u64::from);
        let (mut expected, mut clipped) = (width * height * channels * u64::from(layer.cubes), 0);
        let mut pairing =
            layer.pairs(self.hardware.atom).map(|pairs| Pairing::new(pairs, layer.cubes, lanes));
        let mut is_first = true;
        loop {
            let Message::Stripe(stripe) = self.sums.next().await else {
                self.control.warn("layer ended early: another unit of the convolution refused it");
                self.delivery.abandon();
                return (clipped, false);
            };
            let Stripe { positions: _, kernels, sums, last, begun, credits } = stripe;
            if std::mem::take(&mut is_first) {
                self.warn_of_late_enable(group, begun);
            }
            let (results, beyond) = layer.clip_all(sums);
            clipped += beyond;
            expected = expected.saturating_sub(results.len() as u64);
            let sums = spread(results, kernels, lanes);
            let due = self.sim.now() + latency;
            let put = |due, sums, last| {
                self.delivery.put(due, Batch { sums, lanes, credits, place: layer.place, last });
            };
            match &mut pairing {
                None => put(due, sums, last),
                Some(pairing) => {
                    let mut paired = pairing.stripe(&sums, last).into_iter().peekable();
                    while let Some((atoms, sums)) = paired.next() {
                        put(due + self.cycle * atoms, sums, last && paired.peek().is_none());
                    }
                }
            }
            if last {
                break;
            }
        }
        if expected > 0 {
            self.control.warn(format_args!("the output cube has {expected} elements more than CSC has sent"));
        }
        self.sim.wait(latency).await;
        (clipped, true)
    }

    /// Says that the layer, whose first package began at `begun`, was enabled behind the first sums.
    fn warn_of_late_enable(&self, group: usize, begun: Time) {
        let latest = begun + self.cycle * ENABLE_AFTER_PACKAGE;
        let late = self.control.enabled_at(group).since(latest).cycles(self.cycle);
        if late > 0 {
            self.control.warn(format_args!(
                "D_OP_ENABLE took effect {late} cycles after the first sums: CSC does not wait for CACC, which begins to add up when it is \
                 enabled, so that what has come by then is lost or clipped by an earlier layer's registers (NV_NVDLA_CACC_assembly_ctrl, \
                 layer_st). Here the sums are right. CACC is to be enabled before CSC and CDMA"
            ));
        }
    }

    /// Takes a layer from CSC that nobody wants.
    async fn drop_layer(&self) {
        while let Message::Stripe(stripe) = self.sums.next().await {
            self.delivery.return_credits(stripe.positions, stripe.credits);
            if stripe.last {
                break;
            }
        }
    }
}

/// The delivery buffer of a layer of several cubes. Sums come a pixel of each cube in turns, an atom a cycle; the first of two pixels that
/// are handed over together waits until the second of its cube comes (RTL, branch nvdlav1, `NV_NVDLA_CACC_delivery_ctrl.v`, skip_cnt,
/// dlv_push_valid), which may be in the next stripe.
struct Pairing {
    pairs: Pairs,
    cubes: usize,
    lanes: usize,
    /// Number of atoms that have come.
    atoms: usize,
    /// Sums of first pixels that wait.
    first: VecDeque<i32>,
}

impl Pairing {
    fn new(pairs: Pairs, cubes: u32, lanes: usize) -> Pairing {
        Pairing { pairs, cubes: cubes as usize, lanes, atoms: 0, first: VecDeque::new() }
    }

    /// Returns what can be handed over with a stripe: for each pixel that comes how many atoms of the stripe come before, and sums of all
    /// cubes; with the last stripe all that is left.
    fn stripe(&mut self, sums: &[i32], is_last: bool) -> Vec<(u64, Vec<i32>)> {
        let mut handed: Vec<(u64, Vec<i32>)> = Vec::new();
        for (index, atom) in sums.chunks_exact(self.lanes).enumerate() {
            let (together, column) = self.pairs.of_pixel((self.atoms / self.cubes) as u64);
            let is_first_cube = self.atoms.is_multiple_of(self.cubes);
            self.atoms += 1;
            if column + 1 < together.end {
                self.first.extend(atom);
                continue;
            }
            if handed.is_empty() || is_first_cube {
                handed.push((index as u64, Vec::new()));
            }
            let Some((_, pixel)) = handed.last_mut() else { continue };
            if column > together.start {
                pixel.extend(self.first.drain(..self.lanes.min(self.first.len())));
            }
            pixel.extend(atom);
        }
        if is_last && !self.first.is_empty() {
            handed.push(((sums.len() / self.lanes) as u64, self.first.drain(..).collect()));
        }
        handed
    }
}

/// Results of `kernels` kernels a position, given `lanes` lanes: lanes beyond the last kernel are handed on as well,
/// though nothing was added up there. (CSC, told another format, may send more kernels than there are lanes.)
fn spread(results: Vec<i32>, kernels: usize, lanes: usize) -> Vec<i32> {
    if kernels == lanes {
        return results;
    }
    let mut spread = vec![0; results.len() / kernels.max(1) * lanes];
    for (lanes, results) in spread.chunks_exact_mut(lanes).zip(results.chunks_exact(kernels.max(1))) {
        lanes.iter_mut().zip(results).for_each(|(lane, &result)| *lane = result);
    }
    spread
}

impl Remembers for Cacc {
    fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Cacc {
            sim: _,
            cycle: _,
            timing: _,
            hardware: _,
            control: _,
            interrupts: _,
            delivery: _,
            sums: _,
            endings,
        } = self;
        at.part("nvdla.cacc.layers")?;
        endings.checkpoint(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what can be handed over with each of these stripes of one line of two cubes, whose sums are numbered.
    fn handed(address: u32, stripes: &[i32]) -> Vec<Vec<(u64, Vec<i32>)>> {
        let positions: i32 = stripes.iter().sum();
        let pairs = Pairs::new(2, [positions as u32, 1], [address, 0, 0], 32);
        let (mut pairing, mut next) = (Pairing::new(pairs, 2, 1), 0..2 * positions);
        let stripe = |&length: &i32| {
            let sums: Vec<i32> = next.by_ref().take(2 * length as usize).collect();
            pairing.stripe(&sums, next.is_empty())
        };
        stripes.iter().map(stripe).collect()
    }

    #[test]
    fn the_first_pixel_of_a_pair_waits_for_the_second_be_that_in_the_next_stripe() {
        assert_eq!(handed(0, &[3]), [vec![(2, vec![0, 2, 1, 3]), (4, vec![4, 5])]]);
        assert_eq!(handed(32, &[3]), [vec![(0, vec![0, 1]), (4, vec![2, 4, 3, 5])]]);
        assert_eq!(handed(32, &[2, 1]), [vec![(0, vec![0, 1])], vec![(0, vec![2, 4, 3, 5])]]);
    }
}
