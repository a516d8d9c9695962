//! Places of a network's cubes: which of them share memory, and which of its channels are whose.
//!
//! What is concatenated is not copied: each part is written where it belongs in the whole, from an atom on. What reads the
//! whole then knows of the places between (channels of weights that are zero).

use super::adapted::{SliceWay, made};
use crate::network::description::{Network, Operation, Slice};
use crate::network::layout::{Channels, Form, MemoryAddress, Tensor};
use crate::network::winograd;
use std::collections::HashSet;
use vp_models::nvdla::config::Config;

/// A cube: the network's input, or what a layer makes.
#[derive(Clone, Debug)]
pub(super) struct Value {
    /// Name of the cube.
    pub(super) name: String,
    pub(super) tensor: Tensor,
    /// Memory that it is in.
    pub(super) storage: usize,
    /// Surfaces of that before its own.
    pub(super) first_surface: u32,
    /// Columns and lines of that before its own: none but of a part of another cube.
    pub(super) before: [u32; 2],
    /// The cube of which it is a part, if it has no memory of its own.
    pub(super) part_of: Option<usize>,
}

/// Memory of one cube, or of several that are one.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// Elements that are there from the start.
    pub(super) constant: Option<Vec<u8>>,
}

/// All cubes of a network, and their memories.
#[derive(Clone)]
pub(super) struct Values {
    values: Vec<Value>,
    pub(super) storages: Vec<Storage>,
}

impl Values {
    /// The cubes of a network whose slices come to be in these ways.
    pub(super) fn of(network: &Network, ways: &[Option<SliceWay>], config: &Config) -> Values {
        let image = network.is_image && reads_pixels(network);
        let input = match image {
            true => Tensor::image(network.input, network.precision),
            false => {
                let channels = Channels::plain(network.input.channels);
                Tensor::features(network.input, channels, network.precision, config)
            }
        };
        let value = |name: &str, tensor, part_of| Value {
            name: name.to_owned(),
            tensor,
            storage: 0,
            first_surface: 0,
            before: [0; 2],
            part_of,
        };
        let mut values = vec![value("input", input, None)];
        for (layer, way) in network.layers.iter().zip(ways) {
            let source = |source: &Option<usize>| values[place_of(*source)].tensor.channels();
            let sources: Vec<Channels> = layer.sources.iter().map(source).collect();
            let channels = made(layer, &sources, *way, config.lanes(network.precision));
            let tensor = Tensor::features(layer.output, channels, network.precision, config);
            let part_of = (*way == Some(SliceWay::View)).then(|| place_of(layer.sources[0]));
            values.push(value(&layer.name, tensor, part_of));
        }
        let mut values = Values { values, storages: Vec::new() };
        values.place(network, config);
        values.place_parts(network, config);
        values
    }

    /// Returns the cube that a source gives.
    pub(super) fn of_source(&self, source: Option<usize>) -> &Value {
        &self.values[place_of(source)]
    }

    /// Returns the cube that a layer makes.
    pub(super) fn of_layer(&self, layer: usize) -> &Value {
        &self.values[layer + 1]
    }

    /// Gives each its memory: those that are concatenated that of the whole.
    fn place(&mut self, network: &Network, config: &Config) {
        let mut parts: Vec<Option<(usize, u32)>> = vec![None; self.values.len()];
        // A whole comes before its parts, from behind.
        for (place, layer) in network.layers.iter().enumerate().rev() {
            if self.values[place + 1].part_of.is_some() {
                continue;
            }
            self.settle(place + 1, parts[place + 1], &layer.operation);
            if layer.operation != Operation::Concatenation {
                continue;
            }
            let Value { storage, first_surface, .. } = self.values[place + 1];
            let mut surface = first_surface;
            for source in &layer.sources {
                let of = place_of(*source);
                // A part of one whole only: `adapted` copies others.
                debug_assert!(of > 0 && parts[of].is_none() && self.values[of].part_of.is_none());
                parts[of] = Some((storage, surface));
                surface += self.surfaces(of, config);
            }
        }
        self.settle(0, None, &Operation::Concatenation);
    }

