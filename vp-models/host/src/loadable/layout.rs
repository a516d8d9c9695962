//! The descriptors of a task as they lie in its memory: little-endian structures of fixed size.
//!
//! Reserved bytes have no names; what is behind a structure in its entry is not looked at.

use super::fields::{FieldValue, Fields, Named};
use zerocopy::little_endian::{I16, I32, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes from one entry to the next of each list.
pub(super) const OPERATION: usize = 116;
pub(super) const SURFACE: usize = 644;
pub(super) const DEPENDENCY: usize = 36;
pub(super) const LUT: usize = 700;
pub(super) const CPU_BUFFER: usize = 512;

macro_rules! layout {
    ($(#[$doc:meta])* $name:ident[$bytes:literal] { $($field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
        #[repr(C)]
        pub(super) struct $name {
            $(pub(super) $field: $type,)*
        }

        const _: () = assert!(size_of::<$name>() == $bytes);

        impl $name {
            /// All fields but the reserved ones.
            pub(super) fn fields(&self) -> Fields {
                let fields = [$((stringify!($field), Named::value(&self.$field)),)*];
                Fields(fields.into_iter().filter(|(name, _)| !name.starts_with('_')).collect())
            }
        }

        impl Named for $name {
            fn value(&self) -> FieldValue {
                FieldValue::Fields(self.fields())
            }
        }
    };
}

layout!(
    /// Places of everything of a network: numbers of addresses of its task.
    Network[40] {
        operations: I16,
        surfaces: I16,
        dependencies: I16,
        luts: I16,
        _rois: I16,
        _surface: I16,
        _statistics: I16,
        _reserved: U16,
        _heads: [I16; 6],
        _num_rois: U16,
        num_operations: U16,
        num_luts: U16,
        num_addresses: U16,
        _input_layer: I16,
        dynamic_roi: u8,
        _reserved_1: u8,
    }
);

layout!(
    /// Another operation, and the event that it is told of.
    Consumer[4] { index: I16, event: u8, _reserved: u8 }
);

layout!(Dependency[36] {
    _index: I16,
    _roi: u8,
    kind: u8,
    count: u8,
    _reserved: [u8; 3],
    consumers: [Consumer; 6],
    fused_parent: Consumer,
});

layout!(
    /// Size and strides of a cube, which both forms have alike.
    CubeExtents[24] {
        size: U32,
        width: U16,
        height: U16,
        channels: U16,
        _reserved: U16,
        line_stride: U32,
        surface_stride: U32,
        plane_stride: U32,
    }
);

layout!(
    /// A cube, before its address had an offset.
    ShortCube[28] { memory: U16, address: I16, extents: CubeExtents }
);

layout!(LongCube[32] { memory: U16, address: I16, offset: U32, extents: CubeExtents });

layout!(Converter[8] { scale: I16, truncate: u8, enable: u8, offset: I32 });

layout!(Convolution[92] {
    mode: u8,
    data_reuse: u8,
    weight_reuse: u8,
    skip_data_release: u8,
    skip_weight_release: u8,
    _reserved: u8,
    entries_per_slice: U16,
    data_format: u8,
    pixel_mapping: u8,
    fetch_grain: U16,
    _reserved_12: [u8; 8],
    batch: u8,
    weight_format: u8,
    data_banks: u8,
    weight_banks: u8,
    batch_stride: U32,
    post_extension: u8,
    pixel_override: u8,
    release: U16,
    input_width: U16,
    input_height: U16,
    input_channels: U16,
    kernel_width: U16,
    kernel_height: U16,
    kernel_channels: U16,
    output_width: U16,
    output_height: U16,
    bytes_per_kernel: U32,
    mean_ry: I16,
    mean_gu: I16,
    mean_bv: I16,
    mean_ax: I16,
    mean_format: u8,
    stride_x: u8,
    stride_y: u8,
    pad_left: u8,
    pad_right: u8,
    pad_top: u8,
    pad_bottom: u8,
    dilation_x: u8,
    dilation_y: u8,
    _reserved_69: [u8; 2],
    pra_truncate: u8,
    in_precision: u8,
    proc_precision: u8,
    pad_value: I16,
    input: Converter,
    output: Converter,
});

layout!(
    /// A stage of SDP.
    Stage[32] {
        enable: u8,
        alu: u8,
        operation: u8,
        mode: u8,
        activation: u8,
        shift: u8,
        truncate: u8,
        precision: u8,
        alu_operand: I32,
        mul_operand: I32,
        alu_converter: Converter,
        mul_converter: Converter,
    }
);

layout!(Sdp[116] {
    src_precision: u8,
    dst_precision: u8,
    lut: I16,
    output: Converter,
    conv_mode: u8,
    batch: u8,
    _reserved: U16,
    batch_stride: U32,
    stages: [Stage; 3],
});

layout!(Pdp[52] {
    partial_in: [U16; 3],
    partial_out: [U16; 3],
    splits: u8,
    mode: u8,
    pool_width: u8,
    pool_height: u8,
    stride_x: u8,
    stride_y: u8,
    pad_left: u8,
    pad_right: u8,
    pad_top: u8,
    pad_bottom: u8,
    precision: u8,
    _reserved: u8,
    padding_values: [I32; 7],
});

layout!(Cdp[24] {
    in_precision: u8,
    _out_precision: u8,
    lut: I16,
    input: Converter,
    output: Converter,
    local_size: u8,
    bypass_square_sum: u8,
    bypass_output_multiply: u8,
    _reserved: u8,
});

layout!(Rubik[4] { mode: u8, precision: u8, stride_x: u8, stride_y: u8 });

layout!(
    /// Number of transfers that follow, and the kinds of memory between which they are.
    Transfers[4] { source: u8, destination: u8, count: U16 }
);

layout!(Transfer[32] {
    source: I16,
    destination: I16,
    line_size: U32,
    line_repeat: U32,
    source_line: U32,
    destination_line: U32,
    surface_repeat: U32,
    source_surface: U32,
    destination_surface: U32,
});

layout!(
    /// Integers: the scale and by how much it shifts. Halves: the slope.
    Slope[4] { scale: I16, shift: u8, _reserved: u8 }
);

layout!(Lut[700] {
    le: [I16; 65],
    lo: [I16; 257],
    le_index: u8,
    _reserved_645: u8,
    lo_index: u8,
    _reserved_647: u8,
    le_start: U64,
    le_end: U64,
    lo_start: U64,
    lo_end: U64,
    le_slopes: [Slope; 2],
    lo_slopes: [Slope; 2],
    hybrid_priority: u8,
    underflow_priority: u8,
    overflow_priority: u8,
    method: u8,
});

/// A structure from the beginning of bytes.
pub(super) fn read<T: FromBytes + Immutable + KnownLayout + Copy>(bytes: &[u8]) -> Option<T> {
    T::read_from_prefix(bytes).ok().map(|(structure, _)| structure)
}
