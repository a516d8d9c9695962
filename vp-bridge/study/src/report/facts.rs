//! Facts that the numbers rest on: the platforms and networks that were run, and how far their model is proven.

use super::cells::{Cells, rounded_whole, strings, table};
use super::page::Page;
use crate::bench::Job;
use crate::measured::Measured;
use crate::networks::{NetworkFacts, WeightSource};
use crate::point::text;
use crate::rtl::modes::Mode;
use crate::rtl::proven::{self, Evidence};
use crate::wording::rounded;
use crate::wording::{Unit, short};
use maud::{Markup, html};
use vp_host::network::{PlanOptions, Winograd};
use vp_models::bus::axi::Latency;
use vp_models::nvdla::numeric::Precision;
use vp_models::platform::Description;

impl Page<'_> {
    /// The platforms and the networks, a row each.
    pub(super) fn facts(&self) -> Markup {
        let mut notes =
            vec!["Results are not computed, as no time depends on them; inputs are zeros.".to_owned()];
        if self.jobs().any(|job| !job.network.cpu.is_empty()) {
            notes.push("What the CPU does takes no simulated time.".to_owned());
        }
        if self.jobs().any(|job| job.network.weights != WeightSource::Files) {
            notes.push("Made-up weights have the shapes of the network's, and random values.".to_owned());
        }
        notes.extend(self.winograd_note());
        html! {
            (table(&self.platform_cells()))
            (table(&self.network_cells()))
            p.notes { (notes.join(" ")) }
        }
    }

    fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.rows.iter().filter_map(|row| row.job)
    }

    fn platform_cells(&self) -> Cells {
        let mut names: Vec<String> = Vec::new();
        for name in self.jobs().map(|job| job.point.platform()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let row = |name: &String| {
            let jobs: Vec<&Job> = self.jobs().filter(|job| job.point.platform() == *name).collect();
            let of =
                |one: &dyn Fn(&Description) -> String| range(jobs.iter().map(|job| one(&job.description)));
            vec![
                name.clone(),
                of(&|it| {
                    it.nvdla().map_or_else(String::new, |nvdla| rounded_whole(nvdla.config.macs().into()))
                }),
                of(&|it| {
                    it.nvdla().map_or_else(String::new, |it| (it.config.cbuf_bytes() / 1024).to_string())
                }),
                of(&|it| {
                    let width = it.nvdla().map(|nvdla| nvdla.config.primary().width_bytes * 8);
                    width.map_or_else(String::new, |bits| bits.to_string())
                }),
                of(&|it| plain_number(1e6 / it.period.as_ps().max(1) as f64)),
                of(&memory),
                of(&bandwidth),
                of(&|it| it.dbb0.read_outstanding.to_string()),
                self.sram(&jobs),
                agreement(&jobs),
            ]
        };
        let header = strings([
            "platform",
            "MACs a cycle",
            "buffer, KiB",
            "DBBIF, bit",
            "clock, MHz",
            "read latency",
            "bandwidth",
            "reads outstanding at most",
            "SRAM",
            "agreement with the RTL",
        ]);
        let cells: (Vec<String>, Vec<Vec<String>>) = (header, names.iter().map(row).collect());
        without_empty(cells)
    }

    /// The SRAM of points that keep something in it: how large, how fast.
    fn sram(&self, jobs: &[&Job]) -> String {
        let is_used = |job: &&&Job| self.of(job.point.number).is_some_and(|measured| measured.sram_bytes > 0);
        let srams = || jobs.iter().filter(is_used).map(|job| &job.description.sram0);
        let span = |unit: Unit, all: Vec<f64>| {
            let (least, most) =
                all.iter().fold((f64::MAX, 0.0_f64), |ends, it| (ends.0.min(*it), ends.1.max(*it)));
            match all.is_empty() {
                true => None,
                false if least == most => Some(unit.said(most)),
                false => Some(format!("{} to {}", unit.said(least), unit.said(most))),
            }
        };
        let sizes = span(Unit::Bytes, srams().map(|sram| sram.size as f64).collect());
        let rates = span(Unit::Rate, srams().filter_map(|sram| sram.bandwidth).map(|it| it as f64).collect());
        let copied = jobs.iter().filter_map(|job| self.of(job.point.number)).map(Measured::copied_per_frame);
        let copied = span(Unit::Bytes, copied.filter(|bytes| *bytes > 0.0).collect());
        let copied = copied.map(|bytes| format!("{bytes} a frame copied by BDMA"));
        sizes.into_iter().chain(rates).chain(copied).collect::<Vec<_>>().join(", ")
    }

    fn network_cells(&self) -> Cells {
        let mut networks: Vec<(String, Vec<&NetworkFacts>)> = Vec::new();
        for job in self.jobs() {
            let (name, facts) = (job.point.get("network").map_or_else(String::new, text), &job.network);
            match networks.iter_mut().find(|(known, _)| *known == name) {
                Some((_, all)) if all.contains(&facts) => {}
                Some((_, all)) => all.push(facts),
                None => networks.push((name, vec![facts])),
            }
        }
        let is_plain =
            networks.iter().flat_map(|(_, all)| all).all(|facts| facts.winograd == Winograd::Never);
        let row = |(name, all): &(String, Vec<&NetworkFacts>)| {
            let of = |one: &dyn Fn(&NetworkFacts) -> String| range(all.iter().map(|facts| one(facts)));
            vec![
                name.clone(),
                of(&|facts| facts.layers.to_string()),
                of(&|facts| format!("{}\u{202f}M", rounded(facts.macs as f64 / 1e6))),
                of(&|facts| facts.precision.to_string()),
                match all.iter().any(|facts| facts.zeros.is_some()) {
                    true => of(&|facts| Unit::Share.said(facts.zeros.unwrap_or(0.0))),
                    false => String::new(),
                },
                of(&|facts| if is_plain { String::new() } else { winograd(facts.winograd).to_owned() }),
                self.placements(name),
                of(&|facts| weights(facts.weights).to_owned()),
                of(&|facts| if facts.cpu.is_empty() { "none".to_owned() } else { facts.cpu.join(", ") }),
            ]
        };
        let header = strings([
            "network",
            "layers",
            "MACs a frame",
            "precision",
            "zeros among weights",
            "Winograd",
            "placement",
            "weights",
            "layers of the CPU, in no time",
        ]);
        without_empty((header, networks.iter().map(row).collect()))
    }

    /// Returns what points of a network keep in SRAM; empty where there is none.
    fn placements(&self, network: &str) -> String {
        let own = self.jobs().filter(|job| job.point.network().is_ok_and(|name| name == network));
        range(own.map(placement).filter(|placement| !placement.is_empty()))
    }

    /// Differences of results where Winograd's method may compute a layer. `networks/README.md`, "Winograd's method", has where the
    /// figures are from.
    fn winograd_note(&self) -> Option<String> {
        let has_it = |job: &&Job| {
            let is_built = job.description.nvdla().is_some_and(|nvdla| nvdla.config.winograd);
            is_built && job.network.winograd != Winograd::Never
        };
        let used: Vec<Precision> = self.jobs().filter(has_it).map(|job| job.network.precision).collect();
        let figures = [(Precision::Int8, "2.4 %"), (Precision::Int16, "0.01 %"), (Precision::Fp16, "0.07 %")];
        let figures = figures.into_iter().filter(|(precision, _)| used.contains(precision));
        let figures: Vec<String> =
            figures.map(|(precision, figure)| format!("{precision} {figure}")).collect();
        (!figures.is_empty()).then(|| {
            format!(
                "Layers by Winograd's method have other results than by the direct one. The root mean square of the difference, measured against the direct method \
                 with a layer of 70 channels and made-up weights, is of what the layer makes: {}.",
                figures.join(", ")
            )
        })
    }
}

