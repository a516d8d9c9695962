//! The guest's clock under `-icount`, where guest time is a count of instructions: read, waited for, and moved on.
//!
//! A device of a distribution's QEMU has no call to make an access take guest time. What QEMU adds to the instructions'
//! time for the pauses between them is a number in its own state, though: whoever adds to it in the middle of an access
//! lets the guest's time pass there. Where the number lies is found by what it does.

#![expect(unsafe_code, reason = "calls into QEMU, and a number of its own")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI64, Ordering};

use super::functions::functions;
use super::layouts::Object;
use super::symbols;

/// `QEMU_CLOCK_VIRTUAL`: the guest's time.
const VIRTUAL: c_int = 1;
/// Nanoseconds.
const SCALE: c_int = 1;
/// Bytes of QEMU's state of its timers in which the number is looked for.
const STATE: usize = 96;
/// The guest's time is not moved on beyond this, some 146 years: QEMU counts it in 63 bits.
const END: u64 = 1 << 62;
/// Nanoseconds that are added to find the number, for a moment: even, for the counter of a lock among its neighbours.
const TRIAL: i64 = 1 << 20;

functions! {
    /// Functions that the guest's time needs.
    Functions {
        /// sysemu/cpu-timers.h
        fn icount_get() -> i64;
        /// qemu/timer.h
        fn qemu_clock_get_ns(c_int) -> i64;
        /// qemu/timer.h
        fn qemu_clock_notify(c_int);
        /// qemu/timer.h
        fn timer_init_full(Object, Object, c_int, c_int, c_int, unsafe extern "C" fn(*mut c_void), *mut c_void);
        /// qemu/timer.h
        fn timer_mod_ns(Object, i64);
        /// qemu/timer.h
        fn timer_del(Object);
        /// qemu/config-file.h
        fn qemu_find_opts(*const c_char) -> Object;
        /// qemu/option.h
        fn qemu_opts_find(Object, *const c_char) -> Object;
        /// qemu/option.h
        fn qemu_opt_get(Object, *const c_char) -> *const c_char;
    }
}

/// Room for a `QEMUTimer`, which is less than 100 bytes in all versions.
#[repr(C, align(16))]
struct TimerStorage([u8; 256]);

/// The guest's clock, with an alarm of one device's own.
pub(crate) struct GuestClock {
    functions: Functions,
    /// Nanoseconds that QEMU adds to the time of the instructions.
    bias: &'static AtomicI64,
    timer: Object,
}

// SAFETY: QEMU's clock may be read by any thread, and its timers lock themselves.
unsafe impl Send for GuestClock {}
// SAFETY: as above.
unsafe impl Sync for GuestClock {}

impl GuestClock {
    /// The clock, if guest time counts instructions. On the main thread, before the guest runs.
    ///
    /// # Errors
    /// Why it cannot be moved on, for people.
    pub(crate) fn open() -> Result<Option<Self>, String> {
        if !symbols::counts_instructions() {
            return Ok(None);
        }
        let functions = Functions::look_up().map_err(|name| {
            format!("with -icount the platform's time is the guest's, but this QEMU does not show {name}")
        })?;
        if option(&functions, c"rr").is_some() {
            return Err("with -icount rr= nothing may come from outside, and a platform's device does".into());
        }
        let bias = find_bias(&functions).ok_or(
            "with -icount the platform's time is the guest's, but this QEMU counts it in a way that is not known",
        )?;
        let timer: Object = std::ptr::from_mut(Box::leak(Box::new(TimerStorage([0; 256])))).cast();
        Ok(Some(Self { functions, bias, timer }))
    }

    /// Has QEMU call `callback`, with the big lock, whenever the alarm's moment has come. Once, before the alarm is set.
    ///
    /// # Safety
    /// `opaque` must be what `callback` expects, for as long as the program runs.
    pub(crate) unsafe fn start_alarm(
        &self,
        callback: unsafe extern "C" fn(*mut c_void),
        opaque: *mut c_void,
    ) {
        let main = std::ptr::null_mut();
        // SAFETY: storage that is large enough and stays; no list of timers means the main one.
        unsafe { (self.functions.timer_init_full)(self.timer, main, VIRTUAL, SCALE, 0, callback, opaque) };
    }

    /// The guest's time in nanoseconds. On its own thread this is that of the instruction under way.
    pub(crate) fn now(&self) -> u64 {
        // SAFETY: a clock that there is.
        u64::try_from(unsafe { (self.functions.qemu_clock_get_ns)(VIRTUAL) }).unwrap_or(0)
    }

    /// Lets guest time pass, in the middle of an access and with the big lock. What falls due meanwhile does so before the
    /// guest's next instruction.
    pub(crate) fn spend(&self, nanoseconds: u64) {
        if nanoseconds == 0 {
            return;
        }
        let nanoseconds = nanoseconds.min(END.saturating_sub(self.now()));
        self.bias.fetch_add(i64::try_from(nanoseconds).unwrap_or(0), Ordering::SeqCst);
        // SAFETY: a clock that there is; whoever runs the guest looks at its deadlines anew.
        unsafe { (self.functions.qemu_clock_notify)(VIRTUAL) };
    }

    /// Sets the alarm to a moment, in nanoseconds, or takes it back.
    pub(crate) fn set_alarm(&self, at: Option<u64>) {
        // SAFETY: a timer that was initialised.
        unsafe {
            match at.and_then(|at| i64::try_from(at).ok()) {
                Some(at) => (self.functions.timer_mod_ns)(self.timer, at),
                None => (self.functions.timer_del)(self.timer),
            }
        }
    }

    /// Returns which of `-icount`'s options gives the wall clock a part in the guest's time, if one does.
    pub(crate) fn host_time(&self) -> Option<&'static str> {
        let text = |name| option(&self.functions, name);
        if text(c"shift").is_none_or(|shift| shift == "auto") {
            return Some("shift=auto");
        }
        let sleeps =
            text(c"sleep").is_none_or(|sleep| !["off", "no", "false", "n"].contains(&sleep.as_str()));
        sleeps.then_some("sleep=on")
    }
}

/// One of `-icount`'s options, if it was given.
fn option(functions: &Functions, name: &CStr) -> Option<String> {
    // SAFETY: options of a name that all versions have; the texts are the options' own.
    unsafe {
        let list = (functions.qemu_find_opts)(c"icount".as_ptr());
        let options = (functions.qemu_opts_find)(list, std::ptr::null());
        if options.is_null() {
            return None;
        }
        let text = (functions.qemu_opt_get)(options, name.as_ptr());
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}

/// The number in QEMU's state that is added to the instructions' time: what is added to it comes out as time. With `shift=0`
/// that holds for the number of instructions too, which lies behind it in all versions.
fn find_bias(functions: &Functions) -> Option<&'static AtomicI64> {
    let state = symbols::find("timers_state").cast::<u8>();
    if state.is_null() {
        return None;
    }
    (0..STATE).step_by(size_of::<i64>()).find_map(|offset| {
        // SAFETY: inside QEMU's structure, on the main thread before the guest runs, so that nobody else looks; the old
        // value is back at once.
        let moved = unsafe {
            let place = state.add(offset).cast::<i64>();
            let before = (functions.icount_get)();
            place.write(place.read().wrapping_add(TRIAL));
            let after = (functions.icount_get)();
            place.write(place.read().wrapping_sub(TRIAL));
            after.wrapping_sub(before)
        };
        // SAFETY: an aligned number that lives as long as the program, and that QEMU accesses atomically.
        (moved == TRIAL).then(|| unsafe { AtomicI64::from_ptr(state.add(offset).cast()) })
    })
}
