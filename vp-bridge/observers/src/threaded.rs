//! An observer whose file is written by a separate thread.
//!
//! The simulation's thread packs its reports and passes them on in chunks, each with the watermark; it does
//! nothing more. The writer's thread puts the observations of all sources in the order of time, up to the
//! watermark, and gives them to a [`Sink`]. Memory holds only a few chunks and the observations beyond the
//! watermark. A thread that cannot keep up delays the simulation.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{self, JoinHandle};

use vp_core::Time;
use vp_core::observe::{
    Kinds, LevelUnit, Observation, Observer, Source, SourceInfo, SourceKind, Warning, What,
};
use vp_models::fifos::FifoInfo;
use vp_models::occupancy::{BufferFill, Datapath};
use vp_models::platform::Platform;

use crate::ObserveError;
use crate::event::{Announced, Event, Layer, Observed};
use crate::layers::LayerNames;
use crate::observers::FileObserver;

/// Events of a chunk.
const CHUNK: usize = 4096;
/// Chunks that wait for the writer.
const WAITING: usize = 8;

/// Takes what was seen in the order of time, in a thread of its own.
pub(crate) trait Sink: Send + 'static {
    /// A source was announced. It has not reported yet.
    fn announced(&mut self, source: Announced);

    /// A label of counted things has this number from now on.
    fn labelled(&mut self, label: u32, text: String);

    /// Something was seen. Says whether more is wanted.
    fn seen(&mut self, event: &Event) -> Result<bool, ObserveError>;

    /// The end, at `now`. Returns a note about the file for people.
    fn finish(self: Box<Self>, now: Time) -> Result<Option<String>, ObserveError>;
}

/// The numbers of what is no source of the simulation: the convolution buffer and the datapaths.
const BUFFER: [(u32, &str); 2] = [(1 << 31, "nvdla.cbuf.data"), ((1 << 31) + 1, "nvdla.cbuf.weights")];
const DATAPATHS: u32 = (1 << 31) + 2;
/// First of the numbers of FIFOs.
const FIFOS: u32 = DATAPATHS + Datapath::ALL.len() as u32;
const RESET: u32 = u32::MAX;

/// Returns the place in [`Datapath::ALL`] of the datapath that a source is, if it is one.
pub(crate) fn datapath(source: u32) -> Option<usize> {
    source.checked_sub(DATAPATHS).map(|datapath| datapath as usize).filter(|it| *it < Datapath::ALL.len())
}

/// Returns the name of a datapath's source.
fn datapath_name(datapath: Datapath) -> &'static str {
    match datapath {
        Datapath::Array => "nvdla.mac_array.active",
        Datapath::Sdp => "nvdla.sdp.active",
        Datapath::Pdp => "nvdla.pdp.active",
        Datapath::Cdp => "nvdla.cdp.active",
        Datapath::Rubik => "nvdla.rbk.active",
    }
}

enum Message {
    Announced(Announced),
    Label(u32, String),
    /// Events in any order, and up to when they are complete with those before.
    Chunk(Vec<Event>, Time),
    /// The platform was reset: reported events after that time do not happen.
    Reset(Time),
    Finish(Time),
}

/// An observer whose file a thread writes.
pub(crate) struct Threaded {
    wants: Kinds,
    names: LayerNames,
    chunk: RefCell<Vec<Event>>,
    watermark: Cell<Time>,
    /// The last reported level of the convolution buffer.
    buffer: Cell<Option<BufferFill>>,
    /// Chunks whose memory can be used again.
    empty: Receiver<Vec<Event>>,
    /// The thread wants nothing more.
    is_done: Arc<AtomicBool>,
    sources: RefCell<Vec<Reporter>>,
    labels: RefCell<Vec<String>>,
    writer: RefCell<Option<Writer>>,
}

/// A source.
struct Reporter {
    name: String,
    /// Layers that it began.
    begun: usize,
}

/// The other thread.
struct Writer {
    messages: SyncSender<Message>,
    thread: JoinHandle<Result<Option<String>, ObserveError>>,
}

impl Threaded {
    /// Starts the thread, for what is observed alone.
    pub(crate) fn start_bare(wants: Kinds, names: LayerNames, sink: Box<dyn Sink>) -> Rc<Threaded> {
        let (messages, taken) = mpsc::sync_channel(WAITING);
        let (emptied, empty) = mpsc::channel();
        let is_done = Arc::new(AtomicBool::new(false));
        let done = is_done.clone();
        let thread = thread::spawn(move || {
            let written = write(sink, &taken, &emptied, &done);
            done.store(true, Ordering::Relaxed);
            written
        });
        Rc::new(Threaded {
            wants: wants | Kinds::WATERMARKS,
            names,
            chunk: RefCell::new(Vec::with_capacity(CHUNK)),
            watermark: Cell::default(),
            buffer: Cell::default(),
            empty,
            is_done,
            sources: RefCell::default(),
            labels: RefCell::default(),
            writer: RefCell::new(Some(Writer { messages, thread })),
        })
    }

