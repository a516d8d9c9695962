//! Listeners and sessions around a platform, and the command line.
