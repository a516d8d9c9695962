//! Address decoding: one interconnect, several initiators, each target at its range of addresses.

use super::decode::Decoder;
use super::nonblocking::Hop;
use super::{
    BindError, Command, DirectRegion, Flow, Initiator, Payload, Phase, Response, Sync, Target, Transaction,
};
use crate::Time;
use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::ops::RangeInclusive;
use std::rc::{Rc, Weak};

/// Why an address map cannot be.
///
/// ```
/// use vp_core::tlm::{MapError, Router};
/// let inner = Router::builder("inner").build()?;
/// let overlapping = Router::builder("bus")
///     .map("low", 0x0..=0x1fff, inner.port())
///     .map("high", 0x1000..=0x2fff, inner.port())
///     .build();
/// assert!(matches!(overlapping, Err(MapError::Overlap { start: 0x1000, end: 0x1fff, .. })));
/// # Ok::<(), MapError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// A range ends before it begins.
    #[error("router {router}: {name} at {start:#x}..={end:#x} has no addresses")]
    Empty {
        /// The router's name.
        router: Rc<str>,
        /// The range's name.
        name: Rc<str>,
        /// Its first address.
        start: u64,
        /// Its last address.
        end: u64,
    },
    /// Two ranges have addresses in common.
    #[error(
        "router {router}: {second} begins at {start:#x}, inside of {first}, which ends at {end:#x}; \
         ranges must not overlap"
    )]
    Overlap {
        /// The router's name.
        router: Rc<str>,
        /// The range with the lower first address.
        first: Rc<str>,
        /// Its last address.
        end: u64,
        /// The range that begins inside of it.
        second: Rc<str>,
        /// Its first address.
        start: u64,
    },
    /// The target's own addresses would go past the end of 64 bits.
    #[error("router {router}: {name} would reach beyond the target's last address")]
    Local {
        /// The router's name.
        router: Rc<str>,
        /// The range's name.
        name: Rc<str>,
    },
    /// A target refused to be bound.
    #[error("router {router}: {source}")]
    Bind {
        /// The router's name.
        router: Rc<str>,
        /// What the target said.
        source: BindError,
    },
}

/// One range and what is behind it.
struct Region {
    name: Rc<str>,
    start: u64,
    end: u64,
    /// The target's address of `start`.
    local: u64,
    target: Rc<dyn Target>,
}

impl Region {
    /// Whether all of an access lies in it that does not begin before it.
    #[inline]
    fn holds(&self, address: u64, span: u64) -> bool {
        address <= self.end && span.saturating_sub(1) <= self.end - address
    }

    #[inline]
    fn b_transport<'a>(&'a self, payload: &'a mut Payload, delay: &'a mut Time) -> Flow<'a> {
        payload.address = self.to_local(payload.address);
        self.target.b_transport(payload, delay)
    }

    #[inline]
    fn to_local(&self, address: u64) -> u64 {
        address - self.start + self.local
    }

    fn local_end(&self) -> u64 {
        self.local + (self.end - self.start)
    }
}

/// Finds targets by address and rebases addresses, so that each target counts from its own zero.
///
/// An access must be completely in one range; any other is answered with [`Response::AddressError`]. All styles
/// of transport are supported, and direct access is granted in the initiator's addresses. A router takes no
/// time: latency and arbitration belong in bus models.
///
/// Each initiator is bound to a port of its own.
///
/// ```
/// use std::rc::Rc;
/// use vp_core::Time;
/// use vp_core::tlm::{Flow, InitiatorSocket, Payload, Router, Storage, Target};
/// # struct Ram(Storage);
/// # impl Target for Ram {
/// #     fn b_transport<'a>(&'a self, payload: &'a mut Payload, _: &'a mut Time) -> Flow<'a> {
/// #         payload.access(&self.0);
/// #         Flow::Done
/// #     }
/// # }
/// # fn ram(size: usize) -> Rc<Ram> { Rc::new(Ram(Storage::new(size))) }
/// let router = Router::builder("bus")
///     .map("ram", 0x8000_0000..=0x8000_ffff, ram(0x1_0000))
///     .map("registers", 0x1000..=0x1fff, ram(0x1000))
///     .build()?;
/// let cpu = InitiatorSocket::new("cpu");
/// cpu.bind(router.port())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Router {
    name: Rc<str>,
    /// In order of address.
    regions: Box<[Region]>,
    decoder: Decoder,
    ports: RefCell<Vec<Weak<RouterPort>>>,
    /// What targets call back; each distinct target has one.
    backs: OnceCell<Vec<Rc<Back>>>,
}

