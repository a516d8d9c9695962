//! The capability ROM at the foot of the small and large maps: a list of descriptors that tell software what
//! is there.
//!
//! The first word is the hardware's version. Each descriptor begins with a word of unit id (15:0) and payload bytes (31:16), of which
//! the payload's words follow; a zero word ends the list ([`capability_descriptors`]). Two sources disagree about the contents, see
//! [`CapabilityRom`]. The unit serves the words from offset 0, reads 0 behind them and ignores writes.

use super::{Config, DataType};
use crate::nvdla::conv::cdma::pixel;
use crate::nvdla::formats::Formats;
use crate::nvdla::registers::{Family, RegisterMap, RegisterRef, Unit, cfgrom};
use std::iter;

/// Choice of the words that the capability ROM holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CapabilityRom {
    /// Words of the published capability table, for this configuration: its units, in the table's order and places. Ids of other units
    /// are the slots of the register map; the table's column for `nv_large` means a map that no RTL decodes. `docs/differences.md` has
    /// all that differs.
    #[default]
    Published,
    /// Words that the RTL's ROM really holds: those of `nv_small` in every build. Who goes through this list by its lengths gets out of
    /// step at SDP, whose length leaves out a word.
    Rtl,
}

/// One word of the ROM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapabilityWord {
    /// Name of the word, without the unit's prefix: `CDMA_BASE_ATOMIC_C`.
    pub name: &'static str,
    /// Value of the word.
    pub value: u32,
    /// Meaning of the word.
    pub doc: &'static str,
}

/// One descriptor of the list, as software finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapabilityDescriptor {
    /// Byte offset of its first word in the ROM. Items are counted from here.
    pub offset: u32,
    /// Id of the unit that is described: 2 is a memory interface, 3 is CDMA, 15 is RUBIK.
    pub unit: u16,
    /// Bytes of the payload behind its first word; the next descriptor is at the next whole word.
    pub payload_bytes: u16,
}

impl CapabilityDescriptor {
    /// The unit id of CDMA.
    pub const CDMA: u16 = 3;
    /// Offset of the elements of a memory atom (`BASE_ATOMIC_M`) from the start of CDMA's descriptor.
    pub const CDMA_ATOMIC_M: u32 = 0x1c;
}

/// The descriptors of a ROM whose words are read at these byte offsets, in their order; a failing read is the last item.
pub fn capability_descriptors<E>(
    mut read: impl FnMut(u32) -> Result<u32, E>,
) -> impl Iterator<Item = Result<CapabilityDescriptor, E>> {
    let mut next = 4;
    iter::from_fn(move || {
        let offset = Some(next).filter(|&offset| offset < RegisterMap::SLOT_BYTES)?;
        let word = read(offset);
        let payload_bytes = word.as_ref().map_or(0, |word| (word >> 16) as u16);
        next = match word {
            Ok(_) => offset + 4 + u32::from(payload_bytes).next_multiple_of(4),
            Err(_) => RegisterMap::SLOT_BYTES,
        };
        let found = word.map(|word| CapabilityDescriptor { offset, unit: word as u16, payload_bytes });
        Some(found).filter(|found| !matches!(found, Ok(CapabilityDescriptor { unit: 0, .. })))
    })
}

/// Set in the capabilities of a memory interface that is an on-chip SRAM.
const IS_SRAM: u32 = 1;

impl Config {
    /// The ROM's words from offset 0; none when the register map has no ROM.
    pub fn capability_words(&self, rom: CapabilityRom) -> Vec<CapabilityWord> {
        if !self.has_unit(Unit::Cfgrom) {
            return Vec::new();
        }
        let rtl = cfgrom::REGISTERS.iter().map(|register| CapabilityWord {
            name: short_name(register),
            value: register.reset(Family::Small),
            doc: register.doc.trim_ascii(),
        });
        match rom {
            CapabilityRom::Rtl => rtl.collect(),
            CapabilityRom::Published => self.published_words(rtl),
        }
    }

