//! Orientation of a camera, as EXIF says it: tag 0x0112 of a TIFF's first directory (JEITA CP-3451, 4.6.4 A).

/// Way in which a picture's lines lie: 1 is as they are seen, 2 to 8 are mirrored or turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orientation(u8);

impl Orientation {
    pub(super) const UPRIGHT: Orientation = Orientation(1);

    /// Returns what a TIFF says; upright where it says nothing or is broken.
    pub(super) fn of_exif(tiff: &[u8]) -> Orientation {
        Orientation::find(tiff).unwrap_or(Orientation::UPRIGHT)
    }

    fn find(tiff: &[u8]) -> Option<Orientation> {
        let is_big = match tiff.get(..4)? {
            b"II*\0" => false,
            b"MM\0*" => true,
            _ => return None,
        };
        let word = |bytes: &[u8]| {
            let bytes = [*bytes.first()?, *bytes.get(1)?];
            Some(if is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
        };
        let offset: [u8; 4] = tiff.get(4..8)?.try_into().ok()?;
        let offset = if is_big { u32::from_be_bytes(offset) } else { u32::from_le_bytes(offset) };
        let directory = tiff.get(offset as usize..)?;
        let entries = directory.get(2..)?.chunks_exact(12).take(word(directory)?.into());
        // Of type SHORT: the value lies in the entry.
        let mut entries = entries.filter(|entry| (word(entry), word(&entry[2..])) == (Some(0x0112), Some(3)));
        let value = u8::try_from(word(&entries.next()?[8..])?).ok()?;
        (1..=8).contains(&value).then_some(Orientation(value))
    }

    /// Returns the size of a picture as it is seen.
    pub(super) fn size(self, [width, height]: [usize; 2]) -> [usize; 2] {
        if self.0 < 5 { [width, height] } else { [height, width] }
    }

    /// Returns the samples of a picture as it is seen.
    pub(super) fn turned<T: Copy>(
        self,
        [width, height]: [usize; 2],
        channels: usize,
        samples: &[T],
    ) -> Vec<T> {
        let [seen_width, seen_height] = self.size([width, height]);
        let mut seen = Vec::with_capacity(samples.len());
        for y in 0..seen_height {
            for x in 0..seen_width {
                let [from_x, from_y] = match self.0 {
                    2 => [width - 1 - x, y],
                    3 => [width - 1 - x, height - 1 - y],
                    4 => [x, height - 1 - y],
                    5 => [y, x],
                    6 => [y, height - 1 - x],
                    7 => [width - 1 - y, height - 1 - x],
                    8 => [width - 1 - y, x],
                    _ => [x, y],
                };
                let at = (from_y * width + from_x) * channels;
                seen.extend_from_slice(&samples[at..at + channels]);
            }
        }
        seen
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A directory of two entries, the second of which is the orientation.
    pub(in super::super) fn tiff(is_big: bool, value: u16) -> Vec<u8> {
        let word = |word: u16| if is_big { word.to_be_bytes() } else { word.to_le_bytes() };
        let long = |long: u32| if is_big { long.to_be_bytes() } else { long.to_le_bytes() };
        let mut tiff = if is_big { b"MM\0*".to_vec() } else { b"II*\0".to_vec() };
        tiff.extend(long(8));
        tiff.extend(word(2));
        for (tag, value) in [(0x0100, 6), (0x0112, value)] {
            tiff.extend([word(tag), word(3)].concat());
            tiff.extend(long(1));
            tiff.extend([word(value), word(0)].concat());
        }
        tiff.extend(long(0));
        tiff
    }

    #[test]
    fn both_orders_of_bytes_are_read() {
        for value in 1..=8 {
            for is_big in [false, true] {
                assert_eq!(Orientation::of_exif(&tiff(is_big, value)), Orientation(value as u8));
            }
        }
    }

    #[test]
    fn what_is_broken_is_upright() {
        let whole = tiff(false, 6);
        // The offset of the next directory may be missing.
        for length in 0..whole.len() - 4 {
            assert_eq!(Orientation::of_exif(&whole[..length]), Orientation::UPRIGHT, "{length} bytes");
        }
        assert_eq!(Orientation::of_exif(&tiff(true, 9)), Orientation::UPRIGHT);
        assert_eq!(Orientation::of_exif(&tiff(true, 0)), Orientation::UPRIGHT);
        assert_eq!(Orientation::of_exif(b"II*\0\xff\xff\xff\xff"), Orientation::UPRIGHT);
    }

    /// Pixels 0 to 5 in two lines, as Pillow 13.0 turns them:
    ///
    /// ```text
    /// a = Image.fromarray(np.arange(6, dtype=np.uint8).reshape(2, 3))
    /// e = a.getexif(); e[0x0112] = n; a.save("a.png", exif=e); np.asarray(ImageOps.exif_transpose(Image.open("a.png")))
    /// ```
    #[test]
    fn pixels_are_turned_as_pillow_does() {
        let expected: [(u8, [usize; 2], [u8; 6]); 8] = [
            (1, [3, 2], [0, 1, 2, 3, 4, 5]),
            (2, [3, 2], [2, 1, 0, 5, 4, 3]),
            (3, [3, 2], [5, 4, 3, 2, 1, 0]),
            (4, [3, 2], [3, 4, 5, 0, 1, 2]),
            (5, [2, 3], [0, 3, 1, 4, 2, 5]),
            (6, [2, 3], [3, 0, 4, 1, 5, 2]),
            (7, [2, 3], [5, 2, 4, 1, 3, 0]),
            (8, [2, 3], [2, 5, 1, 4, 0, 3]),
        ];
        for (value, size, seen) in expected {
            let orientation = Orientation(value);
            assert_eq!(orientation.size([3, 2]), size);
            assert_eq!(orientation.turned([3, 2], 1, &[0, 1, 2, 3, 4, 5]), seen, "orientation {value}");
        }
    }
}
