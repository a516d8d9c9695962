//! Tests of the layers that registers become, and of what is refused.

use super::*;
use crate::nvdla::cube::Ram;
use crate::nvdla::formats::Formats;
use crate::nvdla::registers::{RegisterMap, Unit};

const SMALL: Hardware = Hardware {
    atom: 8,
    bs: true,
    bn: true,
    ew: false,
    lut: false,
    formats: Formats::INT8,
    winograd: false,
    batches: 1,
};
const WITH_EW: Hardware = Hardware { ew: true, lut: true, ..SMALL };

/// A cube of 5 x 4 x 21 from memory to memory, all stages bypassed.
fn groups() -> (Group, Group) {
    let mut sdp = Group::new(Unit::Sdp, RegisterMap::Small);
    let mut rdma = Group::new(Unit::SdpRdma, RegisterMap::Small);
    sdp.set_actual(reg::D_DATA_CUBE_WIDTH::WIDTH, 5);
    sdp.set_actual(reg::D_DATA_CUBE_HEIGHT::HEIGHT, 4);
    sdp.set_actual(reg::D_DATA_CUBE_CHANNEL::CHANNEL, 21);
    sdp.set(reg::D_DST_BASE_ADDR_LOW::DST_BASE_ADDR_LOW, 0x8040_0000);
    sdp.set(reg::D_DST_LINE_STRIDE::DST_LINE_STRIDE, 0x28);
    sdp.set(reg::D_DST_SURFACE_STRIDE::DST_SURFACE_STRIDE, 0xa0);
    sdp.set(reg::D_CVT_SCALE::CVT_SCALE, 1);
    rdma.set_actual(rdma_reg::D_DATA_CUBE_WIDTH::WIDTH, 5);
    rdma.set_actual(rdma_reg::D_DATA_CUBE_HEIGHT::HEIGHT, 4);
    rdma.set_actual(rdma_reg::D_DATA_CUBE_CHANNEL::CHANNEL, 21);
    rdma.set_word(rdma_reg::D_FEATURE_MODE_CFG, 0);
    rdma.set(rdma_reg::D_SRC_BASE_ADDR_LOW::SRC_BASE_ADDR_LOW, 0x8000_0000);
    rdma.set(rdma_reg::D_SRC_DMA_CFG::SRC_RAM_TYPE, 1);
    (sdp, rdma)
}

/// The groups, with BN taking both operands, two bytes each, from memory.
fn with_bn_operands(per_element: bool) -> (Group, Group) {
    let (mut sdp, mut rdma) = groups();
    sdp.set_word(reg::D_DP_BN_CFG, 0);
    sdp.set(reg::D_DP_BN_ALU_CFG::BN_ALU_SRC, 1);
    sdp.set(reg::D_DP_BN_MUL_CFG::BN_MUL_SRC, 1);
    rdma.set_word(rdma_reg::D_NRDMA_CFG, 0x2c | u32::from(per_element) << 4);
    rdma.set(rdma_reg::D_BN_BASE_ADDR_LOW::BN_BASE_ADDR_LOW, 0x8060_0000);
    rdma.set(rdma_reg::D_BN_LINE_STRIDE::BN_LINE_STRIDE, 0xa0);
    rdma.set(rdma_reg::D_BN_SURFACE_STRIDE::BN_SURFACE_STRIDE, 0x280);
    (sdp, rdma)
}

fn refusal(sdp: &Group, rdma: &Group) -> String {
    SdpLayer::decode(sdp, rdma, &SMALL).expect_err("refused").to_string()
}

#[test]
fn reads_a_copy_from_the_registers() {
    let (sdp, rdma) = groups();
    let layer = SdpLayer::decode(&sdp, &rdma, &SMALL).unwrap();
    assert_eq!((layer.width, layer.height, layer.surfaces(), layer.lanes()), (5, 4, 3, 8));
    assert_eq!((layer.bs, layer.bn, layer.ew), (None, None, None));
    let SdpSource::Memory(source) = layer.source else { panic!("{:?}", layer.source) };
    let Destination::Memory(destination) = layer.destination else { panic!("{:?}", layer.destination) };
    assert_eq!((source.ram, source.base), (Ram::Primary, 0x8000_0000));
    assert_eq!(destination.address(2, 3, 1), 0x8040_0000 + 2 * 0xa0 + 0x28 + 3 * 8);
}

#[test]
fn operands_of_an_element_lie_together() {
    let (sdp, rdma) = with_bn_operands(true);
    let stream = SdpLayer::decode(&sdp, &rdma, &SMALL).unwrap().bn.unwrap().operands.unwrap();
    assert_eq!((stream.element_bytes(), stream.group_bytes(8)), (4, 32));
    assert_eq!(stream.surface.address(1, 2, 3), 0x8060_0000 + 0x280 + 3 * 0xa0 + 2 * 32);
}

