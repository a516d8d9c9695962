//! State of a session on this side, and the RAM with which it answers the device's bursts.

use std::fmt::Display;

use vp_client::native::{self, ErrorCode, PortId};
use vp_client::{Handler, Refusal};
use vp_core::Time;
use vp_core::observe::WarningMarks;
use vp_host::Warning;
use vp_models::backlog::Backlog;

use super::memory::OwnMemory;

#[derive(Default)]
pub(super) struct LocalSide {
    /// The RAM on this side, by port; empty if the memory is inside.
    pub(super) rams: Vec<(PortId, OwnMemory)>,
    /// The interrupt line's level.
    pub(super) level: bool,
    pub(super) warnings: Backlog<Warning>,
}

impl LocalSide {
    pub(super) fn ram(&self, port: PortId) -> Option<&OwnMemory> {
        self.rams.iter().find(|(id, _)| *id == port).map(|(_, ram)| ram)
    }

    fn own(&self, port: PortId) -> Result<&OwnMemory, Refusal> {
        self.ram(port).ok_or_else(|| Refusal::new(ErrorCode::NotAttached, "no memory of ours"))
    }
}

impl Handler for LocalSide {
    fn interrupt(&mut self, _: PortId, level: bool, _: Time) {
        self.level = level;
    }

    fn warning(&mut self, time: Time, text: String) {
        self.warnings.push(Warning::new(time, text));
    }

    fn marked_warning(&mut self, time: Time, marks: native::WarningMarks, text: String) {
        let marks = WarningMarks {
            refused: marks.contains(native::WarningMarks::REFUSED),
            lacking: marks.contains(native::WarningMarks::LACKING),
        };
        self.warnings.push(Warning { time, text, marks });
    }

    fn read(&mut self, port: PortId, address: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.own(port)?.read(address, into).map_err(outside)
    }

    fn write(&mut self, port: PortId, address: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.own(port)?.write(address, bytes).map_err(outside)
    }
}

fn outside(error: impl Display) -> Refusal {
    Refusal::new(ErrorCode::DecodeError, error.to_string())
}
