//! A debugger: it has simulated time stand for everybody, steps it, and looks without side effects.

#![allow(non_camel_case_types, reason = "as C names types")]

use std::ffi::{CString, c_char};
use std::time::Duration;

use vp_client::native::{
    Accesses, BreakOn, Breakpoint, Capabilities, CounterValue, ErrorCode, PortId, PortKind, Range, StepBy,
    StopReport, StopWhy, Time,
};
use vp_client::{Address, Client, Credentials, Error, Handler, Options, SilenceLimit};

use crate::{c_text, set_last, text, vp_status};
use ::vp_partner::server;
use vp_models::backlog::Backlog;

/// A debugger of a platform that a server serves.
pub struct vp_debugger {
    session: Client<StopReports>,
    error: CString,
    standing: CString,
}

/// Direction of accesses.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum vp_accesses {
    /// Reads and writes.
    Any = 0,
    /// Reads.
    Read = 1,
    /// Writes.
    Write = 2,
}

/// Kind of event at which time stops.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum vp_break_on {
    /// An access to a register.
    Register = 0,
    /// The interrupt line goes high.
    Interrupt = 1,
    /// A unit begins a layer.
    LayerBegin = 2,
    /// A unit ends a layer.
    LayerEnd = 3,
    /// A burst of the device reaches memory.
    Memory = 4,
    /// A simulated time.
    Time = 5,
}

/// A breakpoint. Fields that do not belong to `on` are ignored.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct vp_breakpoint {
    /// Kind of event.
    pub on: vp_break_on,
    /// `REGISTER`, `MEMORY`: direction of the accesses.
    pub access: vp_accesses,
    /// `REGISTER`: its byte address. `MEMORY`: the first byte. `TIME`: the time in ps.
    pub at: u64,
    /// `MEMORY`: number of bytes from `at` on.
    pub size: u64,
    /// `LAYER_BEGIN`, `LAYER_END`: the unit, such as `sdp`, NULL for any. `MEMORY`: the port, such as `dbb0`.
    pub name: *const c_char,
    /// `REGISTER`: true if only accesses with `value` count.
    pub has_value: bool,
    /// `REGISTER`: that value.
    pub value: u32,
    /// Number of hits that are ignored before time stops.
    pub skip: u32,
    /// True if the breakpoint is removed when it is hit.
    pub once: bool,
}

/// Length of a step.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum vp_step_by {
    /// A step to the next clock edge.
    Cycle = 0,
    /// A step over the next instant at which something happens.
    Event = 1,
    /// A step until a unit has ended a layer.
    Layer = 2,
    /// A step until a register has been accessed over its bus.
    Access = 3,
}

/// Reason for which time is stopped.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum vp_stop_why {
    /// None: time runs.
    Runs = 0,
    /// A debugger's request.
    Asked = 1,
    /// The end of a step.
    Stepped = 2,
    /// A breakpoint.
    Breakpoint = 3,
}

/// State of simulated time: running, or stopped with the reason.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct vp_stop {
    /// Reason.
    pub why: vp_stop_why,
    /// Time of the stop in ps; 0 where time runs.
    pub time: u64,
    /// Session that has stopped time; 0: none, it is stopped since the start.
    pub by: u64,
    /// The first breakpoint that was hit; 0: none.
    pub breakpoint: u32,
}

/// Reports that are kept until the next call that wants one, at most: the latest.
const MOST_STOPS: usize = 64;

/// Reports of stops that the server has sent.
struct StopReports {
    stops: Backlog<StopReport>,
}

impl Default for StopReports {
    fn default() -> Self {
        Self { stops: Backlog::of(MOST_STOPS) }
    }
}

impl Handler for StopReports {
    fn stopped(&mut self, report: StopReport) {
        self.stops.push(report);
    }
}

fn connect(address: Option<&str>, platform: Option<&str>) -> Result<Client<StopReports>, String> {
    let address = server(address)?;
    let platform = match platform {
        Some(name) => name.to_owned(),
        None => {
            let mut names = open(&address, None)?.platforms().map_err(|error| error.to_string())?;
            match (names.pop(), names.is_empty()) {
                (Some(only), true) => only,
                (None, _) => {
                    return Err(format!("{address} has no platform: one begins with its first session"));
                }
                (Some(last), false) => {
                    names.push(last);
                    return Err(format!("{address} has several platforms, name one: {}", names.join(", ")));
                }
            }
        }
    };
    let session = open(&address, Some(platform))?;
    match session.welcome().capabilities.contains(Capabilities::DEBUGGING) {
        true => Ok(session),
        false => Err(format!("the server at {address} has no debugger")),
    }
}

