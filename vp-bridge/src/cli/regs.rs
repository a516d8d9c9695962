//! `vp regs`: the register map, from the table the models themselves decode with.

use super::{Failure, Verdict, platform_args, text};
use std::io::Write;
use vp_models::fpga_ai_suite::registers as suite;
use vp_models::nvdla::registers::{Located, RegisterMap};
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
            (
                map.name(),
                map.family(),
                find(map, args.pattern.as_deref())?.into_iter().map(Shown::from).collect(),
            )
        }
        None => (SUITE, Family::Small, find_suite(args.pattern.as_deref())?),
    };
    let mut out = anstream::stdout().lock();
    let brief = args.brief || args.pattern.is_none();
    for shown in &found {
        let &Shown { unit, register, address } = shown;
        let reset = register.reset(family);
        let grouping = match register.grouping {
            Grouping::Single => "",
            Grouping::Duplicated => "  two groups",
        };
        let name = format!("{unit}.{}", register.name);
        let access = access(register.access);
        writeln!(out, "{address:#07x}  {name:<42} {access:<4} reset {reset:#010x}{grouping}")?;
        if brief {
            continue;
        }
        writeln!(out, "         {}", text::styled(text::DIM, register.doc.trim()))?;
        for field in register.fields {
            write_field(&mut out, field, family)?;
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

/// A register to be shown.
struct Shown {
    unit: &'static str,
    register: RegisterRef,
    address: u32,
}

impl From<Located> for Shown {
    fn from(located: Located) -> Shown {
        Shown { unit: located.unit.name(), register: located.register, address: located.address }
    }
}

/// Registers of the CSR block: all, the one at an address, or those with a part of a name.
fn find_suite(pattern: Option<&str>) -> Result<Vec<Shown>, Failure> {
    let shown =
        |&register: &RegisterRef| Shown { unit: register.unit, register, address: register.offset.into() };
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

fn find(map: RegisterMap, pattern: Option<&str>) -> Result<Vec<Located>, Failure> {
    let Some(pattern) = pattern else { return Ok(map.registers().collect()) };
    let address = pattern.strip_prefix("0x").or_else(|| pattern.strip_prefix("0X"));
    if let Some(address) = address.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
        let located = map.at(address);
        let none = || {
            let unit =
                map.unit_at(address).map_or_else(String::new, |(unit, _)| format!(", in the slot of {unit}"));
            Failure::new(format!("no register at 0x{address:x} in the {map} map{unit}: it reads zero"))
        };
        return located.map(|located| vec![located]).ok_or_else(none);
    }
    let upper = pattern.to_uppercase();
    let has_field =
        |located: &Located| located.register.fields.iter().any(|field| field.name.contains(&upper));
    let found: Vec<Located> = match map.units().find(|slot| slot.unit.name() == upper) {
        Some(slot) => map.registers().filter(|located| located.unit == slot.unit).collect(),
        None => map
            .registers()
            .filter(|located| located.to_string().contains(&upper) || has_field(located))
            .collect(),
    };
    match found.is_empty() {
        false => Ok(found),
        // The search found nothing, so the exact name is not there either: its error knows the nearest.
        true => map.find(pattern).map(|located| vec![located]).map_err(Failure::new),
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
