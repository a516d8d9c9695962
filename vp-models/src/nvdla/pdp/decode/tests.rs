//! Tests of what is decoded, and of what is refused.

use super::super::layer::Strip;
use super::*;
use crate::nvdla::formats::Formats;
use crate::nvdla::registers::{RegisterMap, Unit};

const SMALL: Hardware = Hardware { atom: 8, formats: Formats::INT8 };

/// Max pooling of 5 x 7 x 8, windows of 4 x 1, stride 2, one column of padding on the left, in two strips.
fn groups() -> (Group, Group) {
    let mut pdp = Group::new(Unit::Pdp, RegisterMap::Small);
    pdp.set_word(reg::D_DATA_CUBE_IN_WIDTH, 4);
    pdp.set_word(reg::D_DATA_CUBE_IN_HEIGHT, 6);
    pdp.set_word(reg::D_DATA_CUBE_IN_CHANNEL, 7);
    pdp.set_word(reg::D_DATA_CUBE_OUT_WIDTH, 1);
    pdp.set_word(reg::D_DATA_CUBE_OUT_HEIGHT, 3);
    pdp.set_word(reg::D_DATA_CUBE_OUT_CHANNEL, 7);
    pdp.set_word(reg::D_OPERATION_MODE_CFG, 0x111);
    pdp.set_word(reg::D_POOLING_KERNEL_CFG, 0x11_0003);
    pdp.set_word(reg::D_POOLING_PADDING_CFG, 1);
    pdp.set_word(reg::D_PARTIAL_WIDTH_IN, 0x10_0402);
    pdp.set_word(reg::D_PARTIAL_WIDTH_OUT, 0);
    let mut rdma = Group::new(Unit::PdpRdma, RegisterMap::Small);
    rdma.set_word(rdma_reg::D_DATA_CUBE_IN_WIDTH, 4);
    rdma.set_word(rdma_reg::D_DATA_CUBE_IN_HEIGHT, 6);
    rdma.set_word(rdma_reg::D_DATA_CUBE_IN_CHANNEL, 7);
    rdma.set_word(rdma_reg::D_OPERATION_MODE_CFG, 1);
    rdma.set_word(rdma_reg::D_POOLING_KERNEL_CFG, 0x13);
    rdma.set_word(rdma_reg::D_PARTIAL_WIDTH_IN, 0x10_0402);
    rdma.set_word(rdma_reg::D_SRC_BASE_ADDR_LOW, 0x8000_9000);
    (pdp, rdma)
}

fn refusal(pdp: &Group, rdma: &Group) -> String {
    PdpLayer::decode(pdp, rdma, &SMALL).expect_err("refused").to_string()
}

#[test]
fn strips_read_again_what_their_windows_share() {
    let (pdp, rdma) = groups();
    let layer = PdpLayer::decode(&pdp, &rdma, &SMALL).unwrap();
    let strips: Vec<_> = layer.strips().collect();
    assert_eq!(strips, [Strip { input: 0..3, output: 0..1 }, Strip { input: 1..5, output: 1..2 }]);
}

#[test]
fn windows_are_cut_at_the_edges() {
    let axis = Axis { input: 5, output: 4, kernel: 3, stride: 2, padding: 2, padding_after: 2 };
    assert_eq!([0, 1, 2, 3].map(|output| axis.window(output)), [0..1, 0..3, 2..5, 4..5]);
}

/// Each as the RTL of nv_small has it: what is equal ends there with the right bytes, what is not hangs or leaves others.
#[test]
fn windows_behind_the_input_are_counted_by_the_padding_alone() {
    let windows = |input, padding, padding_after, kernel, stride| {
        let output = (padding + input + padding_after - kernel) / stride + 1;
        let axis = Axis { input, output, kernel, stride, padding, padding_after };
        (output, axis.windows_of_rtl())
    };
    // Padding that ends with the last window, or is shorter than a step.
    assert_eq!(windows(8, 1, 3, 4, 2), (5, 5));
    assert_eq!(windows(8, 1, 1, 3, 2), (4, 4));
    assert_eq!(windows(10, 2, 1, 5, 3), (3, 3));
    // One pixel more.
    assert_eq!(windows(8, 1, 2, 4, 2), (4, 5));
    assert_eq!(windows(3, 6, 4, 8, 2), (3, 4));
    assert_eq!(windows(6, 2, 3, 4, 3), (3, 4));
    // The first window ends in the padding.
    assert_eq!(windows(1, 3, 4, 5, 3), (2, 2));
    assert_eq!(windows(3, 0, 2, 5, 2), (1, 1));
    assert_eq!(windows(1, 4, 4, 6, 2), (2, 1));
    assert_eq!(windows(1, 1, 6, 7, 3), (1, 1));
}

