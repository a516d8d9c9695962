//! Columns or lines of cubes in turn, by SDP from memory to memory.
//!
//! A step copies one cube, and writes it with gaps that the other cubes' steps fill: lines at several times their distance; columns as
//! lines of one pixel, whose distance may be as small as an atom.

use super::outline::{self, Flow};
use super::steps::Planner;
use super::task::Task;
use super::{StepOutline, Work};
use crate::network::description::{Converter, Interleaving, NetworkLayer, Shape};
use crate::network::layout::{Cube, CubePlace};
use crate::network::registers::{Cubes, Process, Stage};
use crate::program::Program;
use vp_models::nvdla::glb::InterruptSource;
use vp_models::nvdla::refused::Refused;
use vp_models::nvdla::registers::Unit;

/// A copy of a cube, or of a part of it, to a place whose lines and surfaces have other distances.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Strided {
    shape: Shape,
    from: CubePlace,
    to: CubePlace,
}

impl Planner<'_> {
    /// Steps for each of the cubes.
    pub(super) fn interleaving(
        &mut self,
        task: &Task,
        layer: &NetworkLayer,
        along: Interleaving,
    ) -> Result<(), Refused> {
        let made = self.cube(Some(task.layer));
        for (at, &source) in layer.sources.iter().enumerate() {
            let place = (at as u32, layer.sources.len() as u32);
            for copy in copies(self.cube(source), made, along, place) {
                self.strided(task, source, copy)?;
            }
        }
        Ok(())
    }

    fn strided(&mut self, task: &Task, source: Option<usize>, copy: Strided) -> Result<(), Refused> {
        let Strided { shape, from, to } = copy;
        let precision = self.network.precision;
        let process = Process {
            precision,
            output: shape,
            source: Some(from),
            stages: [Stage::default(); 2],
            table: None,
            converter: Converter::NONE,
            destination: Some(to),
            cubes: Cubes::ONE,
            tiles: false,
        };
        let mut program = Program::new(self.config.register_map);
        let process = process.layer(self.config.memory_atom);
        program.encoded(&process.encode(self.config.register_map, &self.config.into())?);
        let units = vec![Unit::SdpRdma, Unit::Sdp];
        let work = Work::Hardware { units, program, done: vec![InterruptSource::Sdp], table: None };
        let (reads, writes) = (vec![self.whole(source)], self.whole(Some(task.layer)));
        self.push_part(task, work, reads, writes);
        let bytes = shape.elements() as u64 * precision.bytes() as u64;
        let outline = StepOutline {
            input_bytes: bytes,
            output_bytes: bytes,
            output: Some(self.values().of_layer(task.layer).tensor.place),
            ..StepOutline::default()
        };
        let cycles =
            outline::cycles(&outline, Flow { sdp: shape.elements() as u64, ..Flow::default() }, self.config);
        self.outline(StepOutline { cycles, ..outline });
        Ok(())
    }
}

/// Copies of a cube that is one of so many, at its place among them, into the cube of all.
fn copies(from: Cube, to: Cube, along: Interleaving, (at, count): (u32, u32)) -> Vec<Strided> {
    let (source, made) = (from.at_line(0), to.at_line(0));
    let shape = Shape { channels: to.shape.channels, ..from.shape };
    let mut copies = Vec::new();
    match along {
        Interleaving::Lines => copies.push(Strided {
            shape,
            from: source,
            to: CubePlace { line_stride: count * made.line_stride, ..to.at_line(at) },
        }),
        Interleaving::Columns => {
            let atom = from.atom;
            // Pixels that lie one behind the other there and here.
            let is_one_run = to.room[0] == count * from.room[0];
            let runs = match is_one_run {
                true => vec![(0, from.room[0] * (shape.height - 1) + shape.width)],
                false => (0..shape.height).map(|line| (line, shape.width)).collect(),
            };
            for (line, pixels) in runs {
                let [source, made] = [from, to].map(|cube| cube.at_line(line));
                for first in (0..pixels).step_by(Shape::MOST as usize) {
                    let height = (pixels - first).min(Shape::MOST);
                    let place = |place: CubePlace, pixel: u32, stride: u32| CubePlace {
                        place: place.place.plus(u64::from(pixel) * u64::from(atom)),
                        line_stride: stride * atom,
                        ..place
                    };
                    copies.push(Strided {
                        shape: Shape { width: 1, height, ..shape },
                        from: place(source, first, 1),
                        to: place(made, count * first + at, count),
                    });
                }
            }
        }
    }
    copies.into_iter().flat_map(|copy| by_surface(copy, from.lanes)).collect()
}

/// A copy of one pixel surface by surface: SDP takes one only where its surfaces are back to back.
fn by_surface(copy: Strided, lanes: u32) -> Vec<Strided> {
    let Strided { shape, from, to } = copy;
    if [shape.width, shape.height] != [1, 1] {
        return vec![copy];
    }
    let surface = |at: u32| {
        let place = |cube: CubePlace| CubePlace {
            place: cube.place.plus(u64::from(at) * u64::from(cube.surface_stride)),
            ..cube
        };
        let channels = (shape.channels - at * lanes).min(lanes);
        Strided { shape: Shape { channels, ..shape }, from: place(from), to: place(to) }
    };
    (0..shape.channels.div_ceil(lanes)).map(surface).collect()
}
