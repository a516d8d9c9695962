//! The address of a peer whose protocol lets either side listen.

use std::fmt;
use std::str::FromStr;

use crate::{Address, AddressError};

/// Order that says which side listens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// The peer listens, if it does so already; otherwise this side.
    #[default]
    Either,
    /// Listening on this side.
    Listen,
    /// The peer; it is waited for.
    Connect,
}

/// Place at which a peer is met.
///
/// ```
/// use vp_transport::MeetingPlace;
/// let place: MeetingPlace = "connect:tcp:127.0.0.1:5555".parse()?;
/// assert_eq!(place.to_string(), "connect:tcp:127.0.0.1:5555");
/// # Ok::<(), vp_transport::AddressError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeetingPlace {
    /// Order that says which side listens.
    pub order: Order,
    /// Address of the place.
    pub address: Address,
}

impl FromStr for MeetingPlace {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<MeetingPlace, AddressError> {
        let orders = [("listen:", Order::Listen), ("connect:", Order::Connect)];
        let found = orders.iter().find_map(|(prefix, order)| Some((*order, text.strip_prefix(prefix)?)));
        let (order, address) = found.unwrap_or((Order::Either, text));
        Ok(MeetingPlace { order, address: address.parse()? })
    }
}

impl fmt::Display for MeetingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.order {
            Order::Either => "",
            Order::Listen => "listen:",
            Order::Connect => "connect:",
        };
        write!(f, "{prefix}{}", self.address)
    }
}
