//! A platform with parties, partners and debuggers at it; cut at its ports, recorded and saved.

mod cut;
mod debugger;
mod driving;
mod formats;
mod partner_recordings;
mod partners;
mod promises;
mod saved;
