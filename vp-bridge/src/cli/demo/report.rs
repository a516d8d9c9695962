//! Text of the demonstration: some of the images, how many were right, and where the time went.

use super::{DemoRun, picture};
use crate::cli::out;
use crate::cli::record::{self, Record};
use crate::cli::text::{self, counted, grouped, styled};
use crate::cli::{Failure, memory};
use std::io::Write;
use vp_core::Time;
use vp_host::Statistics;
use vp_host::network::digits;
use vp_host::network::{Inference, NetworkLayer, Operation, Span};

/// Images side by side.
const ACROSS: usize = 8;
/// Characters between two of them.
const GAP: &str = "   ";

/// An image with the answer it got.
struct Answered<'a> {
    pixels: &'a [i8],
    label: u8,
    answer: u8,
}

impl Answered<'_> {
    fn is_right(&self) -> bool {
        self.answer == self.label
    }
}

pub(super) fn show(ran: &DemoRun) -> Result<(), Failure> {
    let mut out = out::stdout();
    let DemoRun { headline, samples, inferences, statistics, .. } = ran;
    let answered: Vec<Answered<'_>> = samples
        .iter()
        .zip(inferences)
        .map(|(sample, inference)| Answered {
            pixels: &sample.pixels,
            label: sample.label,
            answer: digits::answer(&inference.outputs[0]),
        })
        .collect();
    writeln!(out, "{headline}\n{}\n", network(ran))?;
    let width = ran.network.input.width as usize;
    let (right, wrong): (Vec<&Answered<'_>>, Vec<_>) = answered.iter().partition(|image| image.is_right());
    for row in [right.as_slice(), wrong.as_slice()] {
        gallery(&mut out, &row[..row.len().min(ACROSS)], width)?;
    }
    let share = 100.0 * right.len() as f64 / answered.len().max(1) as f64;
    writeln!(
        out,
        "{:<10} {share:.1} %: {} of {}",
        "accuracy",
        grouped(right.len()),
        counted(answered.len() as u64, "image")
    )?;
    let period = Time::ps(statistics.get("period").unwrap_or(1_000));
    let mean = mean_cycles(inferences.iter().map(Inference::time), period);
    let cycles = mean.round() as u64;
    writeln!(
        out,
        "{:<10} {} an image ({} at {})",
        "time",
        counted(cycles, "cycle"),
        period * cycles,
        text::frequency(period)
    )?;
    for (direction, verb) in [("read", "read"), ("write", "written")] {
        traffic(&mut out, statistics, inferences.len() as u64, direction, verb)?;
    }
    memory::show(&mut out, statistics)?;
    writeln!(out, "{:<10} {}\n", "event hash", statistics.text("events.hash").unwrap_or("-"))?;
    layers(&mut out, ran, mean, period)?;
    units(&mut out, statistics, period)
}

/// The network in one line.
fn network(ran: &DemoRun) -> String {
    let count = |wanted: fn(&Operation) -> bool| {
        ran.network.layers.iter().filter(|layer| wanted(&layer.operation)).count() as u64
    };
    let convolutions = count(|operation| matches!(operation, Operation::Convolution(_)));
    let poolings = count(|operation| matches!(operation, Operation::Pooling(_)));
    format!(
        "{} · {} images · {} and {} · {} bytes of weights and biases",
        ran.network.name,
        ran.network.input,
        counted(convolutions, "convolution"),
        counted(poolings, "pooling"),
        grouped(ran.plan.constant_bytes())
    )
}

/// Images side by side, the answers below them.
fn gallery(out: &mut impl Write, images: &[&Answered<'_>], width: usize) -> Result<(), Failure> {
    if images.is_empty() {
        return Ok(());
    }
    let colours = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    let pictures: Vec<Vec<String>> =
        images.iter().map(|image| picture::lines(image.pixels, width, colours)).collect();
    for line in 0..pictures.first().map_or(0, Vec::len) {
        let parts: Vec<&str> = pictures.iter().map(|picture| picture[line].as_str()).collect();
        writeln!(out, "{}", parts.join(GAP).trim_end())?;
    }
    let answers: Vec<String> = images
        .iter()
        .enumerate()
        .map(|(place, image)| {
            let Answered { answer, label, .. } = image;
            let (style, answer) = match image.is_right() {
                true => (text::GREEN, answer.to_string()),
                false => (text::RED, format!("{answer}, is {label}")),
            };
            let answer = format!("{answer:^width$}");
            // Nothing follows the last one.
            styled(style, if place + 1 == images.len() { answer.trim_end() } else { &answer })
        })
        .collect();
    writeln!(out, "{}\n", answers.join(GAP))?;
    Ok(())
}

/// The mean of times, in cycles.
fn mean_cycles(times: impl Iterator<Item = Time>, period: Time) -> f64 {
    let (sum, count) = times.fold((0, 0u64), |(sum, count), time| (sum + time.cycles(period), count + 1));
    sum as f64 / count.max(1) as f64
}

fn traffic(
    out: &mut impl Write,
    statistics: &Statistics,
    images: u64,
    direction: &str,
    verb: &str,
) -> Result<(), Failure> {
    let get = |what: &str| statistics.get(&format!("dbb0.{direction}.{what}"));
    let (Some(bytes), Some(bursts)) = (get("bytes"), get("bursts")) else { return Ok(()) };
    let mean = |count: u64| (count as f64 / images.max(1) as f64).round() as u64;
    write!(
        out,
        "{verb:<10} {} in {} an image",
        counted(mean(bytes), "byte"),
        counted(mean(bursts), "burst")
    )?;
    if let Some(latency) = get("latency.mean") {
        write!(out, ", {} on average", counted(latency, "cycle"))?;
    }
    writeln!(out, ", at most {} outstanding", get("most_outstanding").unwrap_or(0))?;
    Ok(())
}

/// A layer's figures.
struct Figures<'a> {
    layer: &'a NetworkLayer,
    /// The layer that does it, too: it takes on the fly what that one makes.
    within: Option<&'a NetworkLayer>,
    /// The mean of an image.
    cycles: f64,
    /// Cycles for which its products keep the whole MAC array busy.
    array: u64,
}

fn figures(ran: &DemoRun, period: Time) -> impl Iterator<Item = Figures<'_>> {
    ran.network.layers.iter().enumerate().map(move |(at, layer)| {
        // Its hardware layers, if it was cut.
        let steps = || ran.plan.steps.iter().enumerate().filter(move |(_, step)| step.layer == at);
        let time = |inference: &Inference| {
            let spans = steps().filter_map(|(step, _)| inference.steps.get(step));
            spans.fold(Time::ZERO, |sum, Span { enabled, done, .. }| sum + (*done - *enabled))
        };
        Figures {
            layer,
            within: ran.plan.within[at].and_then(|of| ran.network.layers.get(of)),
            cycles: mean_cycles(ran.inferences.iter().map(time), period),
            array: steps().map(|(_, step)| step.mac_cycles).sum(),
        }
    })
}

