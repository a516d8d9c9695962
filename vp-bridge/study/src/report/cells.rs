//! Tables.

use super::bars::Bar;
use crate::measured::{Measured, MeasuredLayer};
use crate::wording::rounded;
use maud::{Markup, html};
use vp_host::Bound;

/// A table as it stands behind a picture: names of columns, then rows. Cells that are no numbers begin with a letter or a sign of their own.
pub(super) type Cells = (Vec<String>, Vec<Vec<String>>);

pub(super) fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

pub(super) fn bound_cells(first: &str, bars: &[Bar]) -> Cells {
    let header =
        std::iter::once(first.to_owned()).chain(Bound::ALL.map(|bound| format!("{}, %", bound.name())));
    let row = |bar: &Bar| {
        let whole: f64 = bar.parts.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let parts = bar.parts.iter().map(|part| format!("{:.1}", 100.0 * part / whole));
        std::iter::once(bar.name.clone()).chain(parts).collect()
    };
    (header.collect(), bars.iter().map(row).collect())
}

pub(super) fn layer_cells(measured: &Measured) -> Cells {
    let mut header = strings(["layer", "hardware layers", "cycles", "MACs", "bytes read", "bytes written"]);
    header.extend(Bound::ALL.map(|bound| format!("{}, %", bound.name())));
    let row = |layer: &MeasuredLayer| {
        let counts =
            [layer.parts, layer.time / measured.period.max(1), layer.macs, layer.read, layer.written];
        let whole = layer.time.max(1) as f64;
        let shares = layer.bounds.iter().map(|part| format!("{:.1}", 100.0 * *part as f64 / whole));
        std::iter::once(layer.named())
            .chain(counts.iter().map(|count| rounded_whole(*count)))
            .chain(shares)
            .collect()
    };
    (header, measured.layers.iter().map(row).collect())
}

/// A count, thousands apart.
pub(super) fn rounded_whole(count: u64) -> String {
    if count < 100 { count.to_string() } else { rounded(count as f64) }
}

/// Returns true if a cell is a number with a few words behind it at most; of nothing too.
pub(super) fn is_number(cell: &str) -> bool {
    let begins = cell.is_empty() || cell.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    begins && cell.split_whitespace().count() <= 6
}

/// Cells of numbers to the right, of texts to the left.
pub(super) fn table((header, rows): &Cells) -> Markup {
    let is_number = |column: usize| rows.iter().filter_map(|row| row.get(column)).all(|cell| is_number(cell));
    let classes: Vec<&str> =
        (0..header.len()).map(|column| if is_number(column) { "" } else { "text" }).collect();
    html! {
        div.scroll {
            table {
                thead { tr { @for (name, class) in header.iter().zip(&classes) { th class=(class) { (name) } } } }
                tbody {
                    @for row in rows {
                        tr { @for (cell, class) in row.iter().zip(&classes) { td class=(class) { (cell) } } }
                    }
                }
            }
        }
    }
}
