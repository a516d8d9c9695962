//! Pictures as files: PNG, JPEG, PGM and PPM.

use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;

/// A picture of 8 bits a sample.
#[derive(Debug, PartialEq)]
pub(super) struct Picture {
    /// Samples of a pixel: luma, luma and alpha, RGB, or RGBA.
    channels: usize,
    /// Line by line, the samples of a pixel side by side.
    samples: Vec<u8>,
}

/// Width and height in pixels.
type Size = [usize; 2];

/// Reads a picture of that size, which is compared before anything is taken for its pixels. `None` for what is no picture.
pub(super) fn decode(file: &[u8], size: Size) -> Option<Result<Picture, String>> {
    match file {
        [0x89, b'P', b'N', b'G', ..] => Some(png(file, size)),
        [0xff, 0xd8, 0xff, ..] => Some(jpeg(file, size)),
        [b'P', kind @ b'1'..=b'7', space, ..] if space.is_ascii_whitespace() => {
            Some(netpbm(*kind, &file[2..], size))
        }
        _ => None,
    }
}

fn compare(found: Size, [width, height]: Size) -> Result<(), String> {
    match found == [width, height] {
        true => Ok(()),
        false => Err(format!("{} x {} pixels; the input has {width} x {height}", found[0], found[1])),
    }
}

fn png(file: &[u8], size: Size) -> Result<Picture, String> {
    let mut decoder = png::Decoder::new(Cursor::new(file));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    compare([reader.info().width as usize, reader.info().height as usize], size)?;
    let mut samples = vec![0; reader.output_buffer_size().ok_or("it is too large")?];
    let frame = reader.next_frame(&mut samples).map_err(|error| error.to_string())?;
    samples.truncate(frame.buffer_size());
    Ok(Picture { channels: frame.color_type.samples(), samples })
}

fn jpeg(file: &[u8], size: Size) -> Result<Picture, String> {
    let mut decoder = JpegDecoder::new(ZCursor::new(file));
    decoder.decode_headers().map_err(|error| error.to_string())?;
    let (width, height) = decoder.dimensions().ok_or("its header has no size")?;
    compare([width, height], size)?;
    let is_grey = decoder.input_colorspace() == Some(ColorSpace::Luma);
    let (space, channels) = if is_grey { (ColorSpace::Luma, 1) } else { (ColorSpace::RGB, 3) };
    decoder.set_options(decoder.options().jpeg_set_out_colorspace(space));
    let samples = decoder.decode().map_err(|error| error.to_string())?;
    Ok(Picture { channels, samples })
}

/// PGM and PPM, of decimal numbers (`P2`, `P3`) or of bytes (`P5`, `P6`): <https://netpbm.sourceforge.net/doc/ppm.html>.
fn netpbm(kind: u8, mut rest: &[u8], size: Size) -> Result<Picture, String> {
    let channels = match kind {
        b'2' | b'5' => 1,
        b'3' | b'6' => 3,
        _ => {
            return Err(format!(
                "a Netpbm file P{}: P2, P5 (PGM), P3 and P6 (PPM) are read",
                char::from(kind)
            ));
        }
    };
    let mut header = |name: &str| number(&mut rest).ok_or_else(|| format!("its header has no {name}"));
    let [width, height, most] = [header("width")?, header("height")?, header("greatest sample")?];
    compare([width, height], size)?;
    if !(1..=0xffff).contains(&most) {
        return Err(format!("its greatest sample is {most}; 1 to 65535 are possible"));
    }
    // A sample above the greatest is none.
    let scaled = |sample: usize| u8::try_from((sample.min(most) * 255 + most / 2) / most).unwrap_or(u8::MAX);
    let count = width * height * channels;
    let samples: Vec<u8> = if kind < b'4' {
        std::iter::from_fn(|| number(&mut rest)).take(count).map(scaled).collect()
    } else {
        // One byte of white space ends the header.
        let data = rest.get(1..).unwrap_or_default();
        let bytes = data.chunks_exact(if most > 0xff { 2 } else { 1 });
        let word = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        bytes.map(word).take(count).map(scaled).collect()
    };
    match samples.len() == count {
        true => Ok(Picture { channels, samples }),
        false => Err(format!("{} samples of {count}", samples.len())),
    }
}

/// The next decimal number, behind white space and comments.
fn number(rest: &mut &[u8]) -> Option<usize> {
    let mut text = rest.trim_ascii_start();
    while let [b'#', comment @ ..] = text {
        let end = comment.iter().position(|byte| *byte == b'\n')?;
        text = comment[end..].trim_ascii_start();
    }
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, behind) = text.split_at(digits);
    *rest = behind;
    std::str::from_utf8(number).ok()?.parse().ok()
}

impl Picture {
    /// The picture's samples in so many channels: 1 (luma as ITU-R BT.709 has it), 3 (RGB) or 4 (RGBA); `None` for another number.
    pub(super) fn in_channels(&self, channels: usize) -> Option<Vec<u8>> {
        let pixels = self.samples.chunks_exact(self.channels).map(|pixel| match *pixel {
            [luma] => [luma, luma, luma, 0xff],
            [luma, alpha] => [luma, luma, luma, alpha],
            [red, green, blue] => [red, green, blue, 0xff],
            [red, green, blue, alpha] => [red, green, blue, alpha],
            _ => [0; 4],
        });
        match channels {
            1 => Some(pixels.map(luma).collect()),
            3 | 4 => Some(pixels.flat_map(|pixel| pixel.into_iter().take(channels)).collect()),
            _ => None,
        }
    }
}

