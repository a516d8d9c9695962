//! Random requests: phases of one pattern each, from single reads behind long pauses to floods of writes.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vp_models::memory::MemoryRequest;

/// Order of a phase's addresses.
#[derive(Debug, Clone, Copy)]
enum Order {
    /// Anywhere.
    Random,
    /// One behind the other.
    Run,
    /// A few bits of the address change, so that few banks, or few rows of one, are wanted.
    Few {
        /// The bits.
        bits: u64,
    },
    /// Requests that are so many bytes apart.
    Strided {
        /// Bytes.
        stride: u64,
    },
}

/// A phase.
#[derive(Debug, Clone, Copy)]
struct Phase {
    left: u32,
    order: Order,
    base: u64,
    at: u64,
    /// Share of writes.
    writes: f64,
    /// Clocks between two requests, on average.
    gap: u64,
    bytes: u32,
}

/// Requests without end.
#[derive(Debug)]
pub struct Stream {
    random: ChaCha8Rng,
    /// Bytes of the memory.
    size: u64,
    /// Bytes of a burst.
    burst: u32,
    /// Lengths of pauses between phases, in clocks.
    pauses: Vec<u64>,
    phase: Phase,
}

impl Stream {
    /// Requests to a memory of `size` bytes with bursts of `burst`, and pauses of about these lengths.
    pub fn new(seed: u64, size: u64, burst: u32, pauses: &[u64]) -> Stream {
        let phase = Phase { left: 0, order: Order::Run, base: 0, at: 0, writes: 0.0, gap: 0, bytes: burst };
        Stream { random: ChaCha8Rng::seed_from_u64(seed), size, burst, pauses: pauses.to_vec(), phase }
    }

    fn next_phase(&mut self) -> u64 {
        let Stream { random, size, burst, pauses, phase } = self;
        let bits = size.ilog2();
        let order = match random.random_range(0..10) {
            0..3 => Order::Random,
            3..5 => Order::Run,
            5..8 => {
                let low = burst.ilog2();
                let count = random.random_range(1..=5);
                Order::Few {
                    bits: (0..count).map(|_| 1 << random.random_range(low..bits)).fold(0, |a, b| a | b),
                }
            }
            _ => Order::Strided { stride: 1 << random.random_range(burst.ilog2()..bits) },
        };
        let bytes = match random.random_range(0..8) {
            0 => 8,
            1 => *burst * 4,
            2 => *burst * 16,
            _ => *burst,
        };
        *phase = Phase {
            left: random.random_range(1..=600),
            order,
            base: random.random_range(0..*size),
            at: 0,
            writes: *[0.0, 0.1, 0.33, 0.5, 0.9, 1.0].choose(random).unwrap_or(&0.0),
            gap: *[0, 0, 0, 2, 10, 40, 200].choose(random).unwrap_or(&0),
            bytes,
        };
        // A short phase is often alone.
        if random.random_ratio(1, 4) {
            phase.left = random.random_range(1..=4);
        }
        match pauses.choose(random) {
            Some(&pause) if random.random_ratio(1, 3) => random.random_range(0..=pause * 2),
            _ => 0,
        }
    }

    /// Returns the next request, made some clocks behind `now`.
    pub fn request(&mut self, now: u64) -> MemoryRequest {
        let mut clock = now;
        if self.phase.left == 0 {
            clock += self.next_phase();
        }
        let Stream { random, size, phase, .. } = self;
        phase.left -= 1;
        if phase.gap > 0 {
            clock += random.random_range(0..=phase.gap * 2);
        }
        let bytes = u64::from(phase.bytes);
        let address = match phase.order {
            Order::Random => random.random_range(0..*size),
            Order::Run => phase.base + phase.at * bytes,
            Order::Few { bits } => phase.base ^ (random.random::<u64>() & bits),
            Order::Strided { stride } => phase.base + phase.at * stride,
        };
        phase.at += 1;
        let address = address % *size / bytes * bytes;
        let write = random.random_bool(phase.writes);
        MemoryRequest { clock, write, address, bytes: phase.bytes }
    }
}
