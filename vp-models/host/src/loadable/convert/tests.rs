use super::*;
use crate::loadable::contents::{BlobTable, MemoryTable};
use crate::loadable::tests::{Pooling, host, power};
use crate::loadable::{Execution, run};

fn contents(bytes: &[u8]) -> Contents {
    Contents::read(bytes).expect("whole")
}

fn ran(contents: &Contents, platform: &str) -> Execution {
    run(&Loadable::of(contents).expect("whole"), &[], &mut host(platform)).expect("runs")
}

fn pooling(generation: Generation) -> Contents {
    let version = if generation == Generation::Short { [0, 10, 0] } else { [1, 2, 0] };
    let source: Vec<u8> = (0..512).map(|at| (at * 73 % 251) as u8).collect();
    contents(&Pooling { generation, version, ..Pooling::USUAL }.bytes(&source))
}

#[test]
fn a_pooling_leaves_the_same_in_both_forms_and_back() {
    for from in Generation::ALL {
        let before = pooling(from);
        let there = convert(&before, from.other()).expect("can be said");
        assert_eq!(Loadable::of(&there).expect("whole").generation(), from.other());
        let back = convert(&there, from).expect("can be said");
        for (contents, form) in [(&there, from.other()), (&back, from)] {
            assert_eq!(ran(contents, "nv_large").outputs, ran(&before, "nv_large").outputs, "{form}");
            assert!(contents.blobs.iter().all(|blob| blob.version == form.interface()), "{form}");
        }
        // Converting into the form that it has stamps it, and no more.
        let same = convert(&before, from).expect("can be said");
        let stamped = |mut contents: Contents| {
            contents.blobs.iter_mut().for_each(|blob| blob.version = from.interface());
            contents
        };
        assert_eq!(same, stamped(before));
    }
}