fn open(address: &Address, platform: Option<String>) -> Result<Client<StopReports>, String> {
    let options = Options::observer(concat!("libvp ", env!("CARGO_PKG_VERSION")), platform);
    let options = Options {
        capabilities: options.capabilities.union(Capabilities::DEBUGGING),
        credentials: Credentials::from_environment().map_err(|error| error.to_string())?,
        heartbeat: SilenceLimit::from_environment()?,
        ..options
    };
    Client::connect(address, &options, StopReports::default()).map_err(|error| error.to_string())
}

impl vp_debugger {
    fn fail(&mut self, what: &str) -> vp_status {
        self.error = c_text(what);
        vp_status::Error
    }

    /// Makes a call of the session's.
    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Client<StopReports>) -> Result<T, Error>,
        done: impl FnOnce(T),
    ) -> vp_status {
        match call(&mut self.session) {
            Ok(given) => {
                done(given);
                vp_status::Ok
            }
            Err(error) => {
                self.error = c_text(&error.to_string());
                let bye = self.session.bye().map(|bye| bye.code);
                let is_over =
                    matches!((error, bye), (Error::Ended(_), Some(None | Some(ErrorCode::ShuttingDown))));
                if is_over { vp_status::Over } else { vp_status::Error }
            }
        }
    }

    fn memory(&self, name: &str) -> Result<PortId, String> {
        let memories = || self.session.ports().filter(|(_, port)| port.kind == PortKind::Axi);
        let found = memories().find(|(_, port)| port.name == name);
        found.map(|(id, _)| id).ok_or_else(|| {
            let names: Vec<&str> = memories().map(|(_, port)| port.name.as_str()).collect();
            format!("no memory `{name}`: the platform has {}", names.join(", "))
        })
    }

    fn breakpoint(&self, set: &vp_breakpoint, name: Option<&str>) -> Result<Breakpoint, String> {
        let access = match set.access {
            vp_accesses::Any => Accesses::Any,
            vp_accesses::Read => Accesses::Read,
            vp_accesses::Write => Accesses::Write,
        };
        let unit = || name.unwrap_or_default().to_owned();
        let on = match set.on {
            vp_break_on::Register => {
                BreakOn::Register { address: set.at, access, value: set.has_value.then_some(set.value) }
            }
            vp_break_on::Interrupt => BreakOn::Interrupt,
            vp_break_on::LayerBegin => BreakOn::Layer { unit: unit(), end: false },
            vp_break_on::LayerEnd => BreakOn::Layer { unit: unit(), end: true },
            vp_break_on::Memory => {
                let port = self.memory(name.unwrap_or_default())?;
                BreakOn::Memory { port, range: Range { base: set.at, size: set.size }, access }
            }
            vp_break_on::Time => BreakOn::Time(Time::ps(set.at)),
        };
        Ok(Breakpoint { on, skip: set.skip, once: set.once })
    }
}

fn stop(report: &StopReport) -> vp_stop {
    let why = match report.why {
        StopWhy::Asked => vp_stop_why::Asked,
        StopWhy::Stepped => vp_stop_why::Stepped,
        StopWhy::Breakpoint => vp_stop_why::Breakpoint,
    };
    let breakpoint = report.hits.iter().find_map(|hit| hit.breakpoint).unwrap_or(0);
    vp_stop { why, time: report.time.as_ps(), by: report.by.0, breakpoint }
}

const RUNS: vp_stop = vp_stop { why: vp_stop_why::Runs, time: 0, by: 0, breakpoint: 0 };

/// Writes where C wants it, if it does.
///
/// # Safety
/// `into` is NULL or can be written.
unsafe fn put<T>(into: *mut T, value: T) {
    if !into.is_null() {
        // SAFETY: as the caller says.
        unsafe { into.write(value) };
    }
}

/// Becomes a debugger of a platform at the server at `address`: `tcp:HOST:PORT`, `tls:HOST:PORT` or `unix:PATH`; NULL: the address in the
/// environment variable VP_CONNECT. `platform`: the shared platform of that name, or `#3` for the one that session 3 has for itself; NULL: the only
/// one there is. What a server wants to be shown is in the environment, as for `vp_connect`.
///
/// It takes no part in the platform, and needs no clock: a program may be a partner in one thread and a debugger in another. When it leaves,
/// its breakpoints go, and time goes on.
///
/// NULL: it could not be, and `vp_debugger_error(NULL)` says why.
///
/// # Safety
/// `address` and `platform` are NULL or texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_connect(
    address: *const c_char,
    platform: *const c_char,
) -> *mut vp_debugger {
    // SAFETY: as the caller says.
    let (address, platform) = unsafe { (text(address), text(platform)) };
    match connect(address, platform) {
        Ok(session) => {
            let (error, standing) = (CString::default(), CString::default());
            Box::into_raw(Box::new(vp_debugger { session, error, standing }))
        }
        Err(why) => {
            set_last(&why);
            std::ptr::null_mut()
        }
    }
}

