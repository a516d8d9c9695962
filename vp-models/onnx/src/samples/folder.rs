//! Samples of a file, or of a folder of files: for one run, or for calibration.

use super::batch::{Batch, Sample, SampleError, SampleFault};
use super::preprocess::Preprocess;
use std::path::{Path, PathBuf};
use vp_tensors::Value;

/// Most files of a folder.
const MOST_FILES: usize = 1 << 20;

/// Files of samples, of which none is read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    files: Vec<PathBuf>,
}

impl Samples {
    /// Names a file, or the files of a folder in the order of their names, byte by byte. Folders in it are left out, and names that begin with a dot.
    ///
    /// # Errors
    /// When there is no such file or folder, or no file in it.
    pub fn open(path: &Path) -> Result<Samples, SampleError> {
        let wrong = |fault: SampleFault| SampleError { file: path.to_owned(), fault };
        let unreadable = |error: std::io::Error| wrong(error.into());
        if !std::fs::metadata(path).map_err(unreadable)?.is_dir() {
            return Ok(Samples { files: vec![path.to_owned()] });
        }
        let mut files = Vec::new();
        for entry in std::fs::read_dir(path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            // Of what a link leads to; one that leads nowhere is told when it is read.
            if !is_hidden && !entry.path().is_dir() {
                files.push(entry.path());
            }
            if files.len() > MOST_FILES {
                return Err(wrong(SampleFault::TooMany(MOST_FILES)));
            }
        }
        files.sort();
        match files.is_empty() {
            true => Err(wrong(SampleFault::Empty)),
            false => Ok(Samples { files }),
        }
    }

    /// The files in order.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Reads the only sample.
    ///
    /// # Errors
    /// When it cannot be read, or there are several.
    pub fn only(&self, inputs: &[&Value], preprocess: Option<&Preprocess>) -> Result<Sample, SampleError> {
        match &self.files[..] {
            [file] => Batch::open(file, inputs, preprocess)?.only(),
            files => {
                let folder = files.first().and_then(|file| file.parent()).unwrap_or(Path::new("."));
                let fault = SampleFault::SeveralFiles(files.len());
                Err(SampleError { file: folder.to_owned(), fault })
            }
        }
    }

    /// Reads the samples for these inputs, one file at a time and one sample of it at a time. After an error the next file follows.
    pub fn read<'a>(
        &'a self,
        inputs: &'a [&'a Value],
        preprocess: Option<&'a Preprocess>,
    ) -> impl Iterator<Item = Result<Sample, SampleError>> + 'a {
        self.files.iter().flat_map(move |file| {
            let (batch, error) = match Batch::open(file, inputs, preprocess) {
                Ok(batch) => (Some(batch), None),
                Err(error) => (None, Some(Err(error))),
            };
            error.into_iter().chain(batch.into_iter().flatten())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::tests::input;
    use super::*;
    use crate::samples::{Preset, npy};
    use vp_tensors::Tensor;

    #[test]
    fn a_folder_has_its_files_in_order_one_sample_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        write("b.pgm", b"P5 1 1 255 \x07");
        write("c.npy", &npy::written(&Tensor::floats([2, 1, 1, 1], vec![1.0, 2.0])));
        write("a.bin", &3.5_f32.to_le_bytes());
        write("d.txt", b"no sample");
        write("e.raw", &[9]);
        write(".hidden", b"none");
        std::fs::create_dir(folder.path().join("f")).unwrap();
        let samples = Samples::open(folder.path()).unwrap();
        let names: Vec<_> = samples.files().iter().map(|file| file.file_name().unwrap()).collect();
        assert_eq!(names, ["a.bin", "b.pgm", "c.npy", "d.txt", "e.raw"]);
        let preprocess = Preset::Raw.into();
        let input = &input([1, 1, 1, 1]);
        let inputs = [input];
        let told = samples.only(&inputs, Some(&preprocess)).unwrap_err().to_string();
        assert_eq!(
            told,
            format!(
                "{}: a folder of 5 files; a run takes one of them (--calibrate takes folders)",
                folder.path().display()
            )
        );
        let read = samples.read(&inputs, Some(&preprocess)).map(|sample| match sample {
            Ok(sample) => {
                let file = sample.name.rsplit('/').next().unwrap().to_owned();
                (file, sample.tensors[0].to_floats()[0])
            }
            Err(error) => (error.file.file_name().unwrap().to_string_lossy().into_owned(), f32::NEG_INFINITY),
        });
        let expected = [
            ("a.bin", 3.5),
            ("b.pgm", 7.0),
            ("c.npy[0]", 1.0),
            ("c.npy[1]", 2.0),
            ("d.txt", f32::NEG_INFINITY),
            ("e.raw", 9.0),
        ];
        assert_eq!(read.collect::<Vec<_>>(), expected.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn what_is_not_there_is_said_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let empty = Samples::open(folder.path()).unwrap_err().to_string();
        assert_eq!(empty, format!("{}: no files in this folder", folder.path().display()));
        let missing = folder.path().join("none.npy");
        let error = Samples::open(&missing).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: cannot read: ", missing.display())), "{error}");
    }
}