/// Collects the address map; made by [`Router::builder`].
///
/// ```
/// use vp_core::tlm::Router;
/// use vp_core::tlm::RouterBuilder;
/// let peripherals = Router::builder("peripherals").build()?;
/// let map: RouterBuilder = Router::builder("bus");
/// let bus = map
///     .map("peripherals", 0x4000_0000..=0x4fff_ffff, peripherals.port())
///     .map_at("alias", 0x0..=0xfff, peripherals.port(), 0x8000)
///     .build()?;
/// assert_eq!(bus.decode(0x4000_0010), Some(("peripherals", 0x10)));
/// assert_eq!(bus.decode(0x10), Some(("alias", 0x8010)));
/// # Ok::<(), vp_core::tlm::MapError>(())
/// ```
#[must_use = "a router exists once `build` has checked its map"]
pub struct RouterBuilder {
    name: Rc<str>,
    regions: Vec<Region>,
}

impl RouterBuilder {
    /// Puts a target at a range of addresses; it sees the first of them as 0.
    pub fn map(
        self,
        name: impl Into<Rc<str>>,
        range: RangeInclusive<u64>,
        target: Rc<dyn Target>,
    ) -> RouterBuilder {
        self.map_at(name, range, target, 0)
    }

    /// Puts a target at a range of addresses; it sees the first of them as `local`.
    pub fn map_at(
        mut self,
        name: impl Into<Rc<str>>,
        range: RangeInclusive<u64>,
        target: Rc<dyn Target>,
        local: u64,
    ) -> RouterBuilder {
        let (start, end) = range.into_inner();
        self.regions.push(Region { name: name.into(), start, end, local, target });
        self
    }

    /// Checks the map and makes the router.
    ///
    /// # Errors
    /// [`MapError`] if a range is empty, two overlap, or a target has another initiator already.
    pub fn build(self) -> Result<Rc<Router>, MapError> {
        let RouterBuilder { name: router, mut regions } = self;
        for Region { name, start, end, local, .. } in &regions {
            let (router, name, start, end) = (router.clone(), name.clone(), *start, *end);
            if start > end {
                return Err(MapError::Empty { router, name, start, end });
            }
            if local.checked_add(end - start).is_none() {
                return Err(MapError::Local { router, name });
            }
        }
        regions.sort_by_key(|region| region.start);
        for pair in regions.windows(2) {
            if pair[1].start <= pair[0].end {
                let (first, second) = (pair[0].name.clone(), pair[1].name.clone());
                let (end, start) = (pair[0].end, pair[1].start);
                return Err(MapError::Overlap { router, first, end, second, start });
            }
        }
        let starts = regions.iter().map(|region| region.start).collect();
        let router = Rc::new(Router {
            name: router,
            decoder: Decoder::new(starts, regions.last().map_or(0, |region| region.end)),
            regions: regions.into(),
            ports: RefCell::default(),
            backs: OnceCell::new(),
        });
        let mut backs = Vec::new();
        for (index, region) in router.regions.iter().enumerate() {
            // A target at several ranges is connected once.
            if router.regions[..index].iter().any(|earlier| Rc::ptr_eq(&earlier.target, &region.target)) {
                continue;
            }
            let back = Rc::new(Back { router: Rc::downgrade(&router), region: index });
            let weak: Weak<Back> = Rc::downgrade(&back);
            region
                .target
                .connect(weak)
                .map_err(|source| MapError::Bind { router: router.name.clone(), source })?;
            backs.push(back);
        }
        let _ = router.backs.set(backs);
        Ok(router)
    }
}

