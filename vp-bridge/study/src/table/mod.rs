//! Results as tables, for those who go on with tools of their own: CSV and Parquet, with the same columns.

mod columns;
mod parquet;
// That of the recordings' tests.
#[cfg(test)]
#[path = "../../../recordings/tests/recordings/reluctant.rs"]
mod reluctant;

pub use columns::{layers, points};

use std::io::Write;
use std::path::Path;
use vp_models::printable;
use vp_observers::WholeFile;

/// A column: its name, and a cell a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of what the column holds, with its unit behind: `time_ns`.
    pub name: String,
    /// A cell for each row.
    pub cells: Vec<Cell>,
}

/// A table, column by column; all are equally long.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Columns of the table.
    pub columns: Vec<Column>,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// None.
    Empty,
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Boolean(bool),
    /// A text.
    Text(String),
}

impl From<u64> for Cell {
    fn from(number: u64) -> Cell {
        i64::try_from(number).map_or(Cell::Number(number as f64), Cell::Integer)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Cell {
        Cell::Number(number)
    }
}

impl From<bool> for Cell {
    fn from(is: bool) -> Cell {
        Cell::Boolean(is)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::Empty, Into::into)
    }
}

impl From<&toml::Value> for Cell {
    fn from(value: &toml::Value) -> Cell {
        match value {
            toml::Value::Integer(number) => Cell::Integer(*number),
            toml::Value::Float(number) => Cell::Number(*number),
            toml::Value::Boolean(is) => Cell::Boolean(*is),
            toml::Value::String(text) => Cell::Text(text.clone()),
            other => Cell::Text(other.to_string()),
        }
    }
}

impl Cell {
    /// As it is written into a CSV file.
    fn text(&self) -> String {
        match self {
            Cell::Empty => String::new(),
            Cell::Integer(number) => number.to_string(),
            Cell::Number(number) => number.to_string(),
            Cell::Boolean(is) => is.to_string(),
            Cell::Text(text) => printable::lines(text).into_owned(),
        }
    }
}

impl Table {
    /// Rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// Adds a cell at the end of the column of that name, in row `row`; a new column is empty above.
    fn put(&mut self, row: usize, name: &str, cell: impl Into<Cell>) {
        let column = match self.columns.iter_mut().position(|column| column.name == name) {
            Some(at) => &mut self.columns[at],
            None => {
                self.columns.push(Column { name: name.to_owned(), cells: Vec::new() });
                let last = self.columns.len() - 1;
                &mut self.columns[last]
            }
        };
        if column.cells.len() <= row {
            column.cells.resize(row + 1, Cell::Empty);
        }
        column.cells[row] = cell.into();
    }

    /// Makes all columns as long.
    fn level(&mut self, rows: usize) {
        self.columns.iter_mut().for_each(|column| column.cells.resize(rows, Cell::Empty));
    }

    /// Writes it as CSV.
    ///
    /// # Errors
    /// The disk's.
    pub fn write_csv(&self, path: &Path) -> Result<(), String> {
        let written = WholeFile::create(path).and_then(|file| self.csv(file)).and_then(WholeFile::keep);
        written.map_err(|error| format!("{}: {error}", path.display()))
    }

    fn csv<F: Write>(&self, file: F) -> std::io::Result<F> {
        let mut file = csv::Writer::from_writer(file);
        file.write_record(self.columns.iter().map(|column| printable::lines(&column.name).into_owned()))?;
        for row in 0..self.rows() {
            file.write_record(self.columns.iter().map(|column| column.cells[row].text()))?;
        }
        file.into_inner().map_err(csv::IntoInnerError::into_error)
    }

    /// Writes it as Parquet.
    ///
    /// # Errors
    /// The disk's.
    pub fn write_parquet(&self, path: &Path) -> Result<(), String> {
        let written = WholeFile::create(path)
            .map_err(Into::into)
            .and_then(|file| parquet::write(self, file))
            .and_then(|file| Ok(file.keep()?));
        written.map_err(|error| format!("{}: {error}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::reluctant::Reluctant;
    use super::*;

    #[test]
    fn a_column_that_comes_late_is_empty_above() {
        let mut table = Table::default();
        table.put(0, "a", 1u64);
        table.put(1, "b", 0.5);
        table.level(2);
        assert_eq!(table.rows(), 2);
        assert_eq!(table.columns[1].cells, [Cell::Empty, Cell::Number(0.5)]);
        assert_eq!(table.columns[0].cells, [Cell::Integer(1), Cell::Empty]);
    }

    #[test]
    fn tables_come_out_whole_where_writes_are_cut_short_and_interrupted() {
        let mut table = Table::default();
        for row in 0..500 {
            table.put(row, "number", (row * row) as u64);
            table.put(row, "text", format!("row {row}"));
        }
        let (csv, parquet) = (table.csv(Vec::new()).unwrap(), parquet::write(&table, Vec::new()).unwrap());
        for seed in 0..50 {
            let reluctant = || Reluctant::new(Vec::<u8>::new(), 100, seed);
            assert!(table.csv(reluctant()).unwrap().into_inner() == csv, "seed {seed}");
            assert!(parquet::write(&table, reluctant()).unwrap().into_inner() == parquet, "seed {seed}");
        }
    }

    #[test]
    fn csv_holds_what_the_table_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let mut table = Table::default();
        table.put(0, "text", "a, \"b\"");
        table.put(0, "yes", Cell::Boolean(true));
        table.put(0, "none", Cell::Empty);
        table.write_csv(&path).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "text,yes,none\n\"a, \"\"b\"\"\",true,\n");
    }
}
