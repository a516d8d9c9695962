//! `vp regs`: the register map, from the table the models themselves decode with.

use super::{Failure, Verdict, platform_args, text};
use std::io::Write;
use vp_models::fpga_ai_suite::registers as suite;
use vp_models::nvdla::registers::Unit;
use vp_models::platform::NvdlaDescription;
use vp_models::registers::{Access, Encoding, Family, Field, Grouping, RegisterRef};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Part of a register's or field's name (`D_POOLING`), a unit (`SDP`), or a byte address (`0xb040`); everything if left out
    pattern: Option<String>,

    /// Whose map: a built-in platform or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "nv_small")]
    platform: String,

    /// One line a register, without its fields
    #[arg(long, short)]
    brief: bool,
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let description = platform_args::load(&args.platform)?;
    let (map, family, found) = match description.nvdla() {
        Some(nvdla) => {
            let map = nvdla.config.register_map;
            (map.name(), map.family(), find(nvdla, args.pattern.as_deref())?)
        }
        None => (SUITE, Family::Small, find_suite(args.pattern.as_deref())?),
    };
    let mut out = anstream::stdout().lock();
    let brief = args.brief || args.pattern.is_none();
    for shown in &found {
        let &Shown { unit, name, address, .. } = shown;
        let (access, reset, grouping, doc) = match shown.what {
            What::Register(register) => {
                let grouping = match register.grouping {
                    Grouping::Single => "",
                    Grouping::Duplicated => "  two groups",
                };
                (access(register.access), register.reset(family), grouping, register.doc.trim())
            }
            What::Word { value, doc } => ("ro", value, "", doc),
        };
        let name = format!("{unit}.{name}");
        writeln!(out, "{address:#07x}  {name:<42} {access:<4} reset {reset:#010x}{grouping}")?;
        if brief {
            continue;
        }
        writeln!(out, "         {}", text::styled(text::DIM, doc))?;
        if let What::Register(register) = shown.what {
            for field in register.fields {
                write_field(&mut out, field, family)?;
            }
        }
    }
    if brief && !args.brief {
        writeln!(
            out,
            "\n{} in the {map} map; `vp regs NAME` shows fields",
            text::counted(found.len() as u64, "register")
        )?;
    }
    Ok(Verdict::Right)
}

/// The map of the FPGA AI Suite's CSR block.
const SUITE: &str = "FPGA AI Suite";

/// A word of the map to be shown.
struct Shown {
    unit: &'static str,
    name: &'static str,
    address: u32,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Register(RegisterRef),
    /// A word of the capability ROM.
    Word {
        value: u32,
        doc: &'static str,
    },
}

impl Shown {
    fn register(unit: &'static str, register: RegisterRef, address: u32) -> Shown {
        Shown { unit, name: register.name, address, what: What::Register(register) }
    }

    /// Whether this part, in capitals, is in its name or that of a field.
    fn is_named(&self, part: &str) -> bool {
        let has_field = match self.what {
            What::Register(register) => register.fields.iter().any(|field| field.name.contains(part)),
            What::Word { .. } => false,
        };
        has_field || format!("{}.{}", self.unit, self.name).contains(part)
    }
}

/// The registers of a device, by rising address, with the words that its capability ROM serves.
fn registers(nvdla: &NvdlaDescription) -> Vec<Shown> {
    let map = nvdla.config.register_map;
    let rom = map.base(Unit::Cfgrom).into_iter().flat_map(|base| {
        let words = nvdla.config.capability_words(nvdla.capability_rom);
        (base..).step_by(4).zip(words).map(|(address, word)| {
            let what = What::Word { value: word.value, doc: word.doc };
            Shown { unit: Unit::Cfgrom.name(), name: word.name, address, what }
        })
    });
    let others = map.registers().filter(|it| it.unit != Unit::Cfgrom && nvdla.config.has_unit(it.unit));
    let others = others.map(|it| Shown::register(it.unit.name(), it.register, it.address));
    let mut all: Vec<Shown> = rom.chain(others).collect();
    all.sort_by_key(|shown| shown.address);
    all
}

