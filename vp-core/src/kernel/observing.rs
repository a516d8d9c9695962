//! Reporting to observers: sources, observers that join and leave, and the time up to which observations are
//! complete.

use super::{Kernel, Sim};
use crate::name::Name;
use crate::observe::{
    BufferedSource, Kinds, Observation, Observer, Source, SourceInfo, SourceKind, Transfers, What,
};
use crate::time::Time;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// The observers of a simulation, and what they observe.
#[derive(Default)]
pub(super) struct Observing {
    /// Kinds that any of the observers wants.
    wanted: Cell<Kinds>,
    /// Replaced as a whole when an observer joins or leaves, which it may do while it is called.
    observers: RefCell<Rc<[Rc<Member>]>>,
    /// An observer is being told.
    is_telling: Cell<bool>,
    /// No observer is called for the time being.
    is_muted: Cell<bool>,
    sources: RefCell<Vec<SourceInfo>>,
    /// Sources whose owners [`crate::Simulation::end_all`] has ended, until they are announced again.
    ownerless: RefCell<Vec<u32>>,
    buffered: RefCell<Vec<Weak<dyn BufferedSource>>>,
}

/// An observer that has joined.
struct Member {
    observer: Rc<dyn Observer>,
    wants: Kinds,
    has_left: Cell<bool>,
    /// The last watermark that it got.
    watermark: Cell<Time>,
}

impl Observing {
    /// Returns true if an observer wants watermarks.
    #[inline(always)]
    pub(super) fn wants_watermarks(&self) -> bool {
        self.wanted.get().intersects(Kinds::WATERMARKS)
    }

    /// Reports that nothing earlier than `until` comes any more, except from sources that buffer something.
    /// After sources have been flushed this is reported even if the watermark has not moved: then everything
    /// known of its time has been reported.
    #[cold]
    pub(super) fn complete_until(&self, until: Time, is_flushed: bool) {
        let buffered = self.buffered.borrow();
        let told_until = buffered.iter().filter_map(Weak::upgrade).map(|source| source.told_until());
        let watermark = told_until.fold(until, Time::min);
        drop(buffered);
        self.each(|member| {
            let has_moved = watermark > member.watermark.get();
            if member.wants.intersects(Kinds::WATERMARKS) && (has_moved || is_flushed) {
                member.watermark.set(member.watermark.get().max(watermark));
                member.observer.complete_until(member.watermark.get());
            }
        });
    }

    /// All sources may be announced again.
    pub(super) fn clear_source_owners(&self) {
        *self.ownerless.borrow_mut() = (0..self.sources.borrow().len() as u32).collect();
    }

    /// Stops or resumes reporting to observers. Sources are announced either way.
    pub(super) fn mute(&self, is_muted: bool) {
        self.is_muted.set(is_muted);
        self.wanted.set(if is_muted { Kinds::NONE } else { wanted_by(&self.observers.borrow()) });
    }

    /// All sources, in the order in which they were announced, each with whether it has an owner.
    pub(super) fn sources(&self) -> Vec<(SourceInfo, bool)> {
        let ownerless = self.ownerless.borrow();
        let owned = |at: usize| !ownerless.contains(&(at as u32));
        self.sources.borrow().iter().enumerate().map(|(at, info)| (info.clone(), owned(at))).collect()
    }

    /// Sets the sources, by number, that may be announced again.
    pub(super) fn set_ownerless(&self, sources: Vec<u32>) {
        *self.ownerless.borrow_mut() = sources;
    }

    /// Removes all observers. Drop the returned value when nothing is borrowed.
    pub(super) fn end(&self) -> impl Drop + use<> {
        self.wanted.set(Kinds::NONE);
        self.observers.take()
    }

    /// Tells each observer something.
    fn each(&self, tell: impl Fn(&Member)) {
        let was_telling = self.is_telling.replace(true);
        let observers = self.observers.borrow().clone();
        observers.iter().filter(|member| !member.has_left.get()).for_each(|member| tell(member));
        self.is_telling.set(was_telling);
    }

    fn change_observers(&self, change: impl FnOnce(&mut Vec<Rc<Member>>)) {
        let mut observers = self.observers.borrow().to_vec();
        change(&mut observers);
        self.wanted.set(if self.is_muted.get() { Kinds::NONE } else { wanted_by(&observers) });
        // Who has left is dropped after this, as its destructor may come back here.
        let before = self.observers.replace(observers.into());
        drop(before);
    }
}

