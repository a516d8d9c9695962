//! A table as a Parquet file: a column has the narrowest type that holds all its cells, and any may be null.

use super::{Cell, Column, Table};
use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

pub(super) fn write<F: Write + Send>(table: &Table, file: F) -> Result<F> {
    let fields = table.columns.iter().map(|column| field(column).map(Arc::new)).collect::<Result<_>>()?;
    let schema = Type::group_type_builder("table").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    let mut rows = file.next_row_group()?;
    for column in &table.columns {
        let Some(mut writer) = rows.next_column()? else { break };
        match physical(column) {
            Physical::INT64 => put::<Int64Type>(&mut writer, column, |cell| match cell {
                Cell::Integer(number) => Some(*number),
                _ => None,
            }),
            Physical::DOUBLE => put::<DoubleType>(&mut writer, column, |cell| match cell {
                Cell::Integer(number) => Some(*number as f64),
                Cell::Number(number) => Some(*number),
                _ => None,
            }),
            Physical::BOOLEAN => put::<BoolType>(&mut writer, column, |cell| match cell {
                Cell::Boolean(is) => Some(*is),
                _ => None,
            }),
            _ => put::<ByteArrayType>(&mut writer, column, |cell| {
                (*cell != Cell::Empty).then(|| ByteArray::from(cell.text().as_str()))
            }),
        }?;
        writer.close()?;
    }
    rows.close()?;
    file.into_inner()
}

/// Writes the cells that there are, and for each row whether there is one.
fn put<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    column: &Column,
    value: impl Fn(&Cell) -> Option<T::T>,
) -> Result<()> {
    let values: Vec<Option<T::T>> = column.cells.iter().map(value).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    writer.typed::<T>().write_batch(&values, Some(&levels), None)?;
    Ok(())
}

fn physical(column: &Column) -> Physical {
    let mut filled = column.cells.iter().filter(|cell| **cell != Cell::Empty).peekable();
    // What is empty so far is text: anything can be said in it.
    if filled.peek().is_none() {
        return Physical::BYTE_ARRAY;
    }
    let all = |is: fn(&Cell) -> bool| filled.clone().all(is);
    if all(|cell| matches!(cell, Cell::Integer(_))) {
        Physical::INT64
    } else if all(|cell| matches!(cell, Cell::Integer(_) | Cell::Number(_))) {
        Physical::DOUBLE
    } else if all(|cell| matches!(cell, Cell::Boolean(_))) {
        Physical::BOOLEAN
    } else {
        Physical::BYTE_ARRAY
    }
}

fn field(column: &Column) -> Result<Type> {
    let physical = physical(column);
    let text = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(text)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;
    use std::fs::File;

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let mut table = Table::default();
        let rows = [
            [Cell::Integer(7), Cell::Integer(1), Cell::Boolean(true), Cell::Text("a".into()), Cell::Empty],
            [Cell::Empty, Cell::Number(0.5), Cell::Empty, Cell::Integer(3), Cell::Empty],
        ];
        for (row, cells) in rows.iter().enumerate() {
            for (name, cell) in ["whole", "number", "yes", "text", "none"].iter().zip(cells) {
                table.put(row, name, cell.clone());
            }
        }
        write(&table, File::create(&path).unwrap()).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let read: Vec<Vec<Field>> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().into_columns().into_iter().map(|(_, field)| field).collect())
            .collect();
        let text = |text: &str| Field::Str(text.to_owned());
        assert_eq!(read[0], [Field::Long(7), Field::Double(1.0), Field::Bool(true), text("a"), Field::Null]);
        assert_eq!(read[1], [Field::Null, Field::Double(0.5), Field::Null, text("3"), Field::Null]);
        let schema = reader.metadata().file_metadata().schema_descr();
        assert_eq!(schema.column(4).physical_type(), Physical::BYTE_ARRAY);
    }
}
