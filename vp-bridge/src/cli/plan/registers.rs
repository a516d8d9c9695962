//! Register writes of a plan's hardware layers, unit by unit.

use crate::cli::Failure;
use crate::cli::record::Record;
use std::io::Write;
use vp_host::network::{Plan, PlanStep, Work};
use vp_host::program::Program;
use vp_models::nvdla::registers::Unit;
use vp_models::platform::{Description, DeviceRegisters};

fn program(step: &PlanStep) -> Option<&Program> {
    match &step.work {
        Work::Hardware { program, .. } | Work::Copy { program, .. } => Some(program),
        Work::Cpu { .. } => None,
    }
}

/// A register write: its unit, its name, its address, its value, and the fields of that which are not zero.
struct Told {
    unit: Unit,
    name: &'static str,
    address: Option<u32>,
    value: u32,
    fields: Vec<String>,
}

fn told(program: &Program, registers: &DeviceRegisters) -> Vec<Told> {
    let write = |write: &vp_host::program::Write| {
        let name = format!("{}.{}", write.unit, write.register.name);
        let known = registers.named(&name).ok();
        let fields = known.as_ref().map(|known| known.decode(registers.family(), write.value));
        let fields = fields.into_iter().flatten().filter(|field| field.value != 0);
        Told {
            unit: write.unit,
            name: write.register.name,
            address: known.map(|known| known.address),
            value: write.value,
            fields: fields.map(|field| field.to_string()).collect(),
        }
    };
    program.writes.iter().map(write).collect()
}

/// Shows all writes.
pub(super) fn show(out: &mut impl Write, plan: &Plan, description: &Description) -> Result<(), Failure> {
    let registers = DeviceRegisters::of(description);
    for (at, step) in plan.steps.iter().enumerate() {
        let Some(program) = program(step) else { continue };
        writeln!(out, "\n{} (step {})", step.name, at + 1)?;
        for of_unit in told(program, &registers).chunk_by(|one, other| one.unit == other.unit) {
            writeln!(out, "  {}", of_unit[0].unit)?;
            for Told { name, address, value, fields, .. } in of_unit {
                let address = address.map_or(String::new(), |address| format!(" ({address:#07x})"));
                let line =
                    format!("    {:<34} = {value:#010x}  {}", format!("{name}{address}"), fields.join(" "));
                writeln!(out, "{}", line.trim_end())?;
            }
        }
    }
    Ok(())
}

/// The writes of a step for other programs.
pub(super) fn records(step: &PlanStep, description: &Description) -> Vec<Record> {
    let Some(program) = program(step) else { return Vec::new() };
    let record = |Told { unit, name, address, value, fields }: Told| {
        Record::default()
            .with("unit", unit.to_string())
            .with("name", name)
            .with("address", address)
            .with("value", value)
            .with("fields", fields)
    };
    told(program, &DeviceRegisters::of(description)).into_iter().map(record).collect()
}
