//! Mapping of the bits of an address to channel, group, bank, row and column.

use super::standard::Organisation;

/// Location of a burst in the DRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Location {
    /// Channel.
    pub channel: u32,
    /// Group of banks.
    pub group: u32,
    /// Bank in its group.
    pub bank: u32,
    /// Row.
    pub row: u32,
    /// Burst in its row: a column, counted in bursts.
    pub column: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Row,
    Bank,
    Group,
    Column,
    Channel,
}

impl Field {
    const ALL: [(Field, &'static str); 5] = [
        (Field::Row, "row"),
        (Field::Bank, "bank"),
        (Field::Group, "group"),
        (Field::Column, "column"),
        (Field::Channel, "channel"),
    ];

    /// The bits that an organisation has of it.
    fn bits(self, of: &Organisation) -> u32 {
        let count = match self {
            Field::Row => of.rows,
            Field::Bank => of.banks,
            Field::Group => of.groups,
            Field::Column => of.columns / of.burst_length,
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
        "`{0}` is no part of an address: write `row`, `bank`, `group`, `column` or `channel`, with a number of bits if a \
         field is in several places, such as `column:3`"
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
}

/// An address's fields, from the least significant up; the bits below them are within one burst.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    fields: Vec<(Field, u32)>,
    offset: u32,
}

impl Mapping {
    /// Consecutive bursts are in different channels, then in different groups; one row in all of them is one
    /// contiguous range of addresses.
    pub const DEFAULT: &'static str = "row bank column group channel";

    /// Reads a mapping: fields from the most significant down, such as `row bank column group channel`.
    pub fn parse(text: &str, organisation: &Organisation) -> Result<Mapping, MappingError> {
        let mut fields: Vec<(Field, Option<u32>)> = Vec::new();
        for word in text.split_whitespace() {
            let (name, bits) = word.split_once(':').map_or((word, None), |(name, bits)| (name, Some(bits)));
            let unknown = || MappingError::Word(word.to_owned());
            let (field, _) = *Field::ALL.iter().find(|(_, it)| *it == name).ok_or_else(unknown)?;
            let bits = bits
                .map(|bits| bits.parse::<u32>().ok().filter(|&bits| bits <= 32).ok_or_else(unknown))
                .transpose()?;
            fields.push((field, bits));
        }
        for (field, name) in Field::ALL {
            let places = || fields.iter().filter(|(it, _)| *it == field);
            let said: u32 = places().filter_map(|(_, bits)| *bits).sum();
            let bits = field.bits(organisation);
            match places().filter(|(_, bits)| bits.is_none()).count() {
                0 if said != bits => return Err(MappingError::Bits { field: name, bits, given: said }),
                1 if said > bits => return Err(MappingError::Bits { field: name, bits, given: said }),
                0 | 1 => {}
                _ => return Err(MappingError::Twice(name)),
            }
            for (_, rest) in fields.iter_mut().filter(|(it, bits)| *it == field && bits.is_none()) {
                *rest = Some(bits - said);
            }
        }
        let fields = fields.iter().rev().map(|&(field, bits)| (field, bits.unwrap_or(0))).collect();
        Ok(Mapping { fields, offset: organisation.burst_bytes().trailing_zeros() })
    }

    /// The location of an address. Addresses beyond the last row wrap around to the first.
    pub fn locate(&self, address: u64) -> Location {
        let mut left = address >> self.offset;
        let mut at = Location::default();
        let mut filled = [0; 5];
        for &(field, bits) in &self.fields {
            let value = (left & ((1 << bits) - 1)) as u32;
            left >>= bits;
            let (place, filled) = match field {
                Field::Row => (&mut at.row, &mut filled[0]),
                Field::Bank => (&mut at.bank, &mut filled[1]),
                Field::Group => (&mut at.group, &mut filled[2]),
                Field::Column => (&mut at.column, &mut filled[3]),
                Field::Channel => (&mut at.channel, &mut filled[4]),
            };
            *place |= value << *filled;
            *filled += bits;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::super::standard::Standard;
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn fields_are_taken_from_the_top_down() {
        // 64 bytes a burst; 2 bits of group, 7 of column, 2 of bank, 16 of row.
        let ddr4 = Standard::Ddr4_2400R.organisation();
        let mapping = Mapping::parse(Mapping::DEFAULT, &ddr4).unwrap();
        let address = (5 << 17) | (3 << 15) | (0x41 << 8) | (2 << 6) | 17;
        assert_eq!(mapping.locate(address), Location { channel: 0, group: 2, bank: 3, row: 5, column: 0x41 });
        // The column's three lowest bits below the group.
        let split = Mapping::parse("row bank column group column:3 channel", &ddr4).unwrap();
        let address = (5 << 17) | (3 << 15) | (0x8 << 11) | (2 << 9) | (1 << 6);
        assert_eq!(split.locate(address), Location { channel: 0, group: 2, bank: 3, row: 5, column: 0x41 });
    }

    #[test]
    fn refuses_a_mapping_that_does_not_use_every_bit_once() {
        let ddr4 = Standard::Ddr4_2400R.organisation();
        let refusal = |text| Mapping::parse(text, &ddr4).unwrap_err().to_string();
        assert_eq!(refusal("row bank column"), "`group` has 2 bits here, and the mapping gives it 0");
        assert!(refusal("row bank rank column group").contains("`rank` is no part of an address"));
        assert!(refusal("row bank column column group").contains("`column` stands in more than one place"));
        assert_eq!(refusal("row bank:3 column group"), "`bank` has 2 bits here, and the mapping gives it 3");
    }

    proptest! {
        #[test]
        fn bursts_of_different_addresses_lie_in_different_places(start in 0u64..1 << 33, shuffled in any::<bool>()) {
            let organisation = Organisation { channels: 2, ..Standard::Ddr4_2400R.organisation() };
            let text = if shuffled { "column:4 row group channel bank column" } else { Mapping::DEFAULT };
            let mapping = Mapping::parse(text, &organisation).unwrap();
            let places: HashSet<_> = (0..4096).map(|n| mapping.locate(start + n * 64)).collect();
            prop_assert_eq!(places.len(), 4096);
        }
    }
}
