//! BDMA and RUBIK as whole devices: any legal operation leaves what a slow loop over bytes leaves, groups end in their
//! order, and what is illegal is refused by name and does no harm.

mod bdma;
mod rubik;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use vp_core::Time;
use vp_models::nvdla::cube::Ram;
use vp_models::platform::Description;
use vp_tests::device::Device;
use vp_tests::program::Program;
use vp_tests::random::Draw;
use vp_tests::reference::Image;

/// Bytes of an atom, the unit of all addresses and strides here.
const ATOM: u32 = 32;

/// Draws operations, and the memory they work on.
struct Operations {
    random: ChaCha8Rng,
    description: Description,
    regions: Vec<(u64, Vec<u8>)>,
    /// The next free addresses of the secondary and the primary memory.
    free: [u64; 2],
}

impl Operations {
    fn new(seed: u64) -> Operations {
        Operations {
            random: ChaCha8Rng::seed_from_u64(seed),
            description: Draw::new("nv_full", seed).description().clone(),
            regions: Vec::new(),
            free: [0x5000_0000, 0x8000_0000],
        }
    }

    fn any(&mut self, range: std::ops::Range<u32>) -> u32 {
        self.random.random_range(range)
    }

    /// A multiple of an atom, somewhat larger than that many bytes.
    fn stride(&mut self, bytes: u32) -> u32 {
        bytes.next_multiple_of(ATOM) + ATOM * self.any(0..3)
    }

    /// Random bytes in either memory, with a gap before them.
    fn region(&mut self, bytes: u32) -> u64 {
        let memory = self.any(0..2) as usize;
        let base = self.free[memory] + u64::from(ATOM * self.any(0..9));
        self.free[memory] = base + u64::from(bytes);
        let contents = (0..bytes).map(|_| self.random.random()).collect();
        self.regions.push((base, contents));
        base
    }

    fn image(&self) -> Image {
        Image::new(self.regions.clone())
    }

    /// Runs a program; it must end with these interrupts and leave `expected`.
    fn leave(&self, write: impl FnOnce(&mut Program), interrupts: u32, expected: &Image, what: &str) {
        let mut device = Device::new(&self.description);
        device.load(&self.image());
        device.run_new(write);
        device.interrupts(interrupts);
        assert_eq!(device.warnings(), Vec::<String>::new(), "{what}");
        assert_eq!(device.difference(expected), None, "(address, found, expected) of {what}");
    }
}

/// The memory of an address.
fn ram(address: u64) -> Ram {
    if address >= 0x8000_0000 { Ram::Primary } else { Ram::Secondary }
}

/// Time at which the interrupt of what `write` starts comes.
fn duration(description: &Description, write: impl FnOnce(&mut Program)) -> Time {
    use vp_host::Host as _;
    let mut device = Device::new(description);
    device.run_new(write);
    device.host.wait_interrupt().expect("an interrupt");
    device.host.now().expect("time")
}
