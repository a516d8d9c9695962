//! The channel of a Remote-Port stream for each port of a platform.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The most channels that known peers have: QEMU's. The SystemC library has 512.
const MOST_CHANNELS: u32 = 1024;

/// The channels of the ports of a platform.
///
/// ```
/// use vp_server::remote_port::Channels;
/// let channels: Channels = "csb0=9@0x40000000,irq0=12.3,dbb0=0".parse()?;
/// assert_eq!(channels.to_string(), "csb0=9@0x40000000,irq0=12.3,dbb0=0");
/// # Ok::<(), vp_server::remote_port::ChannelsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channels(Vec<PortChannel>);

/// The channel of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortChannel {
    /// The port's name.
    pub port: String,
    /// The channel: `dev` of its packets.
    pub channel: u32,
    /// The address on the channel that is address 0 of the port. Not for lines.
    pub base: u64,
    /// For a line: the wire of the channel.
    pub wire: u32,
}

impl Default for Channels {
    /// As QEMU's board `virt-cosim` for RISC-V has them: it answers accesses to memory on channel 0, sends those to registers on 9,
    /// and listens to wires on 12 (`hw/riscv/virt-cosim.c` of Xilinx's QEMU).
    fn default() -> Channels {
        let channel = |port: &str, channel| PortChannel { port: port.to_owned(), channel, base: 0, wire: 0 };
        Channels(vec![channel("csb0", 9), channel("irq0", 12), channel("dbb0", 0)])
    }
}

impl Channels {
    /// Exactly one memory port is named: the peer is the memory behind it.
    pub fn memory(port: &str, channel: u32) -> Channels {
        Channels(vec![PortChannel { port: port.to_owned(), channel, base: 0, wire: 0 }])
    }

    /// The channels, in the order in which they were written.
    pub fn iter(&self) -> impl Iterator<Item = &PortChannel> {
        self.0.iter()
    }
}

/// A text that names no channels.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{text}`: {why}\nwrite PORT=CHANNEL, a base address of the channel behind @ and the wire of a line behind a dot: csb0=9@0x40000000,irq0=12.0,dbb0=0"
)]
pub struct ChannelsError {
    /// Text that was given.
    pub text: String,
    /// Fault of the text.
    pub why: &'static str,
}

impl FromStr for Channels {
    type Err = ChannelsError;

    fn from_str(text: &str) -> Result<Channels, ChannelsError> {
        let mut channels: Vec<PortChannel> = Vec::new();
        for part in text.split(',') {
            let refuse = |why| ChannelsError { text: part.to_owned(), why };
            let (port, place) = part.split_once('=').ok_or_else(|| refuse("a `=` is missing"))?;
            let (place, base) = place.split_once('@').unwrap_or((place, "0"));
            let (channel, wire) = place.split_once('.').unwrap_or((place, "0"));
            let digits = base.strip_prefix("0x").map_or((base, 10), |digits| (digits, 16));
            let base = u64::from_str_radix(digits.0, digits.1);
            let channel = PortChannel {
                port: port.trim().to_owned(),
                channel: channel.parse().map_err(|_| refuse("the channel is a number"))?,
                base: base.map_err(|_| refuse("the base is a number, such as 0x40000000"))?,
                wire: wire.parse().map_err(|_| refuse("the wire is a number"))?,
            };
            if channel.channel >= MOST_CHANNELS {
                return Err(refuse("channels are 0 to 1023"));
            }
            if channels.iter().any(|other| other.port == channel.port) {
                return Err(refuse("the port is named twice"));
            }
            channels.push(channel);
        }
        Ok(Channels(channels))
    }
}

impl fmt::Display for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, PortChannel { port, channel, base, wire }) in self.0.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{port}={channel}")?;
            if *wire > 0 {
                write!(f, ".{wire}")?;
            }
            if *base > 0 {
                write!(f, "@{base:#x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_read_back_as_they_are_written() {
        for text in ["csb0=9,irq0=12,dbb0=0", "csb0=7@0x40000000", "irq0=10.31,sram0=1023"] {
            assert_eq!(text.parse::<Channels>().unwrap().to_string(), text);
        }
        assert_eq!(Channels::default().to_string(), "csb0=9,irq0=12,dbb0=0");
        assert_eq!("dbb0=1@16".parse::<Channels>().unwrap().to_string(), "dbb0=1@0x10");
    }

    #[test]
    fn refuses_what_names_no_channel_and_says_what_would() {
        for text in ["", "csb0", "csb0=", "csb0=x", "csb0=1024", "csb0=1@0xg", "irq0=1.x", "dbb0=1,dbb0=2"] {
            let error = text.parse::<Channels>().unwrap_err().to_string();
            assert!(error.contains("csb0=9@0x40000000"), "{text}: {error}");
        }
    }
}
