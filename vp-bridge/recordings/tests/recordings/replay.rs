//! A run that was recorded in a file runs again to the same event hash.

use std::fs::{self, File};
use std::io::{BufReader, Cursor};
use std::path::{Path, PathBuf};

use vp_core::Time;
use vp_host::Host as _;
use vp_host::LocalHost;
use vp_host::trace::Trace;
use vp_host::trace::player::{PlayOptions, play};
use vp_hub::{Hub, Recorded, ReplayError, TimeMode};
use vp_models::memory::MemoryBudget;
use vp_models::platform::{Description, Platform};
use vp_recordings::{PlayError, Player, RecordError, Recording, RecordingEnd, ReplayStep};

fn layer() -> Trace {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(
        "../../traces/nv_small/sdp_pdp_batchnorm_relu_maxpool_16x16x16/sdp_pdp_batchnorm_relu_maxpool_16x16x16.cfg",
    );
    Trace::load(&script).unwrap()
}

/// Runs a layer while that is recorded in a file; its event hash, and when it ended.
fn record(path: &Path) -> (u64, Time) {
    let mut hub =
        Hub::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap(), TimeMode::Lockstep);
    let recording = Recording::begin(path, &mut hub, "a test", None).unwrap();
    let mut host = LocalHost::at(hub);
    let map = host.map();
    let outcome = play(&layer(), &mut host, &map, &PlayOptions::default()).unwrap();
    assert!(outcome.failures.is_empty());
    host.warnings();
    let came_to = (host.platform().event_hash(), host.now().unwrap());
    drop(host);
    recording.finish().unwrap();
    came_to
}

fn player(path: &Path) -> Player<BufReader<File>> {
    Player::new(BufReader::new(File::open(path).unwrap())).unwrap()
}

fn to_end(player: &mut Player<BufReader<File>>) -> Result<RecordingEnd, PlayError> {
    loop {
        if let ReplayStep::Ended(end) = player.step(Time::MAX, &mut |_| {})? {
            return Ok(end);
        }
    }
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.vprec");
    (folder, path)
}

#[test]
fn a_recorded_layer_runs_again_to_the_same_event_hash() {
    let (_folder, path) = place();
    let (hash, time) = record(&path);
    let mut player = player(&path);
    assert_eq!(to_end(&mut player).unwrap(), RecordingEnd::Whole);
    assert!(player.is_hash_checked());
    assert_eq!((player.hub().platform().event_hash(), player.hub().now()), (hash, time));
    let (entered, bytes) = (player.reader().entered(), path.metadata().unwrap().len());
    assert_eq!(player.reader().bytes(), bytes);
    assert!(bytes * 10 <= entered * 13, "{bytes} bytes for {entered}");
}

/// The recording has where it stood: nothing else is needed to run it again.
#[test]
fn a_recording_of_a_restored_platform_runs_again_from_where_that_stood() {
    let (_folder, path) = place();
    let description = Description::named("nv_small").unwrap();
    let mut first = LocalHost::new(Platform::build(&description).unwrap());
    let map = first.map();
    play(&layer(), &mut first, &map, &PlayOptions::default()).unwrap();
    let mut saved = Vec::new();
    let stood = first.save(&mut saved).unwrap();
    let restored = || Platform::restore(&mut Cursor::new(&saved), None, MemoryBudget::unlimited()).unwrap();
    let mut hub = Hub::new(restored(), TimeMode::Lockstep);
    let recording = Recording::begin(&path, &mut hub, "a test", None).unwrap();
    let mut host = LocalHost::at(hub);
    // The other group is next, so its interrupt does not come: what happens up to there is enough.
    play(&layer(), &mut host, &map, &PlayOptions::default()).unwrap();
    host.warnings();
    let came_to = (host.platform().event_hash(), host.now().unwrap());
    // The first one, which was not interrupted, comes to the same.
    play(&layer(), &mut first, &map, &PlayOptions::default()).unwrap();
    first.warnings();
    assert_eq!((first.platform().event_hash(), first.now().unwrap()), came_to);
    drop(host);
    recording.finish().unwrap();

    let mut player = player(&path);
    assert_eq!(player.hub().now(), stood);
    assert_eq!(to_end(&mut player).unwrap(), RecordingEnd::Whole);
    assert!(player.is_hash_checked());
    assert_eq!((player.hub().platform().event_hash(), player.hub().now()), came_to);

    // What it goes on from is not believed.
    let mut file = fs::read(&path).unwrap();
    let begin = file.windows(4).position(|bytes| bytes == b"VPSV").unwrap();
    file[begin + 30] ^= 1;
    let error = Player::new(&file[..]).err().unwrap().to_string();
    assert!(error.starts_with("the recording is damaged at byte "), "{error}");
}

