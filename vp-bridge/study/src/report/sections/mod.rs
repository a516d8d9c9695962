//! The page's sections, a file each.

mod bounds;
mod designs;
mod energy;
mod latency;
mod memories;
mod points;
mod roofline;
mod search;
mod throughput;
mod timeline;
