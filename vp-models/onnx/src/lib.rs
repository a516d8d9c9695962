//! ONNX models: reading them, and making networks of them.
//!
//! [`Model::load`] reads a file, within limits and without trusting it. [`Model::graph`] makes a graph of static shapes of it, or
//! tells all that is in the way. Operators of versions 7 to 28 become those of `vp_tensors`, whatever form their version has.
//!
//! # Where to add an operator, or a form of boxes
//!
//! `Operator` in `vp_tensors`, if no variant says it, and what the compiler then names: `infer.rs`, `run.rs`, `operations.rs`, with its
//! arithmetic in a file of its kind. What its versions say becomes that in `import`, whose `table.rs` has its row. A unit for it:
//! `lower/nodes.rs`, and a `DraftKind` in `lower/draft.rs` with its numbers in `coded.rs`; a new kind of layer comes first (`vp_host::network`).
//! `tests/onnx/run --docs` runs the cases of the package `onnx` and writes `docs/onnx.md`. A form of detectors' boxes: `boxes/form.rs` and
//! `side_file.rs`.

mod attributes;
mod beside;
pub mod boxes;
mod constant;
mod distance;
mod import;
mod limits;
pub mod lower;
mod messages;
mod model;
mod order;
mod prepare;
mod problem;
pub mod samples;
mod side_file;
#[cfg(test)]
mod tests;

pub use constant::External;
pub use distance::{Distance, LayerDistance};
pub use import::{Imported, Note, Options, Supported, VERSIONS, supported};
pub use limits::{LARGEST_FILE, MOST_NODES};
pub use model::{Dimension, Input, Model};
pub use prepare::{CalibrationProgress, InputShape, OpenedModel, PrepareError, PrepareOptions, is_table};
pub use problem::{Problem, Problems, ReadError};
