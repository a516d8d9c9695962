//! Things that the machine has already: what lies at an address, who drives an interrupt, what is loaded into RAM, and what the
//! user says of devices that are not built yet.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;

use super::layouts::{Errors, Notifier, Object};
use super::{Handle, Qemu, c};

/// The outputs of devices: those that `sysbus_init_irq` makes (hw/sysbus.h), and plain ones (hw/qdev-core.h).
const OUTPUTS: [&str; 2] = ["sysbus-irq", "unnamed-gpio-out"];

/// Bytes of the header of an arm64 Linux image (Documentation/arch/arm64/booting.rst).
const HEADER: usize = 64;

/// Something that QEMU puts into RAM before the guest begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// A file's path, or QEMU's name for what is no file.
    pub(crate) name: String,
    /// Guest-physical addresses.
    pub(crate) range: Range<u64>,
}

/// A `-device` that the user has asked for and that has an option which its type does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownOption {
    /// The device's type.
    pub(crate) kind: String,
    /// The option.
    pub(crate) key: String,
}

impl Qemu {
    /// The first thing in a range of guest-physical addresses: where it begins, and QEMU's name for it.
    pub(crate) fn thing_at(&self, range: &Range<u64>) -> Option<(u64, String)> {
        let section = self.section(range.start, range.end - range.start)?;
        // SAFETY: a region of the machine's, whose name is a C string of its own.
        let name = unsafe { text((self.symbols.memory_region_name)(section.region)) };
        Some((section.offset_within_address_space, name.unwrap_or_else(|| "a device".to_owned())))
    }

    /// The addresses of RAM that is no device's, such as flash is: what a kernel takes for its memory.
    pub(crate) fn main_ram(&self) -> Vec<Range<u64>> {
        let is_main = |range: &Range<u64>| {
            let Some(section) = self.section(range.start, range.end - range.start) else { return false };
            // SAFETY: a region of the machine's; its owner, if any, is an object.
            unsafe {
                let owner = (self.symbols.memory_region_owner)(section.region);
                owner.is_null() || (self.symbols.object_dynamic_cast)(owner, c"device".as_ptr()).is_null()
            }
        };
        self.ram().into_iter().filter(is_main).collect()
    }

    /// The type of the device that drives an interrupt line already.
    pub(crate) fn driver_of(&self, line: Handle) -> Option<String> {
        struct Search<'a> {
            qemu: &'a Qemu,
            line: Object,
            found: Option<String>,
        }
        unsafe extern "C" fn look(object: Object, search: *mut c_void) -> c_int {
            // SAFETY: the pointer passed on below, which nobody else uses meanwhile; the object is QEMU's, and asked for
            // properties that it has.
            unsafe {
                let search = &mut *search.cast::<Search<'_>>();
                let symbols = &search.qemu.symbols;
                for output in OUTPUTS {
                    for number in 0_u32.. {
                        let name = c(&format!("{output}[{number}]"));
                        if (symbols.object_property_find)(object, name.as_ptr()).is_null() {
                            break;
                        }
                        let none = std::ptr::null_mut();
                        if (symbols.object_property_get_link)(object, name.as_ptr(), none) == search.line {
                            search.found = text((symbols.object_get_typename)(object));
                            return 1;
                        }
                    }
                }
            }
            0
        }
        let mut search = Search { qemu: self, line: line.0, found: None };
        // SAFETY: the callback's own type; on the main thread, so that the machine stays as it is.
        unsafe {
            let root = (self.symbols.object_get_root)();
            (self.symbols.object_child_foreach_recursive)(root, look, (&raw mut search).cast());
        }
        search.found
    }

    /// Returns what is to be loaded into RAM, as far as it is known by now: the kernel and its initrd once the board is built, the
    /// device tree and what `-device loader` names once the machine is complete.
    pub(crate) fn loaded(&self) -> Vec<Loaded> {
        // SAFETY: a query without arguments; its answer has one text, and is left to itself: this is asked for seldom.
        let roms = unsafe {
            let answer = (self.symbols.qmp_x_query_roms)(std::ptr::null_mut());
            if answer.is_null() { None } else { text(*answer) }
        };
        let mut loaded = roms.as_deref().map(parse_roms).unwrap_or_default();
        for Loaded { range, .. } in &mut loaded {
            // SAFETY: so many bytes of what is to be loaded, or null; nothing is loaded meanwhile.
            let image = unsafe {
                let head = (self.symbols.rom_ptr)(range.start, HEADER);
                if head.is_null() { None } else { image_size(std::slice::from_raw_parts(head, HEADER)) }
            };
            range.end = range.end.max(range.start.saturating_add(image.unwrap_or(0)));
        }
        loaded
    }

    /// Has QEMU call `callback` when the machine is complete, before the guest begins.
    pub(crate) fn on_machine_done(&self, callback: unsafe extern "C" fn(*mut Notifier, *mut c_void)) {
        let none = std::ptr::null_mut();
        let notifier = Box::leak(Box::new(Notifier { notify: callback, next: none, previous: none }));
        // SAFETY: a notifier that stays; the last to be added is called first, so the board's own comes before this one.
        unsafe { (self.symbols.qemu_add_machine_init_done_notifier)(notifier) };
    }

    /// The first option that the user has given a `-device` of one of these types, and that the type does not know.
    pub(crate) fn unknown_option(&self, kinds: &[&str]) -> Option<UnknownOption> {
        struct Search<'a> {
            qemu: &'a Qemu,
            kinds: &'a [&'a str],
            class: Object,
            kind: String,
            found: Option<UnknownOption>,
        }
        unsafe extern "C" fn look_at_device(search: *mut c_void, options: Object, errors: Errors) -> c_int {
            // SAFETY: the pointer passed on below, which nobody else uses until the options are gone through; these are QEMU's.
            unsafe {
                let known = &mut *search.cast::<Search<'_>>();
                let symbols = &known.qemu.symbols;
                let Some(kind) = text((symbols.qemu_opt_get)(options, c"driver".as_ptr())) else { return 0 };
                if !known.kinds.contains(&kind.as_str()) {
                    return 0;
                }
                (known.class, known.kind) = ((symbols.object_class_by_name)(c(&kind).as_ptr()), kind);
                match known.class.is_null() {
                    true => 0,
                    false => (symbols.qemu_opt_foreach)(options, look_at_option, search, errors),
                }
            }
        }
        unsafe extern "C" fn look_at_option(
            search: *mut c_void,
            name: *const c_char,
            _value: *const c_char,
            _errors: Errors,
        ) -> c_int {
            // SAFETY: as above; nobody else uses the search meanwhile.
            unsafe {
                let search = &mut *search.cast::<Search<'_>>();
                let is_known =
                    !(search.qemu.symbols.object_class_property_find)(search.class, name).is_null();
                match text(name) {
                    // What `-device` takes for any device (system/qdev-monitor.c).
                    Some(key) if !is_known && !["driver", "bus", "id"].contains(&key.as_str()) => {
                        search.found = Some(UnknownOption { kind: search.kind.clone(), key });
                        1
                    }
                    _ => 0,
                }
            }
        }
        let (class, none) = (std::ptr::null_mut(), std::ptr::null_mut());
        let mut search = Search { qemu: self, kinds, class, kind: String::new(), found: None };
        // SAFETY: the callbacks' own type, on the main thread while devices are still to be built.
        unsafe {
            let list = (self.symbols.qemu_find_opts)(c"device".as_ptr());
            if !list.is_null() {
                (self.symbols.qemu_opts_foreach)(list, look_at_device, (&raw mut search).cast(), none);
            }
        }
        search.found
    }
}

