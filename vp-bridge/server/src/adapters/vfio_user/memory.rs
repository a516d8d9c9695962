//! Memory of the client: the parts that it has mapped, and accesses to parts whose file is not mapped here.

use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};
use vp_hub::{Failure, FailureKind, MemoryAccess, RequestId};
use vp_protocols::vfio_user::{DmaMap, DmaUnmap, Errno, MemoryToken};

use crate::adapters::SharedPart;

/// Parts that there may be at a time.
pub(super) const MOST_PARTS: u64 = 256;
/// The parts begin and end at multiples of so many bytes.
pub(super) const PAGE: u64 = 4096;
/// Bytes that one message moves at most.
const LONGEST: u64 = 64 << 10;

/// A part that the client has mapped.
#[derive(Debug, Clone, Copy)]
struct Part {
    map: DmaMap,
    /// Number of its file's memory, if that is mapped here.
    memory: Option<u64>,
}

impl Part {
    fn end(&self) -> u64 {
        self.map.address + self.map.size
    }
}

/// All parts, by their first address. They do not overlap.
#[derive(Debug, Default)]
pub(super) struct Parts(BTreeMap<u64, Part>);

impl Parts {
    /// Checks that a part can be mapped.
    ///
    /// # Errors
    /// The reason for the client.
    pub(super) fn check(&self, map: &DmaMap) -> Result<(), Errno> {
        let end = map.address.checked_add(map.size).ok_or(Errno::EINVAL)?;
        let is_page = |number: u64| number.is_multiple_of(PAGE);
        if map.size == 0 || !is_page(map.address) || !is_page(map.size) || !is_page(map.offset) {
            return Err(Errno::EINVAL);
        }
        if self.0.range(..end).next_back().is_some_and(|(_, part)| part.end() > map.address) {
            return Err(Errno::EEXIST);
        }
        if self.0.len() as u64 >= MOST_PARTS { Err(Errno::ENOSPC) } else { Ok(()) }
    }

    /// Adds a part that was checked.
    pub(super) fn add(&mut self, map: DmaMap, memory: Option<u64>) {
        self.0.insert(map.address, Part { map, memory });
    }

    /// Takes away the parts in a range, and gives the numbers of their files' memories. As in Linux, the range may have several parts or
    /// none, but not a piece of one.
    ///
    /// # Errors
    /// The reason for the client.
    pub(super) fn remove(&mut self, unmap: &DmaUnmap) -> Result<Vec<u64>, Errno> {
        if unmap.is_all {
            return Ok(std::mem::take(&mut self.0).into_values().filter_map(|part| part.memory).collect());
        }
        let end = unmap.address.checked_add(unmap.size).ok_or(Errno::EINVAL)?;
        let is_cut = |(_, part): (&u64, &Part)| {
            part.end() > unmap.address && (part.map.address < unmap.address || part.end() > end)
        };
        if self.0.range(..end).any(is_cut) {
            return Err(Errno::EINVAL);
        }
        let gone: Vec<u64> = self.0.range(unmap.address..end).map(|(address, _)| *address).collect();
        Ok(gone.iter().filter_map(|address| self.0.remove(address)?.memory).collect())
    }

    /// The parts that can be accessed directly, as far as they lie in a range.
    pub(super) fn shared(&self, within: &std::ops::Range<u64>) -> Vec<SharedPart> {
        let parts = self.0.values().filter(|part| part.map.is_readable);
        let shared = parts.filter_map(|part| {
            let range = part.map.address.max(within.start)..part.end().min(within.end);
            Some(SharedPart {
                memory: part.memory?,
                offset: range.start.checked_sub(part.map.address)?,
                is_writeable: part.map.is_writeable,
                range,
            })
        });
        shared.filter(|shared| !shared.range.is_empty()).collect()
    }

    /// Returns the end of the part that has an address, if the device may access it so.
    fn end_of(&self, address: u64, is_write: bool) -> Option<u64> {
        let (_, part) = self.0.range(..=address).next_back()?;
        let may = if is_write { part.map.is_writeable } else { part.map.is_readable };
        (may && address < part.end()).then_some(part.end())
    }
}

/// A piece of an access: one message.
#[derive(Debug, Clone, Copy)]
struct Piece {
    request: RequestId,
    address: u64,
    /// Place in the access's bytes.
    from: usize,
    to: usize,
}

/// An access of the platform that is under way.
#[derive(Debug)]
struct Access {
    data: BytesMut,
    is_write: bool,
    /// Pieces that are not answered.
    open: usize,
    failed: Option<Failure>,
}

/// Message for the client.
pub(super) enum Message<'a> {
    Read { address: u64, count: usize },
    Write { address: u64, data: &'a [u8] },
}

