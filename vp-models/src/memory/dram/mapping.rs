//! Mapping of the bits of an address to channel, rank, group, bank, row and column.

use super::organisation::Organisation;
use strum::{EnumCount, EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// Location of a burst in the DRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Location {
    /// Channel.
    pub channel: u32,
    /// Pseudo channel of the channel.
    pub pseudo_channel: u32,
    /// Rank of the channel.
    pub rank: u32,
    /// Group of banks.
    pub group: u32,
    /// Bank in its group.
    pub bank: u32,
    /// Row.
    pub row: u32,
    /// Burst in its row: a column, counted in bursts.
    pub column: u32,
}

impl Location {
    /// Returns the bank's number in its channel, as [`DramCommand::bank`](super::DramCommand::bank) counts.
    pub const fn bank_in(&self, of: &Organisation) -> u32 {
        let unit = self.pseudo_channel * of.ranks + self.rank;
        (unit * of.groups + self.group) * of.banks + self.bank
    }
}

/// Part of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumCount, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
enum Field {
    Row,
    Bank,
    Group,
    Column,
    Rank,
    Pseudo,
    Channel,
}

impl Field {
    fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the bits that an organisation has of it.
    fn bits(self, of: &Organisation) -> u32 {
        let count = match self {
            Field::Row => of.rows,
            Field::Bank => of.banks,
            Field::Group => of.groups,
            Field::Column => of.columns / of.burst_length,
            Field::Rank => of.ranks,
            Field::Pseudo => of.pseudo_channels,
            Field::Channel => of.channels,
        };
        count.trailing_zeros()
    }
}

/// A mapping that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// A word that names no field.
    #[error(
        "`{0}` is no part of an address: write `row`, `bank`, `group`, `column`, `rank`, `pseudo` or `channel`, with a number of \
         bits if a field is in several places, such as `column:3`, and `bank^row` for a bank that is XORed with bits of the row"
    )]
    Word(String),
    /// A field whose bits are not all given, or given more than once.
    #[error("`{field}` has {bits} bits here, and the mapping gives it {given}")]
    Bits {
        /// The field.
        field: &'static str,
        /// Number of the field's bits by the organisation.
        bits: u32,
        /// Number of bits that the mapping gives it.
        given: u32,
    },
    /// A field that has no number of bits in several places.
    #[error(
        "`{0}` stands in more than one place without a number of bits: give all but one of them, such as `{0}:3`"
    )]
    Twice(&'static str),
    /// A hash that two addresses might share.
    #[error("`{0}`: the field behind ^ is `row` or `column`, without a ^ of its own")]
    Hash(String),
    /// A field with more than one hash.
    #[error("`{0}` is hashed twice: a field has one ^, which is for all its bits")]
    HashedTwice(&'static str),
    /// A hash that leaves the field behind it.
    #[error(
        "`{hash}`: `{field}` has {bits} bits here, so the first of those that are taken is from 0 to {bits} - 1"
    )]
    HashBits {
        /// The word.
        hash: String,
        /// Field behind ^.
        field: &'static str,
        /// Number of the field's bits by the organisation.
        bits: u32,
    },
}

/// A field that is XORed with bits of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hash {
    field: Field,
    with: Field,
    /// Lowest bit taken of `with`.
    first: u32,
}

/// An address's fields, from the least significant up; the bits below them are within one burst.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    fields: Vec<(Field, u32)>,
    hashes: Vec<Hash>,
    offset: u32,
}

/// Mappings by their names in Ramulator 2: from the most significant field down.
const RAMULATOR: [(&str, &str); 2] = [
    ("RoBaRaCoCh", "row bank group rank pseudo column channel"),
    ("ChRaBaRoCo", "channel pseudo rank group bank row column"),
];

/// Fields by two letters, as DRAMsim3 strings them together: `rochrababgco`.
const LETTERS: [(&str, &str); 6] =
    [("ro", "row"), ("ch", "channel"), ("ra", "rank"), ("ba", "bank"), ("bg", "group"), ("co", "column")];

impl Mapping {
    /// Consecutive bursts are in different channels, then in different groups; one row in all of them is one contiguous range of
    /// addresses.
    pub const DEFAULT: &'static str = "row rank bank column group pseudo channel";

