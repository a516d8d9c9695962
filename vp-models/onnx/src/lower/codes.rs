//! Codes of the cubes: which of them have the same, and the scale of each.

use super::draft::{Draft, DraftActivation, DraftKind, Source};
use super::floats::FloatGraph;
use super::function::Function;
use super::ranges::{RangeMethod, Ranges};
use super::{Code, Hardware};
use std::collections::HashSet;
use vp_host::network::{Method, PairMethod, Pooling, Shape};
use vp_tensors::{Operator, ValueId};

/// Codes of the network's input, and of what each draft makes.
pub(crate) struct CubeCodes {
    input: Code,
    drafts: Vec<Code>,
}

impl CubeCodes {
    pub(crate) fn of(&self, source: Source) -> Code {
        source.map_or(self.input, |at| self.drafts[at])
    }
}

/// Sets of cubes with one code, by the place of one of them.
struct Sets(Vec<usize>);

impl Sets {
    fn of(&mut self, at: usize) -> usize {
        let mut root = at;
        while self.0[root] != root {
            self.0[root] = self.0[self.0[root]];
            root = self.0[root];
        }
        root
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        self.0[one] = other;
    }
}

/// Ratio of ranges from which on a layer that changes codes is worth its time: a bit would be lost.
const COARSER: f32 = 2.0;

/// Place of a source among the cubes: the input is the first.
fn place(source: Source) -> usize {
    source.map_or(0, |at| at + 1)
}

/// Returns true if a draft moves codes, or chooses among them, so that its output has those of its sources.
fn keeps_codes(draft: &Draft) -> bool {
    match &draft.kind {
        DraftKind::Pooling(_)
        | DraftKind::Concatenation
        | DraftKind::Slice(_)
        | DraftKind::Upsampling(_)
        | DraftKind::Interleaving(_)
        | DraftKind::Pair(PairMethod::Maximum | PairMethod::Minimum) => true,
        DraftKind::Cpu(on_cpu) => on_cpu.graph.nodes.iter().all(|node| {
            matches!(
                node.operator,
                Operator::Reshape { .. }
                    | Operator::Transpose { .. }
                    | Operator::Flatten { .. }
                    | Operator::Squeeze { .. }
                    | Operator::Unsqueeze { .. }
                    | Operator::DepthToSpace { .. }
                    | Operator::SpaceToDepth { .. }
                    | Operator::Slice
                    | Operator::Identity
            )
        }),
        _ => false,
    }
}

/// Returns true if a unit takes the code 0 for zero: SDP multiplies codes, CDP squares them, PDP pads with zeros.
fn wants_zero(draft: &Draft) -> bool {
    match &draft.kind {
        DraftKind::Pair(PairMethod::Multiply) | DraftKind::ChannelProduct | DraftKind::Normalisation(_) => {
            true
        }
        DraftKind::Pooling(Pooling { method: Method::Average, window }) => {
            [window.before, window.after].concat().iter().any(|padding| *padding > 0)
        }
        _ => false,
    }
}

/// Codes that the model gives to what drafts make, by place.
struct GivenCodes {
    /// Codes in which others read it.
    made: Vec<Option<Code>>,
    /// Codes in which the draft makes it: a pooling that averages has the codes of what it reads.
    own: Vec<Option<Code>>,
}

fn is_average(draft: &Draft) -> bool {
    matches!(draft.kind, DraftKind::Pooling(Pooling { method: Method::Average | Method::Mean, .. }))
}

impl GivenCodes {
    /// The model's own codes, spread by drafts that only move or choose codes: their outputs have those of their sources, and cubes that
    /// nothing else reads have theirs.
    fn of(
        drafts: &[Draft],
        order: &[usize],
        (floats, start): (&FloatGraph, ValueId),
        outputs: &[Source],
    ) -> GivenCodes {
        let values = std::iter::once(Some(start)).chain(drafts.iter().map(|draft| draft.value));
        let mut made: Vec<Option<Code>> = values.map(|value| of_model(floats, value?)).collect();
        let mut own = vec![None; made.len()];
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); made.len()];
        for &at in order {
            let draft = &drafts[at];
            draft.sources.iter().for_each(|source| readers[place(*source)].push(at));
            if !keeps_codes(draft) {
                continue;
            }
            let mut codes = draft.sources.iter().map(|source| made[place(*source)]);
            let first = codes.next().flatten();
            let common = first.filter(|_| codes.all(|code| code == first));
            own[at + 1] = common;
            made[at + 1] = made[at + 1].or(common);
        }
        let mut is_read_outside = vec![false; made.len()];
        outputs.iter().for_each(|output| is_read_outside[place(*output)] = true);
        let before = order.iter().rev().map(|at| at + 1).chain([0]);
        for at in before.filter(|at| !is_read_outside[*at]) {
            let mut wanted = readers[at].iter().map(|&reader| {
                let is_kept = keeps_codes(&drafts[reader]) && !is_average(&drafts[reader]);
                made[reader + 1].filter(|_| is_kept)
            });
            let first = wanted.next().flatten();
            made[at] = made[at].or(first.filter(|_| wanted.all(|code| code == first)));
        }
        GivenCodes { made, own }
    }
}

