//! The object that Python calls: a platform, with what a CPU's program can do to it.

use std::rc::Rc;
use std::sync::Arc;

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::Borrowed;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use vp_core::Time;
use vp_host::{CounterValue, Host as _, Memory};
use vp_hub::Why;

use crate::calls::{self, CallError};
use crate::control::Control;
use crate::errors;
use crate::native_registers;
use crate::observe::Callback;
use crate::owned::Owned;
use crate::session::{Goal, PlatformHost, Session};

/// A platform: of this process, or behind a session with a server. Times are picoseconds.
#[pyclass(frozen, module = "vp._native")]
pub(crate) struct Host {
    session: Owned<Session>,
}

impl Host {
    pub(crate) fn new(session: Session) -> Host {
        Host { session: Owned::new(session) }
    }

    /// Makes a call that takes no time worth another thread's turn, unless it waits for a server.
    fn call<R>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Session) -> Result<R, CallError>,
    ) -> PyResult<R> {
        let mut session = self.session.get()?;
        if let PlatformHost::Remote(_) = session.way {
            drop(session);
            return self.run(py, call);
        }
        let control = session.control.clone();
        calls::short(&control, || call(&mut session))
    }

    /// Makes a call that may take long: other threads of Python run meanwhile.
    pub(crate) fn run<R>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Session) -> Result<R, CallError>,
    ) -> PyResult<R> {
        let mut session = self.session.get()?;
        let control = session.control.clone();
        calls::long(py, &control, || call(&mut session))
    }

    fn advance(&self, py: Python<'_>, goal: Goal) -> PyResult<(&'static str, Option<String>)> {
        let why = self.run(py, |session| Ok(session.advance(goal)?))?;
        Ok(match why {
            Why::Time => ("time", None),
            Why::Interrupt => ("interrupt", None),
            Why::Idle => ("idle", None),
            Why::Stopped => ("stopped", None),
            Why::Deadlock { report } => ("deadlock", Some(report)),
        })
    }
}

/// Ends what a platform's thread waits for.
#[pyclass(frozen, module = "vp._native")]
pub(crate) struct Interrupter {
    control: Arc<Control>,
}

#[pymethods]
impl Interrupter {
    /// The call that is under way ends with `KeyboardInterrupt`.
    fn interrupt(&self) {
        self.control.fail(PyKeyboardInterrupt::new_err("the wait was given up"));
    }
}

/// A layer that ran: unit, group, shape, begin, end.
type LayerRow = (String, u64, String, u64, Option<u64>);

/// A word of 32 bits.
struct Word(u32);

impl<'a, 'py> FromPyObject<'a, 'py> for Word {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Word> {
        object.extract().map(Word).map_err(|_: PyErr| {
            errors::of(
                "FieldError",
                format!("{} is no word of 32 bits: 0 to 0xffffffff", errors::shown(&object)),
            )
        })
    }
}

/// A register's byte address.
struct Address(u32);

impl<'a, 'py> FromPyObject<'a, 'py> for Address {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Address> {
        object.extract().map(Address).map_err(|_: PyErr| {
            let shown = errors::shown(&object);
            errors::of(
                "RefusedError",
                format!("register address {shown}: registers are words, at multiples of 4"),
            )
        })
    }
}

/// The memory of that name.
fn memory(name: &str) -> PyResult<Memory> {
    [Memory::Primary, Memory::Secondary]
        .into_iter()
        .find(|memory| memory.port() == name)
        .ok_or_else(|| errors::of("RefusedError", format!("`{name}` is no memory: there are dbb0 and sram0")))
}

#[pymethods]
impl Host {
    /// Reads a register.
    fn read(&self, py: Python<'_>, address: Address) -> PyResult<u32> {
        self.call(py, |session| Ok(session.host().read(address.0)?))
    }

    /// Writes a register; posted: time does not move for it.
    fn write(&self, py: Python<'_>, address: Address, value: Word) -> PyResult<()> {
        self.call(py, |session| Ok(session.host().write(address.0, value.0)?))
    }

    /// Writes a register, and waits for the acknowledgement.
    fn write_acknowledged(&self, py: Python<'_>, address: Address, value: Word) -> PyResult<()> {
        self.call(py, |session| Ok(session.host().write_acknowledged(address.0, value.0)?))
    }

    /// Lets time pass until the interrupt line is high; says when.
    fn wait_interrupt(&self, py: Python<'_>) -> PyResult<u64> {
        self.run(py, |session| Ok(session.wait_interrupt()?.as_ps()))
    }

