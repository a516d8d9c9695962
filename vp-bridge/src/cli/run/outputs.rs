//! Outputs of a loadable, largest value first.

use crate::cli::Failure;
use crate::cli::text::{self, counted};
use serde_json::{Value, json};
use std::io::Write;
use vp_host::loadable::{Element, Execution, Output};

/// Most values that are shown of an output.
const MOST: usize = 10;

/// Prints a line for each output: its name and size, and its largest values with their places.
pub(super) fn show(out: &mut impl Write, execution: &Execution) -> Result<(), Failure> {
    for output in &execution.outputs {
        writeln!(out, "{:<10} {}", "output", sentence(output))?;
    }
    Ok(())
}

fn sentence(output: &Output) -> String {
    let described = output.tensor.as_ref().zip(output.largest(MOST));
    let Some((tensor, (element, largest))) = described else {
        let bytes = counted(output.bytes.len() as u64, "byte");
        return format!("{bytes} at {:#x}: the loadable does not say what they are", output.base);
    };
    let name =
        if tensor.name.is_empty() { String::new() } else { format!("{}: ", text::one_line(&tensor.name)) };
    let [width, height, channels] = tensor.size;
    let values = largest.iter().map(|(index, value)| format!("{index}: {}", number(element, *value)));
    let values = values.collect::<Vec<_>>().join(", ");
    let order =
        if tensor.elements() > largest.len() { "the largest by index" } else { "by index, largest first" };
    format!("{name}{width} x {height} x {channels} of {element}, {order}: {values}")
}

fn number(element: Element, value: f64) -> String {
    match element {
        // Halves have three digits, and some.
        Element::Fp16 if value != 0.0 && value.abs() < 0.001 => format!("{value:.3e}"),
        Element::Fp16 => {
            let text = format!("{value:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Element::Int8 | Element::Int16 => value.to_string(),
    }
}

/// Outputs as JSON, for other programs.
pub(super) fn json(execution: &Execution) -> Value {
    let of = |output: &Output| {
        let largest = output.largest(MOST);
        let values = largest.as_ref().map(|(_, largest)| {
            largest.iter().map(|(index, value)| json!({ "index": index, "value": value })).collect::<Vec<_>>()
        });
        json!({
            "name": output.tensor.as_ref().map(|tensor| &tensor.name),
            "size": output.tensor.as_ref().map(|tensor| tensor.size),
            "format": largest.as_ref().map(|(element, _)| element.to_string()),
            "largest": values,
        })
    };
    execution.outputs.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_host::Memory;
    use vp_host::loadable::Tensor;

    fn output(size: [usize; 3], is_half: bool, bytes: &[u8]) -> Output {
        let tensor = Tensor {
            name: "prob".to_owned(),
            size,
            element_bytes: Some(if is_half { 2 } else { 1 }),
            is_half,
            line_stride: 8 * size[0],
            surface_stride: 8 * size[0] * size[1],
            offset: 0,
            bytes: bytes.len() as u64,
            widest_atom: 64,
            pixel_bytes: None,
        };
        Output { tensor: Some(tensor), memory: Memory::Primary, base: 0xc000_0000, bytes: bytes.to_vec() }
    }

    #[test]
    fn values_are_told_largest_first_with_their_index_by_channel_line_and_column() {
        let bytes = [1, 200, 0, 0, 0, 0, 0, 0, 5, 3, 0, 0, 0, 0, 0, 0];
        let told = sentence(&output([2, 1, 2], false, &bytes));
        assert_eq!(told, "prob: 2 x 1 x 2 of int8, by index, largest first: 1: 5, 3: 3, 0: 1, 2: -56");
        let long = output([1, 1, 11], false, &(0..16).collect::<Vec<u8>>());
        assert!(
            sentence(&long).starts_with("prob: 1 x 1 x 11 of int8, the largest by index: "),
            "{}",
            sentence(&long)
        );
    }

    #[test]
    fn halves_are_told_as_numbers_and_what_is_none_last() {
        let halves = [0.25f32, f32::NAN, 1.5].map(|value| half::f16::from_f32(value).to_le_bytes()).concat();
        let bytes = [halves, vec![0; 2]].concat();
        let told = sentence(&output([1, 1, 3], true, &bytes));
        assert_eq!(told, "prob: 1 x 1 x 3 of fp16, by index, largest first: 2: 1.5, 0: 0.25, 1: NaN");
    }

    #[test]
    fn bytes_that_nobody_describes_are_told_as_such() {
        let output = Output { tensor: None, ..output([1, 1, 1], false, &[0; 8]) };
        assert_eq!(sentence(&output), "8 bytes at 0xc0000000: the loadable does not say what they are");
    }
}
