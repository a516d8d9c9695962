//! A device's part of what QEMU saves of a machine: for `savevm`, and for migration.
//!
//! QEMU takes a description of the part, a `VMStateDescription`, and calls a function for each of its fields. Versions have moved
//! and renamed what is in such descriptions. So the description is one of QEMU's own, `vmstate_fifo8`, copied, with other names
//! and with a field whose functions are ours. That QEMU calls these as expected, and goes on to the next field, is tried with a file
//! in memory before a device relies on it.

#![expect(unsafe_code, reason = "calls into QEMU, and copies of its structures")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::functions::functions;
use super::layouts::{Errors, Object};
use super::{Handle, Qemu, c, own_memory, symbols};
use crate::report::guarded;

/// `VMSTATE_INSTANCE_ID_ANY`: QEMU numbers the parts of one name.
const ANY: u32 = u32::MAX;
/// No other number by which the part was known once.
const NO_ALIAS: c_int = -1;
/// Bytes of a description in which its fields are looked for.
const DESCRIPTION: usize = 256;
/// Number of the word of a description from which on functions are.
const HOOKS: usize = 3;
/// Words of the fields of the description that is copied.
const FIELDS: usize = 96;
/// Words of what the fields describe, all 0. More than the description that is copied has.
const DESCRIBED: usize = 64;
/// Bytes that are read from QEMU's file at once.
const PIECE: usize = 64 << 10;
/// Bytes of a state that is taken at most.
const MOST: u64 = 1 << 30;
/// `DIRTY_MEMORY_MIGRATION`, as a bit: whoever writes RAM has to tell migration.
const LOGGED_FOR_MIGRATION: u8 = 1 << 2;
/// `-EINVAL`.
const REFUSED: c_int = -22;

functions! {
    /// Functions that saving a device needs.
    Functions {
        /// migration/vmstate.h
        fn vmstate_register_with_alias_id(
            Object,
            u32,
            *const c_void,
            *mut c_void,
            c_int,
            c_int,
            Errors,
        ) -> c_int;
        /// migration/vmstate.h
        fn vmstate_unregister(Object, *const c_void, *mut c_void);
        /// migration/vmstate.h. Older versions have no place for errors, and do not look at it.
        fn vmstate_save_state(Object, *const c_void, *mut c_void, Object, Errors) -> c_int;
        /// migration/vmstate.h, as above.
        fn vmstate_load_state(Object, *const c_void, *mut c_void, c_int, Errors) -> c_int;
        /// migration/qemu-file-types.h
        fn qemu_put_buffer(Object, *const u8, usize);
        /// migration/qemu-file-types.h
        fn qemu_get_buffer(Object, *mut u8, usize) -> usize;
        /// migration/qemu-file.h
        fn qemu_file_new_output(Object) -> Object;
        /// migration/qemu-file.h
        fn qemu_file_new_input(Object) -> Object;
        /// migration/qemu-file.h
        fn qemu_fflush(Object);
        /// migration/qemu-file.h
        fn qemu_fclose(Object) -> c_int;
        /// io/channel-buffer.h
        fn qio_channel_buffer_new(usize) -> Object;
        /// io/channel.h
        fn qio_channel_io_seek(Object, i64, c_int, Errors) -> i64;
        /// sysemu/runstate.h
        fn qemu_add_vm_change_state_handler(
            unsafe extern "C" fn(*mut c_void, bool, c_int),
            *mut c_void,
        ) -> Object;
        /// qapi/util.h
        fn qapi_enum_lookup(*const c_void, c_int) -> *const c_char;
        /// qapi/error.h
        fn error_report_err(Object);
        /// migration/misc.h
        fn migration_in_postcopy() -> bool;
        /// exec/memory.h
        fn memory_region_get_dirty_log_mask(Object) -> u8;
        /// exec/memory.h. The attributes come in one register, whatever their size.
        fn address_space_map(Object, u64, *mut u64, bool, u64) -> *mut c_void;
        /// exec/memory.h
        fn address_space_unmap(Object, *mut c_void, u64, bool, u64);
        /// hw/pci/pci.h
        fn pci_device_save(Object, Object, Errors);
        /// hw/pci/pci.h
        fn pci_device_load(Object, Object, Errors) -> c_int;
    }
}

