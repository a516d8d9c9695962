//! The device as QEMU has it: where it is put, and what an access to it does.
//!
//! One device is one session with a platform. It is built when QEMU realizes it, after the board and before the guest's
//! device tree is fixed, and stays until QEMU ends.

mod automatic;
mod callbacks;
mod coupled;
mod function;
mod node;
mod place;
mod port;
mod slot;
mod state;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;
use vp_client::{Address, SilenceLimit};

use crate::credentials;
use crate::options::{Options, Pool};
use crate::qemu::time::GuestClock;
use crate::qemu::{Handle, Qemu};
use crate::report::say;
use crate::session::{AccessError, Patience, Platform, Server, Session};
use node::Node;
use place::{DevicePlace, Reach};
use port::{Line, Port};
use state::MachineState;

pub(crate) use automatic::{add_automatic, set_target};
pub(crate) use callbacks::{register, watch_exit, watch_machine};
pub(crate) use function::{FUNCTION, check_option, register_function};

/// The name of the type, for `-device`.
pub(crate) const TYPE: &str = "vp-device";

/// The machine that there is a place in.
const MACHINE: &str = "virt-machine";
/// Time that the guest waits for a register.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Places taken by devices of ours.
static TAKEN: Mutex<Vec<DevicePlace>> = Mutex::new(Vec::new());

/// Every device, to be closed in the end.
static DEVICES: Mutex<Vec<&'static Device>> = Mutex::new(Vec::new());

/// Part that a machine lacks for the node of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
enum Lacking {
    #[error("this machine has no place for the device")]
    Place,
    #[error("this machine has no GIC")]
    Controller,
    #[error("this machine has no device tree")]
    Tree,
}

/// Parts of a machine that the node of a device needs.
struct NodeMachine {
    machine: Handle,
    controller: Handle,
    /// Inputs of the controller that devices may have.
    lines: u64,
    tree: Handle,
}

impl NodeMachine {
    fn find(qemu: &Qemu) -> Result<Self, Lacking> {
        let machine = qemu.machine(MACHINE).ok_or(Lacking::Place)?;
        let (controller, lines) = qemu.interrupt_controller().ok_or(Lacking::Controller)?;
        let tree = qemu.device_tree(machine).ok_or(Lacking::Tree)?;
        Ok(Self { machine, controller, lines, tree })
    }

    /// Says so if the guest gets another device tree, or none.
    fn warn_of_other_trees(&self, qemu: &Qemu, path: &str) {
        let text = |property| qemu.text(self.machine, property);
        if text("dtb").is_some() {
            say(format_args!("warning: with -dtb the guest gets another device tree, without {path}"));
        }
        let has_firmware = ["firmware", "pflash0"].into_iter().any(|property| text(property).is_some());
        if has_firmware && text("acpi").is_some_and(|acpi| acpi != "off") {
            say(format_args!(
                "warning: UEFI firmware gives the guest's kernel ACPI tables and no device tree, so no {path}: add -M acpi=off"
            ));
        }
    }
}

/// A device.
struct Device {
    session: Session,
    port: &'static Port,
    size: u64,
    /// The guest's clock, if its time is the platform's.
    clock: Option<GuestClock>,
    state: MachineState,
    /// True if accesses are the self-test's, and are noted instead of done.
    is_tested: AtomicBool,
    seen: Mutex<Vec<Access>>,
}

/// An access, as the self-test sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Access {
    offset: u64,
    bytes: u32,
    written: Option<u64>,
}

