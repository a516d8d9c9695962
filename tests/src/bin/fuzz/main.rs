//! Runs a fuzz target without libFuzzer, on cases drawn from seeds near its corpus, with all cores:
//!
//! ```text
//! cargo run --release -p vp-tests --bin fuzz -- TARGET --count N | --seconds S [--seed N]
//! cargo run --release -p vp-tests --bin fuzz -- TARGET FILE
//! ```
//!
//! A case that panics, or makes no progress for a second of its thread's time, ends it: the case is written to a file, which the second form runs again.

mod workers;

use std::error::Error;
use std::io::Write as _;
use std::time::Duration;

use vp_tests::fuzz::{TARGETS, Target};
use workers::{Limit, Workers};

const USAGE: &str = "usage: fuzz TARGET --count N | --seconds S [--seed N], or fuzz TARGET FILE";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, options) = arguments.split_first().ok_or(USAGE)?;
    let target = Target::named(name).ok_or_else(|| {
        format!("no target `{name}`: there are {}", TARGETS.map(|target| target.name).join(", "))
    })?;
    if let [file] = options
        && !file.starts_with("--")
    {
        let case = std::fs::read(file).map_err(|error| format!("cannot read {file}: {error}"))?;
        let units = (target.run)(&case);
        return say(&format!("{name}: {file}: survived, {units} {}", target.unit));
    }
    let (mut limit, mut seed) = (None, 0);
    for option in options.chunks(2) {
        match option {
            [option, value] if option == "--count" => limit = Some(Limit::Count(value.parse()?)),
            [option, value] if option == "--seconds" => {
                limit = Some(Limit::Time(Duration::try_from_secs_f64(value.parse()?)?));
            }
            [option, value] if option == "--seed" => seed = value.parse()?,
            _ => return Err(USAGE.into()),
        }
    }
    let done = Workers::run(target, seed, limit.ok_or(USAGE)?)?;
    let (seconds, cases, units) = (done.time.as_secs_f64(), done.cases, done.units);
    say(&format!(
        "{name}: {cases} cases from seed {seed} in {seconds:.1} s, {:.0} a second; {units} {}, {:.0} a second; {} MiB at most",
        cases as f64 / seconds,
        target.unit,
        units as f64 / seconds,
        vp_tests::progress::peak_memory() >> 20,
    ))
}

fn say(line: &str) -> Result<(), Box<dyn Error>> {
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}
