//! `vp loadable diff`: parts in which two loadables differ.

use std::io::Write;
use std::path::Path;

use vp_host::loadable::differences::{PartDifferences, differences};

use super::super::record::{self, Record};
use super::super::text::{self, grouped, styled};
use super::super::{Failure, Verdict, out};
use super::read;

pub(super) fn main(paths: [&Path; 2], json: bool) -> Result<Verdict, Failure> {
    let [one, other] = paths.map(read);
    let found = differences(&one?, &other?);
    let is_same = found.is_empty();
    if json {
        let [one, other] = paths.map(|path| path.display().to_string());
        let record = Record::default().with("one", one).with("other", other).with("equal", is_same);
        record::print(&record.with("differences", &found))?;
    } else {
        show(&mut out::stdout(), paths, &found)?;
    }
    Ok(if is_same { Verdict::Right } else { Verdict::Wrong })
}

fn show(out: &mut impl Write, paths: [&Path; 2], found: &[PartDifferences]) -> Result<(), Failure> {
    if found.is_empty() {
        writeln!(out, "{}", styled(text::GREEN, "EQUAL"))?;
        return Ok(());
    }
    let [one, other] = paths.map(|path| path.display().to_string());
    writeln!(out, "A {one}\nB {other}\n")?;
    let mut table = text::table(&["part", "differences", "first", "A", "B"], &[1]);
    for PartDifferences { part, count, first } in found {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let name = format!("{part:?}").to_lowercase();
        table.add_row([name, grouped(*count), first.place.clone(), value(&first.one), value(&first.other)]);
    }
    writeln!(out, "{}\n\n{}", text::fitted(table), styled(text::RED, "DIFFERENT"))?;
    Ok(())
}
