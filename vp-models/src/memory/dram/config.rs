//! Description of a DRAM and its controller.

use super::figure::{self, Rounding};
use super::grade::{Grade, Parts, Standard};
use super::mapping::{Mapping, MappingError};
use super::organisation::Organisation;
use super::timing::{Contradiction, Timing};
use serde::{Deserialize, Serialize};
use vp_core::Time;

/// Treatment of a row that no access waits for any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PagePolicy {
    /// The row stays open until another one is wanted, or a refresh comes.
    #[default]
    Open,
    /// The last access that waits for it in the direction that is served closes it (auto-precharge).
    Closed,
    /// The row is closed `page_timer` clocks after its last access.
    Timer,
}

impl std::fmt::Display for PagePolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PagePolicy::Open => "open pages",
            PagePolicy::Closed => "closed pages",
            PagePolicy::Timer => "pages closed by a timer",
        })
    }
}

/// Order in which accesses are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// First the accesses to open rows, then the oldest (first ready, first come first served).
    #[default]
    FrFcfs,
    /// The oldest whose next command may be given, whether that is for a row or a column.
    OldestReady,
    /// The oldest, of reads or of writes.
    Fcfs,
}

/// Refresh of a rank's banks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "RefreshWord", into = "RefreshWord")]
pub enum Refresh {
    /// None.
    Off,
    /// All banks at once.
    #[default]
    All,
    /// One bank after the other, DDR5: a bank of each group.
    Bank,
}

/// A refresh as files have it: `true`, `false`, or a word.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "`all`, `bank`, `true` (all) or `false` (none)")]
enum RefreshWord {
    Switch(bool),
    Word(RefreshKind),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RefreshKind {
    All,
    Bank,
}

impl From<RefreshWord> for Refresh {
    fn from(word: RefreshWord) -> Refresh {
        match word {
            RefreshWord::Switch(false) => Refresh::Off,
            RefreshWord::Switch(true) | RefreshWord::Word(RefreshKind::All) => Refresh::All,
            RefreshWord::Word(RefreshKind::Bank) => Refresh::Bank,
        }
    }
}

impl From<Refresh> for RefreshWord {
    fn from(refresh: Refresh) -> RefreshWord {
        match refresh {
            Refresh::Off => RefreshWord::Switch(false),
            Refresh::All => RefreshWord::Word(RefreshKind::All),
            Refresh::Bank => RefreshWord::Word(RefreshKind::Bank),
        }
    }
}

/// A DRAM and its controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramConfig {
    /// The speed grade, which gives all values that are not set here; or a standard, such as `DDR5`, with all of them set here.
    pub standard: Grade,
    /// Channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u32>,
    /// Pseudo channels of a channel (HBM).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pseudo_channels: Option<u32>,
    /// Ranks of a channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Width of the data bus of a channel, or of a pseudo channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_bits: Option<u32>,
    /// Groups of banks in a rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u32>,
    /// Banks in a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub banks: Option<u32>,
    /// Rows in a bank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
    /// Columns in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<u32>,
    /// Columns that a burst transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_length: Option<u32>,
    /// Parts of an address from the most significant down.
    #[serde(default = "default_mapping")]
    pub mapping: String,
    /// Policy for open rows.
    #[serde(default)]
    pub page: PagePolicy,
    /// Clocks after its last access in which a row is closed, if `page = "timer"`.
    #[serde(default = "default_page_timer")]
    pub page_timer: u32,
    /// Order in which accesses are served.
    #[serde(default)]
    pub scheduler: Scheduler,
    /// Row hits that may overtake the oldest access to their bank, one after the other.
    #[serde(default = "default_overtake")]
    pub overtake: u32,
    /// Accesses to one burst that wait are served by one column command.
    #[serde(default = "default_true")]
    pub merge: bool,
    /// Bursts of the DRAM that may wait in a channel to be read.
    #[serde(default = "default_queue")]
    pub read_queue: u32,
    /// Bursts of the DRAM that may wait in a channel to be written.
    #[serde(default = "default_queue")]
    pub write_queue: u32,
    /// Number of waiting writes from which on writes go before reads.
    #[serde(default = "default_high")]
    pub writes_high: u32,
    /// Number of waiting writes from which down reads go first again.
    #[serde(default = "default_low")]
    pub writes_low: u32,
    /// Clocks from which on the oldest access that waits has its direction served, and no row hit overtakes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_limit: Option<u32>,
    /// Refresh: of `all` banks at once (or `true`), `bank` by bank, or `false`.
    #[serde(default)]
    pub refresh: Refresh,
    /// Ranks or pseudo channels are refreshed one after the other, evenly within the interval; otherwise together.
    #[serde(default = "default_true")]
    pub stagger: bool,
    /// Clocks without an access after which a rank enters power-down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_down: Option<u32>,
    /// Clocks without an access after which a rank enters self refresh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_refresh: Option<u32>,
    /// Time that controller and wires add to a read.
    #[serde(default = "default_latency", with = "crate::units::time_text")]
    pub latency: Time,
    /// Figures that differ from the speed grade's: clocks, times (`"13.75 ns"`), or a list of which the greatest holds. `tCK` is a time, or
    /// picoseconds.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub timing: toml::Table,
}

