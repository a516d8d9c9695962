//! The two ends of an engine's DMA: lines to read, atoms to write back.

use super::cube::{Packing, Ram, Surface};
use crate::bus::axi::{
    Begin, IntakeStage, Interconnect, ReadStream, ReadStreamConfig, WritePathConfig, WriteStream,
};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::{Sim, Time};

/// Number of bursts that a write DMA may have waiting for the arbiter, where its way there is not modelled.
pub(crate) const WRITE_BUFFER: usize = 256;

/// The largest memory atom, in bytes.
pub(crate) const MAX_ATOM: usize = 32;

/// One memory atom; configurations with smaller ones use the first bytes.
pub(crate) type Atom = [u8; MAX_ATOM];

/// Atom that SDP hands to PDP on the fly.
#[derive(Clone, Copy)]
pub(crate) struct Passed {
    pub(crate) atom: Atom,
    /// Nothing of this layer follows.
    pub(crate) last: bool,
    /// The layer that should have come was refused: the atom means nothing.
    pub(crate) abandoned: bool,
    /// True if its place is free for another atom when its first half has left, not the other.
    pub(crate) counts_by_first: bool,
}

impl Passed {
    pub(crate) const EMPTY: Passed =
        Passed { atom: [0; MAX_ATOM], last: false, abandoned: false, counts_by_first: false };
    /// In place of a layer that does not come.
    pub(crate) const ABANDONED: Passed = Passed { last: true, abandoned: true, ..Passed::EMPTY };
}

/// The memory interfaces an engine can reach, by the `RAM_TYPE` bit of its registers.
#[derive(Clone)]
pub(crate) struct MemoryPorts {
    pub(crate) primary: Rc<Interconnect>,
    pub(crate) secondary: Option<Rc<Interconnect>>,
}

impl MemoryPorts {
    /// A configuration without a second interface sends everything to the first (its RAM type is not wired).
    pub(crate) fn index(&self, ram: Ram) -> usize {
        usize::from(ram == Ram::Secondary && self.secondary.is_some())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Rc<Interconnect>> {
        std::iter::once(&self.primary).chain(&self.secondary)
    }
}

/// A cube's lines: for each surface, each line, `width` pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) surface: Surface,
    pub(crate) first_column: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) surfaces: u32,
    /// Surfaces whose lines take turns.
    pub(crate) together: u32,
}

impl Lines {
    /// The requests a DMA makes for them: address and bytes, in order. What is packed is one request.
    pub(crate) fn requests(self) -> impl Iterator<Item = (u64, u32)> {
        let Lines { surface, first_column, width, height, surfaces, together } = self;
        let packed = surface.packing == Packing::Packed;
        let (height, surfaces, pixels) = if packed { (1, 1, surfaces) } else { (height, surfaces, width) };
        let together = together.max(1);
        (0..surfaces).step_by(together as usize).flat_map(move |first| {
            let planes = first..surfaces.min(first.saturating_add(together));
            (0..height).flat_map(move |y| {
                planes.clone().map(move |plane| {
                    (surface.address(plane, first_column, y), pixels.saturating_mul(surface.pixel))
                })
            })
        })
    }
}

/// One read client of an engine: on each memory interface a stream, of which a layer uses one.
pub(crate) struct ReadDma {
    streams: Vec<Rc<ReadStream>>,
    ports: MemoryPorts,
}

impl ReadDma {
    pub(crate) fn new(ports: &MemoryPorts, name: &str, id: u32, config: ReadStreamConfig) -> Rc<ReadDma> {
        let streams = ports.all().map(|port| ReadStream::new(port, name, id, config)).collect();
        Rc::new(ReadDma { streams, ports: ports.clone() })
    }

    /// A client whose data may have to wait on the bus.
    pub(crate) fn unbuffered(
        ports: &MemoryPorts,
        name: &str,
        id: u32,
        places: &[IntakeStage],
    ) -> Rc<ReadDma> {
        let streams = ports.all().map(|port| ReadStream::unbuffered(port, name, id, places)).collect();
        Rc::new(ReadDma { streams, ports: ports.clone() })
    }

