//! Reasons for which ours is far from the workbook's.

use std::fmt;

/// Reason for which ours is far from theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The workbook multiplies by Winograd's method, ours directly, and could by that method, too.
    Winograd,
    /// The workbook multiplies by Winograd's method, which the configuration does not have, or cannot use for the layer.
    WinogradImpossible,
    /// The workbook shares weights among frames, ours reads them for each.
    Batch,
    /// The array is partly filled: channels, kernels or lines are no multiples of what it takes.
    Array,
    /// The workbook counts more cycles of the array than its products need.
    ArrayCounted,
    /// SDP is slower than the array, or works alone.
    Sdp,
    /// PDP is, or does.
    Pdp,
    /// CDP works alone.
    Cdp,
    /// The model moves more bytes.
    Bytes,
    /// The model moves fewer bytes.
    FewerBytes,
    /// Input is read before products begin, and not while they are made.
    Turns,
    /// Reads are waited for.
    Latency,
    /// Registers are written and interrupts taken.
    Registers,
    /// The published cycles are not what their own products and bytes come to.
    Sheet,
    /// No mechanism by itself makes out as much as is worth an explanation.
    None,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Winograd => "no Winograd",
            Cause::WinogradImpossible => "Winograd impossible",
            Cause::Batch => "no batch",
            Cause::Array => "array partly filled",
            Cause::ArrayCounted => "array counted higher",
            Cause::Sdp => "SDP's pace",
            Cause::Pdp => "PDP's pace",
            Cause::Cdp => "CDP's pace",
            Cause::Bytes => "more bytes",
            Cause::FewerBytes => "fewer bytes",
            Cause::Turns => "read, then computed",
            Cause::Latency => "read latency",
            Cause::Registers => "registers",
            Cause::Sheet => "their row contradicts itself",
            Cause::None => "no single mechanism",
        })
    }
}