fn weights(source: WeightSource) -> &'static str {
    match source {
        WeightSource::Files => "from files",
        WeightSource::MadeUp => "made up",
        WeightSource::Mixed => "some made up, some from files",
    }
}

fn winograd(choice: Winograd) -> &'static str {
    match choice {
        Winograd::Never => "never",
        Winograd::Auto => "where it is estimated to be faster",
        Winograd::Always => "always",
    }
}

/// Returns what a point keeps in SRAM beside what its network's file demands there; empty where there is no SRAM.
fn placement(job: &Job) -> String {
    let PlanOptions { placement, sram_limit, copies, .. } = job.options;
    if job.description.nvdla().is_none_or(|nvdla| !nvdla.config.secondary_memory) {
        return String::new();
    }
    let limit = sram_limit.map(|limit| format!("at most {}", Unit::Bytes.said(limit as f64)));
    let copies = copies.map(|copies| format!("copies {copies}"));
    std::iter::once(placement.to_string()).chain(limit).chain(copies).collect::<Vec<_>>().join(", ")
}

/// A table without columns in which nothing stands.
fn without_empty((header, rows): Cells) -> Cells {
    let shown: Vec<bool> = (0..header.len())
        .map(|at| rows.iter().any(|row| row.get(at).is_some_and(|it| !it.is_empty())))
        .collect();
    let kept = |row: Vec<String>| row.into_iter().zip(&shown).filter(|it| *it.1).map(|it| it.0).collect();
    (kept(header), rows.into_iter().map(kept).collect())
}

/// Returns how long a read takes, as far as a number says it.
fn memory(description: &Description) -> String {
    let phrase = description.dbb0.model.phrase();
    match (phrase, description.dbb_latency()) {
        (Some(phrase), _) if description.dbb0.model.has_own_time() => phrase,
        (phrase, latency) => {
            let own = match latency {
                Latency::Fixed(cycles) => format!("{cycles} cycles"),
                Latency::Drawn(_) => "drawn".to_owned(),
            };
            phrase.map_or_else(|| own.clone(), |phrase| format!("{own}, {phrase}"))
        }
    }
}

fn bandwidth(description: &Description) -> String {
    match description.dbb0.bandwidth {
        Some(rate) => format!("{}B/s", short(rate as f64)),
        None if description.dbb0.model.has_own_time() => "the memory's own".to_owned(),
        None => {
            let width = description.nvdla().map_or(0, |nvdla| nvdla.config.primary().width_bytes);
            format!(
                "{}B/s, the bus's",
                short(f64::from(width) * 1e12 / description.period.as_ps().max(1) as f64)
            )
        }
    }
}

