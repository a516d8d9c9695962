//! Distances of a network's numbers from those of its model in floats.

use crate::lower::Lowered;
use std::collections::HashMap;
use vp_host::network::NetworkLayer;
use vp_tensors::{GraphError, Tensor, ValueId};

/// Distance of numbers from what they should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Largest magnitude of what they should be.
    pub range: f32,
    /// Largest difference.
    pub largest: f32,
    /// Power of what they should be over that of the differences, in dB; infinite if there are none.
    pub signal_to_noise: f64,
}

impl Distance {
    /// The distance of numbers from those that are expected, as many.
    pub fn of(expected: &[f32], found: &[f32]) -> Distance {
        let range = expected.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
        let (mut largest, mut signal, mut noise) = (0.0_f32, 0.0, 0.0);
        for (expected, found) in expected.iter().zip(found) {
            let difference = if expected == found { 0.0 } else { found - expected };
            largest = if difference.is_nan() { f32::INFINITY } else { largest.max(difference.abs()) };
            signal += f64::from(*expected).powi(2);
            noise += f64::from(difference).powi(2);
        }
        let signal_to_noise = match noise {
            0.0 => f64::INFINITY,
            noise => 10.0 * (signal / noise).log10(),
        };
        Distance { range, largest, signal_to_noise }
    }
}

/// A layer's distance.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerDistance {
    /// Name of the layer.
    pub layer: String,
    /// The distance of what it makes.
    pub distance: Distance,
}

impl Lowered {
    /// Makes every layer that gives a value of the model an output of the network, behind those that it has.
    pub fn show_all_layers(&mut self) {
        for (at, origin) in self.layers.iter().enumerate() {
            if origin.value.is_some() && !self.network.outputs.contains(&at) {
                self.network.outputs.push(at);
            }
        }
    }

    /// The distances of those of the network's layers that are its outputs, for what the model's inputs are.
    ///
    /// # Errors
    /// When the model's floats cannot be computed.
    pub fn distances(
        &self,
        inputs: &[Tensor],
        outputs: &[Vec<i8>],
    ) -> Result<Vec<LayerDistance>, GraphError> {
        let wanted: HashMap<ValueId, (usize, usize)> = self
            .network
            .outputs
            .iter()
            .enumerate()
            .filter_map(|(output, &layer)| Some((self.layers[layer].value?, (output, layer))))
            .collect();
        let mut found: Vec<(usize, LayerDistance)> = Vec::new();
        self.floats.run_each(inputs, &mut |value, tensor| {
            let (Some(&(output, layer)), Some(expected)) = (wanted.get(&value), tensor.as_floats()) else {
                return;
            };
            let NetworkLayer { name, output: shape, .. } = &self.network.layers[layer];
            let numbers = self.layers[layer].output.decode(&outputs[output], *shape, self.network.precision);
            let distance = LayerDistance { layer: name.clone(), distance: Distance::of(expected, &numbers) };
            found.push((layer, distance));
        })?;
        found.sort_by_key(|(layer, _)| *layer);
        Ok(found.into_iter().map(|(_, distance)| distance).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_in_steps_and_in_decibels() {
        let distance = Distance::of(&[1.0, -2.0, 2.0], &[1.0, -2.0, 2.03]);
        assert_eq!(distance.range, 2.0);
        assert!((distance.largest - 0.03).abs() < 1e-6);
        assert!((distance.signal_to_noise - 40.0).abs() < 0.01, "{distance:?}");
        assert_eq!(Distance::of(&[1.0], &[1.0]).signal_to_noise, f64::INFINITY);
        assert_eq!(Distance::of(&[1.0], &[f32::NAN]).largest, f32::INFINITY);
    }
}
