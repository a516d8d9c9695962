//! Comparison of each part.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::super::contents::{BlobTable, Contents};
use super::super::describe::{LoadableDescription, OperationDescription, TaskDescription, ToldOperation};
use super::{Difference, Found, Part};

type Both<'a, T> = [&'a T; 2];

pub(super) fn compare(both: Both<'_, LoadableDescription>, found: &mut Found) {
    let [one, other] = both;
    let form = both.map(|it| it.form.map_or_else(|| "?".to_owned(), |form| form.to_string()));
    value(found, Part::Versions, "container", both.map(|it| it.container.clone()));
    value(found, Part::Versions, "form of cubes", form);
    value(found, Part::Versions, "what cannot be read", both.map(|it| it.problems.join("; ")));
    list(found, Part::Tasks, "submission", [&one.submits, &other.submits]);
    list(found, Part::Memory, "memory", [&one.memories, &other.memories]);
    list(found, Part::Addresses, "address", [&one.addresses, &other.addresses]);
    list(found, Part::Tensors, "tensor", [&one.tensors, &other.tensors]);
    list(found, Part::Tensors, "relocation", [&one.relocations, &other.relocations]);
    list(found, Part::Dependencies, "event", [&one.events, &other.events]);
    for at in 0..one.tasks.len().max(other.tasks.len()) {
        match both.map(|it| it.tasks.get(at)) {
            [Some(one), Some(other)] => task(found, [one, other]),
            [one, other] => lone(found, Part::Tasks, &format!("task {at}"), [one.is_some(), other.is_some()]),
        }
    }
}

fn value(found: &mut Found, part: Part, place: &str, [one, other]: [String; 2]) {
    if one != other {
        let (one, other) = (Some(one), Some(other));
        found.take(part, 1, || Difference { place: place.to_owned(), one, other });
    }
}

/// Something that only one of them has.
fn lone(found: &mut Found, part: Part, place: &str, is_there: [bool; 2]) {
    let [one, other] = is_there.map(|is_there| is_there.then(|| "there".to_owned()));
    found.take(part, 1, || Difference { place: place.to_owned(), one, other });
}

/// Tables in lists, of which all values are compared by their names.
fn list<T: Serialize>(found: &mut Found, part: Part, name: &str, [one, other]: [&[T]; 2]) {
    for at in 0..one.len().max(other.len()) {
        let place = || format!("{name} {at}");
        match [one.get(at), other.get(at)] {
            [Some(one), Some(other)] => {
                let values = [one, other].map(|table| serde_json::to_value(table).unwrap_or_default());
                object(found, part, &place(), [&values[0], &values[1]]);
            }
            [one, other] => lone(found, part, &place(), [one.is_some(), other.is_some()]),
        }
    }
}

/// The values of two objects, to their leaves.
fn object(found: &mut Found, part: Part, place: &str, both: Both<'_, Value>) {
    match both {
        [Value::Object(one), Value::Object(other)] => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for name in names {
                let value = |of: &serde_json::Map<String, Value>| of.get(name).cloned().unwrap_or_default();
                object(found, part, &format!("{place}, {name}"), [&value(one), &value(other)]);
            }
        }
        [one, other] if one != other => {
            let [one, other] = both.map(|value| match value {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                value => Some(value.to_string()),
            });
            found.take(part, 1, || Difference { place: place.to_owned(), one, other });
        }
        _ => {}
    }
}

fn task(found: &mut Found, both: Both<'_, TaskDescription>) {
    let [one, other] = both;
    let place = format!("task {}", one.id);
    let mut values = |part, name: &str, values: [String; 2]| {
        value(found, part, &format!("{place}, {name}"), values);
    };
    values(Part::Tasks, "number", both.map(|it| it.id.to_string()));
    values(Part::Tasks, "processor", both.map(|it| it.processor.to_owned()));
    values(Part::Tasks, "instance", both.map(|it| it.instance.to_string()));
    values(Part::Addresses, "addresses", both.map(|it| numbers(&it.addresses)));
    values(Part::Dependencies, "events before", both.map(|it| numbers(&it.pre_actions)));
    values(Part::Dependencies, "events behind", both.map(|it| numbers(&it.post_actions)));
    for at in 0..one.operations.len().max(other.operations.len()) {
        match both.map(|task| task.operations.get(at)) {
            [Some(one), Some(other)] => operation(found, &place, [one, other]),
            [one, other] => {
                let place = format!("{place}, operation {at}");
                lone(found, Part::Operations, &place, [one.is_some(), other.is_some()]);
            }
        }
    }
    for at in 0..one.tables.len().max(other.tables.len()) {
        match both.map(|task| task.tables.get(at)) {
            [Some(one), Some(other)] => {
                let place = format!("{place}, table {}", one.index);
                value(
                    found,
                    Part::Tables,
                    &format!("{place}, number"),
                    [one.index, other.index].map(|it| it.to_string()),
                );
                fields(found, Part::Tables, &place, [&one.fields, &other.fields]);
            }
            [one, other] => {
                let place = format!("{place}, table {at} of those that are used");
                lone(found, Part::Tables, &place, [one.is_some(), other.is_some()]);
            }
        }
    }
}

