//! Energy of a DRAM by its commands and its background, from the currents of a data sheet or from energies of them.
//!
//! Currents become energies as in Micron's TN-40-07 ("Calculating memory power for DDR4 SDRAM"): what a command takes is what its
//! current exceeds that of the background by, over the time for which the current is measured. Where a sheet measures IDD3N with all
//! banks open, one open bank is taken for its share of what IDD3N exceeds IDD2N by, in ACT's background and in the background itself,
//! as in DRAMPower.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use vp_models::memory::dram::{Background, CommandKind, DramActivity, DramConfig};
use vp_models::suggestion::hint;
use vp_models::toml_text::{TextError, TomlText};

use super::number::number;

/// Currents of a rail, in milliamperes a device, by their names in data sheets.
const CURRENTS: [&str; 12] = [
    "IDD0", "IDD2N", "IDD2P", "IDD3N", "IDD3P", "IDD4R", "IDD4W", "IDD5B", "IDD5R", "IDD5C", "IDD5PB", "IDD6",
];

/// Rails that a device may have.
const RAILS: [&str; 7] = ["VDD", "VDD1", "VDD2", "VDD2H", "VDD2L", "VDDQ", "VPP"];

/// Figures of a rank that take the place of what currents give: picojoules a command, and milliwatts of backgrounds.
const FIGURES: [&str; 10] = [
    "ACT",
    "RD",
    "WR",
    "REF",
    "REFB",
    "active_standby",
    "precharge_standby",
    "active_power_down",
    "precharge_power_down",
    "self_refresh",
];

/// Figures that are added: picojoules for each bit that is moved.
const BITS: [&str; 2] = ["read_bit", "write_bit"];

/// A current and one that it does not exceed.
const ORDER: [(&str, &str); 11] = [
    ("IDD2P", "IDD2N"),
    ("IDD2N", "IDD3N"),
    ("IDD2N", "IDD0"),
    ("IDD3P", "IDD3N"),
    ("IDD3N", "IDD4R"),
    ("IDD3N", "IDD4W"),
    ("IDD2N", "IDD5B"),
    ("IDD2N", "IDD5R"),
    ("IDD2N", "IDD5C"),
    ("IDD2N", "IDD5PB"),
    ("IDD5R", "IDD5B"),
];

/// A supply of a device.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rail {
    volts: f64,
    currents: BTreeMap<&'static str, f64>,
}

/// Figures of a file for the DRAM of a grade, or for all of a standard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DramRow {
    /// Document and table that the figures are from.
    pub source: String,
    /// Lines of the data bus that a device, of which the currents are, has.
    device_bits: Option<f64>,
    /// Megabits a second of a line at which IDD4R and IDD4W were measured; none: that of the timing in force.
    rate: Option<f64>,
    /// True if IDD3N is measured with one bank open, and not with all.
    has_one_open: bool,
    rails: BTreeMap<&'static str, Rail>,
    figures: BTreeMap<&'static str, f64>,
}

/// Reads the row of a file.
pub(super) struct RowReader<'a, 'text> {
    pub(super) text: &'a TomlText<'text>,
    /// Place of the row's name.
    pub(super) place: Range<usize>,
    /// Section of the row: `[dram.DDR4]`.
    pub(super) section: String,
    /// Rows that are built in, which a row may be based on.
    pub(super) known: fn() -> &'static BTreeMap<String, DramRow>,
}

/// Places of keys that stand in the text, by rail (of figures an empty one) and name.
type Places = HashMap<(&'static str, &'static str), Range<usize>>;

