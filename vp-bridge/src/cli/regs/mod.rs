//! `vp regs`: the register map, from the table the models themselves decode with; of a served platform, what registers hold.

mod formats;

use self::formats::{Format, Map};
use super::live::{self, WhichArgs};
use super::{Failure, Verdict, platform_args, text};
use crate::cli::out;
use std::io::Write;
use vp_models::platform::DeviceRegisters;
use vp_models::registers::{Access, Encoding, Family, Field};
use vp_transport::Address;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Part of a register's or field's name (`D_POOLING`), a unit (`SDP`), or a byte address (`0xb040`); everything if left out
    pattern: Option<String>,

    /// Whose map: a built-in platform or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "nv_small")]
    platform: String,

    /// In which form
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with_all = ["brief", "connect"])]
    format: Format,

    /// One line a register, without its fields
    #[arg(long, short)]
    brief: bool,

    /// What the registers hold of the platform that `vp serve` offers at this address, in both groups. Looking changes nothing
    #[arg(long, value_name = "ADDR", conflicts_with = "platform", help_heading = "Server")]
    connect: Option<Address>,

    #[command(flatten, next_help_heading = "Server")]
    which: WhichArgs,

    /// Also registers that are as after reset
    #[arg(long, requires = "connect", help_heading = "Server")]
    all: bool,

    /// As JSON
    #[arg(long, requires = "connect", help_heading = "Server")]
    json: bool,
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let pattern = args.pattern.as_deref();
    if let Some(address) = &args.connect {
        let shown = live::registers::Shown { brief: args.brief, all: args.all, json: args.json };
        return live::registers::main(address, &args.which, pattern, shown);
    }
    let description = platform_args::load(&args.platform)?;
    let registers = DeviceRegisters::of(&description);
    let (map, family) = (registers.map(), registers.family());
    let found = registers.matching(pattern).map_err(Failure::new)?;
    let mut out = out::stdout();
    let prefix = if description.nvdla().is_some() { "NVDLA_" } else { "" };
    let written = Map { name: map, prefix, family, registers: &found };
    match args.format {
        Format::Text => write_text(args, &written, &mut out)?,
        Format::CHeader => written.write_c_header(&mut out)?,
        Format::Json => written.write_json(&mut out)?,
        Format::Systemrdl => written.write_systemrdl(&mut out)?,
    }
    Ok(Verdict::Right)
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