/// The result for other programs.
pub(super) fn record(ran: &DemoRun, platform: &str) -> Record {
    let DemoRun { network, samples, inferences, statistics, .. } = ran;
    let period = Time::ps(statistics.get("period").unwrap_or(1_000));
    let answers: Vec<u8> = inferences.iter().map(|inference| digits::answer(&inference.outputs[0])).collect();
    let right = answers.iter().zip(samples).filter(|(answer, sample)| **answer == sample.label).count();
    let layer = |Figures { layer, within, cycles, array }: Figures<'_>| {
        Record::default()
            .with("name", &layer.name)
            .with("input", layer.input.to_string())
            .with("output", layer.output.to_string())
            .with("within", within.map(|within| &within.name))
            .with("cycles", within.is_none().then_some(cycles))
            .with("mac_cycles", within.is_none().then_some(array))
    };
    Record::default()
        .with("network", &network.name)
        .with("platform", platform)
        .with("images", inferences.len())
        .with("right", right)
        .with("answers", answers)
        .with("cycles_per_image", mean_cycles(inferences.iter().map(Inference::time), period))
        .with("event_hash", statistics.text("events.hash"))
        .with("layers", figures(ran, period).map(layer).collect::<Vec<_>>())
        .with("counters", record::counters(&statistics.counters))
}

/// Shows where the time went, layer by layer.
fn layers(out: &mut impl Write, ran: &DemoRun, whole: f64, period: Time) -> Result<(), Failure> {
    let mut table = text::table(&["layer", "input", "output", "cycles", "share", "MACs busy"], &[3, 4, 5]);
    let percent = |part: f64, whole: f64| format!("{:.0} %", 100.0 * part / whole.max(1.0));
    let mut in_layers = 0.0;
    for Figures { layer, within, cycles, array } in figures(ran, period) {
        if let Some(within) = within {
            let cells = [&layer.name, &layer.input.to_string(), &layer.output.to_string()].map(String::clone);
            table.add_row(cells.into_iter().chain([format!("with {}", within.name)]));
            continue;
        }
        in_layers += cycles;
        table.add_row([
            layer.name.clone(),
            layer.input.to_string(),
            layer.output.to_string(),
            grouped(cycles.round() as u64),
            percent(cycles, whole),
            if array > 0 { percent(array as f64, cycles) } else { "-".to_owned() },
        ]);
    }
    let driver = whole - in_layers;
    table.add_row([
        "between".to_owned(),
        String::new(),
        String::new(),
        grouped(driver.round() as u64),
        percent(driver, whole),
        String::new(),
    ]);
    let array: u64 = ran.plan.steps.iter().map(|step| step.mac_cycles).sum();
    table.add_row([
        "all".to_owned(),
        ran.network.input.to_string(),
        ran.network.output().to_string(),
        grouped(whole.round() as u64),
        percent(whole, whole),
        percent(array as f64, whole),
    ]);
    writeln!(out, "{}\n", table.trim_fmt())?;
    Ok(())
}

/// Shows how much of the time each unit had a layer, waiting for memory or for another unit included.
fn units(out: &mut impl Write, statistics: &Statistics, period: Time) -> Result<(), Failure> {
    let whole = statistics.get("nvdla.cycles").unwrap_or(0) * period.as_ps();
    let shares: Vec<String> = ["cdma", "csc", "cacc", "sdp", "pdp"]
        .into_iter()
        .filter_map(|unit| {
            let busy = statistics.get(&format!("unit.{unit}.busy"))?;
            Some(format!("{} {:.0} %", unit.to_uppercase(), 100.0 * busy as f64 / whole.max(1) as f64))
        })
        .collect();
    writeln!(out, "{:<10} {}", "at work", shares.join("  "))?;
    Ok(())
}
