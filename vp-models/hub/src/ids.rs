//! Names of parties, ports and requests.

use serde::{Deserialize, Serialize};

/// Identifies a command of a party until it is completed. The party chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tag(pub u64);

/// Identifies a request to the owner of a memory outside until it is answered. The hub chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId(pub u64);
