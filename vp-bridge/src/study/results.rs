//! A study's points with what came of them: what tables and reports are made of.

use super::file::Study;
use super::layout::{Curve, Layout};
use super::measured::{Measured, Outcome};
use super::point::Point;
use super::report;
use super::run::Planned;
use super::store::Finished;
use super::table::{self, flat};
use std::collections::HashMap;
use std::path::Path;
use toml::Value;
use twox_hash::XxHash3_64;
use vp_models::host::network::Network;
use vp_models::platform::Description;

/// A point with what came of it.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The point.
    pub point: &'a Point,
    /// All values of its platform, by their names; none if there is no such platform.
    pub parameters: Vec<(String, Value)>,
    /// What came of it.
    pub outcome: &'a Outcome,
    /// How to run it alone.
    pub command: Option<String>,
}

/// The points that are done, in the study's order; `file` is the study, as commands name it.
pub fn rows<'a>(
    points: &'a [Planned],
    finished: &HashMap<&str, &'a Finished>,
    study: &Study,
    file: &Path,
) -> Vec<Row<'a>> {
    let row = |planned: &'a Planned| {
        let finished = finished.get(planned.key.as_str())?;
        let mut parameters = Vec::new();
        if let Ok(job) = &planned.job
            && let Ok(table) = toml::Table::try_from(&job.description)
        {
            flat("", &Value::Table(table), &mut parameters);
        }
        let command = command(planned, study, file);
        Some(Row { point: &planned.point, parameters, outcome: &finished.outcome, command })
    };
    points.iter().filter_map(row).collect()
}

/// The command that runs a point alone, from where the study's own was called.
fn command(planned: &Planned, study: &Study, file: &Path) -> Option<String> {
    let (job, point) = (planned.job.as_ref().ok()?, &planned.point);
    let mut words = vec!["vp".to_owned()];
    if point.network_settings().is_empty() {
        let network = point.network().ok()?;
        // What is built in has no folder; all else is named from the study's.
        let in_folder = |name: &str| study.folder.join(name).display().to_string();
        let network = if Network::text(network).is_some() { network.to_owned() } else { in_folder(network) };
        let platform = point.platform();
        let platform = if Description::named(&platform).is_ok() { platform } else { in_folder(&platform) };
        words.extend(["run".to_owned(), quoted(&network), "--platform".to_owned(), quoted(&platform)]);
        for (option, count) in [("--batch", job.batch), ("--frames", job.frames)] {
            if count > 1 {
                words.extend([option.to_owned(), count.to_string()]);
            }
        }
        words.extend(job.settings.iter().flat_map(|setting| ["--set".to_owned(), quoted(setting)]));
    } else {
        // Its network is no file's.
        words.extend(["study".to_owned(), quoted(&file.display().to_string())]);
        words.extend(["--point".to_owned(), point.number.to_string()]);
    }
    Some(words.join(" "))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "._-/=:,".contains(it);
    match word.chars().all(plain) && !word.is_empty() {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Frames/s along a curve, where its points ran.
pub fn curve(curve: &Curve, rows: &[Row<'_>]) -> Vec<(f64, f64)> {
    let frames = |number: usize| of(rows, number).map(Measured::frames_per_second);
    curve.points.iter().filter_map(|&(x, number)| Some((x, frames(number)?))).collect()
}

/// Where a curve is highest, and where lowest.
pub fn ends(curve: &[(f64, f64)]) -> Option<[(f64, f64); 2]> {
    let of = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
    // Of equal ones the first.
    Some([*curve.iter().rev().max_by(of)?, *curve.iter().min_by(of)?])
}

/// What was measured at the point of this number.
pub(super) fn of<'a>(rows: &[Row<'a>], number: usize) -> Option<&'a Measured> {
    let at = rows.binary_search_by_key(&number, |row| row.point.number).ok()?;
    rows[at].outcome.measured()
}

/// A number as people read it: three digits that count, thousands apart.
pub fn rounded(number: f64) -> String {
    let digits = match number.abs() {
        it if it >= 100.0 => 0,
        it if it >= 10.0 => 1,
        it if it >= 1.0 => 2,
        _ => 3,
    };
    if digits > 0 {
        return format!("{number:.digits$}");
    }
    let whole = format!("{number:.0}");
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole.as_str()), |whole| ("-", whole));
    let mut text = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Which program this is: a hash of its file. What another has run may have come out otherwise.
///
/// # Errors
/// When its file cannot be read.
pub fn program() -> std::io::Result<String> {
    let file = std::fs::read(std::env::current_exe()?)?;
    Ok(format!("{:016x}", XxHash3_64::oneshot(&file)))
}

/// Writes tables and report into a folder.
///
/// # Errors
/// The disk's.
pub fn write(
    study: &Study,
    layout: &Layout,
    rows: &[Row<'_>],
    folder: &Path,
    file: &Path,
) -> Result<(), String> {
    for (name, table) in [("results", table::points(rows)), ("layers", table::layers(rows))] {
        table.write_csv(&folder.join(name).with_extension("csv"))?;
        table.write_parquet(&folder.join(name).with_extension("parquet"))?;
    }
    let put = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    for panel in &layout.panels {
        put(&format!("{}.svg", file_name(&panel.title)), report::picture(study, layout, rows, panel)?)?;
    }
    put("report.html", report::page(study, layout, rows, file)?)
}

/// A title as the name of a file: `resnet50-nv_large`.
fn file_name(title: &str) -> String {
    let words = title.split(|it: char| !it.is_ascii_alphanumeric() && it != '_' && it != '.');
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_make_names_of_files() {
        assert_eq!(file_name("resnet50 · nv_large"), "resnet50-nv_large");
        assert_eq!(file_name("../a/b · dbb0.cache.sets 64"), "..-a-b-dbb0.cache.sets-64");
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        assert_eq!(quoted("dbb0.read_latency=50"), "dbb0.read_latency=50");
        assert_eq!(quoted("a='b c'"), r"'a='\''b c'\'''");
        assert_eq!(quoted(""), "''");
    }
}