    /// Starts the thread, and hears what a platform tells besides its observations.
    pub(crate) fn start(
        platform: &Platform,
        wants: Kinds,
        names: LayerNames,
        sink: Box<dyn Sink>,
    ) -> Rc<Threaded> {
        let observer = Threaded::start_bare(wants, names, sink);
        observer.hear_resets(platform);
        if platform.description().nvdla().is_some() {
            observer.hear_datapaths(platform);
        }
        observer
    }

    /// Starts the thread for a platform's memories, whose file needs nothing that the platform tells besides.
    pub(crate) fn start_memories(platform: &Platform, wants: Kinds, sink: Box<dyn Sink>) -> Rc<Threaded> {
        let observer = Threaded::start_bare(wants, LayerNames::default(), sink);
        observer.hear_resets(platform);
        observer
    }

    fn hear_resets(self: &Rc<Self>, platform: &Platform) {
        let this = Rc::downgrade(self);
        platform.on_reset(move |now| {
            if let Some(this) = this.upgrade() {
                this.sources.borrow_mut().iter_mut().for_each(|source| source.begun = 0);
                this.buffer.set(None);
                this.hand_over();
                this.send(Message::Reset(now));
            }
        });
    }

    fn hear_datapaths(self: &Rc<Self>, platform: &Platform) {
        let fill = SourceKind::Level { bits: 32, unit: LevelUnit::Bytes };
        for (number, name) in BUFFER {
            self.announce(number, name, fill);
        }
        for datapath in Datapath::ALL {
            self.announce(DATAPATHS + datapath as u32, datapath_name(datapath), SourceKind::LINE);
        }
        let this = Rc::downgrade(self);
        platform.on_buffer(move |time, fill| {
            let Some(this) = this.upgrade() else { return };
            let BufferFill { data, weights } = fill;
            let before = this.buffer.replace(Some(fill));
            for ((number, _), value, before) in [
                (BUFFER[0], data, before.map(|it| it.data)),
                (BUFFER[1], weights, before.map(|it| it.weights)),
            ] {
                if before != Some(value) {
                    this.push(time, number, Observed::Level(value));
                }
            }
        });
        let this = Rc::downgrade(self);
        platform.on_busy(move |datapath, from, until| {
            if let Some(this) = this.upgrade() {
                this.push(from, DATAPATHS + datapath as u32, Observed::Busy { until });
            }
        });
    }

    /// Hears how much the FIFOs hold, too.
    pub(crate) fn hear_fifos(self: &Rc<Self>, platform: &Platform) {
        let fifos = platform.fifos();
        for (number, FifoInfo { name, unit }) in fifos.all().into_iter().enumerate() {
            self.announce(FIFOS + number as u32, &name, SourceKind::Level { bits: 32, unit });
        }
        let this = Rc::downgrade(self);
        fifos.on_change(move |number, time, by| {
            if let Some(this) = this.upgrade() {
                this.push(time, FIFOS + number as u32, Observed::Change(by));
            }
        });
    }

    fn announce(&self, number: u32, name: &str, kind: SourceKind) {
        self.send(Message::Announced(Announced { number, name: name.to_owned(), kind }));
    }

    #[inline]
    fn push(&self, time: Time, source: u32, seen: Observed) {
        let mut chunk = self.chunk.borrow_mut();
        chunk.push(Event { time, source, seen });
        if chunk.len() >= CHUNK {
            drop(chunk);
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&self) {
        let empty = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK));
        let chunk = self.chunk.replace(empty);
        if !chunk.is_empty() {
            self.send(Message::Chunk(chunk, self.watermark.get()));
        }
    }

    fn send(&self, message: Message) {
        if let Some(writer) = &*self.writer.borrow() {
            // A thread that has ended says why at the end.
            let _ = writer.messages.send(message);
        }
    }

    fn label(&self, label: &str) -> u32 {
        let mut labels = self.labels.borrow_mut();
        let place = labels.iter().position(|known| known == label).unwrap_or_else(|| {
            labels.push(label.to_owned());
            self.send(Message::Label(labels.len() as u32 - 1, label.to_owned()));
            labels.len() - 1
        });
        place as u32
    }

    fn begin(&self, source: Source, shape: &str, id: u64) -> Observed {
        let mut sources = self.sources.borrow_mut();
        let name = sources.get_mut(source.index()).and_then(|reporter| {
            reporter.begun += 1;
            self.names.name(&reporter.name, reporter.begun - 1)
        });
        Observed::Begin {
            id,
            layer: Box::new(Layer { name: name.map(str::to_owned), shape: shape.to_owned() }),
        }
    }
}

