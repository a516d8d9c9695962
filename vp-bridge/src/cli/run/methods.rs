//! Methods by which layers were convolved, where hardware can do the same in several ways: marks in the table of layers, and
//! what they mean.

use crate::cli::Failure;
use crate::cli::text::{counted, wrapped};
use std::io::Write;
use vp_host::network::{Compression, ConvolutionMethod, LayerFigures, Network, Plan, Winograd};

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

/// Layers that are named with the reason for which they are computed directly.
const NAMED: usize = 3;

/// The marks of a layer.
pub(super) fn marks(method: &ConvolutionMethod) -> String {
    [WINOGRAD, COMPRESSED].iter().filter(|mark| (mark.is_of)(method)).map(|mark| mark.letter).collect()
}

/// Returns true if a layer has a mark.
pub(super) fn are_marked(layers: &[LayerFigures]) -> bool {
    layers.iter().any(|layer| layer.method != ConvolutionMethod::default())
}

/// Shows what the marks of these layers mean, and what was asked for and no layer does.
pub(super) fn show_legend(
    out: &mut impl Write,
    planned: (&Network, &Plan),
    layers: &[LayerFigures],
) -> Result<(), Failure> {
    let lines = legend(planned, layers);
    for line in &lines {
        writeln!(out, "{line}")?;
    }
    if !lines.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

fn legend((network, plan): (&Network, &Plan), layers: &[LayerFigures]) -> Vec<String> {
    let is_compression_asked = network.choices.compression != Compression::Never;
    let lines = [
        (WINOGRAD, network.choices.winograd != Winograd::Never, "by Winograd's method"),
        (COMPRESSED, is_compression_asked, "with compressed weights"),
    ]
    .into_iter()
    .flat_map(|(Mark { letter, is_of, meaning }, is_asked, how)| {
        if layers.iter().any(|layer| is_of(&layer.method)) {
            return vec![wrapped(&format!("{letter}  {meaning}"), "   ").trim_start().to_owned()];
        }
        if !is_asked {
            return Vec::new();
        }
        let why = if letter == WINOGRAD.letter { direct(network, plan) } else { Vec::new() };
        [vec![format!("no layer is computed {how} here")], why].concat()
    });
    lines.collect()
}

/// A line for each reason why convolutions are not computed by Winograd's method though that was asked for, with their names.
fn direct(network: &Network, plan: &Plan) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for (layer, reason) in &plan.without_winograd {
        let (reason, name) = (reason.to_string(), network.layers[*layer].name.as_str());
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    let line = |(reason, names): (String, Vec<&str>)| {
        let more = names.len().saturating_sub(NAMED);
        let named = names[..names.len() - more].join(", ");
        let more =
            if more > 0 { format!(" and {}", counted(more as u64, "more layer")) } else { String::new() };
        wrapped(&format!("{named}{more}: {reason}"), "   ")
    };
    reasons.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::COLUMNS;
    use vp_host::network::{Measured, Memories, PlanOptions};
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
        let (config, memories) = (&description.nvdla().unwrap().config, Memories::of(&description));
        let plan = Plan::with(&network, config, &memories, &PlanOptions::default()).unwrap();
        (marks, legend((&network, &plan), &layers))
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
        let none = |how| format!("no layer is computed {how} here");
        let why = "   conv: nv_small is built without it (winograd = false)".to_owned();
        assert_eq!(lines, [none("by Winograd's method"), why, none("with compressed weights")]);
    }
}
