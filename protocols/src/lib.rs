//! Bytes on the wire, without I/O.
