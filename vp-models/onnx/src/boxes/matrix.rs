//! Matrices of an output's numbers, whichever axis is the inner one.

/// Rows of numbers, one row a box or cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrix<'a> {
    numbers: &'a [f32],
    pub(super) rows: usize,
    pub(super) columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// A matrix whose rows lie one behind the other.
    pub(super) fn by_rows(numbers: &'a [f32], [rows, columns]: [usize; 2]) -> Matrix<'a> {
        Matrix { numbers, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// A matrix whose columns lie one behind the other.
    pub(super) fn by_columns(numbers: &'a [f32], [columns, rows]: [usize; 2]) -> Matrix<'a> {
        Matrix { numbers, rows, columns, row_stride: 1, column_stride: rows }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f32 {
        self.numbers[row * self.row_stride + column * self.column_stride]
    }

    /// The first four numbers of a row.
    pub(super) fn four(&self, row: usize) -> [f64; 4] {
        [0, 1, 2, 3].map(|column| self.at(row, column).into())
    }

    /// The largest number of a row in columns from one on, all or so many, and its place among them. NaN is passed over.
    pub(super) fn best(&self, row: usize, from: usize, columns: Option<usize>) -> Option<(usize, f32)> {
        let end = columns.map_or(self.columns, |columns| from + columns);
        let numbers = (from..end).map(|column| (column - from, self.at(row, column)));
        let numbers = numbers.filter(|(_, number)| !number.is_nan());
        // Of equal ones the first.
        numbers.reduce(|best, other| if other.1 > best.1 { other } else { best })
    }
}
