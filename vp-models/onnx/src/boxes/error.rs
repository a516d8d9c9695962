//! Errors of outputs that do not have a detector's form.

use super::FormName;

/// Error of a model's outputs that are not of a detector's form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetectorError {
    /// An output that the model does not have.
    #[error("boxes: the model has no output `{name}`; it has {}", known.join(", "))]
    NoOutput {
        /// Name that is asked for.
        name: String,
        /// Names of the model's outputs.
        known: Vec<String>,
    },
    /// Outputs of other shapes.
    #[error("boxes of form {form} need {wanted}; the outputs are {}", found.join(", "))]
    Shapes {
        /// The form.
        form: FormName,
        /// Text that says which outputs the form has.
        wanted: String,
        /// Names and shapes of the model's outputs, or of those that are named.
        found: Vec<String>,
    },
}
