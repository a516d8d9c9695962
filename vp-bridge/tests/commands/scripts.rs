//! Scripts of addresses as people have them: `.txn`, `.trace`, logs of the vendor's virtual platform, and what only polls.

use crate::common::process::Ended as _;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use vp_models::nvdla::registers::RegisterMap;

/// Runs `vp` in a folder; whether it exits with 0, and all that it says.
fn vp(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).current_dir(folder).args(arguments).ended();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

/// A folder with these files.
fn files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn address(register: &str) -> u32 {
    RegisterMap::Small.find(register).unwrap().address
}

const INPUT: [u8; 8] = [0xf8, 0x01, 0x80, 0x7f, 0xff, 0x00, 0x05, 0x90];
const OUTPUT: [u8; 8] = [0x00, 0x01, 0x00, 0x7f, 0x00, 0x00, 0x05, 0x00];
const SOURCE: u32 = 0xc001_0000;
const DESTINATION: u32 = 0xc002_0000;

/// The registers of a ReLU over 1x1x8 bytes, in order.
const LAYER: [(&str, u32); 32] = [
    ("SDP.S_POINTER", 0),
    ("SDP_RDMA.S_POINTER", 0),
    ("SDP.D_DATA_CUBE_WIDTH", 0),
    ("SDP.D_DATA_CUBE_HEIGHT", 0),
    ("SDP.D_DATA_CUBE_CHANNEL", 7),
    ("SDP.D_DST_BASE_ADDR_LOW", DESTINATION),
    ("SDP.D_DST_BASE_ADDR_HIGH", 0),
    ("SDP.D_DST_LINE_STRIDE", 8),
    ("SDP.D_DST_SURFACE_STRIDE", 8),
    // The operands are left out, ReLU is not.
    ("SDP.D_DP_BS_CFG", 0x12),
    ("SDP.D_DP_BN_CFG", 1),
    ("SDP.D_DP_EW_CFG", 1),
    ("SDP.D_FEATURE_MODE_CFG", 0),
    ("SDP.D_DST_DMA_CFG", 1),
    ("SDP.D_DATA_FORMAT", 0),
    ("SDP.D_CVT_OFFSET", 0),
    ("SDP.D_CVT_SCALE", 1),
    ("SDP.D_CVT_SHIFT", 0),
    ("SDP_RDMA.D_DATA_CUBE_WIDTH", 0),
    ("SDP_RDMA.D_DATA_CUBE_HEIGHT", 0),
    ("SDP_RDMA.D_DATA_CUBE_CHANNEL", 7),
    ("SDP_RDMA.D_SRC_BASE_ADDR_LOW", SOURCE),
    ("SDP_RDMA.D_SRC_BASE_ADDR_HIGH", 0),
    ("SDP_RDMA.D_SRC_LINE_STRIDE", 8),
    ("SDP_RDMA.D_SRC_SURFACE_STRIDE", 8),
    ("SDP_RDMA.D_BRDMA_CFG", 1),
    ("SDP_RDMA.D_NRDMA_CFG", 1),
    ("SDP_RDMA.D_ERDMA_CFG", 1),
    ("SDP_RDMA.D_FEATURE_MODE_CFG", 0),
    ("SDP_RDMA.D_SRC_DMA_CFG", 1),
    ("SDP_RDMA.D_OP_ENABLE", 1),
    ("SDP.D_OP_ENABLE", 1),
];

fn dump(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:#04x} ")).collect::<String>().trim_end().to_owned()
}

/// The layer as a `.txn`, with addresses that are written so, and lines behind it.
fn txn(written: impl Fn(u32) -> u32, end: &str) -> tempfile::TempDir {
    let mut text = format!("load_mem {SOURCE:#x} 8 in.dat\n");
    for (register, value) in LAYER {
        writeln!(text, "write_reg {:#x} {value:#x} # {register}", written(address(register))).unwrap();
    }
    text += end;
    let (input, output) = (dump(&INPUT), dump(&OUTPUT));
    files(&[("nv_small/relu.txn", &text), ("nv_small/in.dat", &input), ("nv_small/out.dat", &output)])
}