#[test]
fn operands_of_channels_are_packed() {
    let (sdp, rdma) = with_bn_operands(false);
    let stream = SdpLayer::decode(&sdp, &rdma, &SMALL).unwrap().bn.unwrap().operands.unwrap();
    assert_eq!(stream.surface.address(2, 4, 3), 0x8060_0000 + 2 * 32);
}

#[test]
fn cubes_of_one_pixel_are_packed() {
    let (mut sdp, mut rdma) = groups();
    for (group, width, height) in [
        (&mut sdp, reg::D_DATA_CUBE_WIDTH::WIDTH, reg::D_DATA_CUBE_HEIGHT::HEIGHT),
        (&mut rdma, rdma_reg::D_DATA_CUBE_WIDTH::WIDTH, rdma_reg::D_DATA_CUBE_HEIGHT::HEIGHT),
    ] {
        group.set_actual(width, 1);
        group.set_actual(height, 1);
    }
    let layer = SdpLayer::decode(&sdp, &rdma, &SMALL).unwrap();
    let Destination::Memory(destination) = layer.destination else { panic!("{:?}", layer.destination) };
    assert_eq!(destination.address(2, 0, 0), 0x8040_0000 + 16);
}

#[test]
fn stages_the_hardware_lacks_are_bypassed() {
    let (mut sdp, rdma) = groups();
    // Would need operands that ERDMA, disabled, does not fetch.
    sdp.set_word(reg::D_DP_EW_CFG, 0);
    sdp.set(reg::D_DP_EW_ALU_CFG::EW_ALU_SRC, 1);
    assert_eq!(SdpLayer::decode(&sdp, &rdma, &SMALL).unwrap().ew, None);
    assert!(SdpLayer::decode(&sdp, &rdma, &WITH_EW).is_err());
}

#[test]
fn a_fused_layer_without_operands_does_not_look_at_the_rdma() {
    let (mut sdp, _) = groups();
    sdp.set(reg::D_FEATURE_MODE_CFG::FLYING_MODE, 1);
    let untouched = Group::new(Unit::SdpRdma, RegisterMap::Small);
    let layer = SdpLayer::decode(&sdp, &untouched, &SMALL).unwrap();
    assert_eq!((layer.source, layer.uses_rdma()), (SdpSource::Accumulator, false));
    assert!(!SdpLayer::needs_rdma(&sdp, &SMALL));
}

#[test]
fn refuses_an_rdma_that_reads_another_cube() {
    let (sdp, mut rdma) = groups();
    rdma.set_actual(rdma_reg::D_DATA_CUBE_HEIGHT::HEIGHT, 5);
    assert_eq!(
        refusal(&sdp, &rdma),
        "SDP_RDMA.D_DATA_CUBE_HEIGHT.HEIGHT = 0x4: SDP.D_DATA_CUBE_HEIGHT.HEIGHT is 0x3"
    );
}

#[test]
fn refuses_operands_that_nobody_fetches() {
    let (sdp, mut rdma) = with_bn_operands(true);
    rdma.set(rdma_reg::D_NRDMA_CFG::NRDMA_DATA_USE, rdma_reg::D_NRDMA_CFG::NRDMA_DATA_USE::ALU);
    assert_eq!(
        refusal(&sdp, &rdma),
        "SDP_RDMA.D_NRDMA_CFG.NRDMA_DATA_USE = 0x1 (ALU): the BN multiplier takes its operand from memory"
    );
    rdma.set(rdma_reg::D_NRDMA_CFG::NRDMA_DISABLE, 1);
    assert_eq!(
        refusal(&sdp, &rdma),
        "SDP_RDMA.D_NRDMA_CFG.NRDMA_DISABLE = 0x1 (YES): BN takes operands from memory"
    );
}

#[test]
fn refuses_formats_the_hardware_lacks() {
    let (mut sdp, rdma) = groups();
    sdp.set(reg::D_DATA_FORMAT::PROC_PRECISION, 1);
    assert_eq!(
        refusal(&sdp, &rdma),
        "SDP.D_DATA_FORMAT.PROC_PRECISION = 0x1 (INT16): this configuration does not compute int16"
    );
}

proptest::proptest! {
    #[test]
    fn any_register_contents_are_decoded_or_refused(words in proptest::collection::vec(proptest::num::u32::ANY, 99)) {
        let mut words = words.into_iter().cycle();
        let mut group = |unit: Unit| {
            let mut group = Group::new(unit, RegisterMap::Large);
            for register in unit.registers() {
                group.set_word(register, words.next().unwrap_or(0));
            }
            group
        };
        let (mut sdp, rdma) = (group(Unit::Sdp), group(Unit::SdpRdma));
        sdp.set(reg::D_FEATURE_MODE_CFG::BATCH_NUMBER, 0);
        sdp.set(reg::D_FEATURE_MODE_CFG::WINOGRAD, 0);
        sdp.set_word(reg::D_DATA_FORMAT, 0);
        if let Ok(layer) = SdpLayer::decode(&sdp, &rdma, &WITH_EW) {
            proptest::prop_assert_eq!(layer.uses_rdma(), SdpLayer::needs_rdma(&sdp, &WITH_EW));
        }
    }
}