    fn published_words(&self, rtl: impl Iterator<Item = CapabilityWord>) -> Vec<CapabilityWord> {
        let mut words: Vec<CapabilityWord> = Vec::with_capacity(128);
        let is_left_out = |name: &str| {
            // Not in the table, and not in the length of SDP's descriptor.
            name == "SDP_BASE_WEIGHT_TYPES"
                || Unit::ALL.into_iter().any(|unit| {
                    let item = name.strip_prefix(unit.name());
                    item.is_some_and(|item| item.starts_with('_')) && !self.has_unit(unit)
                })
        };
        for word in rtl.filter(|word| !is_left_out(word.name)) {
            match word.name {
                // The secondary interface follows the primary, in the same form.
                "CDMA_DESC" if self.secondary_memory => {
                    let is_primary = |word: &&CapabilityWord| word.name.starts_with("CIF_");
                    let primary: Vec<_> = words.iter().filter(is_primary).copied().collect();
                    words.extend(primary.into_iter().map(|word| CapabilityWord {
                        value: match word.name {
                            "CIF_CAP_COMPAT" => IS_SRAM,
                            "CIF_BASE_WIDTH" => self.secondary_width / 8,
                            "CIF_BASE_LATENCY" => self.secondary_latency,
                            "CIF_BASE_BURST_LENGTH_MAX" => longest_burst(self.secondary_max_burst),
                            _ => word.value,
                        },
                        ..word
                    }));
                }
                "END_OF_LIST" => {
                    for (unit, descriptor, value, payload) in [
                        (Unit::Bdma, "BDMA_DESC", 0x4_000e, "BDMA_CAP_INCOMPAT"),
                        (Unit::Rbk, "RUBIK_DESC", 0x4_000f, "RUBIK_CAP_INCOMPAT"),
                    ] {
                        // Only the published table knows these two; it gives them four bytes and does not say of what.
                        if self.has_unit(unit) {
                            let doc = cfgrom::CFGROM_GLB_DESC.doc.trim_ascii();
                            words.push(CapabilityWord { name: descriptor, value, doc });
                            let doc = cfgrom::CFGROM_CDMA_CAP_INCOMPAT.doc.trim_ascii();
                            words.push(CapabilityWord { name: payload, value: 0, doc });
                        }
                    }
                }
                _ => {}
            }
            let value = self.published_word(word.name).unwrap_or(word.value);
            let word = match (word.name, words.last_mut()) {
                // The table packs the two items of a read DMA: the first has two bytes, and the second begins in the same word.
                ("SDP_RDMA_BASE_SDP_ID" | "PDP_RDMA_BASE_PDP_ID" | "CDP_RDMA_BASE_CDP_ID", Some(atom)) => {
                    atom.value |= value << 16;
                    atom.doc = "Elements per memory atom (15:0), and the slot of the unit behind it (31:16).";
                    CapabilityWord { value: value >> 16, doc: "The slot's upper half.", ..word }
                }
                _ => CapabilityWord { value, ..word },
            };
            words.push(word);
        }
        words
    }

    /// Returns the table's word for an item; `None` where the table says what the RTL says.
    fn published_word(&self, name: &str) -> Option<u32> {
        let bits =
            |flags: &[(bool, u32)]| flags.iter().filter(|it| it.0).fold(0, |word, it| word | 1 << it.1);
        Some(match name {
            "CIF_BASE_WIDTH" => self.primary_width / 8,
            "CIF_BASE_LATENCY" => self.primary_latency,
            "CIF_BASE_BURST_LENGTH_MAX" => longest_burst(self.primary_max_burst),
            "CIF_BASE_MEM_ADDR_WIDTH" => self.address_bits,
            "CDMA_CAP_COMPAT" | "CSC_CAP_COMPAT" => {
                bits(&[(self.winograd, 0), (self.batch, 1), (self.weight_compression, 3), (true, 4)])
            }
            "CMAC_A_CAP_COMPAT" | "CMAC_B_CAP_COMPAT" => 0,
            "CACC_CAP_COMPAT" => bits(&[(self.winograd, 0), (self.batch, 1)]),
            "SDP_CAP_COMPAT" => bits(&[
                (self.winograd, 0),
                (self.batch, 1),
                (self.sdp_lut, 2),
                (self.sdp_bs, 3),
                (self.sdp_bn, 4),
                (self.sdp_ew, 5),
            ]),
            // The table has 10-bit formats in both columns, which hardware with int8 alone does not read.
            "CDMA_IMAGE_IN_FORMATS_PACKED" => {
                pixel::Format::mask(pixel::PACKED, Formats::of_convolutions(self))
            }
            "CDMA_IMAGE_IN_FORMATS_SEMI" => {
                pixel::Format::mask(pixel::SEMI_PLANAR, Formats::of_convolutions(self))
            }
            // The accumulator's channels are the kernels of the MAC arrays.
            "CACC_BASE_ATOMIC_C" => self.mac_atomic_k,
            "SDP_BS_THROUGHPUT" => self.sdp_bs_throughput,
            "SDP_BN_THROUGHPUT" => self.sdp_bn_throughput,
            "SDP_EW_THROUGHPUT" => self.sdp_ew_throughput,
            "PDP_BASE_THROUGHPUT" => self.pdp_throughput,
            "CDP_BASE_THROUGHPUT" => self.cdp_throughput,
            _ => return self.published_item(name),
        })
    }