impl RowReader<'_, '_> {
    /// Reads a row.
    ///
    /// # Errors
    /// Says which line and key is wrong.
    pub(super) fn read(&self, table: &DeTable<'_>) -> Result<DramRow, TextError> {
        let mut row = DramRow::default();
        if let Some((_, base)) = table.get_key_value("base") {
            let known = (self.known)();
            let name = base.get_ref().as_str().unwrap_or_default();
            row = known.get(name).cloned().ok_or_else(|| {
                let names: Vec<&str> = known.keys().map(String::as_str).collect();
                let said = self.text.written(base.span());
                let near = hint(name, names.iter().copied());
                self.wrong(
                    base.span(),
                    format!("base = {said}: there is none built in{near}; there are {}", names.join(", ")),
                )
            })?;
        }
        let mut places = Places::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match (name, value.get_ref()) {
                ("base", _) => {}
                ("source", DeValue::String(source)) => row.source = source.to_string(),
                ("open_banks", DeValue::String(banks)) if ["one", "all"].contains(&banks.as_ref()) => {
                    row.has_one_open = banks == "one";
                }
                ("open_banks", _) => {
                    let right = "IDD3N is measured with \"one\" bank open, or with \"all\"";
                    return Err(self.said(name, value.span(), right));
                }
                ("device_bits", found) => {
                    let right = "the width of a device's data bus: a power of two from 4 to 128";
                    let bits = number(found)
                        .filter(|bits| bits.log2().fract() == 0.0 && (4.0..=128.0).contains(bits));
                    row.device_bits = Some(bits.ok_or_else(|| self.said(name, value.span(), right))?);
                }
                ("rate", found) => {
                    let right = "megabits a second of a line, from 1 to 100000";
                    let rate = number(found).filter(|rate| (1.0..=1e5).contains(rate));
                    row.rate = Some(rate.ok_or_else(|| self.said(name, value.span(), right))?);
                }
                (_, DeValue::Table(rail)) => match RAILS.into_iter().find(|rail| *rail == name) {
                    Some(known) => {
                        self.rail(known, rail, row.rails.entry(known).or_default(), &mut places)?;
                    }
                    None => {
                        let within = self.section.clone();
                        return Err(TextError { within, ..self.unknown(name, key.span(), &RAILS) });
                    }
                },
                (_, found) => {
                    let all = || FIGURES.into_iter().chain(BITS);
                    let Some(known) = all().find(|figure| *figure == name) else {
                        let others = ["base", "source", "device_bits", "rate", "open_banks"];
                        let keys: Vec<&str> = others.into_iter().chain(RAILS).chain(all()).collect();
                        return Err(self.unknown(name, key.span(), &keys));
                    };
                    let is_power =
                        known.contains("standby") || known.contains("down") || known == "self_refresh";
                    let right = match (is_power, BITS.contains(&known)) {
                        (true, _) => "milliwatts of a rank, from 0 to 1e9",
                        (_, true) => "picojoules a bit, from 0 to 1e9",
                        _ => "picojoules a command to a rank, from 0 to 1e9",
                    };
                    let figure = number(found).filter(|figure| (0.0..=1e9).contains(figure));
                    row.figures.insert(known, figure.ok_or_else(|| self.said(name, value.span(), right))?);
                }
            }
        }
        self.check(&row, &places)?;
        Ok(row)
    }

    fn rail(
        &self,
        name: &'static str,
        table: &DeTable<'_>,
        rail: &mut Rail,
        places: &mut Places,
    ) -> Result<(), TextError> {
        for (key, value) in table {
            let (written, found) = (key.get_ref().as_ref(), number(value.get_ref()));
            if written == "volts" {
                let right = "from 0.1 to 5 V";
                let volts = found.filter(|volts| (0.1..=5.0).contains(volts));
                rail.volts = volts.ok_or_else(|| self.said(written, value.span(), right))?;
                places.insert((name, "volts"), key.span());
                continue;
            }
            let Some(known) = CURRENTS.into_iter().find(|current| *current == written) else {
                let keys: Vec<&str> = ["volts"].into_iter().chain(CURRENTS).collect();
                return Err(self.unknown(written, key.span(), &keys));
            };
            let right = "milliamperes of a device, from 0 to 100000";
            let current = found.filter(|current| (0.0..=1e5).contains(current));
            rail.currents.insert(known, current.ok_or_else(|| self.said(written, value.span(), right))?);
            places.insert((name, known), key.span());
        }
        Ok(())
    }

    /// Refuses a row that lacks something, or contradicts itself.
    fn check(&self, row: &DramRow, places: &Places) -> Result<(), TextError> {
        let missing = |what: &str| self.wrong(self.place.clone(), format!("{what} is missing"));
        if row.source.is_empty() {
            return Err(missing("source, the document that the figures are from,"));
        }
        for (name, rail) in &row.rails {
            for (key, said) in [("volts", rail.volts > 0.0), ("IDD2N", rail.currents.contains_key("IDD2N"))] {
                if !said {
                    return Err(missing(&format!("{name}.{key}")));
                }
            }
            for (less, more) in ORDER {
                let of = |key| rail.currents.get(key).copied();
                if let (Some(least), Some(most)) = (of(less), of(more))
                    && least > most
                {
                    let place = [more, less].iter().find_map(|key| places.get(&(*name, *key)));
                    let place = place.unwrap_or(&self.place).clone();
                    let why = format!(
                        "{more} = {most}: it is at least {less} = {least} of {name}, which it contains"
                    );
                    return Err(self.wrong(place, why));
                }
            }
        }
        if !row.rails.is_empty() && row.device_bits.is_none() {
            return Err(missing("device_bits, the width of a device,"));
        }
        // Each is a figure, or follows from a current of some rail.
        let needed: [(&str, &[&str], Option<&str>); 6] = [
            ("ACT", &["IDD0"], None),
            ("RD", &["IDD4R"], Some("read_bit")),
            ("WR", &["IDD4W"], Some("write_bit")),
            ("REF", &["IDD5B", "IDD5R"], None),
            ("active_standby", &["IDD3N"], None),
            ("precharge_standby", &["IDD2N"], None),
        ];
        for (figure, currents, bit) in needed {
            let has = |rail: &Rail| currents.iter().any(|current| rail.currents.contains_key(current));
            let is_said =
                row.figures.contains_key(figure) || bit.is_some_and(|bit| row.figures.contains_key(bit));
            if !is_said && !row.rails.values().any(has) {
                let bit = bit.map(|bit| format!(", or {bit}")).unwrap_or_default();
                return Err(missing(&format!("{} of a rail, or {figure}{bit},", currents.join(" or "))));
            }
        }
        Ok(())
    }

    fn wrong(&self, place: Range<usize>, why: String) -> TextError {
        self.text.wrong_at(place, why)
    }

    fn said(&self, name: &str, value: Range<usize>, right: &str) -> TextError {
        let said = self.text.written(value.clone());
        self.wrong(value, format!("{name} = {said}: {right}"))
    }

    fn unknown(&self, name: &str, place: Range<usize>, keys: &[&str]) -> TextError {
        let near = hint(name, keys.iter().copied());
        self.wrong(place, format!("has no `{name}`{near}; it has {}", keys.join(", ")))
    }
}

