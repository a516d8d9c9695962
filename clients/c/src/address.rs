//! Where a platform is, as a simulator is told it.

use std::path::Path;

use ::vp_partner::{LocalLink, PartnerError, PlatformLink, RemoteLink};
use vp_client::Address;
use vp_models::host::read_description;
use vp_models::platform::{Description, Platform};

/// The variable that has the address where none is given.
const CONNECT: &str = "VP_CONNECT";

/// The way to the platform at an address, or at that of the environment.
pub(crate) fn open(address: Option<&str>) -> Result<Box<dyn PlatformLink>, PartnerError> {
    let text = given(address).map_err(PartnerError::Connect)?;
    if let Some(name) = text.strip_prefix("inproc:") {
        let description = described(name).map_err(|why| PartnerError::Connect(format!("{text}: {why}")))?;
        let platform = Platform::build(&description)
            .map_err(|error| PartnerError::Connect(format!("{text}: {error}")))?;
        return Ok(Box::new(LocalLink::new(platform)));
    }
    let address: Address = text.parse().map_err(|_| {
        PartnerError::Connect(format!(
            "`{text}` is no address: write tcp:HOST:PORT, tls:HOST:PORT, unix:PATH, or inproc:NAME, such as inproc:nv_small"
        ))
    })?;
    let agent = concat!("libvp ", env!("CARGO_PKG_VERSION"));
    Ok(Box::new(RemoteLink::connect(&address, None, agent)?))
}

/// The server at an address, or at that of the environment.
pub(crate) fn server(address: Option<&str>) -> Result<Address, String> {
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
    match path.extension() {
        Some(_) => {
            let text = read_description(path).map_err(|error| error.to_string())?;
            Description::parse(&text).map_err(|error| error.to_string())
        }
        None => Description::named(name).map_err(|error| error.to_string()),
    }
}
