//! The device as QEMU has it: where it is put, and what an access to it does.
//!
//! One device is one session with a platform. It is built when QEMU realizes it, after the board and before the guest's
//! device tree is fixed, and stays until QEMU ends.

mod callbacks;
mod coupled;
mod function;
mod node;
mod port;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::options::{Endpoint, Options};
use crate::qemu::time::GuestClock;
use crate::qemu::{Handle, Qemu};
use crate::report::say;
use crate::session::{AccessError, Platform, Session};
use node::Node;
use port::{Line, Port};

pub(crate) use callbacks::{register, watch_exit};
pub(crate) use function::{FUNCTION, register_function, unused};

/// The name of the type, for `-device`.
pub(crate) const TYPE: &str = "vp-device";

/// The machine that there is a place in.
const MACHINE: &str = "virt-machine";
/// Guest-physical addresses that `virt` leaves free in all versions, between its virtio transports and its platform bus.
const FREE_ADDRESSES: Range<u64> = 0x0b00_0000..0x0c00_0000;
/// Shared peripheral interrupts that `virt` leaves free, behind those of its platform bus.
const FREE_INTERRUPTS: Range<u32> = 176..256;
/// How long the guest waits for a register.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Places taken by devices of ours.
static TAKEN: Mutex<Vec<Place>> = Mutex::new(Vec::new());

/// Every device, to be closed in the end.
static DEVICES: Mutex<Vec<&'static Device>> = Mutex::new(Vec::new());

/// Where a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    window: Range<u64>,
    spi: u32,
}

/// A device.
struct Device {
    session: Session,
    port: &'static Port,
    size: u64,
    /// The guest's clock, if its time is the platform's.
    clock: Option<GuestClock>,
    /// Whether accesses are the self-test's, and are noted instead of done.
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
        let machine =
            qemu.machine(MACHINE).ok_or("this machine has no place for the device: take -M virt")?;
        let (controller, lines) =
            qemu.interrupt_controller().ok_or("this machine has no interrupt controller that is known")?;
        let tree = qemu.device_tree(machine).ok_or("this machine has no device tree")?;
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let spi = free_interrupt(options.spi, &taken)?;
        if u64::from(spi) >= lines {
            return Err(format!("spi={spi}: the interrupt controller has {lines}"));
        }
        let ram = qemu.ram();
        if let Some(pool) = &options.pool
            && !ram.iter().any(|ram| covers(ram, &pool.range()))
        {
            let end = ram.last().map_or(0, |ram| ram.end);
            return Err(format!(
                "pool=0x{:x}:0x{:x}: the guest's memory ends at 0x{end:x}",
                pool.base, pool.size
            ));
        }
        let line = qemu.input(controller, spi).ok_or("the interrupt controller has no such input")?;
        let opened = Self::open(qemu, options, TYPE, &ram, Line::Input(line))?;
        let Opened { device, platform, .. } = &opened;
        let window = free_window(options.address, platform.size, &taken, &ram)?;
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
        if qemu.has_text(machine, "dtb") {
            say(format_args!("warning: with -dtb the guest gets another device tree, without {path}"));
        }
        opened.put_to_use(
            qemu,
            &format!("{path} at 0x{:x}", window.start),
            &format!("interrupt SPI {spi}"),
        )?;
        taken.push(Place { window, spi });
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
        let port = Port::new(qemu, ram.to_vec(), line, clock.is_some());
        let timeout = options.timeout.unwrap_or(TIMEOUT);
        let (shared, is_coupled) = (options.platform.clone(), clock.is_some());
        let connected =
            Session::connect(endpoint.clone(), shared, port.as_guest(), is_coupled, may_share, timeout);
        let (session, platform) = connected.map_err(|error| error.to_string())?;
        if platform.size < 4 {
            return Err(format!("{}: {} bytes of registers are none", platform.name, platform.size));
        }
        for memory in ram.iter().filter(|ram| !platform.memory.iter().any(|it| covers(it, ram))) {
            say(format_args!(
                "warning: {}'s memory interfaces do not reach all of the guest's memory from 0x{:x} to 0x{:x}",
                platform.name,
                memory.start,
                memory.end - 1
            ));
        }
        let (is_tested, seen) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let device = Self { session, port, size: platform.size, clock, is_tested, seen };
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

