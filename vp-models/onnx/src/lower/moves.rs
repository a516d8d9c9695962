//! Nodes whose elements are there already: cubes side by side, parts of them, pixels in another order, and other views.

use super::draft::{Draft, DraftKind, Source};
use super::drafter::{Drafter, PlacedValue};
use super::nodes::{Decided, cpu, output_of};
use super::view::View;
use vp_host::network::{Interleaving, Shape};
use vp_tensors::{Node, Resize, Tensor, ValueId, shape_text};

/// Reason for which a node that moves elements of what the CPU makes is the CPU's.
pub const MOVED: &str = "what it moves is the CPU's";

/// Reason of nodes that only move elements, and no unit does that.
pub const MOVES: &str = "its elements have to be moved";

impl Drafter<'_> {
    pub(crate) fn concatenation(&mut self, at: usize, node: &Node, axis: i64) -> Decided {
        if self.is_behind_units(at) {
            cpu!("it stands behind all units");
        }
        let output = output_of(node);
        let shape = self.shape(output);
        let axis = if axis < 0 { axis + shape.len() as i64 } else { axis };
        let inputs: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
        if axis != 1 || shape.len() != 4 || shape[0] != 1 {
            cpu!("its axis is not the channels of a cube");
        }
        if inputs.iter().any(|input| self.floats.graph.constant(*input).is_some()) {
            cpu!("a part of it is a constant");
        }
        let Some(view) = View::natural(shape) else { cpu!("a tensor of {} is no cube", shape_text(shape)) };
        let mut sources: Vec<Source> = Vec::new();
        for &input in &inputs {
            let Some(placed) = self.nchw(input)? else { cpu!("a part of it is no cube") };
            sources.push(placed.source);
        }
        let draft = self.draft(at, DraftKind::Concatenation, sources, [view.cube; 2], output);
        self.add(draft, output, view);
        Ok(Ok(()))
    }

    /// A part of a cube from there on.
    fn part_of(&mut self, at: usize, input: ValueId, from: [u32; 3], output: ValueId) -> Decided {
        let Some(whole) = self.nchw(input)? else { cpu!("its input is no cube") };
        let Some(view) = View::natural(self.shape(output)) else { cpu!("its output is no cube") };
        let draft =
            self.draft(at, DraftKind::Slice(from), vec![whole.source], [whole.view.cube, view.cube], output);
        self.add(draft, output, view);
        Ok(Ok(()))
    }

    pub(crate) fn split(&mut self, at: usize, node: &Node, axis: i64) -> Decided {
        let Some(Some(input)) = node.inputs.first().copied() else { cpu!("it reads nothing") };
        let shape = self.shape(input);
        let axis = if axis < 0 { axis + shape.len() as i64 } else { axis };
        if self.is_before_units(at) || self.is_behind_units(at) {
            cpu!("it stands beside all units");
        }
        if let Some(why) = self.no_numbers([("input", input)].into_iter()) {
            cpu!("{why}");
        }
        if axis != 1 || shape.len() != 4 || shape[0] != 1 {
            cpu!("its axis is not the channels of a cube");
        }
        let mut from = 0;
        for &output in &node.outputs {
            if let Err(why) = self.part_of(at, input, [0, 0, from], output)? {
                return Ok(Err(why));
            }
            from += self.shape(output)[1] as u32;
        }
        Ok(Ok(()))
    }

    pub(crate) fn slice(&mut self, at: usize, node: &Node, input: ValueId, output: ValueId) -> Decided {
        if self.is_behind_units(at) {
            cpu!("it stands behind all units");
        }
        let integers = |place: usize| {
            let id = node.inputs.get(place).copied().flatten()?;
            self.floats.graph.constant(id)?.to_integers()
        };
        let shape = self.shape(input);
        let Some(starts) = integers(1) else { cpu!("where it begins is no constant") };
        let axes = integers(3).unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = integers(4).unwrap_or_else(|| vec![1; starts.len()]);
        if shape.len() != 4 || steps.iter().any(|step| *step != 1) {
            cpu!("its input is no cube, or it takes not each element");
        }
        let mut from = [0; 4];
        for (start, axis) in starts.iter().zip(&axes) {
            let axis = if *axis < 0 { axis + 4 } else { *axis } as usize;
            let size = shape[axis] as i64;
            from[axis] = (if *start < 0 { start + size } else { *start }).clamp(0, size) as u32;
        }
        match self.shape(output).contains(&0) {
            true => cpu!("nothing is left"),
            false => self.part_of(at, input, [from[3], from[2], from[1]], output),
        }
    }

    pub(crate) fn resize(&mut self, at: usize, node: &Node, resize: Resize, output: ValueId) -> Decided {
        let Some(Some(input)) = node.inputs.first().copied() else { cpu!("it reads nothing") };
        let (from, to) = (self.shape(input), self.shape(output));
        let factor = match (from, to) {
            (&[1, c, h, w], &[1, d, y, x]) if c == d && y % h == 0 && x % w == 0 && y / h == x / w => y / h,
            _ => cpu!("no unit resizes but by one whole factor"),
        };
        let is_factor = |(scale, times): (&f32, f32)| *scale == times;
        let has_factors = node.inputs.get(2).copied().flatten().is_none_or(|scales| {
            let scales = self.floats.graph.constant(scales).map(Tensor::to_floats);
            let times = [1.0, 1.0, factor as f32, factor as f32];
            scales.is_none_or(|scales| scales.iter().zip(times).all(is_factor))
        });
        let repeats = resize.repeats(from[2], to[2]) && resize.repeats(from[3], to[3]);
        if !has_factors || !repeats || !(1..=16).contains(&factor) {
            cpu!("no unit resizes but by repeating pixels, up to 16 times");
        }
        let Some(whole) = self.nchw(input)? else { cpu!("its input is no cube") };
        let Some(view) = View::natural(to) else { cpu!("its output is no cube") };
        let kind = DraftKind::Upsampling(factor as u32);
        let draft = self.draft(at, kind, vec![whole.source], [whole.view.cube, view.cube], output);
        self.add(draft, output, view);
        Ok(Ok(()))
    }

    /// Blocks of channels that become blocks of pixels: columns of a line's blocks in turn, and then the lines.
    pub(crate) fn depth_to_space(
        &mut self,
        at: usize,
        block: usize,
        input: ValueId,
        output: ValueId,
    ) -> Decided {
        if self.is_behind_units(at) {
            cpu!("it stands behind all units");
        }
        if !(1..=16).contains(&block) {
            cpu!("its blocks have more than 16 columns");
        }
        let Some(whole) = self.nchw(input)? else { cpu!("its input is no cube") };
        let Some(view) = View::natural(self.shape(output)) else { cpu!("its output is no cube") };
        let (cube, count) = (whole.view.cube, block as u32);
        let part = Shape { channels: view.cube.channels, ..cube };
        let line = Shape { width: view.cube.width, ..part };
        let mut lines = Vec::with_capacity(block);
        for row in 0..count {
            let columns = (0..count).map(|column| {
                let from = [0, 0, (row * count + column) * part.channels];
                let kind = DraftKind::Slice(from);
                let draft = self.draft(at, kind, vec![whole.source], [cube, part], output);
                Some(self.push(Draft { value: None, ..draft }))
            });
            let columns = columns.collect();
            let kind = DraftKind::Interleaving(Interleaving::Columns);
            let draft = self.draft(at, kind, columns, [part, line], output);
            lines.push(Some(self.push(Draft { value: None, ..draft })));
        }
        let kind = DraftKind::Interleaving(Interleaving::Lines);
        let draft = self.draft(at, kind, lines, [line, view.cube], output);
        self.add(draft, output, view);
        Ok(Ok(()))
    }

    /// A tensor that is there already, seen otherwise.
    pub(crate) fn viewed(
        &mut self,
        at: usize,
        input: ValueId,
        output: ValueId,
        seen: impl Fn(&View, &[usize]) -> Option<View>,
    ) -> Decided {
        let Some(placed) = self.places.get(&input) else { cpu!("{MOVED}") };
        let Some(view) = seen(&placed.view, self.shape(output)) else {
            cpu!("{MOVES}");
        };
        let source = placed.source;
        match (self.code(input), self.code(output)) {
            (own, Some(wanted)) if own != Some(wanted) => {
                let channels = view.cube.channels as usize;
                let kind = DraftKind::Scaling { scales: vec![1.0; channels], addends: vec![0.0; channels] };
                let draft = self.draft(at, kind, vec![source], [view.cube; 2], output);
                self.add(draft, output, view);
            }
            _ => drop(self.places.insert(output, PlacedValue { source, view })),
        }
        Ok(Ok(()))
    }
}
