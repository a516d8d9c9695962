//! A layer without time: the same registers decoded, the same bytes read from the same RAM, the same arithmetic, the same
//! bytes written. What is left out is when anything happens.

use std::collections::HashMap;
use std::rc::Rc;

use vp_models::memory::Ram;
use vp_models::nvdla::config::Config;
use vp_models::nvdla::conv::compute::{Convolution, MacArray, PackedWeights, Window};
use vp_models::nvdla::conv::elements::Elements;
use vp_models::nvdla::conv::{cacc, cdma, csc, hardware};
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::registers::{Group, RegisterMap, Unit};
use vp_models::nvdla::sdp;
use vp_models::nvdla::sdp::atom::AtomOperands;
use vp_models::nvdla::sdp::compute::Datapath;
use vp_models::nvdla::sdp::layer::Destination;
use vp_models::nvdla::sdp::lut::Tables;
use vp_tests::program::Program;

/// Kernels whose sums are computed at once: those that the timed model computes together.
const KERNELS_AT_ONCE: usize = 64;

/// One hardware layer of int8, as the units' registers describe it.
pub(crate) struct Functional {
    ram: Rc<Ram>,
    cdma: cdma::layer::CdmaLayer,
    csc: csc::layer::CscLayer,
    cacc: cacc::layer::CaccLayer,
    sdp: sdp::layer::SdpLayer,
    tables: Tables,
}

impl Functional {
    /// Of a program that writes one layer.
    pub(crate) fn new(config: &Config, map: RegisterMap, program: &Program, ram: Rc<Ram>) -> Functional {
        let mut groups = HashMap::new();
        for write in &program.writes {
            let group = groups.entry(write.unit).or_insert_with(|| Group::new(write.unit, map));
            group.set_word(write.register, write.value);
        }
        let of = |unit: Unit| groups.get(&unit).cloned().unwrap_or_else(|| Group::new(unit, map));
        let hardware = hardware::Hardware::from(config);
        let sdp_hardware = sdp::layer::Hardware::from(config);
        let cdma = cdma::layer::CdmaLayer::decode(&of(Unit::Cdma), &hardware).expect("a layer of CDMA");
        let mut csc = csc::layer::CscLayer::decode(&of(Unit::Csc), &hardware).expect("a layer of CSC");
        if csc.is_image {
            // How wide an image's lines are in the buffer CDMA says.
            csc.frame.width = cdma.input.line_elements() / csc.frame.channels.max(1);
        }
        Functional {
            ram,
            cdma,
            csc,
            cacc: cacc::layer::CaccLayer::decode(&of(Unit::Cacc), &hardware).expect("a layer of CACC"),
            sdp: sdp::layer::SdpLayer::decode(&of(Unit::Sdp), &of(Unit::SdpRdma), &sdp_hardware)
                .expect("a layer of SDP"),
            tables: Tables::default(),
        }
    }

    /// Runs it.
    pub(crate) fn run(&self) {
        let Functional { csc, .. } = self;
        let (window, positions) = (self.window(), csc.positions() as usize);
        let Elements::Int8(elements) = &window else { unreachable!("a layer of int8") };
        let groups = (KERNELS_AT_ONCE as u32).div_ceil(csc.group_kernels);
        let mut sums = Vec::new();
        for first in (0..csc.groups()).step_by(groups as usize) {
            let batch = first..csc.groups().min(first + groups);
            let weights = self.weights(batch.clone());
            let kernels = weights.kernels();
            sums.resize(positions * kernels, 0);
            let window = Window { elements, pitch: csc.frame.pitch() };
            let convolution = Convolution::new(csc.geometry, window, &weights).expect("one kernel");
            MacArray::default()
                .accumulate(&convolution, 0..positions, 0..kernels, &mut sums)
                .expect("all is there");
            self.cacc.clip_narrow(&mut sums);
            self.deliver(batch.start * csc.group_kernels, kernels, &sums);
        }
    }

    /// The input with its padding.
    fn window(&self) -> Elements {
        let input = &self.cdma.input;
        let mut bytes = vec![0; input.bytes(0, 1)];
        let lines: Vec<Elements> = (0..input.height())
            .flat_map(|line| {
                for read in input.reads(line, 1) {
                    let place = &mut bytes[read.at..read.at + read.bytes as usize];
                    self.ram.read(read.address, place).expect("in memory");
                }
                self.cdma.lines(line, 1, &bytes)
            })
            .collect();
        self.csc.frame.lay(0, lines.iter())
    }

    /// The weights of some groups of kernels, packed.
    fn weights(&self, groups: std::ops::Range<u32>) -> PackedWeights<i8> {
        let csc = &self.csc;
        let mut start = groups.start.checked_sub(1).map_or(0, |before| csc.weights_end(before));
        let mut kernels = 0;
        let ordered = groups.map(|group| {
            let mut bytes = vec![0; (csc.weights_end(group) - start) as usize];
            self.ram.read(self.cdma.weights.base + start, &mut bytes).expect("in memory");
            start = csc.weights_end(group);
            kernels += csc.kernels_of(group) as usize;
            csc.order.unpack(csc.kernels_of(group) as usize, &Elements::from_bytes(Precision::Int8, &bytes))
        });
        let ordered = Elements::joined(Precision::Int8, ordered);
        let Elements::Int8(ordered) = &ordered else { unreachable!("a layer of int8") };
        PackedWeights::pack(csc.geometry.kernel, kernels, ordered).expect("weights of that kernel")
    }

    /// SDP's part of some kernels, surface by surface.
    fn deliver(&self, first: u32, kernels: usize, sums: &[i32]) {
        let sdp = &self.sdp;
        let (lanes, atom) = (sdp.lanes(), sdp.atom);
        let Destination::Memory(to) = sdp.destination else { unreachable!("results go to memory") };
        let datapath = Datapath::new(sdp, &self.tables);
        let positions = sums.len() / kernels;
        let (mut values, mut output) = (vec![0; positions * lanes], vec![0; positions * atom]);
        for start in (0..kernels).step_by(lanes) {
            let columns = start..kernels.min(start + lanes);
            for (value, sums) in values.chunks_exact_mut(lanes).zip(sums.chunks_exact(kernels)) {
                value[..columns.len()].copy_from_slice(&sums[columns.clone()]);
            }
            let surface = (first as usize + start) / lanes;
            let operands = sdp.bs.and_then(|stage| stage.operands).map_or(Vec::new(), |operands| {
                let mut bytes = vec![0; operands.group_bytes(lanes)];
                let at = operands.surface.address(surface as u32, 0, 0);
                self.ram.read(at, &mut bytes).expect("in memory");
                bytes
            });
            let operands = AtomOperands { bs: &operands, ..AtomOperands::default() };
            datapath.accumulator_atoms(&mut values, &operands, &mut output);
            for (y, line) in (0..).zip(output.chunks_exact(sdp.width as usize * atom)) {
                self.ram.write(to.address(surface as u32, 0, y), line).expect("in memory");
            }
        }
    }
}
