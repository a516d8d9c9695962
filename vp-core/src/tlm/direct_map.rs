//! The direct access that an initiator has been granted, by address.

use super::decode::Decoder;
use super::{Command, DirectRegion, InitiatorSocket};
use crate::Time;
use std::cell::RefCell;
use std::fmt;

/// Keeps the regions to which an initiator has direct access, and accesses them.
///
/// Addresses that are not granted, or no longer granted, are accessed by a transaction.
///
/// ```
/// use vp_core::tlm::{Command, DirectMap, Flow, Initiator, InitiatorSocket, Payload, QuantumKeeper};
///
/// struct Cpu { socket: InitiatorSocket, direct: DirectMap, keeper: QuantumKeeper }
///
/// impl Cpu {
///     async fn load(&self, address: u64, bytes: &mut [u8]) {
///         if let Some(took) = self.direct.read(address, bytes) {
///             return self.keeper.inc(took);
///         }
///         let (mut payload, mut delay) = (Payload::read(address, bytes.len()), self.keeper.local_time());
///         self.socket.b_transport(&mut payload, &mut delay).await;
///         self.keeper.set(delay);
///         bytes.copy_from_slice(&payload.data);
///         if payload.direct_allowed {
///             self.direct.request(&self.socket, address, Command::Read);
///         }
///     }
/// }
///
/// impl Initiator for Cpu {
///     fn invalidate_direct(&self, start: u64, end: u64) {
///         self.direct.invalidate(start, end);
///     }
/// }
/// ```
#[derive(Default)]
pub struct DirectMap {
    reads: RefCell<Granted>,
    writes: RefCell<Granted>,
}

impl DirectMap {
    /// A map without regions.
    ///
    /// ```
    /// use vp_core::tlm::DirectMap;
    /// assert_eq!(DirectMap::new().read(0, &mut [0; 4]), None);
    /// ```
    pub fn new() -> DirectMap {
        DirectMap::default()
    }

    /// Asks a socket's target for direct access around `address`, and keeps the granted region. Returns whether
    /// there was one.
    pub fn request(&self, socket: &InitiatorSocket, address: u64, command: Command) -> bool {
        let granted = socket.direct(address, command);
        let whether = granted.is_some();
        granted.into_iter().for_each(|region| self.insert(region));
        whether
    }

    /// Keeps a region. It replaces all regions that overlap it and are for the same direction.
    ///
    /// ```
    /// use vp_core::Time;
    /// use vp_core::tlm::{DirectAccess, DirectMap, DirectRegion, Storage};
    /// let map = DirectMap::new();
    /// let region = DirectRegion::new(Storage::new(64), DirectAccess::Read).with_latency(Time::ps(5), Time::ZERO);
    /// map.insert(region.moved(0x1000));
    /// let mut data = [7; 4];
    /// assert_eq!((map.read(0x1008, &mut data), data), (Some(Time::ps(20)), [0; 4]));
    /// assert_eq!(map.write(0x1008, &[1]), None, "granted for reading only");
    /// map.invalidate(0x1020, 0x1fff);
    /// assert_eq!(map.read(0x1008, &mut data), None);
    /// ```
    pub fn insert(&self, region: DirectRegion) {
        let (read, write) = (region.access.allows(Command::Read), region.access.allows(Command::Write));
        if read && write {
            self.reads.borrow_mut().insert(region.clone());
        } else if read {
            return self.reads.borrow_mut().insert(region);
        }
        self.writes.borrow_mut().insert(region);
    }

    /// Forgets every region that touches `start..=end`, as [`super::Initiator::invalidate_direct`] requires.
    pub fn invalidate(&self, start: u64, end: u64) {
        self.reads.borrow_mut().remove(start, end);
        self.writes.borrow_mut().remove(start, end);
    }

    /// The region with `bytes` from `address` on, if there is one for this command.
    /// ```
    /// use vp_core::tlm::{Command, DirectAccess, DirectMap, DirectRegion, Storage};
    /// let map = DirectMap::new();
    /// map.insert(DirectRegion::new(Storage::new(64), DirectAccess::Read));
    /// assert!(map.find(0x20, 8, Command::Read).is_some());
    /// assert!(map.find(0x3c, 8, Command::Read).is_none(), "not all of it lies within");
    /// assert!(map.find(0x20, 8, Command::Write).is_none(), "only reading was granted");
    /// ```
    pub fn find(&self, address: u64, bytes: usize, command: Command) -> Option<DirectRegion> {
        match command {
            Command::Read => self.reads.borrow().find(address, bytes).cloned(),
            Command::Write => self.writes.borrow().find(address, bytes).cloned(),
            Command::Ignore => None,
        }
    }