/// Energies of commands to a rank (or pseudo channel), and powers of its backgrounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DramEnergies {
    /// An ACT with its PRE, in picojoules.
    pub activate: f64,
    /// A read of a burst.
    pub read: f64,
    /// A write of a burst.
    pub write: f64,
    /// A refresh of all banks.
    pub refresh: f64,
    /// A refresh of one bank, or of a bank of each group.
    pub refresh_bank: f64,
    /// Power of each background, in milliwatts, in the order of [`Background::ALL`].
    pub backgrounds: [f64; Background::COUNT],
    /// Power of each open bank beside that of active standby, in milliwatts.
    pub open_bank: f64,
}

impl DramRow {
    /// Returns the energies of a DRAM; none if there is no such DRAM.
    pub fn energies(&self, config: &DramConfig) -> Option<DramEnergies> {
        let (of, timing) = (config.organisation().ok()?, config.timing().ok()?);
        let nanoseconds = |clocks: u64| clocks as f64 * timing.tCK as f64 / 1e3;
        let (banks, standard) = (of.unit_banks(), config.standard.standard());
        // Of banks, in the interval of all banks.
        let refreshes =
            f64::from(standard.bank_refreshes(of.groups, of.banks)) * standard.bank_refresh_rounds() as f64;
        let burst = match self.rate {
            Some(rate) => f64::from(of.burst_length) / rate * 1e3,
            None => nanoseconds(timing.tBURST),
        };
        let (cycle, row_open, interval) =
            (nanoseconds(timing.tRC), nanoseconds(timing.tRAS), nanoseconds(timing.tREFI));
        let mut energies = DramEnergies::default();
        for rail in self.rails.values() {
            let current = |name: &str| rail.currents.get(name).copied();
            let idle = current("IDD2N").unwrap_or(0.0);
            let active = current("IDD3N").unwrap_or(idle);
            // Of one bank, and of what is open beside it.
            let (one, each) = match self.has_one_open {
                true => (active, 0.0),
                false => (idle + (active - idle) / f64::from(banks), (active - idle) / f64::from(banks)),
            };
            // Milliamperes times volts times nanoseconds are picojoules.
            let volts = rail.volts * self.device_bits.map_or(1.0, |bits| f64::from(of.data_bits) / bits);
            let over = |name: &str, background: f64, time: f64| {
                current(name).map_or(0.0, |current| volts * (current - background) * time)
            };
            if let Some(current) = current("IDD0") {
                let background = one * row_open + idle * (cycle - row_open);
                energies.activate += (volts * (current * cycle - background)).max(0.0);
            }
            energies.read += over("IDD4R", active, burst);
            energies.write += over("IDD4W", active, burst);
            energies.refresh += match current("IDD5B") {
                Some(_) => over("IDD5B", idle, nanoseconds(timing.tRFC)),
                None => over("IDD5R", idle, interval),
            };
            energies.refresh_bank += match current("IDD5C") {
                Some(_) => over("IDD5C", idle, nanoseconds(timing.tRFCpb)),
                None => over("IDD5PB", idle, interval / refreshes),
            };
            let down = current("IDD2P").unwrap_or(idle);
            let with_open = if self.has_one_open { active } else { idle };
            let powers = Background::ALL.map(|background| match background {
                Background::ActiveStandby => with_open,
                Background::PrechargeStandby => idle,
                Background::ActivePowerDown => current("IDD3P").unwrap_or(active),
                Background::PrechargePowerDown => down,
                Background::SelfRefresh => current("IDD6").unwrap_or(down),
            });
            energies.backgrounds.iter_mut().zip(powers).for_each(|(sum, power)| *sum += volts * power);
            energies.open_bank += volts * each;
        }
        self.put_figures(&mut energies, f64::from(of.burst_bytes()) * 8.0);
        let has_bank = self.figures.contains_key("REFB")
            || self
                .rails
                .values()
                .any(|rail| ["IDD5C", "IDD5PB"].iter().any(|key| rail.currents.contains_key(key)));
        if !has_bank {
            energies.refresh_bank = energies.refresh / refreshes;
        }
        Some(energies)
    }

