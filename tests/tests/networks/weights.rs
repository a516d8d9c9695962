//! Weights that a plan has CDMA read are those that CSC gives back: else the next layer finds the rest in front of its own.

use std::collections::HashMap;

use proptest::prelude::*;
use vp_host::Host as _;
use vp_host::network::{Network, Options, Plan, Runner, Work, digits, example_input};
use vp_host::program::{Program, Write};
use vp_models::nvdla::config::Config;
use vp_models::nvdla::registers::{Encoding, Family, FieldRef, Unit, cdma, csc};
use vp_models::platform::Description;
use vp_tests::conformance::local;
use vp_tests::effort::cases;
use vp_tests::random::NetworkDraw;
use vp_tests::shared;

/// Bytes of an entry of the convolution buffer on each configuration.
const ENTRY: [(&str, u32); 8] = [
    ("nv_small", 8),
    ("nv_small_256", 32),
    ("nv_small_256_full", 32),
    ("nv_medium_512", 32),
    ("nv_medium_1024_full", 32),
    ("nv_large_master", 64),
    ("nv_large", 64),
    ("nv_full", 128),
];

/// The quantity that a step writes into a field.
fn written(program: &Program, family: Family, unit: Unit, field: FieldRef) -> Option<u32> {
    let is_it = |write: &&Write| write.unit == unit && write.register.name == field.register;
    let word = program.writes.iter().find(is_it)?.value;
    let (bits, stored) = (field.bits(family), field.bits(family).extract(word));
    Some(match field.encoding {
        Encoding::MinusOne => stored + 1,
        Encoding::Bytes => stored << bits.lsb,
        _ => stored,
    })
}

/// Entries that CSC reads of a layer's weights and gives back at its end, counted as `NV_NVDLA_CSC_wl.v` does: group by
/// group, and in it block by block, row by row and column by column, each kernel takes its bytes of what was read
/// before; where these are too few, one more entry is read.
fn entries_read(program: &Program, config: &Config, entry: u32) -> Option<u32> {
    let field = |field| written(program, config.family(), Unit::Csc, field);
    let columns = field(csc::D_WEIGHT_SIZE_EXT_0::WEIGHT_WIDTH_EXT)?;
    let rows = field(csc::D_WEIGHT_SIZE_EXT_0::WEIGHT_HEIGHT_EXT)?;
    let channels = field(csc::D_WEIGHT_SIZE_EXT_1::WEIGHT_CHANNEL_EXT)?;
    let kernels = field(csc::D_WEIGHT_SIZE_EXT_1::WEIGHT_KERNEL)?;
    let at_once = 1 << field(csc::D_POST_Y_EXTENSION::Y_EXTENSION)?;
    let part = |whole: u32, size: u32, number: u32| size.min(whole - number * size);
    let (group, block) = (config.mac_atomic_k, config.mac_atomic_c / at_once);
    let (mut read, mut available) = (0, 0);
    for number in 0..kernels.div_ceil(group) {
        let together = part(kernels, group, number);
        for number in 0..channels.div_ceil(block) {
            let channels = part(channels, block, number);
            for number in 0..rows.div_ceil(at_once) {
                let bytes = channels * part(rows, at_once, number);
                for _ in 0..columns * together {
                    if available < bytes {
                        read += 1;
                        available += entry;
                    }
                    available -= bytes;
                }
            }
        }
    }
    Some(read)
}

/// Holds each convolution of a plan to that; gives how many there are.
fn check(plan: &Plan, config: &Config, entry: u32) -> usize {
    let constants: HashMap<u64, usize> =
        plan.constants.iter().map(|it| (it.place.address, it.bytes.len())).collect();
    let mut convolutions = 0;
    for step in &plan.steps {
        let Work::Hardware { program, .. } = &step.work else { continue };
        let Some(entries) = entries_read(program, config, entry) else { continue };
        let of = |unit, field| written(program, config.family(), unit, field).expect("written");
        let layer = format!("{} on {}", step.name, config.name);
        let bytes = of(Unit::Cdma, cdma::D_WEIGHT_BYTES::WEIGHT_BYTES);
        // The full family's register counts 128 bytes at least.
        let least = if config.family() == Family::Full { 128 } else { 1 };
        assert_eq!(bytes, (entries * entry).next_multiple_of(least), "{layer}");
        assert_eq!(bytes, of(Unit::Csc, csc::D_WEIGHT_BYTES::WEIGHT_BYTES), "{layer}");
        let kernels = of(Unit::Cdma, cdma::D_WEIGHT_SIZE_1::WEIGHT_KERNEL)
            * of(Unit::Cdma, cdma::D_WEIGHT_SIZE_0::BYTE_PER_KERNEL);
        assert!(
            (kernels..kernels + entry.max(least)).contains(&bytes),
            "{layer}: kernels of {kernels} bytes"
        );
        let base = u64::from(of(Unit::Cdma, cdma::D_WEIGHT_ADDR_HIGH::WEIGHT_ADDR_HIGH)) << 32
            | u64::from(of(Unit::Cdma, cdma::D_WEIGHT_ADDR_LOW::WEIGHT_ADDR_LOW));
        assert_eq!(constants.get(&base), Some(&(bytes as usize)), "{layer}: in memory");
        convolutions += 1;
    }
    convolutions
}