    /// Lets time pass up to a time; says why it stopped.
    fn run_until(&self, py: Python<'_>, time: u64) -> PyResult<(&'static str, Option<String>)> {
        self.advance(py, Goal::Time(Time::ps(time)))
    }

    /// Lets time pass until nothing is left to do; says why it stopped.
    fn run_idle(&self, py: Python<'_>) -> PyResult<(&'static str, Option<String>)> {
        self.advance(py, Goal::Idle)
    }

    /// The time.
    fn now(&self, py: Python<'_>) -> PyResult<u64> {
        self.call(py, |session| Ok(session.host().now()?.as_ps()))
    }

    /// Time of the next event, or `None`.
    fn next_time(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.call(py, |session| Ok(session.local()?.platform().simulation().next_time().map(Time::as_ps)))
    }

    /// True if the interrupt line is high.
    fn interrupt(&self, py: Python<'_>) -> PyResult<bool> {
        self.call(py, |session| {
            Ok(match &session.way {
                PlatformHost::Local(host) => host.platform().irq().level(),
                PlatformHost::Remote(host) => host.line_level(),
            })
        })
    }

    /// Puts bytes into a memory.
    fn load(&self, py: Python<'_>, name: &str, address: u64, data: PyReadonlyArray1<'_, u8>) -> PyResult<()> {
        let (memory, bytes) = (memory(name)?, data.as_slice().map_err(errors::description)?);
        self.call(py, |session| Ok(session.host().load(memory, address, bytes)?))
    }

    /// Takes bytes out of a memory.
    fn fetch(
        &self,
        py: Python<'_>,
        name: &str,
        address: u64,
        mut into: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<()> {
        let (memory, bytes) = (memory(name)?, into.as_slice_mut().map_err(errors::description)?);
        self.call(py, |session| Ok(session.host().fetch(memory, address, bytes)?))
    }

    /// Sends bytes into the device's input stream.
    fn stream(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        self.call(py, |session| Ok(session.host().stream(bytes)?))
    }

    /// The counters, and their units.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let statistics = self.run(py, |session| Ok(session.host().statistics()?))?;
        let (values, units) = (PyDict::new(py), PyDict::new(py));
        for counter in &statistics.counters {
            match &counter.value {
                CounterValue::Count(count) => values.set_item(&counter.name, count)?,
                CounterValue::Real(real) => values.set_item(&counter.name, real)?,
                CounterValue::Text(text) => values.set_item(&counter.name, text)?,
            }
            if !counter.unit.is_empty() {
                units.set_item(&counter.name, &counter.unit)?;
            }
        }
        Ok((values, units))
    }

