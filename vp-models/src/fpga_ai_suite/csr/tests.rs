//! The block, held to a table that was written down by itself, and to the rules of its interrupts.

use super::*;
use proptest::prelude::*;

fn block() -> Csr {
    Csr::new(&Architecture::default())
}

const ICR: u32 = 0x200;
const IMR: u32 = 0x204;

/// Attribute of a bit: what software may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attribute {
    /// Read and write.
    Rw,
    /// Writes have no effect.
    Ro,
    /// A 1 clears.
    Rw1c,
    /// Reads zero, whatever is written.
    Zero,
}

/// The attribute of a bit, from the text of the register map: region by region, and not from the table under test.
fn attribute(address: u32, bit: u32) -> Attribute {
    let is_word = true;
    let is_lowest = bit == 0;
    let (is, attribute) = match address {
        0x000..0x030 => (is_word, Attribute::Ro),
        0x200 => (bit < 2, Attribute::Rw1c),
        0x204 => (bit < 2, Attribute::Rw),
        0x210 | 0x214 | 0x218 | 0x220 | 0x250 => (is_word, Attribute::Rw),
        0x21c => (bit < 3, Attribute::Ro),
        0x224 | 0x258 => (is_word, Attribute::Ro),
        0x22c => (is_lowest, Attribute::Rw),
        0x240 | 0x244 | 0x248 | 0x24c => (is_word, Attribute::Ro),
        0x254 | 0x260 => (is_lowest, Attribute::Ro),
        0x264 | 0x268 | 0x26c | 0x270 | 0x274 | 0x278 => (is_word, Attribute::Ro),
        _ => (false, Attribute::Zero),
    };
    if is { attribute } else { Attribute::Zero }
}

/// A slow block: a bit at a time.
struct Slow(Vec<[bool; 32]>);

impl Slow {
    fn like(csr: &Csr) -> Slow {
        Slow(
            (0..WINDOW / 4)
                .map(|word| std::array::from_fn(|bit| csr.read(4 * word) >> bit & 1 == 1))
                .collect(),
        )
    }

    fn read(&self, address: u32) -> u32 {
        (0..32).filter(|&bit| self.0[address as usize / 4][bit as usize]).fold(0, |word, bit| word | 1 << bit)
    }

    fn write(&mut self, address: u32, value: u32) {
        for bit in 0..32 {
            let stored = &mut self.0[address as usize / 4][bit as usize];
            let is_one = value >> bit & 1 == 1;
            match attribute(address, bit) {
                Attribute::Rw => *stored = is_one,
                Attribute::Rw1c if is_one => *stored = false,
                Attribute::Rw1c | Attribute::Ro | Attribute::Zero => {}
            }
        }
    }

    /// Sets bits as hardware does.
    fn set(&mut self, address: u32, bits: u32) {
        (0..32).filter(|bit| bits >> bit & 1 == 1).for_each(|bit| self.0[address as usize / 4][bit] = true);
    }

    fn clear(&mut self, address: u32) {
        self.0[address as usize / 4] = [false; 32];
    }
}

#[derive(Clone, Debug)]
enum Step {
    Read(u32),
    Write(u32, u32),
    Raise(bool),
}

/// Addresses of all kinds, those of the interrupts more often.
fn address() -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(ICR), 2 => Just(IMR), 3 => (0x80u32..0xe4).prop_map(|word| 4 * word), 2 => (0..WINDOW / 4).prop_map(|word| 4 * word)]
}

