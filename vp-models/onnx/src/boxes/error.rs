//! Errors of outputs that do not have a detector's form.

use super::FormName;

/// Error of a model's outputs that are not of a detector's form.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DetectorError {
    /// An output that the model does not have.
    #[error("boxes: the model has no output `{name}`; it has {}", known.join(", "))]
    NoOutput {
        /// Name that is asked for.
        name: String,
        /// Names of the model's outputs.
        known: Vec<String>,
    },
    /// An output that is named twice.
    #[error("boxes: `outputs` names `{0}` twice")]
    Twice(String),
    /// Outputs of other shapes.
    #[error("boxes of form {form} need {wanted}; `outputs` names them; the outputs are {found}")]
    Shapes {
        /// The form.
        form: FormName,
        /// Text that says which outputs the form has.
        wanted: String,
        /// Names and shapes of the model's outputs, or of those that are named.
        found: String,
    },
    /// A background that is no class.
    #[error(
        "boxes: background = {class}, and the classes are 0 to {last}; `background = false` if all are things"
    )]
    Background {
        /// The class.
        class: usize,
        /// The last class.
        last: usize,
    },
    /// A score that is no probability.
    #[error(
        "boxes of form {form}: a score of {score}, and probabilities are at most 1: the outputs have another form, more columns than classes (`classes` says how many), or lack an activation"
    )]
    Score {
        /// The form.
        form: FormName,
        /// The score.
        score: f32,
    },
    /// Corners that are no shares of the input.
    #[error(
        "boxes: corners up to {0}, and shares of the input are near 0 to 1; `units = \"pixels\"` if they are pixels"
    )]
    Corner(f32),
    /// A number that is no class.
    #[error("boxes of form {form}: class {class}, which is no whole number from 0 on")]
    Class {
        /// The form.
        form: FormName,
        /// The number.
        class: f32,
    },
}
