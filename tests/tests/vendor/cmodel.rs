//! Layers that NVIDIA's C-model ran, programmed through registers: the memory and counters it left must come out.
//!
//! Each is a folder with an `input.txn`, a list of commands executed top to bottom, and the bytes it loads and
//! compares.

use vp_host::Host;
use vp_host::trace::player::{self, PlayOptions};
use vp_host::trace::{Trace, discover};
use vp_models::platform::Description;
use vp_tests::conformance::HostConnection;
use vp_tests::shared;

/// Plays a layer, and returns what is wrong with it, if anything is; and how the run went.
fn play(trace: &Trace, host: &mut dyn Host) -> (Vec<String>, Option<String>) {
    let map = host.map();
    let mut wrong = match player::play(trace, host, &map, &PlayOptions::default()) {
        Ok(outcome) => outcome.failures.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    };
    wrong.extend(host.warnings().into_iter().map(|warning| warning.text));
    let statistics = host.statistics().unwrap_or_else(|error| panic!("{error}"));
    (wrong, statistics.text("events.hash").map(str::to_owned))
}

#[test]
fn layers_the_c_model_ran_leave_its_bytes_and_counts_every_way() {
    let Some(folder) = shared::folder("layers of the C-model", "nvdla/cmod-golden") else { return };
    let index = shared::index(&folder);
    let sources = discover(&folder).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(sources.len(), index["cases"].as_array().expect("cases").len(), "cases found");
    let mut wrong = Vec::new();
    for source in &sources {
        let trace = Trace::load(&source.script).unwrap_or_else(|error| panic!("{error}"));
        let config = source.configuration.as_deref().expect("a configuration");
        let description = Description::named(config).expect("built in");
        let mut hashes = Vec::new();
        for way in HostConnection::ALL {
            let (failures, hash) = play(&trace, (way.connect)(&description).as_mut());
            wrong.extend(failures.into_iter().map(|why| format!("{} {}: {why}", source.name, way.name)));
            hashes.push(hash);
        }
        if hashes.iter().any(|hash| *hash != hashes[0]) {
            wrong.push(format!("{}: each way goes another way: {hashes:?}", source.name));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    shared::say(&format!("{} layers leave the C-model's bytes and counts", sources.len()));
}