    /// The platform's warnings since the last call.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<(u64, String)>> {
        self.call(py, |session| {
            let warnings = session.host().warnings();
            Ok(warnings.into_iter().map(|warning| (warning.time.as_ps(), warning.text)).collect())
        })
    }

    /// The hash of everything observed so far.
    fn event_hash(&self, py: Python<'_>) -> PyResult<String> {
        self.run(py, |session| {
            if let PlatformHost::Local(host) = &session.way {
                return Ok(format!("{:016x}", host.platform().event_hash()));
            }
            let statistics = session.host().statistics()?;
            Ok(statistics.text("events.hash").unwrap_or_default().to_owned())
        })
    }

    /// The layers that ran, oldest first: unit, group, shape, begin, end.
    fn layers(&self, py: Python<'_>) -> PyResult<Vec<LayerRow>> {
        self.call(py, |session| {
            let layers = session.local()?.platform().layers().into_iter();
            Ok(layers
                .map(|it| {
                    let end = it.end.map(Time::as_ps);
                    (it.unit.to_string(), it.group, it.shape, it.begin.as_ps(), end)
                })
                .collect())
        })
    }

    /// Ends waits that reach this time; `None`: no limit.
    fn set_limit(&self, py: Python<'_>, limit: Option<u64>) -> PyResult<()> {
        self.call(py, |session| {
            session.set_limit(limit.map_or(Time::MAX, Time::ps));
            Ok(())
        })
    }

    /// Puts everything back to power-on.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |session| {
            match &mut session.way {
                PlatformHost::Local(host) => host.reset()?,
                PlatformHost::Remote(host) => host.reset()?,
            }
            Ok(())
        })
    }

    /// Arms faults, from a TOML text.
    fn inject_faults(&self, py: Python<'_>, faults: &str) -> PyResult<()> {
        self.run(py, |session| Ok(session.host().inject_faults(faults)?))
    }

    /// Saves the platform in a file, from which `vp serve --restore` goes on; says at what time.
    fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<u64> {
        self.run(py, |session| {
            let mut saved = Vec::new();
            let time = session.local()?.save(&mut saved)?;
            std::fs::write(&path, saved).map_err(|error| errors::file(&path, &error))?;
            Ok(time.as_ps())
        })
    }

    /// The platform's description as TOML.
    fn description(&self, py: Python<'_>) -> PyResult<String> {
        self.run(py, |session| Ok(session.description()?.0.to_toml()))
    }

    /// The platform's name, and the kind of its device.
    fn identity(&self, py: Python<'_>) -> PyResult<(String, String)> {
        self.call(py, |session| {
            let name = match &session.way {
                PlatformHost::Local(host) => host.platform().description().name.clone(),
                PlatformHost::Remote(host) => host.welcome().platform.clone(),
            };
            Ok((name, session.device().to_owned()))
        })
    }

    /// The period of its clock.
    fn period(&self, py: Python<'_>) -> PyResult<u64> {
        self.run(py, |session| Ok(session.description()?.0.period.as_ps()))
    }

    /// The memories: name, first address, bytes.
    fn memories(&self, py: Python<'_>) -> PyResult<Vec<(String, u64, u64)>> {
        self.run(py, |session| {
            Ok(match &session.way {
                PlatformHost::Local(host) => {
                    let memories = host.platform().memories().iter();
                    let range = |memory: &vp_models::platform::MemoryPort| {
                        let range = memory.range();
                        (memory.name().to_owned(), range.start, range.end - range.start)
                    };
                    memories.map(range).collect()
                }
                PlatformHost::Remote(host) => {
                    let ports = host.welcome().ports.iter().filter(|port| vp_client::is_memory(port));
                    ports.map(|port| (port.name.clone(), port.base, port.size)).collect()
                }
            })
        })
    }

    /// The units that have registers.
    fn units(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        self.run(py, |session| Ok(native_registers::units(&session.description()?.1)))
    }

    /// The registers of a unit.
    fn registers<'py>(&self, py: Python<'py>, unit: &str) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let registers = self.run(py, |session| Ok(session.description()?.1.clone()))?;
        native_registers::of_unit(py, &registers, unit)
    }

    /// Reason for which there is no register of that name, with a name that would be right.
    fn no_register(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        self.call(py, |session| {
            let named = session.description()?.1.named(name);
            Ok(named.err().map_or_else(|| format!("there is `{name}`"), |error| error.to_string()))
        })
    }

    /// Reason for which `REGISTER=VALUE` or `REGISTER.FIELD=VALUE` is refused, with a text that would be right.
    fn no_assignment(&self, py: Python<'_>, text: &str) -> PyResult<String> {
        self.call(py, |session| {
            let refused = session.description()?.1.assignment(text).err();
            Ok(refused.map_or_else(|| format!("`{text}` can be"), |error| error.to_string()))
        })
    }

    /// Has a callback told of what happens, of that kind and, if one is named, of that source only. The number by which it is taken away.
    #[pyo3(signature = (kind, call, source=None))]
    fn observe(&self, py: Python<'_>, kind: &str, call: Py<PyAny>, source: Option<String>) -> PyResult<u64> {
        self.call(py, |session| {
            let control = session.control.clone();
            let sim = session.local()?.platform().sim();
            let callback = Callback::new((kind, source), call, control, sim.clone())?;
            let number = session.subscriptions.last().map_or(1, |(number, _)| number + 1);
            session.subscriptions.push((number, sim.observe(Rc::new(callback))));
            Ok(number)
        })
    }

    /// Takes a callback away.
    fn unobserve(&self, py: Python<'_>, number: u64) -> PyResult<()> {
        self.call(py, |session| {
            let place = session.subscriptions.iter().position(|(of, _)| *of == number);
            if let Some(place) = place {
                session.subscriptions.remove(place).1.cancel();
            }
            Ok(())
        })
    }

    /// Handle by which other threads end the call that the platform's thread makes.
    fn interrupter(&self, py: Python<'_>) -> PyResult<Interrupter> {
        self.call(py, |session| Ok(Interrupter { control: session.control.clone() }))
    }

    /// Ends files about the run and the recording, and the session. What a person should know of the files.
    fn close(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let Some(session) = self.session.take()? else { return Ok(Vec::new()) };
        let control = session.control.clone();
        calls::long(py, &control, || session.close())
    }
}