#[test]
fn the_rdmas_flying_mode_does_not_count_and_pdps_does() {
    let (mut pdp, rdma) = groups();
    assert_eq!(rdma.get(rdma_reg::D_FLYING_MODE::FLYING_MODE), 0);
    let layer = PdpLayer::decode(&pdp, &rdma, &SMALL).unwrap();
    let PdpSource::Memory(source) = layer.source else { panic!("{:?}", layer.source) };
    assert_eq!(source.base, 0x8000_9000);

    pdp.set_word(reg::D_OPERATION_MODE_CFG, 1);
    let untouched = Group::new(Unit::PdpRdma, RegisterMap::Small);
    let layer = PdpLayer::decode(&pdp, &untouched, &SMALL).unwrap();
    assert_eq!((layer.source, layer.strips().count()), (PdpSource::Sdp, 1));
}

#[test]
fn padding_registers_are_signed() {
    let (mut pdp, rdma) = groups();
    pdp.set(reg::D_OPERATION_MODE_CFG::POOLING_METHOD, 0);
    pdp.set_word(reg::D_POOLING_PADDING_VALUE_2_CFG, 0x7_fffe);
    let Method::Average(average) = PdpLayer::decode(&pdp, &rdma, &SMALL).unwrap().method else {
        panic!("method")
    };
    assert_eq!(average.padding, [0, -2, 0, 0, 0, 0, 0]);
    // As narrow as two elements of int8 are, and not negative.
    for (word, value) in [(0x1fe, -2), (0x0fe, 0xfe)] {
        pdp.set_word(reg::D_POOLING_PADDING_VALUE_2_CFG, word);
        let Method::Average(average) = PdpLayer::decode(&pdp, &rdma, &SMALL).unwrap().method else {
            panic!("method")
        };
        assert_eq!(average.padding[1], value);
    }
}

#[test]
fn refuses_an_output_of_another_size() {
    let (mut pdp, rdma) = groups();
    pdp.set_word(reg::D_DATA_CUBE_OUT_HEIGHT, 4);
    assert_eq!(
        refusal(&pdp, &rdma),
        "PDP.D_DATA_CUBE_OUT_HEIGHT.CUBE_OUT_HEIGHT = 0x4: 4 windows fit, that is 3"
    );
}

#[test]
fn refuses_windows_of_padding_alone() {
    let (mut pdp, rdma) = groups();
    pdp.set_word(reg::D_POOLING_PADDING_CFG, 4);
    assert_eq!(
        refusal(&pdp, &rdma),
        "PDP.D_POOLING_PADDING_CFG.PAD_LEFT = 0x4: a window of 4 would hold only padding"
    );
}

#[test]
fn refuses_lines_that_the_line_buffer_does_not_hold() {
    assert_eq!([1, 2, 3, 4, 5, 8].map(line_buffer_columns), [128, 64, 32, 32, 16, 16]);
    let (mut pdp, mut rdma) = groups();
    // Windows of three lines, every line: 32 columns.
    for field in
        [reg::D_POOLING_KERNEL_CFG::KERNEL_STRIDE_WIDTH, reg::D_POOLING_KERNEL_CFG::KERNEL_STRIDE_HEIGHT]
    {
        pdp.set_actual(field, 1);
    }
    pdp.set_actual(reg::D_POOLING_KERNEL_CFG::KERNEL_HEIGHT, 3);
    pdp.set_actual(reg::D_DATA_CUBE_OUT_HEIGHT::CUBE_OUT_HEIGHT, 5);
    pdp.set(reg::D_OPERATION_MODE_CFG::SPLIT_NUM, 0);
    rdma.set(rdma_reg::D_OPERATION_MODE_CFG::SPLIT_NUM, 0);
    let mut wide = |columns| {
        pdp.set_actual(reg::D_DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH, columns + 2);
        rdma.set_actual(rdma_reg::D_DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH, columns + 2);
        pdp.set_actual(reg::D_DATA_CUBE_OUT_WIDTH::CUBE_OUT_WIDTH, columns);
        PdpLayer::decode(&pdp, &rdma, &SMALL)
            .map(|layer| layer.horizontal.output)
            .map_err(|it| it.to_string())
    };
    assert_eq!(wide(32), Ok(32));
    assert_eq!(
        wide(33).unwrap_err(),
        "PDP.D_DATA_CUBE_OUT_WIDTH.CUBE_OUT_WIDTH = 0x20: the line buffer holds 3 lines of at most 32 \
         columns, that is 31"
    );
}

