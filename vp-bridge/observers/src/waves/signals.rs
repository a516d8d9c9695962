//! The signals of each kind of source, and how its reports change them.

use std::collections::HashMap;
use std::io;

use vp_core::Time;
use vp_core::observe::{SourceKind, Stage};
use vp_models::memory::dram::CommandKind;
use vp_models::nvdla::registers::RegisterMap;

use super::Shape::{Bits, Text};
use super::recorder::{Recorder, Signal};
use crate::event::{Announced, Event, Observed};

/// Facts of a platform that signals depend on.
#[derive(Debug, Clone)]
pub(super) struct Around {
    /// Name of the platform: the outermost scope.
    pub(super) platform: String,
    pub(super) period: Time,
    pub(super) map: RegisterMap,
    /// Bits of the addresses of memory interfaces, by their names.
    pub(super) address_bits: HashMap<String, u32>,
    /// DRAMs by their names, such as `dbb0.dram`.
    pub(super) drams: HashMap<String, DramFacts>,
}

/// Facts of a DRAM that its signals depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct DramFacts {
    /// Period of the command clock.
    pub(super) clock: Time,
    /// Bits that number a row, a burst in it, and a bank of a channel.
    pub(super) row_bits: u32,
    pub(super) column_bits: u32,
    pub(super) bank_bits: u32,
    /// True if column commands have a bus of their own (HBM): there may be two commands in a clock.
    pub(super) has_column_bus: bool,
}

impl Around {
    /// Returns the DRAM of which a source is a channel, or the commands of one.
    fn dram(&self, source: &str) -> Option<DramFacts> {
        let channel = source.strip_suffix(".command").unwrap_or(source);
        self.drams.get(channel.trim_end_matches(|digit: char| digit.is_ascii_digit())).copied()
    }
}

/// The signals of one source.
pub(super) enum Signals {
    /// A line, or a level.
    Level(Signal),
    /// A datapath that is sometimes active: a pulse.
    Active(usize),
    Registers(Registers),
    Bus(Bus),
    Unit(Unit),
    Counted {
        label: Signal,
        value: Signal,
    },
    Dram(DramSignals),
    /// Commands of a channel with a bus for row commands and one for column commands.
    DramBuses([DramSignals; 2]),
    None,
}

/// Signals of what accesses to a DRAM's channel find, or of its commands: valid for a clock.
pub(super) struct DramSignals {
    valid: usize,
    event: Signal,
    row: Signal,
    column: Signal,
    bank: Signal,
    clock: Time,
}

/// A register bus: an access is valid for a cycle, where it takes effect.
pub(super) struct Registers {
    valid: usize,
    write: Signal,
    address: Signal,
    data: Signal,
    name: Signal,
}

/// A memory interface: the channels of AXI.
pub(super) struct Bus {
    /// AR and AW.
    requests: [Request; 2],
    /// R, valid from a read's first beat to the last one's, and W, valid with a write's last beat.
    data: [Beat; 2],
    /// B.
    acknowledged: Beat,
    outstanding: [Signal; 2],
    in_flight: [u64; 2],
    /// Reads whose data is on the bus.
    arriving: u64,
}

struct Request {
    valid: usize,
    id: Signal,
    address: Signal,
    bytes: Signal,
}

struct Beat {
    valid: usize,
    id: Signal,
}

/// A unit and its layers.
pub(super) struct Unit {
    busy: Signal,
    group: Signal,
    layer: Signal,
    name: Signal,
    begun: u64,
    /// Layers that have not ended, the oldest first: group, number, name.
    open: Vec<(u64, u64, String)>,
}