    /// Copies from `address` on to `data`, if all of it is granted; returns the time it takes.
    #[inline]
    pub fn read(&self, address: u64, data: &mut [u8]) -> Option<Time> {
        let granted = self.reads.borrow();
        let region = granted.find(address, data.len())?;
        region.read_inside(address, data).ok()?;
        Some(region.read_latency * data.len() as u64)
    }

    /// Copies `data` to `address` and on, if all of it is granted; returns the time it takes.
    #[inline]
    pub fn write(&self, address: u64, data: &[u8]) -> Option<Time> {
        let granted = self.writes.borrow();
        let region = granted.find(address, data.len())?;
        region.write_inside(address, data).ok()?;
        Some(region.write_latency * data.len() as u64)
    }
}

impl fmt::Debug for DirectMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectMap")
            .field("reads", &self.reads.borrow().regions)
            .field("writes", &self.writes.borrow().regions)
            .finish()
    }
}

/// The regions for one direction: in order, and none overlaps another.
#[derive(Default)]
struct Granted {
    regions: Vec<DirectRegion>,
    decoder: Decoder,
}

impl Granted {
    #[inline]
    fn find(&self, address: u64, bytes: usize) -> Option<&DirectRegion> {
        let found = self.decoder.look_up(address).and_then(|index| self.regions.get(index));
        found.filter(|region| region.contains(address, bytes)).or_else(|| self.search(address, bytes))
    }

    /// Where a look at the address is not enough.
    #[cold]
    fn search(&self, address: u64, bytes: usize) -> Option<&DirectRegion> {
        self.regions.get(self.decoder.find(address)?).filter(|region| region.contains(address, bytes))
    }

    fn insert(&mut self, region: DirectRegion) {
        self.regions.retain(|other| other.end < region.start || region.end < other.start);
        let at = self.regions.partition_point(|other| other.start < region.start);
        self.regions.insert(at, region);
        self.decode();
    }

    fn remove(&mut self, start: u64, end: u64) {
        let before = self.regions.len();
        self.regions.retain(|region| region.end < start || end < region.start);
        if self.regions.len() != before {
            self.decode();
        }
    }

    fn decode(&mut self) {
        let starts = self.regions.iter().map(|region| region.start).collect();
        self.decoder = Decoder::new(starts, self.regions.last().map_or(0, |region| region.end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tlm::{DirectAccess, Storage};

    fn region(start: u64, size: usize, access: DirectAccess, fill: u8) -> DirectRegion {
        let storage: Storage = std::iter::repeat_n(fill, size).collect();
        DirectRegion::new(storage, access).moved(start)
    }

    fn byte(map: &DirectMap, address: u64) -> Option<u8> {
        let mut data = [0];
        map.read(address, &mut data).map(|_| data[0])
    }

    #[test]
    fn a_later_grant_takes_the_place_of_those_it_overlaps() {
        let map = DirectMap::new();
        map.insert(region(0x100, 0x100, DirectAccess::ReadWrite, 1));
        map.insert(region(0x200, 0x100, DirectAccess::ReadWrite, 2));
        map.insert(region(0x300, 0x100, DirectAccess::ReadWrite, 3));
        map.insert(region(0x180, 0x100, DirectAccess::Read, 4));
        assert_eq!(
            [0x17f, 0x180, 0x27f, 0x280, 0x300].map(|at| byte(&map, at)),
            [None, Some(4), Some(4), None, Some(3)]
        );
        // Writing was not part of it.
        assert!(map.write(0x17f, &[0]).is_some() && map.write(0x280, &[0]).is_some());
    }

    #[test]
    fn an_access_must_lie_in_one_region_as_a_whole() {
        let map = DirectMap::new();
        map.insert(region(0, 16, DirectAccess::ReadWrite, 1));
        map.insert(region(16, 16, DirectAccess::ReadWrite, 2));
        let mut data = [9; 4];
        assert_eq!((map.read(14, &mut data), data), (None, [9; 4]));
        assert_eq!(map.write(30, &[1; 4]), None);
        assert_eq!((map.read(28, &mut data), data), (Some(Time::ZERO), [2; 4]));
        assert!(map.find(28, 4, Command::Write).is_some() && map.find(29, 4, Command::Read).is_none());
    }

    #[test]
    fn what_is_withdrawn_is_gone_in_both_directions_and_nothing_else() {
        let map = DirectMap::new();
        map.insert(region(0, 16, DirectAccess::ReadWrite, 1));
        map.insert(region(16, 16, DirectAccess::ReadWrite, 2));
        map.invalidate(5, 5);
        assert_eq!((byte(&map, 0), byte(&map, 16)), (None, Some(2)));
        assert_eq!(map.write(0, &[0]), None);
        map.invalidate(0, u64::MAX);
        assert_eq!(byte(&map, 16), None);
    }
}
