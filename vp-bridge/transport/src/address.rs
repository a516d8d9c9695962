//! The address of a server. Each address has one text: `tcp:HOST:PORT`, `tls:HOST:PORT` or `unix:PATH`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

/// Address at which a server listens, or to which a client connects.
///
/// ```
/// use vp_transport::Address;
/// let address: Address = "tcp:127.0.0.1:7700".parse()?;
/// assert_eq!(address.to_string(), "tcp:127.0.0.1:7700");
/// assert!("127.0.0.1:7700".parse::<Address>().is_err());
/// # Ok::<(), vp_transport::AddressError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// `tcp:HOST:PORT`. A port of 0 listens on any free one.
    Tcp {
        /// Name or IP address; an IPv6 address without its brackets.
        host: String,
        /// Port number.
        port: u16,
    },
    /// `tls:HOST:PORT`: TLS over TCP. A client checks that the server's certificate has the host's name or IP
    /// address.
    Tls {
        /// Host, as with TCP.
        host: String,
        /// Port number.
        port: u16,
    },
    /// `unix:PATH`: a socket in the file system. `unix:@NAME`: a socket in Linux's abstract namespace, which
    /// has no file and disappears with the listening process. Processes of the same user and of root are let
    /// in.
    Unix(PathBuf),
}

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is no address: {why}\nwrite tcp:127.0.0.1:7700 or unix:/tmp/vp.sock")]
pub struct AddressError {
    /// Text that was given.
    pub text: String,
    /// Fault of the text.
    pub why: &'static str,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let refuse = |why| AddressError { text: text.to_owned(), why };
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(refuse("the path is missing")),
                _ => Ok(Self::Unix(path.into())),
            };
        }
        let (is_tls, rest) = match (text.strip_prefix("tcp:"), text.strip_prefix("tls:")) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => return Err(refuse("it starts with neither `tcp:`, `tls:` nor `unix:`")),
        };
        let (host, port) = rest.rsplit_once(':').ok_or_else(|| refuse("the port is missing"))?;
        let port = port.parse().map_err(|_| refuse("the port is a number from 0 to 65535"))?;
        let host = match host.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']').ok_or_else(|| refuse("a `]` is missing"))?,
            None if host.contains(':') => return Err(refuse("an IPv6 number stands in brackets: [::1]")),
            None => host,
        };
        match host {
            "" => Err(refuse("the host is missing")),
            _ if is_tls => Ok(Self::Tls { host: host.to_owned(), port }),
            _ => Ok(Self::Tcp { host: host.to_owned(), port }),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, host, port) = match self {
            Self::Tcp { host, port } => ("tcp", host, port),
            Self::Tls { host, port } => ("tls", host, port),
            Self::Unix(path) => return write!(f, "unix:{}", path.display()),
        };
        match host.contains(':') {
            true => write!(f, "{kind}:[{host}]:{port}"),
            false => write!(f, "{kind}:{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_as_it_is_written() {
        for text in [
            "tcp:127.0.0.1:7700",
            "tcp:localhost:0",
            "tcp:[::1]:1",
            "tls:lab.example:7700",
            "tls:[::1]:1",
            "unix:/tmp/vp.sock",
            "unix:a:b",
            "unix:@vp",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_what_is_no_address_and_says_what_would_be_one() {
        for text in [
            "",
            "tcp:",
            "tcp:host",
            "tcp::1",
            "tcp:h:65536",
            "tcp:::1:5",
            "tcp:[::1:5",
            "unix:",
            "udp:h:1",
            "tls:h",
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains("tcp:127.0.0.1:7700"), "{text}: {error}");
        }
    }
}