/// A device whose state is saved with the machine's. QEMU calls with the big lock.
pub(crate) trait Stateful: Send + Sync {
    /// The state, as QEMU keeps it.
    ///
    /// # Errors
    /// Why there is none, for people. QEMU does not save the machine then.
    fn save(&self) -> Result<Vec<u8>, String>;

    /// Takes up a state that was saved.
    ///
    /// # Errors
    /// Why it is none of this device, for people. QEMU does not load the machine then.
    fn load(&self, state: &[u8]) -> Result<(), String>;
}

/// A device's part of the machine's state, which QEMU knows of.
pub(crate) struct Section {
    saving: &'static Saving,
    device: &'static dyn Stateful,
    /// The function whose configuration is saved with it.
    function: Option<Handle>,
    /// QEMU's name for who it belongs to: the function.
    owner: Option<Handle>,
    description: &'static [usize],
    /// Name of the part, which the description refers to.
    _name: &'static CStr,
    described: &'static [AtomicU64; DESCRIBED],
}

/// Saving as this QEMU has it.
pub(crate) struct Saving {
    functions: Functions,
    template: Template,
    /// Names of the machine's states: `RunState_lookup`.
    states: Handle,
}

/// A description of QEMU's own, found out about.
struct Template {
    /// Words of the description up to the pointer to its fields.
    description: Vec<usize>,
    /// Words of the last two fields, and of the end behind them.
    fields: Vec<usize>,
    /// Number of words of a field.
    field: usize,
    /// Number of the word in a field that points to its functions.
    info: usize,
    kind: InfoKind,
}

/// Form of a field's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InfoKind {
    /// `get` and `put`, which give 0 when all is well.
    Plain,
    /// Behind them `load` and `save`, which have a place for errors and give true when all is well: from 11.1 on.
    WithErrors,
}

/// `VMStateInfo` of migration/vmstate.h. Older versions end behind `put`.
#[repr(C)]
struct Info {
    name: *const c_char,
    get: Option<unsafe extern "C" fn(Object, *mut c_void, usize, *const usize) -> c_int>,
    put: Option<unsafe extern "C" fn(Object, *mut c_void, usize, *const usize, Object) -> c_int>,
    load: Option<unsafe extern "C" fn(Object, *mut c_void, usize, *const usize, Errors) -> bool>,
    save: Option<unsafe extern "C" fn(Object, *mut c_void, usize, *const usize, Object, Errors) -> bool>,
}

// SAFETY: a name and functions that live as long as the program.
unsafe impl Sync for Info {}

static PLAIN: Info = Info { name: NAME.as_ptr(), get: Some(get), put: Some(put), load: None, save: None };
static WITH_ERRORS: Info =
    Info { name: NAME.as_ptr(), get: None, put: None, load: Some(load), save: Some(save) };
const NAME: &CStr = c"vp-state";

static SAVING: OnceLock<Result<Saving, String>> = OnceLock::new();
/// The parts, by the address of the field whose functions are ours.
static SECTIONS: Mutex<Option<HashMap<usize, &'static Section>>> = Mutex::new(None);

