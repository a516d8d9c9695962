//! Parts of a server's platform that are in Python: its memory, or its device.
//!
//! A memory may be without a clock, so that the platform has its own latencies; or it is a partner, and answers after so many cycles, as a device
//! always does. Both are served in the thread that asks for it, until the platform ends, a signal comes or what is called raises.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use vp_client::native::{Capabilities, Role};
use vp_client::{Address, Client, Options};
use vp_partner::pins::{LineSource, RegisterAccess, RegisterTarget, TargetPins};
use vp_partner::{FixedLatency, Partner, PartnerError, PartnerOptions, RemoteLink};

use crate::callable::CallableMemory;
use crate::calls;
use crate::control::Control;
use crate::errors;
use crate::open::{SessionOptions, Shown, address, wait_for};

/// Interval at which the stream of a memory is looked at for a wish to stop.
const LOOK: Duration = Duration::from_millis(20);

/// Edges after which that is done of a partner.
const LOOK_EDGES: u64 = 65_536;

fn options(shown: Shown, wanted: &SessionOptions) -> PyResult<Options> {
    let options = Options {
        platform: wanted.platform.clone(),
        time_mode: wanted.time_mode()?,
        share: false,
        credentials: shown.credentials()?,
        timeout: wanted.timeout()?,
        heartbeat: wanted.heartbeat()?,
        ..Options::new(crate::AGENT)
    };
    Ok(options)
}

/// Reason for which serving has ended.
enum ServingEnd {
    /// Somebody has asked for it, or Python has raised: the control knows.
    Asked,
    /// The platform has.
    Platform(String),
    /// Something else went wrong.
    Wrong(PyErr),
}

impl From<PartnerError> for ServingEnd {
    fn from(error: PartnerError) -> ServingEnd {
        match error {
            PartnerError::Over(why) => ServingEnd::Platform(why),
            PartnerError::Connect(why) => ServingEnd::Wrong(errors::of("ConnectError", why)),
            PartnerError::Ended(why) => ServingEnd::Wrong(errors::of("TransportError", why)),
            other => ServingEnd::Wrong(errors::of("RefusedError", other.to_string())),
        }
    }
}

/// Serves with Python's lock given up; says why it has ended.
fn serve(
    py: Python<'_>,
    control: &Control,
    stops: &Stops,
    serve: impl FnOnce() -> Result<(), ServingEnd>,
) -> PyResult<Option<String>> {
    calls::long(py, control, || match serve() {
        Ok(()) | Err(ServingEnd::Asked) => Ok(None),
        Err(_) if stops.are_asked_for() => Ok(None),
        Err(ServingEnd::Platform(why)) => Ok(Some(why)),
        Err(ServingEnd::Wrong(error)) => Err(error.into()),
    })
}

/// Python's `stop.is_set`, if there is one.
struct Stops(Option<Py<PyAny>>);

impl Stops {
    fn are_asked_for(&self) -> bool {
        let Some(stop) = &self.0 else { return false };
        Python::attach(|py| stop.call0(py).and_then(|stop| stop.bind(py).is_truthy()).unwrap_or(true))
    }

    fn copy(&self, py: Python<'_>) -> Stops {
        Stops(self.0.as_ref().map(|stop| stop.clone_ref(py)))
    }
}

/// Is the memory behind a port of a platform: without a clock, or with `latency`, cycles to a read's first data.
#[pyfunction]
#[pyo3(signature = (to, shown, wanted, port, call, latency=None, stop=None))]
#[expect(clippy::too_many_arguments, reason = "Python's call has names for them")]
pub(crate) fn serve_memory(
    py: Python<'_>,
    to: &str,
    shown: Shown,
    wanted: SessionOptions,
    port: String,
    call: Py<PyAny>,
    latency: Option<u64>,
    stop: Option<Py<PyAny>>,
) -> PyResult<Option<String>> {
    let (address, mut options, control, stop) =
        (address(to)?, options(shown, &wanted)?, Control::new(), Stops(stop));
    let bytes = CallableMemory::new(call, control.clone());
    let stops = stop.copy(py);
    let Some(latency) = latency else {
        // It is served at any time.
        options.capabilities = options.capabilities.union(Capabilities::HEARTBEAT);
        let client = wait_for(py, move || Client::connect(&address, &options, bytes))?;
        let mut client = client.map_err(|error| errors::of("ConnectError", error.to_string()))?;
        let asked = control.clone();
        client.ask_whether(move || asked.sleeps_on());
        return serve(py, &control, &stop, || {
            let wrong =
                |error: vp_client::Error| ServingEnd::Wrong(errors::of("RefusedError", error.to_string()));
            let id = client.ports().find(|(_, of)| of.name == port).map(|(id, _)| id);
            let id = id.ok_or_else(|| {
                let text = format!("the platform has no port `{port}`");
                ServingEnd::Wrong(errors::of("RefusedError", text))
            })?;
            client.attach(id, Role::Target, None).map_err(wrong)?;
            loop {
                if let Err(error) = client.wait(Some(LOOK), |_| None::<()>) {
                    let said = client.bye().map(|bye| bye.reason.clone());
                    return Err(said.map_or_else(
                        || ServingEnd::Wrong(errors::of("TransportError", error.to_string())),
                        ServingEnd::Platform,
                    ));
                }
                if control.has_failed() || stops.are_asked_for() {
                    let _ = client.close("done");
                    return Err(ServingEnd::Asked);
                }
            }
        });
    };
    let link = connect(py, address, options, &control, stops)?;
    serve(py, &control, &stop, || {
        let mut partner = Partner::new(Box::new(link), PartnerOptions::default())?;
        let mut memory = FixedLatency::attach(&mut partner, &port, Rc::new(bytes), latency)?;
        for edge in 0_u64.. {
            if edge % LOOK_EDGES == 0 && (!control.sleeps_on() || stop.are_asked_for())
                || control.has_failed()
            {
                break;
            }
            memory.sample(&mut partner)?;
            memory.edge(&mut partner)?;
        }
        Err(ServingEnd::Asked)
    })
}