    /// Puts the figures of the row in place of what currents give.
    fn put_figures(&self, energies: &mut DramEnergies, bits: f64) {
        let figure = |name: &str| self.figures.get(name).copied();
        let commands = [
            ("ACT", &mut energies.activate),
            ("RD", &mut energies.read),
            ("WR", &mut energies.write),
            ("REF", &mut energies.refresh),
            ("REFB", &mut energies.refresh_bank),
        ];
        for (name, energy) in commands {
            *energy = figure(name).unwrap_or(*energy);
        }
        energies.read += figure("read_bit").unwrap_or(0.0) * bits;
        energies.write += figure("write_bit").unwrap_or(0.0) * bits;
        if figure("active_standby").is_some() {
            energies.open_bank = 0.0;
        }
        // Without rails, power-down that is not said saves nothing.
        let standby = |background: Background| match background {
            Background::ActivePowerDown => figure("active_standby"),
            Background::PrechargePowerDown | Background::SelfRefresh => figure("precharge_standby"),
            _ => None,
        };
        for (background, power) in Background::ALL.into_iter().zip(&mut energies.backgrounds) {
            let said = figure(background.name());
            let follows = if self.rails.is_empty() { standby(background) } else { None };
            *power = said.or(follows).unwrap_or(*power);
        }
    }
}

