//! Layers that NVIDIA's C-model ran, programmed through registers: the memory and counters it left must come out.
//!
//! Each is a folder with an `input.txn`, a list of commands executed top to bottom, and the bytes it loads and
//! compares.

use vp_models::host::Host as _;
use vp_models::host::trace::player::{self, PlayOptions};
use vp_models::host::trace::{Trace, discover};
use vp_models::platform::Description;
use vp_tests::{conformance, shared};

#[test]
fn layers_the_c_model_ran_leave_its_bytes_and_counts() {
    let Some(folder) = shared::folder("layers of the C-model", "nvdla/cmod-golden") else { return };
    let index = shared::index(&folder);
    let sources = discover(&folder).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(sources.len(), index["cases"].as_array().expect("cases").len(), "cases found");
    let (mut passed, mut wrong) = (0, Vec::new());
    for source in sources {
        let name = &source.name;
        let trace = Trace::load(&source.script).unwrap_or_else(|error| panic!("{error}"));
        let config = source.configuration.as_deref().expect("a configuration");
        let mut host = conformance::local(&Description::named(config).expect("built in"));
        let map = host.map();
        let outcome = player::play(&trace, &mut host, &map, &PlayOptions::default());
        let failures = match outcome {
            Ok(outcome) => outcome.failures.iter().map(ToString::to_string).collect::<Vec<_>>(),
            Err(error) => vec![error.to_string()],
        };
        let warnings = host.warnings();
        if failures.is_empty() && warnings.is_empty() {
            passed += 1;
            continue;
        }
        wrong.push(format!("{name}: {}", failures.join("\n")));
        wrong.extend(warnings.into_iter().map(|warning| warning.text));
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(passed > 0);
    shared::say(&format!("{passed} layers leave the C-model's bytes and counts"));
}