fn wanted_by(observers: &[Rc<Member>]) -> Kinds {
    observers.iter().fold(Kinds::NONE, |all, member| all | member.wants)
}

impl Kernel {
    /// Has all sources tell what they keep back, and tells the watermark.
    pub(super) fn flush_observers(&self) {
        let observing = &self.observing;
        if observing.wanted.get() == Kinds::NONE || observing.is_telling.get() {
            return;
        }
        let mut at = 0;
        while let Some(source) = observing.buffered.borrow().get(at).map(Weak::upgrade) {
            if let Some(source) = source {
                source.flush(self.now());
            }
            at += 1;
        }
        if observing.wants_watermarks() {
            observing.complete_until(self.now(), true);
        }
    }
}

/// An observer's registration at a simulation, by which it leaves again; made by [`Sim::observe`].
///
/// If this is dropped without leaving, the observer stays.
pub struct Subscription {
    sim: Sim,
    member: Rc<Member>,
}

impl Subscription {
    /// Removes the observer. Before that it gets the buffered observations of all sources; afterwards it gets
    /// nothing.
    ///
    /// ```
    /// use std::rc::Rc;
    /// use vp_core::Simulation;
    /// use vp_core::observe::{EventHash, Kinds, SourceKind, Subscription, What};
    /// let sim = Simulation::new().sim();
    /// let irq = sim.source("irq", SourceKind::LINE);
    /// let hash = Rc::new(EventHash::default());
    /// let subscription: Subscription = sim.observe(hash.clone());
    /// sim.report(irq, What::Level(1));
    /// subscription.cancel();
    /// sim.report(irq, What::Level(0));
    /// assert_eq!((hash.count(), sim.is_observed(Kinds::ALL)), (1, false));
    /// ```
    pub fn cancel(self) {
        self.sim.flush_observers();
        self.member.has_left.set(true);
        let left = |member: &Rc<Member>| Rc::ptr_eq(member, &self.member);
        self.sim.0.observing.change_observers(|members| members.retain(|member| !left(member)));
    }
}

impl Sim {
    /// Adds an observer. It is told of all existing sources at once, and from now on it gets the observations
    /// that it wants.
    ///
    /// It may join at any time. For work that had begun before, it may see only the end, or nothing.
    pub fn observe(&self, observer: Rc<dyn Observer>) -> Subscription {
        // What happened before is for those who were there.
        self.flush_observers();
        let observing = &self.0.observing;
        let mut at = 0;
        let info = |at: usize| observing.sources.borrow().get(at).cloned();
        while let Some(info) = info(at) {
            observer.announced(Source(at as u32), &info);
            at += 1;
        }
        let (has_left, watermark) = (Cell::new(false), Cell::new(Time::ZERO));
        let member = Rc::new(Member { wants: observer.wants(), observer, has_left, watermark });
        observing.change_observers(|members| members.push(member.clone()));
        Subscription { sim: self.clone(), member }
    }

    /// Announces a source of observations, and what it reports.
    pub fn source(&self, name: impl Into<Name>, kind: SourceKind) -> Source {
        let (observing, info) = (&self.0.observing, SourceInfo { name: name.into(), kind });
        let (mut sources, mut ownerless) = (observing.sources.borrow_mut(), observing.ownerless.borrow_mut());
        if let Some(place) = ownerless.iter().position(|&source| sources[source as usize] == info) {
            return Source(ownerless.remove(place));
        }
        let source = Source(sources.len() as u32);
        sources.push(info.clone());
        drop((sources, ownerless));
        observing.each(|member| member.observer.announced(source, &info));
        source
    }

    /// The name of a source.
    pub fn source_name(&self, source: Source) -> Name {
        self.0.observing.sources.borrow()[source.0 as usize].name.clone()
    }

