//! The project's own traces are as their generator makes them, and pass.

use vp_host::trace::discover;
use vp_tests::conformance::Test;
use vp_tests::traces;

#[test]
fn the_committed_traces_are_what_the_reference_gives() {
    for trace in traces::all() {
        for (name, made) in &trace.files {
            let file = trace.folder().join(name);
            let committed = std::fs::read_to_string(&file);
            let committed = committed.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let remedy = "`cargo run -p vp-tests --bin make-traces` writes it again";
            assert!(committed == *made, "{} differs from what the generator makes; {remedy}", file.display());
        }
    }
}

#[test]
fn no_trace_is_left_that_nothing_makes() {
    let made: Vec<_> = traces::all().into_iter().map(|trace| trace.name).collect();
    let found = discover(&traces::folder()).unwrap();
    let found: Vec<_> = found.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(found.len(), made.len(), "{found:?}");
    assert!(found.iter().all(|name| made.contains(name)), "{found:?}");
}

#[test]
fn the_projects_own_traces_pass() {
    for source in discover(&traces::folder()).unwrap() {
        let test = Test {
            config: source.configuration.unwrap(),
            name: source.name,
            engines: Vec::new(),
            language: source.language.to_string(),
            script: source.script,
            needs_absent_hardware: false,
        };
        test.run_every_way().unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}
