//! Places of a network's cubes: which of them share memory, and which of its channels are whose.
//!
//! What is concatenated is not copied: each part is written where it belongs in the whole, from an atom on. What reads the
//! whole then knows of the places between (channels of weights that are zero).

use crate::network::description::{Network, NetworkLayer, Operation};
use crate::network::error::PlanError;
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
    pub(super) fn of(network: &Network, config: &Config) -> Result<Values, PlanError> {
        let image = network.is_image && reads_pixels(network);
        let input = match image {
            true => Tensor::image(network.input, network.precision),
            false => {
                let channels = Channels::plain(network.input.channels);
                Tensor::features(network.input, channels, network.precision, config)
            }
        };
        let value =
            |name: &str, tensor| Value { name: name.to_owned(), tensor, storage: 0, first_surface: 0 };
        let mut values = vec![value("input", input)];
        for layer in &network.layers {
            let channels = channels(layer, &values, config.lanes(network.precision))?;
            let tensor = Tensor::features(layer.output, channels, network.precision, config);
            values.push(value(&layer.name, tensor));
        }
        let mut values = Values { values, storages: Vec::new() };
        values.place(network, config)?;
        Ok(values)
    }

    /// Returns the cube that a source gives.
    pub(super) fn of_source(&self, source: Option<usize>) -> &Value {
        &self.values[source.map_or(0, |layer| layer + 1)]
    }

    /// Returns the cube that a layer makes.
    pub(super) fn of_layer(&self, layer: usize) -> &Value {
        &self.values[layer + 1]
    }

    /// Gives each its memory: those that are concatenated that of the whole.
    fn place(&mut self, network: &Network, config: &Config) -> Result<(), PlanError> {
        let mut parts: Vec<Option<(usize, u32)>> = vec![None; self.values.len()];
        // A whole comes before its parts, from behind.
        for (place, layer) in network.layers.iter().enumerate().rev() {
            self.settle(place + 1, parts[place + 1], &layer.operation);
            if layer.operation != Operation::Concatenation {
                continue;
            }
            let Value { storage, first_surface, .. } = self.values[place + 1];
            let mut surface = first_surface;
            for source in &layer.sources {
                let of = source.map_or(0, |layer| layer + 1);
                let is_constant =
                    source.is_some_and(|of| matches!(network.layers[of].operation, Operation::Constant(_)));
                if of == 0 || is_constant || parts[of].is_some() {
                    let part = self.values[of].name.clone();
                    return Err(PlanError::Concatenation { layer: layer.name.clone(), part });
                }
                parts[of] = Some((storage, surface));
                surface += self.surfaces(of, config);
            }
        }
        self.settle(0, None, &Operation::Concatenation);
        Ok(())
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
        for value in self.values.iter_mut().filter(|value| storages.contains(&value.storage)) {
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
    }

    /// The places of all, from those of their memories.
    pub(super) fn settle_at(&mut self, places: &[MemoryAddress]) {
        for value in &mut self.values {
            let place = places[value.storage];
            value.tensor.place = match value.tensor.form {
                Form::Pixels { .. } => place,
                Form::Features { .. } => place
                    .plus(u64::from(value.first_surface) * u64::from(value.tensor.cube().surface_stride())),
            };
        }
    }
}

/// Returns true if all that reads the input can read pixels.
fn reads_pixels(network: &Network) -> bool {
    network.layers.iter().filter(|layer| layer.sources.contains(&None)).all(|layer| {
        matches!(&layer.operation, Operation::Convolution(convolution)
            if convolution.groups == 1 && convolution.added.is_none() && !convolution.window.is_dilated())
    })
}

/// Returns the channels of its cube that a layer's output are.
fn channels(layer: &NetworkLayer, before: &[Value], lanes: u32) -> Result<Channels, PlanError> {
    let of = |source: &Option<usize>| match &before[source.map_or(0, |layer| layer + 1)].tensor {
        Tensor { form: Form::Features { channels, .. }, .. } => channels.clone(),
        Tensor { shape, .. } => Channels::plain(shape.channels),
    };
    let sources: Vec<Channels> = layer.sources.iter().map(of).collect();
    let gaps = |why| PlanError::Channels { layer: layer.name.clone(), why };
    match &layer.operation {
        Operation::Pooling(_) | Operation::Activation(_) => Ok(sources[0].clone()),
        Operation::Concatenation => Ok(Channels::joined(&sources, lanes)),
        Operation::Sum(_) | Operation::Elementwise(_) | Operation::ChannelProduct(_)
            if sources[0] != sources[1] =>
        {
            Err(gaps("the channels of its inputs do not lie alike"))
        }
        Operation::Sum(_)
        | Operation::Elementwise(_)
        | Operation::ChannelProduct(_)
        | Operation::Scaling(_) => Ok(sources[0].clone()),
        Operation::Convolution(_) if sources.get(1).is_some_and(|added| !added.is_plain()) => {
            Err(gaps("the channels of what it adds do not lie one behind the other"))
        }
        Operation::Normalisation(_) if !sources[0].is_plain() => {
            Err(gaps("its window would lie over places between its input's channels"))
        }
        _ => Ok(Channels::plain(layer.output.channels)),
    }
}
