use super::*;
use crate::loadable::{Loadable, LoadableError};
use flatbuffers::{FlatBufferBuilder, WIPOffset};
use proptest::prelude::*;

fn versions() -> impl Strategy<Value = Version> {
    any::<(u8, u8, u8)>().prop_map(|(major, minor, below)| Version(major, minor, below))
}

fn numbers() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..4)
}

fn few<T: std::fmt::Debug>(one: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(one, 0..4)
}

prop_compose! {
    fn tasks()(
        id in any::<u16>(), interface in 0..4u32, instance in any::<i16>(),
        addresses in numbers(), pre_actions in numbers(), post_actions in numbers(),
    ) -> TaskTable {
        TaskTable { id, interface, instance, addresses, pre_actions, post_actions }
    }
}

prop_compose! {
    fn memories()(
        (id, domain, flags, size) in any::<(u16, u8, u16, u64)>(),
        (alignment, bind_id, tensor) in any::<(u32, u16, u16)>(),
        contents in few("\\PC{0,5}"),
        offsets in few(any::<u64>()),
    ) -> MemoryTable {
        MemoryTable { id, domain, flags, size, alignment, contents, offsets, bind_id, tensor }
    }
}

prop_compose! {
    fn blobs()(
        (size, interface, sub_interface) in any::<(u64, u32, u32)>(),
        name in "\\PC{0,5}",
        version in versions(),
        data in prop::collection::vec(any::<u8>(), 0..90),
    ) -> BlobTable {
        BlobTable { name, size, interface, sub_interface, version, data }
    }
}

prop_compose! {
    fn tensors()(
        name in "\\PC{0,5}",
        (id, memory, size, offset) in any::<(u16, u16, u64, u64)>(),
        (data_format, data_type, data_category, pixel_format, pixel_mapping) in any::<(u8, u8, u8, u8, u8)>(),
        dimensions in any::<[i32; 4]>(),
        strides in any::<[u32; 8]>(),
    ) -> TensorTable {
        TensorTable {
            name, id, memory, size, offset, data_format, data_type, data_category, pixel_format, pixel_mapping,
            dimensions, strides,
        }
    }
}

prop_compose! {
    pub(crate) fn any_contents()(
        version in versions(),
        tasks in few(tasks()),
        memories in few(memories()),
        addresses in few(any::<(u16, u16, u64, u64)>()),
        events in few(any::<(u16, u8, u16, u32, u8)>()),
        blobs in few(blobs()),
        tensors in few(tensors()),
        relocations in few(any::<(u16, u16, u64, u32, u32, u8)>()),
        submits in few((any::<u16>(), numbers())),
    ) -> Contents {
        let address = |(id, memory, offset, size)| AddressTable { id, memory, offset, size };
        let event = |(id, kind, target, value, operation)| EventTable { id, kind, target, value, operation };
        let relocation = |(address, write, offset, interface, sub_interface, kind)| {
            RelocationTable { address, write, offset, interface, sub_interface, kind }
        };
        Contents {
            version, tasks, memories, blobs, tensors,
            addresses: addresses.into_iter().map(address).collect(),
            events: events.into_iter().map(event).collect(),
            relocations: relocations.into_iter().map(relocation).collect(),
            submits: submits.into_iter().map(|(id, tasks)| SubmitTable { id, tasks }).collect(),
        }
    }
}

proptest! {
    #[test]
    fn contents_read_back_as_written(contents in any_contents()) {
        let file = contents.write();
        // Whether or not its parts fit together.
        let _ = Loadable::parse(&file);
        let read = Contents::read(&file).unwrap();
        prop_assert_eq!(read.write(), file);
        prop_assert_eq!(read, contents);
    }
}

#[test]
fn the_runtime_finds_every_list_and_name_and_the_identifier() {
    let file = Contents::default().write();
    assert_eq!(&file[4..8], b"NVDA");
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let root = number(0);
    // The table of fields lies before the table that has its distance.
    let fields = root - number(root);
    let field = |number: usize| {
        let at = fields + 4 + 2 * number;
        usize::from(u16::from_le_bytes([file[at], file[at + 1]]))
    };
    assert_eq!(file[root + field(0)..][..3], [0; 3], "a version is inline");
    for list in 1..=8 {
        let at = root + field(list);
        assert_ne!(field(list), 0, "list {list}");
        assert_eq!(number(at + number(at)), 0, "list {list} is empty");
    }
}

/// A file in which one table stands in a list many times.
fn repeated(field: u16, times: usize, table: impl Fn(&mut FlatBufferBuilder<'_>) -> Table) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let table = table(&mut builder);
    let list = builder.create_vector(&vec![table; times]);
    let start = builder.start_table();
    builder.push_slot_always(4 + 2 * field, list);
    let root = builder.end_table(start);
    builder.finish_minimal(root);
    builder.finished_data().to_vec()
}

type Table = WIPOffset<flatbuffers::TableFinishedWIPOffset>;

#[test]
fn a_small_file_that_would_take_much_memory_is_refused() {
    let blobs = repeated(5, 1025, |builder| {
        let data = builder.create_vector(&[7u8; 1 << 20]);
        let start = builder.start_table();
        builder.push_slot_always(14, data);
        builder.end_table(start)
    });
    let error = Contents::read(&blobs).expect_err("a GiB and more");
    assert!(matches!(error, LoadableError::Container(_)), "{error}");
    let names = repeated(2, 100, |builder| {
        let name = builder.create_string("");
        let names = builder.create_vector(&vec![name; 500_000]);
        let start = builder.start_table();
        builder.push_slot_always(14, names);
        builder.end_table(start)
    });
    let error = Contents::read(&names).expect_err("more than a GiB");
    assert!(matches!(error, LoadableError::TooLarge { bytes: 1_200_000_000, .. }), "{error}");
}