impl Saving {
    /// Finds out how this QEMU saves devices, and tries it, once.
    ///
    /// # Errors
    /// What is missing or unlike what is known, for people.
    pub(crate) fn find() -> Result<&'static Saving, String> {
        let found = SAVING.get_or_init(|| {
            let functions = Functions::look_up().map_err(|name| format!("this QEMU does not show {name}"))?;
            let states = symbols::find("RunState_lookup");
            let template = Template::find().filter(|_| !states.is_null());
            let template = template.ok_or("this QEMU describes what it saves in a way that is not known")?;
            Ok(Saving { functions, template, states: Handle(states) })
        });
        let saving = found.as_ref().map_err(Clone::clone)?;
        static TRIED: OnceLock<bool> = OnceLock::new();
        match TRIED.get_or_init(|| saving.works()) {
            true => Ok(saving),
            false => Err("this QEMU saves devices in a way that is not known".to_owned()),
        }
    }

    /// Makes a part of the machine's state, which QEMU does not know of yet.
    fn section(
        &'static self,
        name: &str,
        owner: Option<Handle>,
        function: Option<Handle>,
        device: &'static dyn Stateful,
    ) -> &'static Section {
        let Template { description, fields, field, info, kind } = &self.template;
        let name: &'static CStr = Box::leak::<'static>(c(name).into_boxed_c_str());
        let mut fields = fields.clone();
        fields[0] = NAME.as_ptr() as usize;
        fields[*info] = std::ptr::from_ref(match kind {
            InfoKind::Plain => &PLAIN,
            InfoKind::WithErrors => &WITH_ERRORS,
        }) as usize;
        fields[*field] = c"end".as_ptr() as usize;
        let fields: &'static [usize] = Vec::leak(fields);
        let mut description = description.clone();
        description[0] = name.as_ptr() as usize;
        if let Some(last) = description.last_mut() {
            *last = fields.as_ptr() as usize;
        }
        // No sub-sections, and whatever else may be behind.
        description.extend([0; 8]);
        let description = Vec::leak(description);
        let described = Box::leak(Box::new([const { AtomicU64::new(0) }; DESCRIBED]));
        let section = Section { saving: self, device, function, owner, description, _name: name, described };
        let section: &'static Section = Box::leak(Box::new(section));
        sections(|all| all.insert(fields.as_ptr() as usize, section));
        section
    }

    /// Returns true if QEMU saves and loads a part with the functions that are given it, and goes on to what comes behind when
    /// these say that all is well.
    fn works(&'static self) -> bool {
        struct Trial(Mutex<Vec<u8>>);
        impl Stateful for Trial {
            fn save(&self) -> Result<Vec<u8>, String> {
                Ok(TRIAL.to_vec())
            }
            fn load(&self, state: &[u8]) -> Result<(), String> {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(state);
                Ok(())
            }
        }
        const TRIAL: &[u8] = b"a state";
        const BEHIND: u64 = 0x0102_0304_0102_0304;
        let trial: &'static Trial = Box::leak(Box::new(Trial(Mutex::default())));
        let section = self.section("vp-trial", None, None, trial);
        let set = |value| section.described.iter().for_each(|word| word.store(value, Ordering::Relaxed));
        set(BEHIND);
        let whole = [&(TRIAL.len() as u64).to_be_bytes(), TRIAL, &[1, 2, 3, 4]].concat();
        let saved = section.saved_in_memory(whole.len());
        set(0);
        section.load_from_memory(&saved);
        let behind: u64 = section.described.iter().map(|word| word.load(Ordering::Relaxed)).sum();
        let loaded = trial.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        sections(|all| all.retain(|_, other| !std::ptr::eq(*other, section)));
        let is_number = behind & 0xffff_ffff == BEHIND & 0xffff_ffff || behind >> 32 == BEHIND >> 32;
        saved == whole && loaded == TRIAL && is_number
    }

    /// Returns QEMU's word for a state of the machine.
    pub(crate) fn state(&self, number: c_int) -> String {
        // SAFETY: QEMU's own table, and a number that QEMU has given; the text is the table's.
        unsafe {
            let text = (self.functions.qapi_enum_lookup)(self.states.0, number);
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        }
    }

    /// Returns true if the machine is being migrated, and its memory follows later.
    pub(crate) fn is_in_postcopy(&self) -> bool {
        // SAFETY: asks only.
        unsafe { (self.functions.migration_in_postcopy)() }
    }

    /// Returns true if a migration under way has to be told of who writes RAM.
    pub(crate) fn is_logged(&self, qemu: &Qemu) -> bool {
        let mut is_logged = false;
        qemu.each_block(|_, region, _| {
            if !region.is_null() {
                // SAFETY: the region of a block of RAM.
                let mask = unsafe { (self.functions.memory_region_get_dirty_log_mask)(region) };
                is_logged |= mask & LOGGED_FOR_MIGRATION != 0;
            }
        });
        is_logged
    }

    /// Tells a migration under way that these parts of RAM may have been written by somebody that QEMU does not see.
    ///
    /// # Safety
    /// The ranges are RAM and nothing else, and the big lock is held.
    pub(crate) unsafe fn note_written(&self, qemu: &Qemu, ranges: &[Range<u64>]) {
        let memory = qemu.symbols.address_space_memory;
        for range in ranges {
            let mut from = range.start;
            while from < range.end {
                let mut length = range.end - from;
                // SAFETY: RAM, which is mapped as it lies in QEMU; unmapping it as written is how QEMU's devices tell of DMA.
                unsafe {
                    let at = (self.functions.address_space_map)(memory, from, &raw mut length, true, 0);
                    if at.is_null() || length == 0 {
                        break;
                    }
                    (self.functions.address_space_unmap)(memory, at, length, true, length);
                }
                from += length;
            }
        }
    }
}

