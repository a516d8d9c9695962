//! Places of devices: their register windows, interrupts and pools, which collide with nothing that the machine has.

use std::ops::Range;

use super::TYPE;
use crate::options::{self, Pool, intersection};
use crate::qemu::board::Loaded;

/// Guest-physical addresses that `virt` leaves free in all versions, between its virtio transports and its platform bus.
const FREE_ADDRESSES: Range<u64> = 0x0b00_0000..0x0c00_0000;
/// Shared peripheral interrupts that `virt` leaves free, behind those of its platform bus.
const FREE_INTERRUPTS: Range<u32> = 176..256;
/// The end of the addresses that a CPU of `virt` can have (Arm ARM, FEAT_LPA).
const END_OF_ADDRESSES: u64 = 1 << 52;
/// Alignment of a pool that is proposed, in bytes.
const TIDY: u64 = 1 << 20;

/// Place of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DevicePlace {
    pub(super) window: Range<u64>,
    pub(super) spi: u32,
    pub(super) pool: Option<Pool>,
    pub(super) reach: Reach,
}

/// Ranges of the guest's memory that a device reaches, by rising address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// By the user's leave.
    pub(super) allowed: Vec<Range<u64>>,
    /// By the platform's memory interfaces.
    pub(super) wired: Vec<Range<u64>>,
}

/// The interrupt that a device gets, of so many `lines`. `driver_of` says who in the machine drives one already.
pub(super) fn interrupt(
    wanted: Option<u32>,
    lines: u64,
    taken: &[DevicePlace],
    driver_of: impl Fn(u32) -> Option<String>,
) -> Result<u32, String> {
    let holder = |spi: u32| match taken.iter().any(|place| place.spi == spi) {
        true => Some(format!("another {TYPE}")),
        false => driver_of(spi),
    };
    let mut free = FREE_INTERRUPTS.filter(|&spi| u64::from(spi) < lines && holder(spi).is_none());
    let Some(spi) = wanted else { return free.next().ok_or_else(|| "no interrupt is free".into()) };
    // QEMU ends if it is asked for an input that the controller does not have.
    let is_there = u64::from(spi) < lines;
    let why = match is_there.then(|| holder(spi)) {
        None => format!("the interrupt controller has {lines}"),
        Some(Some(holder)) => format!("{holder} has it"),
        Some(None) => return Ok(spi),
    };
    let free = free.next().map_or_else(String::new, |free| format!("; spi={free} is free"));
    Err(format!("spi={spi}: {why}{free}"))
}

/// The addresses that so many bytes of registers get. `thing_at` says what in the machine is first in a range, and where.
pub(super) fn window(
    wanted: Option<u64>,
    size: u64,
    taken: &[DevicePlace],
    ram: &[Range<u64>],
    thing_at: impl Fn(&Range<u64>) -> Option<(u64, String)>,
) -> Result<Range<u64>, String> {
    let size = size.next_multiple_of(4096);
    let at = |address: u64| address..address.saturating_add(size);
    let in_the_way = |window: &Range<u64>| {
        if let Some(place) = taken.iter().find(|place| overlap(window, &place.window)) {
            return Some(format!("another {TYPE} is there, {}", shown(&place.window)));
        }
        if let Some(ram) = ram.iter().find(|ram| overlap(window, ram)) {
            return Some(format!("the guest's memory is there, {}", shown(ram)));
        }
        thing_at(window).map(|(from, name)| format!("{name} is there, from 0x{from:x} on"))
    };
    let free = || {
        let mut places = FREE_ADDRESSES.step_by(0x1_0000).map(at);
        places.find(|window| covers(&FREE_ADDRESSES, window) && in_the_way(window).is_none())
    };
    let Some(window) = wanted.map(at) else {
        return free()
            .ok_or_else(|| format!("no place is free for {size} bytes of registers: pass address="));
    };
    let why = match in_the_way(&window) {
        _ if window.end > END_OF_ADDRESSES => format!("no CPU reaches {}", shown(&window)),
        Some(why) => why,
        None => return Ok(window),
    };
    let free = free().map_or_else(String::new, |free| format!("; address=0x{:x} is free", free.start));
    Err(format!("address=0x{:x}: {why}{free}", window.start))
}

/// Checks that a pool lies in the guest's memory, where its device reaches it, and apart from what is `loaded` there and from the pools
/// of `others`.
pub(super) fn check_pool(
    pool: Pool,
    others: &[Pool],
    ram: &[Range<u64>],
    reach: &Reach,
    loaded: &[Loaded],
) -> Result<(), String> {
    let range = pool.range();
    let is_in = |ranges: &[Range<u64>]| ranges.iter().any(|outer| covers(outer, &range));
    let why = if !is_in(ram) {
        format!("the guest's memory is {}", options::shown(ram))
    } else if !is_in(&reach.allowed) {
        format!("by ranges= the device reaches only {}", options::shown(&reach.allowed))
    } else if !is_in(&reach.wired) {
        format!("the device's memory interfaces reach only {}", options::shown(&reach.wired))
    } else if let Some(other) = others.iter().find(|other| overlap(&range, &other.range())) {
        format!("another {TYPE} has {}", shown(&other.range()))
    } else if let Some(Loaded { name, range }) = loaded.iter().find(|it| overlap(&range, &it.range)) {
        format!("{name} is loaded there, {}", shown(range))
    } else {
        return Ok(());
    };
    let taken: Vec<Range<u64>> =
        others.iter().map(Pool::range).chain(loaded.iter().map(|it| it.range.clone())).collect();
    let reachable = intersection(&intersection(ram, &reach.allowed), &reach.wired);
    let free = free_pool(pool.size, &reachable, &taken);
    let free = free.map_or_else(String::new, |base| format!("; {} is free", Pool { base, ..pool }));
    Err(format!("{pool}: {why}{free}"))
}