/// Puts a layer that changes codes before each draft that keeps them, where they are others before than behind it. Behind a
/// pooling that averages it stands, where alone the narrower codes that means have are enough.
pub(crate) fn requantise(
    drafts: &mut Vec<Draft>,
    order: &mut Vec<usize>,
    (floats, ranges, method): (&FloatGraph, &Ranges, RangeMethod),
    (start, outputs): (ValueId, &[Source]),
) {
    let mut codes = GivenCodes::of(drafts, order, (floats, start), outputs);
    let finer = finer_parts(drafts, order, (ranges, method), (start, outputs));
    let mut made = Vec::with_capacity(order.len());
    for at in std::mem::take(order) {
        let wanted = codes.made[at + 1];
        if is_average(&drafts[at]) {
            made.push(at);
            if wanted != codes.own[at + 1] {
                made.push(recode_behind(drafts, at));
                codes.made.push(wanted);
            }
            continue;
        }
        let count = if keeps_codes(&drafts[at]) { drafts[at].sources.len() } else { 0 };
        for from in 0..count {
            let source = drafts[at].sources[from];
            let is_same = codes.made[place(source)] == wanted;
            if is_same && (wanted.is_some() || !finer.contains(&(at, from))) {
                continue;
            }
            let cube = source.map_or(drafts[at].input, |of| drafts[of].output);
            drafts.push(recoding(format!("{} codes {from}", drafts[at].name), source, cube));
            codes.made.push(wanted);
            let new = drafts.len() - 1;
            drafts[at].sources[from] = Some(new);
            made.push(new);
        }
        made.push(at);
    }
    *order = made;
}

/// Parts of joined cubes, by the joining draft and their place in it, that others read as well and that what they are joined with would
/// give much coarser codes than they need.
fn finer_parts(
    drafts: &[Draft],
    order: &[usize],
    (ranges, method): (&Ranges, RangeMethod),
    (start, outputs): (ValueId, &[Source]),
) -> HashSet<(usize, usize)> {
    let mut readers = vec![0; drafts.len() + 1];
    let sources = order.iter().flat_map(|at| &drafts[*at].sources);
    sources.chain(outputs).for_each(|source| readers[place(*source)] += 1);
    let values = std::iter::once(Some(start)).chain(drafts.iter().map(|draft| draft.value));
    let span = |value: Option<ValueId>| {
        let (low, high) = ranges.get(&value?)?.limits(method);
        Some(high - low)
    };
    let own: Vec<f32> = values.map(|value| span(value).unwrap_or(0.0)).collect();
    // The range of all that shares its codes with a cube.
    let (mut shared, mut finer) = (own.clone(), HashSet::new());
    for &at in order.iter().rev().filter(|at| keeps_codes(&drafts[**at])) {
        for (from, part) in drafts[at].sources.iter().map(|source| place(*source)).enumerate() {
            let is_joined = matches!(drafts[at].kind, DraftKind::Concatenation);
            match is_joined && readers[part] > 1 && own[part] > 0.0 && shared[at + 1] > COARSER * own[part] {
                true => drop(finer.insert((at, from))),
                false => shared[part] = shared[part].max(shared[at + 1]),
            }
        }
    }
    finer
}

/// A layer that changes codes alone.
fn recoding(name: String, source: Source, cube: Shape) -> Draft {
    let channels = cube.channels as usize;
    Draft {
        name,
        nodes: Vec::new(),
        kind: DraftKind::Scaling { scales: vec![1.0; channels], addends: vec![0.0; channels] },
        sources: vec![source],
        input: cube,
        output: cube,
        value: None,
        view: None,
        activation: DraftActivation::None,
    }
}

