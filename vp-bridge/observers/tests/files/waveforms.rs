//! Waveforms of a real run, read back by other programs' readers, beside what the run itself says.

use crate::common::{self, Waves, at, high, number, read_fst, read_vcd, run, trace};
use vp_core::observe::Stage;
use vp_models::nvdla::registers::RegisterMap;
use vp_observers::Files;

fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_run_that_is_looked_at_has_the_events_of_one_that_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let plain = run(&Files::default());
    let traced = run(&trace(folder.path().join("run.fst"), None, None));
    assert_eq!(plain.statistics.text("events.hash"), traced.statistics.text("events.hash"));
    assert_eq!(plain.end, traced.end);
}

#[test]
fn signals_are_what_the_run_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.fst");
    let ran = run(&trace(path.clone(), None, None));
    assert!(ran.finished.errors.is_empty() && ran.finished.notes.is_empty(), "{:?}", ran.finished);
    let waves = read_fst(&path);
    the_line(&waves, &ran);
    the_register_bus(&waves, &ran);
    the_memory_interface(&waves, &ran);
    the_units(&waves, &ran);
    the_buffer(&waves);
    the_fifos(&waves);
}

fn the_line(waves: &Waves, ran: &common::Ran) {
    let seen: Vec<(u64, String)> =
        ran.seen.levels.borrow().iter().map(|(time, level)| (time.as_ps(), level.to_string())).collect();
    assert!(seen.len() > 4);
    assert_eq!(waves["nv_small.irq0"][1..], seen);
}

fn the_register_bus(waves: &Waves, ran: &common::Ran) {
    let accesses = ran.seen.accesses.borrow();
    assert!(accesses.len() > 100);
    for &(time, write, address, value) in accesses.iter() {
        let bus = |signal: &str| at(waves, &format!("nv_small.csb0.{signal}"), time.as_ps());
        assert_eq!((bus("valid"), bus("write")), ("1".to_owned(), u8::from(write).to_string()));
        assert_eq!((number(&bus("address")), number(&bus("data"))), (address.into(), value.into()));
        assert_eq!(bus("register"), RegisterMap::Small.at(address).unwrap().to_string());
    }
    let period = common::description().period.as_ps();
    assert!(high(waves, "nv_small.csb0.valid", ran.end.as_ps()) <= accesses.len() as u64 * period);
}

fn the_memory_interface(waves: &Waves, ran: &common::Ran) {
    let transfers = ran.seen.transfers.borrow();
    let mut in_flight = [0u64; 2];
    for (place, (time, transfer)) in transfers.iter().enumerate() {
        let direction = usize::from(transfer.write);
        match transfer.stage {
            Stage::Request => in_flight[direction] += 1,
            Stage::Response => in_flight[direction] -= 1,
            Stage::Data => {}
        }
        // Of one time, a signal has what came last.
        let is_last = |same: fn(&Stage) -> bool| {
            let rest = transfers[place + 1..].iter().take_while(|(later, _)| later == time);
            !rest.into_iter().any(|(_, later)| later.write == transfer.write && same(&later.stage))
        };
        let dbb = |signal: &str| at(waves, &format!("nv_small.dbb0.{signal}"), time.as_ps());
        if transfer.stage == Stage::Request && is_last(|stage| *stage == Stage::Request) {
            let channel = ["ar", "aw"][direction];
            let of = |signal: &str| dbb(&format!("{channel}.{signal}"));
            assert_eq!(of("valid"), "1");
            assert_eq!(number(&of("id")), u64::from(transfer.id));
            assert_eq!(number(&of("address")), transfer.address);
            assert_eq!(number(&of("bytes")), u64::from(transfer.bytes));
        }
        if transfer.stage != Stage::Data && is_last(|stage| *stage != Stage::Data) {
            let signal = ["reads_outstanding", "writes_outstanding"][direction];
            assert_eq!(number(&dbb(signal)), in_flight[direction], "at {time}");
        }
        if transfer.stage == Stage::Data {
            assert_eq!(dbb(["r.valid", "w.valid"][direction]), "1");
        }
    }
    for (direction, signal) in [("read", "reads_outstanding"), ("write", "writes_outstanding")] {
        let most = waves[&format!("nv_small.dbb0.{signal}")].iter().map(|(_, value)| number(value)).max();
        // A level that holds for no time is not seen.
        assert!(most.unwrap() <= ran.count(&format!("dbb0.{direction}.most_outstanding")));
    }
    // R is valid from the first beat on, for at least as long as its beats take.
    let beats = ran.count("dbb0.read.bytes") / 8;
    assert!(
        high(waves, "nv_small.dbb0.r.valid", ran.end.as_ps()) >= beats * common::description().period.as_ps()
    );
}