    /// Gives parts of other cubes their places in those.
    fn place_parts(&mut self, network: &Network, config: &Config) {
        for (at, layer) in network.layers.iter().enumerate() {
            let (Operation::Slice(Slice { from: [x, y, channel] }), Some(whole)) =
                (&layer.operation, self.values[at + 1].part_of)
            else {
                continue;
            };
            let Value { storage, first_surface, before, tensor, .. } = self.values[whole].clone();
            let channels = *channel..channel + layer.output.channels;
            let surface = tensor.channels().apart(channels, config.lanes(network.precision));
            let part = &mut self.values[at + 1];
            part.storage = storage;
            part.first_surface = first_surface + surface.map_or(0, |(surface, _)| surface);
            part.before = [before[0] + x, before[1] + y];
            part.tensor.make_room(tensor.room());
        }
    }

    fn surfaces(&self, of: usize, config: &Config) -> u32 {
        let Tensor { shape, form, precision, .. } = &self.values[of].tensor;
        let places = match form {
            Form::Features { channels, .. } => channels.places(),
            Form::Pixels { .. } => shape.channels,
        };
        places.div_ceil(config.lanes(*precision))
    }

    fn settle(&mut self, of: usize, part: Option<(usize, u32)>, operation: &Operation) {
        let value = &mut self.values[of];
        (value.storage, value.first_surface) = part.unwrap_or((self.storages.len(), 0));
        if part.is_none() {
            let constant = match operation {
                Operation::Constant(elements) => Some(value.tensor.pack(elements)),
                _ => None,
            };
            let (name, bytes) = (value.name.clone(), value.tensor.bytes());
            self.storages.push(Storage { name, bytes, constant });
        }
    }

    /// Gives the memories of these cubes room for whole tiles. All that shares one has it: it has one distance of lines and of surfaces.
    pub(super) fn make_room(&mut self, cubes: &[Option<usize>]) {
        let storages: HashSet<usize> = cubes.iter().map(|&cube| self.of_source(cube).storage).collect();
        let own = |value: &&mut Value| value.part_of.is_none() && storages.contains(&value.storage);
        for value in self.values.iter_mut().filter(own) {
            let Value { tensor, first_surface, storage, .. } = value;
            let without = tensor.clone();
            tensor.make_room(winograd::room(tensor.shape));
            let storage = &mut self.storages[*storage];
            let before = u64::from(*first_surface) * u64::from(tensor.cube().surface_stride());
            storage.bytes = storage.bytes.max(before + tensor.bytes());
            if let Some(bytes) = &mut storage.constant {
                *bytes = tensor.pack(&without.unpack(bytes));
            }
        }
        for at in 0..self.values.len() {
            if let Some(whole) = self.values[at].part_of {
                let room = self.values[whole].tensor.room();
                self.values[at].tensor.make_room(room);
            }
        }
    }

    /// The places of all, from those of their memories.
    pub(super) fn settle_at(&mut self, places: &[MemoryAddress]) {
        for value in &mut self.values {
            let place = places[value.storage];
            value.tensor.place = match value.tensor.form {
                Form::Pixels { .. } => place,
                Form::Features { atom, .. } => {
                    let (cube, [x, y]) = (value.tensor.cube(), value.before);
                    let surfaces = u64::from(value.first_surface) * u64::from(cube.surface_stride());
                    place.plus(surfaces + u64::from(y) * u64::from(cube.line_stride()) + u64::from(x * atom))
                }
            };
        }
    }
}

/// The place of a source's cube.
fn place_of(source: Option<usize>) -> usize {
    source.map_or(0, |layer| layer + 1)
}

/// Returns true if all that reads the input can read pixels.
fn reads_pixels(network: &Network) -> bool {
    network.layers.iter().filter(|layer| layer.sources.contains(&None)).all(|layer| {
        matches!(&layer.operation, Operation::Convolution(convolution)
            if convolution.groups == 1 && convolution.added.is_none() && !convolution.window.is_dilated())
    })
}