/// Features and images, fully connected layers, kernels and lines cut to what the buffer holds, kernels of parts of
/// entries. AlexNet, whose weights are the most, is planned below.
#[test]
fn every_built_in_network_reads_the_entries_that_csc_gives_back() {
    assert_eq!(ENTRY.map(|(name, _)| name), Config::NAMES);
    let mut odd = 0;
    for (name, entry) in ENTRY {
        let described = Description::named(name).unwrap();
        let config = &described.nvdla().unwrap().config;
        for name in Network::NAMES.into_iter().filter(|name| *name != "alexnet") {
            let network = Network::named(name, &Options::default()).unwrap().unwrap();
            let plan = Plan::new(&network, config, described.dbb0.range()).unwrap();
            assert!(check(&plan, config, entry) > 2, "{name}");
            odd += usize::from(plan.constants.iter().any(|it| it.bytes.len() % 128 != 0));
        }
    }
    assert!(odd > 20, "{odd} plans could tell an entry from 128 bytes");
}

#[test]
fn frames_at_once_read_the_entries_that_csc_gives_back() {
    for (name, entry) in [("nv_large", 64), ("nv_full", 128)] {
        let described = Description::named(name).unwrap();
        let config = &described.nvdla().unwrap().config;
        for network in ["lenet", "alexnet"] {
            let network = Network::named(network, &Options::default()).unwrap().unwrap();
            let plan = Plan::batched(&network, config, described.dbb0.range(), 2).unwrap();
            assert!(check(&plan, config, entry) > 2, "{name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    /// A configuration of the user's own: arrays and buffer of another shape.
    #[test]
    fn any_configuration_reads_the_entries_that_csc_gives_back(
        base in prop::sample::select(Config::NAMES.to_vec()),
        lanes in 0u32..3,
        seed: u64,
    ) {
        let mut described = Description::named(base).unwrap();
        let config = &mut described.nvdla_mut().unwrap().config;
        config.mac_atomic_c = config.memory_atom << lanes;
        config.cbuf_bank_width = config.mac_atomic_c;
        prop_assume!(config.check().is_ok());
        let config = &described.nvdla().unwrap().config;
        let row_bytes = if config.family() == Family::Full { 2 } else { 1 };
        let network = NetworkDraw::new(seed).any_network();
        if let Ok(plan) = Plan::new(&network, config, described.dbb0.range()) {
            check(&plan, config, row_bytes * config.cbuf_bank_width);
        }
    }
}

/// The RTL ran these with `D_WEIGHT_BYTES` rounded to an entry, and left what the model leaves.
#[test]
fn networks_read_what_they_read_on_the_rtl() {
    let Some(folder) = shared::folder("networks on the RTL", "nvdla/rtl-golden/more/networks") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("totals.csv")).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let mut compared = 0;
    for row in lines {
        let cell = |name| row[names.iter().position(|it| *it == name).unwrap()];
        let entry = ENTRY.iter().find(|(name, _)| *name == cell("platform")).unwrap().1;
        if cell("weight_bytes_aligned_to") != entry.to_string() {
            continue;
        }
        assert_eq!(cell("outputs_equal"), "true");
        // `NAME:FIRST LAYERS:INPUT SIZE`, one frame; `digits` two.
        let mut parts = cell("network").split(':');
        let name = parts.next().unwrap();
        let [layers, size] = [parts.next(), parts.next()].map(|part| part.map(|part| part.parse().unwrap()));
        let options = Options { input_size: size.map(|size| [size, size]), ..Options::default() };
        let network = Network::named(name, &options).unwrap().unwrap();
        let network = network.truncated(layers.map_or(usize::MAX, |layers| layers as usize));
        let inputs: Vec<Vec<i8>> = match name {
            "digits" => digits::samples().into_iter().take(2).map(|sample| sample.pixels).collect(),
            _ => vec![example_input(network.input, 77)],
        };
        let described = Description::named(cell("platform")).unwrap();
        let config = &described.nvdla().unwrap().config;
        let plan = Plan::new(&network, config, described.dbb0.range()).unwrap();
        let mut host = local(&described);
        Runner::new(&plan, &mut host).unwrap().run(&inputs, |_, _| ()).unwrap();
        let statistics = host.statistics().unwrap();
        for (counter, column) in
            [("dbb0.read.bursts", "rtl_read_bursts"), ("dbb0.read.bytes", "rtl_read_bytes")]
        {
            assert_eq!(statistics.get(counter), cell(column).parse().ok(), "{row:?}: {counter}");
        }
        compared += 1;
    }
    assert!(compared > 1, "{compared} rows compared");
}
