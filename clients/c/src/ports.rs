//! The functions of ports: a port is taken, and at each edge its pins are sampled and seen.

use std::ffi::c_char;

use ::vp_partner::pins::{
    AnyHandle, Handle, LineSink, LineSource, Manager, PinState, RegisterInitiator, RegisterTarget,
    Subordinate,
};

use crate::pins::{
    Port, VP_WIDEST, vp_axi_manager_pins, vp_axi_subordinate_pins, vp_register_initiator_pins,
    vp_register_target_pins,
};
use crate::{text, vp_partner, vp_status};

impl vp_partner {
    pub(crate) fn handle<S: PinState>(&self, port: i32) -> Option<Handle<S>> {
        self.any(port)?.of()
    }

    fn any(&self, port: i32) -> Option<AnyHandle> {
        self.handles.get(usize::try_from(port).ok()?).copied()
    }

    fn width<S: Port>(&mut self, port: i32) -> usize {
        let handle = self.handle::<S>(port);
        handle.and_then(|handle| self.partner.width(handle).ok()).unwrap_or(0).min(VP_WIDEST)
    }
}

/// Takes a port as an `S`.
///
/// # Safety
/// `partner` is null or comes from `vp_connect`, `name` is null or a text.
unsafe fn attach<S: Port>(partner: *mut vp_partner, name: *const c_char) -> i32 {
    // SAFETY: as the caller says.
    let (Some(partner), name) = (unsafe { (partner.as_mut(), text(name)) }) else { return -1 };
    match partner.partner.attach::<S>(name.unwrap_or_default()) {
        Ok(handle) => {
            partner.handles.push(handle.into());
            partner.handles.len() as i32 - 1
        }
        Err(error) => {
            partner.fail(&error);
            -1
        }
    }
}

/// Samples the pins of a port.
///
/// # Safety
/// `partner` is null or comes from `vp_connect`, `pins` is null or can be read.
unsafe fn sample<S: Port>(partner: *mut vp_partner, port: i32, pins: *const S::DrivenInC) -> vp_status {
    // SAFETY: as the caller says.
    let (Some(partner), Some(pins)) = (unsafe { (partner.as_mut(), pins.as_ref()) }) else {
        return vp_status::Error;
    };
    let Some(handle) = partner.handle::<S>(port) else { return partner.wrong_port() };
    let driven = S::driven(pins, partner.width::<S>(port));
    let sampled = partner.partner.sample(handle, &driven);
    partner.done(sampled)
}

/// Sees the pins of a port.
///
/// # Safety
/// `partner` is null or comes from `vp_connect`, `pins` is null or can be written.
unsafe fn see<S: Port>(partner: *mut vp_partner, port: i32, pins: *mut S::ObservedInC) -> vp_status {
    // SAFETY: as the caller says.
    let Some(partner) = (unsafe { partner.as_mut() }) else { return vp_status::Error };
    let Some(handle) = partner.handle::<S>(port) else { return partner.wrong_port() };
    match partner.partner.seen(handle) {
        Ok(seen) => {
            if !pins.is_null() {
                // SAFETY: as the caller says.
                unsafe { pins.write(S::seen_in_c(seen)) };
            }
            vp_status::Ok
        }
        Err(error) => partner.fail(&error),
    }
}

/// Takes a memory port as the memory behind it: bursts of the platform come to these pins.
///
/// The port's number, or -1: `vp_error` says why.
///
/// # Safety
/// `partner` comes from `vp_connect`, `name` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_axi_subordinate(partner: *mut vp_partner, name: *const c_char) -> i32 {
    // SAFETY: as the caller says.
    unsafe { attach::<Subordinate>(partner, name) }
}

/// The pins that this side drives there are like this at the edge.
///
/// # Safety
/// `partner` comes from `vp_connect`, `pins` can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_axi_subordinate_sample(
    partner: *mut vp_partner,
    port: i32,
    pins: *const vp_axi_subordinate_pins,
) -> vp_status {
    // SAFETY: as the caller says.
    unsafe { sample::<Subordinate>(partner, port, pins) }
}