fn the_units(waves: &Waves, ran: &common::Ran) {
    let mut units = 0;
    for path in waves.keys().filter(|path| path.ends_with(".busy")) {
        let scope = path.strip_suffix(".busy").unwrap();
        let unit = scope.rsplit('.').next().unwrap();
        let layers = ran.statistics.get(&format!("unit.{unit}.layers")).unwrap_or(0);
        assert_eq!(number(&waves[&format!("{scope}.layer")].last().unwrap().1), layers, "{unit}");
        if layers > 0 {
            assert_eq!(high(waves, path, ran.end.as_ps()), ran.count(&format!("unit.{unit}.busy")), "{unit}");
            units += 1;
        }
    }
    assert!(units >= 4, "{units}");
    let names: Vec<&str> = waves["nv_small.nvdla.sdp.name"].iter().map(|(_, name)| name.as_str()).collect();
    assert!(names.contains(&"conv1") && names.contains(&"fc"), "{names:?}");
}

fn the_buffer(waves: &Waves) {
    let most = |signal: &str| waves[signal].iter().map(|(_, value)| number(value)).max().unwrap();
    let sizes = [most("nv_small.nvdla.cbuf.data"), most("nv_small.nvdla.cbuf.weights")];
    assert!(sizes.iter().all(|most| (1..=128 << 10).contains(most)), "{sizes:?}");
    assert!(waves["nv_small.nvdla.mac_array.active"].len() > 10);
}

fn the_fifos(waves: &Waves) {
    let levels = |of: &str| -> Vec<u64> {
        waves[&format!("nv_small.nvdla.{of}")].iter().map(|(_, value)| number(value)).collect()
    };
    let fifos: Vec<&str> = waves
        .keys()
        .filter(|path| path.ends_with("_fifo"))
        .filter_map(|path| path.strip_prefix("nv_small.nvdla."))
        .collect();
    assert!(fifos.contains(&"pdp_rdma.read_fifo") && fifos.contains(&"cdp.write_fifo"), "{fifos:?}");
    for fifo in &fifos {
        // What comes is taken, and none is larger than its RAM, of some KiB.
        let levels = levels(fifo);
        assert!(levels.iter().all(|level| *level <= 16 << 10), "{fifo}");
        assert_eq!(levels.last(), Some(&0), "{fifo}");
    }
    let (sums, written) = (levels("cacc.delivery"), levels("sdp.write_fifo"));
    assert!(sums.len() > 10 && written.len() > 10);
    assert_eq!((sums.last(), written[0]), (Some(&0), 0));
}

#[test]
fn vcd_has_what_fst_has() {
    let folder = tempfile::tempdir().unwrap();
    let [fst, vcd] = ["run.fst", "run.vcd"].map(|name| folder.path().join(name));
    run(&trace(fst.clone(), None, None));
    run(&trace(vcd.clone(), None, None));
    let (mut fst, vcd) = (read_fst(&fst), read_vcd(&vcd));
    // Before they are known, FST has them unknown, and VCD nothing.
    fst.values_mut().for_each(|changes| changes.retain(|(_, value)| !value.starts_with('x')));
    assert_eq!(fst.keys().collect::<Vec<_>>(), vcd.keys().collect::<Vec<_>>());
    for (path, changes) in &fst {
        assert_eq!(changes, &vcd[path], "{path}");
    }
}

