//! PDP and PDP_RDMA.

use super::{INT8, PRIMARY, high, low};
use crate::host::network::description::{Method, Shape, Window};
use crate::host::network::layout::CubePlace;
use crate::host::program::{FieldOverflow, Program};
use crate::nvdla::registers::{FieldRef, Unit, pdp, pdp_rdma};

/// One hardware layer of PDP.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Pool {
    /// What it reads.
    pub(in super::super) input: Shape,
    /// What it makes.
    pub(in super::super) output: Shape,
    pub(in super::super) method: Method,
    pub(in super::super) window: Window,
    /// Where it reads; none if SDP passes on what it makes.
    pub(in super::super) source: Option<CubePlace>,
    pub(in super::super) destination: CubePlace,
    pub(in super::super) strips: Strips,
}

/// The columns of a layer that is too wide for PDP's line buffer, from left to right: so many strips…
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Strips {
    count: u32,
    /// …each with as many new columns of input…
    input: [u32; 3],
    /// …and of output: the first, those in the middle, the last.
    output: [u32; 3],
}

impl Strips {
    /// As few strips as the line buffer has room for. It holds the output lines that are under way, in eight banks of 16
    /// columns that are merged in powers of two (RTL, `PDP_CORE_cal2d`).
    pub(in super::super) fn of(window: &Window, input: u32, output: u32) -> Strips {
        let lines = window.size[1].div_ceil(window.stride[1].max(1));
        let most = 8 * 16 / lines.next_power_of_two().min(128);
        if output <= most {
            return Strips { count: 1, input: [input, 0, 0], output: [output, 0, 0] };
        }
        let count = output.div_ceil(most);
        let each = output.div_ceil(count);
        // Equal ones but for the last.
        let count = output.div_ceil(each);
        let [size, stride, before] = [window.size[0], window.stride[0], window.before[0]];
        // A strip's new columns begin behind those that its first window shares with the strip before.
        let begins = |output: u32| (output * stride + size.saturating_sub(stride)).saturating_sub(before);
        // A strip in padding alone has no columns, which no register can say: such a layer is refused when they are written.
        let (first, last) = (begins(each), input.saturating_sub(begins(each * (count - 1))));
        Strips {
            count,
            input: [first, each * stride, last],
            output: [each, each, output - each * (count - 1)],
        }
    }

    /// Whether there is but one, as there must be of what comes from SDP.
    pub(in super::super) fn is_whole(&self) -> bool {
        self.count == 1
    }
}

/// Everything but the enables.
pub(in super::super) fn pooling(program: &mut Program, layer: &Pool) -> Result<(), FieldOverflow> {
    if let Some(source) = layer.source {
        pdp_rdma_registers(program, layer, source)?;
    }
    pdp_registers(program, layer)
}

fn pdp_rdma_registers(program: &mut Program, layer: &Pool, source: CubePlace) -> Result<(), FieldOverflow> {
    use pdp_rdma::{
        d_data_cube_in_channel::*, d_data_cube_in_height::*, d_data_cube_in_width::*, d_data_format::*,
        d_flying_mode::*, d_operation_mode_cfg::*, d_pooling_kernel_cfg::*, d_pooling_padding_cfg::*,
        d_src_base_addr_high::*, d_src_base_addr_low::*, d_src_line_stride::*, d_src_ram_cfg::*,
        d_src_surface_stride::*,
    };
    let &Pool { input, window, strips, .. } = layer;
    let fields = [
        (CUBE_IN_WIDTH, input.width),
        (CUBE_IN_HEIGHT, input.height),
        (CUBE_IN_CHANNEL, input.channels),
        (FLYING_MODE, FLYING_MODE::OFF_FLYING),
        (SRC_BASE_ADDR_LOW, low(source.base)),
        (SRC_BASE_ADDR_HIGH, high(source.base)),
        (SRC_LINE_STRIDE, source.line_stride),
        (SRC_SURFACE_STRIDE, source.surface_stride),
        (SRC_RAM_TYPE, PRIMARY),
        (INPUT_DATA, INT8),
        (SPLIT_NUM, strips.count),
        (KERNEL_WIDTH, window.size[0]),
        (KERNEL_STRIDE_WIDTH, window.stride[0]),
        (PAD_WIDTH, window.before[0]),
    ];
    program.checked_fields(Unit::PdpRdma, &fields)?;
    if strips.is_whole() {
        return Ok(());
    }
    use pdp_rdma::d_partial_width_in::*;
    let [first, middle, last] = strips.input;
    let partial =
        [(PARTIAL_WIDTH_IN_FIRST, first), (PARTIAL_WIDTH_IN_MID, middle), (PARTIAL_WIDTH_IN_LAST, last)];
    program.checked_fields(Unit::PdpRdma, &partial)
}

