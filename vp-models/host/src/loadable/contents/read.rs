//! Reads the tables of a container.

use flatbuffers::{Follow, ForwardsUOffset, InvalidFlatbuffer, Vector};

use super::super::container::{self, Container, Triple};
use super::super::{LoadableError, MAX_MEMORY_BYTES, Version};
use super::{
    AddressTable, BlobTable, Contents, EventTable, MemoryTable, RelocationTable, SubmitTable, TaskTable,
    TensorTable,
};

impl Contents {
    /// Reads a container: all its tables, whether or not they fit together.
    ///
    /// # Errors
    /// [`LoadableError::Container`] when it is damaged, something else, or larger than [`MAX_MEMORY_BYTES`] with lists that several
    /// tables name, [`LoadableError::TooLarge`] when its names are.
    pub fn read(bytes: &[u8]) -> Result<Contents, LoadableError> {
        let container = Container::new(bytes);
        let damaged = |error: InvalidFlatbuffer| {
            LoadableError::Container(match error {
                _ if bytes.is_empty() => "it is empty".to_owned(),
                // Of a file that has been cut a table is behind its end; a root's place is what any four bytes say.
                InvalidFlatbuffer::RangeOutOfBounds { range, .. } => {
                    format!("{} bytes, and a part of it would end at {}", bytes.len(), range.end)
                }
                error => error.to_string().split_whitespace().collect::<Vec<_>>().join(" "),
            })
        };
        let root = container.root().map_err(damaged)?;
        check_names(root)?;
        Ok(Contents {
            version: version(root.version()),
            tasks: all(root.tasks()).map(task).collect(),
            memories: all(root.memories()).map(memory).collect(),
            addresses: all(root.addresses()).map(address).collect(),
            events: all(root.events()).map(event).collect(),
            blobs: all(root.blobs()).map(blob).collect(),
            tensors: all(root.tensors()).map(tensor).collect(),
            relocations: all(root.relocations()).map(relocation).collect(),
            submits: all(root.submits()).map(submit).collect(),
        })
    }
}

/// Refuses more names than memory has room for: an empty one has more bytes here than in the file, whose reader bounds the rest.
fn check_names(root: container::Root<'_>) -> Result<(), LoadableError> {
    let lists = all(root.memories()).filter_map(container::Memory::contents);
    let bytes = lists.map(|names| (names.len() * size_of::<String>()) as u64).sum();
    match bytes > MAX_MEMORY_BYTES {
        true => Err(LoadableError::TooLarge { bytes, limit: MAX_MEMORY_BYTES }),
        false => Ok(()),
    }
}

/// The tables of a list; none where the file has none.
fn all<'a, T: Follow<'a, Inner = T> + 'a>(
    tables: Option<Vector<'a, ForwardsUOffset<T>>>,
) -> impl Iterator<Item = T> {
    tables.into_iter().flat_map(|tables| tables.iter())
}

fn numbers<'a, T: Follow<'a, Inner = T> + 'a>(numbers: Option<Vector<'a, T>>) -> Vec<T> {
    numbers.map(|numbers| numbers.iter().collect()).unwrap_or_default()
}

fn text(text: Option<&str>) -> String {
    text.unwrap_or_default().to_owned()
}

fn version(version: Option<Triple>) -> Version {
    version.map_or_else(Version::default, |Triple([major, minor, below])| Version(major, minor, below))
}

fn task(it: container::Task<'_>) -> TaskTable {
    TaskTable {
        id: it.id().unwrap_or_default(),
        interface: it.interface().unwrap_or_default(),
        instance: it.instance().unwrap_or_default(),
        addresses: numbers(it.addresses()),
        pre_actions: numbers(it.pre_actions()),
        post_actions: numbers(it.post_actions()),
    }
}

fn memory(it: container::Memory<'_>) -> MemoryTable {
    MemoryTable {
        id: it.id().unwrap_or_default(),
        domain: it.domain().unwrap_or_default(),
        flags: it.flags().unwrap_or_default(),
        size: it.size().unwrap_or_default(),
        alignment: it.alignment().unwrap_or_default(),
        contents: it.contents().into_iter().flat_map(|names| names.iter()).map(str::to_owned).collect(),
        offsets: numbers(it.offsets()),
        bind_id: it.bind_id().unwrap_or_default(),
        tensor: it.tensor().unwrap_or_default(),
    }
}

fn address(it: container::Address<'_>) -> AddressTable {
    AddressTable {
        id: it.id().unwrap_or_default(),
        memory: it.memory().unwrap_or_default(),
        offset: it.offset().unwrap_or_default(),
        size: it.size().unwrap_or_default(),
    }
}

fn event(it: container::Event<'_>) -> EventTable {
    EventTable {
        id: it.id().unwrap_or_default(),
        kind: it.kind().unwrap_or_default(),
        target: it.target().unwrap_or_default(),
        value: it.value().unwrap_or_default(),
        operation: it.operation().unwrap_or_default(),
    }
}

fn blob(it: container::Blob<'_>) -> BlobTable {
    BlobTable {
        name: text(it.name()),
        size: it.size().unwrap_or_default(),
        interface: it.interface().unwrap_or_default(),
        sub_interface: it.sub_interface().unwrap_or_default(),
        version: version(it.version()),
        data: it.data().map(|data| data.bytes().to_vec()).unwrap_or_default(),
    }
}

fn tensor(it: container::Tensor<'_>) -> TensorTable {
    TensorTable {
        name: text(it.name()),
        id: it.id().unwrap_or_default(),
        memory: it.memory().unwrap_or_default(),
        size: it.size().unwrap_or_default(),
        offset: it.offset().unwrap_or_default(),
        data_format: it.data_format().unwrap_or_default(),
        data_type: it.data_type().unwrap_or_default(),
        data_category: it.data_category().unwrap_or_default(),
        pixel_format: it.pixel_format().unwrap_or_default(),
        pixel_mapping: it.pixel_mapping().unwrap_or_default(),
        dimensions: [it.frames(), it.channels(), it.height(), it.width()].map(Option::unwrap_or_default),
        strides: [
            it.stride_0(),
            it.stride_1(),
            it.stride_2(),
            it.stride_3(),
            it.stride_4(),
            it.stride_5(),
            it.stride_6(),
            it.stride_7(),
        ]
        .map(Option::unwrap_or_default),
    }
}

fn relocation(it: container::Relocation<'_>) -> RelocationTable {
    RelocationTable {
        address: it.address().unwrap_or_default(),
        write: it.write().unwrap_or_default(),
        offset: it.offset().unwrap_or_default(),
        interface: it.interface().unwrap_or_default(),
        sub_interface: it.sub_interface().unwrap_or_default(),
        kind: it.kind().unwrap_or_default(),
    }
}

fn submit(it: container::Submit<'_>) -> SubmitTable {
    SubmitTable { id: it.id().unwrap_or_default(), tasks: numbers(it.tasks()) }
}
