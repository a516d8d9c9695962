//! Convolutions in the modes that only the larger configurations have.

use super::Draw;
use crate::program::BufferUse;
use crate::reference::{Compressed, ConvLayer};

impl Draw {
    /// The same layer with weights of which some are zero, and compressed. `None` where the masks' bank is taken.
    pub fn compressed(&mut self, mut layer: ConvLayer, buffer: &BufferUse) -> Option<ConvLayer> {
        let config = self.description().nvdla().unwrap().config.clone();
        if buffer.banks.iter().sum::<u32>() >= config.cbuf_banks {
            return None;
        }
        let (kept, element) = (self.any(0..11), layer.format.element as usize);
        let kernel = layer.kernel_bytes() as usize;
        let index = self.regions.iter().position(|(base, _)| *base == layer.weights).expect("its weights");
        let mut bytes = std::mem::take(&mut self.regions[index].1);
        let (mut weights, mut mask, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        let mut count = 0;
        for group in bytes[..kernel * layer.kernels as usize].chunks_mut(kernel * layer.order.group as usize)
        {
            let before = weights.len();
            for weight in group.chunks_exact_mut(element) {
                if self.any(0..10) >= kept {
                    weight.fill(0);
                }
                // A zero may be marked all the same.
                let marked = weight.iter().any(|&byte| byte != 0) || self.one_in(9);
                if count % 8 == 0 {
                    mask.push(0u8);
                }
                if marked {
                    weights.extend_from_slice(weight);
                    mask[count / 8] |= 1 << (count % 8);
                }
                count += 1;
            }
            sizes.extend(((weights.len() - before) as u32).to_le_bytes());
        }
        self.regions[index].1 = bytes;
        // One interface brings all three.
        let memory = usize::from(layer.weights >= 0x8000_0000);
        let atom = layer.format.atom;
        let mut part = |mut bytes: Vec<u8>, unit: usize| {
            bytes.resize(bytes.len().max(1).next_multiple_of(unit), 0);
            let base = self.region_in(memory, atom, bytes.len() as u64);
            let size = bytes.len() as u32;
            if let Some(region) = self.regions.last_mut() {
                region.1 = bytes;
            }
            (base, size)
        };
        let compressed =
            Compressed { weights: part(weights, 128), mask: part(mask, 128), sizes: part(sizes, 32).0 };
        layer.mode.compressed = Some(compressed);
        Some(layer)
    }
}
