//! SDP widens and narrows: int8 processing reads int16, or writes it; each surface it processes is then two in memory.

use vp_models::nvdla::registers::{Unit, sdp, sdp_rdma};
use vp_tests::device::Device;
use vp_tests::layers::{INPUT, OUTPUT};
use vp_tests::reference::{Converter, Format, Image, Place, SdpLayer};

const INT8: Format = Format { atom: 32, element: 1 };
const INT16: Format = Format { atom: 32, element: 2 };

/// Processed together, all of them also beyond the last channel.
const LANES: u32 = 32;

/// Columns, lines, channels: several surfaces, one pixel, parts of surfaces.
const SIZES: [[u32; 3]; 4] = [[3, 2, 70], [1, 1, 70], [9, 5, 32], [300, 1, 33]];

fn packed(base: u64, width: u32, height: u32) -> Place {
    Place { base, line: 32 * width, surface: 32 * width * height }
}

/// Memory after the conversion of a cube, each element multiplied with `scale`, and memory before it.
fn images([width, height, channels]: [u32; 3], from: Format, to: Format, scale: i32) -> [Image; 2] {
    let (input, output) = (packed(INPUT, width, height), packed(OUTPUT, width, height));
    let channels = channels.next_multiple_of(LANES);
    let bytes = |format: Format| (width * height * channels * format.element) as usize;
    let filled = (0..bytes(from)).map(|at| (at * 37 + at / 251) as u8).collect();
    let before = Image::new(vec![(INPUT, filled), (OUTPUT, vec![0xa5; bytes(to)])]);
    let mut after = before.clone();
    let limit = 1 << (8 * to.element - 1);
    for (channel, y, x) in
        (0..channels).flat_map(|c| (0..height).flat_map(move |y| (0..width).map(move |x| (c, y, x))))
    {
        let value = before.element(input.address(from, channel, y, x), from.element) * scale;
        after.store(output.address(to, channel, y, x), to.element, value.clamp(-limit, limit - 1));
    }
    [before, after]
}

fn leaves(size: [u32; 3], from: Format, to: Format, scale: i16) {
    let [width, height, channels] = size;
    let layer = SdpLayer {
        format: INT8,
        width,
        height,
        channels,
        source: packed(INPUT, width, height),
        bs: None,
        bn: None,
        ew: None,
        converter: Converter { offset: 0, scale, shift: 0 },
        destination: Some(packed(OUTPUT, width, height)),
    };
    let [before, after] = images(size, from, to, scale.into());
    let mut device = Device::named("nv_full");
    device.load(&before);
    device.run_new(|program| {
        program.sdp(&layer, 0);
        let [input, output] = [from, to].map(|format| format.element - 1);
        use sdp_rdma::d_feature_mode_cfg as mode;
        program.fields(
            Unit::SdpRdma,
            &[
                (mode::FLYING_MODE, 0),
                (mode::WINOGRAD, 0),
                (mode::IN_PRECISION, input),
                (mode::PROC_PRECISION, 0),
                (mode::OUT_PRECISION, output),
                (mode::BATCH_NUMBER, 1),
            ],
        );
        use sdp::d_data_format as format;
        program.fields(Unit::Sdp, &[(format::PROC_PRECISION, 0), (format::OUT_PRECISION, output)]);
        program.enable_sdp(0);
    });
    assert_eq!(device.interrupt(), 1);
    assert_eq!(device.warnings(), Vec::<String>::new());
    assert_eq!(device.difference(&after), None, "(address, found, expected) of {size:?}");
}

#[test]
fn int8_becomes_int16() {
    SIZES.into_iter().for_each(|size| leaves(size, INT8, INT16, 290));
}

#[test]
fn int16_becomes_int8() {
    SIZES.into_iter().for_each(|size| leaves(size, INT16, INT8, 1));
}

#[test]
fn int16_becomes_int16_by_way_of_int8_processing() {
    SIZES.into_iter().for_each(|size| leaves(size, INT16, INT16, 1));
}
