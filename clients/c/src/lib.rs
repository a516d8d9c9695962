//! The library for C, behind the header `vp.h`: a simulator of hardware is a partner of a platform, and a program may debug one ([`debugger`]).
//!
//! Everything is polled: no threads, and no call-backs but those of [`memory::vp_debug_target`]. One partner is used by one thread at a time. What goes wrong is a
//! value, with a text that [`vp_error`] gives; a partner that has failed goes on failing in the same way.

#![expect(unsafe_code, reason = "what C gives are pointers")]

pub mod debugger;
pub mod memory;
pub mod pins;
pub mod ports;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

use ::vp_partner::pins::AnyHandle;
use ::vp_partner::{Partner, PartnerError, PartnerOptions, PlatformAddress};
use vp_hub::{Clock, Reaction};

/// Result of a call.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "as C names types")]
pub enum vp_status {
    /// All is well.
    Ok = 0,
    /// The platform has ended, as it does when nobody needs it any more: the simulation may end.
    Over = 1,
    /// Something is wrong: `vp_error` says what.
    Error = -1,
}

/// Edge at which the outputs of the hardware follow its inputs.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "as C names types")]
pub enum vp_reaction {
    /// The next edge: all outputs are registers. At each edge pins are sampled first, and seen then.
    NextEdge = 0,
    /// The edge of the inputs, for some outputs. At each edge pins are seen first, and sampled then.
    SameEdge = 1,
}

/// A partner of a platform.
#[allow(non_camel_case_types, reason = "as C names types")]
pub struct vp_partner {
    partner: Partner,
    handles: Vec<AnyHandle>,
    error: CString,
    warning: CString,
    is_over: bool,
}

thread_local! {
    /// Reason for which there is no partner, or no debugger.
    static LAST: RefCell<CString> = RefCell::default();
}

fn set_last(why: &str) {
    LAST.with(|last| last.replace(c_text(why)));
}

fn last() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

impl vp_partner {
    fn fail(&mut self, error: &PartnerError) -> vp_status {
        self.is_over = matches!(error, PartnerError::Over(_));
        self.error = c_text(&error.to_string());
        if self.is_over { vp_status::Over } else { vp_status::Error }
    }

    fn done(&mut self, result: Result<(), PartnerError>) -> vp_status {
        match result {
            Ok(()) => vp_status::Ok,
            Err(error) => self.fail(&error),
        }
    }

    fn wrong_port(&mut self) -> vp_status {
        self.fail(&PartnerError::Refused("the number is no port of that kind".to_owned()))
    }
}

/// A text of C's.
///
/// # Safety
/// It is null, or ends with a zero.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// Becomes a partner of the platform at `address`: `tcp:HOST:PORT`, `tls:HOST:PORT` or `unix:PATH` of a server, or `inproc:NAME` for a platform in
/// this process, where NAME is a built-in platform or a file of one. NULL: the address in the environment variable VP_CONNECT.
///
/// A server that says nothing for 20 s, and does not answer that it is there, is taken for gone, and calls fail. VP_HEARTBEAT in the environment
/// sets other seconds, or `none`, such as for a server in a debugger.
///
/// What a server wants to be shown is in the environment, too: a token in VP_TOKEN or in the file VP_TOKEN_FILE, and for TLS the file VP_CA with
/// the certificate of the authority that is trusted, and VP_CERTIFICATE and VP_KEY for a certificate to be shown.
///
/// `quantum`: edges by which what crosses is seen later, each way, for fewer messages; 0 is exact. `reset_edges`: for how many edges
/// `vp_in_reset` says so when the platform is put back.
///
/// NULL: it could not be, and `vp_error(NULL)` says why.
///
/// # Safety
/// `address` is NULL or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_connect(
    address: *const c_char,
    reaction: vp_reaction,
    quantum: u32,
    reset_edges: u32,
) -> *mut vp_partner {
    // SAFETY: as the caller says.
    let address = unsafe { text(address) };
    let reaction = match reaction {
        vp_reaction::NextEdge => Reaction::NextEdge,
        vp_reaction::SameEdge => Reaction::SameEdge,
    };
    let options = PartnerOptions {
        clock: Clock { reaction, quantum },
        reset_edges: u64::from(reset_edges.max(1)),
        ..PartnerOptions::default()
    };
    let agent = concat!("libvp ", env!("CARGO_PKG_VERSION"));
    match PlatformAddress::of(address).and_then(|place| Partner::new(place.open(agent)?, options)) {
        Ok(partner) => {
            let (error, warning) = (CString::default(), CString::default());
            let opened = vp_partner { partner, handles: Vec::new(), error, warning, is_over: false };
            Box::into_raw(Box::new(opened))
        }
        Err(error) => {
            set_last(&error.to_string());
            std::ptr::null_mut()
        }
    }
}

