//! A model with inputs and what must come out, as one run of bytes: for host software that has no graph files to read, such
//! as a program in a guest.
//!
//! All numbers are 32 bits, little endian: the header's words, then the configuration, the filters, the inputs and the outputs,
//! one behind the other.
//!
//! | word | what |
//! | --- | --- |
//! | 0 | `VPIB` |
//! | 1 to 4 | the architecture's hash |
//! | 5 | bytes of a memory word |
//! | 6 | words of the configuration |
//! | 7 | where filters begin, behind the configuration's first byte |
//! | 8 | bytes of filters |
//! | 9 | bytes of the intermediate buffer |
//! | 10 | bytes of an input |
//! | 11 | where an output begins, behind its input's first byte |
//! | 12 | bytes of an output |
//! | 13 | how many inputs there are |

use super::layout::{Layout, LayoutError};
use super::model::Model;
use vp_models::fpga_ai_suite::Architecture;

/// First word of a bundle.
const MAGIC: [u8; 4] = *b"VPIB";

/// A model with inputs, for an IP whose model and inputs are in memory.
///
/// # Errors
/// When they do not fit 32 bits of addresses.
///
/// # Panics
/// When an input has not as many elements as the graph's.
pub fn bundle(architecture: &Architecture, model: &Model, inputs: &[&[i8]]) -> Result<Vec<u8>, LayoutError> {
    let layout = Layout::new(architecture, model, 1, 0..1 << 32)?;
    let intermediate = layout.io_bases[0] - layout.intermediate_base;
    let words = [
        architecture.memory_word,
        layout.words.len() as u32,
        layout.filters_at,
        model.filters.len() as u32,
        intermediate,
        model.graph.input().elements() as u32,
        layout.output_at,
        model.graph.output_shape().elements() as u32,
        inputs.len() as u32,
    ];
    let mut bundle = [&MAGIC[..], &architecture.hash().0].concat();
    bundle.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bundle.extend(layout.config_bytes());
    bundle.extend(&model.filters);
    let outputs: Vec<Vec<i8>> = inputs.iter().map(|input| model.infer(input)).collect();
    let outputs = outputs.iter().map(Vec::as_slice);
    bundle.extend(inputs.iter().copied().chain(outputs).flatten().map(|value| *value as u8));
    Ok(bundle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::digits;

    #[test]
    fn parts_stand_where_the_header_says() {
        let (architecture, model) = (Architecture::default(), Model::of_network(&digits::network()).unwrap());
        let samples = digits::samples();
        let inputs: Vec<&[i8]> = samples.iter().take(3).map(|sample| &sample.pixels[..]).collect();
        let bundle = bundle(&architecture, &model, &inputs).unwrap();
        let word = |at: usize| u32::from_le_bytes(*bundle[4 * at..].first_chunk().unwrap()) as usize;
        assert_eq!((&bundle[..4], &bundle[4..20]), (&b"VPIB"[..], &architecture.hash().0[..]));
        let [config, filters, input, output, count] = [8 * word(6), word(8), word(10), word(12), word(13)];
        assert_eq!((input, output, count), (64, 10, 3));
        assert_eq!(bundle.len(), 56 + config + filters + count * (input + output));
        let last = &bundle[bundle.len() - 10..];
        assert!(last.iter().map(|byte| *byte as i8).eq(model.infer(inputs[2])));
    }
}
