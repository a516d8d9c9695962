//! Outputs of a network as the bytes of a file.

use super::npy::{self, FloatWidth};
use super::npz::{self, NpzError};
use std::path::Path;
use vp_tensors::Tensor;

/// Error of outputs that a file does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// An NPY file for several outputs.
    #[error("an NPY file has one tensor, and the network has {0} outputs: name an .npz")]
    Several(usize),
    /// A name that says no format.
    #[error("outputs are written as .npy (one) or .npz (any number): end the name with one of these")]
    Format,
    /// An archive that cannot be written.
    #[error(transparent)]
    Npz(#[from] NpzError),
}

/// Returns the bytes of a file of that name for these outputs: an NPY file has the only one, and an NPZ file each by its name.
///
/// # Errors
/// When the name ends otherwise, or an NPY file would have several.
pub fn outputs(file: &Path, outputs: &[(&str, &Tensor)]) -> Result<Vec<u8>, OutputError> {
    let outputs: Vec<_> = outputs.iter().map(|(name, tensor)| (*name, *tensor, FloatWidth::Single)).collect();
    outputs_as(file, &outputs)
}

/// Returns the bytes of a file of that name for these outputs, each of whose floats have a width.
///
/// # Errors
/// As [`outputs`].
pub fn outputs_as(file: &Path, outputs: &[(&str, &Tensor, FloatWidth)]) -> Result<Vec<u8>, OutputError> {
    match (file.extension().and_then(|extension| extension.to_str()), outputs) {
        (Some("npy"), [(_, output, floats)]) => Ok(npy::written_as(output, *floats)),
        (Some("npy"), several) => Err(OutputError::Several(several.len())),
        (Some("npz"), all) => {
            let files = all.iter().map(|(name, tensor, floats)| (*name, npy::written_as(tensor, *floats)));
            Ok(npz::archive(&files.collect::<Vec<_>>())?)
        }
        _ => Err(OutputError::Format),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_file_says_its_format() {
        let tensor = Tensor::floats([1], vec![0.5]);
        let written =
            |name: &str, count: usize| outputs(Path::new(name), &[("a", &tensor), ("b", &tensor)][..count]);
        assert_eq!(npy::read(&written("out.npy", 1).unwrap()), Ok(tensor.clone()));
        assert_eq!(npz::read(&written("out.npz", 2).unwrap()).unwrap().len(), 2);
        for (width, kind) in [(FloatWidth::Half, b"'<f2'"), (FloatWidth::Double, b"'<f8'")] {
            for name in ["out.npy", "out.npz"] {
                let bytes = outputs_as(Path::new(name), &[("a", &tensor, width)]).unwrap();
                assert!(bytes.windows(5).any(|part| part == kind), "{name}");
            }
            let alone = outputs_as(Path::new("out.npy"), &[("a", &tensor, width)]).unwrap();
            assert_eq!(npy::read(&alone), Ok(tensor.clone()));
        }
        assert_eq!(written("out.npy", 2), Err(OutputError::Several(2)));
        assert_eq!(written("out.bin", 1), Err(OutputError::Format));
    }
}