#[test]
fn refuses_strips_that_miss_columns() {
    let (mut pdp, mut rdma) = groups();
    pdp.set_word(reg::D_PARTIAL_WIDTH_IN, 0x10_0403);
    rdma.set_word(rdma_reg::D_PARTIAL_WIDTH_IN, 0x10_0403);
    assert_eq!(
        refusal(&pdp, &rdma),
        "PDP.D_PARTIAL_WIDTH_IN.PARTIAL_WIDTH_IN_FIRST = 0x3: the strips add up to 6 columns of 5"
    );
    // 2 and 3 columns: the first window needs three.
    pdp.set_word(reg::D_PARTIAL_WIDTH_IN, 0x10_0801);
    rdma.set_word(rdma_reg::D_PARTIAL_WIDTH_IN, 0x10_0801);
    assert!(refusal(&pdp, &rdma).contains("windows cover 0..3"), "{}", refusal(&pdp, &rdma));
}

#[test]
fn refuses_a_second_strip_that_begins_in_the_padding() {
    let (mut pdp, mut rdma) = groups();
    // Five windows, one pixel apart; the second strip's first one would begin two columns outside.
    pdp.set(reg::D_POOLING_PADDING_CFG::PAD_LEFT, 3);
    pdp.set_actual(reg::D_POOLING_KERNEL_CFG::KERNEL_STRIDE_WIDTH, 1);
    rdma.set_actual(rdma_reg::D_POOLING_KERNEL_CFG::KERNEL_STRIDE_WIDTH, 1);
    pdp.set_actual(reg::D_DATA_CUBE_OUT_WIDTH::CUBE_OUT_WIDTH, 5);
    for (field, widths) in [
        (reg::D_PARTIAL_WIDTH_IN::PARTIAL_WIDTH_IN_FIRST, 1),
        (reg::D_PARTIAL_WIDTH_IN::PARTIAL_WIDTH_IN_LAST, 4),
        (reg::D_PARTIAL_WIDTH_OUT::PARTIAL_WIDTH_OUT_FIRST, 1),
        (reg::D_PARTIAL_WIDTH_OUT::PARTIAL_WIDTH_OUT_LAST, 4),
    ] {
        pdp.set_actual(field, widths);
    }
    rdma.set_word(rdma_reg::D_PARTIAL_WIDTH_IN, pdp.word(reg::D_PARTIAL_WIDTH_IN));
    assert_eq!(
        refusal(&pdp, &rdma),
        "PDP.D_PARTIAL_WIDTH_OUT.PARTIAL_WIDTH_OUT_FIRST = 0x0: the strip that makes output columns 1..5 \
         reads from column 0 on, its first window begins at -2"
    );
}

#[test]
fn refuses_an_rdma_that_reads_another_cube() {
    let (pdp, mut rdma) = groups();
    rdma.set_word(rdma_reg::D_DATA_CUBE_IN_CHANNEL, 8);
    assert!(refusal(&pdp, &rdma).starts_with("PDP_RDMA.D_DATA_CUBE_IN_CHANNEL.CUBE_IN_CHANNEL = 0x8"));
}

proptest::proptest! {
    #[test]
    fn any_register_contents_are_decoded_or_refused(words in proptest::collection::vec(proptest::num::u32::ANY, 60)) {
        let mut words = words.into_iter().cycle();
        let mut pdp = Group::new(Unit::Pdp, RegisterMap::Small);
        for register in Unit::Pdp.registers() {
            pdp.set_word(register, words.next().unwrap_or(0));
        }
        pdp.set_word(reg::D_DATA_FORMAT, 0);
        let rdma = Group::new(Unit::PdpRdma, RegisterMap::Small);
        for field in [reg::D_DATA_CUBE_OUT_CHANNEL::CUBE_OUT_CHANNEL, reg::D_OPERATION_MODE_CFG::FLYING_MODE] {
            pdp.set(field, 0);
        }
        pdp.set(reg::D_DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL, 0);
        let _ = PdpLayer::decode(&pdp, &rdma, &SMALL);
    }
}
