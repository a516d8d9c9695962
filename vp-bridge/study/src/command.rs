//! The command that runs a point alone.

use super::file::Study;
use super::run::Planned;
use std::path::Path;
use vp_host::network::{Network, Placement};
use vp_models::platform::Description;

/// The command that runs a point alone, from where the study's own was called.
pub(super) fn command(planned: &Planned, study: &Study, file: &Path) -> Option<String> {
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
        for (option, count) in [("--batch", job.options.frames), ("--frames", job.frames)] {
            if count > 1 {
                words.extend([option.to_owned(), count.to_string()]);
            }
        }
        if job.options.placement != Placement::default() {
            words.extend(["--placement".to_owned(), job.options.placement.to_string()]);
        }
        if let Some(limit) = job.options.sram_limit {
            words.extend(["--placement-limit".to_owned(), limit.to_string()]);
        }
        if let Some(copies) = job.options.copies {
            words.extend(["--copies".to_owned(), copies.to_string()]);
        }
        words.extend(job.settings.iter().flat_map(|setting| ["--set".to_owned(), quoted(setting)]));
    } else {
        // Its network is no file's.
        words.extend(["study".to_owned(), quoted(&file.display().to_string())]);
        words.extend(["--point".to_owned(), point.number.to_string()]);
    }
    words.extend(job.outside.iter().map(|word| quoted(word)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        assert_eq!(quoted("dbb0.read_latency=50"), "dbb0.read_latency=50");
        assert_eq!(quoted("a='b c'"), r"'a='\''b c'\'''");
        assert_eq!(quoted(""), "''");
    }
}