#[test]
fn a_waveform_is_recorded_from_one_trigger_to_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.fst");
    let whole = run(&trace(folder.path().join("whole.fst"), None, None));
    let all = read_fst(&folder.path().join("whole.fst"));
    let ends = |start: &str, stop: &str| {
        let ran = run(&trace(path.clone(), Some(start), Some(stop)));
        assert!(ran.finished.errors.is_empty() && ran.finished.notes.is_empty(), "{:?}", ran.finished);
        let waves = read_fst(&path);
        let of = |changes: &Vec<(u64, String)>| {
            changes.iter().filter(|(_, value)| !value.starts_with('x')).map(|it| it.0).collect::<Vec<_>>()
        };
        let times: Vec<u64> = waves.values().flat_map(of).collect();
        let (first, last) = (*times.iter().min().unwrap(), *times.iter().max().unwrap());
        // What it has is what the whole has.
        for (signal, changes) in &waves {
            // Of one instant, what came last.
            for (time, _) in changes
                .iter()
                .filter(|(time, value)| *time > first && *time < last && !value.starts_with('x'))
            {
                assert_eq!(at(&all, signal, *time), at(&waves, signal, *time), "{signal} at {time}");
            }
        }
        (first, last)
    };
    assert_eq!(ends("3 us", "4 us").0, 3_000_000);
    assert!(ends("3 us", "4 us").1 <= 4_000_000);
    let line = &all["nv_small.irq0"];
    let rises: Vec<u64> = line.iter().filter(|(_, value)| value == "1").map(|it| it.0).collect();
    assert_eq!(ends("interrupt", "layer:fc").0, rises[0]);
    let sdp = &all["nv_small.nvdla.sdp.layer"];
    let second = sdp.iter().find(|(_, value)| number(value) == 2).unwrap().0;
    assert_eq!(ends("layer:sdp.2", "layer:sdp.2").0, second);
    let enable = RegisterMap::Small.find("SDP.D_OP_ENABLE").unwrap().address;
    let accesses = whole.seen.accesses.borrow();
    let enabled = accesses.iter().find(|it| it.2 == enable && it.3 == 1).unwrap().0;
    assert_eq!(ends("register:SDP.D_OP_ENABLE=1", "interrupt"), (enabled.as_ps(), rises[0]));
    let transfers = whole.seen.transfers.borrow();
    let (time, third) = &transfers.iter().filter(|(_, it)| it.stage == Stage::Request).nth(20).unwrap();
    let address = format!("address:{:x}..{:x}", third.address, third.address + 1);
    assert!(ends(&address, "layer:conv1").0 <= time.as_ps());
}

#[test]
fn a_start_that_never_comes_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.fst");
    let ran = run(&trace(path.clone(), Some("register:PDP.D_NAN_INPUT_NUM=7"), None));
    let error = ran.finished.errors[0].to_string();
    let expected = format!(
        "--trace-start register:PDP.D_NAN_INPUT_NUM=7 has not come by the end, at {}: {} is not written",
        ran.end,
        path.display()
    );
    assert_eq!(error, expected);
    assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
}

#[test]
fn a_stop_that_never_comes_is_said_and_the_file_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.fst");
    let ran = run(&trace(path.clone(), Some("1 ps"), Some("layer:sdp.99")));
    let note = format!(
        "--trace-stop layer:sdp.99 has not come, so {} goes on to the end, at {}",
        path.display(),
        ran.end
    );
    assert_eq!(ran.finished.notes, [note]);
    assert_eq!(read_fst(&path).keys().count(), read_fst(&path).len());
}

#[test]
fn names_that_do_not_exist_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.fst");
    let refused = |files: &Files| files.check(&common::description()).unwrap_err().to_string();
    assert_eq!(
        refused(&trace(path.clone(), None, Some("layer:convl"))),
        "--trace-stop layer:convl: no layer `convl`; nearest: conv1"
    );
    assert!(refused(&trace(folder.path().join("run.ghw"), None, None)).contains("ends in .fst"));
    let nowhere = folder.path().join("no/such/run.fst");
    assert!(
        refused(&trace(nowhere.clone(), None, None))
            .starts_with(&format!("cannot write {}", nowhere.display()))
    );
    assert!(names(folder.path()).is_empty());
}

#[test]
fn who_is_dropped_before_the_end_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let files = trace(folder.path().join("run.fst"), None, None);
    drop(files.attach(&mut common::hub()).unwrap());
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_run_in_which_nothing_happens_has_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["run.fst", "run.vcd"] {
        let path = folder.path().join(name);
        let observers = trace(path.clone(), None, None).attach(&mut common::hub()).unwrap();
        assert!(observers.finish().errors.is_empty());
        let waves = if name.ends_with("fst") { read_fst(&path) } else { read_vcd(&path) };
        assert!(waves.contains_key("nv_small.irq0"));
    }
}
