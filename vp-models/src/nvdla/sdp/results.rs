//! Results of atoms that have started, and the places to which they go.

use super::Sdp;
use super::atom::{AtomCounters, AtomOperands};
use super::before_elementwise::{AtomInput, BeforeElementwise, Entered};
use super::compute::Datapath;
use super::layer::{Destination, SdpLayer};
use super::lut::Tables;
use super::operands::StageOperands;
use super::timing;
use super::to_pooling::stages_to_pooling;
use crate::nvdla::dma::Passed;
use std::collections::VecDeque;
use vp_core::Time;

/// The results of one layer.
pub(super) struct Results<'a> {
    sdp: &'a Sdp,
    layer: &'a SdpLayer,
    datapath: Datapath<'a>,
    /// Operands of EW, of layers whose atoms wait in front of it.
    ew: StageOperands<'a>,
    /// From an atom's start, if nothing could wait in front of EW, until these have left the registers in front of it.
    operands_leave: Time,
    /// From one atom's start to the next one's; from its start to its result, and to its way to PDP.
    pace: Time,
    latency: Time,
    pub(super) to_pdp: Time,
    /// Steps of a line.
    columns: u64,
    /// Time at which the last atom has passed on to EW.
    pub(super) passed: Time,
    /// True if the place of an atom on the way to PDP counts as free when its first half has left for PDP.
    pub(super) counts_by_first: bool,
    /// Between two atoms that go to PDP and that the write DMA drops; time at which it has dropped the last, as if it were at its start.
    pub(super) dropped_each: Time,
    pub(super) dropped: Time,
    /// Results of a step, and for lines whose surfaces take turns those of the second.
    output: Vec<u8>,
    second_output: VecDeque<u8>,
    pub(super) counters: AtomCounters,
}

impl<'a> Results<'a> {
    pub(super) fn new(
        sdp: &'a Sdp,
        layer: &'a SdpLayer,
        tables: &'a Tables,
        ew: StageOperands<'a>,
        pace: Time,
    ) -> Results<'a> {
        let (common, timing) = (&sdp.common, &sdp.common.timing.sdp);
        Results {
            sdp,
            layer,
            datapath: Datapath::new(layer, tables),
            ew,
            operands_leave: common.cycles(timing::elementwise_operands_leave(layer, timing)),
            pace,
            latency: common.cycles(timing::output_latency(layer, timing)),
            to_pdp: common.cycles(stages_to_pooling(layer, timing)),
            columns: timing::runs(layer).1,
            passed: Time::ZERO,
            counts_by_first: false,
            dropped_each: Time::ZERO,
            dropped: Time::ZERO,
            output: Vec::new(),
            second_output: VecDeque::new(),
            counters: AtomCounters::default(),
        }
    }

    /// Takes the atoms that wait in front of EW, each with its operands there.
    pub(super) async fn run(&mut self, waiting: &BeforeElementwise) {
        let sim = &self.sdp.common.sim;
        while let Some(atom) = waiting.next().await {
            let mut entered = atom.entered;
            let step = entered.position.in_surface();
            let there = self.ew.gather(step).await;
            entered.start = waiting.take(entered.start, there);
            sim.wait_until(entered.start).await;
            self.ew.take(step, (entered.start + self.operands_leave).since(sim.now()));
            let ew = self.ew.bytes(step).to_vec();
            self.pass(entered, &AtomOperands { bs: &atom.bs, bn: &atom.bn, ew: &ew });
        }
    }

    /// Makes the results of atoms, and hands them on.
    pub(super) fn pass(&mut self, entered: Entered, operands: &AtomOperands<'_>) {
        let Entered { position, start, steps, is_last, input } = entered;
        let layer = self.layer;
        let Some(input) = input else { return };
        self.output.resize(steps * layer.lanes() * layer.output.bytes(), 0);
        if !self.sdp.common.skips_arithmetic {
            self.counters += match input {
                AtomInput::Memory(bytes) => {
                    let input = &bytes[..layer.lanes() * layer.input.bytes()];
                    self.datapath.memory_atom(input, operands, &mut self.output)
                }
                AtomInput::Accumulator(mut sums) => {
                    self.datapath.accumulator_atoms(&mut sums, operands, &mut self.output)
                }
            };
        }
        self.passed = start + self.pace * (steps as u64 - 1);
        let free = self.dropped + self.dropped_each;
        self.dropped = if self.dropped == Time::ZERO { start } else { start.max(free) };
        self.hand_on(start, is_last);
        if position.column + steps as u64 == self.columns {
            for second in self.second_output.make_contiguous().chunks_exact(self.sdp.hardware.atom) {
                self.sdp.output.put_at(self.sdp.common.sim.now() + self.latency, second);
            }
            self.second_output.clear();
        }
    }

    /// Results of atoms, the first of which has started at `start`; `last` are those of the layer's last.
    fn hand_on(&mut self, start: Time, last: bool) {
        let layer = self.layer;
        let atom = self.sdp.hardware.atom;
        for (slot, result) in (0..).zip(self.output.chunks_exact(layer.lanes() * layer.output.bytes())) {
            let (first, second) = result.split_at(atom);
            match layer.destination {
                Destination::Pooling => {
                    let mut passed = Passed { last, counts_by_first: self.counts_by_first, ..Passed::EMPTY };
                    passed.atom[..atom].copy_from_slice(first);
                    let later = (start + self.to_pdp).since(self.sdp.common.sim.now());
                    self.sdp.pooling.atoms.put_reserved(passed, later);
                }
                Destination::Memory(_) if layer.has_output() => {
                    self.sdp.output.put_at(start + self.pace * slot + self.latency, first);
                    self.second_output.extend(second);
                }
                Destination::Memory(_) => {}
            }
        }
    }
}
