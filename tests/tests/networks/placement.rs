//! Networks with tensors in SRAM leave what they leave without, whatever lies where.

use proptest::prelude::*;
use std::collections::BTreeSet;
use vp_host::Memory;
use vp_host::network::{
    Copies, Demand, Demanded, Measured, Memories, Network, Options, Placement, Plan, PlanError, PlanOptions,
    example_input,
};
use vp_models::nvdla::config::Config;
use vp_models::platform::Description;
use vp_tests::effort::cases;
use vp_tests::random::NetworkDraw;
use vp_tests::reference::{run_layers, run_network};

/// From hardly any room to room for all.
const SIZES: [u64; 4] = [3000, 20_000, 200_000, 64 << 20];

/// The built-in platforms with SRAMIF.
fn with_sram() -> Vec<Description> {
    let all = Description::NAMES.iter().map(|name| Description::named(name).unwrap());
    let has_sram = |it: &Description| it.nvdla().unwrap().config.secondary().is_some();
    all.filter(has_sram).collect()
}

fn options(placement: Placement) -> PlanOptions {
    PlanOptions { placement, ..PlanOptions::default() }
}

fn plan(network: &Network, description: &Description, options: &PlanOptions) -> Result<Plan, PlanError> {
    let config = &description.nvdla().unwrap().config;
    Plan::with(network, config, &Memories::of(description), options)
}

/// Bytes over DBBIF and over SRAMIF.
fn moved(measured: &Measured) -> [u64; 2] {
    ["dbb0", "sram0"].map(|port| {
        let of = |(read, written): (u64, u64)| read + written;
        measured.layers.iter().map(|layer| of(layer.bytes_at(port))).sum()
    })
}

