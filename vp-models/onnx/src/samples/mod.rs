//! Samples and answers of networks as files: pictures and arrays become the tensors that a network takes, and what it gives becomes
//! the likeliest classes, NPY or NPZ.
//!
//! * [`Picture`]: PNG, JPEG, PGM and PPM, decoded in bounded memory; [`Preprocess`] makes a tensor of one.
//! * [`Placement`]: the way back from points of that tensor to the picture's.
//! * [`npy`] and [`npz`]: arrays as NumPy has them, read and written.
//! * [`Samples`]: one file or a folder of them, of which a [`Batch`] gives one sample at a time.
//! * [`Labels`], [`answers`]: names of classes, and the likeliest.
//! * [`outputs`]: tensors as the bytes of a file.
//!
//! Nothing here opens a file but those that its caller names, and none of more than 1 GiB is read.

mod answers;
mod batch;
mod folder;
mod netpbm;
mod netpbm_error;
pub mod npy;
pub mod npz;
mod orientation;
mod outputs;
mod picture;
mod picture_error;
mod picture_file;
mod placement;
mod preprocess;
mod resample;
mod side_file;

pub use answers::{Answer, Answers, Labels, answers};
pub use batch::{Batch, Sample, SampleError, SampleFault};
pub use folder::Samples;
pub use netpbm_error::NetpbmError;
pub use npy::{FloatWidth, NpyError};
pub use npz::NpzError;
pub use outputs::{OutputError, outputs, outputs_as};
pub use picture::{Channels, Picture};
pub use picture_error::PictureError;
pub use placement::Placement;
pub use preprocess::{Crop, Layout, Position, Preprocess, PreprocessError, Preset, ResizeMode};
pub use resample::Interpolation;
