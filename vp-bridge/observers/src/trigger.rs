//! Triggers: moments at which a waveform begins and ends.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use vp_core::Time;
use vp_core::observe::{SourceKind, Stage};
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::Platform;
use vp_models::suggestion::{hint, nearest};

use crate::ObserveError;
use crate::event::{Announced, Event, Observed};
use crate::layers::LayerNames;

/// The forms of a trigger, as a person is told them.
const FORMS: &str = "a time such as `10 us`, register:NAME[=VALUE], interrupt, address:HEX[..HEX], or layer:N, layer:UNIT.N or layer:NAME";
/// Words that stand before a colon.
const WORDS: [&str; 4] = ["register", "interrupt", "address", "layer"];

/// A moment of a run.
#[derive(Debug, Clone)]
pub(crate) struct Trigger {
    /// As it was given.
    text: String,
    what: TriggerEvent,
    /// Layers that sources have begun.
    begun: BTreeMap<u32, u64>,
    /// The units that it is about.
    units: BTreeMap<u32, String>,
    /// Layers that it is about and that have not ended: source and group.
    open: Vec<(u32, u64)>,
    /// The interrupt line.
    line: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TriggerEvent {
    Time(Time),
    /// A write to a register, or a read of it; with a value, only of that one.
    Register {
        address: u32,
        value: Option<u32>,
    },
    /// The line goes up.
    Interrupt,
    /// A burst at these bytes.
    Address(Range<u64>),
    /// The first layer of that number of any unit, or of one.
    Layer {
        unit: Option<String>,
        number: u64,
    },
    Named(String),
}

/// Moment of something that lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boundary {
    /// Beginning of it.
    Begin,
    /// End of it.
    End,
}

impl Trigger {
    /// Reads the trigger that an option names on a platform, whose network's layers may have names.
    pub(crate) fn parse(
        option: &'static str,
        text: &str,
        platform: &Platform,
        names: &LayerNames,
    ) -> Result<Trigger, ObserveError> {
        let wrong = |why: String| ObserveError::Option { option, given: text.to_owned(), why };
        let what = what(text, platform, names).map_err(wrong)?;
        Ok(Trigger {
            text: text.to_owned(),
            what,
            begun: BTreeMap::new(),
            units: BTreeMap::new(),
            open: Vec::new(),
            line: None,
        })
    }

    /// The time, if it is one.
    pub(crate) fn time(&self) -> Option<Time> {
        match self.what {
            TriggerEvent::Time(time) => Some(time),
            _ => None,
        }
    }

    /// Notes a source that was announced.
    pub(crate) fn announced(&mut self, source: &Announced) {
        match source.kind {
            SourceKind::LINE if source.name.starts_with("irq") => self.line = Some(source.number),
            SourceKind::Work => {
                let unit = source.name.rsplit('.').next().unwrap_or_default();
                self.units.insert(source.number, unit.to_owned());
            }
            _ => {}
        }
    }