fn pdp_registers(program: &mut Program, layer: &Pool) -> Result<(), FieldOverflow> {
    use pdp::{
        d_data_cube_in_channel::*, d_data_cube_in_height::*, d_data_cube_in_width::*,
        d_data_cube_out_channel::*, d_data_cube_out_height::*, d_data_cube_out_width::*, d_data_format::*,
        d_dst_base_addr_high::*, d_dst_base_addr_low::*, d_dst_line_stride::*, d_dst_ram_cfg::*,
        d_dst_surface_stride::*, d_operation_mode_cfg::*, d_pooling_kernel_cfg::*, d_pooling_padding_cfg::*,
        d_recip_kernel_height::*, d_recip_kernel_width::*,
    };
    let &Pool { input, output, window, destination, strips, .. } = layer;
    let method = match layer.method {
        Method::Average => POOLING_METHOD::POOLING_METHOD_AVERAGE,
        Method::Max => POOLING_METHOD::POOLING_METHOD_MAX,
        Method::Min => POOLING_METHOD::POOLING_METHOD_MIN,
    };
    let flying = match layer.source {
        Some(_) => FLYING_MODE::OFF_FLYING,
        None => FLYING_MODE::ON_FLYING,
    };
    let fields = [
        (CUBE_IN_WIDTH, input.width),
        (CUBE_IN_HEIGHT, input.height),
        (CUBE_IN_CHANNEL, input.channels),
        (CUBE_OUT_WIDTH, output.width),
        (CUBE_OUT_HEIGHT, output.height),
        (CUBE_OUT_CHANNEL, output.channels),
        (POOLING_METHOD, method),
        (FLYING_MODE, flying),
        (SPLIT_NUM, strips.count),
        (KERNEL_WIDTH, window.size[0]),
        (KERNEL_HEIGHT, window.size[1]),
        (KERNEL_STRIDE_WIDTH, window.stride[0]),
        (KERNEL_STRIDE_HEIGHT, window.stride[1]),
        (RECIP_KERNEL_WIDTH, reciprocal(window.size[0])),
        (RECIP_KERNEL_HEIGHT, reciprocal(window.size[1])),
        (PAD_LEFT, window.before[0]),
        (PAD_TOP, window.before[1]),
        (PAD_RIGHT, window.after[0]),
        (PAD_BOTTOM, window.after[1]),
        (DST_BASE_ADDR_LOW, low(destination.base)),
        (DST_BASE_ADDR_HIGH, high(destination.base)),
        (DST_LINE_STRIDE, destination.line_stride),
        (DST_SURFACE_STRIDE, destination.surface_stride),
        (DST_RAM_TYPE, PRIMARY),
        (INPUT_DATA, INT8),
    ];
    // An average counts padding as zeros, however many columns of a window are missing.
    let padding = Unit::Pdp.registers().iter().flat_map(|register| register.fields).filter_map(|&field| {
        let of_padding: fn(FieldRef) -> bool = |field| field.name.starts_with("PAD_VALUE_");
        of_padding(field).then_some((field, 0))
    });
    if !strips.is_whole() {
        use pdp::{d_partial_width_in::*, d_partial_width_out::*};
        let ([first, middle, last], [made, amid, rest]) = (strips.input, strips.output);
        let partial = [
            (PARTIAL_WIDTH_IN_FIRST, first),
            (PARTIAL_WIDTH_IN_MID, middle),
            (PARTIAL_WIDTH_IN_LAST, last),
            (PARTIAL_WIDTH_OUT_FIRST, made),
            (PARTIAL_WIDTH_OUT_MID, amid),
            (PARTIAL_WIDTH_OUT_LAST, rest),
        ];
        program.checked_fields(Unit::Pdp, &partial)?;
    }
    program.checked_fields(Unit::Pdp, &fields.into_iter().chain(padding).collect::<Vec<_>>())
}

/// The factor that divides by a window's columns or rows: in 1/65536ths (hardware manual, `RECIP_KERNEL_WIDTH`).
fn reciprocal(size: u32) -> u32 {
    65_536 / size.max(1)
}