#[test]
fn a_platform_that_runs_is_not_recorded_from_its_middle() {
    let (_folder, path) = place();
    let mut hub =
        Hub::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap(), TimeMode::Free);
    hub.run(Time::ps(1));
    let error = Recording::begin(&path, &mut hub, "a test", None).unwrap_err().to_string();
    assert!(error.starts_with("cannot record in ") && error.contains(": the platform "), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_replay_stands_behind_what_happens_up_to_the_time_it_was_to_run_until() {
    let (_folder, path) = place();
    let (_, end) = record(&path);
    let stop = |until: Time| {
        let mut player = player(&path);
        while player.step(until, &mut |_| {}).unwrap() != ReplayStep::Stopped {}
        player.hub().now()
    };
    let half = Time::ps(end.as_ps() / 2);
    let last = stop(half);
    let period = Description::named("nv_small").unwrap().period;
    assert!(last <= half && half.since(last) < period * 10, "{last} of {half}");
    // It happens then, and not before.
    assert_eq!(stop(last), last);
    let before = stop(last.since(Time::ps(1)));
    assert!(before < last && last.since(before) < period * 10, "{before} before {last}");
}

#[test]
fn a_recording_whose_program_was_killed_runs_again_as_far_as_it_goes() {
    let (_folder, path) = place();
    record(&path);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
    let mut player = player(&path);
    assert!(matches!(to_end(&mut player), Ok(RecordingEnd::CutOff { .. })));
    // All but the end itself is there.
    assert!(player.is_hash_checked());
}

#[test]
fn another_run_is_refused_where_it_goes_another_way() {
    let (_folder, path) = place();
    record(&path);
    let whole = std::fs::read(&path).unwrap();
    let mut reader = vp_recordings::Reader::new(whole.as_slice()).unwrap();
    let mut header = reader.header().clone();
    let slower = header.platform.replace("[dbb0]\n", "[dbb0]\nwrite_latency = 90\n");
    header.platform = match Description::parse(&slower) {
        Ok(_) => slower,
        Err(_) => header.platform.replace("write_latency = ", "write_latency = 9"),
    };
    let mut file = Vec::new();
    let mut writer = vp_recordings::Writer::new(&mut file, &header).unwrap();
    while let Some(entry) = reader.next_entry().unwrap() {
        writer.add(entry).unwrap();
    }
    writer.end(None).unwrap();
    std::fs::write(&path, file).unwrap();
    let error = to_end(&mut player(&path)).unwrap_err();
    assert!(matches!(error, PlayError::Replay(ReplayError::Elsewhere { .. })), "{error}");
}

#[test]
fn one_program_records_in_a_file_at_a_time() {
    let (_folder, path) = place();
    let hub = || Hub::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap(), TimeMode::Free);
    let (mut one, mut other) = (hub(), hub());
    let recording = Recording::begin(&path, &mut one, "a test", None).unwrap();
    let refused = Recording::begin(&path, &mut other, "a test", None).err().unwrap();
    assert!(matches!(refused, RecordError::Held { .. }), "{refused}");
    drop(one);
    recording.finish().unwrap();
    assert_eq!(to_end(&mut player(&path)).unwrap(), RecordingEnd::Whole);
}

/// The name stands for the old recording until the new one has its beginning: there is no time at which it cannot be replayed.
#[test]
fn a_recording_replaces_another_one_when_its_beginning_is_there() {
    let (folder, path) = place();
    record(&path);
    // Whoever reads the old one reads on.
    let mut old = player(&path);
    let mut hub =
        Hub::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap(), TimeMode::Free);
    let recording = Recording::begin(&path, &mut hub, "a test", None).unwrap();
    assert_eq!(to_end(&mut player(&path)).unwrap(), RecordingEnd::CutOff { bytes: 0 });
    assert_eq!(to_end(&mut old).unwrap(), RecordingEnd::Whole);
    drop(hub);
    recording.finish().unwrap();
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["run.vprec"]);
}

/// Fails as where a disk is full: nothing of that name is there, and nothing else.
#[test]
fn a_recording_that_cannot_begin_leaves_nothing() {
    let mut hub =
        Hub::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap(), TimeMode::Free);
    let full = std::path::Path::new("/dev/full");
    let error = Recording::begin(full, &mut hub, "a test", None).unwrap_err();
    assert!(error.to_string().starts_with("cannot record in /dev/full: No space left"), "{error}");
    let (folder, path) = place();
    let nowhere = path.join("run.vprec");
    let error = Recording::begin(&nowhere, &mut hub, "a test", None).unwrap_err();
    assert!(matches!(error, RecordError::Io { .. }), "{error}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_recording_that_ends_before_its_run_says_why() {
    let (_folder, path) = place();
    let mut hub =
        Hub::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap(), TimeMode::Free);
    let recording = Recording::begin(&path, &mut hub, "a test", None).unwrap();
    hub.end_recording(Some("memory was short"));
    let error = recording.finish().unwrap_err();
    assert!(error.to_string().ends_with("run.vprec ends before the run: memory was short"), "{error}");
    let end = to_end(&mut player(&path)).unwrap();
    assert_eq!(end, RecordingEnd::Early { why: "memory was short".to_owned() });
}

/// Standing for a disk that is full: what the file cannot take is refused at once.
#[test]
fn outputs_that_follow_from_what_is_not_recorded_come_behind_a_warning() {
    use vp_hub::{Input, MemoryGuarantees, Output, PartyCommand, PartyId, PortId, Recorder, Role, Tag};
    struct Full(u32);
    impl Recorder for Full {
        fn record(&mut self, _: Recorded) {}
        fn commit(&mut self) -> Result<(), String> {
            self.0 = self.0.checked_sub(1).ok_or("run.vprec: No space left on device")?;
            Ok(())
        }
    }
    let mut hub =
        Hub::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap(), TimeMode::Free);
    hub.record_to(Full(1));
    let party = PartyId(1);
    hub.handle(Input::Enter { party, name: "it".to_owned(), memory: MemoryGuarantees::default() });
    let mut attach = |port| {
        let command = PartyCommand::Attach { port: PortId(port), role: Role::Initiator, range: None };
        hub.handle(Input::Command { party, tag: Tag(port.into()), command });
        std::iter::from_fn(|| hub.poll()).collect::<Vec<_>>()
    };
    assert!(matches!(attach(0)[..], [Output::Completed { .. }]));
    let told = attach(2);
    let [Output::Warning { text, .. }, Output::Completed { .. }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(text, "run.vprec: No space left on device; what follows is not recorded");
    // Once is enough.
    assert!(matches!(attach(2)[..], [Output::Completed { .. }]));
}
