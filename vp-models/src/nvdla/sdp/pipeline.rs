//! Registers of SDP's datapath: how many beats they hold where nothing moves on.
//!
//! On nvdlav1 BS and BN are pipelines that stand as a whole, and whose operators catch a beat each in front of them (`NV_NVDLA_SDP_CORE_x.v`).

use super::layer::{Carries, OperandStream, SdpLayer, SdpSource, Stage};
use super::timing;
use crate::nvdla::timing::SdpTiming;

/// Registers that the beats of an atom pass one behind the other.
#[derive(Clone, Copy, Default)]
pub(super) struct Registers {
    pub(super) with_skid: u32,
    pub(super) without: u32,
    /// Beats that are held beside these where nothing moves on.
    pub(super) caught: u32,
    /// Number of places, skid buffers not counted, in front of which a beat waits a cycle more than behind them.
    pub(super) catching: u32,
}

/// Operators of BS or BN of nvdlav1, which each catch a beat in front of them (`NV_NVDLA_SDP_CORE_x.v`, `chn_*_in_wait_dp` of `X_alu`,
/// `X_mul`, `X_trt` and `X_relu`).
const NVDLAV1_OPERATORS: u32 = 4;
/// Pipes of one place, one behind each operator but the last (`chn_alu_out_cns_pipe`, `chn_mul_out_cns_pipe`, `chn_trt_out_cns_pipe`).
const NVDLAV1_PIPES: u32 = NVDLAV1_OPERATORS - 1;

/// Operator that takes an operand from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Alu,
    Multiplier,
}

/// Returns the operators of a stage that take operands, the one that meets them first of BS or BN first.
pub(super) fn operators(operands: OperandStream) -> &'static [Operator] {
    match operands.carries {
        Carries::Alu => &[Operator::Alu],
        Carries::Multiplier => &[Operator::Multiplier],
        Carries::Both => &[Operator::Alu, Operator::Multiplier],
    }
}

impl Registers {
    pub(super) fn and(self, others: Registers) -> Registers {
        Registers {
            with_skid: self.with_skid + others.with_skid,
            without: self.without + others.without,
            caught: self.caught + others.caught,
            catching: self.catching + others.catching,
        }
    }

    /// Returns the number of beats that they hold.
    pub(super) fn held(self) -> u32 {
        2 * self.with_skid + self.without + self.caught
    }

    /// Returns the cycles of a beat's way through them.
    pub(super) fn forward(self) -> u32 {
        self.with_skid + self.without
    }

    /// Returns the cycles from a beat's leaving the last of them until one can enter the first, where they are full.
    pub(super) fn backward(self) -> u32 {
        self.with_skid + self.catching
    }

    /// Returns those from SDP's input to EW, or what is behind it.
    pub(super) fn before_elementwise(layer: &SdpLayer, timing: &SdpTiming) -> Registers {
        // Multiplexers: pipe_p2, and pipe_p1 of what comes from the accumulator (`NV_NVDLA_SDP_cmux`).
        let with_skid = 1 + u32::from(layer.source == SdpSource::Accumulator);
        let [bs, bn] = [&layer.bs, &layer.bn].map(|stage| Registers::of(stage, timing));
        Registers { with_skid, ..Registers::default() }.and(bs).and(bn)
    }

    /// Returns the registers of BS or BN: the first and the last, which pack and unpack, have no skid buffer. On nvdlav1 only the first has one
    /// (`NV_NVDLA_SDP_core`, flop_bs_data_in).
    pub(super) fn of(stage: &Option<Stage>, timing: &SdpTiming) -> Registers {
        match (stage, timing.stage_registers) {
            (None, _) => Registers::default(),
            (Some(_), None) => {
                Registers { with_skid: timing::registers(stage) - 2, without: 2, ..Registers::default() }
            }
            (Some(_), Some(all)) => Registers {
                with_skid: 1,
                without: all - 1,
                caught: NVDLAV1_OPERATORS + NVDLAV1_PIPES,
                catching: NVDLAV1_OPERATORS,
            },
        }
    }

    /// Returns the number of beats from SDP's input to the place where data meets the operands of BS, those of BN, and EW, where nothing moves on.
    pub(super) fn held_before_operands(layer: &SdpLayer, timing: &SdpTiming) -> [u32; 3] {
        let all = Registers::before_elementwise(layer, timing).held();
        let bn = Registers::of(&layer.bn, timing).held();
        let behind = |stage| Registers::behind_operands(stage, timing).map_or(0, Registers::held);
        [all - bn - behind(&layer.bs), all - behind(&layer.bn), all]
    }

    /// Returns those of BS or BN behind the place where data meets the first operands that are read for the layer, if some are.
    pub(super) fn behind_operands(stage: &Option<Stage>, timing: &SdpTiming) -> Option<Registers> {
        let first = operators(stage.as_ref()?.operands?)[0];
        Some(Registers::behind_operator(stage, first, timing))
    }

    /// Returns those of BS or BN behind the place where data meets an operator's operand. On nvdlav1 it is one register behind the data's entry to the
    /// operator, which catches a beat of operands, too: that has left the register in front (`NV_NVDLA_SDP_CORE_x.v`, chn_alu_op_rsci_iswt0,
    /// chn_alu_op_wait_dp).
    pub(super) fn behind_operator(
        stage: &Option<Stage>,
        operator: Operator,
        timing: &SdpTiming,
    ) -> Registers {
        let all = Registers::of(stage, timing);
        let has_alu = stage.is_some_and(|stage| stage.alu.is_some());
        match (timing.stage_registers, operator) {
            (None, Operator::Multiplier) if has_alu => {
                Registers { with_skid: all.with_skid - 2, without: 1, ..all }
            }
            (None, _) => Registers { without: 1, ..all },
            (Some(_), Operator::Alu) => Registers { with_skid: 0, without: all.without - 1, ..all },
            // The ALU's own place, and the one of the pipe behind it, are in front.
            (Some(_), Operator::Multiplier) => Registers {
                with_skid: 0,
                without: all.without - 1 - timing::NVDLAV1_ALU,
                caught: all.caught - 2,
                catching: all.catching - 1,
            },
        }
    }
}

/// Registers on nvdlav1 of EW, where it stands, with the beats in `u_dppack` and `u_dpunpack` (`NV_NVDLA_SDP_CORE_y.v`; seen); of the
/// converter, with the one in front of it (`NV_NVDLA_SDP_core.v`, pipe_p9, `u_c`).
pub(super) const ELEMENTWISE: Registers = Registers { with_skid: 0, without: 6, caught: 0, catching: 5 };
pub(super) const CONVERTER: Registers = Registers { with_skid: 1, without: 4, caught: 1, catching: 1 };
/// Registers between the converter and PDP's datapath on nvdlav1: one of SDP's (`NV_NVDLA_SDP_core.v`, pipe_p11), one of PDP's with a skid
/// buffer, and for each part of a beat a FIFO of four and its output register, whose place is free a cycle after it is left
/// (`NV_NVDLA_PDP_CORE_preproc.v`, `u_ro_fifo_*`).
pub(super) const INTO_PDP: Registers = Registers { with_skid: 1, without: 1 + 4 + 1, caught: 0, catching: 1 };