/// Gives the pins that the platform drives there, as they are seen at the edge. Waits for the platform, if it must.
///
/// # Safety
/// `partner` comes from `vp_connect`, `pins` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_axi_subordinate_seen(
    partner: *mut vp_partner,
    port: i32,
    pins: *mut vp_axi_manager_pins,
) -> vp_status {
    // SAFETY: as the caller says.
    unsafe { see::<Subordinate>(partner, port, pins) }
}

/// Takes a memory port as a master of bursts to the platform's memory.
///
/// The port's number, or -1: `vp_error` says why.
///
/// # Safety
/// `partner` comes from `vp_connect`, `name` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_axi_manager(partner: *mut vp_partner, name: *const c_char) -> i32 {
    // SAFETY: as the caller says.
    unsafe { attach::<Manager>(partner, name) }
}

/// The pins that this side drives there are like this at the edge.
///
/// # Safety
/// `partner` comes from `vp_connect`, `pins` can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_axi_manager_sample(
    partner: *mut vp_partner,
    port: i32,
    pins: *const vp_axi_manager_pins,
) -> vp_status {
    // SAFETY: as the caller says.
    unsafe { sample::<Manager>(partner, port, pins) }
}

/// Gives the pins that the platform drives there, as they are seen at the edge. Waits for the platform, if it must.
///
/// # Safety
/// `partner` comes from `vp_connect`, `pins` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_axi_manager_seen(
    partner: *mut vp_partner,
    port: i32,
    pins: *mut vp_axi_subordinate_pins,
) -> vp_status {
    // SAFETY: as the caller says.
    unsafe { see::<Manager>(partner, port, pins) }
}

/// Takes a register port as the device: the platform's CPU accesses these pins.
///
/// The port's number, or -1: `vp_error` says why.
///
/// # Safety
/// `partner` comes from `vp_connect`, `name` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_register_target(partner: *mut vp_partner, name: *const c_char) -> i32 {
    // SAFETY: as the caller says.
    unsafe { attach::<RegisterTarget>(partner, name) }
}

/// The pins that this side drives there are like this at the edge.
///
/// # Safety
/// `partner` comes from `vp_connect`, `pins` can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_register_target_sample(
    partner: *mut vp_partner,
    port: i32,
    pins: *const vp_register_target_pins,
) -> vp_status {
    // SAFETY: as the caller says.
    unsafe { sample::<RegisterTarget>(partner, port, pins) }
}

/// Gives the pins that the platform drives there, as they are seen at the edge. Waits for the platform, if it must.
///
/// # Safety
/// `partner` comes from `vp_connect`, `pins` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_register_target_seen(
    partner: *mut vp_partner,
    port: i32,
    pins: *mut vp_register_initiator_pins,
) -> vp_status {
    // SAFETY: as the caller says.
    unsafe { see::<RegisterTarget>(partner, port, pins) }
}

/// Takes a register port as the CPU.
///
/// The port's number, or -1: `vp_error` says why.
///
/// # Safety
/// `partner` comes from `vp_connect`, `name` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_register_initiator(partner: *mut vp_partner, name: *const c_char) -> i32 {
    // SAFETY: as the caller says.
    unsafe { attach::<RegisterInitiator>(partner, name) }
}

/// The pins that this side drives there are like this at the edge.
///
/// # Safety
/// `partner` comes from `vp_connect`, `pins` can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_register_initiator_sample(
    partner: *mut vp_partner,
    port: i32,
    pins: *const vp_register_initiator_pins,
) -> vp_status {
    // SAFETY: as the caller says.
    unsafe { sample::<RegisterInitiator>(partner, port, pins) }
}

/// Gives the pins that the platform drives there, as they are seen at the edge. Waits for the platform, if it must.
///
/// # Safety
/// `partner` comes from `vp_connect`, `pins` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_register_initiator_seen(
    partner: *mut vp_partner,
    port: i32,
    pins: *mut vp_register_target_pins,
) -> vp_status {
    // SAFETY: as the caller says.
    unsafe { see::<RegisterInitiator>(partner, port, pins) }
}

