//! The built-in configurations.
//!
//! Figures are those of the newest public hardware tree (branch `master`; `nv_full`: branch `nvdlav1`), but
//! where the published scalability table has a column, its column: `nv_small` has a read latency of 50 and
//! `nv_large` the features, bus widths and latencies that branch `master` later cut. `nv_large_master` is the
//! cut one. One figure of the table is not followed: it gives `nv_small` bursts of 4, while the RTL of every
//! branch makes none longer than 1.

use super::{Config, ConfigError, DataType};
use crate::nvdla::registers::RegisterMap;

impl Config {
    /// The names of the built-in configurations, small to large.
    pub const NAMES: [&'static str; 8] = [
        "nv_small",
        "nv_small_256",
        "nv_small_256_full",
        "nv_medium_512",
        "nv_medium_1024_full",
        "nv_large_master",
        "nv_large",
        "nv_full",
    ];

    /// The built-in configuration of that name.
    pub fn named(name: &str) -> Result<Self, ConfigError> {
        match name {
            "nv_small" => Ok(nv_small()),
            "nv_small_256" => Ok(nv_small_256()),
            "nv_small_256_full" => Ok(nv_small_256_full()),
            "nv_medium_512" => Ok(nv_medium_512()),
            "nv_medium_1024_full" => Ok(nv_medium_1024_full()),
            "nv_large_master" => Ok(nv_large_master()),
            "nv_large" => Ok(nv_large()),
            "nv_full" => Ok(nv_full()),
            _ => Err(ConfigError::Unknown { name: name.to_owned() }),
        }
    }
}

fn nv_small() -> Config {
    Config {
        name: "nv_small".into(),
        register_map: RegisterMap::Small,
        feature_types: vec![DataType::Int8],
        weight_types: vec![DataType::Int8],
        weight_compression: false,
        winograd: false,
        batch: false,
        max_batch: 0,
        secondary_memory: false,
        sdp_bs: true,
        sdp_bn: true,
        sdp_ew: false,
        sdp_lut: false,
        bdma: false,
        rubik: false,
        rubik_contract: false,
        rubik_reshape: false,
        pdp: true,
        cdp: true,
        retiming: false,
        mac_atomic_c: 8,
        mac_atomic_k: 8,
        memory_atom: 8,
        cbuf_banks: 32,
        cbuf_bank_width: 8,
        cbuf_bank_depth: 512,
        sdp_bs_throughput: 1,
        sdp_bn_throughput: 1,
        sdp_ew_throughput: 0,
        pdp_throughput: 1,
        cdp_throughput: 1,
        pdp_line_buffer_width: 128,
        pdp_line_buffer_depth: 14,
        primary_width: 64,
        primary_max_burst: 1,
        primary_latency: 50,
        secondary_width: 0,
        secondary_max_burst: 0,
        secondary_latency: 0,
        address_bits: 32,
        dma_read_clients: 7,
        dma_write_clients: 3,
    }
}

fn nv_small_256() -> Config {
    Config {
        name: "nv_small_256".into(),
        mac_atomic_c: 32,
        cbuf_bank_width: 32,
        cbuf_bank_depth: 128,
        primary_latency: 64,
        ..nv_small()
    }
}

fn nv_small_256_full() -> Config {
    Config {
        name: "nv_small_256_full".into(),
        register_map: RegisterMap::Large,
        secondary_memory: true,
        sdp_ew: true,
        sdp_lut: true,
        sdp_bs_throughput: 2,
        sdp_bn_throughput: 2,
        sdp_ew_throughput: 1,
        primary_max_burst: 4,
        secondary_width: 64,
        secondary_max_burst: 4,
        secondary_latency: 64,
        dma_read_clients: 8,
        ..nv_small_256()
    }
}

fn nv_medium_512() -> Config {
    Config {
        name: "nv_medium_512".into(),
        mac_atomic_c: 32,
        mac_atomic_k: 16,
        memory_atom: 16,
        cbuf_bank_width: 32,
        sdp_bs_throughput: 4,
        sdp_bn_throughput: 4,
        pdp_throughput: 2,
        cdp_throughput: 2,
        pdp_line_buffer_depth: 28,
        primary_width: 128,
        primary_max_burst: 4,
        primary_latency: 256,
        address_bits: 64,
        ..nv_small()
    }
}

fn nv_medium_1024_full() -> Config {
    Config {
        name: "nv_medium_1024_full".into(),
        register_map: RegisterMap::Large,
        secondary_memory: true,
        sdp_ew: true,
        sdp_lut: true,
        mac_atomic_k: 32,
        memory_atom: 32,
        sdp_bs_throughput: 8,
        sdp_bn_throughput: 8,
        sdp_ew_throughput: 2,
        pdp_throughput: 4,
        cdp_throughput: 4,
        pdp_line_buffer_depth: 56,
        primary_width: 256,
        primary_latency: 1024,
        secondary_width: 256,
        secondary_max_burst: 4,
        secondary_latency: 1024,
        dma_read_clients: 8,
        ..nv_medium_512()
    }
}