impl Signals {
    /// Adds the signals of a source.
    pub(super) fn of(source: &Announced, around: &Around, recorder: &mut Recorder) -> io::Result<Signals> {
        let parts = std::iter::once(around.platform.as_str()).chain(source.name.split('.'));
        let scope: Vec<String> = parts.map(|part| part.replace(char::is_whitespace, "_")).collect();
        let within = |names: &[&str]| -> Vec<String> {
            scope.iter().cloned().chain(names.iter().map(|&name| name.to_owned())).collect()
        };
        let zero = |recorder: &mut Recorder, names: &[&str], bits| {
            let signal = recorder.add(within(names), Bits(bits));
            recorder.set(signal, 0).map(|()| signal)
        };
        let empty = |recorder: &mut Recorder, names: &[&str], characters| {
            let signal = recorder.add(within(names), Text(characters));
            recorder.set_text(signal, "").map(|()| signal)
        };
        Ok(match source.kind {
            SourceKind::Level { .. } if source.name.ends_with(".active") => {
                Signals::Active(recorder.add_pulse(scope))
            }
            SourceKind::Level { bits, .. } => Signals::Level(zero(recorder, &[], bits)?),
            SourceKind::Registers { address_bits } => Signals::Registers(Registers {
                valid: recorder.add_pulse(within(&["valid"])),
                write: recorder.add(within(&["write"]), Bits(1)),
                address: recorder.add(within(&["address"]), Bits(address_bits)),
                data: recorder.add(within(&["data"]), Bits(32)),
                name: empty(recorder, &["register"], 40)?,
            }),
            SourceKind::Transfers => {
                let bits = around.address_bits.get(&source.name).copied().unwrap_or(64);
                let request = |recorder: &mut Recorder, channel| Request {
                    valid: recorder.add_pulse(within(&[channel, "valid"])),
                    id: recorder.add(within(&[channel, "id"]), Bits(8)),
                    address: recorder.add(within(&[channel, "address"]), Bits(bits)),
                    bytes: recorder.add(within(&[channel, "bytes"]), Bits(16)),
                };
                let beat = |recorder: &mut Recorder, channel| Beat {
                    valid: recorder.add_pulse(within(&[channel, "valid"])),
                    id: recorder.add(within(&[channel, "id"]), Bits(8)),
                };
                Signals::Bus(Bus {
                    requests: [request(recorder, "ar"), request(recorder, "aw")],
                    data: [beat(recorder, "r"), beat(recorder, "w")],
                    acknowledged: beat(recorder, "b"),
                    outstanding: [
                        zero(recorder, &["reads_outstanding"], 10)?,
                        zero(recorder, &["writes_outstanding"], 10)?,
                    ],
                    in_flight: [0; 2],
                    arriving: 0,
                })
            }
            SourceKind::Work => Signals::Unit(Unit {
                busy: zero(recorder, &["busy"], 1)?,
                group: recorder.add(within(&["group"]), Bits(8)),
                layer: zero(recorder, &["layer"], 32)?,
                name: empty(recorder, &["name"], 24)?,
                begun: 0,
                open: Vec::new(),
            }),
            SourceKind::Counts => match around.dram(&source.name) {
                Some(facts) if facts.has_column_bus && source.name.ends_with(".command") => {
                    let bus = |name: &str, recorder: &mut Recorder| {
                        DramSignals::of(&facts, &within(&[name]), recorder)
                    };
                    Signals::DramBuses([bus("row_bus", recorder)?, bus("column_bus", recorder)?])
                }
                Some(facts) => Signals::Dram(DramSignals::of(&facts, &scope, recorder)?),
                None => Signals::Counted {
                    label: empty(recorder, &["event"], 24)?,
                    value: recorder.add(within(&["value"]), Bits(64)),
                },
            },
            SourceKind::Warnings => Signals::None,
        })
    }

    /// Something was reported.
    pub(super) fn see(
        &mut self,
        event: &Event,
        around: &Around,
        labels: &[String],
        to: &mut Recorder,
    ) -> io::Result<()> {
        let now = to.now();
        match (self, &event.seen) {
            (Signals::Bus(bus), Observed::Transfer { stage, write, id, bytes, address }) => {
                bus.see(*stage, *write, (*id, *bytes, *address), now + around.period, to)
            }
            (Signals::Level(level), Observed::Level(value)) => to.set(*level, *value),
            (Signals::Level(level), Observed::Change(by)) => to.change(*level, *by),
            (Signals::Active(pulse), Observed::Busy { until }) => {
                if *until > now {
                    to.raise(*pulse, *until)
                } else {
                    Ok(())
                }
            }
            (Signals::Registers(registers), Observed::Register { write, address, value }) => {
                to.raise(registers.valid, now + around.period)?;
                to.set(registers.write, u64::from(*write))?;
                to.set(registers.address, u64::from(*address))?;
                to.set(registers.data, u64::from(*value))?;
                let register = around.map.at(*address);
                to.set_text(registers.name, &register.map_or_else(String::new, |it| it.to_string()))
            }
            (Signals::Unit(unit), Observed::Begin { id, layer }) => {
                unit.begun += 1;
                unit.open.push((*id, unit.begun, layer.title().to_owned()));
                unit.show(to)
            }
            (Signals::Unit(unit), Observed::End { id }) => {
                if let Some(place) = unit.open.iter().position(|(open, ..)| open == id) {
                    unit.open.remove(place);
                }
                unit.show(to)
            }
            (Signals::Counted { label, value }, Observed::Count { label: text, value: counted }) => {
                to.set(*value, *counted)?;
                to.set_text(*label, labels.get(*text as usize).map_or("", String::as_str))
            }
            (Signals::Dram(dram), Observed::Count { label, value }) => {
                dram.see(labels.get(*label as usize).map_or("", String::as_str), *value, to)
            }
            (Signals::DramBuses(buses), Observed::Count { label, value }) => {
                let label = labels.get(*label as usize).map_or("", String::as_str);
                let is_column = CommandKind::of_name(label).is_some_and(CommandKind::is_column);
                buses[usize::from(is_column)].see(label, *value, to)
            }
            _ => Ok(()),
        }
    }