/// Runs a network with each placement on SRAMs of these sizes.
fn check(network: &Network, description: &Description, sizes: &[u64]) {
    let input = example_input(network.input, 5);
    let expected = run_layers(network, &input).pop().unwrap();
    let name = format!("{} on {}", network.name, description.name);
    let run = |description: &Description, placement| {
        Measured::with(network, description, &[&input], &options(placement))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let plain = run(description, Placement::Dram);
    assert_eq!(moved(&plain)[1], 0, "{name}");
    let (mut least, mut described) = (u64::MAX, description.clone());
    for &size in sizes {
        described.sram0.size = size;
        for placement in [Placement::Activations, Placement::All] {
            let placed = run(&described, placement);
            assert!(placed.outputs[0] == expected, "{name}, {placement} in {size} bytes");
            let [dram, sram] = moved(&placed);
            // What is in SRAM is read and written as often as it would be elsewhere.
            assert_eq!(dram + sram, moved(&plain)[0], "{name}, {placement} in {size} bytes");
            least = least.min(dram);
        }
    }
    assert!(least < moved(&plain)[0] / 2, "{name}: {least} of {}", moved(&plain)[0]);
}

#[test]
fn built_in_networks_leave_the_same_with_tensors_in_sram() {
    for description in with_sram() {
        for name in Network::NAMES {
            let size = match name {
                "digits" | "lenet" => None,
                "alexnet" => Some([67; 2]),
                _ => Some([64; 2]),
            };
            // The large ones on one platform of each register map.
            if size.is_some() && !["nv_large", "nv_full"].contains(&description.name.as_str()) {
                continue;
            }
            let network =
                Network::named(name, &Options { input_size: size, ..Options::default() }).unwrap().unwrap();
            // They take long.
            let sizes = if size.is_some() { &SIZES[2..] } else { &SIZES };
            check(&network, &description, sizes);
        }
    }
}

#[test]
fn all_kinds_of_layers_leave_the_same_with_tensors_in_sram() {
    let text = include_str!("../../data/networks/all_kinds.toml");
    let network = Network::parse(text, &mut |_| Err("none".to_owned())).unwrap();
    with_sram().iter().for_each(|description| check(&network, description, &SIZES));
}

/// Runs on a platform whose memories have the same addresses.
#[test]
fn addresses_of_both_memories_may_be_the_same() {
    let mut nv_large = Description::named("nv_large").unwrap();
    nv_large.sram0.base = nv_large.dbb0.base;
    let network = Network::named("lenet", &Options::default()).unwrap().unwrap();
    check(&network, &nv_large, &SIZES);
}

#[test]
fn frames_at_once_leave_the_same_with_tensors_in_sram() {
    let text = include_str!("../../data/networks/all_kinds.toml");
    let kinds = Network::parse(text, &mut |_| Err("none".to_owned())).unwrap();
    let lenet = Network::named("lenet", &Options::default()).unwrap().unwrap();
    for platform in ["nv_large", "nv_full"] {
        for network in [&kinds, &lenet] {
            let inputs: Vec<Vec<i8>> = (1..=5).map(|seed| example_input(network.input, seed)).collect();
            let slices: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
            let expected: Vec<i8> =
                inputs.iter().flat_map(|input| run_layers(network, input).pop().unwrap()).collect();
            let mut described = Description::named(platform).unwrap();
            for size in [5000, 50_000, 1 << 20] {
                described.sram0.size = size;
                let options = PlanOptions { frames: 3, placement: Placement::All, ..PlanOptions::default() };
                let measured = Measured::with(network, &described, &slices, &options).unwrap();
                assert!(measured.outputs[0] == expected, "{} on {platform} in {size}", network.name);
                assert!(moved(&measured)[1] > 0);
            }
        }
    }
}

/// Ranges of addresses that are taken in a memory, and when each of them is.
fn lying(plan: &Plan, memory: Memory) -> Vec<(std::ops::Range<u64>, std::ops::RangeInclusive<usize>)> {
    let always = 0..=usize::MAX;
    let tensors = plan.tensors.iter().filter(|tensor| tensor.life.is_some());
    let tensors = tensors.map(|it| (it.place, it.bytes, it.life.clone().unwrap_or(always.clone())));
    let constants = plan.constants.iter().map(|it| (it.place, it.bytes.len() as u64, always.clone()));
    let copies = plan.copies.iter().map(|it| (it.place, it.bytes, it.life.clone()));
    let here = tensors.chain(constants).chain(copies).filter(|(place, ..)| place.memory == memory);
    here.map(|(place, bytes, life)| (place.address..place.address + bytes, life)).collect()
}

fn check_apart(plan: &Plan, memory: Memory, room: std::ops::Range<u64>) {
    let all = lying(plan, memory);
    for (at, (bytes, life)) in all.iter().enumerate() {
        assert!(room.start <= bytes.start && bytes.end <= room.end, "{bytes:x?} of {room:x?}");
        for (other, then) in &all[..at] {
            let at_once = life.start() <= then.end() && then.start() <= life.end();
            let overlap = bytes.start < other.end && other.start < bytes.end;
            assert!(!(at_once && overlap), "{bytes:x?} {life:?}, {other:x?} {then:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(120)))]

    /// Networks of all kinds of layers, with demands of their files or without.
    #[test]
    fn nothing_placed_overlaps_in_time_and_space_and_results_are_the_same(
        seed: u64,
        size in 256u64..60_000,
        which in 0usize..16,
        placement in prop::sample::select(vec![Placement::Dram, Placement::Activations, Placement::All]),
        frames in 1u32..4,
        demanded in prop::collection::vec((any::<bool>(), any::<bool>(), 0usize..12), 0..3),
    ) {
        let platforms = with_sram();
        let mut described = platforms[which % platforms.len()].clone();
        described.sram0.size = size;
        let config = &described.nvdla().unwrap().config;
        let frames = frames.min(config.cubes_at_once());
        let mut draw = NetworkDraw::new(seed);
        let mut network = draw.any_network();
        for (sram, weights, layer) in demanded {
            let memory = if sram { Memory::Secondary } else { Memory::Primary };
            let of = if weights { Demanded::Weights } else { Demanded::Output };
            let layer = Some(layer % network.layers.len());
            network.demands.push(Demand { layer, of, memory, line: None });
        }
        let options = PlanOptions { frames, placement, ..PlanOptions::default() };
        let plan = match plan(&network, &described, &options) {
            Err(
                PlanError::ConvolutionBuffer { .. }
                | PlanError::NoUnit { parameter: "sdp_lut", .. }
                | PlanError::SramRoom { .. }
                | PlanError::OnTheFly { .. }
                | PlanError::Contradiction { .. },
            ) => return Ok(()),
            planned => planned.unwrap(),
        };
        prop_assert!(plan.sram_bytes <= size);
        check_apart(&plan, Memory::Secondary, described.sram0.range());
        check_apart(&plan, Memory::Primary, described.dbb0.range());
        let inputs: Vec<Vec<i8>> = (0..frames)
            .map(|_| (0..network.input.elements()).map(|_| draw.element()).collect())
            .collect();
        let slices: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
        let measured = Measured::with(&network, &described, &slices, &options).unwrap();
        let expected: Vec<i8> = inputs.iter().flat_map(|input| run_network(&network, input)).collect();
        prop_assert!(measured.outputs[0] == expected, "{}, seed {seed}", described.name);
    }
}

const DEMANDING: &str = "name = 'n'\nseed = 3\ninput = { width = 16, height = 16, channels = 16 }\n\
    [[layer]]\nkind = 'convolution'\nname = 'a'\nkernels = 32\nkernel = [3, 3]\nmemory = 'sram'\n\
    [[layer]]\nkind = 'convolution'\nname = 'b'\nkernels = 32\nkernel = [1, 1]\nweights_memory = 'sram'\n";

fn demanding(text: &str) -> Network {
    Network::parse(text, &mut |_| Err("none".to_owned())).unwrap()
}

#[test]
fn what_the_file_demands_is_where_it_is_to_be() {
    let nv_large = Description::named("nv_large").unwrap();
    let network = demanding(DEMANDING);
    let memory_of = |plan: &Plan, name: &str| {
        let tensor = plan.tensors.iter().find(|tensor| tensor.name == name);
        tensor.map(|tensor| tensor.place.memory)
    };
    for placement in [Placement::Dram, Placement::All] {
        let plan = plan(&network, &nv_large, &options(placement)).unwrap();
        assert_eq!(memory_of(&plan, "a"), Some(Memory::Secondary));
        // It goes outside.
        assert_eq!(memory_of(&plan, "b"), Some(Memory::Primary));
        let of_b = plan.constants.iter().filter(|constant| constant.what.starts_with("b "));
        assert!(of_b.clone().count() == 2 && of_b.into_iter().all(|it| it.place.memory == Memory::Secondary));
    }
    let plan =
        plan(&demanding(&DEMANDING.replace("sram", "dram")), &nv_large, &options(Placement::All)).unwrap();
    let in_sram: Vec<&str> = (plan.constants.iter())
        .filter(|constant| constant.place.memory == Memory::Secondary)
        .map(|constant| constant.what.as_str())
        .collect();
    assert_eq!((memory_of(&plan, "a"), in_sram), (Some(Memory::Primary), vec!["a weights", "a bias"]));
}

#[test]
fn what_cannot_be_in_sram_is_refused_by_layer_and_line() {
    let refused = |network: &Network, platform: &str, size: u64, options: &PlanOptions| {
        let mut described = Description::named(platform).unwrap();
        described.sram0.size = size;
        let error = plan(network, &described, options).unwrap_err();
        (error.line(network), error.to_string())
    };
    let alone = demanding(DEMANDING);
    let plain = PlanOptions::default();
    let told = |line, text: &str| (line, text.to_owned());
    assert_eq!(
        refused(&alone, "nv_large", 7000, &plain),
        told(
            Some(9),
            "layer `a`: memory = \"sram\": it takes 6 272 bytes, and of 7 000 bytes of SRAM 5 912 are left while it is needed"
        )
    );
    assert_eq!(
        refused(&alone, "nv_large", 1000, &plain),
        told(
            Some(15),
            "layer `b`: weights_memory = \"sram\": it takes 1 024 bytes, and of 1 000 bytes of SRAM 1 000 are left while it \
             is needed"
        )
    );
    assert_eq!(
        refused(&alone, "nv_small", 1 << 20, &plain),
        told(
            Some(9),
            "layer `a`: memory = \"sram\": the configuration nv_small has no SRAMIF (secondary_memory = false); built-in \
             ones that have it: nv_small_256_full, nv_medium_1024_full, nv_large_master, nv_large, nv_full"
        )
    );
    let without = demanding(&DEMANDING.replace("weights_memory = 'sram'", "").replace("memory = 'sram'", ""));
    assert_eq!(
        refused(&without, "nv_small", 1 << 20, &options(Placement::Activations)),
        told(
            None,
            "placement = \"activations\": the configuration nv_small has no SRAMIF (secondary_memory = false); built-in \
             ones that have it: nv_small_256_full, nv_medium_1024_full, nv_large_master, nv_large, nv_full"
        )
    );
    // A pooling takes what the convolution makes on the fly.
    let pooled = demanding(
        "name = 'n'\nseed = 3\ninput = { width = 16, height = 16, channels = 16 }\n\
         [[layer]]\nkind = 'convolution'\nname = 'a'\nkernels = 32\nkernel = [1, 1]\nmemory = 'sram'\n\
         [[layer]]\nkind = 'pooling'\nname = 'p'\nmethod = 'max'\nkernel = [2, 2]\nstride = [2, 2]\n",
    );
    assert_eq!(
        refused(&pooled, "nv_large", 1 << 20, &plain),
        told(
            Some(9),
            "layer `a`: memory = \"sram\": what it makes is in no memory, another layer takes it on the fly; say it of that one"
        )
    );
    let limited = PlanOptions { sram_limit: Some(7000), ..plain };
    assert_eq!(refused(&alone, "nv_large", 1 << 20, &limited).0, Some(9));
}

#[test]
fn parts_of_a_whole_that_are_to_be_apart_are_refused() {
    let text = "name = 'n'\nseed = 3\ninput = { width = 8, height = 8, channels = 32 }\n\
        [[layer]]\nkind = 'convolution'\nname = 'a'\nkernels = 32\nkernel = [1, 1]\nmemory = 'sram'\n\
        [[layer]]\nkind = 'convolution'\nname = 'b'\ninput = 'input'\nkernels = 32\nkernel = [1, 1]\n\
        [[layer]]\nkind = 'concatenation'\nname = 'both'\ninputs = ['a', 'b']\nmemory = 'dram'\n";
    let nv_large = Description::named("nv_large").unwrap();
    let error = plan(&demanding(text), &nv_large, &PlanOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "layer `both`: memory = \"dram\", and layer `a`: memory = \"sram\": what is concatenated lies in one memory"
    );
    // Without that the whole follows its part.
    let whole = demanding(&text.replace("memory = 'dram'", ""));
    let plan = plan(&whole, &nv_large, &PlanOptions::default()).unwrap();
    assert_eq!(plan.outputs[0].place.memory, Memory::Secondary);
}

#[test]
fn a_memory_that_is_none_is_refused_with_its_line() {
    let error =
        Network::parse(&DEMANDING.replace("memory = 'sram'", "memory = 'sarm'"), &mut |_| Err(String::new()));
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("line 9") && error.contains("expected `sram` or `dram`; nearest: sram"),
        "{error}"
    );
    let error =
        Network::parse(&DEMANDING.replace("memory = 'sram'", "memry = 'sram'"), &mut |_| Err(String::new()));
    assert!(error.unwrap_err().to_string().contains("memry"));
}

/// A platform whose convolution buffer holds few lines and kernels, so that layers are cut, and much is read again for each cut.
fn with_little_buffer(platform: &str) -> Description {
    let settings = ["nvdla.cbuf_banks=2", "nvdla.cbuf_bank_depth=512", "nvdla.primary_width=64"];
    Description::named(platform).unwrap().with(settings).unwrap()
}

/// Two convolutions of the input, their sum, and a pooling of both.
fn forked(size: [u32; 2], channels: u32, kernels: [u32; 2], window: u32) -> Network {
    let [width, height] = size;
    let [first, second] = kernels;
    let padding = window / 2;
    let convolution = |name: &str, input: &str, kernels: u32| {
        format!(
            "[[layer]]\nkind = 'convolution'\nname = '{name}'\ninput = '{input}'\nkernels = {kernels}\n\
             kernel = [{window}, {window}]\npadding = [{padding}, {padding}]\n"
        )
    };
    demanding(&format!(
        "name = 'forked'\nseed = 3\ninput = {{ width = {width}, height = {height}, channels = {channels} }}\n{}{}{}\
         [[layer]]\nkind = 'sum'\nname = 'both'\ninputs = ['a', 'b']\n\
         [[layer]]\nkind = 'pooling'\nname = 'pool'\nmethod = 'max'\nkernel = [2, 2]\n{}",
        convolution("a", "input", first),
        convolution("wide", "input", second),
        convolution("b", "wide", first),
        convolution("last", "pool", second)
    ))
}

fn copying(copies: Copies) -> PlanOptions {
    PlanOptions { copies: Some(copies), ..PlanOptions::default() }
}

/// Nothing else is in SRAM: all that is read there was copied.
#[test]
fn what_is_read_again_is_copied_once_and_read_from_sram() {
    // Cubes are read for each group of kernels, or by two layers; weights are read for each of two cuts.
    let cases = [
        (forked([40, 40], 32, [96, 64], 3), vec!["input", "wide", "pool"]),
        (forked([16, 16], 256, [192, 192], 1), vec!["input", "a weights", "b weights", "wide weights"]),
    ];
    for platform in ["nv_large", "nv_full"] {
        let described = with_little_buffer(platform);
        for (network, expected) in &cases {
            let input = example_input(network.input, 5);
            let run = |copies| Measured::with(network, &described, &[&input], &copying(copies)).unwrap();
            let (plain, copied) = (run(Copies::Never), run(Copies::Auto));
            assert!(
                plain.outputs[0] == run_layers(network, &input).pop().unwrap()
                    && copied.outputs[0] == plain.outputs[0]
            );
            let plan = plan(network, &described, &copying(Copies::Auto)).unwrap();
            let names: BTreeSet<&str> = plan.copies.iter().map(|copy| copy.name.as_str()).collect();
            assert_eq!(names, expected.iter().copied().collect());
            let bytes: u64 = copied.layers.iter().map(|layer| layer.copied).sum();
            let [[dram, sram], [before, none]] = [moved(&copied), moved(&plain)];
            assert_eq!((bytes, none), (plan.copies.iter().map(|copy| copy.bytes).sum(), 0));
            // Each is read from DRAM once and written to SRAM once, and all else is moved as often as before.
            assert_eq!(dram + sram, before + 2 * bytes);
            assert!(
                dram < before && copied.time < plain.time,
                "{dram} of {before}, {} of {}",
                copied.time,
                plain.time
            );
            let times = copied.layers.iter().fold(vp_core::Time::ZERO, |sum, layer| sum + layer.time());
            assert_eq!(times, copied.time);
        }
    }
}

#[test]
fn copies_are_made_where_the_placement_asks_for_sram_and_nothing_forbids_them() {
    let described = with_little_buffer("nv_large");
    let network = forked([32, 32], 32, [96, 64], 3);
    let count = |options: &PlanOptions| plan(&network, &described, options).unwrap().copies.len();
    assert_eq!(count(&PlanOptions::default()), 0);
    let placed = options(Placement::Activations);
    assert!(count(&placed) > 0);
    assert_eq!(count(&PlanOptions { copies: Some(Copies::Never), ..placed }), 0);
    // What the file puts into DRAM stays there alone.
    let mut demanded = network.clone();
    for layer in 0..network.layers.len() {
        let (layer, of) = (Some(layer), Demanded::Weights);
        demanded.demands.push(Demand { layer, of, memory: Memory::Primary, line: None });
    }
    let plan = plan(&demanded, &described, &placed).unwrap();
    assert!(plan.copies.iter().all(|copy| copy.name == "input"), "{:?}", plan.copies);
}

#[test]
fn copies_are_refused_where_nothing_can_make_them() {
    let network = forked([8, 8], 8, [8, 8], 1);
    let told = |described: &Description, copies| {
        plan(&network, described, &copying(copies)).map(|_| ()).map_err(|error| error.to_string())
    };
    let [small, medium] = ["nv_small", "nv_medium_1024_full"].map(|name| Description::named(name).unwrap());
    assert_eq!(
        told(&small, Copies::Auto).unwrap_err(),
        "copies = \"auto\": the configuration nv_small has no SRAMIF (secondary_memory = false); built-in ones that have \
         it: nv_small_256_full, nv_medium_1024_full, nv_large_master, nv_large, nv_full"
    );
    assert_eq!(
        told(&medium, Copies::Auto).unwrap_err(),
        "copies = \"auto\": the configuration nv_medium_1024_full has no BDMA (bdma = false); built-in ones that have \
         it: nv_large, nv_full; or leave it out, or say \"never\""
    );
    for described in [small, medium] {
        assert_eq!(told(&described, Copies::Never), Ok(()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    /// Whatever has room, copied or kept.
    #[test]
    fn copies_change_no_result_and_save_dram(
        size in prop::array::uniform2(8u32..40),
        channels in 1u32..260,
        kernels in prop::array::uniform2(1u32..200),
        window in prop::sample::select(vec![1u32, 3]),
        sram in 3000u64..300_000,
        platform in prop::sample::select(vec!["nv_large", "nv_full"]),
        placement in prop::sample::select(vec![Placement::Dram, Placement::Activations, Placement::All]),
        frames in 1u32..4,
    ) {
        let mut described = with_little_buffer(platform);
        described.sram0.size = sram;
        let network = forked(size, channels, kernels, window);
        let inputs: Vec<Vec<i8>> = (0..frames).map(|seed| example_input(network.input, seed.into())).collect();
        let slices: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
        let [never, auto] = [Copies::Never, Copies::Auto]
            .map(|copies| PlanOptions { frames, placement, copies: Some(copies), ..PlanOptions::default() });
        let planned = match plan(&network, &described, &auto) {
            Err(PlanError::ConvolutionBuffer { .. }) => return Ok(()),
            planned => planned.unwrap(),
        };
        prop_assert!(planned.sram_bytes <= sram);
        check_apart(&planned, Memory::Secondary, described.sram0.range());
        let run = |options| Measured::with(&network, &described, &slices, options).unwrap();
        let (plain, copied) = (run(&never), run(&auto));
        let expected: Vec<i8> =
            inputs.iter().flat_map(|input| run_layers(&network, input).pop().unwrap()).collect();
        prop_assert!(plain.outputs[0] == expected && copied.outputs[0] == expected, "{platform}");
        let [saved, before] = [moved(&copied)[0], moved(&plain)[0]];
        prop_assert!(saved < before || saved == before && planned.copies.is_empty(), "{saved} of {before}");
    }
}

/// Existing runs keep their cycles.
#[test]
fn without_a_placement_nothing_is_in_sram() {
    for name in ["lenet", "digits"] {
        let network = Network::named(name, &Options::default()).unwrap().unwrap();
        for described in with_sram() {
            let config: &Config = &described.nvdla().unwrap().config;
            let plain = Plan::new(&network, config, described.dbb0.range()).unwrap();
            assert_eq!(plan(&network, &described, &PlanOptions::default()), Ok(plain.clone()));
            assert_eq!((plain.sram_bytes, lying(&plain, Memory::Secondary)), (0, vec![]));
        }
    }
}