impl DramEnergies {
    /// Returns what an activity takes, in picojoules: by command, and by background.
    pub fn parts(&self, activity: &DramActivity) -> Vec<(&'static str, f64)> {
        let of = |kinds: &[CommandKind], energy: f64| {
            kinds.iter().map(|kind| activity.commands(*kind)).sum::<u64>() as f64 * energy
        };
        // Milliwatts times picoseconds are thousandths of picojoules.
        let background = |background: Background| {
            let power = self.backgrounds[background as usize] / 1e3;
            let open = match background {
                Background::ActiveStandby => activity.open_banks().as_ps() as f64 * self.open_bank / 1e3,
                _ => 0.0,
            };
            (background.name(), activity.background(background).as_ps() as f64 * power + open)
        };
        use CommandKind::{Activate, Read, ReadPrecharge, Refresh, RefreshBank, Write, WritePrecharge};
        let commands = [
            ("ACT", of(&[Activate], self.activate)),
            ("RD", of(&[Read, ReadPrecharge], self.read)),
            ("WR", of(&[Write, WritePrecharge], self.write)),
            ("REF", of(&[Refresh], self.refresh)),
            ("REFB", of(&[RefreshBank], self.refresh_bank)),
        ];
        commands.into_iter().chain(Background::ALL.map(background)).collect()
    }