    /// Reads a mapping: fields from the most significant down, such as `row bank column group channel`, or the name of a mapping of
    /// Ramulator (`RoBaRaCoCh`) or DRAMsim3 (`rochrababgco`). Ranks, pseudo channels, groups and channels of which there is one need
    /// no place.
    pub fn parse(text: &str, organisation: &Organisation) -> Result<Mapping, MappingError> {
        let spelled = peers(text);
        let text = spelled.as_deref().unwrap_or(text);
        let mut fields: Vec<(Field, Option<u32>)> = Vec::new();
        let mut hashes: Vec<(Hash, &str)> = Vec::new();
        for word in text.split_whitespace() {
            let unknown = || MappingError::Word(word.to_owned());
            let field = |name: &str| name.parse::<Field>().map_err(|_| unknown());
            let number = |text: &str| text.parse::<u32>().ok().filter(|&bits| bits <= 32).ok_or_else(unknown);
            let (place, hash) =
                word.split_once('^').map_or((word, None), |(place, hash)| (place, Some(hash)));
            let (name, bits) = place.split_once(':').map_or((place, None), |(name, bits)| (name, Some(bits)));
            fields.push((field(name)?, bits.map(number).transpose()?));
            if let Some(hash) = hash {
                let (with, first) = hash.split_once('@').unwrap_or((hash, "0"));
                hashes.push((Hash { field: field(name)?, with: field(with)?, first: number(first)? }, word));
            }
        }
        for field in Field::iter() {
            let places = || fields.iter().filter(|(it, _)| *it == field);
            let said: u32 = places().filter_map(|(_, bits)| *bits).sum();
            let bits = field.bits(organisation);
            match places().filter(|(_, bits)| bits.is_none()).count() {
                0 if said != bits => {
                    return Err(MappingError::Bits { field: field.name(), bits, given: said });
                }
                1 if said > bits => {
                    return Err(MappingError::Bits { field: field.name(), bits, given: said });
                }
                0 | 1 => {}
                _ => return Err(MappingError::Twice(field.name())),
            }
            for (_, rest) in fields.iter_mut().filter(|(it, bits)| *it == field && bits.is_none()) {
                *rest = Some(bits - said);
            }
        }
        for (hash, word) in &hashes {
            if hashes.iter().filter(|(other, _)| other.field == hash.field).count() > 1 {
                return Err(MappingError::HashedTwice(hash.field.name()));
            }
            let is_hashed = hashes.iter().any(|(other, _)| other.field == hash.with);
            if is_hashed || !matches!(hash.with, Field::Row | Field::Column) || hash.with == hash.field {
                return Err(MappingError::Hash((*word).to_owned()));
            }
            let bits = hash.with.bits(organisation);
            if hash.first >= bits {
                let (hash, field) = ((*word).to_owned(), hash.with.name());
                return Err(MappingError::HashBits { hash, field, bits });
            }
        }
        let fields = fields.iter().rev().map(|&(field, bits)| (field, bits.unwrap_or(0))).collect();
        let hashes = hashes.into_iter().map(|(hash, _)| hash).collect();
        Ok(Mapping { fields, hashes, offset: organisation.burst_bytes().trailing_zeros() })
    }

    /// Returns the location of an address. Addresses beyond the last row wrap around to the first.
    pub fn locate(&self, address: u64) -> Location {
        let mut left = address >> self.offset;
        let (mut values, mut filled) = ([0; Field::COUNT], [0; Field::COUNT]);
        for &(field, bits) in &self.fields {
            let value = (left & ((1 << bits) - 1)) as u32;
            left >>= bits;
            values[field as usize] |= value << filled[field as usize];
            filled[field as usize] += bits;
        }
        for &Hash { field, with, first } in &self.hashes {
            let mask = (1 << filled[field as usize]) - 1;
            values[field as usize] ^= (values[with as usize] >> first) & mask;
        }
        let value = |field: Field| values[field as usize];
        Location {
            channel: value(Field::Channel),
            pseudo_channel: value(Field::Pseudo),
            rank: value(Field::Rank),
            group: value(Field::Group),
            bank: value(Field::Bank),
            row: value(Field::Row),
            column: value(Field::Column),
        }
    }
}