    /// The platform was reset: no end will be reported for open transfers.
    pub(super) fn reset(&mut self, to: &mut Recorder) -> io::Result<()> {
        match self {
            Signals::Bus(bus) => {
                (bus.in_flight, bus.arriving) = ([0; 2], 0);
                to.lower(bus.data[0].valid)?;
                bus.outstanding.iter().try_for_each(|&signal| to.set(signal, 0))
            }
            Signals::Level(level) => to.set(*level, 0),
            Signals::Active(pulse) => to.lower(*pulse),
            Signals::Dram(dram) => to.lower(dram.valid),
            Signals::DramBuses(buses) => buses.iter().try_for_each(|bus| to.lower(bus.valid)),
            Signals::Unit(unit) => {
                unit.open.clear();
                unit.show(to)
            }
            _ => Ok(()),
        }
    }
}

impl Bus {
    #[inline]
    fn see(
        &mut self,
        stage: Stage,
        write: bool,
        (id, bytes, address): (u32, u32, u64),
        next_cycle: Time,
        to: &mut Recorder,
    ) -> io::Result<()> {
        let direction = usize::from(write);
        match stage {
            Stage::Request => {
                let request = &self.requests[direction];
                to.raise(request.valid, next_cycle)?;
                to.set(request.id, id.into())?;
                to.set(request.address, address)?;
                to.set(request.bytes, bytes.into())?;
                self.in_flight[direction] += 1;
                to.set(self.outstanding[direction], self.in_flight[direction])
            }
            Stage::Data => {
                self.arriving += u64::from(!write);
                let until = if write { next_cycle } else { Time::MAX };
                to.raise(self.data[direction].valid, until)?;
                to.set(self.data[direction].id, id.into())
            }
            Stage::Response => {
                if write {
                    to.raise(self.acknowledged.valid, next_cycle)?;
                    to.set(self.acknowledged.id, id.into())?;
                } else {
                    self.arriving = self.arriving.saturating_sub(1);
                    if self.arriving == 0 {
                        to.raise(self.data[0].valid, next_cycle)?;
                    }
                }
                self.in_flight[direction] = self.in_flight[direction].saturating_sub(1);
                to.set(self.outstanding[direction], self.in_flight[direction])
            }
        }
    }
}

impl DramSignals {
    /// Adds signals in a scope.
    fn of(facts: &DramFacts, scope: &[String], recorder: &mut Recorder) -> io::Result<DramSignals> {
        let within = |name: &str| scope.iter().cloned().chain([name.to_owned()]).collect::<Vec<_>>();
        let signals = DramSignals {
            valid: recorder.add_pulse(within("valid")),
            event: recorder.add(within("event"), Text(24)),
            row: recorder.add(within("row"), Bits(facts.row_bits)),
            column: recorder.add(within("column"), Bits(facts.column_bits)),
            bank: recorder.add(within("bank"), Bits(facts.bank_bits)),
            clock: facts.clock,
        };
        recorder.set_text(signals.event, "").map(|()| signals)
    }

    /// Shows an event, and its place as [`DramCommand::observed`](vp_models::memory::dram::DramCommand::observed) packs it.
    fn see(&self, label: &str, value: u64, to: &mut Recorder) -> io::Result<()> {
        to.raise(self.valid, to.now() + self.clock)?;
        to.set(self.row, value >> 32)?;
        to.set(self.column, value >> 16 & 0xffff)?;
        to.set(self.bank, value & 0xffff)?;
        to.set_text(self.event, label)
    }
}

impl Unit {
    /// Shows the layer that has run longest.
    fn show(&self, to: &mut Recorder) -> io::Result<()> {
        to.set(self.busy, u64::from(!self.open.is_empty()))?;
        match self.open.first() {
            Some((group, number, name)) => {
                to.set(self.group, *group)?;
                to.set(self.layer, *number)?;
                to.set_text(self.name, name)
            }
            None => to.set_text(self.name, ""),
        }
    }
}
