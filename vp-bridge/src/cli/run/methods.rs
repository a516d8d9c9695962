//! How layers were convolved, where hardware can do the same in several ways: marks in the table of layers, and what they mean.

use crate::cli::Failure;
use crate::cli::text::wrapped;
use std::io::Write;
use vp_models::host::network::{Choices, Compression, ConvolutionMethod, LayerFigures, Winograd};

/// A mark in the table of layers.
struct Mark {
    letter: &'static str,
    is_of: fn(&ConvolutionMethod) -> bool,
    meaning: &'static str,
}

const WINOGRAD: Mark = Mark {
    letter: "W",
    is_of: ConvolutionMethod::is_winograd,
    meaning: "by Winograd's method: results are near those of the direct method, and not the same (networks/README.md)",
};

const COMPRESSED: Mark = Mark {
    letter: "C",
    is_of: |method| method.is_compressed,
    meaning: "weights in memory without their zeros, which changes no result",
};

/// The marks of a layer.
pub(super) fn marks(method: &ConvolutionMethod) -> String {
    [WINOGRAD, COMPRESSED].iter().filter(|mark| (mark.is_of)(method)).map(|mark| mark.letter).collect()
}

/// Whether a layer has a mark.
pub(super) fn are_marked(layers: &[LayerFigures]) -> bool {
    layers.iter().any(|layer| layer.method != ConvolutionMethod::default())
}

/// What the marks of these layers mean, and what was asked for and no layer does.
pub(super) fn show_legend(
    out: &mut impl Write,
    choices: Choices,
    layers: &[LayerFigures],
) -> Result<(), Failure> {
    let lines = legend(choices, layers);
    for line in &lines {
        writeln!(out, "{line}")?;
    }
    if !lines.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

fn legend(choices: Choices, layers: &[LayerFigures]) -> Vec<String> {
    let is_compression_asked = choices.compression != Compression::Never;
    [
        (WINOGRAD, choices.winograd != Winograd::Never, "by Winograd's method"),
        (COMPRESSED, is_compression_asked, "with compressed weights"),
    ]
    .into_iter()
    .filter_map(|(Mark { letter, is_of, meaning }, is_asked, how)| {
        if layers.iter().any(|layer| is_of(&layer.method)) {
            return Some(wrapped(&format!("{letter}  {meaning}"), "   ").trim_start().to_owned());
        }
        is_asked.then(|| format!("no layer is computed {how} here"))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::COLUMNS;
    use vp_models::host::network::{Measured, Network};
    use vp_models::platform::{Arithmetic, Description};

    /// Of a layer on this platform.
    fn told(platform: &str, more: &str) -> (String, Vec<String>) {
        let text = format!(
            "name = 'n'\nseed = 1\n{more}\ninput = {{ width = 16, height = 16, channels = 64 }}\n[[layer]]\n\
             name = 'conv'\nkind = 'convolution'\nkernels = 64\nkernel = [3, 3]\npadding = [1, 1]\n"
        );
        let network = Network::parse(&text, &mut |_| Err("none".to_owned())).unwrap();
        let mut description = Description::named(platform).unwrap();
        description.arithmetic = Arithmetic::Skipped;
        let layers = Measured::of(&network, &description, &network.example_input(1)).unwrap().layers;
        let marks = marks(&layers[0].method);
        assert_eq!(are_marked(&layers), !marks.is_empty());
        (marks, legend(network.choices, &layers))
    }

    #[test]
    fn a_layer_has_marks_that_are_explained_in_lines_of_80_columns() {
        assert_eq!(told("nv_large", ""), (String::new(), Vec::new()));
        let (marks, lines) = told("nv_large", "winograd = 'always'");
        assert_eq!(marks, "W");
        assert!(
            lines[0].starts_with("W  by Winograd's method: ")
                && lines[0].contains("the same (networks/README.md)"),
            "{lines:?}"
        );
        assert!(lines[0].lines().all(|line| line.chars().count() <= COLUMNS.into()), "{lines:?}");
        let (marks, lines) = told("nv_large", "zeros = 0.8");
        assert!(marks == "C" && lines.len() == 1 && lines[0].starts_with("C  weights"), "{marks} {lines:?}");
        // What is asked for in vain is said.
        let (marks, lines) = told("nv_small", "winograd = 'always'\nzeros = 0.8");
        assert!(marks.is_empty(), "{marks}");
        let lacks = ["by Winograd's method", "with compressed weights"];
        assert_eq!(lines, lacks.map(|what| format!("no layer is computed {what} here")));
    }
}
