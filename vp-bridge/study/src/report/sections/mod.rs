//! The page's sections, a file each.

mod bounds;
mod latency;
mod points;
mod roofline;
mod search;
mod throughput;
mod timeline;