    /// Returns true if an event is the trigger's moment. To be asked of all events, in their order.
    pub(crate) fn comes(&mut self, event: &Event, moment: Boundary) -> bool {
        match (&self.what, &event.seen) {
            (
                TriggerEvent::Register { address, value },
                Observed::Register { address: at, value: seen, .. },
            ) => address == at && value.is_none_or(|value| value == *seen),
            (TriggerEvent::Interrupt, Observed::Level(level)) => {
                self.line == Some(event.source) && *level > 0
            }
            (
                TriggerEvent::Address(range),
                Observed::Transfer { stage: Stage::Request, bytes, address, .. },
            ) => *address < range.end && address.saturating_add(u64::from(*bytes)) > range.start,
            (TriggerEvent::Layer { .. } | TriggerEvent::Named(_), Observed::Begin { id, layer }) => {
                let begun = self.begun.entry(event.source).or_default();
                *begun += 1;
                let is_it = match &self.what {
                    TriggerEvent::Layer { unit, number } => {
                        begun == number
                            && unit.as_ref().is_none_or(|unit| self.units.get(&event.source) == Some(unit))
                    }
                    TriggerEvent::Named(name) => layer.name.as_ref() == Some(name),
                    _ => false,
                };
                if is_it {
                    self.open.push((event.source, *id));
                }
                is_it && moment == Boundary::Begin
            }
            (TriggerEvent::Layer { .. } | TriggerEvent::Named(_), Observed::End { id }) => {
                let before = self.open.len();
                self.open.retain(|open| *open != (event.source, *id));
                moment == Boundary::End && before > 0 && self.open.is_empty()
            }
            // Nobody will tell that they end.
            (TriggerEvent::Layer { .. } | TriggerEvent::Named(_), Observed::Reset) => {
                let open = std::mem::take(&mut self.open);
                moment == Boundary::End && !open.is_empty()
            }
            _ => false,
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn what(text: &str, platform: &Platform, names: &LayerNames) -> Result<TriggerEvent, String> {
    let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
    match (word, rest) {
        ("interrupt", None) => Ok(TriggerEvent::Interrupt),
        ("register", Some(rest)) => register(rest, platform),
        ("address", Some(rest)) => address(rest).map(TriggerEvent::Address),
        ("layer", Some(rest)) => layer(rest, platform, names),
        (time, None) if time.starts_with(|first: char| first.is_ascii_digit()) => {
            time.parse().map(TriggerEvent::Time).map_err(|error: vp_core::ParseTimeError| error.to_string())
        }
        _ => Err(format!("it is {FORMS}{}", hint(word, WORDS))),
    }
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(_) => hex(text).and_then(|number| number.try_into().ok()),
        None => text.parse().ok(),
    }
}

/// `NAME[=VALUE]`, or an address in place of the name.
fn register(text: &str, platform: &Platform) -> Result<TriggerEvent, String> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let value = match value.map(|value| (value, number(value))) {
        Some((value, None)) => return Err(format!("`{value}` is no value of 32 bits, such as 5 or 0x10")),
        other => other.and_then(|(_, number)| number),
    };
    let window = platform.device().window();
    let address = match name.strip_prefix("0x").and_then(|_| number(name)) {
        Some(address) if address < window => address,
        Some(_) => return Err(format!("the registers end at 0x{:x}", window - 1)),
        None if platform.map() == RegisterMap::Foreign => {
            return Err(format!("`{name}`: of this device write a register's byte address, such as 0x100"));
        }
        None => platform.map().find(name).map_err(|error| error.to_string())?.address,
    };
    Ok(TriggerEvent::Register { address, value })
}

/// `HEX[..HEX]`, the end left out of the range.
fn address(text: &str) -> Result<Range<u64>, String> {
    let (start, end) = text.split_once("..").map_or((text, None), |(start, end)| (start, Some(end)));
    let wrong = || "write a byte address or a range of them, such as 0x80000000..0x80010000".to_owned();
    let start = hex(start).ok_or_else(wrong)?;
    let end = match end {
        None => start.checked_add(1).ok_or_else(wrong)?,
        Some(end) => hex(end).filter(|end| *end > start).ok_or_else(wrong)?,
    };
    Ok(start..end)
}

fn layer(text: &str, platform: &Platform, names: &LayerNames) -> Result<TriggerEvent, String> {
    let counted = |text: &str| text.parse().ok().filter(|number: &u64| *number > 0);
    if names.all().any(|name| name == text) {
        return Ok(TriggerEvent::Named(text.to_owned()));
    }
    if let Some(number) = counted(text) {
        return Ok(TriggerEvent::Layer { unit: None, number });
    }
    let units = platform.units();
    if let Some((unit, number)) = text.rsplit_once('.').and_then(|(unit, rest)| Some((unit, counted(rest)?)))
    {
        if units.iter().any(|known| known.as_str() == unit) {
            return Ok(TriggerEvent::Layer { unit: Some(unit.to_owned()), number });
        }
        let near = hint(unit, units.iter().map(vp_core::Name::as_str));
        return Err(format!("no unit `{unit}`{near}"));
    }
    match (names.all().next(), nearest(text, names.all())) {
        (None, _) => {
            Err("layers have names only in a network that `vp run` runs: write layer:N or layer:UNIT.N, \
                          from 1, such as layer:sdp.3"
                .to_owned())
        }
        (Some(_), Some(near)) => Err(format!("no layer `{text}`; nearest: {near}")),
        (Some(first), None) => Err(format!("no layer `{text}`; the first is {first}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_host::network::{Network, Options, Plan};
    use vp_models::platform::Description;

    fn parsed(text: &str) -> Result<TriggerEvent, String> {
        let description = Description::named("nv_small").unwrap();
        let network = Network::named("lenet", &Options::default()).unwrap().unwrap();
        let config = &description.nvdla().unwrap().config;
        let plan = Plan::new(&network, config, description.dbb0.range()).unwrap();
        what(text, &Platform::build(&description).unwrap(), &LayerNames::of(&plan))
    }

    #[test]
    fn every_form_is_understood() {
        assert_eq!(parsed("10 us"), Ok(TriggerEvent::Time(Time::us(10))));
        assert_eq!(parsed("interrupt"), Ok(TriggerEvent::Interrupt));
        let address = RegisterMap::Small.find("SDP.D_OP_ENABLE").unwrap().address;
        assert_eq!(parsed("register:SDP.D_OP_ENABLE"), Ok(TriggerEvent::Register { address, value: None }));
        assert_eq!(
            parsed("register:0x1000=0x10"),
            Ok(TriggerEvent::Register { address: 0x1000, value: Some(16) })
        );
        assert_eq!(parsed("address:0x80"), Ok(TriggerEvent::Address(0x80..0x81)));
        assert_eq!(parsed("address:80..a0"), Ok(TriggerEvent::Address(0x80..0xa0)));
        assert_eq!(parsed("layer:3"), Ok(TriggerEvent::Layer { unit: None, number: 3 }));
        assert_eq!(
            parsed("layer:sdp.1"),
            Ok(TriggerEvent::Layer { unit: Some("sdp".to_owned()), number: 1 })
        );
        assert_eq!(parsed("layer:conv1"), Ok(TriggerEvent::Named("conv1".to_owned())));
    }

    #[test]
    fn a_layer_is_over_when_it_ends_or_the_platform_is_reset() {
        let platform = Platform::build(&Description::named("nv_small").unwrap()).unwrap();
        let layer = |shape: &str| Box::new(crate::event::Layer { name: None, shape: shape.to_owned() });
        let begin = Observed::Begin { id: 0, layer: layer("8x8x8") };
        for end in [Observed::End { id: 0 }, Observed::Reset] {
            let mut stop =
                Trigger::parse("--trace-stop", "layer:2", &platform, &LayerNames::default()).unwrap();
            let mut comes = |seen: &Observed| {
                stop.comes(&Event { time: Time::ZERO, source: 1, seen: seen.clone() }, Boundary::End)
            };
            assert!(![&begin, &end, &begin].into_iter().any(&mut comes), "{end:?}");
            assert!(comes(&end), "{end:?}");
            assert!(!comes(&end), "{end:?}");
        }
    }

    #[test]
    fn what_does_not_exist_is_refused_with_the_nearest() {
        let refused = |text: &str| parsed(text).unwrap_err();
        assert_eq!(refused("registers:X"), format!("it is {FORMS}; nearest: register"));
        assert_eq!(refused("soon"), format!("it is {FORMS}"));
        assert!(refused("10 parsecs").contains("parsecs"), "{}", refused("10 parsecs"));
        assert_eq!(
            refused("register:SDP.D_OP_ENABEL"),
            "no register `SDP.D_OP_ENABEL` in the nv_small map; nearest: SDP.D_OP_ENABLE (0x9038)"
        );
        assert_eq!(refused("register:SDP.D_OP_ENABLE=x"), "`x` is no value of 32 bits, such as 5 or 0x10");
        assert_eq!(refused("layer:convl"), "no layer `convl`; nearest: conv1");
        assert_eq!(refused("layer:sdp_rmda.1"), "no unit `sdp_rmda`; nearest: sdp_rdma");
        for address in ["address:", "address:2..1", "address:x", "address:ffffffffffffffff"] {
            assert!(refused(address).starts_with("write a byte address"), "{address}");
        }
    }
}