/// Returns the fields of a mapping that has a peer's name.
fn peers(text: &str) -> Option<String> {
    if let Some((_, fields)) = RAMULATOR.iter().find(|(name, _)| *name == text) {
        return Some((*fields).to_owned());
    }
    let pairs = text.as_bytes().chunks(2).map(|pair| {
        let (_, name) = LETTERS.iter().find(|(letters, _)| letters.as_bytes() == pair)?;
        Some(*name)
    });
    let names = pairs.collect::<Option<Vec<_>>>()?;
    (names.len() == LETTERS.len()).then(|| names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::DramConfig;
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn ddr4() -> Organisation {
        DramConfig::of("DDR4-2400R".parse().unwrap()).organisation().unwrap()
    }

    #[test]
    fn fields_are_taken_from_the_top_down() {
        // 64 bytes a burst; 2 bits of group, 7 of column, 2 of bank, 16 of row.
        let mapping = Mapping::parse(Mapping::DEFAULT, &ddr4()).unwrap();
        let address = (5 << 17) | (3 << 15) | (0x41 << 8) | (2 << 6) | 17;
        let expected = Location { group: 2, bank: 3, row: 5, column: 0x41, ..Location::default() };
        assert_eq!(mapping.locate(address), expected);
        // The column's three lowest bits below the group.
        let split = Mapping::parse("row bank column group column:3", &ddr4()).unwrap();
        let address = (5 << 17) | (3 << 15) | (0x8 << 11) | (2 << 9) | (1 << 6);
        assert_eq!(split.locate(address), expected);
    }

    #[test]
    fn mappings_of_ramulator_and_dramsim3_are_known_by_their_names() {
        let two = Organisation { ranks: 2, channels: 2, ..ddr4() };
        let is = |name: &str, fields: &str| {
            assert_eq!(Mapping::parse(name, &two).unwrap(), Mapping::parse(fields, &two).unwrap());
        };
        is("RoBaRaCoCh", "row bank group rank pseudo column channel");
        is("ChRaBaRoCo", "channel pseudo rank group bank row column");
        is("rochrababgco", "row channel rank bank group column");
        assert!(Mapping::parse("rochrabagbco", &two).is_err());
    }

    #[test]
    fn a_bank_is_hashed_with_bits_of_the_row() {
        let mapping = Mapping::parse("row bank^row@2 column group^row", &ddr4()).unwrap();
        let place = |row: u64| {
            let at = mapping.locate(row << 17);
            (at.group, at.bank, at.row)
        };
        assert_eq!([0, 1, 4, 7].map(place), [(0, 0, 0), (1, 0, 1), (0, 1, 4), (3, 1, 7)]);
    }

    #[test]
    fn refuses_a_mapping_that_does_not_use_every_bit_once() {
        let refusal = |text| Mapping::parse(text, &ddr4()).unwrap_err().to_string();
        assert_eq!(refusal("row bank column"), "`group` has 2 bits here, and the mapping gives it 0");
        assert!(refusal("row bank lane column group").contains("`lane` is no part of an address"));
        assert!(refusal("row bank column column group").contains("`column` stands in more than one place"));
        assert_eq!(refusal("row bank:3 column group"), "`bank` has 2 bits here, and the mapping gives it 3");
        assert_eq!(
            refusal("row rank:1 bank column group"),
            "`rank` has 0 bits here, and the mapping gives it 1"
        );
        assert!(refusal("row bank^group column group^row").contains("behind ^ is `row` or `column`"));
        assert!(refusal("row^column bank column^row group").contains("without a ^ of its own"));
        assert!(refusal("row bank^row@16 column group").contains("`row` has 16 bits here"));
    }

    proptest! {
        #[test]
        fn bursts_of_different_addresses_lie_in_different_places(start in 0u64..1 << 33, which in 0usize..4) {
            let organisation = Organisation { channels: 2, ranks: 2, ..ddr4() };
            let text = [
                "column:4 row group channel bank rank column",
                Mapping::DEFAULT,
                "RoBaRaCoCh",
                "row rank^row@4 bank^column column group channel^column@3",
            ][which];
            let mapping = Mapping::parse(text, &organisation).unwrap();
            let places: HashSet<_> = (0..4096).map(|n| mapping.locate(start + n * 64)).collect();
            prop_assert_eq!(places.len(), 4096);
        }
    }
}
