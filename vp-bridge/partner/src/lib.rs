//! A partner of a platform: somebody outside it who has a clock of its own, such as an RTL simulator.
//!
//! A [`PlatformLink`] is the way to the platform: a session with a server ([`RemoteLink`]), or a platform in the same
//! process and thread ([`LocalLink`]). A [`Partner`] is on one side of it and has *ports* on the other, whose pins it takes
//! and gives once an edge, as a simulator has them. It keeps to the contract of time (docs/protocol.md): what is
//! seen at an edge is there before the edge is computed, and an edge at which nothing can come is no message.

mod address;
mod channel;
mod error;
mod fixed_latency;
mod link;
mod local;
mod partner;
pub mod pins;
mod remote;

pub use address::{PlatformAddress, server};
pub use error::PartnerError;
pub use fixed_latency::FixedLatency;
pub use link::{DebugAccess, FromPlatform, LinkPort, PlatformLink};
pub use local::LocalLink;
pub use partner::{DebugTarget, Partner, PartnerOptions};
pub use remote::RemoteLink;
