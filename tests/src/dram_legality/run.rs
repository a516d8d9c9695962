//! Random requests played into a model, whose commands are judged.

use super::checker::{Checker, Violation};
use super::standards::sheet;
use super::streams::Stream;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use vp_core::observe::{Kinds, Observation, Observer, Source, SourceInfo, What};
use vp_models::memory::Replay;
use vp_models::memory::dram::{CommandKind, DramCommand, Refresh};
use vp_models::platform::Description;

/// Commands that were judged, and violations among them.
#[derive(Debug)]
pub struct Judged {
    /// Commands of each kind.
    pub commands: BTreeMap<&'static str, u64>,
    /// The first violations, of all channels, with the channel's name.
    pub violations: Vec<(String, Violation)>,
    /// Number of all.
    pub violated: u64,
    /// By kinds and figure, the clocks by which the closest pair was further apart than it has to be.
    pub slack: BTreeMap<(&'static str, &'static str, &'static str), Option<i64>>,
}

impl Judged {
    /// Number of commands.
    pub fn total(&self) -> u64 {
        self.commands.values().sum()
    }

    /// Number of commands of a kind.
    pub fn of(&self, kind: CommandKind) -> u64 {
        self.commands.get(kind.name()).copied().unwrap_or(0)
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} commands (", self.total())?;
        for (at, (name, count)) in self.commands.iter().filter(|(_, count)| **count > 0).enumerate() {
            write!(f, "{}{name} {count}", if at > 0 { ", " } else { "" })?;
        }
        write!(f, "), {} violations", self.violated)?;
        self.violations.iter().take(20).try_for_each(|(channel, it)| write!(f, "\n  {channel}, {it}"))
    }
}

/// An observer that has a checker for each channel.
struct Judge {
    grade: String,
    ranks: u32,
    refresh: Refresh,
    tck: u64,
    checkers: RefCell<BTreeMap<Source, (String, Checker)>>,
    count: Cell<u64>,
    log: Option<RefCell<Vec<(u64, DramCommand)>>>,
}

impl Observer for Judge {
    fn wants(&self) -> Kinds {
        Kinds::COUNTS
    }

    fn announced(&self, source: Source, info: &SourceInfo) {
        let name = info.name.as_str();
        if name.contains(".dram") && name.ends_with(".command") {
            let sheet =
                sheet(&self.grade, self.refresh == Refresh::Bank).expect("the standards have that grade");
            let mut checker = Checker::new(sheet, self.ranks, self.refresh != Refresh::Off);
            checker.measure_slack();
            self.checkers.borrow_mut().insert(source, (name.to_owned(), checker));
        }
    }

    fn observe(&self, observation: &Observation<'_>) {
        let Observation { time, source, what: What::Count { label, value }, .. } = *observation else {
            return;
        };
        let mut checkers = self.checkers.borrow_mut();
        let Some((name, checker)) = checkers.get_mut(&source) else { return };
        let command = DramCommand::of_observed(label, value).expect("a command");
        let ps = time.as_ps();
        assert_eq!(ps % self.tck, 0, "{name}: {command:?} at {ps} ps, which is no clock of {} ps", self.tck);
        checker.take(ps / self.tck, command);
        self.count.set(self.count.get() + 1);
        if let Some(log) = &self.log
            && name.ends_with("dram0.command")
        {
            log.borrow_mut().push((ps / self.tck, command));
        }
    }
}

/// Plays random requests into the DRAM of these settings (of `dbb0.dram`) until it has given so many commands, and judges them.
///
/// # Panics
/// If the settings describe no DRAM, or its clock is not that of the standard.
pub fn judge(settings: &[&str], seed: u64, commands: u64) -> Judged {
    run(settings, seed, commands, false).0
}

/// Returns the commands of the first channel too.
///
/// # Panics
/// As [`judge`].
pub fn log(settings: &[&str], seed: u64, commands: u64) -> (Judged, Vec<(u64, DramCommand)>) {
    run(settings, seed, commands, true)
}

fn run(settings: &[&str], seed: u64, commands: u64, keeps: bool) -> (Judged, Vec<(u64, DramCommand)>) {
    let settings: Vec<String> = settings.iter().map(|setting| format!("dbb0.dram.{setting}")).collect();
    let platform = Description::named("nv_small").and_then(|it| it.with(settings.iter().map(String::as_str)));
    let platform = platform.expect("the settings are right");
    let dram = platform.dbb0.model.dram.clone().expect("the settings have a DRAM");
    let organisation = dram.organisation().expect("the DRAM has an organisation");
    let replay = Replay::of(&platform, "dbb0").expect("the DRAM can be built");
    let sim = replay.sim();
    let tck = sheet(dram.standard.name(), false).expect("the standards have that grade").clock.tck;
    let judge = Rc::new(Judge {
        grade: dram.standard.name().to_owned(),
        ranks: organisation.units(),
        refresh: dram.refresh,
        tck,
        checkers: RefCell::default(),
        count: Cell::new(0),
        log: keeps.then(RefCell::default),
    });
    let subscription = sim.observe(judge.clone());

    let idle = [dram.power_down, dram.self_refresh].into_iter().flatten().map(u64::from);
    let interval = 4_000_000 / tck;
    let pauses: Vec<u64> = idle.chain([100, 1000, interval, 12 * interval]).collect();
    let mut stream = Stream::new(seed, organisation.bytes(), organisation.burst_bytes(), &pauses);
    let (counted, now) = (judge.clone(), sim.clone());
    let requests = std::iter::from_fn(move || {
        (counted.count.get() < commands).then(|| stream.request(now.now().as_ps() / tck))
    });
    let played = replay.play(requests, None);
    subscription.cancel();

    let mut judged =
        Judged { commands: BTreeMap::new(), violations: Vec::new(), violated: 0, slack: BTreeMap::new() };
    for (name, checker) in judge.checkers.borrow_mut().values_mut() {
        checker.finish(played.end.as_ps() / tck);
        for kind in CommandKind::ALL {
            *judged.commands.entry(kind.name()).or_default() += checker.commands(kind);
        }
        judged.violated += checker.violated();
        judged.violations.extend(checker.violations().iter().map(|it| (name.clone(), it.clone())));
        checker.each_slack(|earlier, later, figure, slack| {
            let least = judged.slack.entry((earlier.name(), later.name(), figure)).or_default();
            *least = [*least, slack].into_iter().flatten().min();
        });
    }
    let log = judge.log.as_ref().map(RefCell::take).unwrap_or_default();
    (judged, log)
}
