//! CubeCodes of the cubes: which of them have the same, and the scale of each.

use super::draft::{Draft, DraftActivation, DraftKind, Function, Source};
use super::floats::FloatGraph;
use super::ranges::{RangeMethod, Ranges};
use super::{Code, Hardware};
use vp_host::network::{Method, PairMethod, Pooling, Shape};
use vp_tensors::{Operator, ValueId};

/// CubeCodes of the network's input, and of what each draft makes.
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

/// Puts a layer that changes codes before each draft that keeps them, where the model has others before than behind it. Behind a
/// pooling that averages it stands, where alone the narrower codes that means have are enough.
pub(crate) fn requantise(
    drafts: &mut Vec<Draft>,
    order: &mut Vec<usize>,
    floats: &FloatGraph,
    start: ValueId,
) {
    let code = |value: Option<ValueId>| floats.codes.get(&value?).copied();
    let mut made = Vec::with_capacity(order.len());
    for at in std::mem::take(order) {
        let own = code(drafts[at].value).filter(|_| keeps_codes(&drafts[at]));
        if matches!(drafts[at].kind, DraftKind::Pooling(Pooling { method: Method::Average, .. })) {
            made.push(at);
            let before = match averaged(drafts, at) {
                Some(of) => drafts[of].value,
                None => Some(start),
            };
            if own.is_some() && own != code(before) {
                made.push(recode_behind(drafts, at));
            }
            continue;
        }
        for place in 0..drafts[at].sources.len() {
            let source = drafts[at].sources[place];
            let (value, cube) = match source {
                Some(of) => (drafts[of].value, drafts[of].output),
                None => (Some(start), drafts[at].input),
            };
            let (Some(own), Some(of)) = (own, code(value)) else { continue };
            if own == of {
                continue;
            }
            drafts.push(recoding(format!("{} codes {place}", drafts[at].name), source, cube));
            let new = drafts.len() - 1;
            drafts[at].sources[place] = Some(new);
            made.push(new);
        }
        made.push(at);
    }
    *order = made;
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

/// The source of a pooling's first step.
fn averaged(drafts: &[Draft], at: usize) -> Source {
    let source = drafts[at].sources[0];
    match source {
        Some(of) if drafts[of].value.is_none() && matches!(drafts[of].kind, DraftKind::Pooling(_)) => {
            averaged(drafts, of)
        }
        _ => source,
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
pub(crate) fn codes(
    drafts: &[Draft],
    (start, floats): (ValueId, &FloatGraph),
    hardware: &Hardware,
    (ranges, method): (&Ranges, RangeMethod),
) -> CubeCodes {
    if !hardware.is_integer {
        return CubeCodes { input: Code::ONE, drafts: vec![Code::ONE; drafts.len()] };
    }
    let mut sets = Sets((0..=drafts.len()).collect());
    for (at, draft) in drafts.iter().enumerate().filter(|(_, draft)| keeps_codes(draft)) {
        draft.sources.iter().for_each(|source| sets.join(place(*source), at + 1));
    }
    let values: Vec<Option<ValueId>> =
        std::iter::once(Some(start)).chain(drafts.iter().map(|draft| draft.value)).collect();
    let mut given: Vec<Option<Code>> = vec![None; values.len()];
    let mut limits = vec![(0.0_f32, 0.0_f32); values.len()];
    let mut is_symmetric = vec![false; values.len()];
    for source in drafts.iter().filter(|draft| wants_zero(draft)).flat_map(|draft| &draft.sources) {
        let set = sets.of(place(*source));
        is_symmetric[set] = true;
    }
    for (at, value) in values.iter().enumerate() {
        let Some(value) = value else { continue };
        let set = sets.of(at);
        given[set] =
            given[set].or_else(|| floats.codes.get(value).copied()).or_else(|| of_integers(floats, *value));
        if let Some(distribution) = ranges.get(value) {
            let (low, high) = distribution.limits(method);
            limits[set] = (limits[set].0.min(low), limits[set].1.max(high));
        }
    }
    let mut code = |at: usize| {
        let set = sets.of(at);
        given[set].unwrap_or_else(|| Code::of_range(limits[set], is_symmetric[set]))
    };
    CubeCodes { input: code(0), drafts: (0..drafts.len()).map(|at| code(at + 1)).collect() }
}

/// CubeCodes of a value that is integers of 8 bits already.
fn of_integers(floats: &FloatGraph, value: ValueId) -> Option<Code> {
    match floats.graph.value(value).element_type {
        vp_tensors::ElementType::Int8 => Some(Code::ONE),
        vp_tensors::ElementType::Uint8 => Some(Code { scale: 1.0, zero: -128 }),
        _ => None,
    }
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