/// Registers of the CSR block: all, the one at an address, or those with a part of a name.
fn find_suite(pattern: Option<&str>) -> Result<Vec<Shown>, Failure> {
    let shown = |&register: &RegisterRef| Shown::register(register.unit, register, register.offset.into());
    let upper = pattern.unwrap_or_default().to_uppercase();
    let address = upper.strip_prefix("0X").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let name = upper.strip_prefix("CSR.").unwrap_or(&upper);
    let is_meant = |register: &&RegisterRef| match address {
        Some(address) => u32::from(register.offset) == address,
        None => register.name.contains(name) || register.fields.iter().any(|field| field.name.contains(name)),
    };
    let found: Vec<Shown> = suite::REGISTERS.iter().filter(is_meant).map(shown).collect();
    match found.is_empty() {
        false => Ok(found),
        true => Err(Failure::new(format!("no register `{upper}` in the {SUITE} map"))),
    }
}

fn find(nvdla: &NvdlaDescription, pattern: Option<&str>) -> Result<Vec<Shown>, Failure> {
    let map = nvdla.config.register_map;
    let all = registers(nvdla);
    let Some(pattern) = pattern else { return Ok(all) };
    let lacking = |unit: Unit| format!("the platform has no {unit}: what is there reads zero");
    let address = pattern.strip_prefix("0x").or_else(|| pattern.strip_prefix("0X"));
    if let Some(address) = address.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
        let found: Vec<Shown> = all.into_iter().filter(|shown| shown.address == address).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let unit = map.unit_at(address).map(|(unit, _)| unit);
        return Err(Failure::new(match unit {
            Some(unit) if !nvdla.config.has_unit(unit) => lacking(unit),
            unit => {
                let unit = unit.map_or_else(String::new, |unit| format!(", in the slot of {unit}"));
                format!("no register at 0x{address:x} in the {map} map{unit}: it reads zero")
            }
        }));
    }
    let upper = pattern.to_uppercase();
    let found: Vec<Shown> = match map.units().find(|slot| slot.unit.name() == upper) {
        Some(slot) if !nvdla.config.has_unit(slot.unit) => return Err(Failure::new(lacking(slot.unit))),
        Some(slot) => all.into_iter().filter(|shown| shown.unit == slot.unit.name()).collect(),
        None => all.into_iter().filter(|shown| shown.is_named(&upper)).collect(),
    };
    match found.is_empty() {
        false => Ok(found),
        true => Err(match map.find(pattern) {
            Ok(located) => Failure::new(lacking(located.unit)),
            // The exact name is not there either: its error knows the nearest.
            Err(none) => Failure::new(none),
        }),
    }
}

fn write_field(out: &mut impl Write, field: &Field, family: Family) -> std::io::Result<()> {
    let bits = field.bits(family);
    let place =
        if bits.width() == 1 { format!("[{}]", bits.lsb) } else { format!("[{}:{}]", bits.msb, bits.lsb) };
    let encoding = match field.encoding {
        Encoding::Plain => "",
        Encoding::MinusOne => "  minus one",
        Encoding::Signed => "  signed",
        Encoding::Bytes => "  bytes, in place",
    };
    let (access, reset) = (access(field.access), field.reset(family));
    writeln!(out, "         {place:<8} {:<32} {access:<4} reset {reset:#x}{encoding}", field.name)?;
    writeln!(out, "                  {}", text::styled(text::DIM, field.doc.trim()))?;
    if !field.values.is_empty() {
        let values: Vec<String> =
            field.values.iter().map(|value| format!("{} {}", value.value, value.name)).collect();
        writeln!(out, "                  {}", values.join(" · "))?;
    }
    Ok(())
}

fn access(access: Access) -> &'static str {
    match access {
        Access::ReadOnly => "ro",
        Access::ReadWrite => "rw",
        Access::WriteOnly => "wo",
        Access::WriteOneToClear => "w1c",
    }
}
