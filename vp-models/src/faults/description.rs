//! Faults as a person writes them down: a TOML text with a table `[[fault]]` for each. All of it is checked against the
//! platform before any of it is armed.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Deserializer};
use toml::Spanned;
use vp_core::Time;

use super::fault::{Direction, Fault, FaultKind, Response, When};
use crate::bus::axi::AxiChannel;
use crate::nvdla::config::Config;
use crate::nvdla::registers::{Located, RegisterMap, Unit};
use crate::port::{Port, PortKind};
use crate::toml_text::{Kinds, TextError, TomlText};
use crate::units::HORIZON;

/// The longest time that a fault lasts, in cycles: longer is for ever.
const MOST_CYCLES: u64 = 1 << 40;

/// Parts of a platform that a fault can be at.
pub(crate) struct Surroundings<'a> {
    pub(crate) ports: &'a [Port],
    /// The device's configuration, if that is an NVDLA inside.
    pub(crate) nvdla: Option<&'a Config>,
    /// Faults that can still be armed.
    pub(crate) room: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    fault: Vec<Table>,
}

/// Keys that tell faults apart, and those that all have.
const KINDS: Kinds = Kinds {
    list: "fault",
    tag: "kind",
    common: &["at", "after", "every", "probability", "seed", "times"],
    inner: None,
};

