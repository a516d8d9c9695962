//! Text beside results, on standard error: the log and progress; and whether in colours.

use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory as _};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::out;

/// Options of all commands.
#[derive(Debug, clap::Args)]
pub(super) struct TerminalArgs {
    #[command(flatten)]
    color: colorchoice_clap::Color,

    #[command(flatten)]
    said: Verbosity,
}

/// Amount of text beside results.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
struct Verbosity {
    /// Show more: all warnings of a run; in the log of `serve`, `qemu`, `renode` and `attach-device` each request
    #[arg(long, short, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,

    /// Show no progress, and log less
    #[arg(long, short, global = true)]
    quiet: bool,
}

/// As the command line has it.
static SAID: OnceLock<Verbosity> = OnceLock::new();

impl TerminalArgs {
    /// Has it so from now on.
    pub(super) fn apply(&self) {
        // Clap does not see it where one stands before the command and one behind.
        if self.said.quiet && self.said.verbose > 0 {
            let text = "--verbose and --quiet cannot be used together";
            super::Cli::command().error(ErrorKind::ArgumentConflict, text).exit();
        }
        self.color.write_global();
        SAID.get_or_init(|| self.said);
    }
}

impl Verbosity {
    /// The least level that is logged, where `usual` is without options.
    fn level(self, usual: LevelFilter) -> LevelFilter {
        const LEVELS: [LevelFilter; 5] = [
            LevelFilter::ERROR,
            LevelFilter::WARN,
            LevelFilter::INFO,
            LevelFilter::DEBUG,
            LevelFilter::TRACE,
        ];
        let at = LEVELS.iter().position(|level| *level == usual).unwrap_or_default();
        let at = at.saturating_sub(self.quiet.into()) + usize::from(self.verbose);
        LEVELS[at.min(LEVELS.len() - 1)]
    }
}

/// Logs to standard error: from this level on unless an option or the environment says otherwise, and nothing from the targets `not`.
pub(super) fn start_log(usual: LevelFilter, not: &[&str]) {
    let level = SAID.get().copied().unwrap_or_default().level(usual);
    let environment =
        std::env::var("RUST_LOG").ok().and_then(|directives| directives.parse::<Targets>().ok());
    let filter = environment.unwrap_or_else(|| {
        Targets::new().with_default(level).with_targets(not.iter().map(|target| (*target, LevelFilter::OFF)))
    });
    let colours = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let log = tracing_subscriber::fmt::layer().with_writer(out::log).with_target(false).with_ansi(colours);
    tracing_subscriber::registry().with(log.with_filter(filter)).init();
}

/// Returns true if more is to be said than usual.
pub(super) fn is_verbose() -> bool {
    SAID.get().is_some_and(|said| said.verbose > 0)
}

/// All bars that are shown, one below the other.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Returns true if no progress is to be shown.
pub(super) fn is_quiet() -> bool {
    SAID.get().is_some_and(|said| said.quiet)
}

/// Returns true if bars are not seen, because standard error is no terminal.
pub(super) fn is_hidden() -> bool {
    BARS.is_hidden()
}

/// A bar that appears when the work takes over a second, in the form of this template.
pub(super) fn progress(parts: usize, template: &str) -> ProgressBar {
    if is_quiet() {
        return ProgressBar::hidden();
    }
    let bar = BARS.add(ProgressBar::new(parts as u64));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_move_the_level_by_steps_and_not_beyond_its_ends() {
        let level = |verbose, quiet, usual| Verbosity { verbose, quiet }.level(usual);
        assert_eq!(level(0, false, LevelFilter::INFO), LevelFilter::INFO);
        assert_eq!(level(1, false, LevelFilter::INFO), LevelFilter::DEBUG);
        assert_eq!(level(9, false, LevelFilter::WARN), LevelFilter::TRACE);
        assert_eq!(level(0, true, LevelFilter::INFO), LevelFilter::WARN);
        assert_eq!(level(0, true, LevelFilter::ERROR), LevelFilter::ERROR);
    }
}
