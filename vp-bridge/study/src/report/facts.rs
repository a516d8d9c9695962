//! What the numbers rest on: the platforms and networks that were run, and how far their model is proven.

use super::cells::{Cells, rounded_whole, strings, table};
use super::page::Page;
use super::plot::short;
use crate::bench::Job;
use crate::networks::{NetworkFacts, WeightSource};
use crate::point::text;
use crate::results::rounded;
use crate::rtl::modes::Mode;
use crate::rtl::proven::{self, Evidence};
use maud::{Markup, html};
use vp_models::bus::axi::Latency;
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
            "agreement with the RTL",
        ]);
        (header, names.iter().map(row).collect())
    }

    fn network_cells(&self) -> Cells {
        let mut networks: Vec<(String, &NetworkFacts)> = Vec::new();
        for job in self.jobs() {
            let name = job.point.get("network").map_or_else(String::new, text);
            if !networks.iter().any(|(known, facts)| *known == name && **facts == job.network) {
                networks.push((name, &job.network));
            }
        }
        let row = |(name, facts): &(String, &NetworkFacts)| {
            let weights = match facts.weights {
                WeightSource::Files => "from files",
                WeightSource::MadeUp => "made up",
                WeightSource::Mixed => "some made up, some from files",
            };
            let cpu = if facts.cpu.is_empty() { "none".to_owned() } else { facts.cpu.join(", ") };
            let macs = format!("{}\u{202f}M", rounded(facts.macs as f64 / 1e6));
            vec![name.clone(), facts.layers.to_string(), macs, weights.to_owned(), cpu]
        };
        let header =
            strings(["network", "layers", "MACs a frame", "weights", "layers of the CPU, in no time"]);
        (header, networks.iter().map(row).collect())
    }
}

/// How long a read takes, as far as a number says it.
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

/// How far the cycles of what runs here were compared with the RTL's: of the ways through the hardware that its layers go.
fn agreement(jobs: &[&Job]) -> String {
    let mut devices: Vec<&Job> = Vec::new();
    for job in jobs {
        if !devices.iter().any(|known| known.description.device == job.description.device) {
            devices.push(job);
        }
    }
    let is_used = |mode: Mode| jobs.iter().any(|job| job.network.modes.contains(&mode));
    range(devices.into_iter().map(|job| agreement_of(&job.description, is_used)))
}

fn agreement_of(description: &Description, is_used: impl Fn(Mode) -> bool) -> String {
    let Some(held) = proven::of(description) else { return "not an NVDLA".to_owned() };
    let used: Vec<(Mode, Evidence)> = held.into_iter().filter(|(mode, _)| is_used(*mode)).collect();
    let rows: usize = used.iter().map(|(_, evidence)| evidence.rows).sum();
    let exact: usize = used.iter().map(|(_, evidence)| evidence.exact).sum();
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

/// Texts in one: each once, and of many that begin with a number the least and the most.
fn range(texts: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    if all.len() <= 3 {
        return all.join(" or ");
    }
    let number = |text: &String| {
        let end = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
        text[..end].parse::<f64>().ok()
    };
    let ends = all.iter().map(|text| Some((number(text)?, text))).collect::<Option<Vec<_>>>();
    let ends = ends.and_then(|all| {
        let of = |a: &&(f64, &String), b: &&(f64, &String)| a.0.total_cmp(&b.0);
        Some((all.iter().min_by(of)?.1.clone(), all.iter().max_by(of)?.1.clone()))
    });
    ends.map_or_else(|| "varies".to_owned(), |(least, most)| format!("{least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_values_become_a_range_and_few_are_listed() {
        let of = |texts: &[&str]| range(texts.iter().map(|text| (*text).to_owned()));
        assert_eq!(of(&["64", "64"]), "64");
        assert_eq!(of(&["16", "64", "256"]), "16 or 64 or 256");
        assert_eq!(of(&["100 cycles", "25 cycles", "400 cycles", "1000 cycles"]), "25 cycles to 1000 cycles");
        assert_eq!(of(&["a", "b", "c", "d"]), "varies");
    }
}