#[test]
fn an_offset_becomes_an_address_and_the_network_counts_it() {
    let before = pooling(Generation::Long);
    let after = convert(&before, Generation::Short).expect("can be said");
    let [.., added] = after.addresses[..] else { panic!("addresses") };
    assert_eq!(after.addresses.len(), before.addresses.len() + 1);
    assert_eq!((added.id, added.memory, added.offset), (6, 4, 64));
    assert_eq!(after.tasks[0].addresses, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(after.blobs[0].data[34..36], [7, 0]);
    // Memory type, number of the address, and the size at once behind it.
    let [source, result] = [0, 28].map(|at| &after.blobs[2].data[at..at + 8]);
    assert_eq!((source, result), (&[0, 0, 6, 0, 0, 2, 0, 0][..], &[0, 0, 5, 0, 128, 0, 0, 0][..]));
    assert_eq!(after.blobs[2].data[56..], [0; 644 - 56], "nothing is behind the cubes");
}

#[test]
fn the_cpus_entries_grow_and_shrink_by_their_factors_and_offsets() {
    for from in Generation::ALL {
        let before = contents(&power(from));
        let after = convert(&before, from.other()).expect("can be said");
        assert_eq!(ran(&after, "nv_full").outputs, ran(&before, "nv_full").outputs, "{from}");
        // Entries and buffers are as a compiler for that interface makes them.
        let made = contents(&power(from.other()));
        let lists = |contents: &Contents| [1, 2].map(|at| contents.blobs[at].data.clone());
        match from {
            Generation::Short => assert_eq!(lists(&after), lists(&made)),
            // The list keeps its size.
            Generation::Long => assert_eq!(lists(&after)[0][..16], lists(&made)[0]),
        }
    }
}

#[test]
fn a_blob_of_the_cpu_keeps_its_version_and_raw_data_has_none() {
    let mut before = pooling(Generation::Short);
    before.blobs[4].interface = CPU;
    before.blobs[4].version = Version(0, 0, 1);
    before.blobs[5].version = Version::default();
    let after = convert(&before, Generation::Long).expect("can be said");
    let versions = [3, 4, 5].map(|at: usize| after.blobs[at].version);
    assert_eq!(versions, [Version(0, 12, 0), Version(0, 0, 1), Version::default()]);
}

#[test]
fn relocations_follow_the_strides() {
    let relocation = |offset| RelocationTable { write: 2, offset, kind: 1, ..RelocationTable::default() };
    let mut before = pooling(Generation::Short);
    // The lines and surfaces of the source, those of the result, and one of another memory.
    before.relocations = [16, 20, 44, 48].map(relocation).to_vec();
    before.relocations.push(RelocationTable { write: 1, ..relocation(16) });
    let there = convert(&before, Generation::Long).expect("can be said");
    let offsets = |contents: &Contents| contents.relocations.iter().map(|it| it.offset).collect::<Vec<_>>();
    assert_eq!(offsets(&there), [20, 24, 52, 56, 16]);
    assert_eq!(offsets(&convert(&there, Generation::Short).expect("can be said")), offsets(&before));
    let mut offset_itself = pooling(Generation::Long);
    offset_itself.relocations = vec![relocation(5)];
    let error = convert(&offset_itself, Generation::Short).expect_err("no such byte");
    assert_eq!(error.to_string(), "relocation 0: byte 5 of memory 2 is not in the other form");
}

#[test]
fn a_list_in_pieces_is_refused() {
    let mut before = pooling(Generation::Short);
    let rest = before.blobs[2].data.split_off(30);
    before.blobs.push(BlobTable { name: "rest".to_owned(), data: rest, ..BlobTable::default() });
    before.memories[2].contents.push("rest".to_owned());
    before.memories[2].offsets.push(30);
    let error = convert(&before, Generation::Long).expect_err("two blobs");
    let told = "task 0: the list of surfaces is no whole blob, nor inside one: it cannot be rewritten";
    assert_eq!(error.to_string(), told);
}

#[test]
fn a_list_that_two_tasks_read_differently_is_refused() {
    let mut before = pooling(Generation::Long);
    let mut other = before.tasks[0].clone();
    // An address more, so that what is added has another number there.
    (other.id, other.addresses) = (1, vec![0, 1, 2, 3, 4, 5, 5]);
    before.tasks.push(other);
    before.submits[0].tasks.push(1);
    let error = convert(&before, Generation::Short).expect_err("two meanings");
    let told = "task 1: the list of surfaces is also that of another task, and would be another one there";
    assert_eq!(error.to_string(), told);
    // With the same addresses it means the same.
    before.tasks[1].addresses.pop();
    assert_eq!(convert(&before, Generation::Short).expect("one meaning").addresses.len(), 8);
}

#[test]
fn what_the_older_interface_has_not_is_refused_by_place() {
    let mut before = contents(&power(Generation::Long));
    before.blobs[2].data[10..12].copy_from_slice(&[0, 0]);
    // Its form is told by the version then.
    let told = convert(&before, Generation::Short).expect_err("int8").to_string();
    assert_eq!(
        told,
        "CPU operation 0 of task 0: a buffer of format 0, and 3 is fp16, which interface 0.11 has not"
    );
    let mut two = contents(&power(Generation::Long));
    two.blobs[0].data[4..6].copy_from_slice(&2u16.to_le_bytes());
    let told = convert(&two, Generation::Short).expect_err("two operations").to_string();
    assert_eq!(told, "task 0: 2 CPU operations in a task, which interface 0.11 has not");
    let mut unknown = contents(&power(Generation::Short));
    unknown.blobs[1].data[0] = 2;
    let told = convert(&unknown, Generation::Long).expect_err("no such operation").to_string();
    assert_eq!(told, "CPU operation 0 of task 0: operation type 2 is not modelled");
    let mut beyond = pooling(Generation::Long);
    beyond.memories[4] = MemoryTable { size: 8192, ..beyond.memories[4].clone() };
    beyond.blobs[2].data[4..8].copy_from_slice(&9000u32.to_le_bytes());
    let error = convert(&beyond, Generation::Short).expect_err("outside of its memory");
    assert!(error.to_string().starts_with("operation 0 (PDP): 1 bytes at offset 9000"), "{error}");
}