/// The highest place for so many bytes in RAM: the guest's kernel takes the low ones.
fn free_pool(size: u64, ram: &[Range<u64>], taken: &[Range<u64>]) -> Option<u64> {
    ram.iter().rev().find_map(|ram| {
        let mut end = ram.end;
        loop {
            let base = end.checked_sub(size)? / TIDY * TIDY;
            let range = base..base + size;
            match taken.iter().find(|taken| overlap(&range, taken)) {
                _ if base < ram.start => return None,
                Some(taken) => end = taken.start,
                None => return Some(base),
            }
        }
    })
}

fn shown(range: &Range<u64>) -> String {
    options::shown(std::slice::from_ref(range))
}

pub(super) fn covers(outer: &Range<u64>, inner: &Range<u64>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAM: Range<u64> = 0x4000_0000..0x8000_0000;
    const OF_32_BITS: Range<u64> = 0..1 << 32;

    fn taken() -> [DevicePlace; 1] {
        [DevicePlace { window: 0x0b00_0000..0x0b04_0000, spi: 176, pool: None, reach: Reach::default() }]
    }

    #[test]
    fn devices_get_windows_of_their_own() {
        let free = |wanted, size| {
            window(wanted, size, &taken(), &[RAM], |range| {
                let uart = 0x0900_0000..0x0900_1000;
                overlap(range, &uart).then(|| (uart.start, "pl011".to_owned()))
            })
        };
        assert_eq!(free(None, 0x4_0000), Ok(0x0b04_0000..0x0b08_0000));
        assert_eq!(free(Some(0x0b10_0000), 0x1000), Ok(0x0b10_0000..0x0b10_1000));
        let refused = |wanted, size| free(Some(wanted), size).unwrap_err();
        assert_eq!(
            refused(0x0b03_f000, 0x1000),
            "address=0xb03f000: another vp-device is there, 0xb000000 to 0xb03ffff; address=0xb040000 is free"
        );
        assert!(
            refused(0x3fff_f000, 0x2000).contains("the guest's memory is there, 0x40000000 to 0x7fffffff;")
        );
        assert!(refused(0x0900_0000, 0x1000).contains("pl011 is there, from 0x9000000 on;"));
        assert!(refused(u64::MAX - 0xfff, 0x2000).contains("no CPU reaches"));
    }

    #[test]
    fn devices_get_interrupts_of_their_own() {
        let free = |wanted| {
            interrupt(wanted, 256, &taken(), |spi| [1, 177].contains(&spi).then(|| "pl011".to_owned()))
        };
        assert_eq!((free(None), free(Some(200))), (Ok(178), Ok(200)));
        assert_eq!(free(Some(176)).unwrap_err(), "spi=176: another vp-device has it; spi=178 is free");
        assert_eq!(free(Some(1)).unwrap_err(), "spi=1: pl011 has it; spi=178 is free");
        assert_eq!(
            free(Some(256)).unwrap_err(),
            "spi=256: the interrupt controller has 256; spi=178 is free"
        );
    }

    #[test]
    fn a_pool_lies_in_ram_apart_from_all_that_is_there() {
        let pool = |base, size| Pool { base, size };
        let loaded = [Loaded { name: "Image".into(), range: 0x4020_0000..0x4100_0001 }];
        let others = [pool(0x7800_0000, 0x800_0000)];
        let reach = Reach { allowed: vec![RAM], wired: vec![OF_32_BITS] };
        let refused = |base, size| {
            check_pool(pool(base, size), &others, &[RAM], &reach, &loaded).err().unwrap_or_default()
        };
        assert_eq!(refused(0x4100_1000, 0x1000), "");
        assert_eq!(
            refused(0x7fff_f000, 0x2000),
            "pool=0x7ffff000:0x2000: the guest's memory is 0x40000000 to 0x7fffffff; pool=0x77f00000:0x2000 is free"
        );
        assert!(refused(0x7f00_0000, 0x1000).contains("another vp-device has 0x78000000 to 0x7fffffff;"));
        assert_eq!(
            refused(0x4100_0000, 0x3000_0000),
            "pool=0x41000000:0x30000000: Image is loaded there, 0x40200000 to 0x41000000; pool=0x48000000:0x30000000 is \
             free"
        );
        assert!(refused(0x4000_0000, 0x4000_0000).ends_with("0x78000000 to 0x7fffffff"), "there is no room");
    }

    #[test]
    fn a_pool_that_its_device_does_not_reach_is_refused() {
        let ram = [RAM, 0x1_0000_0000..0x2_0000_0000];
        let refused = |base, allowed: &[Range<u64>]| {
            let reach = Reach { allowed: allowed.to_vec(), wired: vec![OF_32_BITS] };
            let pool = Pool { base, size: 0x2000 };
            check_pool(pool, &[], &ram, &reach, &[]).err().unwrap_or_default()
        };
        let allowed = 0x5000_0000..0x5010_0000;
        assert_eq!(refused(0x5000_0000, std::slice::from_ref(&allowed)), "");
        for base in [0x6000_0000, 0x500f_f000, 0x4fff_f000] {
            assert_eq!(
                refused(base, std::slice::from_ref(&allowed)),
                format!(
                    "pool=0x{base:x}:0x2000: by ranges= the device reaches only 0x50000000 to 0x500fffff; \
                     pool=0x50000000:0x2000 is free"
                )
            );
        }
        // An address of nv_small has 32 bits.
        assert_eq!(
            refused(0x1_0000_0000, &ram),
            "pool=0x100000000:0x2000: the device's memory interfaces reach only 0x0 to 0xffffffff; pool=0x7ff00000:0x2000 is free"
        );
    }
}
