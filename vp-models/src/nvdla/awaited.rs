//! Units that the CPU has yet to enable: a layer takes several of them, which are enabled one by one, consumers before producers.

use super::control::Control;
use super::pdp::layer::PdpLayer;
use super::registers::{Group, Unit, sdp as sdp_registers};
use super::sdp::layer::{Hardware, SdpLayer};

/// The units of the convolution pipeline, each of which every convolution needs.
const CONVOLUTION: [Unit; 5] = [Unit::Cdma, Unit::Csc, Unit::CmacA, Unit::CmacB, Unit::Cacc];

/// The units that are waited for, in the order of `units`. `is_open` says of an engine whether it is in the middle of a layer. Only where
/// nothing goes on by itself is it certain that they are.
pub(super) fn awaited(
    units: &[(Unit, &Control)],
    sdp: &Hardware,
    is_open: &dyn Fn(Unit) -> bool,
) -> Vec<String> {
    let device = Units { units, sdp, is_open };
    let missing: Vec<Unit> =
        units.iter().flat_map(|(unit, control)| device.missing(*unit, control)).collect();
    let units = units.iter().filter(|(unit, _)| missing.contains(unit));
    units.map(|(unit, control)| waited_for(*unit, control)).collect()
}

/// `SDP`, or `SDP group 0, whose turn it is` where only the other one is enabled.
fn waited_for(unit: Unit, control: &Control) -> String {
    let registers = control.registers().borrow();
    match registers.enabled_groups().next() {
        None => unit.name().to_owned(),
        Some(_) => format!("{} group {}, whose turn it is", unit.name(), registers.consumer()),
    }
}

struct Units<'a> {
    units: &'a [(Unit, &'a Control)],
    sdp: &'a Hardware,
    is_open: &'a dyn Fn(Unit) -> bool,
}

impl Units<'_> {
    fn control(&self, unit: Unit) -> Option<&Control> {
        self.units.iter().find(|(of, _)| *of == unit).map(|(_, control)| *control)
    }

    fn is_enabled(&self, unit: Unit) -> bool {
        self.control(unit)
            .is_some_and(|control| control.registers().borrow().enabled_groups().next().is_some())
    }

    /// Returns the units that the next layer of a unit waits for, if one is enabled.
    fn missing(&self, unit: Unit, control: &Control) -> Vec<Unit> {
        let registers = control.registers().borrow();
        let turn = registers.consumer();
        if !registers.is_enabled(turn) {
            return registers.enabled_groups().map(|_| unit).collect();
        }
        let needed = self.partners(unit, registers.group(turn));
        needed.into_iter().filter(|needed| !self.is_enabled(*needed)).collect()
    }

    /// The units without which a layer of `unit`, whose group holds these registers, does not come to its end. What has done its part for
    /// it, and may have been disabled since, is not among them.
    fn partners(&self, unit: Unit, group: &Group) -> Vec<Unit> {
        use sdp_registers::D_FEATURE_MODE_CFG as mode;
        // An RDMA is needed for a layer to begin, and done with it earlier than the engine.
        let rdma = |rdma, is_needed: bool| (is_needed && !(self.is_open)(unit)).then_some(rdma);
        match unit {
            Unit::Sdp => {
                let is_on_the_fly = group.flag(mode::FLYING_MODE);
                let pooled = (group.get(mode::OUTPUT_DST) == mode::OUTPUT_DST::PDP).then_some(Unit::Pdp);
                let rdma = rdma(Unit::SdpRdma, SdpLayer::needs_rdma(group, self.sdp));
                let convolved = if is_on_the_fly { self.convolution(Unit::Cacc) } else { Vec::new() };
                convolved.into_iter().chain(pooled).chain(rdma).collect()
            }
            Unit::Pdp => match PdpLayer::needs_rdma(group) {
                true => rdma(Unit::PdpRdma, true).into_iter().collect(),
                false => vec![Unit::Sdp],
            },
            Unit::Cdp => rdma(Unit::CdpRdma, true).into_iter().collect(),
            Unit::SdpRdma => vec![Unit::Sdp],
            Unit::PdpRdma => vec![Unit::Pdp],
            Unit::CdpRdma => vec![Unit::Cdp],
            Unit::Cacc => self.convolution(unit).into_iter().chain([Unit::Sdp]).collect(),
            _ if CONVOLUTION.contains(&unit) => self.convolution(unit),
            _ => Vec::new(),
        }
    }

    /// The units of the pipeline that are not ahead of `unit`: CDMA may have fetched the layer already.
    fn convolution(&self, unit: Unit) -> Vec<Unit> {
        let ended = |unit| self.control(unit).map_or(0, Control::ended);
        CONVOLUTION.into_iter().filter(|other| ended(*other) <= ended(unit)).collect()
    }
}
