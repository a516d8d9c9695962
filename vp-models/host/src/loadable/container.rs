//! The container: a flatbuffer, checked as a whole before anything in it is looked at.
//!
//! Tables and their fields, by number, are those of the loadable format.

#![expect(unsafe_code, reason = "the library's accessors trust that a buffer was verified")]

use flatbuffers::{
    Follow, ForwardsUOffset, InvalidFlatbuffer, Push, PushAlignment, SimpleToVerifyInSlice, Table, Vector,
    Verifiable, Verifier, VerifierOptions,
};

use super::MAX_MEMORY_BYTES;

/// Three bytes: major, minor, and below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Triple(pub(super) [u8; 3]);

impl<'a> Follow<'a> for Triple {
    type Inner = Triple;

    unsafe fn follow(buffer: &'a [u8], at: usize) -> Triple {
        Triple([buffer[at], buffer[at + 1], buffer[at + 2]])
    }
}

impl Verifiable for Triple {
    fn run_verifier(verifier: &mut Verifier<'_, '_>, at: usize) -> Result<(), InvalidFlatbuffer> {
        verifier.range_in_buffer(at, 3)
    }
}

impl SimpleToVerifyInSlice for Triple {}

/// Written in a table, without padding.
impl Push for Triple {
    type Output = Triple;

    unsafe fn push(&self, to: &mut [u8], _: usize) {
        to[..3].copy_from_slice(&self.0);
    }

    fn alignment() -> PushAlignment {
        PushAlignment::new(1)
    }
}

/// A list of tables.
type Tables<'a, T> = ForwardsUOffset<Vector<'a, ForwardsUOffset<T>>>;
/// A list of numbers.
type Numbers<'a, T> = ForwardsUOffset<Vector<'a, T>>;
type Text<'a> = ForwardsUOffset<&'a str>;

/// Declares a table: each field's type and number, with an accessor that gives nothing for an absent one.
macro_rules! table {
    ($name:ident { $($field:ident: $type:ty = $number:literal),* $(,)? }) => {
        #[derive(Clone, Copy)]
        pub(super) struct $name<'a>(Table<'a>);

        impl<'a> Follow<'a> for $name<'a> {
            type Inner = $name<'a>;

            unsafe fn follow(buffer: &'a [u8], at: usize) -> $name<'a> {
                // SAFETY: the caller promises a verified table at this place.
                $name(unsafe { Table::new(buffer, at) })
            }
        }

        impl<'a> Verifiable for $name<'a> {
            fn run_verifier(verifier: &mut Verifier<'_, '_>, at: usize) -> Result<(), InvalidFlatbuffer> {
                let table = verifier.visit_table(at)?;
                $(let table = table.visit_field::<$type>(stringify!($field), 4 + 2 * $number, false)?;)*
                table.finish();
                Ok(())
            }
        }

        impl<'a> $name<'a> {
            $(
                pub(super) fn $field(self) -> Option<<$type as Follow<'a>>::Inner> {
                    // SAFETY: tables are made by `root` only, which has verified all of the buffer, and this field
                    // as of this type by `run_verifier` above.
                    unsafe { self.0.get::<$type>(4 + 2 * $number, None) }
                }
            )*
        }
    };
}

table!(Root {
    version: Triple = 0,
    tasks: Tables<'a, Task<'a>> = 1,
    memories: Tables<'a, Memory<'a>> = 2,
    addresses: Tables<'a, Address<'a>> = 3,
    events: Tables<'a, Event<'a>> = 4,
    blobs: Tables<'a, Blob<'a>> = 5,
    tensors: Tables<'a, Tensor<'a>> = 6,
    relocations: Tables<'a, Relocation<'a>> = 7,
    submits: Tables<'a, Submit<'a>> = 8,
});

table!(Task {
    id: u16 = 0,
    interface: u32 = 1,
    instance: i16 = 2,
    addresses: Numbers<'a, u16> = 3,
    pre_actions: Numbers<'a, u16> = 4,
    post_actions: Numbers<'a, u16> = 5,
});

table!(Memory {
    id: u16 = 0,
    domain: u8 = 1,
    flags: u16 = 2,
    size: u64 = 3,
    alignment: u32 = 4,
    contents: Tables<'a, &'a str> = 5,
    offsets: Numbers<'a, u64> = 6,
    bind_id: u16 = 7,
    tensor: u16 = 8,
});

table!(Address { id: u16 = 0, memory: u16 = 1, offset: u64 = 2, size: u64 = 3 });

table!(Event { id: u16 = 0, kind: u8 = 1, target: u16 = 2, value: u32 = 3, operation: u8 = 4 });

table!(Blob {
    name: Text<'a> = 0,
    size: u64 = 1,
    interface: u32 = 2,
    sub_interface: u32 = 3,
    version: Triple = 4,
    data: Numbers<'a, u8> = 5,
});

table!(Tensor {
    name: Text<'a> = 0,
    id: u16 = 1,
    memory: u16 = 2,
    size: u64 = 3,
    offset: u64 = 4,
    data_format: u8 = 5,
    data_type: u8 = 6,
    data_category: u8 = 7,
    pixel_format: u8 = 8,
    pixel_mapping: u8 = 9,
    frames: i32 = 10,
    channels: i32 = 11,
    height: i32 = 12,
    width: i32 = 13,
    stride_0: u32 = 14,
    stride_1: u32 = 15,
    stride_2: u32 = 16,
    stride_3: u32 = 17,
    stride_4: u32 = 18,
    stride_5: u32 = 19,
    stride_6: u32 = 20,
    stride_7: u32 = 21,
});

table!(Relocation {
    address: u16 = 0,
    write: u16 = 1,
    offset: u64 = 2,
    interface: u32 = 3,
    sub_interface: u32 = 4,
    kind: u8 = 5,
});

table!(Submit {
    id: u16 = 0,
    tasks: Numbers<'a, u16> = 1,
});

/// The bytes of a container.
///
/// The library looks at alignment from the beginning. The vendor's older files are aligned from their ends, as they were
/// built, and may be four bytes off; a size in front, which the library knows, sets that right.
pub(super) struct Container {
    with_size: Vec<u8>,
}

impl Container {
    pub(super) fn new(bytes: &[u8]) -> Container {
        let mut with_size = (bytes.len() as u32).to_le_bytes().to_vec();
        with_size.extend(bytes);
        Container { with_size }
    }

    /// The root table of a buffer that is whole and well-formed.
    pub(super) fn root(&self) -> Result<Root<'_>, InvalidFlatbuffer> {
        // Tables may name the same list many times: each time counts.
        let options = VerifierOptions {
            max_tables: 1 << 20,
            max_apparent_size: MAX_MEMORY_BYTES as usize,
            ..VerifierOptions::default()
        };
        flatbuffers::root_with_opts::<Root<'_>>(&options, &self.with_size[4..])
            .or_else(|_| flatbuffers::size_prefixed_root_with_opts::<Root<'_>>(&options, &self.with_size))
    }
}
