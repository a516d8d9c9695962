//! Activity of a DRAM in a span of time, from which its energy follows: its commands, and the times in each background.

use super::bank::Background;
use super::command::{CommandKind, DramCommand};
use super::config::DramConfig;
use super::organisation::Organisation;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::AddAssign;
use vp_core::Time;
use vp_core::observe::{Kinds, Observation, Observer, Source, SourceInfo, What};

/// Commands of all channels of a DRAM, and the times that their ranks (or pseudo channels) were in each background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "NamedActivity", into = "NamedActivity")]
pub struct DramActivity {
    commands: [u64; CommandKind::ALL.len()],
    backgrounds: [Time; Background::COUNT],
    open_banks: Time,
}

/// A [`DramActivity`] as it is written down: what there is none of is left out. Times are in picoseconds.
#[derive(Serialize, Deserialize)]
struct NamedActivity {
    #[serde(default)]
    commands: BTreeMap<String, u64>,
    #[serde(default)]
    backgrounds: BTreeMap<String, u64>,
    #[serde(default)]
    open_banks: u64,
}

impl DramActivity {
    /// Returns how many commands of a kind were given.
    pub fn commands(&self, kind: CommandKind) -> u64 {
        self.commands[kind as usize]
    }

    /// Returns the time that all ranks together were in a background.
    pub fn background(&self, background: Background) -> Time {
        self.backgrounds[background as usize]
    }

    /// Returns the time that all banks together were open in [`Background::ActiveStandby`].
    pub fn open_banks(&self) -> Time {
        self.open_banks
    }

    /// Counts commands of a kind.
    pub fn add_commands(&mut self, kind: CommandKind, count: u64) {
        self.commands[kind as usize] += count;
    }

    /// Adds a time of a rank in a background, with so many banks open.
    pub fn add_background(&mut self, background: Background, time: Time, open: u64) {
        self.backgrounds[background as usize] += time;
        if background == Background::ActiveStandby {
            self.open_banks += time * open;
        }
    }
}

impl AddAssign for DramActivity {
    fn add_assign(&mut self, other: DramActivity) {
        self.commands.iter_mut().zip(other.commands).for_each(|(sum, count)| *sum += count);
        self.backgrounds.iter_mut().zip(other.backgrounds).for_each(|(sum, time)| *sum += time);
        self.open_banks += other.open_banks;
    }
}

impl From<DramActivity> for NamedActivity {
    fn from(activity: DramActivity) -> NamedActivity {
        let commands = CommandKind::ALL.map(|kind| (kind.name().to_owned(), activity.commands(kind)));
        let time = |of: Background| (of.name().to_owned(), activity.background(of).as_ps());
        NamedActivity {
            commands: commands.into_iter().filter(|(_, count)| *count > 0).collect(),
            backgrounds: Background::ALL.map(time).into_iter().filter(|(_, time)| *time > 0).collect(),
            open_banks: activity.open_banks.as_ps(),
        }
    }
}

impl From<NamedActivity> for DramActivity {
    fn from(named: NamedActivity) -> DramActivity {
        let of = |map: &BTreeMap<String, u64>, name: &str| map.get(name).copied().unwrap_or(0);
        DramActivity {
            commands: CommandKind::ALL.map(|kind| of(&named.commands, kind.name())),
            backgrounds: Background::ALL
                .map(|background| Time::ps(of(&named.backgrounds, background.name()))),
            open_banks: Time::ps(named.open_banks),
        }
    }
}

/// A rank or pseudo channel.
#[derive(Clone, Default)]
struct Unit {
    /// Open banks, a bit each.
    open: u128,
    is_down: bool,
    is_in_self_refresh: bool,
    since: Time,
}

impl Unit {
    fn background(&self) -> Background {
        match (self.is_in_self_refresh, self.is_down, self.open != 0) {
            (true, ..) => Background::SelfRefresh,
            (_, true, true) => Background::ActivePowerDown,
            (_, true, false) => Background::PrechargePowerDown,
            (_, false, true) => Background::ActiveStandby,
            (_, false, false) => Background::PrechargeStandby,
        }
    }

    /// Adds the time up to now.
    fn settle(&mut self, now: Time, activity: &mut DramActivity) {
        activity.add_background(self.background(), now.since(self.since), self.open.count_ones().into());
        self.since = self.since.max(now);
    }
}

#[derive(Default)]
struct Watched {
    /// Source of the commands of each channel.
    sources: Vec<Source>,
    /// Ranks of all channels.
    units: Vec<Unit>,
    activity: DramActivity,
}

/// Observer of a DRAM's commands, which tells its activity. It joins before the DRAM has been used: banks that are open before
/// count as closed.
pub struct DramWatch {
    /// Beginning of the names of its channels: `dbb0.dram`.
    channel: String,
    organisation: Organisation,
    watched: RefCell<Watched>,
}

impl DramWatch {
    /// Creates one for the DRAM of the memory of that name, which is looked at from `now` on. None if there is no such DRAM.
    pub fn new(memory: &str, config: &DramConfig, now: Time) -> Option<DramWatch> {
        let organisation = config.organisation().ok()?;
        let watch =
            DramWatch { channel: format!("{memory}.dram"), organisation, watched: RefCell::default() };
        watch.restart(now);
        Some(watch)
    }

    /// Begins anew, for a DRAM that was reset.
    pub fn restart(&self, now: Time) {
        let watched = &mut *self.watched.borrow_mut();
        let units = self.organisation.channels * self.organisation.units();
        watched.units = vec![Unit { since: now, ..Unit::default() }; units as usize];
        watched.activity = DramActivity::default();
    }