fn word(address: u32) -> u32 {
    0xffff_0000 | address >> 2
}

fn one_run(folder: &Path, arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).current_dir(folder).args(arguments).ended();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    json["runs"][0].clone()
}

#[test]
fn the_register_map_of_a_txn_is_that_of_the_platform_then_the_folder_whatever_the_files_name() {
    let text = |map: RegisterMap| {
        let mask = word(map.find("GLB.S_INTR_MASK").unwrap().address);
        format!("write_reg {mask:#x} 0x3\nread_reg {mask:#x} 0xffffffff 0x3\n")
    };
    let (small, full) = (text(RegisterMap::Small), text(RegisterMap::Full));
    let folder = files(&[
        ("nv_small/mask.txn", &small),
        ("nv_large/small_mask.txn", &small),
        ("nv_medium_512/deep/input.txn", &small),
        ("nv_small_256/mask.txn", &small),
        ("nv_full/small_mask.txn", &full),
        ("mask.txn", &small),
        ("small_other.txn", &small),
        ("full.txn", &full),
    ]);
    for arguments in [
        &["run", "nv_small/mask.txn"][..],
        &["run", "nv_small/mask.txn", "--platform", "nv_small"],
        &["run", "nv_large/small_mask.txn", "--platform", "nv_large"],
        &["run", "nv_large/small_mask.txn"],
        &["run", "nv_medium_512"],
        &["run", "nv_small_256/mask.txn"],
        &["run", "nv_full/small_mask.txn"],
        &["run", "mask.txn", "--platform", "nv_medium_512"],
        &["run", "small_other.txn"],
        &["run", "full.txn"],
    ] {
        let (is_right, text) = vp(folder.path(), arguments);
        assert!(is_right && text.contains("PASS"), "{arguments:?}: {text}");
    }
}

