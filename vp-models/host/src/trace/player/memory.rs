//! Fills, places, compares and sums memory over a [`Host`], a piece at a time: no region is ever held whole.

use rand::{RngCore as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::FailureKind;
use crate::trace::Surface;
use crate::trace::cfg::Pattern;
use crate::{Host, HostError, Memory};

const PIECE: u64 = 64 << 10;

/// The pieces of `base .. base + size`: address and length.
fn pieces(base: u64, size: u64) -> impl Iterator<Item = (u64, usize)> {
    (0..size.div_ceil(PIECE)).map(move |index| {
        let offset = index * PIECE;
        (base + offset, (size - offset).min(PIECE) as usize)
    })
}

/// Fills a region. `stream` keeps the random bytes of one fill apart from those of another under the same
/// seed.
pub(super) fn fill(
    host: &mut dyn Host,
    memory: Memory,
    base: u64,
    size: u64,
    pattern: Pattern,
    (seed, stream): (u64, u64),
) -> Result<(), HostError> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    let mut bytes = vec![0; size.min(PIECE) as usize];
    for (address, length) in pieces(base, size) {
        let piece = &mut bytes[..length];
        match pattern {
            Pattern::AllZero => piece.fill(0),
            Pattern::Ones => piece.fill(0xff),
            Pattern::Afive => piece.fill(0xa5),
            Pattern::Fivea => piece.fill(0x5a),
            Pattern::Random | Pattern::X => random.fill_bytes(piece),
            // A piece's length is far below 2^64, and the region ends inside the address space.
            Pattern::Addr => {
                piece.iter_mut().zip(address..).for_each(|(byte, address)| *byte = address as u8);
            }
        }
        host.load(memory, address, piece)?;
    }
    Ok(())
}

/// Sets all bytes of a region.
pub(super) fn fill_with(
    host: &mut dyn Host,
    memory: Memory,
    base: u64,
    size: u64,
    byte: u8,
) -> Result<(), HostError> {
    let bytes = vec![byte; size.min(PIECE) as usize];
    pieces(base, size).try_for_each(|(address, length)| host.load(memory, address, &bytes[..length]))
}

/// Places a surface; gaps are left as they are.
pub(super) fn place(
    host: &mut dyn Host,
    memory: Memory,
    base: u64,
    surface: &Surface,
) -> Result<(), HostError> {
    surface.runs().iter().try_for_each(|run| host.load(memory, base + run.offset, &run.bytes))
}

/// CRC-32 of a region, as zlib computes it.
pub(super) fn crc(host: &mut dyn Host, memory: Memory, base: u64, size: u64) -> Result<u32, HostError> {
    let mut sum = crc32fast::Hasher::new();
    let mut bytes = vec![0; size.min(PIECE) as usize];
    for (address, length) in pieces(base, size) {
        host.fetch(memory, address, &mut bytes[..length])?;
        sum.update(&bytes[..length]);
    }
    Ok(sum.finalize())
}

/// Compares a region with the surface's bytes below `size`; gaps are not looked at.
pub(super) fn compare(
    host: &mut dyn Host,
    memory: Memory,
    base: u64,
    size: u64,
    (file, surface): (&str, &Surface),
) -> Result<Result<(), FailureKind>, HostError> {
    let (mut differing, mut first) = (0, None);
    let mut bytes = vec![0; size.min(PIECE) as usize];
    for run in surface.runs() {
        let wanted = (run.bytes.len() as u64).min(size.saturating_sub(run.offset));
        for (address, length) in pieces(base.saturating_add(run.offset), wanted) {
            let found = &mut bytes[..length];
            host.fetch(memory, address, found)?;
            let at = (address - base - run.offset) as usize;
            for ((expected, actual), address) in run.bytes[at..].iter().zip(found.iter()).zip(address..) {
                if expected != actual {
                    differing += 1;
                    first.get_or_insert((address, *expected, *actual));
                }
            }
        }
    }
    Ok(match first {
        None => Ok(()),
        Some((address, expected, actual)) => {
            Err(FailureKind::Bytes { memory, file: file.to_owned(), differing, address, expected, actual })
        }
    })
}