    /// Returns what an activity takes altogether, in picojoules.
    pub fn total(&self, activity: &DramActivity) -> f64 {
        self.parts(activity).iter().map(|(_, energy)| energy).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Coefficients;
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;
    use vp_core::Time;
    use vp_models::memory::dram::Grade;

    fn config(grade: &str) -> DramConfig {
        DramConfig::of(grade.parse().unwrap())
    }

    fn built_in(grade: &str) -> DramEnergies {
        let (coefficients, config) = (Coefficients::default(), config(grade));
        coefficients.dram(&config).unwrap().1.energies(&config).unwrap()
    }

    fn row(text: &str) -> Result<DramRow, String> {
        let text = format!("base = 'default'\n[dram.mine]\n{text}");
        let read =
            Coefficients::parse(&text).map_err(|error| error.in_file(Path::new("mine.toml")).to_string());
        read.map(|all| all.drams["mine"].clone())
    }

    fn is_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-3, "{found}, expected {expected}");
    }

    /// Eight devices of Micron's sheet; tRC, tRAS 55 and 39 clocks of 0.833 ns, a burst 3.333 ns at 2400 Mb/s.
    #[test]
    fn ddr4s_energies_are_those_of_the_data_sheets_currents() {
        let of = built_in("DDR4-2400R");
        // One bank of 16: 34 + 9 / 16 mA.
        is_near(of.activate, 8.0 * 1.2 * (48.0 * 45.815 - 34.5625 * 32.487 - 34.0 * 13.328));
        is_near(of.read, 8.0 * 1.2 * (135.0 - 43.0) * 3.3333);
        is_near(of.write, 8.0 * 1.2 * (123.0 - 43.0) * 3.3333);
        is_near(of.refresh, 8.0 * 1.2 * (53.0 - 34.0) * 9363.0 * 0.833);
        let vpp = 8.0 * 2.5 * 3.0;
        is_near(of.backgrounds[Background::PrechargeStandby as usize], 8.0 * 1.2 * 34.0 + vpp);
        is_near(of.backgrounds[Background::PrechargePowerDown as usize], 8.0 * 1.2 * 25.0 + vpp);
        is_near(of.open_bank * 16.0, 8.0 * 1.2 * 9.0);
        // Two rows opened, four reads, a write, a refresh; 100 ns with two banks open, 300 ns with none.
        let mut activity = DramActivity::default();
        for (kind, count) in [
            (CommandKind::Activate, 2),
            (CommandKind::Read, 3),
            (CommandKind::ReadPrecharge, 1),
            (CommandKind::Write, 1),
            (CommandKind::Precharge, 1),
            (CommandKind::Refresh, 1),
        ] {
            activity.add_commands(kind, count);
        }
        activity.add_background(Background::ActiveStandby, Time::ns(100), 2);
        activity.add_background(Background::PrechargeStandby, Time::ns(300), 0);
        // 2 x 5.982 + 4 x 2.944 + 2.56 + 1422.6 nJ, and 400 ns of 386.4 mW, and 100 ns of two banks with 5.4 mW each.
        is_near(
            of.total(&activity),
            2.0 * 5_982.2 + 4.0 * 2_944.0 + 2_560.0 + 1_422_620.0 + 154_560.0 + 1_080.0,
        );
    }

    /// Returns the power of a DRAM, in milliwatts, that takes this current of each rail, or the first of the others that it says.
    fn power_of(config: &DramConfig, names: [&str; 3]) -> f64 {
        let coefficients = Coefficients::default();
        let row = coefficients.dram(config).unwrap().1;
        let devices = f64::from(config.organisation().unwrap().data_bits) / row.device_bits.unwrap();
        let current = |rail: &Rail| names.iter().find_map(|name| rail.currents.get(name).copied()).unwrap();
        row.rails.values().map(|rail| rail.volts * devices * current(rail)).sum()
    }

    /// Power in a time, in milliwatts.
    fn power(energies: &DramEnergies, activity: &DramActivity, time: Time) -> f64 {
        energies.total(activity) / time.as_ps() as f64 * 1e3
    }

    /// A row is open for tRAS in each tRC with IDD0, and a burst follows the other with IDD4R and IDD4W.
    #[test]
    fn the_loops_with_which_currents_are_measured_take_them() {
        for grade in ["DDR4-2400R", "DDR4-3200AA", "DDR5-4800B", "LPDDR4-3200", "HBM2E-3200", "HBM3-6400"] {
            let (energies, config) = (built_in(grade), config(grade));
            let timing = config.timing().unwrap();
            let (cycle, open) = (Time::ps(timing.tRC * timing.tCK), Time::ps(timing.tRAS * timing.tCK));
            let mut activity = DramActivity::default();
            activity.add_commands(CommandKind::Activate, 1);
            activity.add_background(Background::ActiveStandby, open, 1);
            activity.add_background(Background::PrechargeStandby, cycle - open, 0);
            let (found, expected) =
                (power(&energies, &activity, cycle), power_of(&config, ["IDD0", "IDD2N", "IDD2N"]));
            assert!((found / expected - 1.0).abs() < 0.01, "{grade}: IDD0: {found} mW, {expected}");
            // At 1200 Mb/s, where this row was measured.
            let burst = Time::ps(if grade == "HBM2E-3200" { 3333 } else { timing.tBURST * timing.tCK });
            for (kind, current) in [(CommandKind::Read, "IDD4R"), (CommandKind::Write, "IDD4W")] {
                let mut activity = DramActivity::default();
                activity.add_commands(kind, 1);
                let banks = config.organisation().unwrap().unit_banks();
                activity.add_background(Background::ActiveStandby, burst, banks.into());
                let (found, expected) =
                    (power(&energies, &activity, burst), power_of(&config, [current, "IDD3N", "IDD2N"]));
                assert!((found / expected - 1.0).abs() < 0.01, "{grade}: {current}: {found} mW, {expected}");
            }
        }
    }

    #[test]
    fn every_grade_has_a_row_with_its_source_and_no_energy_is_negative() {
        for grade in Grade::all() {
            let (coefficients, config) = (Coefficients::default(), DramConfig::of(grade));
            let (_, row) = coefficients.dram(&config).unwrap_or_else(|| panic!("{grade}"));
            assert!(row.source.contains(|it: char| it.is_ascii_digit()), "{}", row.source);
            let of = row.energies(&config).unwrap();
            let all = [of.activate, of.read, of.write, of.refresh, of.refresh_bank];
            assert!(all.into_iter().chain(of.backgrounds).all(|energy| energy > 0.0), "{grade}: {of:?}");
        }
    }

    proptest! {
        #[test]
        fn the_whole_is_the_sum_of_commands_and_backgrounds(
            counts in prop::array::uniform14(0_u64..1_000_000),
            times in prop::array::uniform5((0_u64..1_000_000_000, 0_u64..16)),
        ) {
            let energies = built_in("LPDDR4-3200");
            let (mut whole, mut sum) = (DramActivity::default(), 0.0);
            for (kind, count) in CommandKind::ALL.into_iter().zip(counts) {
                let mut one = DramActivity::default();
                one.add_commands(kind, count);
                sum += energies.total(&one);
                whole += one;
            }
            for (background, (time, open)) in Background::ALL.into_iter().zip(times) {
                let mut one = DramActivity::default();
                one.add_background(background, Time::ps(time), open);
                sum += energies.total(&one);
                whole += one;
            }
            prop_assert!((energies.total(&whole) - sum).abs() <= 1e-9 * sum);
        }
    }

    #[test]
    fn a_users_row_is_whole_or_starts_from_a_built_in_one() {
        let energies = |text: &str| row(text).unwrap().energies(&config("DDR4-2400R")).unwrap();
        let figures = "source = 'ours'\nACT = 100\nread_bit = 2\nWR = 30\nREF = 1000\nactive_standby = 50\nprecharge_standby = 40\n";
        let of = energies(figures);
        assert_eq!(
            (of.activate, of.read, of.write, of.refresh, of.refresh_bank),
            (100.0, 1024.0, 30.0, 1000.0, 62.5)
        );
        assert_eq!((of.backgrounds, of.open_bank), ([50.0, 40.0, 50.0, 40.0, 40.0], 0.0));
        let changed = energies("base = 'DDR4'\nVDD.IDD4R = 89\nWR = 7\n");
        is_near(changed.read, built_in("DDR4-2400R").read / 2.0);
        assert_eq!((changed.write, changed.activate), (7.0, built_in("DDR4-2400R").activate));
        // A byte that the user prices goes before the built-in rows, and his own row before that.
        let of = |text: &str| {
            let all = Coefficients::parse(&format!("base = 'default'\n{text}")).unwrap();
            all.dram(&config("DDR4-2400R")).map(|(name, _)| name.to_owned())
        };
        assert_eq!(of(""), Some("DDR4".to_owned()));
        assert_eq!(of("memory.dram = 40"), None);
        let own = "memory.dram = 40\n[dram.'DDR4-2400R']\nbase = 'DDR4'";
        assert_eq!(of(own), Some("DDR4-2400R".to_owned()));
    }

    #[test]
    fn refusals_name_file_line_and_key() {
        let refused = |text: &str| row(text).unwrap_err();
        assert_eq!(
            refused("base = 'DDR4'\n[dram.mine.VDD]\nIDD4R = 40"),
            "mine.toml:5: [dram.mine.VDD] IDD4R = 40: it is at least IDD3N = 43 of VDD, which it contains"
        );
        assert_eq!(
            refused("base = 'DDR4'\nVDD.IDD3N = 30"),
            "mine.toml:4: [dram.mine.VDD] IDD3N = 30: it is at least IDD2N = 34 of VDD, which it contains"
        );
        assert_eq!(
            refused("base = 'DDR4'\n\nrate = 'fast'"),
            "mine.toml:5: [dram.mine] rate = 'fast': megabits a second of a line, from 1 to 100000"
        );
        assert_eq!(
            refused("base = 'DDR4'\nVDD.volts = 12"),
            "mine.toml:4: [dram.mine.VDD] volts = 12: from 0.1 to 5 V"
        );
        assert!(
            refused("base = 'DDR44'").starts_with(
                "mine.toml:3: [dram.mine] base = 'DDR44': there is none built in; nearest: DDR4"
            ),
            "{}",
            refused("base = 'DDR44'")
        );
        assert!(
            refused("base = 'DDR4'\nVDD.IDD4 = 1")
                .starts_with("mine.toml:4: [dram.mine.VDD] has no `IDD4`; nearest: IDD")
        );
        let rail = refused("base = 'DDR4'\nVDD3.IDD0 = 1");
        assert!(rail.starts_with("mine.toml:4: [dram.mine] has no `VDD3`; nearest: VDD"), "{rail}");
        assert_eq!(
            refused("ACT = 1"),
            "mine.toml:2: [dram.mine] source, the document that the figures are from, is missing"
        );
        assert_eq!(
            refused("source = 'x'\nACT = 1"),
            "mine.toml:2: [dram.mine] IDD4R of a rail, or RD, or read_bit, is missing"
        );
        assert!(
            refused("source = 'x'\nVDD = { volts = 1, IDD2N = 1 }")
                .contains("device_bits, the width of a device, is missing")
        );
    }
}