fn nv_large_master() -> Config {
    Config {
        name: "nv_large_master".into(),
        // The tree gives the size though it switches batches off.
        max_batch: 32,
        mac_atomic_c: 64,
        cbuf_banks: 16,
        cbuf_bank_width: 64,
        sdp_bs_throughput: 16,
        sdp_bn_throughput: 16,
        sdp_ew_throughput: 4,
        pdp_throughput: 8,
        cdp_throughput: 8,
        pdp_line_buffer_width: 64,
        pdp_line_buffer_depth: 112,
        primary_max_burst: 1,
        secondary_max_burst: 1,
        ..nv_medium_1024_full()
    }
}

fn nv_large() -> Config {
    Config {
        name: "nv_large".into(),
        weight_compression: true,
        winograd: true,
        batch: true,
        bdma: true,
        rubik: true,
        // Not in the table; branch `nv_small`, which agrees with the table in everything it says.
        rubik_contract: true,
        rubik_reshape: true,
        retiming: true,
        primary_width: 512,
        primary_latency: 1200,
        secondary_width: 512,
        secondary_max_burst: 4,
        secondary_latency: 128,
        dma_read_clients: 10,
        dma_write_clients: 5,
        ..nv_large_master()
    }
}

fn nv_full() -> Config {
    Config {
        name: "nv_full".into(),
        register_map: RegisterMap::Full,
        feature_types: vec![DataType::Int8, DataType::Int16, DataType::Fp16],
        weight_types: vec![DataType::Int8, DataType::Int16, DataType::Fp16],
        retiming: false,
        // The pooling line buffer is not published for this one: that of nv_large, which pools as fast.
        ..nv_large()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::{Config, ConfigError, DataType};
    use crate::nvdla::registers::{Unit, published::published};

    /// A parameter by the vendor's name, as the published facts write it.
    fn parameter(config: &Config, vendor_name: &str) -> Option<Value> {
        let types =
            |types: &[DataType]| Value::from_iter(types.iter().map(|it| format!("{it:?}").to_uppercase()));
        Some(match vendor_name {
            "FEATURE_DATA_TYPE" => types(&config.feature_types),
            "WEIGHT_DATA_TYPE" => types(&config.weight_types),
            "WEIGHT_COMPRESSION_ENABLE" => config.weight_compression.into(),
            "WINOGRAD_ENABLE" => config.winograd.into(),
            "BATCH_ENABLE" => config.batch.into(),
            "SECONDARY_MEMIF_ENABLE" => config.secondary_memory.into(),
            "SDP_LUT_ENABLE" => config.sdp_lut.into(),
            "SDP_BS_ENABLE" => config.sdp_bs.into(),
            "SDP_BN_ENABLE" => config.sdp_bn.into(),
            "SDP_EW_ENABLE" => config.sdp_ew.into(),
            "BDMA_ENABLE" => config.bdma.into(),
            "RUBIK_ENABLE" => config.rubik.into(),
            "RUBIK_CONTRACT_ENABLE" => config.rubik_contract.into(),
            "RUBIK_RESHAPE_ENABLE" => config.rubik_reshape.into(),
            "PDP_ENABLE" => config.pdp.into(),
            "CDP_ENABLE" => config.cdp.into(),
            "RETIMING_ENABLE" => config.retiming.into(),
            "MAC_ATOMIC_C_SIZE" => config.mac_atomic_c.into(),
            "MAC_ATOMIC_K_SIZE" => config.mac_atomic_k.into(),
            "MEMORY_ATOMIC_SIZE" => config.memory_atom.into(),
            "MAX_BATCH_SIZE" => config.max_batch.into(),
            "CBUF_BANK_NUMBER" => config.cbuf_banks.into(),
            "CBUF_BANK_WIDTH" => config.cbuf_bank_width.into(),
            "CBUF_BANK_DEPTH" => config.cbuf_bank_depth.into(),
            "SDP_BS_THROUGHPUT" => config.sdp_bs_throughput.into(),
            "SDP_BN_THROUGHPUT" => config.sdp_bn_throughput.into(),
            "SDP_EW_THROUGHPUT" => config.sdp_ew_throughput.into(),
            "PDP_THROUGHPUT" => config.pdp_throughput.into(),
            "CDP_THROUGHPUT" => config.cdp_throughput.into(),
            "PRIMARY_MEMIF_LATENCY" => config.primary_latency.into(),
            "PRIMARY_MEMIF_MAX_BURST_LENGTH" => config.primary_max_burst.into(),
            "PRIMARY_MEMIF_WIDTH" => config.primary_width.into(),
            "SECONDARY_MEMIF_LATENCY" => config.secondary_latency.into(),
            "SECONDARY_MEMIF_MAX_BURST_LENGTH" => config.secondary_max_burst.into(),
            "SECONDARY_MEMIF_WIDTH" => config.secondary_width.into(),
            "MEM_ADDRESS_WIDTH" => config.address_bits.into(),
            "NUM_DMA_READ_CLIENTS" => config.dma_read_clients.into(),
            "NUM_DMA_WRITE_CLIENTS" => config.dma_write_clients.into(),
            _ => return None,
        })
    }

    fn check_parameters(config: &Config, facts: &Value, exceptions: &[(&str, u32)]) {
        for (name, fact) in facts.as_object().expect("parameters") {
            let vendor_name = name.strip_prefix("NVDLA_").unwrap_or(name);
            let ours =
                parameter(config, vendor_name).unwrap_or_else(|| panic!("{name} has no parameter here"));
            let exception = exceptions.iter().find(|it| it.0 == vendor_name).map(|it| Value::from(it.1));
            // What a configuration does not have is null there and 0 here.
            let fact = if fact.is_null() { Value::from(0) } else { fact.clone() };
            assert_eq!(ours, exception.unwrap_or(fact), "{} {name}", config.name);
        }
    }

    #[test]
    fn every_parameter_is_as_published() {
        for name in Config::NAMES {
            let Some(mut facts) = published(&format!("configs/{}.json", name.trim_end_matches("_master")))
            else {
                return;
            };
            let config = Config::named(name).unwrap();
            let exceptions: &[(&str, u32)] = match name {
                "nv_small" => &[("PRIMARY_MEMIF_MAX_BURST_LENGTH", 1)],
                _ => &[],
            };
            // The published table comes last, for it decides. Of branch `nv_small` only nv_large takes
            // anything.
            let sources: &[&str] = match name {
                "nv_small" => &["published scalability table"],
                "nv_large" => &["branch nv_small", "published scalability table"],
                _ => &[],
            };
            for source in sources {
                let variants = facts["variants"].as_array().expect("variants").clone();
                let variant = variants.iter().find(|it| it["source"] == **source).expect("the source");
                for (name, value) in variant["values"].as_object().expect("values") {
                    facts["parameters"][name] = value.clone();
                }
            }
            check_parameters(&config, &facts["parameters"], exceptions);
            assert_eq!(config.register_map.name(), facts["register_map"], "{name}");
        }
    }

    #[test]
    fn what_follows_from_the_parameters_is_as_published() {
        for name in Config::NAMES {
            let Some(facts) = published(&format!("configs/{}.json", name.trim_end_matches("_master"))) else {
                return;
            };
            let config = Config::named(name).unwrap();
            let derived = facts["derived"].as_object().expect("derived");
            for (name, fact) in derived {
                let ours = match name.as_str() {
                    "mac_multipliers" => config.macs(),
                    "cbuf_bytes" => config.cbuf_bytes(),
                    "memory_atom_bytes" => config.memory_atom,
                    "cbuf_entry_bytes" => config.cbuf_entry_bytes(),
                    "cbuf_entry_bits" => 8 * config.cbuf_entry_bytes(),
                    "cbuf_entries_per_bank" => config.cbuf_entries_per_bank(),
                    "internal_dma_width_bits" => 8 * config.internal_dma_bytes(),
                    "sdp_max_throughput" => config.sdp_max_throughput(),
                    "mac_result_bits" => config.mac_result_bits(),
                    "mcif_burst_size" => config.primary_max_burst,
                    "pdp_line_buffer" => {
                        assert_eq!(config.pdp_line_buffer_width, fact["width"], "{}", config.name);
                        assert_eq!(config.pdp_line_buffer_depth, fact["depth"], "{}", config.name);
                        continue;
                    }
                    // Constant over all configurations.
                    "bits_per_element" | "dma_mask_bits" => continue,
                    other => panic!("{other} is not known here"),
                };
                assert_eq!(ours, *fact, "{} {name}", config.name);
            }
        }
    }

    #[test]
    fn the_units_of_each_configuration_are_as_published() {
        for name in Config::NAMES.into_iter().filter(|name| *name != "nv_large") {
            let Some(facts) = published(&format!("configs/{}.json", name.trim_end_matches("_master"))) else {
                return;
            };
            let config = Config::named(name).unwrap();
            let mut ours: Vec<_> =
                Unit::ALL.into_iter().filter(|unit| config.has_unit(*unit)).map(Unit::name).collect();
            let mut theirs: Vec<_> =
                facts["units"].as_array().expect("units").iter().filter_map(Value::as_str).collect();
            ours.sort_unstable();
            theirs.sort_unstable();
            assert_eq!(ours, theirs, "{name}");
        }
    }

    #[test]
    fn every_built_in_passes_its_own_check() {
        for name in Config::NAMES {
            let config = Config::named(name).unwrap();
            assert_eq!(config.name, name);
            assert_eq!(config.check(), Ok(()), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let refused = Config::named("nv_smal").unwrap_err();
        assert!(matches!(&refused, ConfigError::Unknown { name } if name == "nv_smal"));
        assert!(
            refused
                .to_string()
                .starts_with("no configuration `nv_smal`; nearest: nv_small; there are nv_small,")
        );
        assert!(Config::named(&"x".repeat(100_000)).is_err());
    }
}