impl Section {
    /// Makes a device's state a part of the machine's, under a name of its own; of a PCI function, with its configuration.
    ///
    /// # Errors
    /// Why QEMU does not take it, for people.
    pub(crate) fn register(
        name: &str,
        function: Option<Handle>,
        device: &'static dyn Stateful,
    ) -> Result<&'static Section, String> {
        let saving = Saving::find()?;
        let section = saving.section(name, function, function, device);
        // SAFETY: a description of the form that QEMU's own have, and what it describes; both stay.
        let registered = unsafe {
            (saving.functions.vmstate_register_with_alias_id)(
                section.owner(),
                ANY,
                section.description.as_ptr().cast(),
                section.opaque(),
                NO_ALIAS,
                0,
                std::ptr::null_mut(),
            )
        };
        match registered {
            0 => Ok(section),
            _ => Err(format!("QEMU does not take {name} into the machine's state")),
        }
    }

    /// Takes the part out of the machine's state.
    ///
    /// # Safety
    /// The device is leaving the machine, and the big lock is held.
    pub(crate) unsafe fn unregister(&self) {
        // SAFETY: registered with these.
        unsafe {
            let description = self.description.as_ptr().cast();
            (self.saving.functions.vmstate_unregister)(self.owner(), description, self.opaque());
        }
        sections(|all| all.retain(|_, other| !std::ptr::eq(*other, self)));
    }

    /// Has QEMU call `callback`, with the big lock, when the machine stops and when it goes on.
    ///
    /// # Safety
    /// `opaque` must be what `callback` expects, for as long as the program runs.
    pub(crate) unsafe fn watch_machine(
        &self,
        callback: unsafe extern "C" fn(*mut c_void, bool, c_int),
        opaque: *mut c_void,
    ) {
        // SAFETY: by the caller.
        unsafe { (self.saving.functions.qemu_add_vm_change_state_handler)(callback, opaque) };
    }

    /// Saving as this QEMU has it.
    pub(crate) fn saving(&self) -> &'static Saving {
        self.saving
    }

    fn owner(&self) -> Object {
        self.owner.map_or(std::ptr::null_mut(), |Handle(object)| object)
    }

    fn opaque(&self) -> *mut c_void {
        std::ptr::from_ref(self.described).cast_mut().cast()
    }

    /// Saves into a file in memory, and returns what is there: `most` bytes, or more if there are more.
    fn saved_in_memory(&self, most: usize) -> Vec<u8> {
        let functions = &self.saving.functions;
        let mut saved = vec![0; most + 1];
        let none = std::ptr::null_mut;
        // SAFETY: a channel and two files of it, which are closed in the end; no writer of descriptions is given.
        let length = unsafe {
            let channel = (functions.qio_channel_buffer_new)(PIECE);
            let output = (functions.qemu_file_new_output)(channel);
            let description = self.description.as_ptr().cast();
            (functions.vmstate_save_state)(output, description, self.opaque(), none(), none().cast());
            (functions.qemu_fflush)(output);
            (functions.qio_channel_io_seek)(channel, 0, libc::SEEK_SET, none().cast());
            let input = (functions.qemu_file_new_input)(channel);
            let length = (functions.qemu_get_buffer)(input, saved.as_mut_ptr(), saved.len());
            (functions.qemu_fclose)(input);
            (functions.qemu_fclose)(output);
            length
        };
        saved.truncate(length);
        saved
    }

    /// Loads from a file in memory.
    fn load_from_memory(&self, saved: &[u8]) {
        let functions = &self.saving.functions;
        let none = std::ptr::null_mut;
        // SAFETY: as above; the version is that of the description, which QEMU's own have as their first.
        unsafe {
            let channel = (functions.qio_channel_buffer_new)(PIECE);
            let output = (functions.qemu_file_new_output)(channel);
            (functions.qemu_put_buffer)(output, saved.as_ptr(), saved.len());
            (functions.qemu_fflush)(output);
            (functions.qio_channel_io_seek)(channel, 0, libc::SEEK_SET, none());
            let input = (functions.qemu_file_new_input)(channel);
            let description = self.description.as_ptr().cast();
            (functions.vmstate_load_state)(input, description, self.opaque(), 1, none());
            (functions.qemu_fclose)(input);
            (functions.qemu_fclose)(output);
        }
    }

    /// Writes the part into QEMU's file.
    fn write(&self, file: Object) -> Result<(), String> {
        let functions = &self.saving.functions;
        let state = self.device.save()?;
        // SAFETY: QEMU's file, and the function, which is in the machine; bytes that are there.
        unsafe {
            if let Some(Handle(function)) = self.function {
                (functions.pci_device_save)(function, file, std::ptr::null_mut());
            }
            let length = (state.len() as u64).to_be_bytes();
            (functions.qemu_put_buffer)(file, length.as_ptr(), length.len());
            (functions.qemu_put_buffer)(file, state.as_ptr(), state.len());
        }
        Ok(())
    }

    /// Reads the part from QEMU's file.
    fn read(&self, file: Object) -> Result<(), String> {
        let functions = &self.saving.functions;
        let get = |into: &mut [u8]| {
            // SAFETY: QEMU's file, and room for so many bytes.
            let got = unsafe { (functions.qemu_get_buffer)(file, into.as_mut_ptr(), into.len()) };
            match got == into.len() {
                true => Ok(()),
                false => Err("the device's state is cut short".to_owned()),
            }
        };
        if let Some(Handle(function)) = self.function {
            // SAFETY: as above. Without a place for errors it says no with a number, which is negative.
            let loaded = unsafe { (functions.pci_device_load)(function, file, std::ptr::null_mut()) };
            if loaded < 0 {
                return Err("the configuration of the PCI function is refused".to_owned());
            }
        }
        let mut length = [0; 8];
        get(&mut length)?;
        let length = u64::from_be_bytes(length);
        if length > MOST {
            return Err(format!("the device's state has {length} bytes: {MOST} are the most"));
        }
        let mut state = Vec::new();
        while (state.len() as u64) < length {
            let begun = state.len();
            state.resize(begun + PIECE.min((length - begun as u64) as usize), 0);
            get(&mut state[begun..])?;
        }
        self.device.load(&state)
    }
}

