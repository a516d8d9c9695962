use super::super::network::{Cube, OperationKind, TensorPlace};
use super::super::tests::{Pooling, host};
use super::super::{RunError, run};
use super::*;

mod contradictions;

fn told(loadable: &Loadable, platform: &str) -> Vec<String> {
    let config = Config::named(platform).expect("a built-in configuration");
    let misfits = misfits(loadable, &config).expect("descriptors of some hardware");
    misfits.iter().map(ToString::to_string).collect()
}

fn named(platforms: &[&'static str]) -> Vec<Hint<'static>> {
    platforms.iter().map(|platform| Hint { platform, reason: "by name" }).collect()
}

#[test]
fn the_memory_atom_of_its_cubes_tells_where_a_loadable_fits() {
    for (atom, expected) in [
        (8, &["nv_small", "nv_small_256", "nv_small_256_full"][..]),
        (16, &["nv_medium_512"]),
        (32, &["nv_medium_1024_full", "nv_large_master", "nv_large", "nv_full"]),
    ] {
        let loadable = Pooling { atom, ..Pooling::USUAL }.parsed();
        assert_eq!(fitting(&loadable).unwrap(), expected, "{atom}");
    }
    let loadable = Pooling { atom: 64, ..Pooling::USUAL }.parsed();
    assert_eq!(fitting(&loadable).unwrap(), [""; 0]);
    let Choice { platform, why } = choose(&loadable, &named(&["nv_small"])).unwrap();
    let expected = ("nv_small", "chosen as the nearest: the loadable fits no built-in platform");
    assert_eq!((platform, why.as_str()), expected);
}

#[test]
fn a_loadable_of_another_atom_is_refused_by_name_with_the_platforms_that_have_it() {
    let loadable = Pooling { atom: 8, ..Pooling::USUAL }.parsed();
    let error = run(&loadable, &[], &mut host("nv_full")).expect_err("wrong bytes otherwise");
    assert!(matches!(&error, RunError::Unfit { platform, .. } if platform == "nv_full"));
    assert_eq!(
        error.to_string(),
        "it does not fit nv_full: operation 0 (PDP), source: a cube of 4 x 4 x 32 with lines of 32 and surfaces of 128 bytes \
         consists of memory atoms of 8 bytes, and this configuration has 32; it fits nv_small, nv_small_256 and nv_small_256_full"
    );
}

#[test]
fn a_format_that_a_configuration_lacks_is_told_with_the_one_that_has_it() {
    let loadable =
        Pooling { precision: 2, source: [4, 4, 16], result: [2, 2, 16], ..Pooling::USUAL }.parsed();
    assert_eq!(fitting(&loadable).unwrap(), ["nv_full"]);
    let [reason] = &told(&loadable, "nv_large")[..] else { panic!("one reason") };
    assert!(reason.contains("layer refused: PDP.") && reason.contains("this configuration"), "{reason}");
    let Choice { platform, why } = choose(&loadable, &named(&["nv_small"])).unwrap();
    assert_eq!(
        (platform, why.as_str()),
        (
            "nv_full",
            "chosen by the loadable's contents (memory atoms of 32 bytes and fp16): no other built-in platform fits"
        )
    );
}

#[test]
fn a_layer_that_no_hardware_runs_fits_nowhere() {
    let loadable = Pooling { kernel: 3, ..Pooling::USUAL }.parsed();
    let error = run(&loadable, &[], &mut host("nv_large")).expect_err("too many windows").to_string();
    assert!(error.contains("operation 0 (PDP): layer refused: PDP.D_DATA_CUBE_OUT_WIDTH"), "{error}");
    assert!(error.ends_with("nor does it fit a built-in platform"), "{error}");
}

#[test]
fn one_that_fits_nowhere_is_told_about_on_the_nearest_platform() {
    // Too many windows, in atoms of 8 bytes.
    let loadable = Pooling { atom: 8, kernel: 3, ..Pooling::USUAL }.parsed();
    assert_eq!(choose(&loadable, &named(&["nv_full"])).unwrap().platform, "nv_small");
}

#[test]
fn memory_behind_a_second_interface_is_needed_where_the_loadable_has_some() {
    let loadable = Pooling { atom: 8, domain: 1, ..Pooling::USUAL }.parsed();
    assert_eq!(fitting(&loadable).unwrap(), ["nv_small_256_full"]);
    let expected = "its memory: this configuration has no second memory interface (SRAM)";
    assert_eq!(told(&loadable, "nv_small"), [expected]);
}

#[test]
fn a_single_pixel_is_the_same_in_all_atoms() {
    let loadable = Pooling { source: [1, 1, 8], result: [1, 1, 8], ..Pooling::USUAL }.parsed();
    // A window of two pixels is refused everywhere: the atoms tell nothing.
    for platform in Config::NAMES {
        assert!(!told(&loadable, platform).iter().any(|reason| reason.contains("atoms")), "{platform}");
    }
}

#[test]
fn of_several_platforms_the_name_says_which_and_else_the_smallest_is_taken() {
    let loadable = Pooling { atom: 8, ..Pooling::USUAL }.parsed();
    let chosen = |hints: &[&'static str]| choose(&loadable, &named(hints)).unwrap();
    assert_eq!(chosen(&["nv_full", "nv_small_256"]).platform, "nv_small_256");
    assert_eq!(
        chosen(&["nv_small"]).why,
        "chosen by name: by its contents (memory atoms of 8 bytes) the loadable fits nv_small_256 and nv_small_256_full, too"
    );
    let Choice { platform, why } = chosen(&["nv_full"]);
    assert!(
        platform == "nv_small" && why.starts_with("chosen by size, as the smallest: "),
        "{platform} {why}"
    );
}

fn operation(kind: OperationKind, what: OperationWork) -> Operation {
    Operation { kind, dependencies: 0, consumers: Vec::new(), fused_parent: None, what }
}

/// Eight lines and columns of so many channels, and as many entries a line.
fn convolution(channels: u16, entries: u16) -> Operation {
    let mut descriptor: layout::Convolution = layout::read(&[0; 92]).expect("as many bytes");
    descriptor.data_format = cubes::FEATURES;
    (descriptor.entries_per_slice, descriptor.kernel_channels) = (entries.into(), channels.into());
    let cube = Cube {
        place: TensorPlace::None,
        size: 0,
        width: 8,
        height: 8,
        channels: channels.into(),
        line_stride: 0,
        surface_stride: 0,
        plane_stride: 0,
    };
    let what = OperationWork::Convolution {
        descriptor: descriptor.into(),
        cubes: [cube; 5],
        offset_u: 0,
        uv_line_stride: 0,
    };
    operation(OperationKind::Convolution, what)
}

#[test]
fn entries_of_a_line_tell_the_blocks_of_weights() {
    let blocks = |channels, entries, platform| {
        let config = Config::named(platform).expect("a built-in configuration");
        match other_blocks("it", &convolution(channels, entries), &config) {
            Some(Misfit::Weights { blocks, .. }) => blocks,
            other => {
                assert_eq!(other, None);
                Vec::new()
            }
        }
    };
    // 128 channels are 16 atoms of 8 bytes, an entry each, or four together.
    assert_eq!(blocks(128, 128, "nv_small"), [0; 0]);
    assert_eq!(blocks(128, 128, "nv_small_256"), [8]);
    assert_eq!(blocks(128, 32, "nv_small_256"), [0; 0]);
    assert_eq!(blocks(128, 32, "nv_small"), [32]);
    // No more channels than either has in a block.
    assert_eq!(blocks(8, 8, "nv_small_256"), [0; 0]);
    // nv_full's entries are twice as wide, and its blocks the same.
    for platform in ["nv_large", "nv_full"] {
        assert_eq!(blocks(128, 16, platform), [0; 0], "{platform}");
        assert_eq!(blocks(128, 32, platform), [32], "{platform}");
    }
}

#[test]
fn units_and_stages_that_there_must_be_are_told() {
    let stage_y = |operation: u8, activation: u8| {
        let mut descriptor: layout::Sdp = layout::read(&[0; 116]).expect("as many bytes");
        let stage = &mut descriptor.stages[2];
        (stage.enable, stage.operation, stage.activation) = (1, operation, activation);
        let OperationWork::Convolution { cubes, .. } = convolution(8, 8).what else { panic!("it is one") };
        operation_of_sdp(descriptor, cubes)
    };
    let on = |operation: &Operation, platform| missing(operation, &Config::named(platform).unwrap());
    assert_eq!(
        on(&operation(OperationKind::Bdma, OperationWork::Bdma(Vec::new())), "nv_small"),
        Some("BDMA")
    );
    assert_eq!(on(&operation(OperationKind::Bdma, OperationWork::Bdma(Vec::new())), "nv_large"), None);
    // It adds; it looks up; it does nothing.
    for (stage, lacking) in
        [(stage_y(2, 0), Some("stage Y")), (stage_y(0, 2), Some("stage Y")), (stage_y(0, 0), None)]
    {
        assert_eq!((on(&stage, "nv_small"), on(&stage, "nv_large")), (lacking, None));
    }
    let config = Config { sdp_lut: false, ..Config::named("nv_large").unwrap() };
    assert_eq!(missing(&stage_y(0, 2), &config), Some("lookup table in SDP"));
}

fn operation_of_sdp(descriptor: layout::Sdp, cubes: [Cube; 5]) -> Operation {
    operation(OperationKind::Sdp, OperationWork::Sdp { descriptor: Box::new(descriptor), cubes, lut: None })
}
