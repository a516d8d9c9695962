//! Numbers, colours and tables as people read them.

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use vp_core::Time;
use vp_models::printable;
pub(super) use vp_models::units::grouped;

use super::out::own;

pub(super) const RED: Style = AnsiColor::Red.on_default().bold();
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const GREEN: Style = AnsiColor::Green.on_default().bold();
pub(super) const DIM: Style = Style::new().dimmed();

/// A text in a style, which goes out to where it is wanted ([`out`](super::out)).
pub(super) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{}{text}{}", own(style.render()), own(style.render_reset()))
}

/// Text of somebody else's, such as of a file, in one line, without what is not fit to be shown.
pub(super) fn one_line(text: &str) -> String {
    printable::one_line(text).into_owned()
}

/// A quantity with its unit in the singular or plural: `1 burst`, `256 bursts`.
pub(super) fn counted(number: u64, unit: &str) -> String {
    format!("{} {unit}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A size in bytes, in the largest unit that divides it: `2 GiB`.
pub(super) fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|&(_, shift)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift));
    match unit {
        Some((unit, shift)) => format!("{} {unit}", bytes >> shift),
        None => format!("{} bytes", grouped(bytes)),
    }
}

/// The frequency of a clock: `1 GHz`, `100 MHz`.
pub(super) fn frequency(period: Time) -> String {
    let hertz = 1e12 / period.as_ps().max(1) as f64;
    let units = [("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)];
    let (unit, scale) = units.into_iter().find(|&(_, scale)| hertz >= scale).unwrap_or(("Hz", 1.0));
    let text = format!("{:.3}", hertz / scale);
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Columns of a terminal that no one has widened.
pub(super) const COLUMNS: u16 = 80;

/// A table as lines of at most [`COLUMNS`]: where its columns need more, headers and cells are broken between words. Words stay whole.
pub(super) fn fitted(mut table: Table) -> String {
    let columns = table.column_count();
    let mut longest = vec![0; columns];
    for (at, cell) in
        table.header().into_iter().chain(table.row_iter()).flat_map(|row| row.cell_iter().enumerate())
    {
        let words = cell.content().split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
        longest[at] = longest[at].max(words);
    }
    for (column, longest) in table.column_iter_mut().zip(longest) {
        let width = Width::Fixed((longest + usize::from(BETWEEN)) as u16);
        column.set_constraint(ColumnConstraint::LowerBoundary(width));
    }
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(COLUMNS);
    table.trim_fmt()
}

/// A text in lines of at most [`COLUMNS`], all of them behind an indent.
pub(super) fn wrapped(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(COLUMNS.into()).initial_indent(indent).subsequent_indent(indent);
    textwrap::fill(text, options.break_words(false))
}

/// Spaces behind each column of a table.
const BETWEEN: u16 = 2;

/// A table of aligned columns without lines; `right` names the columns that hold numbers.
pub(super) fn table(header: &[&str], right: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header.iter().copied());
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, BETWEEN));
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_too_wide_is_broken_between_words() {
        fn row(name: &str) -> [&str; 7] {
            [name, "64 outstanding", "8 807", "4 577", "100 %", "up to 81 cycles", "up to 400 cycles"]
        }
        let header = [
            "",
            "outstanding at most",
            "frames/s at first",
            "at last",
            "best of the ideal",
            "90 % of the ideal",
            "90 % of its own first",
        ];
        let mut wide = table(&header, &[2, 3]);
        wide.add_row(row("resnet50 on nv_large")).add_row(row("lenet on nv_small"));
        let shown = fitted(wide);
        assert!(shown.lines().all(|line| line.chars().count() <= COLUMNS.into()), "{shown}");
        for word in header.iter().chain(&row("resnet50 on nv_large")).flat_map(|text| text.split(' ')) {
            assert!(shown.contains(word), "no whole {word} in {shown}");
        }
        let mut narrow = table(&["a", "b"], &[]);
        narrow.add_row(["1", "2"]);
        assert_eq!(fitted(narrow.clone()), narrow.trim_fmt());
    }

    #[test]
    fn sizes_and_frequencies_are_round_where_they_can_be() {
        assert_eq!(
            (size(2 << 30), size(1 << 18), size(1_000)),
            ("2 GiB".into(), "256 KiB".into(), "1 000 bytes".into())
        );
        assert_eq!((frequency(Time::ns(1)), frequency(Time::ns(10))), ("1 GHz".into(), "100 MHz".into()));
    }
}
