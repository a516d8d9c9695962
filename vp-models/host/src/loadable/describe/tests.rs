use super::*;
use crate::loadable::tests::{Pooling, power};
use serde_json::json;

fn pooling() -> Contents {
    Contents::read(&Pooling::USUAL.bytes(&[7; 512])).expect("whole")
}

#[test]
fn an_operation_is_told_with_its_cubes_and_fields() {
    let described = describe(&pooling());
    assert_eq!((described.form, &described.problems[..]), (Some(Generation::Short), &[][..]));
    assert!(described.fits.contains(&"nv_large") && !described.fits.contains(&"nv_small"), "{described:?}");
    let [task] = &described.tasks[..] else { panic!("one task") };
    let [operation] = &task.operations[..] else { panic!("one operation") };
    assert_eq!((operation.kind.as_str(), operation.does.as_str()), ("PDP", "max 2x2, stride 2x2"));
    assert_eq!(operation.fields.number("pool_width"), Some(1));
    let told = serde_json::to_value(operation).expect("JSON");
    let place = |memory| json!({ "memory": memory, "domain": "DRAM", "offset": 0 });
    assert_eq!(told["surfaces"][0]["place"], place(4));
    assert_eq!(told["surfaces"][1]["place"], place(5));
    assert_eq!(told["surfaces"][1]["line_stride"], 64);
    assert_eq!(told["fields"]["padding_values"], json!([0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(serde_json::to_value(&described).expect("JSON")["form"], "0.11");
}

#[test]
fn a_task_of_the_cpu_is_told_in_both_forms() {
    for form in Generation::ALL {
        let described = describe(&Contents::read(&power(form)).expect("whole"));
        let [operation] = &described.tasks[0].operations[..] else { panic!("one operation") };
        assert_eq!((operation.kind.as_str(), operation.does.as_str()), ("power", "(1 x + 0.5) ^ 2"));
        assert_eq!(operation.surfaces.iter().map(|cube| cube.channels).collect::<Vec<_>>(), [3, 3], "{form}");
    }
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_there() {
    let mut dangling = pooling();
    dangling.tasks[0].addresses.push(99);
    let described = describe(&dangling);
    assert_eq!(described.problems, ["task 0 names address 99, which the loadable does not have"]);
    assert_eq!((described.memories.len(), described.blobs.len(), described.tasks.len()), (6, 6, 0));
    let mut unknown = pooling();
    unknown.blobs[3].data[3] = 9;
    let described = describe(&unknown);
    let [operation] = &described.tasks[0].operations[..] else { panic!("one operation") };
    assert!(operation.error.as_ref().is_some_and(|error| error.contains("type is 9")), "{operation:?}");
    assert_eq!(described.memories.len(), 6);
    let mut cut = pooling();
    cut.blobs[0].data[30..32].copy_from_slice(&u16::MAX.to_le_bytes());
    let described = describe(&cut);
    assert!(
        described.problems.iter().any(|problem| problem.contains("operations from")),
        "{:?}",
        described.problems
    );
    assert_eq!(described.tasks[0].operations[0].kind, "PDP");
}