    /// Items that several descriptors have.
    fn published_item(&self, name: &str) -> Option<u32> {
        let is = |item: &str| name.ends_with(item);
        let slot = |unit| self.register_map.base(unit).map(|base| base / RegisterMap::SLOT_BYTES);
        if is("BASE_FEATURE_TYPES") {
            Some(type_bits(&self.feature_types))
        } else if is("BASE_WEIGHT_TYPES") {
            Some(type_bits(&self.weight_types))
        } else if is("BASE_ATOMIC_C") {
            Some(self.mac_atomic_c)
        } else if is("BASE_ATOMIC_K") {
            Some(self.mac_atomic_k)
        } else if is("BASE_ATOMIC_M") {
            Some(self.memory_atom)
        } else if is("CBUF_BANK_NUM") {
            Some(self.cbuf_banks)
        } else if is("CBUF_BANK_WIDTH") {
            Some(self.cbuf_bank_width)
        } else if is("CBUF_BANK_DEPTH") {
            Some(self.cbuf_bank_depth)
        } else if is("MULTI_BATCH_MAX") {
            Some(if self.batch { self.max_batch } else { 0 })
        } else if is("BASE_CDMA_ID") {
            slot(Unit::Cdma)
        } else if is("BASE_SDP_ID") {
            slot(Unit::Sdp)
        } else if is("BASE_PDP_ID") {
            slot(Unit::Pdp)
        } else if is("BASE_CDP_ID") {
            slot(Unit::Cdp)
        } else {
            None
        }
    }
}

/// The published table has 4 in every column, also where the RTL makes bursts of one beat: a bound, so it holds for longer ones only if it
/// grows with them.
fn longest_burst(beats: u32) -> u32 {
    beats.max(4)
}

fn short_name(register: RegisterRef) -> &'static str {
    register.name.strip_prefix("CFGROM_").unwrap_or(register.name)
}

