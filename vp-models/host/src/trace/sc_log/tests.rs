use super::*;
use crate::trace::{Language, TraceSource};

/// A line of the adaptor at CSB.
fn csb(is_write: u8, address: u32, value: u32) -> String {
    format!(
        "88600 ms: Info: nvdla.csb_adaptor: GP: iswrite={is_write} addr={address:#x} len=4 data=0x {value:08x} resp=TLM_OK_RESPONSE\n"
    )
}

/// A line of the adaptor at a memory; eight bytes.
fn memory(adaptor: &str, is_write: u8, address: u64, words: &str) -> String {
    format!(
        "Info: nvdla.{adaptor}: GP: iswrite={is_write} addr={address:#x} len=8 data=0x {words} resp=TLM_OK_RESPONSE\n"
    )
}

fn read(text: &str) -> Result<ScLog, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sc.log");
    std::fs::write(&path, text).unwrap();
    let place = format!("{}/", folder.path().display());
    match load("sc", &path).map_err(|error| error.to_string().replace(&place, ""))?.body {
        Body::ScLog(log) => Ok(log),
        other => panic!("{other:?}"),
    }
}

fn runs(surfaces: &[(Memory, Surface)]) -> Vec<(Memory, u64, Vec<u8>)> {
    let runs = |(memory, surface): &(Memory, Surface)| {
        let memory = *memory;
        surface.runs().iter().map(move |run| (memory, run.offset, run.bytes.clone())).collect::<Vec<_>>()
    };
    surfaces.iter().flat_map(runs).collect()
}

const ENABLE: u32 = 0x9038;
const STATUS: u32 = 0x100c;

#[test]
fn first_reads_tell_what_memory_held_and_last_writes_what_it_holds() {
    let text = [
        csb(1, ENABLE, 1),
        memory("dbb_adaptor", 0, 0xc000_0000, "04030201 08070605"),
        "88400 ms: Info: NV_NVDLA_sdp.cpp: 205:NV_NVDLA_sdp::SdpConsumerThread, group 0 opeartion done\n\n"
            .to_owned(),
        memory("sram_adaptor", 1, 0x5000_0010, "00000000 0b0a0000"),
        memory("dbb_adaptor", 1, 0xc000_0008, "ffffffff ffffffff"),
        memory("dbb_adaptor", 1, 0xc000_0008, "XX_XX_02_01 00000009"),
        csb(0, STATUS, 1),
    ];
    let log = read(&text.concat()).unwrap();
    let commands: Vec<_> = log.lines.iter().map(|line| (line.number, line.command.clone())).collect();
    let wanted = [
        (1, ScCommand::Write { address: ENABLE, value: 1 }),
        (8, ScCommand::Read { address: STATUS, value: 1 }),
    ];
    assert_eq!(commands, wanted);
    assert_eq!(runs(&log.before), [(Memory::Primary, 0xc000_0000, vec![1, 2, 3, 4, 5, 6, 7, 8])]);
    let left = [
        (Memory::Primary, 0xc000_0008, vec![0xff, 0xff, 2, 1, 9, 0, 0, 0]),
        (Memory::Secondary, 0x5000_0010, vec![0, 0, 0, 0, 0, 0, 10, 11]),
    ];
    assert_eq!(runs(&log.left), left);
}