impl Device {
    /// Builds a device as the user wants it, and puts it into a machine with a device tree.
    fn build(qemu: &'static Qemu, options: &Options) -> Result<(), String> {
        let needs = NodeMachine::find(qemu).map_err(|lacking| match qemu.has_pci() {
            true => format!("{lacking}, but PCI: take -device {FUNCTION} in place of {TYPE}"),
            false => automatic::refusal(lacking),
        })?;
        let NodeMachine { controller, lines, tree, .. } = needs;
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let driver_of = |spi| qemu.input(controller, spi).and_then(|line| qemu.driver_of(line));
        let spi = place::interrupt(options.spi, lines, &taken, driver_of)?;
        let ram = qemu.ram();
        let line = qemu.input(controller, spi).ok_or("the interrupt controller has no such input")?;
        let opened = Self::open(qemu, options, TYPE, &ram, Line::Input(line))?;
        let Opened { device, platform, .. } = &opened;
        let reach = Reach { allowed: options.reachable(&ram)?, wired: platform.memory.clone() };
        if let Some(pool) = options.pool {
            let others: Vec<Pool> = taken.iter().filter_map(|place| place.pool).collect();
            place::check_pool(pool, &others, &qemu.main_ram(), &reach, &qemu.loaded())?;
        }
        let thing_at = |range: &Range<u64>| qemu.thing_at(range);
        let window = place::window(options.address, platform.size, &taken, &qemu.main_ram(), thing_at)?;
        callbacks::map(qemu, device, window.start);
        device.test(qemu, window.start)?;
        let compatible = options.compatible.clone().unwrap_or_else(|| platform.compatible.clone());
        if compatible.is_empty() {
            return Err(format!(
                "{} does not say what drivers its device has: pass compatible=",
                platform.name
            ));
        }
        let node = Node { window: window.clone(), spi, compatible, pool: options.pool };
        let path = node.add(qemu, tree)?;
        needs.warn_of_other_trees(qemu, &path);
        opened.put_to_use(
            qemu,
            &format!("{TYPE}@{:x}", window.start),
            &format!("{path} at 0x{:x}", window.start),
            &format!("interrupt SPI {spi}"),
        )?;
        taken.push(DevicePlace { window, spi, pool: options.pool, reach });
        Ok(())
    }

    /// Opens a device's session. `line` is its interrupt, and `kind` how the user calls such a device.
    fn open(
        qemu: &'static Qemu,
        options: &Options,
        kind: &str,
        ram: &[Range<u64>],
        line: Line,
    ) -> Result<Opened, String> {
        let endpoint = options.connect.clone().ok_or_else(|| {
            format!("a {kind} needs connect=unix:/tmp/vp.sock or connect=tcp:127.0.0.1:7700")
        })?;
        let clock = GuestClock::open()?;
        let may_share = options.may_share();
        let reachable = options.reachable(ram)?;
        let shares = options.ranges.is_none();
        let port = Port::new(qemu, ram.to_vec(), reachable.clone(), line, clock.is_some(), shares);
        let timeout = options.timeout.unwrap_or(TIMEOUT);
        let heartbeat = options.heartbeat.map_or_else(SilenceLimit::from_environment, Ok)?;
        let patience = Patience { timeout, heartbeat };
        let credentials = credentials::of(options, &endpoint)?;
        let server = Server { address: endpoint.clone(), platform: options.platform.clone(), credentials };
        let connected = Session::connect(server, port.as_guest(), clock.is_some(), may_share, patience);
        let (session, platform) = connected.map_err(|error| error.to_string())?;
        if platform.size < 4 {
            return Err(format!("{}: {} bytes of registers are none", platform.name, platform.size));
        }
        for memory in reachable.iter().filter(|ram| !platform.memory.iter().any(|it| place::covers(it, ram)))
        {
            say(format_args!(
                "warning: {}'s memory interfaces do not reach all of the guest's memory from 0x{:x} to 0x{:x}",
                platform.name,
                memory.start,
                memory.end - 1
            ));
        }
        let (is_tested, seen) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let state = MachineState::default();
        let device = Self { session, port, size: platform.size, clock, state, is_tested, seen };
        Ok(Opened { device: Box::leak(Box::new(device)), platform, endpoint })
    }

    /// A guest's read of a register.
    fn read(&self, qemu: &Qemu, offset: u64, bytes: u32) -> Result<u64, AccessError> {
        if self.is_tested.load(Ordering::Relaxed) {
            self.note(Access { offset, bytes, written: None });
            return Ok(test_value(offset));
        }
        if let Some(clock) = &self.clock {
            return self.read_in_time(qemu, clock, offset);
        }
        let value = qemu.without_big_lock(|| self.session.read(offset));
        // Of the line the guest must know what the register's value says.
        self.port.settle();
        value.map(u64::from)
    }

    /// A guest's write of a register.
    fn write(&self, qemu: &Qemu, offset: u64, bytes: u32, value: u64) -> Result<(), AccessError> {
        if self.is_tested.load(Ordering::Relaxed) {
            self.note(Access { offset, bytes, written: Some(value) });
            return Ok(());
        }
        // An access is four bytes wide.
        let word = value as u32;
        if let Some(clock) = &self.clock {
            return self.write_in_time(qemu, clock, offset, word);
        }
        let result = qemu.without_big_lock(|| self.session.write(offset, word));
        self.port.settle();
        result
    }

