//! PGM and PPM, of decimal numbers (`P2`, `P3`) or of bytes (`P5`, `P6`): <https://netpbm.sourceforge.net/doc/ppm.html>.

use super::netpbm_error::NetpbmError;
use super::picture::{Picture, Pixels};
use super::picture_error::PictureError;

/// Check of a size that a header says.
pub(super) type SizeCheck<'a> = &'a dyn Fn([usize; 2]) -> Result<(), PictureError>;

/// Reads a file behind its `P` and kind. Samples of a greatest one up to 255 become bytes, others words, both as shares of it.
pub(super) fn decode(kind: u8, mut rest: &[u8], check: SizeCheck<'_>) -> Result<Picture, PictureError> {
    let channels = match kind {
        b'2' | b'5' => 1,
        b'3' | b'6' => 3,
        _ => return Err(NetpbmError::Kind(kind.into()).into()),
    };
    let mut header = |name| number(&mut rest).ok_or(NetpbmError::Header(name));
    let [width, height, most] = [header("width")?, header("height")?, header("greatest sample")?];
    let size = [width, height];
    check(size)?;
    if !(1..=0xffff).contains(&most) {
        return Err(NetpbmError::Most(most).into());
    }
    let full = if most > 0xff { 0xffff } else { 0xff };
    // A sample above the greatest is none.
    let scaled = |sample: usize| ((sample.min(most) * full + most / 2) / most) as u16;
    let count = width * height * channels;
    let samples: Vec<u16> = if kind < b'4' {
        std::iter::from_fn(|| number(&mut rest)).take(count).map(scaled).collect()
    } else {
        // One byte of white space ends the header.
        let data = rest.get(1..).unwrap_or_default();
        let bytes = data.chunks_exact(if most > 0xff { 2 } else { 1 });
        let word = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        bytes.map(word).take(count).map(scaled).collect()
    };
    let found = samples.len();
    let pixels = match full {
        0xff => Pixels::Bytes(samples.into_iter().map(|sample| sample as u8).collect()),
        _ => Pixels::Words(samples),
    };
    Picture::of(size, channels, pixels).ok_or(NetpbmError::Samples { found, wanted: count }.into())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &[u8]) -> Result<Picture, PictureError> {
        Picture::decode(file).expect("a picture")
    }

    #[test]
    fn samples_are_numbers_or_bytes_of_one_size_or_two() {
        let binary = of(b"P6 # a comment\n2 1\n255\n\x01\x02\x03\x04\x05\x06").unwrap();
        assert_eq!(binary, of(b"P3 2 1 255 1 2 3\n4 5 6\n").unwrap());
        let words = of(b"P5\n2 1 65535\n\x80\x00\xff\xff").unwrap();
        assert_eq!(Some(&words), Picture::of([2, 1], 1, Pixels::Words(vec![0x8000, 0xffff])).as_ref());
        assert_eq!(words.in_channels(1), Some(vec![128, 255]));
        assert_eq!(of(b"P2 2 1 15 0 15").unwrap().in_channels(1), Some(vec![0, 255]));
        assert_eq!(of(b"P2 2 1 1023 0 1023").unwrap().most(), 65_535);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |file: &[u8]| of(file).unwrap_err().to_string();
        assert_eq!(error(b"P5 2 1 255 \x01"), "1 samples of 2");
        assert_eq!(error(b"P5 2 1 0 \x01"), "its greatest sample is 0; 1 to 65535 are possible");
        assert_eq!(error(b"P5 2 x"), "its header has no height");
        assert_eq!(error(b"P4 2 1 "), "a Netpbm file P4: P2, P5 (PGM), P3 and P6 (PPM) are read");
    }
}