/// Puts a layer that changes codes behind a draft.
fn recode_behind(drafts: &mut Vec<Draft>, at: usize) -> usize {
    let new = drafts.len();
    let sources = drafts.iter_mut().flat_map(|draft| &mut draft.sources);
    sources.filter(|source| **source == Some(at)).for_each(|source| *source = Some(new));
    let made = recoding(format!("{} codes", drafts[at].name), Some(at), drafts[at].output);
    let (value, view) = (drafts[at].value.take(), drafts[at].view.clone());
    drafts.push(Draft { value, view, ..made });
    new
}

/// Chooses the codes of all cubes.
///
/// # Errors
/// The values of cubes that have neither codes nor a range.
pub(crate) fn codes(
    drafts: &[Draft],
    (start, floats): (ValueId, &FloatGraph),
    hardware: &Hardware,
    (ranges, method): (&Ranges, RangeMethod),
) -> Result<CubeCodes, Vec<ValueId>> {
    if !hardware.is_integer {
        return Ok(CubeCodes { input: Code::ONE, drafts: vec![Code::ONE; drafts.len()] });
    }
    let mut sets = Sets((0..=drafts.len()).collect());
    for (at, draft) in drafts.iter().enumerate().filter(|(_, draft)| keeps_codes(draft)) {
        draft.sources.iter().for_each(|source| sets.join(place(*source), at + 1));
    }
    let values: Vec<Option<ValueId>> =
        std::iter::once(Some(start)).chain(drafts.iter().map(|draft| draft.value)).collect();
    let mut given: Vec<Option<Code>> = vec![None; values.len()];
    let mut limits: Vec<Option<(f32, f32)>> = vec![None; values.len()];
    let mut is_symmetric = vec![false; values.len()];
    for source in drafts.iter().filter(|draft| wants_zero(draft)).flat_map(|draft| &draft.sources) {
        let set = sets.of(place(*source));
        is_symmetric[set] = true;
    }
    for (at, value) in values.iter().enumerate() {
        let Some(value) = value else { continue };
        let set = sets.of(at);
        given[set] = given[set].or_else(|| of_model(floats, *value));
        if let Some(distribution) = ranges.get(value) {
            let ((low, high), known) = (distribution.limits(method), limits[set].unwrap_or_default());
            limits[set] = Some((known.0.min(low), known.1.max(high)));
        }
    }
    let mut is_lacking = |at: usize| {
        let set = sets.of(at);
        given[set].is_none() && limits[set].is_none()
    };
    let lacking = values.iter().enumerate().filter_map(|(at, value)| value.filter(|_| is_lacking(at)));
    let lacking: Vec<ValueId> = lacking.collect();
    if !lacking.is_empty() {
        return Err(lacking);
    }
    let mut code = |at: usize| {
        let set = sets.of(at);
        given[set].unwrap_or_else(|| Code::of_range(limits[set].unwrap_or_default(), is_symmetric[set]))
    };
    Ok(CubeCodes { input: code(0), drafts: (0..drafts.len()).map(|at| code(at + 1)).collect() })
}

/// The code that the model gives a value, also as integers of 8 bits that it is already.
fn of_model(floats: &FloatGraph, value: ValueId) -> Option<Code> {
    floats.codes.get(&value).copied().or(match floats.graph.value(value).element_type {
        vp_tensors::ElementType::Int8 => Some(Code::ONE),
        vp_tensors::ElementType::Uint8 => Some(Code { scale: 1.0, zero: -128 }),
        _ => None,
    })
}

/// Gives bounds that codes do not keep by their end a layer of their own.
pub(crate) fn limit(drafts: &mut Vec<Draft>, order: &mut Vec<usize>, codes: &mut CubeCodes) {
    let mut made = Vec::with_capacity(order.len());
    for at in std::mem::take(order) {
        made.push(at);
        let DraftActivation::Limited(bound) = drafts[at].activation else { continue };
        drafts[at].activation = DraftActivation::Relu;
        let code = codes.drafts[at];
        // Half a step is lost in rounding.
        if code.number(127) <= bound + 0.5 * code.scale {
            continue;
        }
        let new = drafts.len();
        for draft in drafts.iter_mut() {
            draft
                .sources
                .iter_mut()
                .filter(|source| **source == Some(at))
                .for_each(|source| *source = Some(new));
        }
        let Draft { name, output, value, view, .. } = drafts[at].clone();
        drafts[at].value = None;
        drafts.push(Draft {
            name: format!("{name} limit"),
            nodes: Vec::new(),
            kind: DraftKind::Function(Function::Clip(0.0, bound)),
            sources: vec![Some(at)],
            input: output,
            output,
            value,
            view,
            activation: DraftActivation::None,
        });
        codes.drafts.push(code);
        made.push(new);
    }
    *order = made;
}
