//! SDP converts: int8 processing reads int16 and writes any format, int16 and fp16 processing write each other's. Where
//! a format is wider than that of processing, each surface that is processed is two in memory.

use vp_models::nvdla::registers::{Unit, sdp, sdp_rdma};
use vp_tests::device::Device;
use vp_tests::layers::{INPUT, OUTPUT};
use vp_tests::reference::{Converter, CubePlace, Format, Image, SdpLayer, float};

/// A format of elements, by its code in registers.
#[derive(Clone, Copy, PartialEq)]
enum Elements {
    Int8 = 0,
    Int16 = 1,
    Fp16 = 2,
}

use Elements::{Fp16, Int8, Int16};

impl Elements {
    fn format(self) -> Format {
        Format { atom: 32, element: if self == Int8 { 1 } else { 2 } }
    }

    /// An integer in this format.
    fn of_integer(self, value: i32) -> i32 {
        match self {
            Int8 => value.clamp(-128, 127),
            Int16 => value.clamp(-32768, 32767),
            Fp16 => float::from_integer(value.clamp(-65536, 65535)),
        }
    }
}

/// Formats that are read, processed and written.
struct Conversion {
    from: Elements,
    processing: Elements,
    to: Elements,
    /// Integers are multiplied with it.
    scale: i16,
}

/// Columns, lines, channels: several surfaces, one pixel, parts of surfaces.
const SIZES: [[u32; 3]; 4] = [[3, 2, 70], [1, 1, 70], [9, 5, 32], [300, 1, 33]];

fn packed(base: u64, width: u32, height: u32) -> CubePlace {
    CubePlace { base, line: 32 * width, surface: 32 * width * height }
}

impl Conversion {
    fn of(&self, element: i32) -> i32 {
        match (self.processing, self.to) {
            (Fp16, Int16) => float::to_integer(element),
            _ => self.to.of_integer(element * i32::from(self.scale)),
        }
    }

    /// Memory after the conversion of a cube, all lanes that are processed together, and memory before it.
    fn images(&self, [width, height, channels]: [u32; 3]) -> [Image; 2] {
        let (input, output) = (packed(INPUT, width, height), packed(OUTPUT, width, height));
        let (from, to) = (self.from.format(), self.to.format());
        let channels = self.processing.format().whole(channels);
        let bytes = |format: Format| (width * height * channels * format.element) as usize;
        let filled = (0..bytes(from)).map(|at| (at * 37 + at / 251) as u8).collect();
        let before = Image::new(vec![(INPUT, filled), (OUTPUT, vec![0xa5; bytes(to)])]);
        let mut after = before.clone();
        for (channel, y, x) in
            (0..channels).flat_map(|c| (0..height).flat_map(move |y| (0..width).map(move |x| (c, y, x))))
        {
            let element = before.element(input.address(from, channel, y, x), from.element);
            after.store(output.address(to, channel, y, x), to.element, self.of(element));
        }
        [before, after]
    }

    fn leaves_what_it_should(&self) {
        SIZES.into_iter().for_each(|size| self.leaves(size));
    }

    fn leaves(&self, size: [u32; 3]) {
        let [width, height, channels] = size;
        let layer = SdpLayer {
            format: self.processing.format(),
            width,
            height,
            channels,
            source: packed(INPUT, width, height),
            bs: None,
            bn: None,
            ew: None,
            converter: Converter { offset: 0, scale: self.scale, shift: 0 },
            destination: Some(packed(OUTPUT, width, height)),
        };
        let [before, after] = self.images(size);
        let [input, processing, output] = [self.from, self.processing, self.to].map(|it| it as u32);
        let mut device = Device::named("nv_full");
        device.load(&before);
        device.run_new(|program| {
            program.sdp(&layer, 0);
            use sdp_rdma::D_FEATURE_MODE_CFG as mode;
            program.fields(
                Unit::SdpRdma,
                &[
                    (mode::FLYING_MODE, 0),
                    (mode::WINOGRAD, 0),
                    (mode::IN_PRECISION, input),
                    (mode::PROC_PRECISION, processing),
                    (mode::OUT_PRECISION, output),
                    (mode::BATCH_NUMBER, 1),
                ],
            );
            use sdp::D_DATA_FORMAT as format;
            program
                .fields(Unit::Sdp, &[(format::PROC_PRECISION, processing), (format::OUT_PRECISION, output)]);
            program.enable_sdp(0);
        });
        assert_eq!(device.interrupt(), 1);
        assert_eq!(device.warnings(), Vec::<String>::new());
        assert_eq!(device.difference(&after), None, "(address, found, expected) of {size:?}");
    }
}

#[test]
fn int8_becomes_int16() {
    Conversion { from: Int8, processing: Int8, to: Int16, scale: 290 }.leaves_what_it_should();
}

#[test]
fn int16_becomes_int8() {
    Conversion { from: Int16, processing: Int8, to: Int8, scale: 1 }.leaves_what_it_should();
}

#[test]
fn int16_becomes_int16_by_way_of_int8_processing() {
    Conversion { from: Int16, processing: Int8, to: Int16, scale: 1 }.leaves_what_it_should();
}

#[test]
fn int8_becomes_fp16() {
    Conversion { from: Int8, processing: Int8, to: Fp16, scale: 290 }.leaves_what_it_should();
}

#[test]
fn int16_becomes_fp16_by_either_processing() {
    for processing in [Int8, Int16] {
        Conversion { from: Int16, processing, to: Fp16, scale: 3 }.leaves_what_it_should();
    }
}

#[test]
fn fp16_becomes_int16() {
    Conversion { from: Fp16, processing: Fp16, to: Int16, scale: 7 }.leaves_what_it_should();
}
