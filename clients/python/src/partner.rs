//! A partner of a platform whose pins are in a simulator of hardware that Python drives, such as with cocotb. At each edge the pins of each port are
//! *sampled*, and *seen* then; `vp.cocotb` says when.

use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes as Data;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vp_hub::{Clock, Reaction};
use vp_models::memory::usual_limit;
use vp_partner::pins::{
    Address, AnyHandle, Beat, Handle, LineSink, LineSource, Manager, ManagerPins, PinState,
    RegisterInitiator, RegisterTarget, Response, Subordinate, SubordinatePins, TargetPins, WriteBeat,
};
use vp_partner::{PartnerError, PartnerOptions, PlatformLink, RemoteLink};

use crate::callable::CallableMemory;
use crate::calls::{self, CallError};
use crate::control::Control;
use crate::errors;
use crate::open::wait_for;
use crate::owned::Owned;

/// A partner, and its ports.
#[pyclass(frozen, module = "vp._native")]
pub(crate) struct Partner {
    inner: Owned<Inner>,
}

struct Inner {
    partner: vp_partner::Partner,
    /// The ports, by what the design is.
    ports: Vec<AnyHandle>,
    control: Arc<Control>,
}

/// AR or AW: id, address, beats.
type AddressRow = (u16, u64, u16);
/// R: id, data, whether it is the last one, whether it is an error.
type BeatRow = (u16, Vec<u8>, bool, bool);
/// W: data, strobes, whether it is the last one.
type WriteRow = (Vec<u8>, u64, bool);
/// A register access: address, the word to write, whether it is posted.
type AccessRow = (u32, Option<u32>, bool);

fn address((id, address, beats): AddressRow) -> Address {
    Address { id, address, beats }
}

fn address_row(Address { id, address, beats }: Address) -> AddressRow {
    (id, address, beats)
}

fn wrong(error: PartnerError) -> CallError {
    let (class, text) = match error {
        PartnerError::Over(why) => ("ClosedError", why),
        PartnerError::Connect(why) => ("ConnectError", why),
        PartnerError::Ended(why) => ("TransportError", why),
        other => ("RefusedError", other.to_string()),
    };
    CallError::Python(errors::of(class, text))
}

impl Inner {
    fn port<S: PinState>(&self, number: usize) -> Result<Handle<S>, CallError> {
        let port = self.ports.get(number).and_then(|port| port.of());
        port.ok_or_else(|| wrong(PartnerError::Refused("the number is no port of that kind".to_owned())))
    }
}

impl Partner {
    fn call<R>(&self, py: Python<'_>, call: impl FnOnce(&mut Inner) -> Result<R, CallError>) -> PyResult<R> {
        let mut inner = self.inner.get()?;
        let control = inner.control.clone();
        calls::long(py, &control, || call(&mut inner))
    }
}

#[pymethods]
impl Partner {
    /// Becomes a partner of the platform at an address, or at the one of the variable `VP_CONNECT`.
    #[new]
    #[pyo3(signature = (address=None, same_edge=false, quantum=0, reset_edges=16, memory_limit=None))]
    fn new(
        py: Python<'_>,
        address: Option<&str>,
        same_edge: bool,
        quantum: u32,
        reset_edges: u64,
        memory_limit: Option<u64>,
    ) -> PyResult<Partner> {
        let control = Control::new();
        let reaction = if same_edge { Reaction::SameEdge } else { Reaction::NextEdge };
        let memory_limit = memory_limit.unwrap_or_else(usual_limit);
        let options = PartnerOptions { clock: Clock { reaction, quantum }, reset_edges, memory_limit };
        let place = calls::short(&control, || vp_partner::PlatformAddress::of(address).map_err(wrong))?;
        let link: Box<dyn PlatformLink> = match place {
            vp_partner::PlatformAddress::Server(address) => {
                let link = wait_for(py, move || RemoteLink::connect(&address, None, crate::AGENT))?;
                let mut link = calls::short(&control, || link.map_err(wrong))?;
                let asked = control.clone();
                link.ask_whether(move || asked.sleeps_on() && !asked.has_failed());
                Box::new(link)
            }
            here => calls::short(&control, || here.open(crate::AGENT).map_err(wrong))?,
        };
        let partner = calls::long(py, &control, || vp_partner::Partner::new(link, options).map_err(wrong))?;
        Ok(Partner { inner: Owned::new(Inner { partner, ports: Vec::new(), control }) })
    }