    /// Registers a source that buffers observations, until it is dropped.
    pub fn add_buffered<B: BufferedSource + 'static>(&self, source: &Rc<B>) {
        let source: Weak<B> = Rc::downgrade(source);
        let mut buffered = self.0.observing.buffered.borrow_mut();
        buffered.retain(|source| source.strong_count() > 0);
        buffered.push(source);
    }

    /// Returns true if anyone wants observations of these kinds: lets a model skip work that only observers need.
    ///
    /// ```
    /// use std::rc::Rc;
    /// use vp_core::Simulation;
    /// use vp_core::observe::{EventHash, Kinds, SourceKind, Warning, What};
    /// let sim = Simulation::new().sim();
    /// let source = sim.source("engine", SourceKind::Work);
    /// assert_eq!((&*sim.source_name(source), sim.is_observed(Kinds::ALL)), ("engine", false));
    /// sim.observe(Rc::new(EventHash::default()));
    /// if sim.is_observed(Kinds::WARNINGS) {
    ///     let text = format!("{} lines are idle", 3); // dear to make
    ///     sim.report(source, What::Warning(Warning::Once(&text)));
    /// }
    /// ```
    #[inline]
    pub fn is_observed(&self, kinds: Kinds) -> bool {
        self.0.observing.wanted.get().intersects(kinds)
    }

    /// Tells the observers what happens now.
    #[inline]
    pub fn report(&self, source: Source, what: What<'_>) {
        self.report_at(self.now(), source, what);
    }

    /// Reports to the observers what happened at `time`: for sources that report several observations at once
    /// ([`BufferedSource`]). A source reports in the order of time.
    #[inline]
    pub fn report_at(&self, time: Time, source: Source, what: What<'_>) {
        if self.is_observed(what.kind()) {
            let (observation, kind) = (Observation { time, delta: self.delta(), source, what }, what.kind());
            self.0.observing.each(|member| {
                if member.wants.intersects(kind) {
                    member.observer.observe(&observation);
                }
            });
        }
    }

    /// Reports transfers to the observers: as [`Sim::report_at`] does one by one, at a fraction of the cost. Each observer gets
    /// them all before the next one does; one that leaves meanwhile gets the rest.
    ///
    /// ```
    /// use std::rc::Rc;
    /// use vp_core::observe::{EventHash, SourceKind, Stage, Transfer, Transfers};
    /// use vp_core::{Simulation, Time};
    /// let sim = Simulation::new().sim();
    /// let hash = Rc::new(EventHash::default());
    /// sim.observe(hash.clone());
    /// let requested = Time::ns(1);
    /// let request = Transfer { stage: Stage::Request, write: true, id: 3, address: 0x8000, bytes: 64, requested };
    /// let data = Transfer { stage: Stage::Data, ..request };
    /// let both = [(requested, request), (Time::ns(9), data)];
    /// let transfers = Transfers::new(&both, &[], [0..0, 0..0, 0..0]);
    /// sim.report_transfers(sim.source("bus", SourceKind::Transfers), &transfers);
    /// assert_eq!(hash.count(), 2);
    /// ```
    pub fn report_transfers(&self, source: Source, transfers: &Transfers<'_>) {
        if self.is_observed(Kinds::TRANSFERS) {
            self.0.observing.each(|member| {
                if member.wants.intersects(Kinds::TRANSFERS) {
                    member.observer.observe_transfers(self.delta(), source, transfers);
                }
            });
        }
    }

    /// Makes all sources report their buffered observations. Observers that want it are then told the
    /// watermark. It is the present time, unless a source still buffers something.
    ///
    /// This happens by itself at the end of each run, and when an observer joins or leaves. It has no effect
    /// while an observer is being called.
    ///
    /// ```
    /// use std::cell::Cell;
    /// use std::rc::Rc;
    /// use vp_core::observe::{Kinds, Observation, Observer};
    /// use vp_core::{Simulation, Time};
    ///
    /// #[derive(Default)]
    /// struct Complete(Cell<Time>);
    ///
    /// impl Observer for Complete {
    ///     fn wants(&self) -> Kinds {
    ///         Kinds::ALL | Kinds::WATERMARKS
    ///     }
    ///
    ///     fn observe(&self, seen: &Observation<'_>) {
    ///         assert!(seen.time >= self.0.get());
    ///     }
    ///
    ///     fn complete_until(&self, watermark: Time) {
    ///         self.0.set(watermark);
    ///     }
    /// }
    ///
    /// let mut simulation = Simulation::new();
    /// let (sim, complete) = (simulation.sim(), Rc::new(Complete::default()));
    /// sim.observe(complete.clone());
    /// let seen = complete.clone();
    /// sim.clone().process("p", async move {
    ///     sim.wait(Time::ns(3)).await;
    ///     assert_eq!(seen.0.get(), Time::ns(3)); // told before time moved
    ///     sim.flush_observers();
    /// });
    /// simulation.run_until(Time::ns(8));
    /// assert_eq!(complete.0.get(), Time::ns(8));
    /// ```
    pub fn flush_observers(&self) {
        self.0.flush_observers();
    }
}
