//! Charts that a reader can ask: what a point is, without a curve, closer. The page's script draws them over the pictures with
//! plotly.js, which the page carries; without scripts, and on paper, the pictures stand.

use super::plot::Axis;
use maud::{Markup, PreEscaped, html};
use plotters::style::RGBColor;
use serde_json::{Map, Value, json};

/// plotly.js, packed: gzip in base64.
const PLOTLY: &str = include_str!(concat!(env!("OUT_DIR"), "/plotly.js.gz.base64"));

/// Notice at the beginning of plotly.js: its version, and whose it is.
const NOTICE: &str = include_str!(concat!(env!("OUT_DIR"), "/plotly.notice"));

/// The page's own script.
const SCRIPT: &str = include_str!("page.js");

/// A chart in the terms of plotly.js: traces and layout. A colour is the name of a variable of the page's style, `var(--series-1)`.
#[derive(Clone, Debug)]
pub(super) struct Live {
    traces: Vec<Value>,
    layout: Map<String, Value>,
    /// Pixels.
    high: u32,
}

impl Live {
    /// Traces over two axes.
    pub(super) fn new(traces: Vec<Value>, x: Value, y: Value, high: u32) -> Live {
        let layout = Map::from_iter([("xaxis".to_owned(), x), ("yaxis".to_owned(), y)]);
        Live { traces, layout, high }
    }

    /// Returns the chart with another trace.
    #[must_use]
    pub(super) fn and(mut self, trace: Value) -> Live {
        self.traces.push(trace);
        self
    }

    /// Returns the chart with more of the layout said.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Live {
        self.layout.insert(name.to_owned(), value.into());
        self
    }

    /// As it stands in a figure.
    pub(super) fn element(&self) -> Markup {
        let Live { traces, layout, high } = self;
        let text = json!({ "data": traces, "layout": layout, "high": high }).to_string();
        // What ends a script's element ends it wherever it stands.
        html! { script.chart type="application/json" { (PreEscaped(text.replace("</", "<\\/"))) } }
    }
}

/// An axis from zero.
pub(super) fn axis(name: &str) -> Value {
    json!({ "title": { "text": name }, "rangemode": "tozero" })
}

/// The axis of a picture, with the same ticks.
pub(super) fn along(axis: &Axis) -> Value {
    let mut value = json!({ "title": { "text": axis.name() } });
    match axis.is_log() {
        true => value["type"] = "log".into(),
        false => value["rangemode"] = "tozero".into(),
    }
    let (places, texts): (Vec<f64>, Vec<String>) = axis.labelled_ticks().unzip();
    // Where a part is drawn closer the page's script lets plotly.js find others.
    value["tickvals"] = places.into_iter().map(digits).collect();
    value["ticktext"] = texts.into();
    value
}

/// An axis with words along it.
pub(super) fn words(name: &str) -> Value {
    json!({ "title": { "text": name }, "type": "category" })
}

/// The n-th of the colours for what has none of its own, as a variable of the page's style.
pub(super) fn series(at: usize) -> String {
    format!("var(--series-{})", at % super::drawing::SERIES.len() + 1)
}

/// A colour of the pictures as a variable of the page's style.
pub(super) fn variable(colour: RGBColor) -> String {
    let (family, at) = match super::drawing::BOUNDS.iter().position(|bound| *bound == colour) {
        Some(at) => ("bound", at),
        None => ("series", super::drawing::SERIES.iter().position(|one| *one == colour).unwrap_or(0)),
    };
    format!("var(--{family}-{})", at + 1)
}

/// A number with the digits that can be seen.
pub(super) fn digits(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap_or(number)
}

/// Returns the scripts that the page carries to draw its charts, for its end.
pub(super) fn scripts() -> Markup {
    html! {
        script id="plotly" type="application/gzip;base64" { (PreEscaped(PLOTLY)) }
        script { (PreEscaped(SCRIPT)) }
    }
}

/// Owner and licence of the script that the page carries.
pub(super) fn licence() -> Markup {
    html! {
        details.licence {
            summary { "Licence of the charts' script" }
            pre { (NOTICE) "\n\n" (MIT) }
        }
    }
}

/// The licence that the notice names.
const MIT: &str = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the \"Software\"), to deal in the Software without restriction, including without limitation the rights to use,
copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom
the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_there_and_its_licence() {
        assert!(PLOTLY.len() > 1_000_000 && PLOTLY.len() < 2_500_000, "{} bytes", PLOTLY.len());
        assert!(NOTICE.contains("plotly.js v") && NOTICE.contains("MIT"), "{NOTICE}");
    }

    #[test]
    fn no_name_ends_the_element_that_it_stands_in() {
        let live = Live::new(vec![json!({ "name": "</script><b>" })], json!({}), json!({}), 300);
        let text = live.element().into_string();
        assert_eq!(text.matches("</script>").count(), 1, "{text}");
    }

    #[test]
    fn a_logarithmic_axis_says_so() {
        let log = along(&Axis::log("cycles", [10.0, 1000.0], 1.0));
        assert_eq!((&log["title"]["text"], &log["type"]), (&json!("cycles (log scale)"), &json!("log")));
        assert_eq!((&log["tickvals"][1], &log["ticktext"][1]), (&json!(20.0), &json!("20")));
        assert_eq!(along(&Axis::linear("cycles", [9.0]))["title"]["text"], "cycles");
    }
}
