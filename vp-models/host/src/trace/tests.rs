use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;

use super::cfg::Pattern;
use super::*;
use crate::Memory;
use vp_models::nvdla::glb::Interrupt;

/// A trace from text, with files beside it; the error as a line.
fn assemble(language: Language, text: &str, files: &[(&str, &str)]) -> Result<Trace, String> {
    let files: BTreeMap<_, _> = files.iter().copied().collect();
    let script = Path::new(match language {
        Language::Cfg => "t.cfg",
        Language::Txn => "t.txn",
        Language::Recording => "t.trace",
        Language::Log => "t.jsonl",
        Language::ScLog => "sc.log",
        Language::Loadable => "t.nvdla",
    });
    Trace::assemble("t", script, language, text, None, &mut |name| {
        Ok(files.get(name).map(ToString::to_string))
    })
    .map_err(|error| error.to_string())
}

fn composed() -> Trace {
    TraceBuilder::new("composed")
        .fill(Memory::Primary, 0x9000_0000, 0x100, Pattern::AllZero)
        .place(Memory::Primary, 0x8000_0000, "in.dat", &[7; 100])
        .write("SDP.D_OP_ENABLE", 1)
        .interrupt(Interrupt::parse("SDP_0").unwrap(), "done")
        .check("done", Memory::Primary, 0x9000_0000, &[7; 100])
        .build()
        .unwrap()
}

#[test]
fn vendor_spelling_and_own_spelling_name_the_same_register() {
    let own = |text| RegisterName::parse(text).map(|name| name.to_string());
    assert_eq!(own("NVDLA_CDMA.D_DAIN_ADDR_LOW_0_0").as_deref(), Some("CDMA.D_DAIN_ADDR_LOW_0"));
    assert_eq!(own("CDMA.D_DAIN_ADDR_LOW_0").as_deref(), Some("CDMA.D_DAIN_ADDR_LOW_0"));
    for wrong in ["CDMA", ".X", "CDMA.", "A.B.C", "A B.C", ""] {
        assert_eq!(own(wrong), None, "{wrong}");
    }
}