impl Template {
    /// Finds out how this QEMU describes what it saves: by a description whose fields are known.
    fn find() -> Option<Template> {
        let address = |name| Some(symbols::find(name) as usize).filter(|address| *address != 0);
        let (numbers, bytes) = (address("vmstate_info_uint32")?, address("vmstate_info_buffer")?);
        Template::of(address("vmstate_fifo8")?, numbers, bytes)
    }

    /// As above, of a description at this address, and the functions of fields of these kinds.
    fn of(description: usize, numbers: usize, bytes: usize) -> Option<Template> {
        let word = |address: usize| Some(usize::from_ne_bytes(own_memory(address)?));
        let is_named = |address: usize, name: &CStr| {
            let Some(text) = word(address) else { return false };
            let mut letters = name.to_bytes_with_nul().iter().enumerate();
            letters.all(|(at, letter)| own_memory(text.wrapping_add(at)) == Some([*letter]))
        };
        if !is_named(description, c"Fifo8") {
            return None;
        }
        let at = (size_of::<usize>()..DESCRIPTION).step_by(size_of::<usize>()).find(|at| {
            word(description + at).is_some_and(|fields| fields != 0 && is_named(fields, c"data"))
        })?;
        let fields = word(description + at)?;
        let place = |number: usize| fields + number * size_of::<usize>();
        let of = |wanted| (0..FIELDS).filter(move |number| word(place(*number)) == Some(wanted));
        let info = of(bytes).next()?;
        let (first, second) = (of(numbers).next()?, of(numbers).nth(1)?);
        let field = second - first;
        let is_known = info + field == first
            && info < field
            && is_named(place(field), c"head")
            && is_named(place(2 * field), c"num");
        // Functions of QEMU's own would be called for what is not theirs.
        let is_plain = |from: usize, mut numbers: Range<usize>| {
            numbers.all(|number| word(from + number * size_of::<usize>()).is_some_and(|word| word >> 32 == 0))
        };
        let are_plain = is_plain(description, HOOKS..at / size_of::<usize>())
            && [field, 2 * field]
                .into_iter()
                .all(|begin| is_plain(place(begin), 1..info) && is_plain(place(begin), info + 1..field));
        if !is_known || !are_plain {
            return None;
        }
        // Behind the last field is the end, which versions mark differently.
        let words = |from: usize, count: usize| -> Option<Vec<usize>> {
            (0..count).map(|number| word(from + number * size_of::<usize>())).collect()
        };
        let fields = words(place(field), 3 * field)?;
        let description = words(description, at / size_of::<usize>() + 1)?;
        let function = |number: usize| word(numbers + number * size_of::<usize>());
        let kind = match (function(1)?, function(2)?, function(3)?, function(4)?) {
            (0, 0, 1.., 1..) => InfoKind::WithErrors,
            (1.., 1.., ..) => InfoKind::Plain,
            _ => return None,
        };
        Some(Template { description, fields, field, info, kind })
    }
}