/// Accesses of the platform to memory that is not mapped here.
#[derive(Debug, Default)]
pub(super) struct Accesses {
    accesses: BTreeMap<RequestId, Access>,
    waiting: VecDeque<Piece>,
    sent: BTreeMap<MemoryToken, Piece>,
    done: VecDeque<(RequestId, Result<Bytes, Failure>)>,
}

impl Accesses {
    /// Returns true if nothing waits for the client.
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.waiting.is_empty()
    }

    /// Takes an access in.
    pub(super) fn push(&mut self, request: RequestId, access: MemoryAccess, parts: &Parts, most: usize) {
        let MemoryAccess { address, length, write, .. } = access;
        let is_write = write.is_some();
        let (data, strobes) = match write {
            Some((data, strobes)) => (BytesMut::from(data), strobes),
            None => (BytesMut::zeroed(length as usize), None),
        };
        let is_meant = |at: usize| {
            let Some(strobes) = &strobes else { return true };
            strobes.get(at / 8).is_some_and(|bits| bits >> (at % 8) & 1 == 1)
        };
        let (mut pieces, mut from) = (Vec::new(), 0);
        while from < data.len() {
            if strobes.is_some() && !is_meant(from) {
                from += 1;
                continue;
            }
            let at = address.wrapping_add(from as u64);
            let Some(end) = parts.end_of(at, is_write) else {
                let verb = if is_write { "written" } else { "read" };
                let why = format!("the client has mapped no memory at 0x{at:x} that may be {verb}");
                self.done.push_back((request, Err(Failure::new(FailureKind::DecodeError, why))));
                return;
            };
            let room = (end - at).min(LONGEST).min(most as u64) as usize;
            let most = data.len().min(from + room);
            let to = match strobes {
                None => most,
                Some(_) => (from..most).find(|at| !is_meant(*at)).unwrap_or(most),
            };
            pieces.push(Piece { request, address: at, from, to });
            from = to;
        }
        let open = pieces.len();
        self.waiting.extend(pieces);
        self.accesses.insert(request, Access { data, is_write, open, failed: None });
        self.finish(request);
    }

    /// Sends as many messages as `send` takes.
    pub(super) fn send(&mut self, mut send: impl FnMut(Message<'_>) -> Option<MemoryToken>) {
        while let Some(piece) = self.waiting.front().copied() {
            let Some(access) = self.accesses.get(&piece.request) else {
                self.waiting.pop_front();
                continue;
            };
            let Piece { address, from, to, .. } = piece;
            let token = match access.is_write {
                true => send(Message::Write { address, data: &access.data[from..to] }),
                false => send(Message::Read { address, count: to - from }),
            };
            let Some(token) = token else { return };
            self.waiting.pop_front();
            self.sent.insert(token, piece);
        }
    }

    /// The client has answered.
    pub(super) fn answered(&mut self, token: MemoryToken, result: Result<Bytes, Errno>) {
        let Some(piece) = self.sent.remove(&token) else { return };
        // It may have failed since.
        let Some(access) = self.accesses.get_mut(&piece.request) else { return };
        match result {
            Ok(data) if !access.is_write => access.data[piece.from..piece.to].copy_from_slice(&data),
            Ok(_) => {}
            Err(Errno(error)) => {
                let why = format!("the client refuses the access at 0x{:x}: errno {error}", piece.address);
                access.failed = Some(Failure::new(FailureKind::SlaveError, why));
            }
        }
        access.open -= 1;
        self.finish(piece.request);
    }

    fn finish(&mut self, request: RequestId) {
        if self.accesses.get(&request).is_none_or(|access| access.open > 0) {
            return;
        }
        if let Some(Access { data, is_write, failed, .. }) = self.accesses.remove(&request) {
            let data = if is_write { Bytes::new() } else { data.freeze() };
            self.done.push_back((request, failed.map_or(Ok(data), Err)));
        }
    }

    /// Fails the accesses to memory that is mapped no more. What the client still says of them is not heeded.
    pub(super) fn fail_unmapped(&mut self, parts: &Parts) {
        let is_gone = |piece: &&Piece, accesses: &BTreeMap<RequestId, Access>| {
            let is_write = accesses.get(&piece.request).is_some_and(|access| access.is_write);
            parts.end_of(piece.address, is_write).is_none()
        };
        let pieces = self.sent.values().chain(&self.waiting);
        let gone: Vec<Piece> = pieces.filter(|piece| is_gone(piece, &self.accesses)).copied().collect();
        for Piece { request, address, .. } in gone {
            if self.accesses.remove(&request).is_some() {
                let why = format!("the client has unmapped its memory at 0x{address:x} meanwhile");
                self.done.push_back((request, Err(Failure::new(FailureKind::DecodeError, why))));
            }
        }
    }

    /// An access that is done.
    pub(super) fn take_done(&mut self) -> Option<(RequestId, Result<Bytes, Failure>)> {
        self.done.pop_front()
    }
}
