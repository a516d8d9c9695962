//! Nothing but its manifest.