impl Observer for Threaded {
    fn wants(&self) -> Kinds {
        self.wants
    }

    fn announced(&self, source: Source, info: &SourceInfo) {
        self.sources.borrow_mut().push(Reporter { name: info.name.to_string(), begun: 0 });
        // It begins behind what others have reported before.
        self.hand_over();
        self.announce(source.index() as u32, &info.name, info.kind);
    }

    #[inline]
    fn observe(&self, observation: &Observation<'_>) {
        if self.is_done.load(Ordering::Relaxed) {
            return;
        }
        let &Observation { time, source, what, .. } = observation;
        let seen = match what {
            What::Transfer(it) => Observed::Transfer {
                stage: it.stage,
                write: it.write,
                id: it.id,
                bytes: it.bytes,
                address: it.address,
            },
            What::Level(level) => Observed::Level(level),
            What::Register { write, address, value } => Observed::Register { write, address, value },
            What::Begin { label, id } => self.begin(source, label, id),
            What::End { id, .. } => Observed::End { id },
            What::Count { label, value } => Observed::Count { label: self.label(label), value },
            What::Warning(warning) => Observed::Warning(text(&warning).into()),
        };
        self.push(time, source.index() as u32, seen);
    }

    #[inline]
    fn complete_until(&self, watermark: Time) {
        self.watermark.set(watermark);
    }
}

impl FileObserver for Threaded {
    fn has_failed(&self) -> bool {
        // It ends by itself for nothing else.
        self.writer.borrow().as_ref().is_some_and(|writer| writer.thread.is_finished())
    }

    fn finish(&self, now: Time) -> Result<Option<String>, ObserveError> {
        self.hand_over();
        self.send(Message::Finish(now));
        let Some(Writer { messages, thread }) = self.writer.take() else { return Ok(None) };
        drop(messages);
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Drop for Threaded {
    fn drop(&mut self) {
        if let Some(Writer { messages, thread }) = self.writer.take() {
            // It ends by itself then, and removes its file: nobody waits for what it has to say.
            drop(messages);
            let _ = thread.join();
        }
    }
}

/// A warning in one line.
fn text(warning: &Warning<'_>) -> String {
    match *warning {
        Warning::Once(text) | Warning::Marked { text, .. } | Warning::Repeated { text, .. } => {
            text.to_owned()
        }
        Warning::Access { client, write, address, text, .. } => {
            let does = if write { "writes" } else { "reads" };
            format!("{client} {does} 0x{address:x}: {text}")
        }
    }
}

/// The thread: sends events in the order of time to the sink, until the run is over or the file is not wanted
/// any more.
fn write(
    mut sink: Box<dyn Sink>,
    messages: &Receiver<Message>,
    emptied: &Sender<Vec<Event>>,
    is_done: &AtomicBool,
) -> Result<Option<String>, ObserveError> {
    let mut waiting = Vec::<Event>::with_capacity(2 * CHUNK);
    while let Ok(message) = messages.recv() {
        match message {
            Message::Announced(source) => sink.announced(source),
            Message::Label(label, text) => sink.labelled(label, text),
            Message::Chunk(mut chunk, watermark) => {
                if is_done.load(Ordering::Relaxed) {
                    continue;
                }
                waiting.append(&mut chunk);
                // Who would use it again may have gone.
                let _ = emptied.send(chunk);
                // Stable: of one time, what a source told first stays first.
                waiting.sort_by_key(|event| event.time);
                // More at the watermark itself may come.
                let complete = waiting.partition_point(|event| event.time < watermark);
                for event in waiting.drain(..complete) {
                    if !sink.seen(&event)? {
                        is_done.store(true, Ordering::Relaxed);
                        break;
                    }
                }
            }
            Message::Reset(now) => {
                waiting.retain(|Event { time, seen, .. }| {
                    *time <= now || !matches!(seen, Observed::Change(_) | Observed::Busy { .. })
                });
                let place = waiting.partition_point(|event| event.time <= now);
                waiting.insert(place, Event { time: now, source: RESET, seen: Observed::Reset });
            }
            Message::Finish(now) => {
                for event in waiting.drain(..).filter(|event| event.time <= now) {
                    if is_done.load(Ordering::Relaxed) || !sink.seen(&event)? {
                        break;
                    }
                }
                return sink.finish(now);
            }
        }
    }
    Ok(None)
}
