//! The capability ROM at the foot of the small and large maps: a list of descriptors that tell software what
//! is there.
//!
//! Each descriptor begins with a word of unit id (15:0) and payload bytes (31:16); a zero word ends the list.
//! Two sources disagree about the contents, see [`CapabilityRom`]. The unit serves the words from offset 0,
//! reads 0 behind them and ignores writes.

use super::{Config, DataType};
use crate::nvdla::registers::{Family, RegisterRef, Unit, cfgrom};

/// Whose words the ROM holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CapabilityRom {
    /// What the published capability table says of this configuration, one item a word in the RTL's order.
    /// The table's items narrower than a word, and the two words the RTL has and the table omits, keep the
    /// RTL's place. Ids of other units are the slots of the register map; the table's column for `nv_large`
    /// means a map that no RTL decodes.
    #[default]
    Published,
    /// What the RTL's ROM really holds: the words of `nv_small` in every build.
    Rtl,
}

/// One word of the ROM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapabilityWord {
    /// Its name, without the unit's prefix: `CDMA_BASE_ATOMIC_C`.
    pub name: &'static str,
    /// Its value.
    pub value: u32,
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
        });
        match rom {
            CapabilityRom::Rtl => rtl.collect(),
            CapabilityRom::Published => self.published_words(rtl),
        }
    }

    fn published_words(&self, rtl: impl Iterator<Item = CapabilityWord>) -> Vec<CapabilityWord> {
        let mut words = Vec::with_capacity(128);
        for CapabilityWord { name, value } in rtl {
            match name {
                // The secondary interface follows the primary, in the same form.
                "CDMA_DESC" if self.secondary_memory => {
                    let primary: Vec<_> = words
                        .iter()
                        .filter(|word: &&CapabilityWord| word.name.starts_with("CIF_"))
                        .copied()
                        .collect();
                    words.extend(primary.into_iter().map(|CapabilityWord { name, value }| CapabilityWord {
                        name,
                        value: match name {
                            "CIF_CAP_COMPAT" => IS_SRAM,
                            "CIF_BASE_WIDTH" => self.secondary_width / 8,
                            "CIF_BASE_LATENCY" => self.secondary_latency,
                            _ => value,
                        },
                    }));
                }
                // Only the published table knows these two; it gives them four bytes and does not say of
                // what.
                "END_OF_LIST" => {
                    let extra = [(self.bdma, "BDMA_DESC", 0x4_000e, "BDMA_CAP_INCOMPAT")];
                    let extra =
                        extra.into_iter().chain([(self.rubik, "RUBIK_DESC", 0x4_000f, "RUBIK_CAP_INCOMPAT")]);
                    for (_, descriptor, value, payload) in extra.filter(|it| it.0) {
                        words.push(CapabilityWord { name: descriptor, value });
                        words.push(CapabilityWord { name: payload, value: 0 });
                    }
                }
                _ => {}
            }
            words.push(CapabilityWord { name, value: self.published_word(name).unwrap_or(value) });
        }
        words
    }

    /// What the table says of an item; `None` where it says what the RTL says.
    fn published_word(&self, name: &str) -> Option<u32> {
        let bits =
            |flags: &[(bool, u32)]| flags.iter().filter(|it| it.0).fold(0, |word, it| word | 1 << it.1);
        Some(match name {
            "CIF_BASE_WIDTH" => self.primary_width / 8,
            "CIF_BASE_LATENCY" => self.primary_latency,
            // The same in every column, whatever bursts the RTL makes.
            "CIF_BASE_BURST_LENGTH_MAX" => 4,
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
        let slot = |unit| {
            self.register_map.base(unit).map(|base| base / crate::nvdla::registers::RegisterMap::SLOT_BYTES)
        };
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
    use serde_json::Value;

    use super::{CapabilityRom, CapabilityWord, Config};
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

    /// Finds a descriptor's item among our words. Item names of the table lack the prefix, and here and there
    /// a part.
    fn item<'a>(words: &'a [CapabilityWord], prefix: &str, item: &str) -> &'a CapabilityWord {
        let cbuf = item.replace("BASE_BANK", "BASE_CBUF_BANK");
        let found = words
            .iter()
            .find(|word| word.name == format!("{prefix}_{item}") || word.name == format!("{prefix}_{cbuf}"));
        found.unwrap_or_else(|| panic!("no {prefix}_{item}"))
    }

    #[test]
    fn the_published_columns_are_served_but_for_slots_no_rtl_decodes() {
        let Some(facts) = published("registers/cfgrom.json") else { return };
        for column in ["nv_small", "nv_large"] {
            let config = Config::named(column).unwrap();
            let words = config.capability_words(CapabilityRom::Published);
            let secondary = words.iter().rposition(|word| word.name == "CIF_DESC").expect("an interface");
            let mut compared = 0;
            for descriptor in list(&facts["published_table"]["descriptors"]) {
                let unit = descriptor["unit"].as_str().expect("a unit");
                let (prefixes, words): (&[&str], _) = match unit {
                    "CIF (primary, MCIF)" => (&["CIF"], &words[..]),
                    "CIF (secondary, SRAMIF)" => (&["CIF"], &words[secondary..]),
                    "CMAC (A and B, one descriptor each)" => (&["CMAC_A", "CMAC_B"], &words[..]),
                    // In both columns of the table, though nv_small has neither.
                    "BDMA" | "RUBIK" if !config.bdma => continue,
                    unit => (&[unit], &words[..]),
                };
                for fact in list(&descriptor["words"]).iter().filter(|fact| !fact[column].is_null()) {
                    let name = fact["name"].as_str().expect("a name");
                    for prefix in prefixes {
                        let word = item(words, prefix, name);
                        let is_slot = name.ends_with("_ID") && column == "nv_large";
                        // The column counts the slot of CVIF before all others.
                        let ours = if is_slot { word.value + 1 } else { word.value };
                        assert_eq!(fact[column], ours, "{column} {}", word.name);
                        compared += 1;
                    }
                }
            }
            assert!(compared > 90, "{compared}");
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

    #[test]
    fn the_published_words_of_nv_small_keep_the_rtls_places() {
        let config = Config::named("nv_small").unwrap();
        let ours = config.capability_words(CapabilityRom::Published);
        let rtl = config.capability_words(CapabilityRom::Rtl);
        let different: Vec<_> = ours.iter().zip(&rtl).filter(|(a, b)| a != b).map(|(a, _)| a.name).collect();
        let expected = [
            "CIF_BASE_BURST_LENGTH_MAX",
            "CIF_BASE_MEM_ADDR_WIDTH",
            "CMAC_A_CAP_COMPAT",
            "CMAC_B_CAP_COMPAT",
        ];
        assert_eq!((ours.len(), &different[..]), (rtl.len(), &expected[..]));
    }
}
