//! `vp study merge`: what shards have run becomes one study's results.

use super::{Loaded, OutputArgs, report};
use crate::cli::parts::PartArgs;
use crate::cli::text::counted;
use crate::cli::{Failure, Verdict};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use vp_study::{Finished, Store};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// File of the study
    #[arg(value_name = "FILE", value_parser = crate::cli::standard::named())]
    file: PathBuf,

    /// Results of the shards (points-I-of-N.jsonl), or folders with them [default: the study's folder of results]
    #[arg(value_name = "SHARD")]
    shards: Vec<PathBuf>,

    #[command(flatten)]
    place: OutputArgs,

    // As the shards had them.
    #[command(flatten)]
    parts: PartArgs,
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let loaded = Loaded::from(&args.file, &args.parts)?;
    if loaded.study.search.is_some() {
        return Err(
            Failure::new("a search has no shards").hint("vp study FILE runs it, and writes its results")
        );
    }
    let folder = args.place.folder(&args.file);
    let places = if args.shards.is_empty() { vec![folder.clone()] } else { args.shards.clone() };
    let mut files = Vec::new();
    for place in &places {
        files.extend(shards(place)?);
    }
    let mut store = Store::open(&folder.join("points.jsonl")).map_err(Failure::new)?;
    // One shard of one is the whole, and kept as that.
    if files.is_empty() && store.of_program(&loaded.program).is_empty() {
        return Err(Failure::new(format!("no shard has been run: nothing in {}", folder.display()))
            .hint(format!("vp study {} --shard 1/2 runs one of two", args.file.display())));
    }
    let wanted: HashMap<&str, usize> =
        loaded.points.iter().map(|planned| (planned.key.as_str(), planned.point.number)).collect();
    let mut other_builds = 0;
    for file in &files {
        for finished in Store::read(file).map_err(Failure::new)? {
            let Some(&number) = wanted.get(finished.key.as_str()) else { continue };
            if finished.program != loaded.program {
                other_builds += 1;
                continue;
            }
            take(&mut store, &loaded, finished, number, file)?;
        }
    }
    let kept = store.of_program(&loaded.program);
    let is_missing = |key: &str| !kept.contains_key(key);
    let missing: Vec<usize> = loaded
        .points
        .iter()
        .filter(|planned| is_missing(&planned.key))
        .map(|planned| planned.point.number)
        .collect();
    if let Some(first) = missing.first() {
        let what = counted(missing.len() as u64, "point");
        let why = match other_builds {
            0 => "run the shards that are missing, or the study, which runs what is left".to_owned(),
            count => format!("another build of vp ran {}, which do not count", counted(count, "point")),
        };
        return Err(Failure::new(format!("{what} of the study in no shard, the first is {first}")).hint(why));
    }
    report::whole(&loaded, &store, &folder, &args.file)
}

/// Takes a point over, if that says more of it than what is kept.
fn take(
    store: &mut Store,
    loaded: &Loaded,
    finished: Finished,
    number: usize,
    file: &Path,
) -> Result<(), Failure> {
    let kept = store.of_program(&loaded.program);
    let replaces = match kept.get(finished.key.as_str()) {
        Some(kept) => finished
            .replaces(kept)
            .map_err(|differs| Failure::new(format!("{}: point {number} {differs}", file.display())))?,
        None => true,
    };
    if replaces { store.keep(finished).map_err(Failure::new) } else { Ok(()) }
}

/// The shards at a place: a file, or those in a folder.
fn shards(place: &Path) -> Result<Vec<PathBuf>, Failure> {
    let wrong = |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", place.display()));
    if place.is_file() {
        return Ok(vec![place.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(place).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("points-") && name.contains("-of-") && name.ends_with(".jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
