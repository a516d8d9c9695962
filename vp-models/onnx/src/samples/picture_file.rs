//! Pictures as files: PNG, JPEG, PGM and PPM, in 8 or 16 bits a sample.
//!
//! The size in a file's header is checked before anything is taken for pixels: at most 65 535 a side, and 64 Mi (8192 x 8192) in all.
//! What EXIF says about the camera's orientation (in JPEG's APP1 and PNG's eXIf) is obeyed, as OpenCV and browsers do, so the size is that
//! of the picture as it is seen. Colour profiles and gamma are not applied, and alpha is left out where a network takes colours.

use super::netpbm;
use super::orientation::Orientation;
use super::picture::{Picture, Pixels};
use super::picture_error::{MOST_SIDE, PictureError, within_bounds};
use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

impl Picture {
    /// Reads a picture. `None` for what is none.
    ///
    /// # Errors
    /// When it is broken, or too large.
    pub fn decode(file: &[u8]) -> Option<Result<Picture, PictureError>> {
        decode(file, &|_| Ok(()))
    }

    /// Reads a picture of a size, which is compared before anything is taken for its pixels. `None` for what is no picture.
    ///
    /// # Errors
    /// When it is broken, or of another size.
    pub fn decode_of_size(file: &[u8], wanted: [usize; 2]) -> Option<Result<Picture, PictureError>> {
        decode(file, &|found| match found == wanted {
            true => Ok(()),
            false => Err(PictureError::Size { found, wanted }),
        })
    }
}

fn decode(file: &[u8], check: netpbm::SizeCheck<'_>) -> Option<Result<Picture, PictureError>> {
    let check: netpbm::SizeCheck<'_> = &|size| check(size).and_then(|()| within_bounds(size));
    match file {
        [0x89, b'P', b'N', b'G', ..] => Some(png(file, check)),
        [0xff, 0xd8, 0xff, ..] => Some(jpeg(file, check)),
        [b'P', kind @ b'1'..=b'7', space, ..] if space.is_ascii_whitespace() => {
            Some(netpbm::decode(*kind, &file[2..], check))
        }
        _ => None,
    }
}

fn png(file: &[u8], check: netpbm::SizeCheck<'_>) -> Result<Picture, PictureError> {
    let wrong = |error: png::DecodingError| PictureError::Png(sentence(&error.to_string()));
    let mut decoder = png::Decoder::new(Cursor::new(file));
    decoder.set_transformations(png::Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(wrong)?;
    let info = reader.info();
    let size = [info.width as usize, info.height as usize];
    let orientation = info.exif_metadata.as_deref().map_or(Orientation::UPRIGHT, Orientation::of_exif);
    check(orientation.size(size))?;
    let bytes = reader.output_buffer_size().ok_or(PictureError::Bounds(size))?;
    let mut samples = vec![0; bytes];
    let frame = reader.next_frame(&mut samples).map_err(wrong)?;
    samples.truncate(frame.buffer_size());
    let pixels = match frame.bit_depth {
        png::BitDepth::Sixteen => {
            let words = samples.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
            Pixels::Words(words.collect())
        }
        _ => Pixels::Bytes(samples),
    };
    let picture = Picture::of(size, frame.color_type.samples(), pixels);
    let picture = picture.ok_or_else(|| PictureError::Png("its first frame is a part of it".to_owned()))?;
    Ok(picture.turned(orientation))
}

fn jpeg(file: &[u8], check: netpbm::SizeCheck<'_>) -> Result<Picture, PictureError> {
    let wrong = |what: String| PictureError::Jpeg(what);
    let options = DecoderOptions::default().set_max_width(MOST_SIDE).set_max_height(MOST_SIDE);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    decoder.decode_headers().map_err(|error| wrong(sentence(&error.to_string())))?;
    let (width, height) = decoder.dimensions().ok_or_else(|| wrong("its header has no size".to_owned()))?;
    let orientation = decoder.exif().map_or(Orientation::UPRIGHT, |exif| Orientation::of_exif(exif));
    check(orientation.size([width, height]))?;
    let is_grey = decoder.input_colorspace() == Some(ColorSpace::Luma);
    let (space, channels) = if is_grey { (ColorSpace::Luma, 1) } else { (ColorSpace::RGB, 3) };
    // Otherwise pixels whose data is cut off are grey. Headers that are not quite right may stand.
    decoder.set_options(decoder.options().jpeg_set_out_colorspace(space).set_strict_mode(true));
    let samples = decoder.decode().map_err(|error| wrong(sentence(&error.to_string())))?;
    let picture = Picture::of_bytes([width, height], channels, samples);
    let picture = picture.ok_or_else(|| wrong("it has not as many samples as it should".to_owned()))?;
    Ok(picture.turned(orientation))
}

/// Text of a decoder on one line: some end with empty ones.
fn sentence(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").trim_start_matches("I/O errors ").to_owned()
}

#[cfg(test)]
#[path = "picture_file/tests.rs"]
pub(super) mod tests;