/// A partner's session, whose waits can be ended.
fn connect(
    py: Python<'_>,
    address: Address,
    options: Options,
    control: &Arc<Control>,
    stops: Stops,
) -> PyResult<RemoteLink> {
    let link = wait_for(py, move || RemoteLink::open(&address, &options))?;
    let mut link = link.map_err(|error| errors::of("ConnectError", error.to_string()))?;
    let asked = control.clone();
    link.ask_whether(move || asked.sleeps_on() && !asked.has_failed() && !stops.are_asked_for());
    Ok(link)
}

/// Is the device of a platform: `read(address)`, `write(address, value)`, `reset()`, and `line()`, which gives the changes of the interrupt line that
/// have been asked for since the last call, as cycles from now and levels. An access is answered `latency` cycles after it was taken.
#[pyfunction]
#[pyo3(signature = (to, shown, wanted, calls, latency=1, stop=None))]
pub(crate) fn serve_device(
    py: Python<'_>,
    to: &str,
    shown: Shown,
    wanted: SessionOptions,
    calls: (Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>),
    latency: u64,
    stop: Option<Py<PyAny>>,
) -> PyResult<Option<String>> {
    let (address, options, control, stop) =
        (address(to)?, options(shown, &wanted)?, Control::new(), Stops(stop));
    let stops = stop.copy(py);
    let link = connect(py, address, options, &control, stops)?;
    serve(py, &control, &stop, || {
        let ports = vp_partner::PlatformLink::ports(&link).iter();
        let registers = ports.clone().find(|port| port.kind == vp_models::platform::PortKind::Registers);
        let registers = registers.map_or_else(|| "csb0".to_owned(), |port| port.name.clone());
        let mut partner = Partner::new(Box::new(link), PartnerOptions::default())?;
        let csb = partner.attach::<RegisterTarget>(&registers)?;
        let irq = partner.attach::<LineSource>("irq0")?;
        let (read, write, reset, line) = calls;
        let device = Device { read, write, reset, line, control: control.clone() };
        let mut answers: VecDeque<(u64, Option<u32>)> = VecDeque::new();
        let (mut levels, mut level) = (VecDeque::<(u64, bool)>::new(), false);
        let (mut edge, mut was_in_reset) = (0_u64, false);
        device.take_line(edge, &mut levels);
        loop {
            if edge % LOOK_EDGES == 0 && (!control.sleeps_on() || stop.are_asked_for())
                || control.has_failed()
            {
                break;
            }
            while let Some((_, next)) = take_due(&mut levels, edge) {
                level = next;
            }
            let mut pins = TargetPins { ready: true, ..TargetPins::default() };
            match take_due(&mut answers, edge) {
                Some((_, Some(value))) => pins.read = Some(value),
                Some((_, None)) => pins.write_complete = true,
                None => {}
            }
            partner.sample(csb, &pins)?;
            partner.sample(irq, &level)?;
            let seen = partner.seen(csb)?;
            partner.seen(irq)?;
            if partner.is_in_reset(csb) {
                if !was_in_reset {
                    answers.clear();
                    levels.clear();
                    level = false;
                    device.reset();
                    device.take_line(edge, &mut levels);
                }
                was_in_reset = true;
            } else {
                was_in_reset = false;
                if let Some(access) = seen {
                    let value = device.access(access);
                    if !access.posted {
                        answers.push_back((edge + latency.max(1), access.write.is_none().then_some(value)));
                    }
                    device.take_line(edge, &mut levels);
                }
            }
            edge += 1;
        }
        Err(ServingEnd::Asked)
    })
}

/// The first of what is to happen, if its edge has come.
fn take_due<T>(waiting: &mut VecDeque<(u64, T)>, edge: u64) -> Option<(u64, T)> {
    waiting.front().is_some_and(|(at, _)| *at <= edge).then(|| waiting.pop_front()).flatten()
}

/// A device in Python.
struct Device {
    read: Py<PyAny>,
    write: Py<PyAny>,
    reset: Py<PyAny>,
    line: Py<PyAny>,
    control: Arc<Control>,
}

impl Device {
    fn attempt<T: Default>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
        Python::attach(|py| {
            call(py).unwrap_or_else(|error| {
                self.control.fail(error);
                T::default()
            })
        })
    }

    fn access(&self, RegisterAccess { address, write, .. }: RegisterAccess) -> u32 {
        self.attempt(|py| match write {
            Some(value) => self.write.call1(py, (address, value)).map(|_| 0),
            None => self.read.call1(py, (address,))?.extract(py),
        })
    }

    fn reset(&self) {
        self.attempt(|py| self.reset.call0(py).map(drop));
    }

    /// Takes the changes of the line that the device has asked for, in the order of their edges.
    fn take_line(&self, edge: u64, levels: &mut VecDeque<(u64, bool)>) {
        let asked: Vec<(u64, bool)> = self.attempt(|py| self.line.call0(py)?.extract(py));
        for (after, level) in asked {
            let at = edge.saturating_add(after.max(1));
            let place = levels.partition_point(|(before, _)| *before <= at);
            levels.insert(place, (at, level));
        }
    }
}