    /// The guest is being reset, and the device with it. On QEMU's main thread, so nothing else of QEMU runs meanwhile, whoever has
    /// the big lock.
    fn reset(&self) {
        if !self.port.is_in_machine() {
            return;
        }
        if self.session.reset().is_err() {
            say("warning: the machine is reset, and its device is not there");
        }
        self.port.settle();
        if let Some(clock) = &self.clock {
            self.keep_up(clock);
        }
    }

    fn note(&self, access: Access) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(access);
    }

    /// A read and a write on QEMU's own way must arrive here as they were sent: then structures and signatures fit, and
    /// nothing else lies before the window.
    fn test(&self, qemu: &Qemu, address: u64) -> Result<(), String> {
        let (first, second) = (self.size / 2, self.size - 4);
        let mut word = [0; 4];
        self.is_tested.store(true, Ordering::Relaxed);
        let read = qemu.read(None, address + first, &mut word);
        let written = qemu.write(None, address + second, &0x1234_5678_u32.to_le_bytes());
        self.is_tested.store(false, Ordering::Relaxed);
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        let expected = [
            Access { offset: first, bytes: 4, written: None },
            Access { offset: second, bytes: 4, written: Some(0x1234_5678) },
        ];
        let is_read = u64::from(u32::from_le_bytes(word)) == test_value(first);
        match read && written && is_read && seen == expected {
            true => Ok(()),
            false => Err(format!(
                "accesses to 0x{address:x} do not arrive as they should: something lies there, or this QEMU is unlike \
                 those that are known"
            )),
        }
    }
}

/// A device whose session is open, and which the guest does not have yet.
struct Opened {
    device: &'static Device,
    platform: Platform,
    endpoint: Address,
}

impl Opened {
    /// The guest has it: from here on it is reset and ends with the machine. Says where it is, and how it interrupts.
    /// In the machine's state it has this name.
    fn put_to_use(
        &self,
        qemu: &'static Qemu,
        name: &str,
        place: &str,
        interrupt: &str,
    ) -> Result<(), String> {
        let Self { device, platform, endpoint } = self;
        match device.join_machine_state(name) {
            Ok(section) => callbacks::watch_machine_state(section, device),
            Err(why) => qemu.block_migration(&format!(
                "the state of {}, which the device is part of, is not in QEMU: {why}",
                platform.name
            ))?,
        }
        callbacks::watch_resets(qemu, device);
        callbacks::watch_clock(device);
        device.warn_of_host_time();
        DEVICES.lock().unwrap_or_else(PoisonError::into_inner).push(device);
        let (kib, platform, mode) = (platform.size.div_ceil(1024), &platform.name, &platform.time_mode);
        say(format_args!("{place}, {kib} KiB of registers, {interrupt}: {platform} at {endpoint}, {mode}"));
        Ok(())
    }
}

/// The machine is complete: says what lies in pools that the guest's kernel is to leave alone.
///
/// # Errors
/// What collides, for people.
pub(crate) fn check_pools(qemu: &Qemu) -> Result<(), String> {
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let pools: Vec<(Pool, &Reach)> =
        taken.iter().filter_map(|place| Some((place.pool?, &place.reach))).collect();
    if pools.is_empty() {
        return Ok(());
    }
    let (ram, loaded) = (qemu.main_ram(), qemu.loaded());
    pools.iter().enumerate().try_for_each(|(number, &(pool, reach))| {
        let others = pools[..number].iter().chain(&pools[number + 1..]).map(|(other, _)| *other);
        place::check_pool(pool, &others.collect::<Vec<_>>(), &ram, reach, &loaded)
    })
}

/// Returns true if the device will be a node, as far as is known before the board is built: machines of other processors, of which one has the
/// same name, have no GIC.
pub(crate) fn may_be_node(qemu: &Qemu, target: &str) -> bool {
    matches!(target, "aarch64" | "arm") && qemu.machine(MACHINE).is_some()
}

/// QEMU ends: tells the servers.
pub(crate) fn close_all() {
    for device in DEVICES.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        device.session.close();
    }
}

/// Returns the value that the self-test reads at an offset.
fn test_value(offset: u64) -> u64 {
    0xa5a5_0000 | offset & 0xffff
}
