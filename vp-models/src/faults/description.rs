//! Faults as a person writes them down: a TOML text with a table `[[fault]]` for each. All of it is checked against the
//! platform before any of it is armed.

use std::fmt;
use std::ops::Range;

use serde::de::value::StrDeserializer;
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use vp_core::Time;

use super::fault::{Direction, Fault, Kind, Response, When};
use crate::bus::axi::AxiChannel;
use crate::hub::HORIZON;
use crate::nvdla::config::Config;
use crate::nvdla::registers::{Located, RegisterMap, Unit};
use crate::platform::{Port, PortKind};
use crate::suggestion::{hint, with_nearest};

/// The longest time that a fault lasts, in cycles: longer is for ever.
const MOST_CYCLES: u64 = 1 << 40;

/// A text of faults that cannot be armed. None of them is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct FaultsError {
    /// The line of the text, from 1.
    pub line: usize,
    /// Which key, what is wrong with it, what would be right.
    pub what: String,
}

/// What a fault can be at.
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
    fault: Vec<Spanned<Table>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Name {
    Error,
    Stall,
    LostInterrupt,
    DelayedInterrupt,
    SpuriousInterrupt,
    MemoryFlip,
    RegisterFlip,
    SilentPartner,
    FailingPartner,
}

impl Name {
    /// The keys that it has besides those of all: when it strikes, and how often.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Name::Error => &["port", "direction", "address", "bytes", "response"],
            Name::Stall => &["port", "channel", "address", "bytes", "cycles"],
            Name::LostInterrupt => &[],
            Name::DelayedInterrupt | Name::SpuriousInterrupt => &["cycles"],
            Name::MemoryFlip => &["port", "address", "bit"],
            Name::RegisterFlip => &["register", "group", "bit"],
            Name::SilentPartner | Name::FailingPartner => &["port"],
        }
    }

    /// Those of them that are needed.
    fn needed(self) -> &'static [&'static str] {
        match self {
            Name::Error => &["port"],
            Name::Stall => &["port", "channel"],
            Name::LostInterrupt => &[],
            Name::DelayedInterrupt | Name::SpuriousInterrupt => &["cycles"],
            Name::MemoryFlip => &["port", "address", "bit"],
            Name::RegisterFlip => &["register", "bit"],
            Name::SilentPartner | Name::FailingPartner => &["port"],
        }
    }
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kind: Spanned<String>,
    port: Option<Spanned<String>>,
    direction: Option<Spanned<Direction>>,
    address: Option<Spanned<u64>>,
    bytes: Option<Spanned<u64>>,
    response: Option<Spanned<Response>>,
    channel: Option<Spanned<Channel>>,
    cycles: Option<Spanned<u64>>,
    register: Option<Spanned<String>>,
    group: Option<Spanned<usize>>,
    bit: Option<Spanned<u8>>,
    #[serde(default, deserialize_with = "time")]
    at: Option<Spanned<Time>>,
    after: Option<Spanned<u64>>,
    every: Option<Spanned<u64>>,
    probability: Option<Spanned<f64>>,
    seed: Option<Spanned<u64>>,
    times: Option<Spanned<u64>>,
}

/// A place in the text, and what is wrong there.
type Wrong = (Range<usize>, String);

fn wrong<T>(key: &Spanned<T>, what: impl fmt::Display) -> Wrong {
    (key.span(), what.to_string())
}

impl Table {
    /// The keys of its kind that are given, each with its place.
    fn given(&self) -> Vec<(&'static str, Range<usize>)> {
        fn key<T>(name: &'static str, key: &Option<Spanned<T>>) -> Option<(&'static str, Range<usize>)> {
            key.as_ref().map(|key| (name, key.span()))
        }
        let keys = [
            key("port", &self.port),
            key("direction", &self.direction),
            key("address", &self.address),
            key("bytes", &self.bytes),
            key("response", &self.response),
            key("channel", &self.channel),
            key("cycles", &self.cycles),
            key("register", &self.register),
            key("group", &self.group),
            key("bit", &self.bit),
        ];
        keys.into_iter().flatten().collect()
    }

