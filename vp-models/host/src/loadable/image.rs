//! Outputs as the vendor's runtime writes them: `.dimg`.

use super::Tensor;
use super::run::Output;

impl Output {
    /// The image file that the vendor's runtime makes of it: a header of 36 bytes, then elements by channel, line and
    /// column. None if the loadable does not say how the output lies.
    ///
    /// The runtime takes every surface for one with atoms of 32 bytes; with smaller ones it sees parts of it several
    /// times, and never the rest. What is right is [`Tensor::unpack`].
    #[must_use]
    pub fn dimg(&self) -> Option<Vec<u8>> {
        let tensor = self.tensor.as_ref()?;
        let element = tensor.element_bytes.filter(|_| tensor.has_room())?;
        let format: u32 = match (element, tensor.is_half) {
            (1, _) => 40,
            (_, false) => 41,
            (_, true) => 42,
        };
        let [width, height, channels] = tensor.size;
        let strides = [tensor.line_stride, tensor.surface_stride];
        let words = [width, height, channels, strides[0], strides[1], tensor.bytes as usize];
        let mut file = b"DIMG\0\0\0\0".to_vec();
        file.extend([format].into_iter().chain(words.map(|word| word as u32)).flat_map(u32::to_le_bytes));
        for at in places(tensor, element) {
            let bytes = self.bytes.get(at..)?.get(..element)?;
            match *bytes {
                [low, high] if tensor.is_half => {
                    file.extend(normal(u16::from_le_bytes([low, high])).to_le_bytes());
                }
                _ => file.extend(bytes),
            }
        }
        Some(file)
    }
}

/// Returns the place at which the runtime looks for each element.
fn places(tensor: &Tensor, element: usize) -> impl Iterator<Item = usize> {
    const ATOM: usize = 32;
    let (lanes, offset) = (ATOM / element, tensor.offset as usize);
    let [width, height, channels] = tensor.size;
    let (line, surface) = (tensor.line_stride, tensor.surface_stride);
    (0..channels).flat_map(move |c| {
        (0..height).flat_map(move |y| {
            (0..width).map(move |x| {
                let place = (c / lanes).saturating_mul(surface).saturating_add(y.saturating_mul(line));
                place.saturating_add(offset).saturating_add(x * ATOM + c % lanes * element)
            })
        })
    })
}

/// A half with one code for zero, and one for what is no number: what the runtime means to write.
pub(crate) fn normal(half: u16) -> u16 {
    match half {
        0x8000 => 0,
        _ if half & 0x7fff > 0x7c00 => 0x7e00,
        _ => half,
    }
}
