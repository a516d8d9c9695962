//! A device's part of what QEMU saves of a machine: for `savevm`, and for migration.
//!
//! QEMU takes a description of the part, a `VMStateDescription`, and calls a function for each of its fields. The description is one of
//! QEMU's own, copied ([`template`](super::template)), with other names and with a field whose functions are ours. That QEMU calls these
//! as expected, and goes on to the next field, is tried with a file in memory before a device relies on it.

#![expect(unsafe_code, reason = "calls into QEMU")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::functions::functions;
use super::layouts::{Errors, Object};
use super::template::{InfoKind, Template};
use super::unseen::Unseen;
use super::{Handle, Qemu, c, symbols};
use crate::report::guarded;

/// `VMSTATE_INSTANCE_ID_ANY`: QEMU numbers the parts of one name.
const ANY: u32 = u32::MAX;
/// No other number by which the part was known once.
const NO_ALIAS: c_int = -1;
/// Words of what the fields describe, all 0. More than the description that is copied has.
const DESCRIBED: usize = 64;
/// Bytes that are read from QEMU's file at once.
const PIECE: usize = 64 << 10;
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

    /// Number of bytes of a state that is taken up at most.
    fn most(&self) -> u64;

    /// Checks that nobody reaches guest RAM for the device who would not wait for what has not come yet.
    ///
    /// # Errors
    /// Somebody does, for people. QEMU takes in no machine then whose memory follows it.
    fn check_waits_for_memory(&self) -> Result<(), String> {
        Ok(())
    }

    /// Checks that QEMU sees who writes guest RAM for the device, if a migration under way needs that.
    ///
    /// # Errors
    /// It does not, for people. QEMU does not begin it then, or the device is not saved.
    fn check_is_seen(&self) -> Result<(), String> {
        Ok(())
    }
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
    /// Questions that QEMU asks it, once it does.
    unseen: OnceLock<Unseen>,
}

/// Saving as this QEMU has it.
pub(crate) struct Saving {
    functions: Functions,
    template: Template,
    /// Names of the machine's states: `RunState_lookup`.
    states: Handle,
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
        let section = Section {
            saving: self,
            device,
            function,
            owner,
            description,
            _name: name,
            described,
            unseen: OnceLock::new(),
        };
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
            fn most(&self) -> u64 {
                TRIAL.len() as u64
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
        let unseen = Unseen::find(device)?;
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
        if registered != 0 {
            return Err(format!("QEMU does not take {name} into the machine's state"));
        }
        section.unseen.get_or_init(|| unseen).register();
        Ok(section)
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
        if let Some(unseen) = self.unseen.get() {
            unseen.unregister();
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

    /// Returns true if a migration is for a machine that runs on while it is saved as it was.
    pub(crate) fn is_background(&self) -> bool {
        self.unseen.get().is_some_and(Unseen::is_background)
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
        let most = self.device.most();
        if length > most {
            return Err(format!("the device's state has {length} bytes: {most} are the most"));
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