    /// The stream that reads from `ram`.
    pub(crate) fn stream(&self, ram: Ram) -> &Rc<ReadStream> {
        &self.streams[self.ports.index(ram)]
    }

    /// Returns the time for which requests of a counter, whose data has come, have waited for `ready` since this was last asked.
    pub(crate) fn take_stalled(&self, counter: usize) -> Time {
        self.streams.iter().fold(Time::ZERO, |sum, stream| sum + stream.take_stalled(counter))
    }
}

/// One write client of an engine: atoms come out of its pipeline and go to memory in lines.
pub(crate) struct WriteDma {
    ports: MemoryPorts,
    streams: Vec<Rc<WriteStream>>,
    selected: Cell<usize>,
    atom: usize,
    /// True if atoms wait for the interface in the registers of a [`WritePathConfig`].
    has_path: bool,
    /// Lines of the present layer, handed to the stream one at a time: a layer may have millions.
    lines: RefCell<Box<dyn Iterator<Item = (u64, u32)>>>,
    line_left: Cell<u32>,
    /// Time at which the last atom that was put leaves the pipeline.
    last_due: Cell<Time>,
}

/// Everything that was put so far.
pub(crate) struct WriteMark {
    stream: usize,
    bursts: u64,
}

impl WriteDma {
    /// A client whose atoms wait for the interface on `path`, or where that is not known, as many as [`WRITE_BUFFER`].
    pub(crate) fn new(
        ports: &MemoryPorts,
        name: &str,
        id: u32,
        atom: usize,
        path: Option<WritePathConfig>,
    ) -> Rc<WriteDma> {
        let stream = |port| match path {
            Some(path) => WriteStream::behind(port, name, id, path),
            None => WriteStream::new(port, name, id),
        };
        Rc::new(WriteDma {
            ports: ports.clone(),
            streams: ports.all().map(stream).collect(),
            selected: Cell::new(0),
            atom,
            has_path: path.is_some(),
            lines: RefCell::new(Box::new(std::iter::empty())),
            line_left: Cell::new(0),
            last_due: Cell::new(Time::ZERO),
        })
    }

    fn stream(&self) -> &WriteStream {
        &self.streams[self.selected.get()]
    }

    /// Says where the atoms of the next layer go, in order, one each `pace` at most; all of the layer before has been put.
    pub(crate) fn start(&self, ram: Ram, lines: impl Iterator<Item = (u64, u32)> + 'static, pace: Time) {
        self.selected.set(self.ports.index(ram));
        self.stream().set_pace(pace);
        *self.lines.borrow_mut() = Box::new(lines);
        self.line_left.set(0);
    }

    /// Puts the next atom, which leaves the engine's pipeline at `due`.
    pub(crate) fn put_at(&self, due: Time, atom: &[u8]) {
        let stream = self.stream();
        if self.line_left.get() == 0
            && let Some((address, bytes)) = self.lines.borrow_mut().next()
        {
            stream.line(address, bytes);
            self.line_left.set(bytes);
        }
        self.line_left.set(self.line_left.get().saturating_sub(self.atom as u32));
        self.last_due.set(due);
        stream.put_at(due, &atom[..self.atom]);
    }

    /// Waits until there is room for another atom in front of the interface, where the way there is not modelled. A flush at the end of a line
    /// or surface may go over it.
    pub(crate) async fn room(&self) {
        self.stream().at_most(WRITE_BUFFER - 1).await;
    }

    /// Waits until it is known when another atom can begin: what memory cannot take holds the engine back. Returns that time, `latency`
    /// before the atom would be on AW.
    pub(crate) async fn begins(&self, begin: Begin, latency: Time, sim: &Sim) -> Time {
        if self.has_path {
            return self.stream().earliest(begin).await.since(latency);
        }
        let waits = sim.now();
        self.room().await;
        if sim.now() > waits { sim.now() } else { Time::ZERO }
    }