fn default_mapping() -> String {
    Mapping::DEFAULT.to_owned()
}
fn default_page_timer() -> u32 {
    100
}
fn default_overtake() -> u32 {
    16
}
fn default_true() -> bool {
    true
}
fn default_queue() -> u32 {
    32
}
fn default_high() -> u32 {
    24
}
fn default_low() -> u32 {
    8
}
fn default_latency() -> Time {
    Time::ns(20)
}

/// A DRAM that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DramError {
    /// A number of parts that addresses cannot select.
    #[error("{parameter} = {value}: it must be a power of two from {least} to {most}")]
    Count {
        /// The parameter.
        parameter: &'static str,
        /// Value that was given.
        value: u32,
        /// The least there can be.
        least: u32,
        /// The most there can be.
        most: u32,
    },
    /// More of a part than the standard has.
    #[error("{parameter} = {value}: {standard} has {most} at most")]
    TooMany {
        /// The parameter.
        parameter: &'static str,
        /// Value that was given.
        value: u32,
        /// The standard.
        standard: Standard,
        /// The most there can be.
        most: u32,
    },
    /// A burst that the standard does not have.
    #[error("burst_length = {value}: {standard} has {right}", right = lengths(*standard))]
    BurstLength {
        /// Value that was given.
        value: u32,
        /// The standard.
        standard: Standard,
    },
    /// A part that neither the grade nor the description says.
    #[error(
        "{parameter} is missing: {standard} alone is no speed grade, so all parts and figures are to be said; or take a grade of it, such as {nearest}"
    )]
    MissingPart {
        /// The parameter.
        parameter: &'static str,
        /// The standard.
        standard: Standard,
        /// A grade of it.
        nearest: &'static str,
    },
    /// A figure that neither the grade nor the description says.
    #[error("timing.{name} is missing: {grade} does not say it; give clocks or a time, such as \"13.75 ns\"")]
    MissingFigure {
        /// The figure.
        name: &'static str,
        /// The grade.
        grade: Grade,
    },
    /// A refresh that the standard does not have.
    #[error("refresh = \"bank\": {0} refreshes all banks at once; take refresh = \"all\"")]
    NoBankRefresh(Standard),
    /// Power-down of pseudo channels, which enter it together.
    #[error(
        "{0}: pseudo channels enter power-down and self refresh together, which is not modelled; leave it out"
    )]
    PseudoPowerDown(&'static str),
    /// A queue that holds nothing, or too much.
    #[error("{parameter} = {value}: a queue holds from 1 to 1024 bursts")]
    Queue {
        /// The parameter.
        parameter: &'static str,
        /// Value that was given.
        value: u32,
    },
    /// A count of clocks that must not be zero.
    #[error("{0} = 0: it is at least one clock; leave it out for none")]
    NoClocks(&'static str),
    /// Marks that contradict each other.
    #[error(
        "writes_low = {low}, writes_high = {high}: the low mark is below the high one, and that within write_queue = {queue}"
    )]
    Marks {
        /// The low mark.
        low: u32,
        /// The high mark.
        high: u32,
        /// The queue's size.
        queue: u32,
    },
    /// A mapping that does not fit.
    #[error("mapping = \"{text}\": {source}")]
    Mapping {
        /// Text that was given.
        text: String,
        /// Error of the mapping.
        source: MappingError,
    },
    /// A figure that no standard has.
    #[error("timing.{0}: there is no such figure; figures are {names}", names = Timing::NAMES.join(", "))]
    UnknownFigure(String),
    /// A figure that is none.
    #[error(
        "timing.{name} = {value}: a figure is a number of clocks up to 10 000 000, a time such as \"13.75 ns\", or a list of both, of which the greatest holds (tCK: picoseconds, or a time)"
    )]
    Figure {
        /// The figure.
        name: String,
        /// Value that was given.
        value: String,
    },
    /// Figures that contradict each other.
    #[error(transparent)]
    Contradictory(#[from] Contradiction),
    /// A controller slower than anything.
    #[error("latency = \"{0}\": at most 100 µs")]
    Latency(Time),
}

fn lengths(standard: Standard) -> String {
    standard.burst_lengths().iter().map(u32::to_string).collect::<Vec<_>>().join(" and ")
}

