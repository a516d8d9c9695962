//! `vp loadable show`, for people.

use std::io::Write;
use std::path::Path;

use comfy_table::Table;
use vp_host::loadable::contents::MemoryTable;
use vp_host::loadable::describe::{
    LoadableDescription, OperationDescription, PlaceDescription, SurfaceDescription, TaskDescription,
};

use super::super::Failure;
use super::super::text::{self, counted, grouped, one_line, styled};

pub(super) fn show(out: &mut impl Write, file: &Path, loadable: &LoadableDescription) -> Result<(), Failure> {
    headline(out, file, loadable)?;
    for task in &loadable.tasks {
        show_task(out, task)?;
    }
    memories(out, loadable)?;
    lists(out, loadable)?;
    if !loadable.problems.is_empty() {
        writeln!(out, "\n{}", styled(text::YELLOW, "not read"))?;
        for problem in &loadable.problems {
            writeln!(out, "{}", text::wrapped(&one_line(problem), "  "))?;
        }
    }
    Ok(())
}

fn headline(out: &mut impl Write, file: &Path, loadable: &LoadableDescription) -> Result<(), Failure> {
    let unknown = || "?".to_owned();
    let interface = loadable.interface.clone().unwrap_or_else(unknown);
    let cubes = loadable.form.map_or_else(unknown, |form| format!("{} bytes ({form})", form.cube_bytes()));
    let operations = loadable.tasks.iter().map(|task| task.operations.len() as u64).sum();
    let bytes: u64 = loadable.memories.iter().fold(0, |sum, memory| sum.saturating_add(memory.size));
    let fits = match (&loadable.fits[..], &loadable.unfit) {
        (_, Some(reason)) => format!("no hardware: {reason}"),
        ([], None) => "no built-in platform".to_owned(),
        (fits, None) => fits.join(", "),
    };
    for (name, value) in [
        ("loadable", file.display().to_string()),
        ("interface", format!("{interface}, container {}", loadable.container)),
        ("cubes", cubes),
        ("tasks", format!("{} with {}", loadable.tasks.len(), counted(operations, "operation"))),
        ("memory", format!("{} bytes in {}", grouped(bytes), loadable.memories.len())),
        ("fits", fits),
    ] {
        writeln!(out, "{name:<10} {}", one_line(&value))?;
    }
    Ok(())
}

/// A table behind its heading; nothing of one without rows.
fn section(out: &mut impl Write, heading: &str, table: Table) -> Result<(), Failure> {
    if !table.is_empty() {
        writeln!(out, "\n{heading}\n{}", text::fitted(table))?;
    }
    Ok(())
}

fn show_task(out: &mut impl Write, task: &TaskDescription) -> Result<(), Failure> {
    let actions = |name: &str, actions: &[u16]| match actions {
        [] => String::new(),
        actions => format!(", {name} {}", numbers(actions)),
    };
    let (before, behind) =
        (actions("after event", &task.pre_actions), actions("then event", &task.post_actions));
    let heading = format!("task {} of the {}{before}{behind}", task.id, task.processor);
    let mut table = text::table(&["", "unit", "format", "does", "with", "waits for", "tells"], &[0, 5]);
    for operation in &task.operations {
        table.add_row(row(operation));
    }
    if table.is_empty() {
        writeln!(out, "\n{heading}")?;
    }
    section(out, &heading, table)?;
    let header = ["", "cube", "in", "offset", "w x h x c", "line", "surface", "size"];
    let mut table = text::table(&header, &[0, 3, 4, 5, 6, 7]);
    for operation in &task.operations {
        for surface in &operation.surfaces {
            table.add_row(surface_row(operation.number, surface));
        }
    }
    section(out, &format!("surfaces of task {}", task.id), table)?;
    let mut table = text::table(
        &["", "from", "offset", "to", "offset", "bytes", "lines", "surfaces"],
        &[0, 2, 4, 5, 6, 7],
    );
    for operation in &task.operations {
        for copy in &operation.transfers {
            let shape = |name| copy.shape.number(name).map_or_else(String::new, |it| grouped(it as u64));
            table.add_row([
                operation.number.to_string(),
                place(&copy.source),
                grouped(copy.source.offset),
                place(&copy.destination),
                grouped(copy.destination.offset),
                shape("line_size"),
                shape("line_repeat"),
                shape("surface_repeat"),
            ]);
        }
    }
    section(out, &format!("copies of task {}", task.id), table)
}

fn row(operation: &OperationDescription) -> [String; 7] {
    if let Some(error) = &operation.error {
        let nothing = String::new;
        return [
            operation.number.to_string(),
            "?".to_owned(),
            nothing(),
            one_line(error),
            nothing(),
            nothing(),
            nothing(),
        ];
    }
    let table = operation.table.map(|table| format!(", table {table}")).unwrap_or_default();
    let told =
        |told: &vp_host::loadable::describe::ToldOperation| format!("{} {}", told.operation, told.event);
    [
        operation.number.to_string(),
        operation.kind.clone(),
        operation.precision.clone().unwrap_or_default(),
        format!("{}{table}", operation.does),
        operation.fused_parent.as_ref().map(|parent| parent.operation.to_string()).unwrap_or_default(),
        operation.dependencies.map(|count| count.to_string()).unwrap_or_default(),
        operation.consumers.iter().map(told).collect::<Vec<_>>().join(", "),
    ]
}