/// Takes an interrupt line as its source: the device.
///
/// The port's number, or -1: `vp_error` says why.
///
/// # Safety
/// `partner` comes from `vp_connect`, `name` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_line_source(partner: *mut vp_partner, name: *const c_char) -> i32 {
    // SAFETY: as the caller says.
    unsafe { attach::<LineSource>(partner, name) }
}

/// The line has this level at the edge.
///
/// # Safety
/// `partner` comes from `vp_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_line_source_sample(
    partner: *mut vp_partner,
    port: i32,
    level: bool,
) -> vp_status {
    // SAFETY: as the caller says.
    unsafe { sample::<LineSource>(partner, port, &raw const level) }
}

/// The edge is seen there: nothing is, but it has its turn like all ports.
///
/// # Safety
/// `partner` comes from `vp_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_line_source_seen(partner: *mut vp_partner, port: i32) -> vp_status {
    // SAFETY: as the caller says.
    unsafe { see::<LineSource>(partner, port, std::ptr::null_mut()) }
}

/// Takes an interrupt line as its sink: the CPU.
///
/// The port's number, or -1: `vp_error` says why.
///
/// # Safety
/// `partner` comes from `vp_connect`, `name` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_line_sink(partner: *mut vp_partner, name: *const c_char) -> i32 {
    // SAFETY: as the caller says.
    unsafe { attach::<LineSink>(partner, name) }
}

/// Gives the level that the line has at the edge. Waits for the platform, if it must.
///
/// # Safety
/// `partner` comes from `vp_connect`, `level` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_line_sink_seen(
    partner: *mut vp_partner,
    port: i32,
    level: *mut bool,
) -> vp_status {
    // SAFETY: as the caller says.
    unsafe { see::<LineSink>(partner, port, level) }
}

/// The edge is sampled there: nothing is driven, but it has its turn like all ports.
///
/// # Safety
/// `partner` comes from `vp_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_line_sink_sample(partner: *mut vp_partner, port: i32) -> vp_status {
    // SAFETY: as the caller says.
    unsafe { sample::<LineSink>(partner, port, std::ptr::NonNull::dangling().as_ptr()) }
}

/// Bytes of a memory port's data bus; 0 for other ports.
///
/// # Safety
/// `partner` comes from `vp_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_width(partner: *mut vp_partner, port: i32) -> u32 {
    // SAFETY: as the caller says.
    let Some(partner) = (unsafe { partner.as_mut() }) else { return 0 };
    partner.width::<Subordinate>(port).max(partner.width::<Manager>(port)) as u32
}

/// Returns true if the hardware at a port has to be in reset, because the platform was put back.
///
/// # Safety
/// `partner` comes from `vp_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_in_reset(partner: *mut vp_partner, port: i32) -> bool {
    // SAFETY: as the caller says.
    let Some(partner) = (unsafe { partner.as_mut() }) else { return false };
    partner.any(port).is_some_and(|handle| partner.partner.is_in_reset(handle))
}

/// Ends the partner for a rule that pins of this side break at the edge at which they are to be sampled, and that the library cannot see,
/// such as bits that are neither 0 nor 1. `vp_error` names the port, the channel, the edge and the rule.
///
/// # Safety
/// `partner` comes from `vp_connect`, `channel` and `rule` are texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_violation(
    partner: *mut vp_partner,
    port: i32,
    channel: *const c_char,
    rule: *const c_char,
) -> vp_status {
    // SAFETY: as the caller says.
    let (Some(partner), channel, rule) = (unsafe { (partner.as_mut(), text(channel), text(rule)) }) else {
        return vp_status::Error;
    };
    let (channel, rule) = (channel.unwrap_or_default(), rule.unwrap_or_default());
    let Some(handle) = partner.any(port) else { return partner.wrong_port() };
    let error = partner.partner.violate(handle, channel, rule);
    partner.fail(&error)
}
