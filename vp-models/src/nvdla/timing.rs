//! Clock cycles that each part of the device takes.
//!
//! The mechanisms are in the engines' own `timing` files and in [`crate::bus`]. This module has their
//! parameters, derived from the hardware configuration where the hardware derives them, and otherwise read off
//! the RTL's behaviour. The published RTL exists in two trees that differ in how much latency their read DMAs
//! can hide: [`RtlTree`] selects one.

use super::config::Config;
use super::nocif::Arbitration;
use super::register_variant::RegisterVariant;
use super::rtl_tree::RtlTree;
use crate::bus::axi::IntakeStage::{self, BypassFifo, Fifo, Register, Skid};
use crate::bus::axi::{WriteGathering, WriteLanes, WritePathConfig};
use crate::bus::csb::CsbTiming;

/// The cycles of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The register bus.
    pub csb: CsbTiming,
    /// Registers in which the trees differ.
    pub registers: RegisterVariant,
    /// The arbiters of the memory interfaces.
    pub arbitration: Arbitration,
    /// From the effect of an RDMA's enable bit to its first read address.
    pub dma_start: u32,
    /// Cycles by which an engine may start an atom before its enable bit: the way from there to the first stage that looks at it.
    pub before_enable: u32,
    /// From the taking of data from a latency FIFO to the read address that uses its room.
    pub credit_return: u32,
    /// From the last write acknowledgement of a layer to its interrupt on the pin.
    pub done_to_interrupt: u32,
    /// From reset until the convolution buffer is cleared (`S_CBUF_FLUSH_STATUS`).
    pub cbuf_flush: u32,
    /// The single data point processor.
    pub sdp: SdpTiming,
    /// The planar data processor.
    pub pdp: PdpTiming,
    /// The channel data processor.
    pub cdp: CdpTiming,
    /// The convolution pipeline.
    pub conv: ConvTiming,
    /// The bridge DMA.
    pub bdma: BdmaTiming,
    /// The data reshape engine.
    pub rubik: RubikTiming,
}

/// BDMA's shape in time. Read off its RTL, and off copies on nv_full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BdmaTiming {
    /// From the effect of a launch to the first read address.
    pub launch: u32,
    /// From the taking of a beat out of the latency FIFO to its write address, if that waits for nothing else.
    pub output: u32,
    /// Room of the latency FIFO, in beats of 64 bytes.
    pub credits: u32,
    /// From the last write acknowledgement of a group to its interrupt on the pin.
    pub done_to_interrupt: u32,
}

/// RUBIK's shape in time. Read off its RTL, and off layers on nv_full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RubikTiming {
    /// From an atom's way out of the memory interface's pipes to its write address.
    pub output: u32,
    /// Room of the latency FIFO, in pairs of atoms.
    pub credits: u32,
    /// Blocks of its writes whose beats the memory interface gathers, if it does so.
    pub gathering: Option<WriteGathering>,
    /// From the last atom's way out of these pipes to the effect of the next layer's enable bit.
    pub next_layer: u32,
    /// From the last write acknowledgement of a layer to its interrupt on the pin.
    pub done_to_interrupt: u32,
}

/// The convolution pipeline's shape in time, beyond what its mechanisms say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvTiming {
    /// The time for a change of the banks' use: from CDMA's enable, and from CSC's, until both have agreed on
    /// it.
    pub agreed: (u32, u32),
    /// From the time at which CDMA makes a read of input to its earliest address on the bus.
    pub data_path: u32,
    /// From the time at which CDMA makes a read of weights to its earliest address on the bus.
    pub weight_path: u32,
    /// Cycles of an outstanding request before its address and after its last beat has left the intake, together, as `D_PERF_DAT_READ_LATENCY`
    /// counts.
    pub counted_around: u32,
    /// Places in which input can wait between the bus and CDMA.
    pub data_places: Vec<IntakeStage>,
    /// From a beat of weights on the bus until it is in the buffer.
    pub weight_arrival: u32,
    /// From lines that CSC can use to the interrupt that says so.
    pub data_to_interrupt: u32,
    /// From the last weights that CSC can use to the interrupt that says so.
    pub weight_to_interrupt: u32,
    /// From the start of a stripe's last package to SDP's earliest start with its first atom.
    pub to_sdp: u32,
    /// Credits for results on the way to SDP.
    pub sdp_credits: u32,
    /// Number of results that a credit is for, at most: an atom's, or those that CACC hands over in a cycle.
    pub credit_results: u32,
    /// From SDP's taking the results of a credit until CSC can use it.
    pub credit_return: u32,
    /// Cycles between two atoms that CACC hands to SDP.
    pub cycles_per_atom: u32,
    /// From SDP's taking the last atom to the interrupt.
    pub delivered_to_interrupt: u32,
}