impl DramConfig {
    /// A DRAM of that grade, with the defaults for everything else.
    pub fn of(standard: Grade) -> DramConfig {
        DramConfig {
            standard,
            channels: None,
            pseudo_channels: None,
            ranks: None,
            data_bits: None,
            groups: None,
            banks: None,
            rows: None,
            columns: None,
            burst_length: None,
            mapping: default_mapping(),
            page: PagePolicy::default(),
            page_timer: default_page_timer(),
            scheduler: Scheduler::default(),
            overtake: default_overtake(),
            merge: true,
            read_queue: default_queue(),
            write_queue: default_queue(),
            writes_high: default_high(),
            writes_low: default_low(),
            age_limit: None,
            refresh: Refresh::default(),
            stagger: true,
            power_down: None,
            self_refresh: None,
            latency: default_latency(),
            timing: toml::Table::new(),
        }
    }

    /// Returns the organisation: the number of each part.
    pub fn organisation(&self) -> Result<Organisation, DramError> {
        let said = Parts {
            channels: self.channels,
            pseudo_channels: self.pseudo_channels,
            ranks: self.ranks,
            data_bits: self.data_bits,
            groups: self.groups,
            banks: self.banks,
            rows: self.rows,
            columns: self.columns,
            burst_length: self.burst_length,
        };
        let parts = said.or(self.standard.parts());
        let standard = self.standard.standard();
        let part = |parameter, part: Option<u32>| {
            let nearest = Grade::all().find(|grade| grade.standard() == standard).map_or("", Grade::name);
            part.ok_or(DramError::MissingPart { parameter, standard, nearest })
        };
        Ok(Organisation {
            channels: part("channels", parts.channels)?,
            pseudo_channels: part("pseudo_channels", parts.pseudo_channels)?,
            ranks: part("ranks", parts.ranks)?,
            data_bits: part("data_bits", parts.data_bits)?,
            groups: part("groups", parts.groups)?,
            banks: part("banks", parts.banks)?,
            rows: part("rows", parts.rows)?,
            columns: part("columns", parts.columns)?,
            burst_length: part("burst_length", parts.burst_length)?,
        })
    }

    /// Returns the grade's timing, with the figures that differ from it.
    pub fn timing(&self) -> Result<Timing, DramError> {
        if let Some(name) = self.timing.keys().find(|name| !Timing::NAMES.contains(&name.as_str())) {
            return Err(DramError::UnknownFigure(name.clone()));
        }
        let grade = self.standard;
        let value = |name: &str| self.timing.get(name).or_else(|| grade.figure(name));
        let wrong = |name: &str, value: &toml::Value| DramError::Figure {
            name: name.to_owned(),
            value: value.to_string(),
        };
        let missing = |name| DramError::MissingFigure { name, grade };
        let period = value("tCK").ok_or_else(|| missing("tCK"))?;
        let clock = figure::period(period).ok_or_else(|| wrong("tCK", period))?;
        // An interval is no longer than the standard's.
        let rounding =
            |name: &str| if name == "tREFI" { Rounding::Down } else { grade.standard().rounding() };
        let figure = |name: &str| match value(name) {
            Some(value) => figure::clocks(value, clock.max(1), rounding(name))
                .map(Some)
                .ok_or_else(|| wrong(name, value)),
            None => Ok(None),
        };
        // All that are said are right; what is missing may follow from others.
        for name in Timing::NAMES.iter().filter(|name| **name != "tCK") {
            figure(name)?;
        }
        let said = |name: &str| figure(name).ok().flatten();
        let burst = u64::from(self.organisation()?.burst_length / grade.standard().beats());
        let needs_power = self.power_down.is_some() || self.self_refresh.is_some();
        let follows = |name: &str| match name {
            "tCK" => Some(clock),
            "tBURST" => Some(burst),
            "tRC" => Some(said("tRAS")? + said("tRP")?),
            "tRCDWR" => said("tRCD"),
            "tRPab" => said("tRP"),
            "tCCD_L_WR" => said("tCCD_L"),
            "tRTW_L" => said("tRTW"),
            "tDQSCK" | "tDQSS" | "tWCKPST" => Some(0),
            "tCMDCKE" => Some(1),
            // Needed only where they have an effect.
            "tRFC" if self.refresh == Refresh::Off => Some(0),
            "tREFI" if self.refresh == Refresh::Off => Some(figure::MOST),
            "tRTRS" if self.ranks.unwrap_or(1) == 1 => Some(0),
            "tRFCpb" | "tpbR2act" | "tpbR2pbR" if self.refresh != Refresh::Bank => Some(0),
            "tCKE" | "tXP" if !needs_power => Some(0),
            "tCKESR" if self.self_refresh.is_none() => Some(0),
            "tXS" if self.self_refresh.is_none() => said("tRFC").or(Some(0)),
            "tXSDLL" => said("tXS").or_else(|| said("tRFC")).or(Some(0)),
            _ => None,
        };
        let timing =
            Timing::of(|name| if name == "tCK" { Some(clock) } else { said(name).or_else(|| follows(name)) })
                .map_err(missing)?;
        timing.check()?;
        self.check_bank_refresh(&timing)?;
        Ok(timing)
    }

