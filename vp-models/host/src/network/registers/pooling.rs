//! PDP and PDP_RDMA.

use crate::network::description::{Method, Shape, Window};
use crate::network::layout::CubePlace;
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::pdp::layer::{self, Average, Axis, PdpLayer, PdpSource, Strips};

/// One hardware layer of PDP.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Pool {
    pub(in super::super) precision: Precision,
    /// Shape of the input.
    pub(in super::super) input: Shape,
    /// Shape of the output.
    pub(in super::super) output: Shape,
    pub(in super::super) method: Method,
    pub(in super::super) window: Window,
    /// Place from which it reads; none if SDP passes on what it makes.
    pub(in super::super) source: Option<CubePlace>,
    pub(in super::super) destination: CubePlace,
}

impl Pool {
    pub(in super::super) fn layer(&self, atom: u32) -> PdpLayer {
        let &Pool { precision, input, output, window, .. } = self;
        let [horizontal, vertical] = axes(&window, input, output);
        PdpLayer {
            atom: atom as usize,
            channels: input.channels,
            precision,
            nan_to_zero: false,
            method: match self.method {
                Method::Max => layer::Method::Max,
                Method::Min => layer::Method::Min,
                // Padding counts as zeros, however many columns of a window are missing; a region of a mean has none.
                Method::Average | Method::Mean => layer::Method::Average(Average {
                    reciprocal_width: Average::reciprocal(window.size[0], precision),
                    reciprocal_height: Average::reciprocal(window.size[1], precision),
                    padding: [0; 7],
                }),
            },
            horizontal,
            vertical,
            source: self.source.map_or(PdpSource::Sdp, |place| PdpSource::Memory(place.surface(atom))),
            destination: self.destination.surface(atom),
            strips: Strips::fitting(&horizontal, &vertical),
        }
    }
}

/// Returns true if the line buffer holds a pooling in one piece.
pub(in super::super) fn is_whole(window: &Window, input: Shape, output: Shape) -> bool {
    let [horizontal, vertical] = axes(window, input, output);
    Strips::fitting(&horizontal, &vertical).is_whole()
}

fn axes(window: &Window, input: Shape, output: Shape) -> [Axis; 2] {
    [(0, input.width, output.width), (1, input.height, output.height)].map(|(along, input, output)| Axis {
        input,
        output,
        kernel: window.size[along],
        stride: window.stride[along],
        padding: window.before[along],
        padding_after: window.after[along],
    })
}
