//! Each protocol: its vectors, and random messages against slow references.

mod common;
mod native_properties;
mod native_vectors;
mod remote_port_properties;
mod remote_port_vectors;
mod renode_properties;
mod renode_vectors;
mod vfio_user_properties;
mod vfio_user_vectors;