    /// Takes a port: as what, and its name. Its number, and the bytes that its data has.
    fn attach(&self, py: Python<'_>, kind: &str, name: &str) -> PyResult<(usize, usize)> {
        self.call(py, |inner| {
            let partner = &mut inner.partner;
            let port = match kind {
                "axi subordinate" => partner.attach::<Subordinate>(name).map(AnyHandle::from),
                "axi manager" => partner.attach::<Manager>(name).map(AnyHandle::from),
                "register target" => partner.attach::<RegisterTarget>(name).map(AnyHandle::from),
                "register initiator" => partner.attach::<RegisterInitiator>(name).map(AnyHandle::from),
                "line source" => partner.attach::<LineSource>(name).map(AnyHandle::from),
                "line sink" => partner.attach::<LineSink>(name).map(AnyHandle::from),
                other => {
                    Err(PartnerError::Refused(format!("`{other}` is nothing that a design is at a port")))
                }
            };
            let port = port.map_err(wrong)?;
            let width = match (port.of::<Subordinate>(), port.of::<Manager>()) {
                (Some(handle), _) => partner.width(handle).map_err(wrong)?,
                (_, Some(handle)) => partner.width(handle).map_err(wrong)?,
                _ => 0,
            };
            inner.ports.push(port);
            Ok((inner.ports.len() - 1, width))
        })
    }

    /// Keeps the bytes of a memory where `call(address, size, data)` finds them, for loaders and debuggers.
    fn keep_bytes(&self, py: Python<'_>, port: usize, call: Py<PyAny>) -> PyResult<()> {
        self.call(py, |inner| {
            let target = Rc::new(CallableMemory::new(call, inner.control.clone()));
            let handle = inner.port::<Subordinate>(port)?;
            inner.partner.set_debug_target(handle, target).map_err(wrong)
        })
    }

    /// True if the design has to be in reset, because the platform was put back.
    fn is_in_reset(&self, py: Python<'_>) -> PyResult<bool> {
        self.call(py, |inner| {
            let partner = &mut inner.partner;
            Ok(inner.ports.iter().any(|port| partner.is_in_reset(*port)))
        })
    }

    /// ARREADY, AWREADY, WREADY, R and B.
    fn sample_subordinate(
        &self,
        py: Python<'_>,
        port: usize,
        ready: (bool, bool, bool),
        r: Option<BeatRow>,
        b: Option<(u16, bool)>,
    ) -> PyResult<()> {
        let r = r.map(|(id, data, last, error)| Beat { id, data: Data::from(data), last, error });
        let b = b.map(|(id, error)| Response { id, error });
        let (ar_ready, aw_ready, w_ready) = ready;
        let pins = SubordinatePins { ar_ready, aw_ready, w_ready, r, b };
        self.call(py, |inner| inner.partner.sample(inner.port::<Subordinate>(port)?, &pins).map_err(wrong))
    }