/// SDP's shape in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SdpTiming {
    /// The way of its atoms to the write arbiter, where that is known.
    pub write_path: Option<WritePathConfig>,
    /// Blocks of its writes whose beats the memory interface gathers, if it does so.
    pub gathering: Option<WriteGathering>,
    /// Cycles between the starts of two atoms.
    pub cycles_per_atom: u32,
    /// Cycles between the starts of two atoms when the element-wise stage takes part.
    pub cycles_per_atom_elementwise: u32,
    /// Number of PDP's beats that one of SDP's is.
    pub beat_in_pdp: u32,
    /// Registers of BS, and of BN, where all layers pass the same.
    pub stage_registers: Option<u32>,
    /// From the start of an atom to its write address, stages not counted.
    pub output: u32,
    /// Room of the main input's latency FIFO, in atoms.
    pub main_credits: u32,
    /// Room of the latency FIFO of an operand of BS or BN, in atoms.
    pub operand_credits: u32,
    /// Room of the latency FIFO of an operand of EW, in atoms.
    pub elementwise_credits: u32,
    /// Way of atoms from a latency FIFO to the datapath.
    pub packing: Packing,
    /// Way of operands from there.
    pub operand_packing: Packing,
    /// From the start of an atom to the earliest start of PDP with it, stages not counted.
    pub to_pdp: u32,
    /// Cycles by which the first atom of the next layer can start before a layer's last write address.
    pub next_layer: u32,
    /// From the end of a layer whose output goes to PDP to the earliest start of the next layer's first atom.
    pub next_layer_behind_pdp: u32,
    /// From PDP's start of a layer's last atom until SDP is done with the layer.
    pub taken_by_pdp: u32,
    /// From the start of a layer's last atom until the read DMA's first address of the next layer, if no operands are read.
    pub next_read: u32,
}

/// Way of atoms from a latency FIFO of SDP's to its datapath.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    /// Atoms that are written together, each to its lane.
    pub lanes: u32,
    /// Atoms that a lane holds.
    pub depth: u32,
    /// Atoms that come out of the latency FIFO in a cycle.
    pub atoms_per_cycle: u32,
    /// Words of 16 elements that the registers behind the lanes hold, if lanes are of such words: of what is written together nothing
    /// leaves the latency FIFO before it has room. None: two sets of atoms that are used together.
    pub words_behind: Option<u32>,
}

/// PDP's shape in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdpTiming {
    /// The way of its atoms to the write arbiter, where that is known.
    pub write_path: Option<WritePathConfig>,
    /// Cycles between the starts of two atoms, in and out.
    pub cycles_per_atom: u32,
    /// True if atoms leave the input before their slots where the datapath stands.
    pub goes_ahead: bool,
    /// Cycles from the earliest slot of a layer from memory to that of one from SDP.
    pub opens: u32,
    /// From the slot of an output atom to its write address.
    pub output: u32,
    /// Room of the input's latency FIFO, in atoms.
    pub credits: u32,
    /// Cycles by which that room comes back later than to other read DMAs.
    pub credits_later: u32,
    /// Requests of the read DMA that may be under way.
    pub lines: u32,
    /// From a line's beginning in the datapath until the read address that uses the place of its request, unless that place comes back as the
    /// room of an atom does.
    pub request_return: Option<u32>,
    /// FIFOs of atoms read out of it ahead of the datapath.
    pub read_ahead: ReadAhead,
    /// From the end of the last input atom's slot until the layer is done, if its input is from memory: it is
    /// not done before all is read.
    pub input_to_done: u32,
    /// Cycles by which the first atom of the next layer can start before a layer's last write address.
    pub next_layer: u32,
    /// From the start of a layer's last input atom until the read DMA's first address of the next layer.
    pub next_read: u32,
}

/// FIFOs between PDP's latency FIFO and its datapath.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadAhead {
    /// Number of FIFOs, one for each atom of a beat of the bus.
    pub lanes: u32,
    /// Atoms of each while the datapath takes them.
    pub depth: u32,
    /// Atoms that the register behind holds more between two layers.
    pub between: u32,
    /// From an atom's entering the datapath until its place can be used again.
    pub back: u32,
}