    /// The guest is being reset, and the device with it. Nothing else of the machine runs meanwhile.
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
        let read = qemu.read(address + first, &mut word);
        let written = qemu.write(address + second, &0x1234_5678_u32.to_le_bytes());
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
    endpoint: Endpoint,
}

impl Opened {
    /// The guest has it: from here on it is reset and ends with the machine. Says where it is, and how it interrupts.
    fn put_to_use(&self, qemu: &'static Qemu, place: &str, interrupt: &str) -> Result<(), String> {
        let Self { device, platform, endpoint } = self;
        qemu.block_migration(&format!(
            "the state of {}, which the device is part of, is not in QEMU",
            platform.name
        ))?;
        callbacks::watch_resets(qemu, device);
        callbacks::watch_clock(device);
        device.warn_of_host_time();
        DEVICES.lock().unwrap_or_else(PoisonError::into_inner).push(device);
        let (kib, name) = (platform.size.div_ceil(1024), &platform.name);
        say(format_args!("{place}, {kib} KiB of registers, {interrupt}: {name} at {endpoint}"));
        Ok(())
    }
}

/// QEMU ends: tells the servers.
pub(crate) fn close_all() {
    for device in DEVICES.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        device.session.close();
    }
}

/// What the self-test reads at an offset.
fn test_value(offset: u64) -> u64 {
    0xa5a5_0000 | offset & 0xffff
}

fn covers(outer: &Range<u64>, inner: &Range<u64>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

fn free_interrupt(wanted: Option<u32>, taken: &[Place]) -> Result<u32, String> {
    let is_free = |spi: &u32| taken.iter().all(|place| place.spi != *spi);
    match wanted {
        Some(spi) if is_free(&spi) => Ok(spi),
        Some(spi) => Err(format!("spi={spi}: another {TYPE} has it")),
        None => FREE_INTERRUPTS.clone().find(is_free).ok_or_else(|| "no interrupt is free".into()),
    }
}

fn free_window(
    wanted: Option<u64>,
    size: u64,
    taken: &[Place],
    ram: &[Range<u64>],
) -> Result<Range<u64>, String> {
    let size = size.next_multiple_of(4096);
    let at = |address: u64| address..address.saturating_add(size);
    let is_free = |window: &Range<u64>| {
        !taken.iter().map(|place| &place.window).chain(ram).any(|other| overlap(window, other))
    };
    match wanted.map(at) {
        Some(window) if is_free(&window) => Ok(window),
        Some(window) => Err(format!("address=0x{:x}: memory or another {TYPE} is there", window.start)),
        None => FREE_ADDRESSES
            .step_by(0x1_0000)
            .map(at)
            .find(|window| covers(&FREE_ADDRESSES, window) && is_free(window))
            .ok_or_else(|| format!("no place is free for {size} bytes of registers: pass address=")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_get_places_of_their_own() {
        let first = Place { window: 0x0b00_0000..0x0b04_0000, spi: 176 };
        let taken = [first];
        assert_eq!(free_window(None, 0x4_0000, &taken, &[]), Ok(0x0b04_0000..0x0b08_0000));
        assert_eq!(free_interrupt(None, &taken), Ok(177));
        assert!(free_window(Some(0x0b03_f000), 0x1000, &taken, &[]).is_err());
        assert!(free_interrupt(Some(176), &taken).is_err());
        let ram = 0x4000_0000..0x8000_0000;
        assert!(free_window(Some(0x7fff_f000), 0x2000, &taken, &[ram]).is_err());
    }
}
