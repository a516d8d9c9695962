//! Peers of each protocol that break its rules, one at a time, and one that keeps them.

mod native;
mod remote_port;
mod renode;
mod vfio_user;