/// CDP's shape in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CdpTiming {
    /// The way of its atoms to the write arbiter, where that is known.
    pub write_path: Option<WritePathConfig>,
    /// Int8 elements that one step takes.
    pub elements_per_step: u32,
    /// From an element's step to the write address of its atom, if square sum and multiplier are bypassed.
    pub output: u32,
    /// Cycles that the square sum adds, the wait for channels behind not counted.
    pub square_sum: u32,
    /// Cycles that the multiplier adds.
    pub multiply: u32,
    /// Cycles that fp16 takes longer, where that was seen.
    pub float: CdpFloatTiming,
    /// Room of the input's latency FIFO, in atoms.
    pub credits: u32,
    /// Cycles by which that room comes back sooner than to other read DMAs.
    pub credits_sooner: u32,
    /// Requests of the read DMA that may be under way.
    pub lines: u32,
    /// From the entry of a transfer's last input element until the read address that uses the place of the next transfer's request, unless that
    /// place comes back as the room of an atom does.
    pub line_return: Option<u32>,
    /// Atoms that its DMAs move at once, each through FIFOs of its own.
    pub beat: u32,
    /// Atoms in such a FIFO between that and the datapath.
    pub spread: u32,
    /// Cycles by which the first atom of the next layer can start before a layer's last write address.
    pub next_layer: u32,
    /// Elements in the registers between those FIFOs and the datapath's first step.
    pub input_places: u32,
    /// From the entry of a layer's last input element into these registers until the read DMA's first address of the next layer.
    pub next_read: u32,
    /// Times at which there is room in the write DMA, if the lack of it can stop the datapath.
    pub write_room: Option<WriteRoom>,
}

/// Cycles that CDP's stages take longer in fp16 than with integers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CdpFloatTiming {
    /// Conversion of the format, which the square sum does where there is one; index, table and interpolation.
    pub lookup: u32,
    /// Square sum, beside that and its sums.
    pub square_sum: u32,
    /// Each sum of two channels more, one on either side of the centre.
    pub sum: u32,
    /// Multiplier.
    pub multiply: u32,
    /// Skid registers, by which a step is delayed later where an element waits for the write DMA: those of conversion and interpolation.
    pub lookup_skids: u32,
    /// Number of the square sum's.
    pub square_sum_skids: u32,
    /// Number of the multiplier's.
    pub multiply_skids: u32,
    /// Results from one that waits for the write DMA to the gap that the interpolation leaves behind it, without the multiplier; 0 for no gap.
    pub to_gap: u32,
}

/// Times at which there is room for the next transfer in the FIFOs of CDP's write DMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteRoom {
    /// From a transfer's last element until its first atom has left and another element can come. RTL, branch `nv_small`,
    /// `NV_NVDLA_CDP_wdma.v`: the command goes one cycle before the atoms, and the FIFO is ready in the cycle behind.
    pub after: u32,
    /// From the earliest step that is delayed because an element waits for the write DMA until that element is written. RTL, `nv_small`: a step is
    /// 25 cycles before its element is at the write DMA, and that it stands there is known five cycles later, a skid register a cycle; `nvdlav1`:
    /// 24 cycles, and six, through the square sum.
    pub behind_datapath: u32,
    /// Skid registers of the square sum's way, by which a step is delayed later where the element goes through it.
    pub square_sum_skids: u32,
    /// Elements that a data FIFO holds, with its output register.
    pub elements: u32,
}

/// Cycles by which nvdlav1 writes an atom later than master: of SDP without stages, and of PDP. Its datapaths compute three formats and have
/// more registers; of a single beat, and measured on int16, whose last beats come in blocks of four and of two.
const NVDLAV1_SDP_LATER: u32 = 3;
const NVDLAV1_PDP_LATER: u32 = 4;
/// Registers of BS and of BN of nvdlav1, whatever they bypass: five each of ALU and multiplier, one each of truncation, ReLU and the output
/// (RTL, `NV_NVDLA_SDP_CORE_x.v`, main_stage_v_4 and chn_out of `X_alu` and `X_mul`, `X_trt`, `X_relu`; `NV_NVDLA_SDP_core.v`, pipe_p8).
const NVDLAV1_STAGE: u32 = 13;
/// Way of atoms from SDP's latency FIFOs on `master` and `nv_small` (RTL, `NV_NVDLA_SDP_RDMA_eg`).
const FOUR_LANES: Packing = Packing { lanes: 4, depth: 1, atoms_per_cycle: 1, words_behind: None };
/// Sums that CACC of nvdlav1 hands over in a cycle, and from a beat of them at SDP until CSC can use its credit.
const NVDLAV1_DELIVERED: u32 = 16;
const NVDLAV1_CREDIT_RETURN: u32 = 10;
/// Cycles by which SDP starts later with the sums of nvdlav1's array.
const NVDLAV1_TO_SDP_LATER: u32 = 8;

impl Timing {
    /// The timing of a configuration as the RTL of `tree` builds it.
    ///
    /// Proven against the RTL for the nv_small family; for other configurations the same mechanisms with the
    /// parameters that these formulas give.
    pub fn of(config: &Config, tree: RtlTree) -> Timing {
        let built = Built { config, tree };
        Timing {
            csb: CsbTiming { group: 4, group_period: 9, group_delay: 5, effect: 14, answer: 5 },
            registers: RegisterVariant::of(config, tree),
            arbitration: Arbitration::of(tree),
            dma_start: built.dma_start(),
            // At least: seen on nv_full, whose scripts enable an engine 20 cycles after its RDMA.
            before_enable: 10,
            credit_return: 14 + 2 * built.fifo(),
            done_to_interrupt: built.done_to_interrupt(),
            cbuf_flush: built.cbuf_flush(),
            sdp: built.sdp(),
            pdp: built.pdp(),
            cdp: built.cdp(),
            bdma: built.bdma(),
            rubik: built.rubik(),
            conv: built.conv(),
        }
    }
}