impl Router {
    /// Begins the address map of a router.
    pub fn builder(name: impl Into<Rc<str>>) -> RouterBuilder {
        RouterBuilder { name: name.into(), regions: Vec::new() }
    }

    /// A new port, for one initiator to be bound to.
    pub fn port(self: &Rc<Self>) -> Rc<RouterPort> {
        let mut ports = self.ports.borrow_mut();
        let index = ports.len();
        let port = Rc::new(RouterPort { router: self.clone(), index, initiator: OnceCell::new() });
        ports.push(Rc::downgrade(&port));
        port
    }

    /// The name given at creation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The range that contains an address: its name, and the address as its target counts.
    ///
    /// ```
    /// # use vp_core::tlm::Router;
    /// let nothing = Router::builder("bus").build()?;
    /// assert_eq!(nothing.decode(0x1000), None);
    /// # Ok::<(), vp_core::tlm::MapError>(())
    /// ```
    pub fn decode(&self, address: u64) -> Option<(&str, u64)> {
        let region = &self.regions[self.find(address, 1)?];
        Some((&region.name, region.to_local(address)))
    }

    /// The region in which all of an access lies.
    fn find(&self, address: u64, span: u64) -> Option<usize> {
        let index = self.decoder.find(address)?;
        self.regions[index].holds(address, span).then_some(index)
    }

    fn find_for(&self, payload: &mut Payload) -> Option<usize> {
        let found = self.find(payload.address, payload.span());
        if found.is_none() {
            payload.response = Response::AddressError;
        }
        found
    }

    /// Where a look at the address is not enough.
    #[cold]
    fn search_and_b_transport<'a>(&'a self, payload: &'a mut Payload, delay: &'a mut Time) -> Flow<'a> {
        match self.find_for(payload) {
            Some(region) => self.regions[region].b_transport(payload, delay),
            None => Flow::Done,
        }
    }

    /// Tells routers apart on a transaction's way.
    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    fn nb_transport_fw(
        &self,
        port: usize,
        transaction: &Transaction,
        phase: &mut Phase,
        delay: &mut Time,
    ) -> Sync {
        let region = if *phase == Phase::BeginReq {
            let mut payload = transaction.payload_mut();
            let Some(region) = self.find_for(&mut payload) else { return Sync::Completed };
            let address = payload.address;
            payload.address = self.regions[region].to_local(address);
            transaction.pass(Hop { router: self.identity(), port, region, address });
            region
        } else {
            match transaction.hop(self.identity()) {
                Some(hop) => hop.region,
                None => {
                    transaction.payload_mut().response = Response::GenericError;
                    return Sync::Completed;
                }
            }
        };
        let last = *phase == Phase::EndResp;
        let sync = self.regions[region].target.nb_transport_fw(transaction, phase, delay);
        let answered = sync == Sync::Updated && *phase == Phase::BeginResp;
        let hop = if sync == Sync::Completed || last {
            transaction.leave(self.identity())
        } else if answered {
            transaction.hop(self.identity())
        } else {
            None
        };
        // With the answer the initiator gets its own address back.
        if let Some(hop) = hop {
            transaction.payload_mut().address = hop.address;
        }
        sync
    }

    fn nb_transport_bw(&self, transaction: &Transaction, phase: &mut Phase, delay: &mut Time) -> Sync {
        let Some(hop) = transaction.hop(self.identity()) else { return Sync::Completed };
        let port = self.ports.borrow().get(hop.port).and_then(Weak::upgrade);
        let Some(initiator) = port.and_then(|port| port.initiator.get()?.upgrade()) else {
            transaction.leave(self.identity());
            return Sync::Completed;
        };
        if *phase == Phase::BeginResp {
            transaction.payload_mut().address = hop.address;
        }
        let sync = initiator.nb_transport_bw(transaction, phase, delay);
        if sync == Sync::Completed || (sync == Sync::Updated && *phase == Phase::EndResp) {
            // The address is the initiator's since the response passed; leave it so.
            transaction.leave(self.identity());
        }
        sync
    }

    /// Withdraws direct access at every range behind which the target is.
    fn invalidate_direct(&self, region: usize, start: u64, end: u64) {
        let target = &self.regions[region].target;
        let initiators: Vec<Rc<dyn Initiator>> = (self.ports.borrow().iter())
            .filter_map(|port| port.upgrade()?.initiator.get()?.upgrade())
            .collect();
        for region in self.regions.iter().filter(|region| Rc::ptr_eq(&region.target, target)) {
            let (first, last) = (start.max(region.local), end.min(region.local_end()));
            if first > last {
                continue;
            }
            let shift = |local: u64| local - region.local + region.start;
            for initiator in &initiators {
                initiator.invalidate_direct(shift(first), shift(last));
            }
        }
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Router({}", self.name)?;
        for region in &self.regions {
            write!(f, ", {} at {:#x}..={:#x}", region.name, region.start, region.end)?;
        }
        f.write_str(")")
    }
}