fn value() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), 0u32..4, (0u32..32).prop_map(|bit| 1 << bit), Just(u32::MAX), Just(0)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => address().prop_map(Step::Read),
        3 => (address(), value()).prop_map(|(address, value)| Step::Write(address, value)),
        1 => any::<bool>().prop_map(Step::Raise),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_accesses_find_each_bit_as_its_attribute_says(steps in prop::collection::vec(step(), 1..120)) {
        let mut csr = block();
        let mut slow = Slow::like(&csr);
        for step in steps {
            match step {
                Step::Read(address) => prop_assert_eq!(csr.read(address), slow.read(address), "{:#x}", address),
                Step::Write(address, value) => {
                    slow.write(address, value);
                    let asked = csr.write(address, value);
                    if asked == Some(CsrRequest::Reset) {
                        csr.reset();
                        (0x200..WINDOW).step_by(4).filter(|&at| at != 0x260).for_each(|at| slow.clear(at));
                    }
                    if let Some(CsrRequest::Debug(_)) = asked {
                        slow.clear(0x254);
                    }
                }
                Step::Raise(is_error) => {
                    csr.raise(if is_error { Interrupt::Error } else { Interrupt::Complete });
                    slow.set(ICR, if is_error { 1 } else { 2 });
                }
            }
            prop_assert_eq!(csr.level(), slow.read(ICR) & slow.read(IMR) != 0);
        }
        for address in (0..WINDOW).step_by(4) {
            prop_assert_eq!(csr.read(address), slow.read(address), "{:#x}", address);
        }
    }

    #[test]
    fn an_interrupt_arises_with_each_bit_that_comes_to_be_set_and_unmasked(
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut csr = block();
        let mut arisen = 0;
        for step in steps {
            let before = (csr.read(ICR), csr.read(IMR));
            match step {
                Step::Write(address @ (ICR | IMR), value) => _ = csr.write(address, value),
                Step::Raise(is_error) => csr.raise(if is_error { Interrupt::Error } else { Interrupt::Complete }),
                _ => continue,
            }
            let after = (csr.read(ICR), csr.read(IMR));
            // The two sentences of the register map.
            let of_control = !before.0 & after.0 & after.1;
            let of_mask = !before.1 & after.1 & after.0;
            arisen += u64::from((of_control | of_mask).count_ones());
            prop_assert_eq!(csr.arisen(), arisen);
        }
    }
}

#[test]
fn the_line_follows_set_and_unmasked_bits() {
    let mut csr = block();
    let levels = |csr: &Csr| (csr.level(), csr.arisen());
    csr.raise(Interrupt::Complete);
    assert_eq!(levels(&csr), (false, 0), "masked");
    csr.write(IMR, 0b11);
    assert_eq!(levels(&csr), (true, 1), "a mask bit went to 1 over a set bit");
    csr.raise(Interrupt::Complete);
    assert_eq!(levels(&csr), (true, 1), "it was set already");
    csr.raise(Interrupt::Error);
    assert_eq!(levels(&csr), (true, 2), "another bit went to 1");
    csr.write(ICR, 0b10);
    assert_eq!((csr.read(ICR), levels(&csr)), (0b01, (true, 2)));
    csr.write(IMR, 0b10);
    assert_eq!(levels(&csr), (false, 2));
    csr.write(IMR, 0b01);
    assert_eq!(levels(&csr), (true, 3));
    csr.write(ICR, 0);
    assert_eq!(csr.read(ICR), 1, "writing 0 leaves it");
    csr.write(ICR, 1);
    assert_eq!((csr.read(ICR), csr.level()), (0, false));
}

#[test]
fn the_discovery_rom_holds_hash_and_version() {
    let architecture = Architecture {
        hash: Some("0102030405060708090a0b0c0d0e0f10".parse().unwrap()),
        version: "2025.1 model".into(),
        ..Architecture::default()
    };
    let csr = Csr::new(&architecture);
    let rom: Vec<u8> = (0..48).step_by(4).flat_map(|address| csr.read(address).to_le_bytes()).collect();
    assert_eq!(rom[..16], (1..=16).collect::<Vec<u8>>());
    assert_eq!(rom[16..28], *b"2025.1 model");
    assert_eq!(rom[28..], [0; 20]);
}