fn sections<T>(body: impl FnOnce(&mut HashMap<usize, &'static Section>) -> T) -> T {
    let mut sections = SECTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    body(sections.get_or_insert_default())
}

/// The part whose field QEMU has come to.
fn section_of(field: *const usize) -> Result<&'static Section, String> {
    sections(|all| all.get(&(field as usize)).copied()).ok_or_else(|| "no device of this state".to_owned())
}

fn written(file: Object, field: *const usize) -> Result<(), String> {
    let otherwise = Err("a fault of the plugin's own".to_owned());
    guarded("saving the device", otherwise, || section_of(field)?.write(file))
}

fn taken_up(file: Object, field: *const usize) -> Result<(), String> {
    let otherwise = Err("a fault of the plugin's own".to_owned());
    guarded("loading the device", otherwise, || section_of(field)?.read(file))
}

/// Tells whoever has asked QEMU for it that a device is not saved or loaded: at the monitor, or where QEMU's errors go.
fn report(field: *const usize, why: &str) {
    let (Some(qemu), Ok(section)) = (Qemu::get(), section_of(field)) else { return };
    if why.is_empty() {
        return;
    }
    let mut error = std::ptr::null_mut();
    // SAFETY: a place for an error, which is QEMU's from here on.
    unsafe {
        qemu.fail(&raw mut error, &format!("vp: {why}"));
        (section.saving.functions.error_report_err)(error);
    }
}

/// Passes the reason on to QEMU, if it wants it.
///
/// # Safety
/// `errors` is QEMU's.
unsafe fn pass_on(result: &Result<(), String>, errors: Errors) -> bool {
    if let (Err(why), Some(qemu)) = (result, Qemu::get())
        && !errors.is_null()
    {
        // SAFETY: by the caller.
        unsafe { qemu.fail(errors, &format!("vp: {why}")) };
    }
    result.is_ok()
}

unsafe extern "C" fn get(file: Object, _value: *mut c_void, _size: usize, field: *const usize) -> c_int {
    taken_up(file, field).map_or_else(
        |why| {
            report(field, &why);
            REFUSED
        },
        |()| 0,
    )
}

unsafe extern "C" fn put(
    file: Object,
    _value: *mut c_void,
    _size: usize,
    field: *const usize,
    _described: Object,
) -> c_int {
    written(file, field).map_or_else(
        |why| {
            report(field, &why);
            REFUSED
        },
        |()| 0,
    )
}

unsafe extern "C" fn load(
    file: Object,
    _value: *mut c_void,
    _size: usize,
    field: *const usize,
    errors: Errors,
) -> bool {
    // SAFETY: the place that QEMU gave, or none.
    unsafe { pass_on(&taken_up(file, field), errors) }
}

