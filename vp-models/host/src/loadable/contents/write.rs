//! Writes a container as a file.
//!
//! Fields that are zero are left out, as FlatBuffers' own writers do. Lists and names are always there: NVIDIA's runtime reads them without
//! asking (`Loadable::deserializeFrom`).

use flatbuffers::{FlatBufferBuilder, Push, WIPOffset};

use super::super::Version;
use super::super::container::Triple;
use super::{
    AddressTable, BlobTable, Contents, EventTable, MemoryTable, RelocationTable, SubmitTable, TaskTable,
    TensorTable,
};

/// Identifier that NVIDIA's compiler puts behind the first word.
const IDENTIFIER: &str = "NVDA";

/// Place of a field's number in a table of fields.
const fn slot(number: u16) -> u16 {
    4 + 2 * number
}

impl Contents {
    /// The file of a container. The same contents make the same bytes.
    ///
    /// # Panics
    /// When it would have more than 2 GiB, which is more than such a file can: contents that were read, and those of a loadable that fits
    /// into the memory of [`MAX_MEMORY_BYTES`](super::super::MAX_MEMORY_BYTES), are smaller.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let bytes: usize = self.blobs.iter().map(|blob| blob.data.len() + 256).sum();
        let mut file = File(FlatBufferBuilder::with_capacity(bytes + (4 << 10)));
        let tasks = file.tables(&self.tasks, File::task);
        let memories = file.tables(&self.memories, File::memory);
        let addresses = file.tables(&self.addresses, File::address);
        let events = file.tables(&self.events, File::event);
        let blobs = file.tables(&self.blobs, File::blob);
        let tensors = file.tables(&self.tensors, File::tensor);
        let relocations = file.tables(&self.relocations, File::relocation);
        let submits = file.tables(&self.submits, File::submit);
        let root = file.table(|file| {
            let lists = [tasks, memories, addresses, events, blobs, tensors, relocations, submits];
            for (number, list) in (1..).zip(lists) {
                file.always(number, list);
            }
            file.always(0, triple(self.version));
        });
        file.0.finish(root, Some(IDENTIFIER));
        file.0.finished_data().to_vec()
    }
}

fn triple(Version(major, minor, below): Version) -> Triple {
    Triple([major, minor, below])
}

/// A table that is written.
type Written = WIPOffset<flatbuffers::TableFinishedWIPOffset>;
/// A list of tables that is written.
type List = WIPOffset<
    flatbuffers::Vector<'static, flatbuffers::ForwardsUOffset<flatbuffers::TableFinishedWIPOffset>>,
>;

struct File(FlatBufferBuilder<'static>);

impl File {
    fn tables<T>(&mut self, tables: &[T], write: fn(&mut File, &T) -> Written) -> List {
        let written: Vec<Written> = tables.iter().map(|table| write(self, table)).collect();
        self.0.create_vector(&written)
    }

    fn table(&mut self, fields: impl FnOnce(&mut File)) -> Written {
        let start = self.0.start_table();
        fields(self);
        self.0.end_table(start)
    }

    /// A field that is left out where it is zero.
    fn number<T: Push + PartialEq + Default>(&mut self, number: u16, value: T) {
        self.0.push_slot(slot(number), value, T::default());
    }

    fn always<T: Push>(&mut self, number: u16, value: T) {
        self.0.push_slot_always(slot(number), value);
    }

    fn task(&mut self, it: &TaskTable) -> Written {
        let addresses = self.0.create_vector(&it.addresses);
        let pre_actions = self.0.create_vector(&it.pre_actions);
        let post_actions = self.0.create_vector(&it.post_actions);
        self.table(|file| {
            file.number(1, it.interface);
            file.always(3, addresses);
            file.always(4, pre_actions);
            file.always(5, post_actions);
            file.number(0, it.id);
            file.number(2, it.instance);
        })
    }

    fn memory(&mut self, it: &MemoryTable) -> Written {
        let names: Vec<_> = it.contents.iter().map(|name| self.0.create_string(name)).collect();
        let contents = self.0.create_vector(&names);
        let offsets = self.0.create_vector(&it.offsets);
        self.table(|file| {
            file.number(3, it.size);
            file.number(4, it.alignment);
            file.always(5, contents);
            file.always(6, offsets);
            file.number(0, it.id);
            file.number(2, it.flags);
            file.number(7, it.bind_id);
            file.number(8, it.tensor);
            file.number(1, it.domain);
        })
    }

    fn address(&mut self, it: &AddressTable) -> Written {
        self.table(|file| {
            file.number(2, it.offset);
            file.number(3, it.size);
            file.number(0, it.id);
            file.number(1, it.memory);
        })
    }

    fn event(&mut self, it: &EventTable) -> Written {
        self.table(|file| {
            file.number(3, it.value);
            file.number(0, it.id);
            file.number(2, it.target);
            file.number(1, it.kind);
            file.number(4, it.operation);
        })
    }

    fn blob(&mut self, it: &BlobTable) -> Written {
        let data = self.0.create_vector(&it.data);
        let name = self.0.create_string(&it.name);
        self.table(|file| {
            file.number(1, it.size);
            file.always(0, name);
            file.number(2, it.interface);
            file.number(3, it.sub_interface);
            file.always(5, data);
            file.always(4, triple(it.version));
        })
    }

    fn tensor(&mut self, it: &TensorTable) -> Written {
        let name = self.0.create_string(&it.name);
        self.table(|file| {
            file.number(3, it.size);
            file.number(4, it.offset);
            file.always(0, name);
            for (number, extent) in (10..).zip(it.dimensions) {
                file.number(number, extent);
            }
            for (number, stride) in (14..).zip(it.strides) {
                file.number(number, stride);
            }
            file.number(1, it.id);
            file.number(2, it.memory);
            let codes = [it.data_format, it.data_type, it.data_category, it.pixel_format, it.pixel_mapping];
            for (number, code) in (5..).zip(codes) {
                file.number(number, code);
            }
        })
    }

    fn relocation(&mut self, it: &RelocationTable) -> Written {
        self.table(|file| {
            file.number(2, it.offset);
            file.number(3, it.interface);
            file.number(4, it.sub_interface);
            file.number(0, it.address);
            file.number(1, it.write);
            file.number(5, it.kind);
        })
    }

    fn submit(&mut self, it: &SubmitTable) -> Written {
        let tasks = self.0.create_vector(&it.tasks);
        self.table(|file| {
            file.always(1, tasks);
            file.number(0, it.id);
        })
    }
}
