//! Place of a platform, as a simulator is told it.

use std::path::Path;

use vp_client::Address;
use vp_models::platform::{Description, Platform};

use crate::{LocalLink, PartnerError, PlatformLink, RemoteLink};

/// The variable that has the address where none is given.
const CONNECT: &str = "VP_CONNECT";

/// Place of a platform.
#[derive(Debug, Clone)]
pub enum PlatformAddress {
    /// Platform to be built, in this process.
    Here(Box<Description>),
    /// Platform behind a server.
    Server(Address),
}

impl PlatformAddress {
    /// Returns the place that an address names, or that of the environment: `inproc:NAME`, where the name is a built-in platform's or a
    /// file's, or a server's.
    ///
    /// # Errors
    /// [`PartnerError::Connect`]: it is no address, or there is no such platform.
    pub fn of(address: Option<&str>) -> Result<PlatformAddress, PartnerError> {
        let text = given(address).map_err(PartnerError::Connect)?;
        if let Some(name) = text.strip_prefix("inproc:") {
            let described = described(name);
            let described = described.map_err(|why| PartnerError::Connect(format!("{text}: {why}")))?;
            return Ok(PlatformAddress::Here(Box::new(described)));
        }
        text.parse().map(PlatformAddress::Server).map_err(|_| {
            PartnerError::Connect(format!(
                "`{text}` is no address: write tcp:HOST:PORT, tls:HOST:PORT, unix:PATH, or inproc:NAME, such as inproc:nv_small"
            ))
        })
    }

    /// The way to it; `agent` is this program and its version.
    ///
    /// # Errors
    /// [`PartnerError::Connect`].
    pub fn open(&self, agent: &str) -> Result<Box<dyn PlatformLink>, PartnerError> {
        match self {
            PlatformAddress::Here(description) => {
                let wrong = |error| PartnerError::Connect(format!("inproc:{}: {error}", description.name));
                Ok(Box::new(LocalLink::new(Platform::build(description).map_err(wrong)?)))
            }
            PlatformAddress::Server(address) => Ok(Box::new(RemoteLink::connect(address, None, agent)?)),
        }
    }
}

/// The server at an address, or at that of the environment.
///
/// # Errors
/// Why it is no address.
pub fn server(address: Option<&str>) -> Result<Address, String> {
    let text = given(address)?;
    let wrong =
        |_| format!("`{text}` is no server's address: write tcp:HOST:PORT, tls:HOST:PORT or unix:PATH");
    text.parse().map_err(wrong)
}

fn given(address: Option<&str>) -> Result<String, String> {
    match address {
        Some(address) => Ok(address.to_owned()),
        None => std::env::var(CONNECT).map_err(|_| {
            format!(
                "no address is given, and the variable {CONNECT} is not set: it says where the platform is, such as \
                 unix:/tmp/vp.sock"
            )
        }),
    }
}

/// A built-in platform, or the file of one.
fn described(name: &str) -> Result<Description, String> {
    let path = Path::new(name);
    let described = match path.extension() {
        Some(_) => Description::load(path),
        None => Description::named(name),
    };
    described.map_err(|error| error.to_string())
}