unsafe extern "C" fn save(
    file: Object,
    _value: *mut c_void,
    _size: usize,
    field: *const usize,
    _described: Object,
    errors: Errors,
) -> bool {
    // SAFETY: the place that QEMU gave, or none.
    unsafe { pass_on(&written(file, field), errors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a field, and where some of them are.
    struct Layout {
        field: usize,
        offset: usize,
        info: usize,
        flags: usize,
        end: usize,
        /// Number of the word of the description that points to the fields.
        fields: usize,
    }

    /// QEMU 7.2, on a host of 64 bits.
    const OLD: Layout = Layout { field: 13, offset: 2, info: 8, flags: 9, end: 0, fields: 9 };
    /// QEMU 11.1.
    const NEW: Layout = Layout { field: 12, offset: 1, info: 7, flags: 8, end: 0x2_0000, fields: 12 };

    static BYTES: [usize; 5] = [0; 5];

    /// `vmstate_fifo8` and the functions of its numbers.
    fn fifo(layout: &Layout, functions: [usize; 5]) -> (Vec<usize>, Vec<usize>) {
        let name = |text: &'static CStr| text.as_ptr() as usize;
        let numbers = Vec::leak(functions.to_vec());
        let mut fields = vec![0; 96];
        let kinds = [(c"data", &BYTES[..]), (c"head", numbers), (c"num", numbers)];
        for (number, (text, info)) in kinds.into_iter().enumerate() {
            let field = &mut fields[number * layout.field..];
            field[0] = name(text);
            field[layout.offset] = 8 + 4 * number;
            field[layout.info] = info.as_ptr() as usize;
            field[layout.flags] = 1;
        }
        fields[3 * layout.field + layout.flags] = layout.end;
        let fields = Vec::leak(fields);
        let mut description = vec![0; 64];
        (description[0], description[1], description[2]) = (name(c"Fifo8"), 1 << 32, 1);
        description[layout.fields] = fields.as_ptr() as usize;
        (description, numbers.to_vec())
    }

    fn found(description: &[usize], numbers: &[usize]) -> Option<Template> {
        let fields = description.iter().rev().find(|word| **word != 0).copied()?;
        // Where the fields of the numbers refer to.
        let info = (0..96).find_map(|at| {
            let word = usize::from_ne_bytes(own_memory(fields + at * size_of::<usize>())?);
            let here: Option<[u8; 8]> = own_memory(word);
            (word != BYTES.as_ptr() as usize && here == Some(numbers[0].to_ne_bytes())).then_some(word)
        })?;
        Template::of(description.as_ptr() as usize, info, BYTES.as_ptr() as usize)
    }

    #[test]
    fn descriptions_of_each_version_are_found_out_about() {
        let marked = 0x5650_5650_5650;
        for (layout, functions, kind) in [
            (&OLD, [marked, 1, 2, 0, 0], InfoKind::Plain),
            (&NEW, [marked, 0, 0, 1, 2], InfoKind::WithErrors),
        ] {
            let (description, numbers) = fifo(layout, functions);
            let template = found(&description, &numbers).expect("a description that is known");
            assert_eq!((template.field, template.info, template.kind), (layout.field, layout.info, kind));
            assert_eq!(template.description.len(), layout.fields + 1);
            assert_eq!(template.fields.len(), 3 * layout.field);
            assert_eq!(template.fields[2 * layout.field + layout.flags], layout.end);
        }
    }

    #[test]
    fn a_description_that_is_unlike_those_is_not_copied() {
        let functions = [0x5650_5650_5650, 1, 2, 0, 0];
        let (description, numbers) = fifo(&OLD, functions);
        let mut with_hook = description.clone();
        with_hook[4] = numbers.as_ptr() as usize;
        assert!(found(&with_hook, &numbers).is_none());
        let mut other = description.clone();
        other[0] = c"Fifo".as_ptr() as usize;
        assert!(found(&other, &numbers).is_none());
        let crowded = Layout { info: 12, ..OLD };
        let (description, numbers) = fifo(&Layout { field: 5, flags: 4, info: 3, ..crowded }, functions);
        assert!(found(&description, &numbers).is_some());
        let (description, numbers) = fifo(&OLD, [functions[0], 0, 0, 0, 0]);
        assert!(found(&description, &numbers).is_none());
    }
}