/// Says how far the cycles of what runs here were compared with the RTL's: of the ways through the hardware that its layers go.
fn agreement(jobs: &[&Job]) -> String {
    let mut devices: Vec<&Job> = Vec::new();
    for job in jobs {
        if !devices.iter().any(|known| known.description.device == job.description.device) {
            devices.push(job);
        }
    }
    let is_used = |mode: Mode| jobs.iter().any(|job| job.network.modes.contains(&mode));
    let mut all: Vec<String> = Vec::new();
    for said in devices.into_iter().map(|job| agreement_of(&job.description, is_used)) {
        if !all.contains(&said) {
            all.push(said);
        }
    }
    all.join("; of another configuration: ")
}

fn agreement_of(description: &Description, is_used: impl Fn(Mode) -> bool) -> String {
    let Some(held) = proven::of(description) else { return "not an NVDLA".to_owned() };
    let used: Vec<(Mode, Evidence)> = held.into_iter().filter(|(mode, _)| is_used(*mode)).collect();
    // A format is no way of its own: its runs are those of the others, too.
    let ways = || used.iter().filter(|(mode, _)| !matches!(mode, Mode::Int16 | Mode::Float16));
    let rows: usize = ways().map(|(_, evidence)| evidence.rows).sum();
    let exact: usize = ways().map(|(_, evidence)| evidence.exact).sum();
    let farthest = used.iter().map(|(_, evidence)| evidence.largest).max().unwrap_or(0);
    let without: Vec<&str> =
        used.iter().filter(|(_, evidence)| evidence.rows == 0).map(|(mode, _)| mode.name()).collect();
    if rows == 0 {
        return "nothing of this configuration was measured: cycles follow from its parameters".to_owned();
    }
    let mut said = format!(
        "{exact} of {rows} runs take the same cycles, the farthest {:.2} % off",
        farthest as f64 / 1e4
    );
    if !without.is_empty() {
        said += &format!("; not measured: {}", without.join(", "));
    }
    said
}

/// A number, whole if it is.
fn plain_number(number: f64) -> String {
    if (number - number.round()).abs() < 1e-6 { format!("{number:.0}") } else { format!("{number:.1}") }
}

/// Texts in one: each once, what stands behind all numbers once, and of many numbers the least and the most.
fn range(texts: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    let parts: Option<Vec<(f64, &str, &str)>> = all.iter().map(|text| parted(text)).collect();
    let mut parts = match parts {
        Some(parts) if all.len() > 1 && parts.iter().all(|it| it.2 == parts[0].2) => parts,
        _ if all.len() <= 3 => return listed(&all),
        _ => return "varies".to_owned(),
    };
    parts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let unit = parts[0].2;
    let numbers: Vec<&str> = parts.iter().map(|it| it.1).collect();
    match numbers.as_slice() {
        [all @ .., last] if all.len() < 3 => format!("{} or {last}{unit}", all.join(", ")),
        [first, .., last] => format!("{first} to {last}{unit}"),
        _ => String::new(),
    }
}

/// `a`, `a or b`, `a, b or c`.
fn listed(all: &[String]) -> String {
    match all {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => all.concat(),
    }
}

/// The number that a text begins with, as it is written, and what stands behind it.
fn parted(text: &str) -> Option<(f64, &str, &str)> {
    let is_digit = |it: char| it.is_ascii_digit() || it == '.' || it == '\u{202f}';
    let end = text.find(|it: char| !is_digit(it)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.replace('\u{202f}', "").parse().ok()?, number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_methods_without_a_run_of_the_rtl_are_named() {
        let full = Description::named("nv_full").unwrap();
        let of = |modes: &[Mode]| agreement_of(&full, |mode| modes.contains(&mode));
        assert_eq!(
            of(&[Mode::Features, Mode::Int16]),
            "10 of 10 runs take the same cycles, the farthest 0.00 % off"
        );
        let without = of(&[Mode::Features, Mode::Winograd, Mode::Float16]);
        assert!(without.ends_with("; not measured: Winograd convolution, fp16"), "{without}");
    }

    #[test]
    fn many_values_become_a_range_and_few_are_listed() {
        let of = |texts: &[&str]| range(texts.iter().map(|text| (*text).to_owned()));
        assert_eq!(of(&["64", "64"]), "64");
        assert_eq!(of(&["16", "256", "64"]), "16, 64 or 256");
        assert_eq!(
            of(&["100 cycles", "25 cycles", "400 cycles", "1\u{202f}000 cycles"]),
            "25 to 1\u{202f}000 cycles"
        );
        assert_eq!(of(&["8 GB/s", "none"]), "8 GB/s or none");
        assert_eq!(
            (of(&["dram", "all", "dram", "auto"]), of(&[])),
            ("dram, all or auto".to_owned(), String::new())
        );
        assert_eq!(of(&["a", "b", "c", "d"]), "varies");
    }
}
