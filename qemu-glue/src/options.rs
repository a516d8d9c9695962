//! Options that the user gives of a device: `key=value`, behind `-plugin` or behind `-device vp`.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use vp_client::{Address, SilenceLimit};

/// Every option, with what stands in `-device vp`'s help.
pub(crate) const KEYS: [&str; 12] = [
    "connect",
    "address",
    "spi",
    "compatible",
    "platform",
    "pool",
    "timeout",
    "share",
    "heartbeat",
    "token-file",
    "ca",
    "ranges",
];

/// Guest RAM that the kernel leaves to the device's driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pool {
    /// First guest-physical address.
    pub(crate) base: u64,
    /// Bytes.
    pub(crate) size: u64,
}

impl fmt::Display for Pool {
    /// As the user writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pool=0x{:x}:0x{:x}", self.base, self.size)
    }
}

impl Pool {
    /// Returns the pool's addresses.
    pub(crate) fn range(&self) -> Range<u64> {
        self.base..self.base.saturating_add(self.size)
    }
}

/// One device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Options {
    /// The server; there is no device without.
    pub(crate) connect: Option<Address>,
    /// Guest-physical address of the register window; a free place without.
    pub(crate) address: Option<u64>,
    /// Number of the shared peripheral interrupt; a free one without.
    pub(crate) spi: Option<u32>,
    /// `compatible` of the device-tree node, several with `+` between; what the platform says of its device without.
    pub(crate) compatible: Option<String>,
    /// The server's shared platform of that name; a fresh platform without.
    pub(crate) platform: Option<String>,
    /// Memory to reserve, as `memory-region` of the node.
    pub(crate) pool: Option<Pool>,
    /// Time that the guest waits for a register before it gets an error.
    pub(crate) timeout: Option<Duration>,
    /// True if nothing is shared with a server on the same host: neither the guest's memory nor a ring.
    pub(crate) is_apart: bool,
    /// Time for which the server may say nothing, and answer no Ping; the server finds out as well when QEMU is stopped, unless this is
    /// without end. What the environment says if left out.
    pub(crate) heartbeat: Option<SilenceLimit>,
    /// The file of the token that is shown to the server; what the environment says without.
    pub(crate) token_file: Option<PathBuf>,
    /// The certificate of the authority whose servers are trusted with TLS; what the environment says without.
    pub(crate) authority: Option<PathBuf>,
    /// Guest-physical addresses that the server may read and write; all RAM without.
    pub(crate) ranges: Option<Vec<Range<u64>>>,
}

/// Fault of an option.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum OptionError {
    /// No such option.
    #[error("no option `{key}`{nearest}; there are {list}", nearest = nearest(.key, .known), list = .known.join(", "))]
    Unknown {
        /// As given.
        key: String,
        /// Options that there are.
        known: Vec<&'static str>,
    },
    /// A value that makes no sense.
    #[error("{key}={value} makes no sense: {right}")]
    Value {
        /// The option.
        key: &'static str,
        /// As given.
        value: String,
        /// Description of what would be right.
        right: &'static str,
    },
}

impl Options {
    /// Returns true if the server is on this host and may share what the guest has.
    pub(crate) fn may_share(&self) -> bool {
        !self.is_apart && matches!(self.connect, Some(Address::Unix(_)))
    }

    /// Returns the parts of the guest's RAM that a server may reach, by rising address.
    ///
    /// # Errors
    /// The user leaves it nothing, for people.
    pub(crate) fn reachable(&self, ram: &[Range<u64>]) -> Result<Vec<Range<u64>>, String> {
        let Some(ranges) = &self.ranges else { return Ok(ram.to_vec()) };
        match intersection(ram, ranges) {
            none if none.is_empty() => {
                Err(format!("ranges= has none of the guest's memory, which is {}", shown(ram)))
            }
            reachable => Ok(reachable),
        }
    }