/// Leaves the platform. NULL is nothing.
///
/// # Safety
/// `partner` comes from `vp_connect`, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_close(partner: *mut vp_partner) {
    if !partner.is_null() {
        // SAFETY: as the caller says.
        drop(unsafe { Box::from_raw(partner) });
    }
}

/// The last error, as a sentence; with NULL, the reason for which there is no partner. The text stays valid until the next call that fails.
///
/// # Safety
/// `partner` is NULL or comes from `vp_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_error(partner: *const vp_partner) -> *const c_char {
    // SAFETY: as the caller says.
    match unsafe { partner.as_ref() } {
        Some(partner) => partner.error.as_ptr(),
        None => last(),
    }
}

/// The first of the platform's warnings that was not taken yet, with its time in ps; NULL if there is none. The latest 64 are kept. The
/// text stays valid until the next call.
///
/// # Safety
/// `partner` comes from `vp_connect`, `time` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_next_warning(partner: *mut vp_partner, time: *mut u64) -> *const c_char {
    // SAFETY: as the caller says.
    let (partner, at) = unsafe { (partner.as_mut(), time.as_mut()) };
    let Some(partner) = partner else { return std::ptr::null() };
    let Some((time, text)) = partner.partner.next_warning() else { return std::ptr::null() };
    if let Some(at) = at {
        *at = time.as_ps();
    }
    partner.warning = c_text(&text);
    partner.warning.as_ptr()
}

/// The length of a clock cycle of the platform, in ps.
///
/// # Safety
/// `partner` comes from `vp_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_period(partner: *const vp_partner) -> u64 {
    // SAFETY: as the caller says.
    unsafe { partner.as_ref() }.map_or(0, |partner| partner.partner.period().as_ps())
}

/// The simulated time of the edge whose pins were seen last, in ps.
///
/// # Safety
/// `partner` comes from `vp_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_time(partner: *const vp_partner) -> u64 {
    // SAFETY: as the caller says.
    unsafe { partner.as_ref() }.map_or(0, |partner| partner.partner.now().as_ps())
}

/// Gives one of the platform's counters, such as `nvdla.cycles`, `dbb0.read.bursts` or `unit.SDP.busy`.
///
/// # Safety
/// `partner` comes from `vp_connect`, `name` is a text, `value` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_counter(
    partner: *mut vp_partner,
    name: *const c_char,
    value: *mut u64,
) -> vp_status {
    // SAFETY: as the caller says.
    let (partner, name) = unsafe { (partner.as_mut(), text(name)) };
    let Some(partner) = partner else { return vp_status::Error };
    let name = name.unwrap_or_default();
    match partner.partner.counter(name) {
        Ok(Some(found)) if !value.is_null() => {
            // SAFETY: as the caller says.
            unsafe { value.write(found) };
            vp_status::Ok
        }
        Ok(_) => partner.fail(&PartnerError::Refused(format!("the platform has no counter `{name}`"))),
        Err(error) => partner.fail(&error),
    }
}