fn place(place: &PlaceDescription) -> String {
    match place.domain {
        "DRAM" => format!("memory {}", place.memory),
        domain => format!("memory {} ({domain})", place.memory),
    }
}

fn surface_row(operation: usize, cube: &SurfaceDescription) -> [String; 8] {
    let shape = format!("{}x{}x{}", cube.width, cube.height, cube.channels);
    let (at, offset) = match &cube.place {
        Some(it) => (place(it), grouped(it.offset)),
        None => ("on the fly".to_owned(), String::new()),
    };
    let is_placed = cube.place.is_some();
    let or_nothing = |bytes: u32| if is_placed { grouped(bytes) } else { String::new() };
    [
        operation.to_string(),
        cube.name.to_owned(),
        at,
        offset,
        shape,
        or_nothing(cube.line_stride),
        or_nothing(cube.surface_stride),
        or_nothing(cube.size),
    ]
}

fn numbers(numbers: &[u16]) -> String {
    numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

fn memories(out: &mut impl Write, loadable: &LoadableDescription) -> Result<(), Failure> {
    let mut table = text::table(&["memory", "in", "bytes", "use", "aligned to", "filled with"], &[0, 2, 4]);
    for memory in &loadable.memories {
        let MemoryTable { id, domain, flags, size, alignment, contents, .. } = memory;
        let uses = [
            (MemoryTable::INPUT, format!("input {}", memory.bind_id)),
            (MemoryTable::OUTPUT, format!("output {}", memory.bind_id)),
            (MemoryTable::SET, "filled".to_owned()),
        ];
        let uses = uses.into_iter().filter(|(flag, _)| flags & flag != 0).map(|(_, name)| name);
        let blobs = contents.iter().filter(|name| !name.is_empty()).map(|name| one_line(name));
        table.add_row([
            id.to_string(),
            match domain {
                0 => "DRAM".to_owned(),
                1 => "SRAM".to_owned(),
                code => format!("domain {code}"),
            },
            grouped(*size),
            uses.collect::<Vec<_>>().join(", "),
            if *alignment == 0 { String::new() } else { grouped(*alignment) },
            blobs.collect::<Vec<_>>().join(", "),
        ]);
    }
    section(out, "memory", table)?;
    let mut table = text::table(&["address", "memory", "offset", "bytes"], &[0, 1, 2, 3]);
    for address in &loadable.addresses {
        let bytes = if address.size == 0 { "to its end".to_owned() } else { grouped(address.size) };
        table.add_row([address.id.to_string(), address.memory.to_string(), grouped(address.offset), bytes]);
    }
    section(out, "addresses", table)
}

fn lists(out: &mut impl Write, loadable: &LoadableDescription) -> Result<(), Failure> {
    let header = ["tensor", "name", "memory", "offset", "n x c x h x w", "type", "line", "surface", "bytes"];
    let mut table = text::table(&header, &[0, 2, 3, 4, 6, 7, 8]);
    for tensor in &loadable.tensors {
        let types = ["?", "float", "half", "int16", "int8"];
        let code = usize::from(tensor.data_type);
        table.add_row([
            tensor.id.to_string(),
            one_line(&tensor.name),
            tensor.memory.to_string(),
            grouped(tensor.offset),
            tensor.dimensions.map(|extent| extent.to_string()).join("x"),
            types.get(code).map_or_else(|| format!("type {code}"), |name| (*name).to_owned()),
            grouped(tensor.strides[1]),
            grouped(tensor.strides[2]),
            grouped(tensor.size),
        ]);
    }
    section(out, "tensors", table)?;
    let mut table = text::table(&["event", "does", "counter", "value", "type"], &[0, 2, 3, 4]);
    for event in &loadable.events {
        let does = match event.operation {
            0 => "waits for".to_owned(),
            1 => "signals".to_owned(),
            code => format!("operation {code}"),
        };
        table.add_row([
            event.id.to_string(),
            does,
            event.target.to_string(),
            event.value.to_string(),
            event.kind.to_string(),
        ]);
    }
    section(out, "events", table)?;
    let mut table = text::table(&["address", "stride of a", "in memory", "at byte"], &[0, 2, 3]);
    for relocation in &loadable.relocations {
        let kind = match relocation.kind {
            1 => "line".to_owned(),
            2 => "surface".to_owned(),
            code => format!("kind {code}"),
        };
        table.add_row([
            relocation.address.to_string(),
            kind,
            relocation.write.to_string(),
            grouped(relocation.offset),
        ]);
    }
    section(out, "relocations", table)?;
    let mut table = text::table(&["submission", "tasks"], &[0]);
    for submit in &loadable.submits {
        table.add_row([submit.id.to_string(), numbers(&submit.tasks)]);
    }
    section(out, "submissions", table)?;
    let mut table = text::table(&["blob", "bytes", "for", "kind", "version", "CRC-32"], &[1, 3]);
    for blob in &loadable.blobs {
        let reader = match blob.interface {
            0 => "-".to_owned(),
            1 => "accelerator".to_owned(),
            2 => "CPU".to_owned(),
            code => format!("interface {code}"),
        };
        table.add_row([
            one_line(&blob.name),
            grouped(blob.bytes),
            reader,
            blob.sub_interface.to_string(),
            blob.version.clone(),
            format!("{:08x}", blob.crc),
        ]);
    }
    section(out, "blobs", table)
}
