//! The container: a flatbuffer, checked as a whole before anything in it is looked at.
//!
//! Tables and their fields, by number, are those of the loadable format; numbers not listed are not needed.

#![expect(unsafe_code, reason = "the library's accessors trust that a buffer was verified")]

use flatbuffers::{
    Follow, ForwardsUOffset, InvalidFlatbuffer, SimpleToVerifyInSlice, Table, Vector, Verifiable, Verifier,
    VerifierOptions,
};

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
    blobs: Tables<'a, Blob<'a>> = 5,
    tensors: Tables<'a, Tensor<'a>> = 6,
    submits: Tables<'a, Submit<'a>> = 8,
});

table!(Task {
    id: u16 = 0,
    interface: u32 = 1,
    addresses: Numbers<'a, u16> = 3,
});

table!(Memory {
    id: u16 = 0,
    domain: u8 = 1,
    flags: u16 = 2,
    size: u64 = 3,
    alignment: u32 = 4,
    contents: Tables<'a, &'a str> = 5,
    offsets: Numbers<'a, u64> = 6,
    bind: u16 = 7,
    tensor: u16 = 8,
});

table!(Address { id: u16 = 0, memory: u16 = 1, offset: u64 = 2, size: u64 = 3 });

table!(Blob {
    name: Text<'a> = 0,
    version: Triple = 4,
    data: Numbers<'a, u8> = 5,
});

table!(Tensor {
    name: Text<'a> = 0,
    id: u16 = 1,
    memory: u16 = 2,
    size: u64 = 3,
    offset: u64 = 4,
    data_type: u8 = 6,
    channels: i32 = 11,
    height: i32 = 12,
    width: i32 = 13,
    line_stride: u32 = 15,
    surface_stride: u32 = 16,
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
        let options =
            VerifierOptions { max_tables: 1 << 20, max_apparent_size: 1 << 31, ..VerifierOptions::default() };
        flatbuffers::root_with_opts::<Root<'_>>(&options, &self.with_size[4..])
            .or_else(|_| flatbuffers::size_prefixed_root_with_opts::<Root<'_>>(&options, &self.with_size))
    }
}