    /// Takes one option.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<(), OptionError> {
        let refuse = |key, right| move || OptionError::Value { key, value: value.to_owned(), right };
        match key {
            "connect" => {
                let right =
                    "write connect=unix:/tmp/vp.sock, connect=tcp:127.0.0.1:7700 or connect=tls:HOST:PORT";
                self.connect = Some(value.parse().map_err(|_| refuse("connect", right)())?);
            }
            "address" => {
                let right = "a multiple of 4096, such as 0x0b000000";
                let address = number(value).filter(|address| address.is_multiple_of(4096));
                self.address = Some(address.ok_or_else(refuse("address", right))?);
            }
            "spi" => {
                let right = "the number of a shared peripheral interrupt, 0 to 987";
                let spi = number(value).filter(|&spi| spi <= 987).and_then(|spi| u32::try_from(spi).ok());
                self.spi = Some(spi.ok_or_else(refuse("spi", right))?);
            }
            "compatible" => {
                let right = "names of a device-tree node with + between, such as nvidia,nv_small+generic-uio (QEMU's own command line wants \
                             each comma twice, --set of `vp qemu` once)";
                // Devicetree specification, "compatible": a manufacturer and a model.
                let is_name = |name: &str| {
                    name.split(',').all(|part| part.chars().all(|c| c.is_ascii_graphic()) && !part.is_empty())
                };
                let names = value.split('+').all(is_name).then(|| value.to_owned());
                self.compatible = Some(names.ok_or_else(refuse("compatible", right))?);
            }
            "platform" => self.platform = Some(value.to_owned()),
            "pool" => {
                let right = "guest address and size, such as 0x60000000:0x10000000, both multiples of 4096";
                self.pool = Some(pages(value).ok_or_else(refuse("pool", right))?);
            }
            "timeout" => {
                let seconds = number(value).filter(|seconds| (1..=3600).contains(seconds));
                let seconds = seconds.ok_or_else(refuse("timeout", "seconds, 1 to 3600"))?;
                self.timeout = Some(Duration::from_secs(seconds));
            }
            "share" => {
                self.is_apart = match value {
                    "on" => false,
                    "off" => true,
                    _ => return Err(refuse("share", "on or off")()),
                }
            }
            "heartbeat" => {
                let right = "seconds, 1 or more, or none, such as for a QEMU or a server in a debugger";
                self.heartbeat = Some(value.parse().map_err(|_| refuse("heartbeat", right)())?);
            }
            "token-file" => self.token_file = Some(value.into()),
            "ranges" => {
                let right = "guest addresses and sizes, multiples of 4096, such as 0x60000000:0x10000000+0x80000000:0x1000";
                let ranges: Option<Vec<_>> =
                    value.split('+').map(|part| Some(pages(part)?.range())).collect();
                self.ranges = Some(ranges.ok_or_else(refuse("ranges", right))?);
            }
            "ca" => self.authority = Some(value.into()),
            _ => return Err(OptionError::Unknown { key: key.to_owned(), known: KEYS.to_vec() }),
        }
        Ok(())
    }
}

/// The addresses that both have, by rising address, in as few ranges as they are.
pub(crate) fn intersection(ones: &[Range<u64>], others: &[Range<u64>]) -> Vec<Range<u64>> {
    let both = |one: &Range<u64>, other: &Range<u64>| one.start.max(other.start)..one.end.min(other.end);
    let parts = ones.iter().flat_map(|one| others.iter().map(move |other| both(one, other)));
    let mut parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    parts.sort_by_key(|part| part.start);
    parts.dedup_by(|next, last| {
        let is_more = next.start <= last.end;
        if is_more {
            last.end = last.end.max(next.end);
        }
        is_more
    });
    parts
}

/// Addresses, for people.
pub(crate) fn shown(ranges: &[Range<u64>]) -> String {
    let shown = |range: &Range<u64>| format!("0x{:x} to 0x{:x}", range.start, range.end.saturating_sub(1));
    ranges.iter().map(shown).collect::<Vec<_>>().join(" and ")
}

/// Whole pages of guest addresses: the first, and how many bytes.
fn pages(text: &str) -> Option<Pool> {
    let (base, size) = text.split_once(':')?;
    let pool = Pool { base: number(base)?, size: number(size)? };
    let whole = pool.base.is_multiple_of(4096) && pool.size.is_multiple_of(4096) && pool.size > 0;
    (whole && pool.base.checked_add(pool.size).is_some()).then_some(pool)
}

/// Returns what QEMU's `-device` takes for a device with these options: commas in values stand twice.
pub(crate) fn device_text<'a>(kind: &str, options: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = kind.to_owned();
    for (key, value) in options {
        text.push_str(&format!(",{key}={}", value.replace(',', ",,")));
    }
    text
}

