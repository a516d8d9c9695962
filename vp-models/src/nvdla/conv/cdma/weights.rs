//! A layer's weights on their way from the memory interface into the convolution buffer.

use super::intake::{WeightArrival, WeightIntake};
use super::requests::{Task, WeightRequests};
use super::{Cdma, Watch};
use crate::bus::axi::ReadStream;
use crate::nvdla::conv::weight_set::Stored;
use crate::nvdla::float::SpecialCounts;
use crate::nvdla::numeric::Precision;
use vp_core::Time;

/// Reads that are put into the buffer together.
struct Batch {
    reads: usize,
    bytes: u32,
    /// True if the buffer has room for all of them.
    fits: bool,
}

/// Writer of a layer's weights to the buffer. It tells which groups of kernels CSC can use when, and counts the cycles in
/// which reads were outstanding.
///
/// CSC sees of weights only that a group has come. So what the buffer has room for is put there together, with the
/// last read of a group, or with the last that is asked for.
pub(super) struct WeightWriter<'a> {
    cdma: &'a Cdma,
    task: &'a Task<'a>,
    requests: &'a WeightRequests,
    stream: &'a ReadStream,
    /// Times at which beats came.
    came: &'a WeightIntake,
    watch: &'a Watch,
    arrival: WeightArrival,
    /// Time from a beat's coming to its arrival at the buffer.
    latency: Time,
    /// Bytes of the weight banks.
    capacity: u32,
    /// Number of groups of kernels.
    groups: u32,
    /// The first group that CSC cannot use yet.
    group: u32,
    /// Bytes of the weights up to the end of that group.
    group_end: u64,
    /// Bytes written so far.
    written: u64,
    /// Time at which the last read was taken from the bus.
    taken: Time,
}

impl<'a> WeightWriter<'a> {
    pub(super) fn new(
        cdma: &'a Cdma,
        task: &'a Task<'a>,
        requests: &'a WeightRequests,
        (came, watch): (&'a WeightIntake, &'a Watch),
    ) -> Self {
        let Task { layer, hardware, .. } = *task;
        WeightWriter {
            cdma,
            task,
            requests,
            stream: cdma.weights.stream(layer.weights.ram),
            came,
            watch,
            arrival: WeightArrival::new(cdma.cycle),
            latency: cdma.cycles(cdma.timing.conv.weight_arrival),
            capacity: layer.banks.weight * hardware.bank_bytes(),
            groups: layer.weights.kernels.div_ceil(hardware.group_kernels(layer.precision)),
            group: 0,
            group_end: requests.group_end(0),
            written: 0,
            taken: Time::ZERO,
        }
    }

    /// Writes all weights; ends when CSC can use all groups.
    pub(super) async fn run(mut self) {
        while self.requests.asked.some().await {
            let Batch { reads, bytes, fits } = self.next_batch();
            self.stream.wait_for_data(bytes as usize).await;
            if fits {
                self.stream.look(bytes as usize, |data| self.put(data));
            }
            for _ in 0..reads {
                let Some((bytes, asked)) = self.requests.asked.pop() else { return };
                if fits {
                    let due = self.stream.drop_first(bytes as usize);
                    self.note_taken(due, asked);
                    self.write_held(bytes);
                } else {
                    self.note_taken(self.stream.due(bytes as usize), asked);
                    self.write_with_room(bytes).await;
                }
            }
        }
        self.cdma.sim.wait_until(self.arrival.last_usable()).await;
    }

    /// Bytes that there is room for.
    fn room(&self) -> u32 {
        self.capacity.saturating_sub(self.cdma.buffer.weights_held())
    }

    /// Picks the reads up to the one that completes a group, unless room is lacking.
    fn next_batch(&self) -> Batch {
        let room = self.room();
        let missing = match self.group < self.groups {
            true => (self.group_end - self.written).min(room.into()) as u32,
            false => 0,
        };
        let (mut reads, mut bytes) = (0, 0);
        self.requests.asked.with(|asked| {
            for &(next, _) in asked {
                if reads > 0 && (bytes >= missing || bytes + next > room) {
                    break;
                }
                (reads, bytes) = (reads + 1, bytes + next);
            }
        });
        Batch { reads, bytes, fits: bytes <= room }
    }

    fn put(&self, data: &[u8]) {
        if self.task.layer.precision == Precision::Fp16 {
            self.watch.count(SpecialCounts::of(data));
        }
        self.cdma.buffer.put_weights(self.task.number, Stored::Weights, data);
    }

    /// Notes that a read, which was asked for at that time, came at `due`.
    fn note_taken(&mut self, due: Time, asked: Time) {
        self.taken = self.taken.max(asked).max(due);
    }

    /// Returns true if the next bytes complete a group.
    fn completes_group(&self, bytes: u32) -> bool {
        self.group < self.groups && self.written + u64::from(bytes) >= self.group_end
    }

    /// Writes a read whose bytes are in the buffer.
    fn write_held(&mut self, bytes: u32) {
        if self.came.is_empty() && !self.completes_group(bytes) {
            self.arrival.write(self.taken + self.latency, bytes.div_ceil(self.cdma.weight_beat));
            self.written += u64::from(bytes);
            return;
        }
        let mut left = bytes;
        while left > 0 {
            let beat = self.beat(left);
            let due = self.came.next().unwrap_or(self.taken) + self.latency;
            self.write_beat(beat, due);
            left -= beat;
        }
    }

    /// Writes a read beat by beat, each when it has room.
    async fn write_with_room(&mut self, bytes: u32) {
        let mut left = bytes;
        while left > 0 {
            let beat = self.beat(left);
            let mut due = self.came.next().unwrap_or(self.taken) + self.latency;
            if self.wait_for_room(beat).await {
                due = due.max(self.taken);
            }
            self.stream.take_all(beat as usize, |data| self.put(data));
            self.write_beat(beat, due);
            left -= beat;
        }
    }

    /// Returns the bytes of the next beat of a read, of which so many are left.
    fn beat(&self, left: u32) -> u32 {
        // Of a beat that does not fit, what does may be all that a group lacks.
        let room = self.room();
        left.min(self.cdma.weight_beat).min(if room > 0 { room } else { u32::MAX })
    }

    /// Notes that a beat is written from `due` on.
    fn write_beat(&mut self, bytes: u32, due: Time) {
        self.arrival.write(due, 1);
        self.written += u64::from(bytes);
        if self.completes_group(0) {
            self.tell_usable();
        }
    }

    /// Waits until a beat has room; false if it had.
    async fn wait_for_room(&mut self, beat: u32) -> bool {
        let buffer = &self.cdma.buffer;
        let lacks = buffer.weights_held() + beat > self.capacity;
        if lacks {
            buffer.weights_released(beat, self.capacity).await;
            self.taken = self.cdma.sim.now();
        }
        lacks
    }

    /// Tells CSC of the groups that are complete.
    fn tell_usable(&mut self) {
        while self.group < self.groups && self.written >= self.group_end {
            let usable = self.arrival.usable();
            self.cdma.buffer.weights_usable(self.task.number, self.group_end, usable);
            self.group += 1;
            self.group_end = self.requests.group_end(self.group);
        }
    }
}