#[test]
fn a_write_to_the_io_base_is_a_request_with_the_values_held() {
    let mut csr = block();
    assert_eq!(csr.write(0x210, 0x8000_0000), None);
    assert_eq!(csr.write(0x214, 40), None);
    assert_eq!(csr.write(0x220, 0x9000_0000), None);
    let request = Descriptor {
        config_base: 0x8000_0000,
        config_words: 42,
        io_base: 0x8800_0000,
        intermediate_base: 0x9000_0000,
    };
    assert_eq!(csr.write(0x218, 0x8800_0000), Some(CsrRequest::Job(request)));
    let again = Descriptor { io_base: 0x8800_0040, ..request };
    assert_eq!(csr.write(0x218, 0x8800_0040), Some(CsrRequest::Job(again)), "the others are held");
}

#[test]
fn any_value_but_zero_resets() {
    let mut csr = block();
    csr.write(0x214, 40);
    csr.write(0x204, 3);
    csr.raise(Interrupt::Error);
    assert_eq!(csr.write(0x228, 0), None);
    assert_eq!((csr.write(0x228, 0x100), csr.read(0x228)), (Some(CsrRequest::Reset), 0));
    let rom = csr.read(0);
    csr.reset();
    assert_eq!([csr.read(0x214), csr.read(0x204), csr.read(0x200)], [0; 3]);
    assert_eq!((csr.read(0), csr.read(0x260), csr.level()), (rom, 1, false));
}

#[test]
fn a_model_update_gathers_its_words() {
    let mut csr = block();
    (0..32).for_each(|at| assert_eq!(csr.write(0x300 + 4 * at, 100 + at), None));
    assert_eq!(csr.read(0x300), 0, "write only");
    let word = Box::new(std::array::from_fn(|at| 100 + at as u32));
    let asked = csr.write(0x380, 0x8000_0007);
    assert_eq!(
        asked,
        Some(CsrRequest::Update { target: Target::Scratchpad, address: 7, word: word.clone() })
    );
    let asked = csr.write(0x380, 9);
    assert_eq!(asked, Some(CsrRequest::Update { target: Target::Configuration, address: 9, word }));
}

#[test]
fn the_debug_network_is_asked_by_writing_an_address() {
    let mut csr = block();
    csr.set(reg::DEBUG_VALID, 1);
    csr.set(reg::DEBUG_DATA, 5);
    assert_eq!((csr.read(0x254), csr.read(0x258)), (1, 5));
    assert_eq!(csr.write(0x250, 12), Some(CsrRequest::Debug(12)));
    assert_eq!((csr.read(0x250), csr.read(0x254)), (12, 0));
}

#[test]
fn the_table_has_the_addresses_of_the_register_map() {
    let expected = (0x000..0x030)
        .step_by(4)
        .chain([0x200, 0x204, 0x210, 0x214, 0x218, 0x21c, 0x220, 0x224, 0x228, 0x22c])
        .chain((0x240..0x250).step_by(4))
        .chain([0x250, 0x254, 0x258, 0x260])
        .chain((0x264..0x27c).step_by(4))
        .chain((0x300..0x384).step_by(4));
    assert!(reg::REGISTERS.iter().map(|register| u32::from(register.offset)).eq(expected));
    for register in reg::REGISTERS {
        let texts = register.fields.iter().map(|field| field.doc).chain([register.doc]);
        texts.for_each(|text| assert!(text.ends_with('.'), "{register}: {text}"));
    }
}

#[test]
fn counts_have_two_halves() {
    let mut csr = block();
    csr.set_pair(reg::JOB_CLOCKS_LOW, reg::JOB_CLOCKS_HIGH, 0x0123_4567_89ab_cdef);
    csr.set_pair(reg::OUTPUT_WORDS_LOW, reg::OUTPUT_WORDS_HIGH, u64::MAX);
    assert_eq!(
        [0x248, 0x24c, 0x274, 0x278].map(|at| csr.read(at)),
        [0x89ab_cdef, 0x0123_4567, u32::MAX, u32::MAX]
    );
}