#[test]
fn a_trace_runs_on_the_platform_of_its_folder_or_the_one_that_is_asked_for() {
    let mask = address("GLB.S_INTR_MASK");
    let text = format!("W {mask:05x} 3\nR {mask:05x} 3\nI 0\n");
    let folder = files(&[("nv_small/five.trace", &text), ("lenet_five.trace", &text)]);
    for name in ["nv_small/five.pool.gz", "lenet_five.pool.gz"] {
        fs::write(folder.path().join(name), packed(&[0; 8])).unwrap();
    }
    for arguments in
        [&["run", "nv_small/five.trace"][..], &["run", "lenet_five.trace", "--platform", "nv_small"]]
    {
        let (is_right, text) = vp(folder.path(), arguments);
        assert!(is_right && text.contains("nv_small"), "{text}");
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn a_layer_runs_by_word_and_by_byte_addresses() {
    let end = |status: u32| {
        format!(
            "until {status:#x} 0x1\nwrite_reg {status:#x} 0x1\nread_reg {status:#x} 0xffffffff 0x0\ndump_mem {DESTINATION:#x} 8 out.dat\n"
        )
    };
    let status = address("GLB.S_INTR_STATUS");
    let folders = [
        txn(word, &end(word(status))),
        txn(|address| address, &end(status)),
        txn(|address| 0x1020_0000 + address, &end(0x1020_0000 + status)),
        // Both in one script.
        txn(|address| if address & 4 == 0 { address } else { word(address) }, &end(status)),
    ];
    for folder in folders {
        let (is_right, text) = vp(folder.path(), &["run", "nv_small/relu.txn"]);
        assert!(is_right && text.ends_with("PASS\n"), "{text}");
    }
}

#[test]
fn a_layer_whose_end_is_polled_is_finished_with_its_cycles() {
    let [enable, status] = ["SDP.D_OP_ENABLE", "SDP.S_STATUS"].map(address);
    for end in [
        format!("read_reg {:#x} 0x1 == 0x0 4096\ndump_mem {DESTINATION:#x} 8 out.dat\n", word(enable)),
        format!("read_reg {status:#x} 0x3 == 0x0 4096\n"),
        String::new(),
    ] {
        let folder = txn(word, &end);
        let (is_right, text) = vp(folder.path(), &["run", "nv_small/relu.txn"]);
        assert!(is_right && !text.contains("not finished"), "{text}");
        let layer = text.lines().find(|line| line.starts_with("SDP")).unwrap();
        assert!(layer.ends_with(" cycles"), "{text}");
        assert!(text.lines().any(|line| line.starts_with("time ")), "{text}");
        let told = if end.is_empty() { "nothing compared\n" } else { "PASS\n" };
        assert!(text.ends_with(told), "{text}");
        let run = one_run(folder.path(), &["run", "nv_small/relu.txn", "--json"]);
        assert!(run["cycles"].as_u64().is_some(), "{run}");
    }
}

#[test]
fn scripts_that_only_poll_run_and_say_that_nothing_is_compared() {
    let [set, status] = ["GLB.S_INTR_SET", "GLB.S_INTR_STATUS"].map(address);
    let trace = format!("W {set:05x} 1\nR {status:05x} 0\nR {status:05x} 1\nW {status:05x} 1\n");
    let folder = files(&[
        (
            "nv_small/poll.cfg",
            "reg_write(NVDLA_GLB.S_INTR_SET, 0x1);\npoll_reg_equal(NVDLA_GLB.S_INTR_STATUS, 0x1);\n",
        ),
        ("nv_small/set.txn", &format!("write_reg {:#x} 1\n", word(set))),
        ("nv_small/poll.trace", &trace),
    ]);
    fs::write(folder.path().join("nv_small/poll.pool.gz"), packed(&[0; 8])).unwrap();
    for name in ["nv_small/poll.cfg", "nv_small/set.txn", "nv_small/poll.trace"] {
        let (is_right, text) = vp(folder.path(), &["run", name]);
        assert!(is_right && text.ends_with("nothing compared\n"), "{name}: {text}");
        assert!(text.contains("cycles, from the first line to the last"), "{name}: {text}");
        let run = one_run(folder.path(), &["run", name, "--json"]);
        assert_eq!(run["result"], "not_compared", "{run}");
    }
    let (is_right, text) = vp(folder.path(), &["run", "nv_small"]);
    assert!(is_right && text.ends_with("0 passed, 0 failed, 3 with nothing compared\n"), "{text}");
    // What does not come is wrong, and a layer that the device refuses.
    fs::write(folder.path().join("never.cfg"), "poll_reg_equal(NVDLA_GLB.S_INTR_STATUS, 0x1);\n").unwrap();
    let (is_right, text) = vp(folder.path(), &["run", "never.cfg"]);
    assert!(!is_right && text.contains("GLB.S_INTR_STATUS after 100000 reads"), "{text}");
}

#[test]
fn a_refused_layer_fails_a_script_that_compares_nothing() {
    let folder = txn(word, "");
    let script = folder.path().join("nv_small/relu.txn");
    let format = address("SDP.D_DATA_FORMAT");
    let text = fs::read_to_string(&script).unwrap();
    let enable = format!("write_reg {:#x} 0x1 # SDP.D_OP_ENABLE", word(address("SDP.D_OP_ENABLE")));
    fs::write(&script, text.replace(&enable, &format!("write_reg {format:#x} 0xf\n{enable}"))).unwrap();
    let (is_right, text) = vp(folder.path(), &["run", "nv_small/relu.txn"]);
    assert!(!is_right && text.contains("layer refused: "), "{text}");
}

#[test]
fn memory_commands_reach_all_of_the_platforms_memories() {
    let near_ends = "load_mem 0x90000000 4 a.dat\nload_mem 0xfffffffc 4 a.dat\nfill_mem 0x5ffffffc 4 0xee\n\
                     dump_mem 0x90000000 4 a.dat\ndump_mem 0xfffffffc 4 a.dat\ndump_mem 0x5ffffffc 4 e.dat\n";
    let folder = files(&[
        ("nv_full/ends.txn", near_ends),
        ("nv_full/beyond.txn", "load_mem 0xfffffffe 4 a.dat\n"),
        ("own/low.txn", "fill_mem 0x1000 4 0xee\ndump_mem 0x1000 4 e.dat\n"),
        ("own/p.toml", "name = \"own\"\n[nvdla]\nbase = \"nv_small\"\n[dbb0]\nbase = 0x0\nsize = 0x10000\n"),
    ]);
    for (name, text) in [
        ("nv_full/a.dat", "0x01 0x02 0x03 0x04"),
        ("nv_full/e.dat", "0xee 0xee 0xee 0xee"),
        ("own/e.dat", "0xee 0xee 0xee 0xee"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let (is_right, text) = vp(folder.path(), &["run", "nv_full/ends.txn"]);
    assert!(is_right, "{text}");
    let (is_right, text) = vp(folder.path(), &["run", "own/low.txn", "--platform", "own/p.toml"]);
    assert!(is_right, "{text}");
    let (is_right, text) = vp(folder.path(), &["run", "nv_full/beyond.txn"]);
    let expected = "beyond.txn:1: 0x4 bytes at 0xfffffffe are in no memory: primary: it spans 0x80000000 to 0xffffffff; \
                    secondary: it spans 0x50000000 to 0x5fffffff";
    assert!(!is_right && text.contains(expected), "{text}");
}

#[test]
fn a_wrong_value_is_told_by_register_and_field_in_every_dialect() {
    let mask = address("GLB.S_INTR_MASK");
    let folder = files(&[
        ("nv_small/a.cfg", "reg_read_check(NVDLA_GLB.S_INTR_MASK_0, 0x1);\n"),
        ("nv_small/a.txn", &format!("read_reg {mask:#x} 0xffffffff 0x1\n")),
        ("nv_small/a.trace", &format!("R {mask:05x} 1\n")),
        ("nv_small/sc.log", &line("csb", false, mask, &1u32.to_le_bytes())),
    ]);
    fs::write(folder.path().join("nv_small/a.pool.gz"), packed(&[0; 8])).unwrap();
    for name in ["a.cfg", "a.txn", "a.trace", "sc.log"] {
        let (is_right, text) = vp(folder.path(), &["run", &format!("nv_small/{name}")]);
        let wrong = text.lines().find(|line| line.starts_with("wrong: ")).unwrap_or_default();
        let names = ["GLB.S_INTR_MASK", "SDP_DONE_MASK0 0x0 and not 0x1"];
        assert!(!is_right && names.iter().all(|name| wrong.contains(name)), "{name}: {text}");
    }
}

/// A line of the virtual platform's.
fn line(adaptor: &str, is_write: bool, address: u32, bytes: &[u8]) -> String {
    let word = |bytes: &[u8]| format!(" {:08x}", u32::from_le_bytes(bytes.try_into().unwrap()));
    let data: String = bytes.chunks_exact(4).map(word).collect();
    format!(
        "88400 ms: Info: nvdla.{adaptor}_adaptor: GP: iswrite={} addr={address:#x} len={} data=0x{data} resp=TLM_OK_RESPONSE\n",
        u8::from(is_write),
        bytes.len()
    )
}

/// The layer as the virtual platform tells it, with this output, and what the CPU does about its end.
fn sc_log(output: &[u8], end: &[(bool, &str, u32)]) -> String {
    let mut text = "88400 ms: Info: NV_NVDLA_sdp.cpp: 210:group 0 opeartion start\n\n".to_owned();
    let access =
        |is_write, register: &str, value: u32| line("csb", is_write, address(register), &value.to_le_bytes());
    text += &access(false, "SDP.S_STATUS", 0);
    for (register, value) in LAYER {
        text += &access(true, register, value);
    }
    text += &line("dbb", false, SOURCE, &INPUT);
    text += &line("dbb", true, DESTINATION, output);
    text += "88400000001 ns: Info: nvdla.irq_adaptor: IRQ: irq_line=176 value=1\n";
    for (is_write, register, value) in end {
        text += &access(*is_write, register, *value);
    }
    text
}

const SERVED: [(bool, &str, u32); 4] = [
    (false, "GLB.S_INTR_MASK", 0),
    (false, "GLB.S_INTR_STATUS", 1),
    (true, "GLB.S_INTR_STATUS", 1),
    (false, "GLB.S_INTR_STATUS", 0),
];

#[test]
fn a_log_of_the_vendors_virtual_platform_is_played_and_its_memory_compared() {
    let polled = [(false, "SDP.D_OP_ENABLE", 1), (false, "SDP.D_OP_ENABLE", 0), (false, "SDP.S_STATUS", 0)];
    let mut wrong = OUTPUT;
    wrong[3] = 0x7e;
    let folder = files(&[
        ("sc.log", &sc_log(&OUTPUT, &SERVED)),
        ("polled", &sc_log(&OUTPUT, &polled)),
        ("wrong.txt", &sc_log(&wrong, &SERVED)),
        (
            "csb.log",
            &sc_log(&OUTPUT, &SERVED)
                .lines()
                .filter(|line| !line.contains("dbb_"))
                .map(|line| format!("{line}\n"))
                .collect::<String>(),
        ),
    ]);
    for name in ["sc.log", "polled"] {
        let (is_right, text) = vp(folder.path(), &["run", name]);
        assert!(is_right && text.ends_with("PASS\n"), "{name}: {text}");
        assert!(text.starts_with("nv_small") && !text.contains("not finished"), "{name}: {text}");
    }
    let (is_right, text) = vp(folder.path(), &["run", "wrong.txt"]);
    let expected =
        "primary memory differs from `wrong.txt` in 1 bytes, first at 0xc0020003: expected 0x7e, found 0x7f";
    assert!(!is_right && text.contains(expected), "{text}");
    let (is_right, text) = vp(folder.path(), &["run", "csb.log"]);
    assert!(is_right && text.ends_with("nothing compared\n"), "{text}");
}

#[test]
fn a_log_whose_interrupts_are_masked_is_waited_for_all_the_same() {
    let text =
        line("csb", true, address("GLB.S_INTR_MASK"), &1u32.to_le_bytes()) + &sc_log(&OUTPUT, &SERVED[1..]);
    let folder = files(&[("sc.log", &text)]);
    let (is_right, text) = vp(folder.path(), &["run", "sc.log"]);
    assert!(is_right && text.ends_with("PASS\n"), "{text}");
}

#[test]
fn a_register_log_has_a_name_that_is_played_again_or_another_is_demanded() {
    let polls = format!("read_reg {:#x} 0x1 == 0x0 4096\n", word(address("SDP.D_OP_ENABLE")));
    let folder = txn(word, &polls);
    let script = "nv_small/relu.txn";
    let log = |name: &str| vp(folder.path(), &["run", script, "--registers", name]);
    for name in ["run.jsonl", "run.json", "run"] {
        let (_, text) = log(name);
        assert!(folder.path().join(name).is_file(), "{text}");
        let (is_right, text) = vp(folder.path(), &["run", name]);
        assert!(is_right && text.contains("SDP        1x1x8"), "{text}");
    }
    for name in ["x.txn", "x.trace", "x.cfg", "x.nvdla", "x.toml", "x.csv"] {
        let (is_right, text) = log(name);
        assert!(!is_right && text.contains("name x.jsonl, which `vp run` plays again"), "{text}");
        assert!(!folder.path().join(name).exists());
    }
    assert!(log("run.txt").1.contains("SDP"));
    let (is_right, text) = vp(folder.path(), &["run", "run.txt"]);
    assert!(!is_right && text.contains("a register log for people"), "{text}");
}