    /// Returns the number of atoms, of at most so many, that begin as if nothing held them back, the first so that it would be on AW at `at`,
    /// the others each `pace` later.
    pub(crate) fn unhindered(&self, begin: Begin, (at, pace): (Time, Time), most: usize) -> usize {
        let stream = self.stream();
        stream
            .unhindered(begin, at, pace, most)
            .unwrap_or_else(|| most.min(WRITE_BUFFER.saturating_sub(stream.waiting())))
    }

    /// Returns the time for which complete bursts have waited for the memory interface since this was last asked.
    pub(crate) fn take_stalled(&self) -> Time {
        self.streams.iter().fold(Time::ZERO, |sum, stream| sum + stream.take_stalled())
    }

    /// Drops what was announced and not put: the layer ends before its time.
    pub(crate) fn abandon(&self) {
        *self.lines.borrow_mut() = Box::new(std::iter::empty());
        self.line_left.set(0);
        self.stream().abandon();
    }

    /// Returns the time at which the last atom that was put would be on AW if nothing held it back once it has left the engine; waits until
    /// that is known.
    pub(crate) async fn handed_over(&self) -> Time {
        self.stream().handed_over(self.last_due.get()).await
    }

    /// Marks what was put so far: whole lines.
    pub(crate) fn mark(&self) -> WriteMark {
        WriteMark { stream: self.selected.get(), bursts: self.stream().bursts() }
    }

    /// Waits until memory has acknowledged all that was put before the mark.
    pub(crate) async fn acknowledged(&self, mark: &WriteMark) {
        if let Some(stream) = self.streams.get(mark.stream) {
            stream.acknowledged(mark.bursts).await;
        }
    }
}

impl ReadDma {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let ReadDma { streams, ports: _ } = self;
        streams.iter().try_for_each(|stream| stream.checkpoint(at))
    }
}

impl WriteDma {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // The next layer has lines of its own.
        let WriteDma { ports: _, streams, selected, atom: _, has_path: _, lines: _, line_left: _, last_due } =
            self;
        streams.iter().try_for_each(|stream| stream.checkpoint(at))?;
        let mut stream = selected.get();
        at.index(&mut stream, streams.len())?;
        selected.set(stream);
        at.cell(last_due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface(packing: Packing) -> Surface {
        Surface {
            ram: Ram::Primary,
            base: 0x1000,
            line_stride: 0x40,
            surface_stride: 0x200,
            pixel: 8,
            atom: 8,
            packing,
        }
    }

    #[test]
    fn lines_are_asked_for_surface_by_surface() {
        let lines = Lines {
            surface: surface(Packing::Strided),
            first_column: 2,
            width: 3,
            height: 2,
            surfaces: 2,
            together: 1,
        };
        let requests: Vec<_> = lines.requests().collect();
        assert_eq!(requests, [(0x1010, 24), (0x1050, 24), (0x1210, 24), (0x1250, 24)]);
    }

    #[test]
    fn lines_of_surfaces_that_belong_together_take_turns() {
        let lines = Lines {
            surface: surface(Packing::Strided),
            first_column: 0,
            width: 1,
            height: 2,
            surfaces: 4,
            together: 2,
        };
        let addresses: Vec<_> = lines.requests().map(|(address, _)| address).collect();
        assert_eq!(addresses, [0x1000, 0x1200, 0x1040, 0x1240, 0x1400, 0x1600, 0x1440, 0x1640]);
    }

    #[test]
    fn a_packed_cube_is_one_request() {
        let lines = Lines {
            surface: surface(Packing::Packed),
            first_column: 0,
            width: 1,
            height: 1,
            surfaces: 5,
            together: 1,
        };
        assert_eq!(lines.requests().collect::<Vec<_>>(), [(0x1000, 40)]);
    }
}