/// Data types as bits, in the order of the RTL's source: 0x10 is INT8.
fn type_bits(types: &[DataType]) -> u32 {
    types.iter().fold(0, |bits, data_type| {
        bits | 1
            << match data_type {
                DataType::Int8 => 4,
                DataType::Int16 => 6,
                DataType::Fp16 => 9,
            }
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::Value;

    use super::{CapabilityDescriptor, CapabilityRom, CapabilityWord, Config, capability_descriptors};
    use crate::nvdla::registers::cdma::D_DATAIN_FORMAT::PIXEL_FORMAT;
    use crate::nvdla::registers::published::published;

    fn list(value: &Value) -> &[Value] {
        value.as_array().expect("a list")
    }

    #[test]
    fn the_rtl_rom_is_as_published_in_every_build() {
        let Some(facts) = published("registers/cfgrom.json") else { return };
        for name in Config::NAMES.into_iter().filter(|name| *name != "nv_full") {
            let words = Config::named(name).unwrap().capability_words(CapabilityRom::Rtl);
            let facts = list(&facts["rom"]["words"]);
            assert_eq!(words.len(), facts.len());
            for (index, (word, fact)) in words.iter().zip(facts).enumerate() {
                assert_eq!(fact["offset"], 4 * index);
                assert_eq!(
                    (Value::from(word.name), Value::from(word.value)),
                    (fact["name"].clone(), fact["value"].clone())
                );
            }
        }
    }

    /// The words' bytes, and the offsets of the descriptors of a unit.
    fn image(words: &[CapabilityWord]) -> (Vec<u8>, impl Fn(u64) -> Vec<usize>) {
        let bytes = words.iter().flat_map(|word| word.value.to_le_bytes()).collect();
        let list = list_of(words);
        let of = move |unit| {
            let those = list.iter().filter(move |found| u64::from(found.unit) == unit);
            those.map(|found| found.offset as usize).collect()
        };
        (bytes, of)
    }

    fn list_of(words: &[CapabilityWord]) -> Vec<CapabilityDescriptor> {
        let read =
            |offset: u32| Ok::<_, Infallible>(words.get(offset as usize / 4).map_or(0, |word| word.value));
        capability_descriptors(read).map(|found| found.unwrap()).collect()
    }

    /// All names of the table that have another value, or another place, here: each is in `docs/differences.md`.
    #[test]
    fn the_published_columns_are_served_but_for_what_no_rtl_decodes_or_reads() {
        let Some(facts) = published("registers/cfgrom.json") else { return };
        const FORMATS: &str = "IMAGE_IN_FORMATS_PACKED";
        let [small, mut large] = [vec![FORMATS, "BDMA", "RUBIK"], vec![FORMATS]];
        large.extend(["_ID"; 9]);
        for (column, expected) in [("nv_small", small), ("nv_large", large)] {
            let words = Config::named(column).unwrap().capability_words(CapabilityRom::Published);
            let (bytes, offsets) = image(&words);
            let (mut compared, mut different, mut interfaces) = (0, Vec::new(), 0);
            for descriptor in list(&facts["published_table"]["descriptors"]) {
                let facts = list(&descriptor["words"]);
                if facts[0][column].is_null() {
                    continue;
                }
                let mut starts = offsets(descriptor["id"].as_u64().expect("an id"));
                if descriptor["id"] == 2 {
                    starts = vec![starts[interfaces]];
                    interfaces += 1;
                }
                if starts.is_empty() {
                    different.push(descriptor["unit"].as_str().expect("a unit"));
                }
                for start in starts {
                    for (fact, next) in facts.iter().zip(facts.iter().skip(1).map(Some).chain([None])) {
                        let place = |fact: &Value| fact["offset"].as_u64().expect("a place") as usize;
                        let most = next.map_or(4, |next| (place(next) - place(fact)).min(4));
                        let at = start + place(fact);
                        let mut word = [0; 4];
                        word[..most].copy_from_slice(&bytes[at..at + most]);
                        let ours = u32::from_le_bytes(word);
                        if fact[column] != ours {
                            let name = fact["name"].as_str().expect("a name");
                            // The column counts the slot of CVIF before all others, and has four formats of 10 bits.
                            let (kind, published) = match name {
                                FORMATS => (FORMATS, ours | 0xf << PIXEL_FORMAT::T_A2B10G10R10),
                                _ => ("_ID", ours + 1),
                            };
                            assert!(
                                name.ends_with(kind) && fact[column] == published,
                                "{column} {descriptor}: {ours:#x}"
                            );
                            different.push(kind);
                        }
                        compared += 1;
                    }
                }
            }
            assert_eq!(different, expected, "{column}");
            assert!(compared > 90, "{compared}");
        }
    }

    /// A small configuration, and one of each map without any unit that can be left out.
    fn own() -> Vec<Config> {
        let smallest = |name| {
            let mut config = Config::named(name).unwrap();
            (config.pdp, config.cdp, config.bdma, config.rubik) = (false, false, false, false);
            (config.rubik_contract, config.rubik_reshape, config.secondary_memory) = (false, false, false);
            config.check().unwrap();
            config
        };
        ["nv_small", "nv_large"].map(smallest).into()
    }

    #[test]
    fn the_list_leads_from_each_unit_to_the_next_one_and_ends() {
        let builtin = Config::NAMES.into_iter().filter(|name| *name != "nv_full");
        let builtin = builtin.map(|name| Config::named(name).unwrap());
        for config in builtin.chain(own()) {
            let words = config.capability_words(CapabilityRom::Published);
            let found = list_of(&words);
            let starts: Vec<u32> = (0..)
                .step_by(4)
                .zip(&words)
                .filter(|it| it.1.name.ends_with("_DESC"))
                .map(|it| it.0)
                .collect();
            assert_eq!(found.iter().map(|it| it.offset).collect::<Vec<_>>(), starts);
            let mut expected = vec![1, 2];
            expected.extend(config.secondary_memory.then_some(2));
            expected.extend([3, 4, 5, 6, 6, 7, 8, 9]);
            let units = [(config.pdp, 10), (config.pdp, 11), (config.cdp, 12), (config.cdp, 13)];
            let units = units.into_iter().chain([(config.bdma, 14), (config.rubik, 15)]);
            expected.extend(units.filter(|it| it.0).map(|it| it.1));
            assert_eq!(found.iter().map(|it| it.unit).collect::<Vec<_>>(), expected);
            let cdma = found.iter().find(|it| it.unit == CapabilityDescriptor::CDMA).unwrap();
            let atom = words[((cdma.offset + CapabilityDescriptor::CDMA_ATOMIC_M) / 4) as usize];
            assert_eq!((atom.name, atom.value), ("CDMA_BASE_ATOMIC_M", config.memory_atom));
        }
    }

    #[test]
    fn the_list_ends_with_a_zero_word_and_begins_with_the_version() {
        for name in Config::NAMES.into_iter().filter(|name| *name != "nv_full") {
            for rom in [CapabilityRom::Published, CapabilityRom::Rtl] {
                let words = Config::named(name).unwrap().capability_words(rom);
                assert_eq!(words[0].value, 0x0001_0001);
                assert_eq!(words.last().map(|word| word.value), Some(0));
            }
        }
    }

    #[test]
    fn the_full_map_has_no_rom() {
        assert_eq!(Config::named("nv_full").unwrap().capability_words(CapabilityRom::Published), []);
    }
}