/// Leaves. NULL is nothing.
///
/// # Safety
/// `debugger` comes from `vp_debugger_connect`, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_close(debugger: *mut vp_debugger) {
    if !debugger.is_null() {
        // SAFETY: as the caller says.
        drop(unsafe { Box::from_raw(debugger) });
    }
}

/// The last error, as a sentence; with NULL, the reason for which there is no debugger. The text stays valid until the next call that fails.
///
/// # Safety
/// `debugger` is NULL or comes from `vp_debugger_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_error(debugger: *const vp_debugger) -> *const c_char {
    // SAFETY: as the caller says.
    match unsafe { debugger.as_ref() } {
        Some(debugger) => debugger.error.as_ptr(),
        None => crate::last(),
    }
}

/// Tells whether time is stopped, and why.
///
/// # Safety
/// `debugger` comes from `vp_debugger_connect`, `into` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_state(debugger: *mut vp_debugger, into: *mut vp_stop) -> vp_status {
    // SAFETY: as the caller says.
    let Some(debugger) = (unsafe { debugger.as_mut() }) else { return vp_status::Error };
    debugger.call(Client::debug_state, |state| {
        // SAFETY: as the caller says.
        unsafe { put(into, state.stopped.as_ref().map_or(RUNS, stop)) };
    })
}

/// Has time stand, if it does not.
///
/// # Safety
/// `debugger` comes from `vp_debugger_connect`, `into` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_stop(debugger: *mut vp_debugger, into: *mut vp_stop) -> vp_status {
    // SAFETY: as the caller says.
    let Some(debugger) = (unsafe { debugger.as_mut() }) else { return vp_status::Error };
    debugger.call(Client::debug_stop, |report| {
        // SAFETY: as the caller says.
        unsafe { put(into, stop(&report)) };
    })
}

/// Lets time go on, as far as others let it move: `vp_debugger_wait` waits until it stands again.
///
/// # Safety
/// `debugger` comes from `vp_debugger_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_continue(debugger: *mut vp_debugger) -> vp_status {
    // SAFETY: as the caller says.
    let Some(debugger) = (unsafe { debugger.as_mut() }) else { return vp_status::Error };
    // What was told before is not what will be waited for. How many were left out is still to be told.
    while debugger.session.handler_mut().stops.pop().is_some() {}
    debugger.call(Client::debug_continue, drop)
}

/// Waits until time stands, for so many milliseconds of the wall clock at most: `why` is `RUNS` where it does not by then.
///
/// # Safety
/// `debugger` comes from `vp_debugger_connect`, `into` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_wait(
    debugger: *mut vp_debugger,
    milliseconds: u32,
    into: *mut vp_stop,
) -> vp_status {
    // SAFETY: as the caller says.
    let Some(debugger) = (unsafe { debugger.as_mut() }) else { return vp_status::Error };
    let limit = Duration::from_millis(milliseconds.into());
    let wait = |session: &mut Client<StopReports>| match session.debug_state()?.stopped {
        Some(report) => Ok(Some(report)),
        None => session.wait(Some(limit), |session| session.handler_mut().stops.pop()),
    };
    debugger.call(wait, |report| {
        // SAFETY: as the caller says.
        unsafe { put(into, report.as_ref().map_or(RUNS, stop)) };
    })
}

/// Lets time go on by so many steps, and waits until it stands again: in lockstep that takes another session which lets it move.
///
/// # Safety
/// `debugger` comes from `vp_debugger_connect`, `into` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_step(
    debugger: *mut vp_debugger,
    by: vp_step_by,
    count: u32,
    into: *mut vp_stop,
) -> vp_status {
    // SAFETY: as the caller says.
    let Some(debugger) = (unsafe { debugger.as_mut() }) else { return vp_status::Error };
    let by = match by {
        vp_step_by::Cycle => StepBy::Cycle,
        vp_step_by::Event => StepBy::Event,
        vp_step_by::Layer => StepBy::Layer,
        vp_step_by::Access => StepBy::Access,
    };
    debugger.call(
        |session| session.debug_step(by, count),
        |report| {
            // SAFETY: as the caller says.
            unsafe { put(into, stop(&report)) };
        },
    )
}

/// Has time stand where something happens, and gives the breakpoint's number, from 1.
///
/// # Safety
/// `debugger` comes from `vp_debugger_connect`, `breakpoint` can be read and has a text as its name if it has one, `number` is NULL or can be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_break(
    debugger: *mut vp_debugger,
    breakpoint: *const vp_breakpoint,
    number: *mut u32,
) -> vp_status {
    // SAFETY: as the caller says.
    let (debugger, set) = unsafe { (debugger.as_mut(), breakpoint.as_ref()) };
    let (Some(debugger), Some(set)) = (debugger, set) else { return vp_status::Error };
    // SAFETY: as the caller says.
    let name = unsafe { text(set.name) };
    let breakpoint = match debugger.breakpoint(set, name) {
        Ok(breakpoint) => breakpoint,
        Err(why) => return debugger.fail(&why),
    };
    debugger.call(
        |session| session.debug_break(breakpoint),
        |set| {
            // SAFETY: as the caller says.
            unsafe { put(number, set) };
        },
    )
}

