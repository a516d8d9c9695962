//! Cases near those of a corpus, drawn from a seed.

use rand::{Rng, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::choices::{Choices, put_piece};

/// Longest case, in bytes.
const LONGEST: usize = 64 << 10;
/// Most pieces of a stream that is put together.
const PIECES: usize = 48;
/// Numbers at the edges of what programs count with.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "2",
    "7",
    "255",
    "65535",
    "65536",
    "1000001",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "1e308",
];

/// Form of a target's cases, for who changes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any bytes.
    Bytes,
    /// A number of bytes, and then pieces of a stream ([`Choices::piece`]).
    Pieces {
        /// Bytes before the first piece.
        head: usize,
    },
}

/// The case of a seed, near some of a corpus.
pub fn case(seed: u64, form: Form, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let empty = Vec::new();
    let any = |random: &mut ChaCha8Rng| match corpus.len() {
        0 => &empty,
        count => &corpus[random.random_range(0..count)],
    };
    match form {
        Form::Pieces { head } if random.random_range(0..4) > 0 => {
            let first = any(&mut random);
            let mut case: Vec<u8> = match random.random_range(0..4) {
                0 => first[..head.min(first.len())].to_vec(),
                _ => (0..head).map(|_| random.random()).collect(),
            };
            case.resize(head, 0);
            // Mostly the pieces of one file in their order, so that sessions get anywhere.
            let (mut from, mut choices) = (first, Choices::new(&first[head.min(first.len())..]));
            for _ in 0..random.random_range(1..=PIECES) {
                if random.random_range(0..12) == 0 {
                    from = any(&mut random);
                    choices = Choices::new(&from[head.min(from.len())..]);
                    (0..random.random_range(0..8)).for_each(|_| _ = choices.piece());
                }
                let Some(piece) = choices.piece() else {
                    choices = Choices::new(&from[head.min(from.len())..]);
                    continue;
                };
                if random.random_range(0..16) > 0 {
                    put_piece(&spoiled(piece, &mut random), &mut case);
                }
            }
            case
        }
        _ => {
            let mut case = any(&mut random).clone();
            for _ in 0..random.random_range(1..=8) {
                let other = any(&mut random);
                change(&mut case, other, &mut random);
            }
            case.truncate(LONGEST);
            case
        }
    }
}

/// A piece, or what is left of it: most are whole.
fn spoiled(piece: &[u8], random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut piece = piece.to_vec();
    match random.random_range(0..32) {
        0..4 => (0..=random.random_range(0..4)).for_each(|_| set(&mut piece, random)),
        4 => piece.truncate(random.random_range(0..=piece.len())),
        5 => random.fill(&mut piece[..]),
        _ => {}
    }
    piece
}

/// Sets one byte.
fn set(bytes: &mut [u8], random: &mut ChaCha8Rng) {
    if !bytes.is_empty() {
        let at = random.random_range(0..bytes.len());
        bytes[at] = [0, 1, 2, 0x7f, 0x80, 0xff, random.random(), bytes[at] ^ 1 << random.random_range(0..8)]
            [random.random_range(0..8)];
    }
}

/// A range of these bytes, short mostly.
fn part(length: usize, random: &mut ChaCha8Rng) -> std::ops::Range<usize> {
    let from = random.random_range(0..=length);
    let most = (length - from).min(1 << random.random_range(0..12));
    from..from + random.random_range(0..=most)
}

fn change(case: &mut Vec<u8>, other: &[u8], random: &mut ChaCha8Rng) {
    let at = random.random_range(0..=case.len());
    match random.random_range(0..10) {
        0..3 => set(case, random),
        3 => drop(case.drain(part(case.len(), random))),
        4 => {
            let again = case[part(case.len(), random)].to_vec();
            drop(case.splice(at..at, again));
        }
        5 => {
            let piece = other[part(other.len(), random)].to_vec();
            drop(case.splice(at..at, piece));
        }
        6 => {
            let range = part(case.len(), random);
            let piece = other[part(other.len(), random)].to_vec();
            drop(case.splice(range, piece));
        }
        7 => {
            let more: Vec<u8> = (0..random.random_range(1..16)).map(|_| random.random()).collect();
            drop(case.splice(at..at, more));
        }
        // A number in a text becomes another one.
        _ => {
            let is_digit = |byte: &u8| byte.is_ascii_digit();
            let Some(from) = case[at..].iter().position(is_digit).map(|from| at + from) else {
                return set(case, random);
            };
            let length = case[from..].iter().take_while(|byte| is_digit(byte)).count();
            let number = NUMBERS[random.random_range(0..NUMBERS.len())];
            drop(case.splice(from..from + length, number.bytes()));
        }
    }
}