/// The option that was probably meant, as a part of a message: one with at most a third of its letters wrong.
fn nearest(key: &str, known: &[&'static str]) -> String {
    let wrong = |name: &&&str| strsim::osa_distance(key, name);
    let near = known.iter().filter(|name| 3 * wrong(name) <= name.len()).min_by_key(wrong);
    near.map_or_else(String::new, |name| format!("; nearest: {name}"))
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_every_option() {
        let given = [
            ("connect", "tcp:[::1]:7700"),
            ("address", "0x0b000000"),
            ("spi", "176"),
            ("compatible", "nvidia,nv_small+generic-uio"),
            ("platform", "shared"),
            ("pool", "0x60000000:0x10000000"),
            ("timeout", "5"),
            ("share", "off"),
            ("heartbeat", "none"),
            ("token-file", "/etc/vp/token"),
            ("ca", "/etc/vp/ca.pem"),
            ("ranges", "0x60000000:0x1000+0x80000000:0x2000"),
        ];
        assert_eq!(given.map(|(key, _)| key), KEYS);
        let mut options = Options::default();
        for (key, value) in given {
            options.set(key, value).unwrap();
        }
        assert_eq!(options.connect, Some("tcp:[::1]:7700".parse().unwrap()));
        assert_eq!(options.address, Some(0x0b00_0000));
        assert_eq!(options.pool, Some(Pool { base: 0x6000_0000, size: 0x1000_0000 }));
    }

    #[test]
    fn refuses_what_makes_no_sense_and_says_what_would() {
        let wrong = [
            ("connect", "127.0.0.1:7700"),
            ("connect", "unix:"),
            ("connect", "tcp:host:port"),
            ("address", "0x0b000010"),
            ("spi", "988"),
            ("pool", "0x60000000"),
            ("pool", "0x1000:0"),
            ("timeout", "0"),
            ("ranges", "0x60000000:0x1000+"),
            ("ranges", "0x60000000:0x10"),
            ("share", "perhaps"),
            ("heartbeat", "0"),
            ("compatible", "nvidia,,nv_small"),
            ("compatible", "nvidia,nv_small+"),
        ];
        for (key, value) in wrong {
            let error = Options::default().set(key, value).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{key}={value} makes no sense: ")), "{error}");
        }
        let error = Options::default().set("sock", "x").unwrap_err();
        assert!(error.to_string().contains("there are connect, address"), "{error}");
        let error = Options::default().set("spii", "180").unwrap_err();
        assert!(
            error.to_string().starts_with("no option `spii`; nearest: spi; there are connect,"),
            "{error}"
        );
    }

    #[test]
    fn a_server_reaches_of_the_ram_what_it_is_given() {
        let ram = [0x4000_0000..0x8000_0000, 0x1_0000_0000..0x2_0000_0000];
        let mut options = Options::default();
        assert_eq!(options.reachable(&ram).unwrap(), ram);
        options.set("ranges", "0x7ffff000:0x2000+0x100000000:0x1000+0x10000:0x1000").unwrap();
        let some = [0x7fff_f000..0x8000_0000, 0x1_0000_0000..0x1_0000_1000];
        assert_eq!(options.reachable(&ram).unwrap(), some);
        options.set("ranges", "0x10000:0x1000+0x90000000:0x1000").unwrap();
        assert_eq!(
            options.reachable(&ram).unwrap_err(),
            "ranges= has none of the guest's memory, which is 0x40000000 to 0x7fffffff and 0x100000000 to 0x1ffffffff"
        );
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let mut options = Options::default();
        options.set("ranges", "0x2000:0x1000+0x1000:0x1000+0x1800000:0x1000+0x1000:0x2000").unwrap();
        let (ram, both) = (0..0x100_0000, 0x1000..0x3000);
        assert_eq!(options.reachable(std::slice::from_ref(&ram)).unwrap(), std::slice::from_ref(&both));
    }

    #[test]
    fn commas_in_values_stand_twice_for_qemu() {
        let text = device_text("vp", [("connect", "unix:/a"), ("compatible", "nvidia,nv_small")]);
        assert_eq!(text, "vp,connect=unix:/a,compatible=nvidia,,nv_small");
    }
}