fn luma([red, green, blue, _]: [u8; 4]) -> u8 {
    let weighted = u32::from(red) * 2126 + u32::from(green) * 7152 + u32::from(blue) * 722;
    u8::try_from(weighted / 10_000).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &[u8]) -> Result<Picture, String> {
        decode(file, [2, 1]).expect("a picture")
    }

    fn written(color: png::ColorType, samples: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 2, 1);
        encoder.set_color(color);
        encoder.write_header().and_then(|mut writer| writer.write_image_data(samples)).expect("memory");
        file
    }

    #[test]
    fn a_png_has_its_samples() {
        let rgb = of(&written(png::ColorType::Rgb, &[1, 2, 3, 4, 5, 6])).expect("decodes");
        assert_eq!(rgb, Picture { channels: 3, samples: vec![1, 2, 3, 4, 5, 6] });
        assert_eq!(rgb.in_channels(4), Some(vec![1, 2, 3, 0xff, 4, 5, 6, 0xff]));
        let grey = of(&written(png::ColorType::GrayscaleAlpha, &[7, 9, 8, 9])).expect("decodes");
        assert_eq!(grey.in_channels(3), Some(vec![7, 7, 7, 8, 8, 8]));
        assert_eq!(grey.in_channels(1), Some(vec![7, 8]));
        assert_eq!(grey.in_channels(2), None);
    }

    #[test]
    fn luma_weighs_the_colours() {
        let picture = Picture { channels: 3, samples: vec![255, 0, 0, 0, 255, 0, 0, 0, 255] };
        assert_eq!(picture.in_channels(1), Some(vec![54, 182, 18]));
    }

    #[test]
    fn netpbm_is_numbers_or_bytes_of_one_size_or_two() {
        let binary = of(b"P6 # a comment\n2 1\n255\n\x01\x02\x03\x04\x05\x06").expect("decodes");
        assert_eq!(binary, of(b"P3 2 1 255 1 2 3\n4 5 6\n").expect("decodes"));
        let words = of(b"P5\n2 1 65535\n\x80\x00\xff\xff").expect("decodes");
        assert_eq!((words.channels, words.samples), (1, vec![128, 255]));
        assert_eq!(of(b"P2 2 1 15 0 15").expect("decodes").samples, [0, 255]);
    }

    #[test]
    fn a_broken_picture_is_refused() {
        assert_eq!(of(b"P5 2 1 255 \x01").unwrap_err(), "1 samples of 2");
        assert_eq!(of(b"P5 2 1 0 \x01").unwrap_err(), "its greatest sample is 0; 1 to 65535 are possible");
        assert_eq!(of(b"P5 2 x").unwrap_err(), "its header has no height");
        assert_eq!(of(b"P4 2 1 ").unwrap_err(), "a Netpbm file P4: P2, P5 (PGM), P3 and P6 (PPM) are read");
        let whole = written(png::ColorType::Rgb, &[1, 2, 3, 4, 5, 6]);
        assert!(of(&whole[..whole.len() - 20]).is_err());
        assert!(of(&[0xff, 0xd8, 0xff, 0xe0, 0, 0]).is_err());
        assert!(decode(b"\x01\x02\x03", [2, 1]).is_none());
    }

    /// Of a header alone, which names more than any machine has.
    #[test]
    fn a_picture_of_another_size_takes_no_memory() {
        let wrong = |file: &[u8], found: &str| {
            assert_eq!(of(file).unwrap_err(), format!("{found} pixels; the input has 2 x 1"));
        };
        wrong(b"P6 99999999999 99999999999 255 ", "99999999999 x 99999999999");
        let mut whole = written(png::ColorType::Rgb, &[1, 2, 3, 4, 5, 6]);
        whole[16..24].copy_from_slice(&[0x00, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
        let checksum = crc32(&whole[12..29]);
        whole[29..33].copy_from_slice(&checksum.to_be_bytes());
        wrong(&whole, "16777215 x 2147483647");
        let mut jpeg = grey_jpeg();
        let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).expect("a frame");
        jpeg[frame + 5..frame + 9].copy_from_slice(&[0x3f, 0xff, 0x3f, 0xff]);
        wrong(&jpeg, "16383 x 16383");
    }

    /// CRC-32 as PNG has it: ISO/IEC 15948, annex D.
    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8)
                .fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
        })
    }

    /// A grey JPEG of one block of 8 x 8 pixels, whose coefficients are all zero: mid grey. Its tables have one code each.
    fn grey_jpeg() -> Vec<u8> {
        let table = |class: u8| {
            let mut lengths = [0; 16];
            lengths[0] = 1;
            [&[0xff, 0xc4, 0, 20, class][..], &lengths, &[0]].concat()
        };
        let quantisation = [&[0xff, 0xdb, 0, 67, 0][..], &[1; 64]].concat();
        let frame = [0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0];
        let scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0b0011_1111];
        [&[0xff, 0xd8][..], &quantisation, &frame, &table(0), &table(0x10), &scan, &[0xff, 0xd9]].concat()
    }

    #[test]
    fn a_jpeg_has_its_samples() {
        let picture = decode(&grey_jpeg(), [8, 8]).expect("a picture").expect("decodes");
        assert_eq!(picture.in_channels(1), Some(vec![128; 64]));
    }
}