#[test]
fn bytes_that_the_cpu_has_changed_are_loaded_where_it_did_so() {
    let seen = |words: &str| memory("dbb_adaptor", 0, 0x8000_0000, words);
    let text = [
        csb(1, ENABLE, 1),
        seen("00000001 00000000"),
        csb(0, STATUS, 1),
        csb(1, STATUS, 1),
        csb(1, ENABLE, 1),
        // Since the interrupt.
        seen("00000002 00000000"),
        csb(1, ENABLE, 1),
        // Without one between.
        seen("00000003 00000000"),
    ];
    let log = read(&text.concat()).unwrap();
    let places: Vec<_> = (0..)
        .zip(&log.lines)
        .filter_map(|(place, line)| match &line.command {
            ScCommand::Load { bytes, .. } => Some((place, bytes.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(places, [(2, vec![2]), (5, vec![3])]);
    assert!(log.left.is_empty());
}

#[test]
fn unaligned_and_partial_bursts_read_byte_by_byte() {
    let line = |text: &str| {
        let line = format!("Info: nvdla.dbb_adaptor: GP: iswrite=1 {text} resp=TLM_OK_RESPONSE");
        Transaction::parse(line.as_bytes()).map(|it| it.unwrap().bytes)
    };
    let some = |bytes: &[u8]| bytes.iter().copied().map(Some).collect::<Vec<_>>();
    assert_eq!(line("addr=0x3 len=6 data=0x 01 05040302 06"), Ok(some(&[1, 2, 3, 4, 5, 6])));
    assert_eq!(line("addr=0x0 len=3 data=0x 01_XX_03"), Ok(vec![Some(1), None, Some(3)]));
    for wrong in [
        "addr=0x0 len=4 data=0x 01",
        "addr=0x0 len=0 data=0x",
        "addr=0xfffffffffffffffc len=8 data=0x 00000000 00000000",
    ] {
        assert!(line(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, expected) in [
        (
            csb(1, ENABLE, 1) + "Info: nvdla.csb_adaptor: GP: broken\n",
            "sc.log:2: expected a transaction such as `iswrite=1 addr=0x3010 len=4 data=0x 00000001 resp=TLM_OK_RESPONSE`, found `broken`",
        ),
        (
            csb(1, ENABLE, 1).replace("OK", "ADDRESS_ERROR"),
            "sc.log:1: the access to 0x9038 failed in the virtual platform: TLM_ADDRESS_ERROR_RESPONSE",
        ),
        (
            csb(1, 0x1004, 1) + &csb(1, 0x1006, 1),
            "sc.log:2: 0x1006 is the address of no register: they are at multiples of 4",
        ),
        (
            memory("dbb_adaptor", 0, 0, "00000000 00000000"),
            "sc.log: no register is accessed: the log needs the lines of csb_adaptor",
        ),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_last_line_that_was_cut_off_is_left_out() {
    let text = csb(1, ENABLE, 1) + "88600 ms: Info: nvdla.csb_adaptor: GP: iswrite=1 ad";
    assert_eq!(read(&text).unwrap().lines.len(), 1);
}

#[test]
fn the_base_of_the_register_window_does_not_count() {
    let log = read(&(csb(1, 0x1020_9038, 1) + &csb(1, ENABLE, 1))).unwrap();
    assert_eq!(log.lines[0].command, ScCommand::Write { address: ENABLE, value: 1 });
    assert_eq!(log.lines[0].command, log.lines[1].command);
}

#[test]
fn a_log_is_recognised_by_its_lines_whatever_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let is = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        TraceSource::of(&path)
    };
    let found = is("run7", &format!("SystemC 2.3.0\n{}", csb(0, STATUS, 1))).unwrap();
    assert_eq!((found.language, found.configuration.as_deref()), (Language::ScLog, Some("nv_small")));
    let of_c_model = "88600 ms: Info: NV_NVDLA_cdma.cpp: 977:wt_up_cdma2sc_b_transport done\n";
    assert!(is("a.out", of_c_model).is_some());
    for other in ["# registers of nv_small\n", "the log has `Info: nvdla.csb_adaptor: GP: …`\n", ""] {
        assert_eq!(is("sc.log", other), None, "{other}");
    }
}

#[test]
fn the_contents_tell_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sc.log");
    let wide = |words: usize| {
        let (data, length) = (vec!["00000000"; words].join(" "), 4 * words);
        format!(
            "Info: nvdla.dbb_adaptor: GP: iswrite=0 addr=0x0 len={length} data=0x {data} resp=TLM_OK_RESPONSE\n"
        )
    };
    for (text, expected) in [
        (csb(0, 0x100c, 1), "nv_small"),
        (csb(0, 0x000c, 1), "nv_full"),
        (csb(0, 0x100c, 1) + &csb(0, 0xf000, 1), "nv_large"),
        (csb(0, 0x100c, 1) + &wide(8), "nv_large"),
        (csb(0, 0x9004, 1) + &wide(16), "nv_full"),
        (csb(0, 0x9004, 1) + &wide(2), "nv_small"),
    ] {
        std::fs::write(&path, &text).unwrap();
        assert_eq!(configuration(&path).as_deref(), Some(expected), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_line_makes_the_reader_panic(
        text in "(Info: nvdla\\.(csb|dbb|sram)_adaptor: GP: |iswrite=[01] |addr=0x[0-9a-f]{1,17} |len=[0-9]{1,20} |data=0x |[0-9a-f]{8} |XX_| resp=|TLM_OK_RESPONSE|\n|\\PC){0,30}",
    ) {
        let _ = read(&text);
    }
}