    /// AR, AW, W, RREADY and BREADY.
    #[expect(clippy::type_complexity, reason = "pins, as they go to Python")]
    fn see_subordinate<'py>(
        &self,
        py: Python<'py>,
        port: usize,
    ) -> PyResult<(
        Option<AddressRow>,
        Option<AddressRow>,
        Option<(Bound<'py, PyBytes>, u64, bool)>,
        bool,
        bool,
    )> {
        let ManagerPins { ar, aw, w, r_ready, b_ready } =
            self.call(py, |inner| inner.partner.seen(inner.port::<Subordinate>(port)?).map_err(wrong))?;
        let w = w.map(|WriteBeat { data, strobes, last }| (PyBytes::new(py, &data), strobes, last));
        Ok((ar.map(address_row), aw.map(address_row), w, r_ready, b_ready))
    }

    /// AR, AW, W, RREADY and BREADY.
    fn sample_manager(
        &self,
        py: Python<'_>,
        port: usize,
        ar: Option<AddressRow>,
        aw: Option<AddressRow>,
        w: Option<WriteRow>,
        ready: (bool, bool),
    ) -> PyResult<()> {
        let (r_ready, b_ready) = ready;
        let w = w.map(|(data, strobes, last)| WriteBeat { data: Data::from(data), strobes, last });
        let pins = ManagerPins { ar: ar.map(address), aw: aw.map(address), w, r_ready, b_ready };
        self.call(py, |inner| inner.partner.sample(inner.port::<Manager>(port)?, &pins).map_err(wrong))
    }

    /// ARREADY, AWREADY and WREADY, R and B.
    #[expect(clippy::type_complexity, reason = "pins, as they go to Python")]
    fn see_manager<'py>(
        &self,
        py: Python<'py>,
        port: usize,
    ) -> PyResult<((bool, bool, bool), Option<(u16, Bound<'py, PyBytes>, bool, bool)>, Option<(u16, bool)>)>
    {
        let SubordinatePins { ar_ready, aw_ready, w_ready, r, b } =
            self.call(py, |inner| inner.partner.seen(inner.port::<Manager>(port)?).map_err(wrong))?;
        let r = r.map(|Beat { id, data, last, error }| (id, PyBytes::new(py, &data), last, error));
        Ok(((ar_ready, aw_ready, w_ready), r, b.map(|Response { id, error }| (id, error))))
    }

    /// Samples the target's pins: ready for an access, the word read, and the end of a write.
    fn sample_target(
        &self,
        py: Python<'_>,
        port: usize,
        ready: bool,
        read: Option<u32>,
        write_complete: bool,
    ) -> PyResult<()> {
        let pins = TargetPins { ready, read, write_complete };
        self.call(py, |inner| inner.partner.sample(inner.port::<RegisterTarget>(port)?, &pins).map_err(wrong))
    }

    /// The access, if there is one.
    fn see_target(&self, py: Python<'_>, port: usize) -> PyResult<Option<AccessRow>> {
        let seen =
            self.call(py, |inner| inner.partner.seen(inner.port::<RegisterTarget>(port)?).map_err(wrong))?;
        Ok(seen.map(|access| (access.address, access.write, access.posted)))
    }

    /// The access, if there is one.
    fn sample_initiator(&self, py: Python<'_>, port: usize, access: Option<AccessRow>) -> PyResult<()> {
        let pins = access.map(|(address, write, posted)| vp_partner::pins::RegisterAccess {
            address,
            write,
            posted,
        });
        self.call(py, |inner| {
            inner.partner.sample(inner.port::<RegisterInitiator>(port)?, &pins).map_err(wrong)
        })
    }

    /// Pins that the initiator sees: the access is taken, the word read, and the end of a write.
    fn see_initiator(&self, py: Python<'_>, port: usize) -> PyResult<(bool, Option<u32>, bool)> {
        let seen =
            self.call(py, |inner| inner.partner.seen(inner.port::<RegisterInitiator>(port)?).map_err(wrong))?;
        Ok((seen.ready, seen.read, seen.write_complete))
    }

    /// The level of a line that the design drives.
    fn sample_source(&self, py: Python<'_>, port: usize, level: bool) -> PyResult<()> {
        self.call(py, |inner| inner.partner.sample(inner.port::<LineSource>(port)?, &level).map_err(wrong))
    }

    /// Nothing comes back on a line that the design drives; but the edge is over there.
    fn see_source(&self, py: Python<'_>, port: usize) -> PyResult<()> {
        self.call(py, |inner| inner.partner.seen(inner.port::<LineSource>(port)?).map_err(wrong))
    }

    /// Nothing goes out on a line that the design sees; but the edge is over there.
    fn sample_sink(&self, py: Python<'_>, port: usize) -> PyResult<()> {
        self.call(py, |inner| inner.partner.sample(inner.port::<LineSink>(port)?, &()).map_err(wrong))
    }

    /// The level of a line that the design sees.
    fn see_sink(&self, py: Python<'_>, port: usize) -> PyResult<bool> {
        self.call(py, |inner| inner.partner.seen(inner.port::<LineSink>(port)?).map_err(wrong))
    }

    /// One of the platform's counters.
    fn counter(&self, py: Python<'_>, name: &str) -> PyResult<Option<u64>> {
        self.call(py, |inner| inner.partner.counter(name).map_err(wrong))
    }

    /// The length of a clock cycle of the platform, and the time of the edge that was seen last.
    fn times(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.call(py, |inner| Ok((inner.partner.period().as_ps(), inner.partner.now().as_ps())))
    }

    /// The platform's warnings since the last call.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<(u64, String)>> {
        self.call(py, |inner| {
            let warnings = std::iter::from_fn(|| inner.partner.next_warning());
            Ok(warnings.map(|(time, text)| (time.as_ps(), text)).collect())
        })
    }

    /// Leaves the platform.
    fn close(&self) -> PyResult<()> {
        self.inner.take().map(drop)
    }
}