/// A fault: when it strikes, as all say it, and what its kind has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kind: WrittenKind,
    #[serde(default, deserialize_with = "time")]
    at: Option<Spanned<Time>>,
    after: Option<Spanned<u64>>,
    every: Option<Spanned<u64>>,
    probability: Option<Spanned<f64>>,
    seed: Option<Spanned<u64>>,
    times: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenKind {
    Error {
        port: Spanned<String>,
        direction: Option<Direction>,
        address: Option<Spanned<u64>>,
        bytes: Option<Spanned<u64>>,
        #[serde(default)]
        response: Response,
    },
    Stall {
        port: Spanned<String>,
        channel: Channel,
        address: Option<Spanned<u64>>,
        bytes: Option<Spanned<u64>>,
        cycles: Option<Spanned<u64>>,
    },
    LostInterrupt {},
    DelayedInterrupt {
        cycles: Spanned<u64>,
    },
    SpuriousInterrupt {
        cycles: Spanned<u64>,
    },
    MemoryFlip {
        port: Spanned<String>,
        address: Spanned<u64>,
        bit: Spanned<u8>,
    },
    RegisterFlip(RegisterFlip),
    SilentPartner {
        port: Spanned<String>,
    },
    FailingPartner {
        port: Spanned<String>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegisterFlip {
    register: Spanned<String>,
    group: Option<Spanned<usize>>,
    bit: Spanned<u8>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Channel {
    Ar,
    R,
    Aw,
    W,
    B,
}

impl From<Channel> for AxiChannel {
    fn from(channel: Channel) -> AxiChannel {
        match channel {
            Channel::Ar => AxiChannel::ReadAddress,
            Channel::R => AxiChannel::ReadData,
            Channel::Aw => AxiChannel::WriteAddress,
            Channel::W => AxiChannel::WriteData,
            Channel::B => AxiChannel::WriteResponse,
        }
    }
}

/// A time as people write it, such as `20 ns`.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Spanned<Time>>, D::Error> {
    let text = Spanned::<String>::deserialize(deserializer)?;
    let time: Time = text.get_ref().parse().map_err(serde::de::Error::custom)?;
    Ok(Some(Spanned::new(text.span(), time)))
}

/// A place in the text, and what is wrong there.
type Wrong = (Range<usize>, String);

fn wrong<T>(key: &Spanned<T>, what: impl fmt::Display) -> Wrong {
    (key.span(), what.to_string())
}

impl Table {
    fn when(&self) -> Result<When, Wrong> {
        let Table { at, after, every, probability, seed, .. } = self;
        let given = [
            at.as_ref().map(|key| ("at", key.span())),
            after.as_ref().map(|key| ("after", key.span())),
            every.as_ref().map(|key| ("every", key.span())),
            probability.as_ref().map(|key| ("probability", key.span())),
        ];
        let mut given = given.into_iter().flatten();
        if let (Some((first, _)), Some((second, place))) = (given.next(), given.next()) {
            let what = format!(
                "`{first}` and `{second}`: a fault strikes by one of at, after, every and probability"
            );
            return Err((place, what));
        }
        if let (Some(seed), None) = (seed, probability) {
            return Err(wrong(seed, "`seed` goes with `probability`"));
        }
        if let Some(at) = at {
            return match *at.get_ref() {
                time if time <= HORIZON => Ok(When::At(time)),
                time => Err(wrong(at, format!("at = \"{time}\": times are at most {HORIZON}"))),
            };
        }
        if let Some(every) = every {
            return match *every.get_ref() {
                0 => Err(wrong(every, "every = 0: 1 is each of them")),
                every => Ok(When::Every(every)),
            };
        }
        if let Some(probability) = probability {
            let (chance, seed) = (*probability.get_ref(), seed.as_ref().map_or(1, |seed| *seed.get_ref()));
            return match (0.0..=1.0).contains(&chance) {
                true => Ok(When::Drawn { probability: chance, seed }),
                false => Err(wrong(probability, format!("probability = {chance}: from 0 to 1"))),
            };
        }
        Ok(When::After(after.as_ref().map_or(0, |after| *after.get_ref())))
    }

    fn times(&self, when: &When) -> Result<u64, Wrong> {
        match (&self.times, when) {
            (Some(times), _) if *times.get_ref() == 0 => {
                Err(wrong(times, "times = 0: a fault that never strikes is left out"))
            }
            (Some(times), _) => Ok(*times.get_ref()),
            (None, When::At(_) | When::After(_)) => Ok(1),
            (None, When::Every(_) | When::Drawn { .. }) => Ok(u64::MAX),
        }
    }

    fn fault(&self, around: &Surroundings<'_>) -> Result<Fault, Wrong> {
        let (kind, when) = (self.kind.kind(around)?, self.when()?);
        let times = self.times(&when)?;
        if let (When::At(_), Some(given), true) = (when, &self.times, kind.is_of_a_moment())
            && times > 1
        {
            return Err(wrong(given, format!("times = {times}: at a time a {} happens once", kind.name())));
        }
        Ok(Fault { kind, when, times })
    }
}

impl WrittenKind {
    fn kind(&self, around: &Surroundings<'_>) -> Result<FaultKind, Wrong> {
        let memory = |name, port| around.port(name, port, Some(PortKind::Axi));
        Ok(match self {
            WrittenKind::Error { port, direction, address, bytes, response } => {
                let port = memory("error", port)?;
                let range = range(port, address.as_ref(), bytes.as_ref())?;
                FaultKind::Error { port: port.name, direction: *direction, range, response: *response }
            }
            WrittenKind::Stall { port, channel, address, bytes, cycles } => {
                let port = memory("stall", port)?;
                let range = range(port, address.as_ref(), bytes.as_ref())?;
                let cycles = cycles.as_ref().map(self::cycles).transpose()?;
                FaultKind::Stall { port: port.name, channel: (*channel).into(), range, cycles }
            }
            WrittenKind::LostInterrupt {} => FaultKind::LostInterrupt,
            WrittenKind::DelayedInterrupt { cycles } => {
                FaultKind::DelayedInterrupt { cycles: self::cycles(cycles)? }
            }
            WrittenKind::SpuriousInterrupt { cycles } => {
                FaultKind::SpuriousInterrupt { cycles: self::cycles(cycles)? }
            }
            WrittenKind::MemoryFlip { port, address, bit } => {
                let port = memory("memory-flip", port)?;
                range(port, Some(address), None)?;
                let (address, index) = (*address.get_ref(), *bit.get_ref());
                if index > 7 {
                    return Err(wrong(bit, format!("bit = {index}: a byte has 0 to 7")));
                }
                FaultKind::MemoryFlip { port: port.name, address, bit: index }
            }
            WrittenKind::RegisterFlip(flip) => flip.kind(around)?,
            WrittenKind::SilentPartner { port } => {
                FaultKind::SilentPartner { port: around.port("silent-partner", port, None)?.name }
            }
            WrittenKind::FailingPartner { port } => {
                FaultKind::FailingPartner { port: around.port("failing-partner", port, None)?.name }
            }
        })
    }
}

fn cycles(cycles: &Spanned<u64>) -> Result<u64, Wrong> {
    match *cycles.get_ref() {
        count @ 1..=MOST_CYCLES => Ok(count),
        count => {
            let what = format!("cycles = {count}: from 1 to {MOST_CYCLES}; a stall without it is for ever");
            Err(wrong(cycles, what))
        }
    }
}

impl<'a> Surroundings<'a> {
    /// The port at which a fault of that name is to be, if it is of such a kind; `None`: of any.
    fn port(&self, fault: &str, named: &Spanned<String>, of: Option<PortKind>) -> Result<&'a Port, Wrong> {
        let fits = |port: &&Port| of.is_none_or(|kind| port.kind == kind);
        self.ports.iter().filter(fits).find(|port| port.name == named.get_ref()).ok_or_else(|| {
            let name = named.get_ref();
            let names: Vec<&str> = self.ports.iter().filter(fits).map(|port| port.name).collect();
            let names = names.join(", ");
            wrong(named, format!("port = \"{name}\": of this platform, {fault} can be at {names}"))
        })
    }
}

/// The addresses named, which are the port's.
fn range(
    port: &Port,
    address: Option<&Spanned<u64>>,
    bytes: Option<&Spanned<u64>>,
) -> Result<Option<Range<u64>>, Wrong> {
    let Some(address) = address else {
        return match bytes {
            Some(bytes) => Err(wrong(bytes, "`bytes` goes with `address`")),
            None => Ok(None),
        };
    };
    let (start, count) = (*address.get_ref(), bytes.map_or(1, |bytes| *bytes.get_ref()));
    if count == 0 {
        return Err(wrong(bytes.unwrap_or(address), "bytes = 0: at least 1"));
    }
    let end = port.base.saturating_add(port.size);
    match start.checked_add(count) {
        Some(last) if start >= port.base && last <= end => Ok(Some(start..last)),
        _ => {
            let (name, from, to) = (port.name, port.base, end.saturating_sub(1));
            let what = format!(
                "{count} bytes at 0x{start:x} are no part of {name}, which spans 0x{from:x} to 0x{to:x}"
            );
            Err(wrong(address, what))
        }
    }
}

impl RegisterFlip {
    fn kind(&self, around: &Surroundings<'_>) -> Result<FaultKind, Wrong> {
        let RegisterFlip { register: named, group, bit } = self;
        let Some(config) = around.nvdla else {
            return Err(wrong(named, "only registers of an NVDLA in this platform can be flipped"));
        };
        let map: RegisterMap = config.register_map;
        let located = map.find(named.get_ref()).map_err(|unknown| wrong(named, unknown))?;
        let Located { unit, register, address } = located;
        if !config.has_unit(unit) {
            return Err(wrong(named, format!("{located}: this configuration was built without {unit}")));
        }
        if let Some(why) = unstored(unit, register.name) {
            return Err(wrong(named, format!("{located} cannot be flipped: {why}")));
        }
        let mask = register.mask(map.family(), |_| true);
        let index = *bit.get_ref();
        if index > 31 || mask >> index & 1 == 0 {
            return Err(wrong(bit, format!("bit = {index}: {located} has the bits of 0x{mask:08x}")));
        }
        let group = match group {
            Some(given) if *given.get_ref() > 1 => {
                return Err(wrong(given, format!("group = {}: there are 0 and 1", given.get_ref())));
            }
            given => given.as_ref().map_or(0, |given| *given.get_ref()),
        };
        Ok(FaultKind::RegisterFlip { name: located.to_string(), address, group, bit: index })
    }
}

/// Returns the reason for which a register holds nothing of its own, if it does not.
fn unstored(unit: Unit, register: &str) -> Option<&'static str> {
    match register {
        _ if unit == Unit::Cfgrom => Some("it is a ROM"),
        "S_NVDLA_HW_VERSION" => Some("it is wired"),
        "S_INTR_SET" => Some("it holds nothing"),
        "S_POINTER" | "S_STATUS" | "D_OP_ENABLE" | "STATUS" => {
            Some("it shows where the unit is, and is not stored by itself")
        }
        "S_LUT_ACCESS_CFG" | "S_LUT_ACCESS_DATA" => Some("it is a port to the table"),
        "CFG_OP" | "CFG_LAUNCH0" | "CFG_LAUNCH1" => Some("it is a command"),
        _ => None,
    }
}

/// Reads faults, all or none.
pub(crate) fn parse(text: &str, around: &Surroundings<'_>) -> Result<Vec<Fault>, TextError> {
    let text = TomlText::parse(text)?;
    let File { fault: faults } = text.read_kinds(&KINDS)?;
    if faults.len() > around.room {
        let what = format!("a platform has at most {} faults", super::MOST_FAULTS);
        return Err(text.wrong(&format!("fault.{}", around.room), what));
    }
    let wrong = |(place, what): Wrong| text.wrong_at(place, what);
    faults.iter().map(|table| table.fault(around)).collect::<Result<_, _>>().map_err(wrong)
}

#[cfg(test)]
mod tests;