    /// Refuses refreshes of banks that leave no time for accesses between them.
    fn check_bank_refresh(&self, timing: &Timing) -> Result<(), DramError> {
        if self.refresh != Refresh::Bank {
            return Ok(());
        }
        let (standard, of) = (self.standard.standard(), self.organisation()?);
        let refreshes = u64::from(standard.bank_refreshes(of.groups, of.banks));
        // With two banks or fewer, the one that is refreshed may be the one that is wanted each time.
        let busy = if refreshes <= 2 { timing.tRFCpb.max(timing.tpbR2pbR) } else { timing.tpbR2pbR };
        let least = (busy + timing.tRP + 2 * timing.tRC) * refreshes * standard.bank_refresh_rounds();
        let rule = "the refreshes of all banks, one after the other, each with tRP + 2 tRC";
        match timing.tREFI < least {
            true => Err(Contradiction { name: "tREFI", value: timing.tREFI, rule, least }.into()),
            false => Ok(()),
        }
    }

    /// The DRAM in one phrase for people.
    pub fn phrase(&self) -> String {
        let Ok(of) = self.organisation() else { return self.standard.to_string() };
        let several = |count: u32, part: &str| match count {
            1 => String::new(),
            _ => format!("{count} {part}s of "),
        };
        let plural = if of.channels == 1 { "" } else { "s" };
        format!(
            "{}, {} channel{plural} of {}{}{} bit, {}",
            self.standard,
            of.channels,
            several(of.pseudo_channels, "pseudo channel"),
            several(of.ranks, "rank"),
            of.data_bits,
            self.page
        )
    }

    /// Refuses what cannot be built.
    pub fn check(&self) -> Result<(), DramError> {
        let standard = self.standard.standard();
        let organisation = self.organisation()?;
        let value = organisation.burst_length;
        if !standard.burst_lengths().contains(&value) {
            return Err(DramError::BurstLength { value, standard });
        }
        let counts = [
            ("channels", organisation.channels, 1, 64),
            ("pseudo_channels", organisation.pseudo_channels, 1, 2),
            ("ranks", organisation.ranks, 1, 4),
            ("data_bits", organisation.data_bits, 8, 512),
            ("groups", organisation.groups, 1, 8),
            ("banks", organisation.banks, 1, 16),
            ("rows", organisation.rows, 1, 1 << 20),
            ("columns", organisation.columns, organisation.burst_length, 1 << 16),
        ];
        for (parameter, value, least, most) in counts {
            if !value.is_power_of_two() || !(least..=most).contains(&value) {
                return Err(DramError::Count { parameter, value, least, most });
            }
        }
        let limits = [
            ("ranks", organisation.ranks, standard.most_ranks()),
            ("pseudo_channels", organisation.pseudo_channels, standard.most_pseudo_channels()),
        ];
        for (parameter, value, most) in limits {
            if value > most {
                return Err(DramError::TooMany { parameter, value, standard, most });
            }
        }
        for (parameter, value) in [("read_queue", self.read_queue), ("write_queue", self.write_queue)] {
            if !(1..=1024).contains(&value) {
                return Err(DramError::Queue { parameter, value });
            }
        }
        let clocks = [
            ("page_timer", Some(self.page_timer)),
            ("age_limit", self.age_limit),
            ("power_down", self.power_down),
            ("self_refresh", self.self_refresh),
        ];
        if let Some((parameter, _)) = clocks.into_iter().find(|(_, clocks)| *clocks == Some(0)) {
            return Err(DramError::NoClocks(parameter));
        }
        let rests = [("power_down", self.power_down), ("self_refresh", self.self_refresh)];
        if let Some((parameter, _)) = rests.into_iter().find(|(_, clocks)| clocks.is_some())
            && standard.most_pseudo_channels() > 1
        {
            return Err(DramError::PseudoPowerDown(parameter));
        }
        let (low, high, queue) = (self.writes_low, self.writes_high, self.write_queue);
        if low >= high || high > queue {
            return Err(DramError::Marks { low, high, queue });
        }
        if self.latency > Time::us(100) {
            return Err(DramError::Latency(self.latency));
        }
        if self.refresh == Refresh::Bank && !standard.refreshes_banks() {
            return Err(DramError::NoBankRefresh(standard));
        }
        self.timing()?;
        self.address_mapping()?;
        Ok(())
    }

    /// Returns the mapping of addresses.
    pub fn address_mapping(&self) -> Result<Mapping, DramError> {
        let text = self.mapping.clone();
        Mapping::parse(&self.mapping, &self.organisation()?)
            .map_err(|source| DramError::Mapping { text, source })
    }
}
