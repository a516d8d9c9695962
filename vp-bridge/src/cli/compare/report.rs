//! Text of a comparison.

use std::io::Write;

use vp_core::Time;

use super::difference::{self, Difference, Recorded};
use super::transactions::{Content, CutPoint, Stream, StreamKind, Transaction, TransferStep};
use super::{Compared, Run};
use crate::cli::out;
use crate::cli::run::warnings;
use crate::cli::sequences::{self, BEFORE};
use crate::cli::text::{self, counted, grouped, styled};
use crate::cli::{Failure, Verdict};

/// Shows what was compared, and the first transaction that differs. With `cycles` times count, too.
pub(super) fn show(compared: &Compared, cycles: bool) -> Result<Verdict, Failure> {
    let mut out = out::stdout();
    let Compared { name, headline, period, model, outside } = compared;
    writeln!(out, "{headline}\n{name}\n")?;
    let shown = Shown { period: *period };
    let (one, other) = (&model.recorded, &outside.recorded);
    let contents = difference::contents(one, other);
    let apart = difference::times(one, other);
    if let Some(found) = &contents {
        let what = format!("{}, the first that differs", shown.name(found));
        writeln!(out, "{} {what}", styled(text::RED, format!("{:<10}", "different")))?;
        shown.pair(&mut out, found)?;
        shown.before(&mut out, found, (one, other))?;
    } else {
        writeln!(out, "{:<10} {}", "equal", totals(one))?;
    }
    let mut is_on_time = apart.first.is_none();
    match &apart.first {
        None if contents.is_none() => writeln!(out, "{:<10} each at the same clock edge", "times")?,
        None => writeln!(out, "{:<10} before it each was at the same clock edge", "times")?,
        Some(first) => {
            let count = counted(apart.count, "transaction");
            let most = counted(apart.most.cycles(*period), "cycle");
            writeln!(out, "{:<10} {count} at other clock edges, up to {most} apart; the first:", "times")?;
            writeln!(out, "{:<10} {}", "", shown.name(first))?;
            shown.pair(&mut out, first)?;
        }
    }
    if contents.is_none()
        && let Some((place, index)) = difference::reordered(one, other)
    {
        is_on_time = false;
        let nth = grouped(index as u64 + 1);
        writeln!(
            out,
            "{:<10} at {} bursts of several ids come in another order, first the one with number {nth}",
            "order",
            at(place)
        )?;
    }
    let took = |run: &Run| run.statistics.get("nvdla.cycles").unwrap_or(run.end.cycles(*period));
    let (one, other) = (took(model), took(outside));
    let with_part = match other.abs_diff(one) {
        _ if !outside.recorded.has_ended => "with the part outside the program did not end".to_owned(),
        0 => format!("{} with the part outside", grouped(other)),
        by => {
            let sign = if other > one { '+' } else { '-' };
            let share = by as f64 * 100.0 / one.max(1) as f64;
            format!("{} with the part outside ({sign}{}, {share:.1} %)", grouped(other), grouped(by))
        }
    };
    writeln!(out, "{:<10} {} with the model, {with_part}", "cycles", grouped(one))?;
    let results = [("the model", model), ("the part outside", outside)];
    let mut failed = 0;
    for (whose, run) in results {
        let said = match &run.outcome {
            Err(why) => vec![why.clone()],
            Ok(outcome) => outcome.failures.iter().map(ToString::to_string).collect(),
        };
        failed += usize::from(!said.is_empty());
        for line in said.iter().take(BEFORE) {
            writeln!(
                out,
                "{} with {whose}: {}",
                styled(text::RED, "wrong:"),
                line.replace('\n', "\n       ")
            )?;
        }
    }
    // Such as the rule of the bus that the part has broken.
    warnings::warn(&mut out, &outside.warnings)?;
    // What fails in the same way in both is the trace's.
    let is_same = contents.is_none() && failed != 1 && (is_on_time || !cycles);
    let has_ended = results.iter().any(|(_, run)| run.recorded.has_ended);
    let verdict = match is_same {
        false => styled(text::RED, "DIFFERENT"),
        true if has_ended => styled(text::GREEN, "EQUAL"),
        true => styled(text::RED, "EQUAL so far: neither run came to its end"),
    };
    writeln!(out, "\n{verdict}\n")?;
    Ok(if is_same && has_ended { Verdict::Right } else { Verdict::Wrong })
}

/// The last line of many.
pub(super) fn sum(all: usize, different: usize) -> Result<(), Failure> {
    let equal = all - different;
    Ok(writeln!(out::stdout(), "{equal} equal, {different} different")?)
}

/// Returns what was transferred, in numbers.
fn totals(run: &Recorded) -> String {
    let mut totals: Vec<(CutPoint, &str, u64)> = Vec::new();
    for (Stream { place, kind }, transactions) in &run.streams {
        let unit = match kind {
            StreamKind::Access => "access",
            StreamKind::Level => "level",
            StreamKind::Read(_) => "read",
            StreamKind::Write(_) => "write",
        };
        match totals.iter_mut().find(|total| (total.0, total.1) == (*place, unit)) {
            Some(total) => total.2 += transactions.len() as u64,
            None => totals.push((*place, unit, transactions.len() as u64)),
        }
    }
    let total = |(place, unit, count): &(CutPoint, &str, u64)| {
        let unit = if *unit == "access" && *count != 1 { "accesse" } else { unit };
        format!("{} at {}", counted(*count, unit), at(*place))
    };
    totals.iter().map(total).collect::<Vec<_>>().join(", ")
}