    fn name(&self) -> Result<Name, Wrong> {
        const NAMES: [&str; 9] = [
            "error",
            "stall",
            "lost-interrupt",
            "delayed-interrupt",
            "spurious-interrupt",
            "memory-flip",
            "register-flip",
            "silent-partner",
            "failing-partner",
        ];
        let text = self.kind.get_ref().as_str();
        let read = Name::deserialize(StrDeserializer::<serde::de::value::Error>::new(text));
        read.map_err(|_| {
            let nearest = hint(text, NAMES);
            wrong(&self.kind, format!("kind = \"{text}\": there are {}{nearest}", NAMES.join(", ")))
        })
    }

    /// Refuses keys that its kind does not have, and the lack of those that it needs.
    fn check_keys(&self, name: Name) -> Result<(), Wrong> {
        let (kind, keys) = (self.kind.get_ref(), name.keys());
        let given = self.given();
        if let Some((key, place)) = given.iter().find(|(key, _)| !keys.contains(key)) {
            let has = if keys.is_empty() {
                "has none but those that say when it strikes".to_owned()
            } else {
                format!("has {}", keys.join(", "))
            };
            return Err((place.clone(), format!("`{key}` is no key of {kind}, which {has}")));
        }
        match name.needed().iter().find(|needed| !given.iter().any(|(key, _)| key == *needed)) {
            Some(missing) => Err(wrong(&self.kind, format!("{kind} needs `{missing}`"))),
            None => Ok(()),
        }
    }

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

    fn cycles(&self) -> Result<Option<u64>, Wrong> {
        let Some(cycles) = &self.cycles else { return Ok(None) };
        match *cycles.get_ref() {
            count @ 1..=MOST_CYCLES => Ok(Some(count)),
            count => {
                let what =
                    format!("cycles = {count}: from 1 to {MOST_CYCLES}; a stall without it is for ever");
                Err(wrong(cycles, what))
            }
        }
    }