/// A configuration as the RTL of a tree builds it.
#[derive(Clone, Copy)]
struct Built<'a> {
    config: &'a Config,
    tree: RtlTree,
}

impl Built<'_> {
    /// Bytes of an atom.
    fn atom(self) -> u32 {
        self.config.memory_atom.max(1)
    }

    /// Cycles that an atom takes.
    fn per_atom(self, throughput: u32) -> u32 {
        self.atom().div_ceil(throughput.max(1))
    }

    fn sdp_throughput(self) -> u32 {
        self.config.sdp_max_throughput().max(1)
    }

    /// Atoms of a beat.
    fn beat(self) -> u32 {
        (self.config.primary().width_bytes / self.atom()).max(1)
    }

    /// The depths of master are sized for the memory's latency at the unit's own throughput, as far as
    /// the bus can deliver it; it knows no latency below 64 (`projects.spec`).
    fn credits(self, throughput: u32) -> u32 {
        let bus = self.config.primary().width_bytes;
        let latency = self.config.primary_latency.max(64);
        (latency * throughput.min(bus / 4)).div_ceil(self.atom()).max(4)
    }

    /// Credits of so many beats, where they do not follow from a unit's throughput.
    fn credits_or(self, beats: u32, throughput: u32) -> u32 {
        match self.tree {
            RtlTree::NvSmall | RtlTree::Nvdlav1 => beats * self.beat(),
            RtlTree::Master => self.credits(throughput),
        }
    }

    /// nv_small has a FIFO more on the way of reads and of their data, and a register of SDP at another place.
    fn fifo(self) -> u32 {
        u32::from(self.tree != RtlTree::Master)
    }

    /// Returns the cycles by which an atom of PDP, and on nv_small of CDP, is written later than on master.
    fn later(self) -> u32 {
        match self.tree {
            RtlTree::NvSmall => 3,
            RtlTree::Nvdlav1 => NVDLAV1_PDP_LATER,
            RtlTree::Master => 0,
        }
    }

    /// Half of the buffer's entries, times the parts in which an entry comes: a counter runs until its highest bit is set
    /// (`NV_NVDLA_CDMA_cvt.v`, `dat_cbuf_flush_idx[${bank_entry_bw}+$k-1]`). A part is as wide as the wider memory interface, or an atom
    /// (`projects.spec`, `NVDLA_MEMIF_WIDTH`).
    fn cbuf_flush(self) -> u32 {
        let config = self.config;
        let entries = config.cbuf_bytes() / config.cbuf_entry_bytes().max(1);
        let secondary = config.secondary().map_or(0, |interface| interface.width_bytes);
        let width = config.primary().width_bytes.max(secondary).max(self.atom());
        let parts = (config.cbuf_entry_bytes() / width).max(1);
        1 << (entries.max(2).ilog2() + parts.ilog2() - 1)
    }

    fn dma_start(self) -> u32 {
        match self.tree {
            RtlTree::NvSmall => 7,
            RtlTree::Nvdlav1 => 8,
            RtlTree::Master => 6,
        }
    }

    fn done_to_interrupt(self) -> u32 {
        if self.tree == RtlTree::Nvdlav1 { 12 } else { 11 }
    }

    /// The way of a write client's atoms to the arbiter, if each is a burst of one beat; behind these places between engine and DMAIF.
    ///
    /// RTL, branch nv_small: `NV_NVDLA_NOCIF_DRAM_WRITE_IG_bpt.v`, pipe_p1 and p2 without a skid register, its dfifo with the registers
    /// around it; `_arb.v`, pipe_p1 with its skid register. `master`: `NV_NVDLA_MCIF_WRITE_IG_bpt.v`, pipes of two items each, for data as well;
    /// `_arb.v`, one command. Nvdlav1 gathers up to four beats ([`WriteGathering`](crate::bus::axi::WriteGathering)).
    fn write_path(self, lanes: WriteLanes) -> Option<WritePathConfig> {
        // A layer writes to either memory.
        let mut interfaces = std::iter::once(self.config.primary()).chain(self.config.secondary());
        let is_single = interfaces.all(|it| it.max_burst == 1 && it.width_bytes == self.atom());
        match self.tree {
            RtlTree::NvSmall if is_single => {
                Some(WritePathConfig { register: 1, data: 4, header: 2, commands: 2, lanes })
            }
            RtlTree::Master if is_single => {
                Some(WritePathConfig { register: 2, data: 2, header: 1, commands: 1, lanes })
            }
            _ => None,
        }
    }

    /// The FIFO of PDP's and CDP's write DMA. An atom's elements enter it one after the other, the first two cycles behind the one that leaves, and
    /// the atom goes to DMAIF two cycles behind its last (RTL, `NV_NVDLA_PDP_wdma.v`, `_PDP_WDMA_dat.v`; `NV_NVDLA_CDP_wdma.v`).
    fn write_fifo(self, atoms: u32, throughput: u32) -> Option<WritePathConfig> {
        // So many and an output register.
        let count = if self.tree == RtlTree::Master { 33 } else { atoms + 1 };
        self.write_path(WriteLanes { count, by_line: false, refill: self.per_atom(throughput) + 3 })
    }

    fn sdp(self) -> SdpTiming {
        let Built { config, tree } = self;
        let (beat, throughput) = (self.beat(), self.sdp_throughput());
        let cycles_per_atom = self.per_atom(throughput);
        // How many cycles later than on master an atom is written.
        let later = match tree {
            RtlTree::NvSmall => 3,
            RtlTree::Nvdlav1 => NVDLAV1_SDP_LATER,
            RtlTree::Master => 0,
        };
        let operand_credits = self.credits_or(160, 4 * config.sdp_bs_throughput);
        SdpTiming {
            cycles_per_atom,
            cycles_per_atom_elementwise: self.per_atom(config.sdp_ew_throughput).max(cycles_per_atom),
            beat_in_pdp: (throughput / config.pdp_throughput.max(1)).max(1),
            stage_registers: (tree == RtlTree::Nvdlav1).then_some(NVDLAV1_STAGE),
            output: 22 + cycles_per_atom + later,
            // RTL: `NV_NVDLA_SDP_WDMA_DAT_in.v`, an atom in each of four lanes.
            write_path: self.write_path(WriteLanes { count: 4, by_line: true, refill: 2 }),
            gathering: self.gathering(),
            main_credits: self.credits_or(80, throughput),
            operand_credits,
            // RTL, branch nvdlav1, `NV_NVDLA_MCIF_READ_ig.v`: 80 for EW, 160 for the others.
            elementwise_credits: if tree == RtlTree::Nvdlav1 { 80 * beat } else { operand_credits },
            packing: match tree {
                // A beat goes to lanes of its own, an atom each (RTL, `NV_NVDLA_SDP_MRDMA_EG_din.v`).
                RtlTree::Nvdlav1 => {
                    Packing { lanes: beat, depth: 4, atoms_per_cycle: beat, words_behind: None }
                }
                _ => FOUR_LANES,
            },
            operand_packing: match tree {
                // RTL, `NV_NVDLA_SDP_BRDMA_eg.v`, lat_ecc_rd_prdy; `_EG_ro.v`, rod0_wr_prdy, out_rdy.
                RtlTree::Nvdlav1 => {
                    Packing { lanes: beat, depth: 3, atoms_per_cycle: beat, words_behind: Some(3) }
                }
                _ => FOUR_LANES,
            },
            // An SDP that is faster than one element a cycle has one more register towards PDP, but on nvdlav1.
            to_pdp: 5 + u32::from(throughput > 1 && tree != RtlTree::Nvdlav1),
            // RTL: op_en_load comes 5 cycles after the last data has gone to the write DMA (`NV_NVDLA_SDP_WDMA_DAT_out`,
            // layer_done; `NV_NVDLA_SDP_reg`, reg2dp_op_en_reg), 4 before its address on nv_small. On nvdlav1 layer_done comes a cycle before the
            // data, and CACC's next beat is taken six behind it, three before the address.
            next_layer: 10 + if tree == RtlTree::Nvdlav1 { later - 1 } else { later },
            // RTL: done (dp2reg_done) is 8 cycles behind the end as it counts here, op_en_load 5 behind that, and the start of an
            // atom, as it counts here, 10 before its first element waits for it (nv_small: `NV_NVDLA_SDP_core`, sdp_mrdma_data_in). On nvdlav1
            // CACC's next beat is taken six behind done, and its start counts 9 before it.
            next_layer_behind_pdp: if tree == RtlTree::Nvdlav1 { 5 } else { 3 },
            // RTL: done two cycles after PDP has taken the last element, seen (`NV_NVDLA_SDP_core`, dp2reg_done).
            taken_by_pdp: 4 + cycles_per_atom,
            // RTL, nv_small: 5 from the last atom's acceptance to op_load (`NV_NVDLA_SDP_MRDMA_EG_dout`, eg_done;
            // `NV_NVDLA_SDP_mrdma`, op_load), 8 from there to the address. On master as CDP's, seen on nv_large.
            next_read: 20 + 2 * self.fifo(),
        }
    }

    fn pdp(self) -> PdpTiming {
        let cycles_per_atom = self.per_atom(self.config.pdp_throughput);
        PdpTiming {
            cycles_per_atom,
            // Looked at on nvdlav1 alone.
            goes_ahead: self.tree == RtlTree::Nvdlav1,
            // RTL: SDP's beat is held outside `NV_NVDLA_PDP_CORE_preproc.v` (waiting_for_op_en) and passes a register there.
            opens: u32::from(self.tree == RtlTree::Nvdlav1),
            output: 31 + cycles_per_atom + self.later(),
            write_path: self.write_fifo(4, self.config.pdp_throughput),
            credits: self.credits_or(61, self.config.pdp_throughput),
            // Seen: of each address in the logs of nv_small, and of layers on nv_small_256_full.
            credits_later: u32::from(self.tree != RtlTree::NvSmall),
            // RTL: depth of `NV_NVDLA_PDP_RDMA_cq`, and the request whose atoms are being taken.
            lines: if self.tree == RtlTree::Master { 257 } else { 17 },
            // RTL, nvdlav1: the queue is read a cycle before the line's first element (`NV_NVDLA_PDP_RDMA_eg`, tran_accept), ten before the
            // address. Elsewhere it was not looked at.
            request_return: (self.tree == RtlTree::Nvdlav1).then_some(20),
            read_ahead: self.pdp_read_ahead(cycles_per_atom),
            // Seen where no window reads the last input; RTL: `NV_NVDLA_PDP_wdma`, waiting_rdma.
            input_to_done: 8 + self.fifo(),
            next_layer: 11 + self.later(),
            // Seen; of it 12 are from the last element to the address (`NV_NVDLA_PDP_rdma`, dp2reg_done, op_load), on nvdlav1 13. On master as
            // CDP's.
            next_read: 20 + 2 * self.fifo() + cycles_per_atom + u32::from(self.tree == RtlTree::Nvdlav1),
        }
    }

    /// The FIFOs of `NV_NVDLA_PDP_RDMA_eg` (`NV_NVDLA_PDP_RDMA_ro_fifo`).
    fn pdp_read_ahead(self, cycles_per_atom: u32) -> ReadAhead {
        match self.tree {
            RtlTree::NvSmall => ReadAhead { lanes: 1, depth: 4, between: 1, back: 1 },
            RtlTree::Master => ReadAhead { lanes: 1, depth: 32, between: 1, back: 1 },
            // An atom lies in the FIFOs of its parts; its place is free behind the last of these (ro0_wr_rdy, ro1_wr_rdy).
            RtlTree::Nvdlav1 => ReadAhead { lanes: self.beat(), depth: 4, between: 0, back: cycles_per_atom },
        }
    }

    fn cdp(self) -> CdpTiming {
        let is_master = self.tree == RtlTree::Master;
        // Cycles by which an atom is written later than on master: not on nvdlav1, seen.
        let later = if self.tree == RtlTree::NvSmall { self.later() } else { 0 };
        CdpTiming {
            elements_per_step: self.config.cdp_throughput.max(1),
            output: 39 + later,
            write_path: self.write_fifo(8, self.config.cdp_throughput),
            square_sum: 9,
            multiply: 1,
            // RTL, nvdlav1, its signals: conversion 1, `NV_NVDLA_CDP_DP_LUT_ctrl` 2, `_lut` 1, `_intp` 11; `_sum`, `fp_sum_block`; `_mul`.
            float: match self.tree {
                // `NV_NVDLA_CDP_DP_INTP_unit` has 18 elements of those behind the one at its output, and 8 go from there to the write DMA.
                RtlTree::Nvdlav1 => CdpFloatTiming {
                    lookup: 15,
                    square_sum: 4,
                    sum: 4,
                    multiply: 2,
                    lookup_skids: 3,
                    square_sum_skids: 2,
                    multiply_skids: 1,
                    to_gap: 26,
                },
                _ => CdpFloatTiming::default(),
            },
            credits: self.credits_or(61, self.config.cdp_throughput),
            // RTL, nvdlav1: 8 cycles from the bus to the output of `NV_NVDLA_CDP_RDMA_lat_fifo`, 7 from there to the address; its signals.
            credits_sooner: u32::from(self.tree == RtlTree::Nvdlav1),
            // RTL: depth of `NV_NVDLA_CDP_RDMA_cq`, and the request whose atoms are being taken.
            lines: if is_master { 257 } else { 33 },
            // RTL, nvdlav1: the queue is read with that element (`NV_NVDLA_CDP_RDMA_eg`, tran_accept), 9 cycles before the address; it is at the
            // FIFOs' output 8 after its entry, as that counts here. Elsewhere it was not looked at.
            line_return: (self.tree == RtlTree::Nvdlav1).then_some(17),
            beat: if self.tree == RtlTree::Nvdlav1 { self.beat() } else { 1 },
            // RTL: `NV_NVDLA_CDP_RDMA_ro_fifo` of eight, on master 32, on nvdlav1 four, and an output register.
            spread: match self.tree {
                RtlTree::NvSmall => 9,
                RtlTree::Master => 33,
                RtlTree::Nvdlav1 => 5,
            },
            // RTL, nvdlav1: op_en comes 4 cycles behind the last beat (`NV_NVDLA_CDP_wdma`, op_done), 6 before its address, and in the next an
            // element may pass `NV_NVDLA_CDP_DP_nan`, waiting_for_op_en.
            next_layer: 11 + later,
            // RTL: `NV_NVDLA_CDP_DP_cvtin`, pipe_p1 to p3, on master with a skid register each; the register in front of
            // `NV_NVDLA_CDP_DP_bufferin`, with one where a step has several elements (`_tp1` has none). One more was seen.
            input_places: match self.tree {
                // RTL: pipe_p3 of `NV_NVDLA_CDP_RDMA_eg.v`, one register of `NV_NVDLA_CDP_DP_nan.v`, three of `_cvtin.v`, and pipe_p1 of
                // `_bufferin.v`; the first and the last have a skid register.
                RtlTree::Nvdlav1 => 8,
                _ => 5 + if is_master { 3 } else { 0 } + u32::from(self.config.cdp_throughput > 1),
            },
            // RTL, nv_small: 12 from the last element to the address (`NV_NVDLA_CDP_RDMA_eg`, dp2reg_done; `NV_NVDLA_CDP_rdma`, op_load), 10
            // from a step, as it counts here, to the element. On master each is one less, as `credit_return`; on nvdlav1 13 and 8.
            next_read: 20 + 2 * self.fifo() - u32::from(self.tree == RtlTree::Nvdlav1),
            write_room: self.cdp_write_room(),
        }
    }

    fn cdp_write_room(self) -> Option<WriteRoom> {
        let room = WriteRoom { after: 2, behind_datapath: 20, square_sum_skids: 0, elements: 9 };
        match self.tree {
            RtlTree::NvSmall => Some(room),
            // RTL, `NV_NVDLA_CDP_wdma.v`: dat0_fifo0 to 3 and dat1_fifo0 to 3, of three elements each and one in an output register. The skid
            // registers are pipe_p1 and p2 of `NV_NVDLA_CDP_DP_bufferin.v` and pipe_p2 of `NV_NVDLA_CDP_DP_sum.v`.
            RtlTree::Nvdlav1 => Some(WriteRoom { square_sum_skids: 3, elements: 4, ..room }),
            // Not seen on master, whose write DMA was not looked at.
            RtlTree::Master => None,
        }
    }

    fn bdma(self) -> BdmaTiming {
        let is_nvdlav1 = self.tree == RtlTree::Nvdlav1;
        BdmaTiming {
            // Two registers fewer before the way of any read than an RDMA has; seen on nv_full.
            launch: self.dma_start() - 2,
            // Of nvdlav1 seen; elsewhere the registers on the way.
            output: if is_nvdlav1 { 17 } else { 6 },
            credits: 245,
            done_to_interrupt: 11,
        }
    }

    /// Returns the blocks of writes whose beats the memory interface gathers: on nvdlav1.
    fn gathering(self) -> Option<WriteGathering> {
        WriteGathering::of_atoms(self.config.primary().width_bytes, self.atom())
            .filter(|_| self.tree == RtlTree::Nvdlav1)
    }

    fn rubik(self) -> RubikTiming {
        let is_nvdlav1 = self.tree == RtlTree::Nvdlav1;
        RubikTiming {
            // Of nvdlav1 seen; elsewhere the registers on the way.
            output: if is_nvdlav1 { 15 } else { 1 },
            credits: 80,
            gathering: self.gathering(),
            // Its enable bit is seen five cycles behind dp2reg_done, which comes three before (`NV_NVDLA_RUBIK_wr_req.v`, `_dual_reg.v`); and the
            // way of the data from memory to the register file, which `output` has in it.
            next_layer: if is_nvdlav1 { 2 + 7 } else { 2 },
            // One register less than an engine with a write DMA of its own (`NV_NVDLA_RUBIK_intr.v`).
            done_to_interrupt: self.done_to_interrupt() - u32::from(is_nvdlav1),
        }
    }

    fn conv(self) -> ConvTiming {
        let Built { config, tree } = self;
        // What a read of CDMA takes longer to the bus than on master.
        let request_path = match tree {
            RtlTree::Master => 0,
            RtlTree::NvSmall => 1,
            RtlTree::Nvdlav1 => 3,
        };
        // Cycles in which CACC hands over the sums of an atom.
        let handover = config.mac_atomic_k.div_ceil(self.sdp_throughput());
        let by_beat = tree == RtlTree::Nvdlav1;
        ConvTiming {
            agreed: (6, 4),
            // Seen on nvdlav1, where input is asked for two cycles behind weights.
            data_path: if by_beat { 8 } else { 7 + request_path },
            weight_path: 6 + request_path,
            counted_around: 7 + request_path,
            data_places: match tree {
                RtlTree::NvSmall => vec![BypassFifo(4), Fifo(2), Fifo(2), Skid, Skid, Skid],
                // `NV_NVDLA_MCIF_READ_eg.v`, ro8_fifo0 with its output register, and pipe_p10; `NV_NVDLA_CDMA_dma_mux.v`, pipe_p3;
                // `NV_NVDLA_CDMA_dc.v`, pipe_p3: registers that catch a beat (skid_catch).
                RtlTree::Nvdlav1 => vec![BypassFifo(4), Fifo(2), Fifo(2), Fifo(2), Fifo(2)],
                RtlTree::Master => vec![Register, Skid, Skid, Skid],
            },
            weight_arrival: match tree {
                RtlTree::Master => 8,
                RtlTree::NvSmall => 9,
                // CSC has the kernels 10 cycles behind their last beat (seen at cdma2sc_wt_updt).
                RtlTree::Nvdlav1 => 5,
            },
            data_to_interrupt: 4,
            weight_to_interrupt: 12,
            to_sdp: match tree {
                RtlTree::NvSmall => 28,
                RtlTree::Master => 29,
                // Read off one convolution, of a position and 16 kernels.
                RtlTree::Nvdlav1 => 29 + NVDLAV1_TO_SDP_LATER,
            },
            // nvdlav1: a credit for each beat of 16 sums (RTL, `NV_NVDLA_CSC_sg.v`, credit_cnt, 256 of them, dat_impact_cnt;
            // `NV_NVDLA_CACC_delivery_ctrl.v`, accu2sc_credit_size).
            sdp_credits: match tree {
                RtlTree::Nvdlav1 => 256,
                _ => config.mac_atomic_k * (config.mac_atomic_c / config.mac_atomic_k.max(1)).clamp(2, 4),
            },
            credit_results: if by_beat { NVDLAV1_DELIVERED } else { config.memory_atom },
            // RTL of both trees: CSC can issue a package 47 cycles after the last package of a stripe whose first atom SDP
            // then takes at once, where CACC hands over an element a cycle (`NV_NVDLA_CACC_delivery_buffer`,
            // `accu2sc_credit_vld` with an atom's last elements; `NV_NVDLA_CSC_sg`, `credit_vld`, `credit_cnt`).
            credit_return: if by_beat { NVDLAV1_CREDIT_RETURN } else { handover + 10 + self.fifo() },
            // nvdlav1 hands over a beat in each cycle, and stands between atoms for nothing (`NV_NVDLA_CACC_delivery_ctrl.v`, dlv_pop).
            cycles_per_atom: if by_beat { 1 } else { handover + 1 },
            // RTL: a register behind the hand-over of the last element (`NV_NVDLA_CACC_delivery_buffer`, cacc_done_intr), from where SDP's start
            // is a cycle farther on nv_small, as it is to `to_sdp`.
            delivered_to_interrupt: handover
                + 3
                + self.done_to_interrupt()
                + u32::from(tree == RtlTree::NvSmall),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_give_the_depths_and_delays_seen_on_the_rtl() {
        let of = |name: &str, tree| Timing::of(&Config::named(name).unwrap(), tree);
        let small = of("nv_small", RtlTree::NvSmall);
        assert_eq!((small.sdp.output, small.pdp.output, small.sdp.main_credits), (33, 42, 80));
        // RTL: a layer of SDP behind one to PDP has its address in cycle 183, PDP's in 177.
        let behind_pdp = small.sdp.taken_by_pdp + small.sdp.next_layer_behind_pdp;
        assert_eq!(behind_pdp, (183 - small.sdp.output) - (177 - small.pdp.output));
        let cleared = ["nv_small", "nv_large", "nv_full"].map(|name| of(name, RtlTree::Nvdlav1).cbuf_flush);
        assert_eq!(cleared, [8192, 4096, 4096]);
        let master = of("nv_small", RtlTree::Master);
        assert_eq!((master.sdp.output, master.pdp.output), (30, 39));
        assert_eq!((master.sdp.main_credits, master.sdp.operand_credits, master.pdp.credits), (8, 16, 8));
        let full = of("nv_small_256_full", RtlTree::Master);
        assert_eq!((full.sdp.cycles_per_atom, full.sdp.cycles_per_atom_elementwise), (4, 8));
        assert_eq!((full.sdp.output, full.sdp.main_credits, full.sdp.operand_credits), (26, 16, 16));
    }
}