/// One initiator's way into a [`Router`]; made by [`Router::port`].
///
/// ```
/// use std::rc::Rc;
/// use vp_core::tlm::{InitiatorSocket, Router, RouterPort};
/// let bus = Router::builder("bus").build()?;
/// for name in ["cpu", "dma"] {
///     let port: Rc<RouterPort> = bus.port();
///     InitiatorSocket::new(name).bind(port)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RouterPort {
    router: Rc<Router>,
    index: usize,
    initiator: OnceCell<Weak<dyn Initiator>>,
}

impl Target for RouterPort {
    #[inline]
    fn b_transport<'a>(&'a self, payload: &'a mut Payload, delay: &'a mut Time) -> Flow<'a> {
        let router = &*self.router;
        let found = router.decoder.look_up(payload.address).and_then(|index| router.regions.get(index));
        match found.filter(|region| region.holds(payload.address, payload.span())) {
            Some(region) => region.b_transport(payload, delay),
            None => router.search_and_b_transport(payload, delay),
        }
    }

    fn nb_transport_fw(&self, transaction: &Transaction, phase: &mut Phase, delay: &mut Time) -> Sync {
        self.router.nb_transport_fw(self.index, transaction, phase, delay)
    }

    fn transport_dbg(&self, payload: &mut Payload) -> usize {
        let Some(region) = self.router.find_for(payload) else { return 0 };
        let (address, region) = (payload.address, &self.router.regions[region]);
        payload.address = region.to_local(address);
        let transferred = region.target.transport_dbg(payload);
        payload.address = address;
        transferred
    }

    fn direct(&self, address: u64, command: Command) -> Option<DirectRegion> {
        let region = &self.router.regions[self.router.find(address, 1)?];
        let granted = region.target.direct(region.to_local(address), command)?;
        let granted = granted.within(region.local, region.local_end())?;
        let start = granted.start - region.local + region.start;
        Some(granted.moved(start))
    }

    fn connect(&self, initiator: Weak<dyn Initiator>) -> Result<(), BindError> {
        let socket = format!("{}.port{}", self.router.name, self.index);
        self.initiator.set(initiator).map_err(|_| BindError::AlreadyBound { socket: socket.into() })
    }
}

/// The router as one of its targets sees it.
struct Back {
    router: Weak<Router>,
    region: usize,
}

impl Initiator for Back {
    fn nb_transport_bw(&self, transaction: &Transaction, phase: &mut Phase, delay: &mut Time) -> Sync {
        match self.router.upgrade() {
            Some(router) => router.nb_transport_bw(transaction, phase, delay),
            None => Sync::Completed,
        }
    }

    fn invalidate_direct(&self, start: u64, end: u64) {
        if let Some(router) = self.router.upgrade() {
            router.invalidate_direct(self.region, start, end);
        }
    }
}