/// # Safety
/// `text` is a C string, or null.
pub(super) unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: by the caller.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// The bytes of memory that an arm64 Linux image needs, which are more than its file has, if these are its first.
fn image_size(head: &[u8]) -> Option<u64> {
    let size = head.get(16..24)?.try_into().ok()?;
    (head.get(56..60)? == b"ARM\x64").then(|| u64::from_le_bytes(size))
}

/// The lines of `info roms` (hw/core/loader.c) that are of RAM: `addr=0000000040000000 size=0x000028 mem=ram name="bootloader"`.
fn parse_roms(roms: &str) -> Vec<Loaded> {
    let parse = |line: &str| {
        let (address, rest) = line.strip_prefix("addr=")?.split_once(" size=0x")?;
        let (size, rest) = rest.split_once(" mem=ram name=\"")?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let (base, size) = (number(address)?, number(size)?);
        let name = rest.trim_end().trim_end_matches('"').to_owned();
        (size > 0).then_some(Loaded { name, range: base..base.checked_add(size)? })
    };
    roms.lines().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_says_itself_how_much_memory_it_needs() {
        let mut head = [0; HEADER];
        head[16..24].copy_from_slice(&0x0123_4567_u64.to_le_bytes());
        assert_eq!(image_size(&head), None);
        head[56..60].copy_from_slice(b"ARM\x64");
        assert_eq!(image_size(&head), Some(0x0123_4567));
        assert_eq!(image_size(&head[..20]), None);
    }

    #[test]
    fn what_is_loaded_into_ram_is_read_from_qemus_own_list() {
        let roms = "\
addr=0000000000000000 size=0x001000 mem=rom name=\"flash\"
addr=0000000040000000 size=0x000028 mem=ram name=\"bootloader\"
/rom@etc/table-loader size=0x001000 name=\"etc/table-loader\"
addr=0000000048000000 size=0x11a0f3 mem=ram name=\"/a \\\" b\"
";
        let loaded = |name: &str, range| Loaded { name: name.to_owned(), range };
        assert_eq!(
            parse_roms(roms),
            [loaded("bootloader", 0x4000_0000..0x4000_0028), loaded("/a \\\" b", 0x4800_0000..0x4811_a0f3)]
        );
    }
}
