//! ONNX models: reading them, and making networks of them.

pub mod samples;
