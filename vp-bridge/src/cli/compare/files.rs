//! Every transaction of both runs as a line of CSV, with the clock edges of both: where they drift apart shows there.

use std::io;
use std::path::{Path, PathBuf};
use vp_models::printable;
use vp_observers::WholeFile;

use super::difference::pairs_of_all;
use super::transactions::{Content, Stream, StreamKind, Transaction, TransferStep};
use super::{Compared, Failure};

const HEADER: [&str; 9] =
    ["trace", "port", "kind", "id", "number", "what", "model_first_edge", "outside_first_edge", "later"];

/// The file, as lines are written to it.
pub(super) struct Table {
    writer: csv::Writer<WholeFile>,
    path: PathBuf,
}

impl Table {
    pub(super) fn create(path: &Path) -> Result<Table, Failure> {
        let file = WholeFile::create(path).map_err(|error| wrong(path, &error.into()))?;
        let mut table = Table { writer: csv::Writer::from_writer(file), path: path.to_owned() };
        table.line(HEADER)?;
        Ok(table)
    }

    fn line<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) -> Result<(), Failure> {
        let fit = cells.into_iter().map(|cell| printable::lines(cell.as_ref()).into_owned());
        self.writer.write_record(fit).map_err(|error| wrong(&self.path, &error))
    }

    /// Adds the transactions of a trace: in each stream those that have the same number in one line.
    pub(super) fn add(&mut self, compared: &Compared) -> Result<(), Failure> {
        let Compared { name, period, model, outside, .. } = compared;
        for (stream, index, model, outside) in pairs_of_all(&model.recorded, &outside.recorded) {
            let edge = |transaction: &Transaction| transaction.start().cycles(*period);
            let edges = [model, outside].map(|transaction| transaction.map(edge));
            let later = match edges {
                [Some(model), Some(outside)] => (i128::from(outside) - i128::from(model)).to_string(),
                _ => String::new(),
            };
            let Stream { place, kind } = stream;
            let (kind, id) = match kind {
                StreamKind::Access => ("access", None),
                StreamKind::Level => ("level", None),
                StreamKind::Read(id) => ("read", Some(id)),
                StreamKind::Write(id) => ("write", Some(id)),
            };
            let what = model.or(outside).and_then(|transaction| transaction.steps.first()).map(what);
            let [model, outside] = edges.map(|edge| edge.map(|edge| edge.to_string()).unwrap_or_default());
            let id = id.map(|id| id.to_string()).unwrap_or_default();
            self.line([
                name.as_str(),
                place.port,
                kind,
                &id,
                &index.to_string(),
                &what.unwrap_or_default(),
                &model,
                &outside,
                &later,
            ])?;
        }
        Ok(())
    }

    /// All traces are in it.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let Table { writer, path } = self;
        let kept = writer.into_inner().map_err(csv::IntoInnerError::into_error).and_then(WholeFile::keep);
        kept.map_err(|error: io::Error| wrong(&path, &error.into()))
    }
}

fn wrong(path: &Path, error: &csv::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

fn what(step: &TransferStep) -> String {
    match step.content {
        Content::Request { address, write: Some(value), .. } => format!("0x{address:x} = 0x{value:x}"),
        Content::Request { address, write: None, .. } => format!("0x{address:x}"),
        Content::Address { address, beats } => format!("0x{address:x} {beats} beats"),
        Content::Level(level) => u8::from(level).to_string(),
        Content::Answer(value) => format!("0x{value:x}"),
        Content::Beat { .. } | Content::Response { .. } => String::new(),
    }
}