/// Takes a breakpoint away.
///
/// # Safety
/// `debugger` comes from `vp_debugger_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_clear(debugger: *mut vp_debugger, number: u32) -> vp_status {
    // SAFETY: as the caller says.
    let Some(debugger) = (unsafe { debugger.as_mut() }) else { return vp_status::Error };
    debugger.call(|session| session.debug_clear(number), drop)
}

/// Returns a register's value without the side effects of a read: in group 0 or 1, or, with -1, in the one that accesses go to.
///
/// # Safety
/// `debugger` comes from `vp_debugger_connect`, `value` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_register(
    debugger: *mut vp_debugger,
    address: u64,
    group: i32,
    value: *mut u32,
) -> vp_status {
    // SAFETY: as the caller says.
    let Some(debugger) = (unsafe { debugger.as_mut() }) else { return vp_status::Error };
    let Some(port) = debugger.session.first(PortKind::Csb) else {
        return debugger.fail("the platform has no registers");
    };
    let group = match group {
        -1 => None,
        0 | 1 => Some(u8::from(group == 1)),
        _ => {
            return debugger
                .fail(&format!("there is no group {group}: 0, 1, or -1 for the one that accesses go to"));
        }
    };
    debugger.call(
        |session| session.peek_registers(port, address, 1, group),
        |words| {
            // SAFETY: as the caller says.
            unsafe { put(value, words.first().copied().unwrap_or(0)) };
        },
    )
}

/// Reads bytes of a memory by its port's name, such as `dbb0`, beside the bus, whoever has it.
///
/// # Safety
/// `debugger` comes from `vp_debugger_connect`, `memory` is a text, `bytes` has room for `length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_memory(
    debugger: *mut vp_debugger,
    memory: *const c_char,
    address: u64,
    bytes: *mut u8,
    length: usize,
) -> vp_status {
    // SAFETY: as the caller says.
    let (debugger, name) = unsafe { (debugger.as_mut(), text(memory)) };
    let Some(debugger) = debugger else { return vp_status::Error };
    let port = match debugger.memory(name.unwrap_or_default()) {
        Ok(port) => port,
        Err(why) => return debugger.fail(&why),
    };
    if bytes.is_null() {
        return debugger.fail("the bytes are NULL");
    }
    // SAFETY: as the caller says.
    let into = unsafe { std::slice::from_raw_parts_mut(bytes, length) };
    debugger.call(|session| session.read_memory(port, address, into), drop)
}

/// Returns the platform's state: sessions and what each waits for, ports, units, the interrupt line, the last register accesses, and unfinished work. A line each,
/// a name, a space and what is known of it, as `vp status --json` has them (docs/inside.md). Of the server's reports of stops that no
/// call has wanted the latest 64 are kept; `stops.left_out` is there if there were more, with their number since the last call.
/// NULL: `vp_debugger_error` says why. The text stays valid until the next call of this function.
///
/// # Safety
/// `debugger` comes from `vp_debugger_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vp_debugger_inspect(debugger: *mut vp_debugger) -> *const c_char {
    // SAFETY: as the caller says.
    let Some(debugger) = (unsafe { debugger.as_mut() }) else { return std::ptr::null() };
    let mut lines = String::new();
    let looked = debugger.call(Client::inspect, |standing| {
        for counter in standing {
            let value = match counter.value {
                CounterValue::Count(count) => count.to_string(),
                CounterValue::Real(real) => real.to_string(),
                CounterValue::Text(text) => text.replace('\n', " "),
            };
            lines += &format!("{} {value}\n", counter.name);
        }
    });
    if looked != vp_status::Ok {
        return std::ptr::null();
    }
    let left_out = debugger.session.handler_mut().stops.take_left_out();
    if left_out > 0 {
        lines += &format!("stops.left_out {left_out}\n");
    }
    debugger.standing = c_text(&lines);
    debugger.standing.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_client::native::SessionId;

    #[test]
    fn reports_that_nobody_wants_are_left_out_but_for_the_latest() {
        let mut told = StopReports::default();
        for time in 0..100 {
            let (by, why) = (SessionId(1), StopWhy::Asked);
            told.stopped(StopReport { by, time: Time::ps(time), why, hits: Vec::new() });
        }
        assert_eq!(told.stops.pop().map(|report| report.time), Some(Time::ps(36)));
        assert_eq!(told.stops.take_left_out(), 36);
        assert_eq!(told.stops.take().1.len(), 63);
    }
}