    /// The port, if it is of such a kind; `None`: of any.
    fn port<'a>(&self, around: &Surroundings<'a>, of: Option<PortKind>) -> Result<&'a Port, Wrong> {
        let Some(named) = &self.port else {
            return Err(wrong(&self.kind, format!("{} needs `port`", self.kind.get_ref())));
        };
        let fits = |port: &&Port| of.is_none_or(|kind| port.kind == kind);
        around.ports.iter().filter(fits).find(|port| port.name == named.get_ref()).ok_or_else(|| {
            let name = named.get_ref();
            let names: Vec<&str> = around.ports.iter().filter(fits).map(|port| port.name).collect();
            let kind = self.kind.get_ref();
            wrong(
                named,
                format!("port = \"{name}\": of this platform, {kind} can be at {}", names.join(", ")),
            )
        })
    }

    /// The addresses named, which are the port's.
    fn range(&self, port: &Port) -> Result<Option<Range<u64>>, Wrong> {
        let Some(address) = &self.address else {
            return match &self.bytes {
                Some(bytes) => Err(wrong(bytes, "`bytes` goes with `address`")),
                None => Ok(None),
            };
        };
        let (start, bytes) = (*address.get_ref(), self.bytes.as_ref().map_or(1, |bytes| *bytes.get_ref()));
        if bytes == 0 {
            return Err(wrong(self.bytes.as_ref().unwrap_or(address), "bytes = 0: at least 1"));
        }
        let end = port.base.saturating_add(port.size);
        match start.checked_add(bytes) {
            Some(last) if start >= port.base && last <= end => Ok(Some(start..last)),
            _ => {
                let (name, from, to) = (port.name, port.base, end.saturating_sub(1));
                let what = format!(
                    "{bytes} bytes at 0x{start:x} are no part of {name}, which spans 0x{from:x} to 0x{to:x}"
                );
                Err(wrong(address, what))
            }
        }
    }

    fn register(&self, around: &Surroundings<'_>) -> Result<Kind, Wrong> {
        let (Some(named), Some(bit)) = (&self.register, &self.bit) else {
            return Err(wrong(&self.kind, "register-flip needs `register` and `bit`"));
        };
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
        let group = self.group.as_ref().map_or(0, |group| *group.get_ref());
        if group > 1 {
            let given = self.group.as_ref().unwrap_or_else(|| unreachable!("0 is not more than 1"));
            return Err(wrong(given, format!("group = {group}: there are 0 and 1")));
        }
        Ok(Kind::RegisterFlip { name: located.to_string(), address, group, bit: index })
    }

    fn kind(&self, name: Name, around: &Surroundings<'_>) -> Result<Kind, Wrong> {
        let memory = || self.port(around, Some(PortKind::Axi));
        // Which keys are there was looked at.
        let cycles = || Ok::<u64, Wrong>(self.cycles()?.unwrap_or(1));
        Ok(match name {
            Name::Error => {
                let port = memory()?;
                Kind::Error {
                    port: port.name,
                    direction: self.direction.as_ref().map(|key| *key.get_ref()),
                    range: self.range(port)?,
                    response: self.response.as_ref().map(|key| *key.get_ref()).unwrap_or_default(),
                }
            }
            Name::Stall => {
                let port = memory()?;
                let channel = self.channel.as_ref().map_or(Channel::Ar, |key| *key.get_ref());
                let (range, cycles) = (self.range(port)?, self.cycles()?);
                Kind::Stall { port: port.name, channel: channel.into(), range, cycles }
            }
            Name::LostInterrupt => Kind::LostInterrupt,
            Name::DelayedInterrupt => Kind::DelayedInterrupt { cycles: cycles()? },
            Name::SpuriousInterrupt => Kind::SpuriousInterrupt { cycles: cycles()? },
            Name::MemoryFlip => {
                let port = memory()?;
                let address = self.range(port)?.map_or(port.base, |range| range.start);
                match &self.bit {
                    Some(bit) if *bit.get_ref() > 7 => {
                        return Err(wrong(bit, format!("bit = {}: a byte has 0 to 7", bit.get_ref())));
                    }
                    bit => {
                        let bit = bit.as_ref().map_or(0, |bit| *bit.get_ref());
                        Kind::MemoryFlip { port: port.name, address, bit }
                    }
                }
            }
            Name::RegisterFlip => self.register(around)?,
            Name::SilentPartner => Kind::SilentPartner { port: self.port(around, None)?.name },
            Name::FailingPartner => Kind::FailingPartner { port: self.port(around, None)?.name },
        })
    }

    fn fault(&self, around: &Surroundings<'_>) -> Result<Fault, Wrong> {
        let name = self.name()?;
        self.check_keys(name)?;
        let (kind, when) = (self.kind(name, around)?, self.when()?);
        let times = self.times(&when)?;
        if let (When::At(_), Some(given), true) = (when, &self.times, kind.is_of_a_moment())
            && times > 1
        {
            return Err(wrong(given, format!("times = {times}: at a time a {} happens once", kind.name())));
        }
        Ok(Fault { kind, when, times })
    }
}

/// Why a register holds nothing of its own, if it does not.
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
pub(crate) fn parse(text: &str, around: &Surroundings<'_>) -> Result<Vec<Fault>, FaultsError> {
    let at = |(place, what): Wrong| {
        let before = text.get(..place.start).unwrap_or_default();
        FaultsError { line: before.matches('\n').count() + 1, what }
    };
    let file: File = toml::from_str(text).map_err(|error: toml::de::Error| {
        at((error.span().unwrap_or_default(), with_nearest(error.message())))
    })?;
    if let Some(beyond) = file.fault.get(around.room) {
        let what = format!("a platform has at most {} faults", super::MOST_FAULTS);
        return Err(at((beyond.span(), what)));
    }
    file.fault.iter().map(|table| table.get_ref().fault(around)).collect::<Result<_, _>>().map_err(at)
}

#[cfg(test)]
mod tests;