fn operation(found: &mut Found, task: &str, both: Both<'_, OperationDescription>) {
    let [one, other] = both;
    let place = format!("{task}, operation {} ({})", one.number, one.kind);
    if one.kind != other.kind || one.error != other.error {
        let of = |it: &OperationDescription| it.error.clone().unwrap_or_else(|| it.kind.clone());
        value(found, Part::Operations, &place, [of(one), of(other)]);
        return;
    }
    // Of the CPU's there are no fields.
    if one.fields.0.is_empty() {
        value(found, Part::Operations, &format!("{place}, work"), both.map(|it| it.does.clone()));
    }
    fields(found, Part::Operations, &place, [&one.fields, &other.fields]);
    let mut values = |name: &str, values: [String; 2]| {
        value(found, Part::Dependencies, &format!("{place}, {name}"), values);
    };
    let counted = both.map(|it| it.dependencies.map_or_else(String::new, |count| count.to_string()));
    values("number of events before it", counted);
    values("consumers", both.map(|it| told(&it.consumers)));
    values("fused parent", both.map(|it| told(it.fused_parent.as_slice())));
    let named = |place: &str, name: &str| format!("{place}, {name}");
    let mut cubes = |names: BTreeSet<&'static str>| {
        for name in names {
            let values = both.map(|it| {
                let cube = it.surfaces.iter().find(|cube| cube.name == name);
                cube.map_or(Value::Null, |cube| serde_json::to_value(cube).unwrap_or_default())
            });
            object(found, Part::Surfaces, &named(&place, name), [&values[0], &values[1]]);
        }
    };
    cubes(both.iter().flat_map(|it| &it.surfaces).map(|cube| cube.name).collect());
    list(found, Part::Surfaces, &format!("{place}, copy"), [&one.transfers, &other.transfers]);
}

/// Operations and the events that they are told.
fn told(operations: &[ToldOperation]) -> String {
    let told = operations.iter().map(|it| format!("{} {}", it.operation, it.event));
    told.collect::<Vec<_>>().join(", ")
}

fn numbers(numbers: &[u16]) -> String {
    numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

fn fields(found: &mut Found, part: Part, place: &str, both: Both<'_, super::super::Fields>) {
    let [one, other] = both.map(|fields| {
        let mut all = Vec::new();
        fields.each(&mut |name, value| all.push((name.to_owned(), value)));
        all
    });
    // Those of one kind have the same names, in the same order.
    for ((name, one), (_, other)) in one.iter().zip(&other) {
        if one != other {
            let (place, one, other) = (format!("{place}, {name}"), one.to_string(), other.to_string());
            found.take(part, 1, || Difference { place, one: Some(one), other: Some(other) });
        }
    }
}

/// Compares blobs by name, but for those that are descriptors which were read.
pub(super) fn compare_blobs(
    both: Both<'_, Contents>,
    described: Both<'_, LoadableDescription>,
    found: &mut Found,
) {
    let read = [0, 1].map(|at| descriptors(both[at], described[at]));
    let names = both.iter().flat_map(|contents| &contents.blobs).map(|blob| blob.name.as_str());
    let mut seen = BTreeSet::new();
    for name in names.filter(|name| seen.insert(*name)) {
        let place = format!("blob `{name}`");
        let blobs = both.map(|contents| contents.blobs.iter().rfind(|blob| blob.name == name));
        match blobs {
            [Some(one), Some(other)] => {
                let version = [one, other].map(|blob| blob.version.to_string());
                value(found, Part::Versions, &format!("{place}, version"), version);
                let kinds = [one, other].map(|blob| format!("{}.{}", blob.interface, blob.sub_interface));
                value(found, Part::Blobs, &format!("{place}, interface"), kinds);
                if !(read[0].contains(name) && read[1].contains(name)) {
                    bytes(found, &place, [one, other]);
                }
            }
            [one, other] => lone(found, Part::Blobs, &place, [one.is_some(), other.is_some()]),
        }
    }
}

fn bytes(found: &mut Found, place: &str, [one, other]: Both<'_, BlobTable>) {
    let sizes = [one, other].map(|blob| blob.data.len());
    if sizes[0] != sizes[1] {
        value(found, Part::Blobs, &format!("{place}, bytes"), sizes.map(|size| size.to_string()));
    }
    let mut differing = one.data.iter().zip(&other.data).enumerate().filter(|(_, (one, other))| one != other);
    let Some((at, (first, second))) = differing.next() else { return };
    let count = 1 + differing.count() as u64;
    found.take(Part::Blobs, count, || Difference {
        place: format!("{place}, byte {at}"),
        one: Some(format!("{first:#04x}")),
        other: Some(format!("{second:#04x}")),
    });
}

/// Names of the blobs that fill memory of descriptors, where all of these could be read.
fn descriptors<'a>(contents: &'a Contents, described: &LoadableDescription) -> BTreeSet<&'a str> {
    let is_whole = described.problems.is_empty()
        && described
            .tasks
            .iter()
            .flat_map(|task| &task.operations)
            .all(|operation| operation.error.is_none());
    let mut names = BTreeSet::new();
    for task in described.tasks.iter().filter(|_| is_whole) {
        for index in &task.lists {
            let address = contents.addresses.iter().find(|address| address.id == *index);
            let memory = address
                .and_then(|address| contents.memories.iter().find(|memory| memory.id == address.memory));
            names.extend(memory.into_iter().flat_map(|memory| &memory.contents).map(String::as_str));
        }
    }
    names
}