fn at(CutPoint { port, is_memory }: CutPoint) -> String {
    if is_memory { format!("{port} (its memory)") } else { port.to_owned() }
}

struct Shown {
    period: Time,
}

impl Shown {
    fn edge(&self, time: Time) -> String {
        format!("edge {}", grouped(time.cycles(self.period)))
    }

    /// Returns the name of the transaction that differs.
    fn name(&self, found: &Difference<'_>) -> String {
        let Difference { stream: Stream { place, kind }, index, .. } = found;
        format!("{kind} at {}, number {} of these", at(*place), grouped(*index as u64 + 1))
    }

    /// Shows what each side has at the step that differs.
    fn pair(&self, out: &mut impl Write, found: &Difference<'_>) -> Result<(), Failure> {
        for (side, transaction) in [("model", found.model), ("outside", found.outside)] {
            let Some(transaction) = transaction else {
                writeln!(out, "  {side:<8} none")?;
                continue;
            };
            let head = self.line(transaction);
            let step = match transaction.steps.get(found.step) {
                _ if found.step == 0 => String::new(),
                Some(step) => {
                    format!("; {} at {}: {}", what(found.step, step), self.edge(step.at), step.content)
                }
                None => "; no more".to_owned(),
            };
            writeln!(out, "  {side:<8} {head}{step}")?;
        }
        if let (Some(one), Some(other)) = (found.model, found.outside)
            && let (Some(one), Some(other)) = (one.steps.get(found.step), other.steps.get(found.step))
            && let (Content::Beat { data: one, .. }, Content::Beat { data: other, .. }) =
                (&one.content, &other.content)
            && let Some(byte) = one.iter().zip(other).position(|(one, other)| one != other)
        {
            let values = format!("{:02x} and {:02x}", one[byte], other[byte]);
            writeln!(out, "  {:<8} from byte {byte} of the beat on: {values}", "")?;
        }
        Ok(())
    }

    /// A transaction in one line.
    fn line(&self, transaction: &Transaction) -> String {
        match transaction.steps.first() {
            Some(step) => format!("{:<12} {}", self.edge(step.at), step.content),
            None => String::new(),
        }
    }

    /// Shows what each run had at that port before, and last at the other ones.
    fn before(
        &self,
        out: &mut impl Write,
        found: &Difference<'_>,
        (model, outside): (&Recorded, &Recorded),
    ) -> Result<(), Failure> {
        let mut put = |whose: &str, lines: &[String]| {
            sequences::show(out, "before it", &format!("{whose}, the last at each port"), lines)
        };
        let model = self.earlier(model, found, found.model);
        let outside = self.earlier(outside, found, found.outside);
        if model == outside {
            return put("in both", &model);
        }
        put("model", &model)?;
        put("outside", &outside)
    }

    /// Returns what a run had before that transaction, a line each.
    fn earlier(
        &self,
        run: &Recorded,
        found: &Difference<'_>,
        transaction: Option<&Transaction>,
    ) -> Vec<String> {
        // Where one has no such transaction: when the other has it.
        let until = transaction.map_or(found.time(), Transaction::start);
        let mut earlier: Vec<(Stream, &Transaction)> = (run.streams.iter())
            .flat_map(|(stream, all)| all.iter().map(move |transaction| (*stream, transaction)))
            .filter(|(_, transaction)| transaction.start() < until)
            .collect();
        earlier.sort_by_key(|(_, transaction)| transaction.start());
        let is_here = |(stream, _): &(Stream, &Transaction)| stream.place == found.stream.place;
        let (here, elsewhere): (Vec<_>, Vec<_>) = earlier.into_iter().partition(is_here);
        let mut shown: Vec<_> = here.into_iter().rev().take(BEFORE).collect();
        for (stream, transaction) in elsewhere.into_iter().rev() {
            if !shown.iter().any(|(known, _)| known.place == stream.place) {
                shown.push((stream, transaction));
            }
        }
        shown.sort_by_key(|(_, transaction)| transaction.start());
        let line = |(Stream { place, kind }, transaction): (Stream, &Transaction)| {
            let end = match transaction.steps.last() {
                Some(step) if transaction.steps.len() > 1 => {
                    format!("; {} at {}", last(step), self.edge(step.at))
                }
                _ => String::new(),
            };
            format!("{}{end}  ({kind}, {})", self.line(transaction), at(place))
        };
        shown.into_iter().map(line).collect()
    }
}

/// Returns the name of a step within its transaction.
fn what(index: usize, step: &TransferStep) -> String {
    match step.content {
        Content::Beat { .. } => format!("beat {index}"),
        Content::Response { .. } => "response".to_owned(),
        _ => "answer".to_owned(),
    }
}

/// Returns what a transaction ended with.
fn last(step: &TransferStep) -> String {
    match &step.content {
        Content::Beat { .. } => "last data".to_owned(),
        Content::Response { error: false } => "response".to_owned(),
        _ => step.content.to_string(),
    }
}
