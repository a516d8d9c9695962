//! Events at pins, of the native protocol as the hub has them, and back: for a server and for its partners, neither of which knows
//! the other.

pub mod partner_event;