    /// Returns what was done since the last call.
    pub fn take(&self, now: Time) -> DramActivity {
        let Watched { units, activity, .. } = &mut *self.watched.borrow_mut();
        units.iter_mut().for_each(|unit| unit.settle(now, activity));
        std::mem::take(activity)
    }
}

impl Observer for DramWatch {
    fn wants(&self) -> Kinds {
        Kinds::COUNTS
    }

    fn announced(&self, source: Source, info: &SourceInfo) {
        let channel =
            info.name.strip_prefix(self.channel.as_str()).and_then(|name| name.strip_suffix(".command"));
        let Some(channel) = channel.and_then(|number| number.parse::<usize>().ok()) else { return };
        let sources = &mut self.watched.borrow_mut().sources;
        // Channels are announced in the order of their numbers; again only after a reset.
        if channel == sources.len() {
            sources.push(source);
        } else if let Some(known) = sources.get_mut(channel) {
            *known = source;
        }
    }

    fn observe(&self, observation: &Observation<'_>) {
        let What::Count { label, value } = observation.what else { return };
        let Watched { sources, units, activity } = &mut *self.watched.borrow_mut();
        let Some(channel) = sources.iter().position(|source| *source == observation.source) else { return };
        let Some(command) = DramCommand::of_observed(label, value) else { return };
        activity.add_commands(command.kind, 1);
        let banks = self.organisation.unit_banks();
        let at = channel * self.organisation.units() as usize + (command.bank / banks) as usize;
        let Some(unit) = units.get_mut(at) else { return };
        let bank = 1 << (command.bank % banks);
        if command.kind.is_column() && !command.kind.closes() {
            return;
        }
        unit.settle(observation.time, activity);
        match command.kind {
            CommandKind::Activate => unit.open |= bank,
            CommandKind::ReadPrecharge | CommandKind::WritePrecharge | CommandKind::Precharge => {
                unit.open &= !bank;
            }
            CommandKind::PrechargeAll => unit.open = 0,
            CommandKind::PowerDownEntry => unit.is_down = true,
            CommandKind::PowerDownExit => unit.is_down = false,
            CommandKind::SelfRefreshEntry => unit.is_in_self_refresh = true,
            CommandKind::SelfRefreshExit => unit.is_in_self_refresh = false,
            _ => {}
        }
    }
}

impl CommandKind {
    /// Returns true for reads and writes that close their row.
    const fn closes(self) -> bool {
        matches!(self, CommandKind::ReadPrecharge | CommandKind::WritePrecharge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{MemoryRequest, Replay};
    use crate::platform::Description;

    /// Returns the activity of a DRAM into which reads and writes are played: its times are those that the channel counts.
    fn played(settings: &[&str]) -> DramActivity {
        let platform = Description::named("nv_small").unwrap();
        let settings = ["dbb0.dram.standard=DDR4-2400R"].iter().chain(settings).copied();
        let platform = platform.with(settings).unwrap();
        let replay = Replay::of(&platform, "dbb0").unwrap();
        let config = platform.dbb0.model.dram.as_ref().unwrap();
        let watch = std::rc::Rc::new(DramWatch::new("dbb0", config, Time::ZERO).unwrap());
        let sim = replay.sim();
        sim.observe(watch.clone());
        let mut at = 1_u64;
        let request = move |number: u64| {
            at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let clock = number * 7 + if number > 300 { 30_000 } else { 0 };
            MemoryRequest { clock, write: at >> 62 == 0, address: (at >> 33) & 0x3ff_ffc0, bytes: 64 }
        };
        let played = replay.play((0..600).map(request), None);
        let activity = watch.take(sim.now());
        for background in Background::ALL {
            let counted = played.statistics.get(&format!("dbb0.dram0.{}", background.name())).unwrap_or(0);
            let clocks = activity.background(background).as_ps() / 833;
            assert!(clocks.abs_diff(counted) <= 4, "{background:?}: {clocks}, {counted}");
        }
        activity
    }

    #[test]
    fn the_activity_is_what_the_channels_count() {
        let open = played(&[]);
        assert!(
            open.commands(CommandKind::Activate) > 0
                && open.open_banks() > open.background(Background::ActiveStandby)
        );
        assert_eq!(open.background(Background::PrechargePowerDown), Time::ZERO);
        let closed = played(&["dbb0.dram.page=closed", "dbb0.dram.power_down=100", "dbb0.dram.ranks=2"]);
        assert!(
            closed.background(Background::PrechargePowerDown) > closed.background(Background::ActiveStandby)
        );
        let deep = played(&["dbb0.dram.power_down=100", "dbb0.dram.self_refresh=5000"]);
        assert!(deep.background(Background::SelfRefresh) > Time::us(10));
    }

    #[test]
    fn an_activity_is_written_by_names() {
        let mut activity = DramActivity::default();
        activity.add_commands(CommandKind::Activate, 3);
        activity.add_background(Background::ActiveStandby, Time::ns(5), 2);
        let text = toml::to_string(&activity).unwrap();
        assert_eq!(
            text,
            "open_banks = 10000\n\n[commands]\nACT = 3\n\n[backgrounds]\nactive_standby = 5000\n"
        );
        assert_eq!(toml::from_str::<DramActivity>(&text).unwrap(), activity);
        let mut twice = activity;
        twice += activity;
        assert_eq!((twice.commands(CommandKind::Activate), twice.open_banks()), (6, Time::ns(20)));
    }
}
