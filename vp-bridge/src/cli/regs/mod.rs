//! `vp regs`: the register map, from the table the models themselves decode with; of a served platform, what registers hold.

mod formats;

use self::formats::{Format, Map};
use super::live::{self, WhichArgs};
use super::platform_args::DEFAULT_PLATFORM;
use super::{Failure, Verdict, platform_args, text};
use crate::cli::out;
use std::io::Write;
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{Description, DeviceRegisters, NamedRegister};
use vp_models::registers::{Access, Encoding, Family, Field};
use vp_transport::Address;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Registers to show: part of a register's or field's name (`D_POOLING`), a unit (`SDP`), or an address (`0xb040`), also with the
    /// base of a register window (`0x1020b040`) or in words, as in `.txn` scripts (`0xffff2c10`) [default: all]
    pattern: Option<String>,

    /// Platform whose map is shown: a built-in platform or a TOML file [default: nv_small; nv_large or nv_full for an address that
    /// nv_small does not have]
    #[arg(long, value_name = "NAME|FILE")]
    platform: Option<String>,

    /// Format of the map
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with_all = ["brief", "connect"])]
    format: Format,

    /// Show each register in one line, without its fields
    #[arg(long, short)]
    brief: bool,

    /// Show the register values, in both groups, of the platform that `vp serve` offers at this address; nothing is changed
    #[arg(long, value_name = "ADDR", conflicts_with = "platform", help_heading = "Server")]
    connect: Option<Address>,

    #[command(flatten, next_help_heading = "Server")]
    which: WhichArgs,

    /// Show also registers with their reset values
    #[arg(long, requires = "connect", help_heading = "Server")]
    all: bool,

    /// Print the values as JSON in place of text
    #[arg(long, requires = "connect", help_heading = "Server")]
    json: bool,
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let pattern = args.pattern.as_deref();
    if let Some(address) = &args.connect {
        let shown = live::registers::Shown { brief: args.brief, all: args.all, json: args.json };
        return live::registers::main(address, &args.which, pattern, shown);
    }
    let (description, registers, found) = find(args)?;
    let (map, family) = (registers.map(), registers.family());
    let mut out = out::stdout();
    let prefix = if description.nvdla().is_some() { "NVDLA_" } else { "" };
    let written = Map { name: map, prefix, family, registers: &found };
    match args.format {
        Format::Text => {
            write_text(args, &written, &mut out)?;
            if let Some(note) = note(args, &registers, &found) {
                writeln!(out, "{note}")?;
            }
        }
        Format::CHeader => written.write_c_header(&mut out)?,
        Format::Json => written.write_json(&mut out)?,
        Format::Systemrdl => written.write_systemrdl(&mut out)?,
    }
    Ok(Verdict::Right)
}

/// The registers that are asked for, with the platform that has them.
fn find(args: &Args) -> Result<(Description, DeviceRegisters, Vec<NamedRegister>), Failure> {
    let pattern = args.pattern.as_deref();
    let of = |platform: &str| -> Result<_, Failure> {
        let description = platform_args::load(platform)?;
        let registers = DeviceRegisters::of(&description);
        let found = registers.matching(pattern).map_err(Failure::new)?;
        Ok((description, registers, found))
    };
    let platform = args.platform.as_deref().unwrap_or(DEFAULT_PLATFORM);
    let found = of(platform);
    match found {
        Err(_) if args.platform.is_none() && address(args).is_some() => {
            let others = RegisterMap::ALL.into_iter().rev().map(RegisterMap::name);
            others.filter(|name| *name != platform).find_map(|name| of(name).ok()).map_or(found, Ok)
        }
        found => found,
    }
}

/// The address that is asked for, if it is one.
fn address(args: &Args) -> Option<u32> {
    let digits = args.pattern.as_deref()?.strip_prefix("0x")?;
    u32::from_str_radix(digits, 16).ok()
}

/// Of an address: the map that was not asked for, and that it may be meant otherwise.
fn note(args: &Args, registers: &DeviceRegisters, found: &[NamedRegister]) -> Option<String> {
    let (address, found) = (address(args)?, found.first()?);
    let of_map = match args.platform.is_none() && registers.map() != DEFAULT_PLATFORM {
        true => format!(" in the {} map; that of {DEFAULT_PLATFORM} has nothing there", registers.map()),
        false => String::new(),
    };
    if found.address != address
        && address >> 16 != 0xffff
        && address % RegisterMap::SPACE_BYTES == found.address
    {
        let base = address - found.address;
        return Some(format!(
            "\n{address:#x} is {:#x} in a register window at {base:#x}{of_map}",
            found.address
        ));
    }
    if found.address != address {
        return Some(format!("\n{address:#x} is a word address: {:#x} in bytes{of_map}", found.address));
    }
    let word = registers
        .at_word(address)
        .map(|other| format!("; as a word address it is {other}, at {:#x} in bytes", other.address));
    let text = format!("{of_map}{}", word.unwrap_or_default());
    (!text.is_empty()).then(|| format!("\n{address:#x} is a byte address{text}"))
}

fn write_text(args: &Args, map: &Map<'_>, out: &mut impl Write) -> std::io::Result<()> {
    let Map { name, family, registers, .. } = *map;
    let brief = args.brief || args.pattern.is_none();
    for shown in registers {
        let (rights, doc) = formats::about(shown);
        let (access, grouping) = (access(rights), formats::grouping(shown));
        let (address, register, reset) = (shown.address, shown.to_string(), shown.reset(family));
        writeln!(out, "{address:#07x}  {register:<42} {access:<4} reset {reset:#010x}{grouping}")?;
        if brief {
            continue;
        }
        writeln!(out, "         {}", text::styled(text::DIM, doc))?;
        for field in shown.fields() {
            write_field(out, field, family)?;
        }
    }
    if brief && !args.brief {
        let count = text::counted(registers.len() as u64, "register");
        writeln!(out, "\n{count} in the {name} map; `vp regs NAME` shows fields")?;
    }
    Ok(())
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