#[test]
fn what_cannot_be_played_is_refused() {
    let surface = "{\n{offset:0x8, size:4, payload:0x1 0x2 0x3 0x4}\n}\n";
    for (text, expected) in [
        ("// only words", "t.cfg: nothing is done: the script has no commands"),
        (
            "check_nothing(NVDLA_GLB.S_INTR_STATUS);",
            "t.cfg:1:15: expected the name of an event, such as done in `intr_notify(CDP_0, done); check_nothing(done);`, \
             found `NVDLA_GLB.S_INTR_STATUS`",
        ),
        (
            "intr_notify(SDP_0, sync_id_0);\ncheck_nothing(sync_id_1);",
            "t.cfg:2: nobody fires event `sync_id_1`: declare it with intr_notify or sync_notify; nearest: sync_id_0",
        ),
        (
            "sync_wait(NVDLA_SDP, go);",
            "t.cfg:1: nobody fires event `go`: declare it with intr_notify or sync_notify",
        ),
        (
            "mem_load(pri_mem, 0, \"s.dat\", go);",
            "t.cfg:1: nobody fires event `go`: declare it with intr_notify or sync_notify",
        ),
        ("mem_load(pri_mem, 0, \"no.dat\");", "t.cfg:1: no file `no.dat` beside the script"),
        (
            "mem_load(pri_mem, 0xfffffffffffffff8, \"s.dat\");",
            "t.cfg:1: 0xc bytes at 0xfffffffffffffff8 end beyond 0xffffffffffffffff",
        ),
        (
            "mem_init(pri_mem, 0xfffffffffffffff8, 0x10, X);",
            "t.cfg:1: 0x10 bytes at 0xfffffffffffffff8 end beyond 0xffffffffffffffff",
        ),
        (
            "mem_init(pri_mem, 0, 0x40000000, X);\nmem_init(sec_mem, 0, 1, X);",
            "t.cfg:2: the script writes 0x40000001 bytes in all, more than the limit of 0x40000000",
        ),
        (
            "mem_init(pri_mem, 0, 0x100000000, X);",
            "t.cfg:1: the script writes 0x100000000 bytes in all, more than the limit of 0x40000000",
        ),
        (
            "intr_notify(SDP_0, e);\ncheck_crc(e, 1, 0, 0x100000000, 0);",
            "t.cfg:2: the script checks 0x100000000 bytes in all, more than the limit of 0x40000000",
        ),
        ("intr_notify(SDP_0, e);\ncheck_crc(e, 1, 0, 0, 0);", "t.cfg:2: a check of 0 bytes proves nothing"),
        (
            "intr_notify(SDP_0, e);\ncheck_file(e, pri_mem, 0, 16, \"s.dat\");",
            "t.cfg:2: `s.dat` holds 0xc bytes, the command takes 0x10",
        ),
    ] {
        assert_eq!(assemble(Language::Cfg, text, &[("s.dat", surface)]).unwrap_err(), expected, "{text}");
    }
    for (text, expected) in [
        ("# only words", "t.txn: nothing is done: the script has no commands"),
        ("load_mem 0x80000000 3 d.dat\nwait", "t.txn:1: `d.dat` holds 0x2 bytes, the command takes 0x3"),
        ("dump_mem 0x80000000 0 d.dat", "t.txn:1: a check of 0 bytes proves nothing"),
        ("dump_mem 0x80000000 3 no.dat", "t.txn:1: no file `no.dat` beside the script"),
    ] {
        assert_eq!(assemble(Language::Txn, text, &[("d.dat", "0x1 0x2")]).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn a_script_that_only_polls_compares_nothing() {
    for (language, text, compares) in [
        (Language::Cfg, "reg_write(NVDLA_GLB.S_INTR_SET_0, 1);", false),
        (Language::Cfg, "poll_reg_equal(NVDLA_GLB.S_INTR_STATUS_0, 1);", false),
        (Language::Cfg, "reg_read_check(NVDLA_GLB.S_INTR_STATUS_0, 1);", true),
        (Language::Cfg, "intr_notify(CDP_0, done);\ncheck_nothing(done);", true),
        (Language::Txn, "write_reg 0xffff0402 1", false),
        (Language::Txn, "write_reg 0xffff0402 1\nuntil 0xffff0403 1", false),
        (Language::Recording, "W 1008 1\nR 100c 1", false),
        (Language::Recording, "W 1008 1\nI 1", true),
    ] {
        let mut read = |_: &str| Ok(None);
        let trace = Trace::assemble("t", Path::new("t"), language, text, None, &mut read).unwrap();
        assert_eq!(trace.compares(), compares, "{text}");
    }
}

#[test]
fn an_error_in_a_surface_file_names_that_file() {
    let text = "mem_load(pri_mem, 0, \"s.dat\");";
    let error =
        assemble(Language::Cfg, text, &[("s.dat", "{\n{offset:0, size:2, payload:0x1}\n}")]).unwrap_err();
    assert_eq!(error, "s.dat:2:31: expected 2 payload bytes, found 1");
}

#[test]
fn a_file_missing_on_disk_is_told_with_its_likely_neighbour() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("t.cfg");
    fs::write(&script, "mem_load(pri_mem, 0, \"inptu.dat\");").unwrap();
    fs::write(folder.path().join("input.dat"), "{\n}\n").unwrap();
    let error = Trace::load(&script).unwrap_err();
    let expected =
        TraceErrorKind::MissingFile { name: "inptu.dat".into(), nearest: Some("input.dat".into()) };
    assert_eq!((error.line, error.kind), (1, expected));
}

#[test]
fn bytes_that_are_no_text_are_told_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("t.cfg");
    fs::write(&script, b"// fine\n\xff").unwrap();
    let error = Trace::load(&script).unwrap_err();
    assert_eq!((error.line, error.kind), (2, TraceErrorKind::NotText(0xff)));
}

#[test]
fn a_saved_trace_loads_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let trace = composed();
    let loaded = Trace::load(&trace.save(folder.path()).unwrap()).unwrap();
    assert_eq!(
        (loaded.name(), loaded.body(), loaded.surfaces()),
        (trace.name(), trace.body(), trace.surfaces())
    );

    let files = [("d.dat", "0x1 0x2 0x3")];
    let txn = assemble(Language::Txn, "\nwait # x\n\ndump_mem 0x80000000 3 d.dat\n", &files).unwrap();
    let loaded = Trace::load(&txn.save(folder.path()).unwrap()).unwrap();
    assert_eq!((loaded.body(), loaded.surfaces()), (txn.body(), txn.surfaces()));
}

#[test]
fn the_builder_refuses_what_the_reader_would() {
    let refused = |builder: TraceBuilder| builder.build().unwrap_err().to_string();
    let new = || TraceBuilder::new("b");
    assert_eq!(
        refused(new().write("SDP", 1)),
        "b.cfg: expected a register such as SDP.S_POINTER, found `SDP`"
    );
    assert_eq!(
        refused(new().place(Memory::Primary, 0, "../x", &[])),
        "b.cfg: `../x` leaves the script's folder: name a file beside the script"
    );
    assert_eq!(
        refused(new().check("e", Memory::Primary, 0, &[1])),
        "b.cfg: a CRC is taken over whole words: 0x1 is not a multiple of 4"
    );
    assert!(
        refused(new().check("e", Memory::Primary, 0, &[0; 4])).starts_with("b.cfg:1: nobody fires event `e`")
    );
}

proptest! {
    #[test]
    fn a_damaged_script_is_refused_or_read_and_never_panics(
        at in 0..400usize,
        with in prop::collection::vec(any::<char>(), 0..4),
    ) {
        let mut text: Vec<char> = composed().emit().chars().collect();
        let at = at.min(text.len());
        let end = (at + 2).min(text.len());
        text.splice(at..end, with);
        let text: String = text.into_iter().collect();
        let surface = composed().emit_surface("in.dat").unwrap();
        let _ = assemble(Language::Cfg, &text, &[("in.dat", &surface)]);
        let _ = assemble(Language::Txn, &text, &[("in.dat", &surface)]);
    }
}

