//! Entries of the library that QEMU finds: the plugin interface's variable and function, and what runs when it is loaded.

#![expect(unsafe_code, reason = "names and pointers of the plugin interface")]
// The interface's own spelling.
#![allow(non_upper_case_globals)]

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::device;
use crate::options::Options;
use crate::qemu::board::UnknownOption;
use crate::qemu::layouts::PluginInfo;
use crate::qemu::{Qemu, symbols};
use crate::report::{guarded, say};

/// The newest QEMU that the structures were seen in.
const NEWEST_SEEN: [i64; 2] = [11, 1];
/// The oldest.
const OLDEST_SEEN: [i64; 2] = [7, 2];
/// Says which version of the plugin interface to claim, should the guess ever be wrong.
const VERSION_VARIABLE: &str = "VP_QEMU_PLUGIN_VERSION";

/// The version of the plugin interface that we need. QEMU reads it after loading and wants one from a range; nothing of
/// the interface but its entry is used, so [`choose_version`] claims whatever this QEMU takes.
// SAFETY: the name that QEMU looks for, and no other's.
#[unsafe(no_mangle)]
pub(crate) static qemu_plugin_version: AtomicI32 = AtomicI32::new(1);

// SAFETY: the section holds addresses of functions that are called once at load time, of this type.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = choose_version;

extern "C" fn choose_version() {
    guarded("loading", (), || {
        let asked = std::env::var(VERSION_VARIABLE).ok().and_then(|text| text.parse().ok());
        let first = symbols::has("qemu_plugin_n_vcpus");
        let version = asked.unwrap_or_else(|| interface_version(first, symbols::version().map(|it| it.0)));
        qemu_plugin_version.store(version, Ordering::Relaxed);
    });
}

/// The newest version of the plugin interface that a QEMU knows. `first` says that it has a function which only the first
/// version had.
fn interface_version(first: bool, qemu: Option<[i64; 3]>) -> i32 {
    match qemu {
        _ if first => 1,
        None => 1,
        Some([major, minor, _]) => match (major, minor) {
            (..=8, _) | (9, 0) => 2,
            (9, 1) => 3,
            (9, _) | (10, 0) => 4,
            (10, _) => 5,
            (11, 0) => 6,
            _ => 7,
        },
    }
}

/// QEMU's call after loading: 0, or the start ends.
///
/// # Safety
/// Only for QEMU, with the arguments of the plugin interface.
// SAFETY: the name that QEMU looks for, and no other's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    info: *const PluginInfo,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    guarded("the start", 1, || {
        // SAFETY: as many C strings as QEMU says, and its own description of itself.
        let (target, arguments) = unsafe {
            let count = usize::try_from(count).unwrap_or(0);
            let text = |text| CStr::from_ptr(text).to_string_lossy().into_owned();
            let texts = (0..count).map(|at| text(*arguments.add(at)));
            let target = info.as_ref().filter(|info| info.system_emulation);
            (target.map(|info| text(info.target_name)), texts.collect::<Vec<_>>())
        };
        match install(id, target.as_deref(), &arguments) {
            Ok(()) => 0,
            Err(why) => {
                say(why);
                1
            }
        }
    })
}

/// `target` is the processor of the machine; of programs that emulate no machine there is none.
fn install(id: u64, target: Option<&str>, arguments: &[String]) -> Result<(), String> {
    let Some(target) = target else {
        return Err("this is for a QEMU that emulates a whole machine, such as qemu-system-aarch64".into());
    };
    let qemu = Qemu::load().map_err(|missing| {
        let (count, first) = (missing.len(), missing.first().copied().unwrap_or_default());
        format!(
            "this QEMU does not show {count} of the functions needed ({first}, …): take one that is built with modules, as \
             Debian's is"
        )
    })?;
    check_version(symbols::version())?;
    device::set_target(target);
    device::register(qemu);
    // Where there is none, who asks for one is told why.
    _ = device::register_function(qemu);
    device::watch_exit(qemu, id);
    device::watch_machine(qemu);
    if let Some(UnknownOption { kind, key }) = qemu.unknown_option(&[device::TYPE, device::FUNCTION]) {
        let refused = match kind == device::FUNCTION {
            true => device::check_option(&key),
            false => Options::default().set(&key, "").map_err(|error| error.to_string()),
        };
        refused.map_err(|why| format!("-device {kind}: {why}"))?;
    }
    if arguments.is_empty() {
        return Ok(());
    }
    let mut options = Options::default();
    let mut pairs = Vec::new();
    for argument in arguments {
        let (key, value) = argument.split_once('=').unwrap_or((argument, ""));
        options.set(key, value).map_err(|error| error.to_string())?;
        pairs.push((key.to_owned(), value.to_owned()));
    }
    // A PCI function's memory accesses are the driver's to allow, so they stay QEMU's to carry out.
    if options.may_share() && options.ranges.is_none() && device::may_be_node(qemu, target) {
        qemu.share_ram();
    }
    match device::add_automatic(qemu, pairs) {
        true => Ok(()),
        false => Err("QEMU does not take the device".into()),
    }
}

fn check_version(version: Option<([i64; 3], String)>) -> Result<(), String> {
    let Some(([major, minor, micro], package)) = version else {
        return Err("this QEMU does not say its version".into());
    };
    let name = format!("{major}.{minor}.{micro}");
    if [major, minor] < OLDEST_SEEN {
        let [major, minor] = OLDEST_SEEN;
        return Err(format!("this is QEMU {name}: take {major}.{minor} or newer"));
    }
    if [major, minor] > NEWEST_SEEN {
        let [major, minor] = NEWEST_SEEN;
        say(format_args!("QEMU {name} {package} is newer than any tried ({major}.{minor})"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_the_plugin_interface_that_each_qemu_takes() {
        assert_eq!(interface_version(true, Some([7, 2, 22])), 1);
        assert_eq!(interface_version(false, Some([9, 0, 0])), 2);
        assert_eq!(interface_version(false, Some([10, 0, 2])), 4);
        assert_eq!(interface_version(false, Some([11, 1, 3])), 7);
        assert_eq!(interface_version(false, Some([12, 0, 0])), 7);
    }

    #[test]
    fn refuses_a_qemu_that_is_too_old() {
        let refused = check_version(Some(([6, 2, 0], String::new()))).unwrap_err();
        assert_eq!(refused, "this is QEMU 6.2.0: take 7.2 or newer");
        assert!(check_version(Some(([7, 2, 0], String::new()))).is_ok());
        assert!(check_version(None).is_err());
    }
}
