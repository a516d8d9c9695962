//! CSC, the sequence controller: takes input and weights from the convolution buffer, and has the MAC arrays compute
//! stripe after stripe.
//!
//! [`layer`] decodes a register group, [`stripes`] is its shape in time; here is the process. A layer begins when
//! all its input is in the buffer; a group of kernels when its weights are; a stripe ends when CACC has room for
//! its sums.

pub mod layer;
pub mod stripes;

use self::layer::{Kept, Layer};
use super::buffer::{Buffer, Fetch};
use super::cacc::{Message, Stripe};
use super::cmac::{Arrays, Sums};
use super::delivery::Delivery;
use super::elements::Elements;
use super::hardware::Hardware;
use crate::bus::DelayLine;
use crate::nvdla::control::Control;
use crate::nvdla::engine::Surroundings;
use crate::nvdla::refused::Refused;
use crate::nvdla::registers::Group;
use std::rc::Rc;
use vp_core::{Sim, Time};

/// The engine.
pub(super) struct Csc {
    pub(super) sim: Sim,
    pub(super) cycle: Time,
    pub(super) hardware: Hardware,
    pub(super) control: Rc<Control>,
    pub(super) arrays: Arrays,
    pub(super) buffer: Rc<Buffer>,
    pub(super) delivery: Rc<Delivery>,
    pub(super) sums: Rc<DelayLine<Message>>,
}

/// What a layer has left in the buffer.
#[derive(Clone, Copy)]
struct Before {
    was_image: bool,
    /// The weights that stay: whose they are, and how many bytes.
    weights: Option<(u64, u64)>,
}

impl Csc {
    pub(super) fn new(
        around: &Surroundings<'_>,
        control: Rc<Control>,
        arrays: Arrays,
        buffer: Rc<Buffer>,
        delivery: Rc<Delivery>,
        sums: Rc<DelayLine<Message>>,
    ) -> Rc<Csc> {
        Rc::new(Csc {
            sim: around.sim.clone(),
            cycle: around.cycle,
            hardware: Hardware::from(around.config),
            control,
            arrays,
            buffer,
            delivery,
            sums,
        })
    }

    /// Runs layers one after the other; ends never.
    pub(super) async fn run(self: Rc<Self>) {
        let mut before = None;
        for number in 0.. {
            let (group, registers, _) = self.control.next_group().await;
            let decoded = Layer::decode(&registers, &self.hardware);
            let arrays = self.arrays.turn().await;
            let fetch = self.buffer.announced().await;
            self.buffer.begin(number, &fetch);
            if fetch.clear_weights {
                before = before.map(|before| Before { weights: None, ..before });
            }
            let layer = self.checked(decoded, &registers, &arrays, number, &fetch, before);
            match layer {
                Some((layer, weights)) => {
                    let (kernel, stride) = (layer.geometry.kernel, layer.geometry.stride);
                    let label = format!(
                        "{}x{}x{}x{} stride {}x{}",
                        kernel.width, kernel.height, kernel.channels, layer.kernels, stride.x, stride.y
                    );
                    self.control.begin(&label, group);
                    self.sequence(&layer, weights).await;
                    self.control.end(&label, group);
                    let left =
                        layer.reuse.keep_weight.then(|| (weights, layer.weights_end(layer.groups() - 1)));
                    before = Some(Before { was_image: layer.is_image, weights: left });
                }
                None => {
                    self.buffer.cancel(number, &fetch);
                    self.sums.push(Message::Abandoned);
                    before = None;
                }
            }
            self.arrays.finish();
            self.control.finish();
        }
    }

    /// The layer, and whose weights it uses, if all units agree on it; else says why not. Drops from the buffer
    /// what nobody will use.
    fn checked(
        &self,
        decoded: Result<Layer, Refused>,
        registers: &Group,
        arrays: &[Group; 2],
        number: u64,
        fetch: &Fetch,
        before: Option<Before>,
    ) -> Option<(Layer, u64)> {
        let warn = |control: &Control, refused: &Refused| control.warn(&format!("layer refused: {refused}"));
        let mut layer = decoded.inspect_err(|refused| warn(&self.control, refused)).ok()?;
        // CDMA has said why.
        let cdma = fetch.registers.as_ref()?;
        if let Err((control, refused)) = self.arrays.check(arrays, layer.precision, &self.hardware) {
            warn(control, &refused);
            return None;
        }
        if !layer.reuse.data || before.is_none_or(|before| before.was_image != layer.is_image) {
            self.buffer.drop_data_before(number);
        }
        let kept_weights = before.and_then(|before| before.weights);
        if fetch.weights {
            self.buffer.drop_weights_before(number);
        }
        let kept = Kept {
            slices: self.buffer.kept_slices(number) as u32,
            slice: self.buffer.kept_slice(),
            weight_bytes: kept_weights.map_or(0, |(_, bytes)| bytes),
        };
        if let Err(refused) = layer.agree(registers, fetch, cdma, kept) {
            warn(&self.control, &refused);
            return None;
        }
        let weights = if fetch.weights { number } else { kept_weights?.0 };
        Some((layer, weights))
    }

    /// Has all sums of a layer computed.
    async fn sequence(&self, layer: &Layer, weights: u64) {
        let lines = layer.lines as usize;
        self.buffer.slices(lines).await;
        let window = self.buffer.with_slices(lines, |slices| layer.frame.lay(slices));
        let mut start = 0;
        for group in 0..layer.groups() {
            let end = layer.weights_end(group);
            self.buffer.weights(weights, end).await;
            let packed =
                Elements::from_bytes(layer.precision, &self.buffer.weight_bytes(weights, start..end));
            self.stripes(layer, group, &window, &packed).await;
            if !layer.reuse.keep_weight {
                self.buffer.release_weights(weights, end);
            }
            start = end;
        }
        if !layer.reuse.keep_data {
            self.buffer.release_slices(layer.released as usize);
        }
        if !layer.reuse.keep_weight {
            self.buffer.consume_weights(weights);
        }
    }

    /// One group of kernels over all positions.
    async fn stripes(&self, layer: &Layer, group: u32, window: &Elements, packed: &Elements) {
        let kernels = layer.kernels_of(group);
        let weights = layer.order.unpack(kernels as usize, packed);
        let positions = layer.positions();
        let window = (window, layer.frame.pitch());
        let mut sums = Sums::new(layer.geometry, window, weights, kernels as usize, positions as usize);
        let mut position = 0;
        while position < positions {
            for length in stripes::stripes(layer.run, layer.stripe) {
                let package = u64::from(stripes::package_cycles(length, kernels, self.hardware.stripe.0));
                let total = u64::from(layer.packages) * package;
                // The last package waits until its sums have room.
                if self.delivery.has_credits(length) {
                    self.delivery.take_credits(length).await;
                    self.sim.wait(self.cycle * total).await;
                } else {
                    self.sim.wait(self.cycle * (total - package)).await;
                    self.delivery.take_credits(length).await;
                    self.sim.wait(self.cycle * package).await;
                }
                let range = position as usize..(position + length) as usize;
                position += length;
                let last = position == positions && group + 1 == layer.groups();
                self.sums.push(Message::Stripe(Stripe {
                    positions: length,
                    kernels: kernels as usize,
                    sums: sums.of(range).to_vec(),
                    last,
                }));
            }
        }
    }
}