#[test]
fn plusargs_that_are_no_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("t.txn");
    fs::write(&script, "wait\n").unwrap();
    fs::create_dir(folder.path().join("plusargs.txt")).unwrap();
    let why = Trace::load(&script).unwrap_err().to_string();
    assert!(why.contains("plusargs.txt: ") && why.ends_with("it is no regular file"), "{why}");
}

/// The vendor's traces, if they are there.
pub(super) fn vendor_traces() -> Option<PathBuf> {
    crate::conformance_data::find("the vendor's traces", "traces/INDEX.json")?.parent().map(Path::to_owned)
}

#[test]
fn every_vendor_trace_reads_and_holds_what_the_index_says() {
    let Some(folder) = vendor_traces() else { return };
    let index: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("INDEX.json")).unwrap()).unwrap();
    let tests = index["tests"].as_array().unwrap();
    let sources = discover(&folder).unwrap();
    assert_eq!(sources.len(), tests.len());

    for source in &sources {
        let fact = tests
            .iter()
            .find(|test| {
                test["test"] == *source.name && test["config"].as_str() == source.configuration.as_deref()
            })
            .unwrap_or_else(|| panic!("{source:?} is not in the index"));
        let trace = Trace::load(&source.script).unwrap_or_else(|error| panic!("{error}"));
        let summary = trace.summary();
        let place = source.script.display();
        assert_eq!(Some(summary.register_writes as u64), fact["register_writes"].as_u64(), "{place}");
        let count = |value: &serde_json::Value| value.as_array().map_or(0, Vec::len);
        match source.language {
            Language::Cfg => {
                assert_eq!(summary.register_reads_checked, count(&fact["polls"]), "{place}");
                assert_eq!(summary.interrupts, count(&fact["waits"]), "{place}");
                assert_eq!(summary.memory_checks, 1, "{place}");
                assert_eq!(summary.event_checks, count(&fact["extra_checks"]), "{place}");
            }
            Language::Txn => {
                let reads = fact["register_reads_checked"].as_u64();
                assert_eq!(Some(summary.register_reads_checked as u64), reads, "{place}");
                let waits =
                    fact["waits"].as_str().and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(0);
                assert_eq!(summary.interrupts, waits, "{place}");
                assert_eq!(summary.memory_checks, count(&fact["check"]), "{place}");
            }
            Language::Recording | Language::Loadable | Language::Log | Language::ScLog => {
                panic!("{place} is none of the vendor's")
            }
        }
        // Every file beside the script reads, also those the script does not use.
        for entry in source.script.parent().unwrap().read_dir().unwrap() {
            let file = entry.unwrap().path();
            let text = || read_text(&file, "surface file", MAX_SURFACE_BYTES).unwrap();
            match (source.language, file.extension().and_then(|extension| extension.to_str())) {
                (Language::Cfg, Some("dat" | "mem")) => drop(Surface::parse_entries(&text(), &file).unwrap()),
                (Language::Txn, Some("dat")) => drop(Surface::parse_dump(&text(), &file).unwrap()),
                _ => {}
            }
        }
        let again = match &trace.body {
            Body::Cfg(lines) => cfg::parse(&trace.emit(), &source.script).unwrap() == *lines,
            Body::Txn { lines, .. } => txn::parse(&trace.emit(), &source.script).unwrap() == *lines,
            Body::Recording { .. } | Body::Loadable { .. } | Body::Log(_) | Body::ScLog(_) => false,
        };
        assert!(again, "{place} reads back as another script");
    }
}

/// Byte addresses by `UNIT.REGISTER`, from one of the vendor map's descriptions.
fn register_map(traces: &Path, map: &str) -> Option<BTreeMap<String, u64>> {
    let text = fs::read_to_string(traces.parent()?.join(format!("registers/{map}.json"))).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    let mut registers = BTreeMap::new();
    for unit in json["units"].as_array()? {
        let name = |value: &serde_json::Value| value["name"].as_str().map(str::to_owned);
        for register in unit["registers"].as_array()? {
            registers.insert(format!("{}.{}", name(unit)?, name(register)?), register["offset"].as_u64()?);
        }
    }
    Some(registers)
}

#[test]
fn every_register_of_the_vendor_traces_is_in_the_map_of_its_configuration() {
    let Some(folder) = vendor_traces() else { return };
    let (Some(small), Some(large)) = (register_map(&folder, "nv_small"), register_map(&folder, "nv_large"))
    else {
        return;
    };
    for source in discover(&folder).unwrap() {
        let map = match source.configuration.as_deref() {
            Some("nv_small" | "nv_small_256" | "nv_medium_512") => &small,
            _ => &large,
        };
        if let Body::Cfg(lines) = Trace::load(&source.script).unwrap().body() {
            for line in lines {
                if let cfg::CfgCommand::RegWrite { register, .. }
                | cfg::CfgCommand::PollRegEqual { register, .. } = &line.command
                {
                    assert!(
                        map.contains_key(register.as_str()),
                        "{}:{}: {register}",
                        source.script.display(),
                        line.number
                    );
                }
            }
        }
    }
}
