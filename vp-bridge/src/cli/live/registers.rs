//! `vp regs --connect`: what the registers of a served platform hold, without what reads do besides.

use super::super::{Failure, Verdict, text};
use super::{WhichArgs, device_registers};
use crate::cli::out;
use std::io::Write;
use vp_client::native::{MAX_PEEKED, PortId};
use vp_client::{Client, Handler};
use vp_models::platform::{DeviceRegisters, NamedRegister};
use vp_models::registers::Family;
use vp_transport::Address;

/// A register, and the words that it holds: of its one group, or of both.
pub(in super::super) struct RegisterWords {
    register: NamedRegister,
    words: Vec<u32>,
}

/// Form in which values are shown.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Shown {
    pub(in super::super) brief: bool,
    pub(in super::super) all: bool,
    pub(in super::super) json: bool,
}

pub(in super::super) fn main(
    address: &Address,
    which: &WhichArgs,
    pattern: Option<&str>,
    shown: Shown,
) -> Result<Verdict, Failure> {
    let mut look = which.look(address)?;
    let (registers, port) = device_registers(&mut look)?;
    let meant = registers.matching(pattern).map_err(Failure::new)?;
    let held = peek(&mut look, port, &meant)?;
    show(&mut out::stdout(), &registers, &held, pattern.is_some(), shown)?;
    Ok(Verdict::Right)
}

/// Looks at registers, each of which is in ascending order of its address: as many together as can be.
pub(in super::super) fn peek<H: Handler>(
    look: &mut Client<H>,
    port: PortId,
    registers: &[NamedRegister],
) -> Result<Vec<RegisterWords>, Failure> {
    let mut held = Vec::new();
    for run in registers.chunk_by(|a, b| a.address / (4 * MAX_PEEKED) == b.address / (4 * MAX_PEEKED)) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let count = (last.address - first.address) / 4 + 1;
        let mut words =
            |group| look.peek_registers(port, first.address.into(), count, group).map_err(Failure::new);
        let groups = match run.iter().any(NamedRegister::has_groups) {
            true => vec![words(Some(0))?, words(Some(1))?],
            false => vec![words(None)?],
        };
        for register in run {
            let place = ((register.address - first.address) / 4) as usize;
            let of = if register.has_groups() { &groups[..] } else { &groups[..1] };
            let words = of.iter().filter_map(|words| words.get(place).copied()).collect();
            held.push(RegisterWords { register: *register, words });
        }
    }
    Ok(held)
}

pub(in super::super) fn show(
    out: &mut impl Write,
    registers: &DeviceRegisters,
    held: &[RegisterWords],
    is_asked: bool,
    shown: Shown,
) -> Result<(), Failure> {
    let family = registers.family();
    if shown.json {
        let all: Vec<_> = held.iter().map(|held| as_json(held, family)).collect();
        return Ok(writeln!(out, "{:#}", serde_json::Value::Array(all))?);
    }
    let is_changed =
        |held: &RegisterWords| held.words.iter().any(|word| *word != held.register.reset(family));
    let mut left_out = 0;
    for one in held {
        if !is_asked && !shown.all && !is_changed(one) {
            left_out += 1;
            continue;
        }
        let words: Vec<String> = one.words.iter().map(|word| format!("{word:#010x}")).collect();
        writeln!(
            out,
            "{:#07x}  {:<42} {}",
            one.register.address,
            one.register.to_string(),
            words.join("  ")
        )?;
        if is_asked && !shown.brief {
            write_fields(out, one, family)?;
        }
    }
    if left_out > 0 {
        writeln!(out, "\n{} as after reset; --all shows them", text::counted(left_out, "register"))?;
    }
    Ok(())
}

/// A line for each field: its value in each group.
fn write_fields(out: &mut impl Write, held: &RegisterWords, family: Family) -> std::io::Result<()> {
    let groups: Vec<_> = held.words.iter().map(|word| held.register.decode(family, *word)).collect();
    for (index, field) in held.register.fields().iter().enumerate() {
        let values = groups.iter().filter_map(|fields| fields.get(index)).map(|field| match &field.meaning {
            Some(meaning) => format!("{} ({meaning})", field.value),
            None => field.value.to_string(),
        });
        let values: Vec<String> = values.collect();
        let place = format!("[{}]", field.bits(family));
        writeln!(out, "         {place:<8} {:<32} {}", field.name, values.join("  |  "))?;
    }
    Ok(())
}

fn as_json(held: &RegisterWords, family: Family) -> serde_json::Value {
    let RegisterWords { register, words } = held;
    let fields = |word: &u32| -> serde_json::Map<String, serde_json::Value> {
        register
            .decode(family, *word)
            .into_iter()
            .map(|field| (field.name.to_owned(), field.value.into()))
            .collect()
    };
    serde_json::json!({
        "register": register.to_string(),
        "address": register.address,
        "groups": words.iter().map(|word| serde_json::json!({ "value": word, "fields": fields(word) })).collect::<Vec<_>>(),
    })
}
