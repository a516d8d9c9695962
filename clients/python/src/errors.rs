//! Errors as exceptions: their classes are Python's, in `vp._errors`.

use std::any::Any;
use std::io;
use std::path::Path;

use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyPermissionError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use vp_host::HostError;

/// An exception of `vp._errors`, with what it has besides its message.
fn with(
    py: Python<'_>,
    class: &str,
    message: &str,
    fields: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
) -> PyResult<PyErr> {
    let class = py.import("vp._errors")?.getattr(class)?;
    let keywords = PyDict::new(py);
    fields(&keywords)?;
    Ok(PyErr::from_value(class.call((message,), Some(&keywords))?))
}

/// An exception of that class, which has a message only.
pub(crate) fn of(class: &str, message: impl AsRef<str>) -> PyErr {
    Python::attach(|py| with(py, class, message.as_ref(), |_| Ok(()))).unwrap_or_else(|error| error)
}

/// Returns the exception for an error of a [`Host`](vp_host::Host).
pub(crate) fn host(error: &HostError) -> PyErr {
    host_as(error, &error.to_string())
}

/// Returns the exception as [`host()`] does, with another text.
pub(crate) fn host_as(error: &HostError, text: &str) -> PyErr {
    let made = Python::attach(|py| match error {
        HostError::Idle { time, report } => with(py, "IdleError", text, |fields| {
            fields.set_item("time", time.as_ps())?;
            fields.set_item("report", report)
        }),
        HostError::Livelock { report } => {
            with(py, "LivelockError", text, |fields| fields.set_item("report", report))
        }
        HostError::Limit { time, limit } => with(py, "LimitError", text, |fields| {
            fields.set_item("time", time.as_ps())?;
            fields.set_item("limit", limit)
        }),
        HostError::MemoryRange { memory, address, size, holds } => {
            with(py, "MemoryRangeError", text, |fields| {
                fields.set_item("memory", memory.port())?;
                fields.set_item("address", address)?;
                fields.set_item("size", size)?;
                fields.set_item("holds", holds)
            })
        }
        HostError::Transport(_) => with(py, "TransportError", text, |_| Ok(())),
        // A cancelled call has another error, which tells why.
        HostError::Refused(_) | HostError::Cancelled { .. } => with(py, "RefusedError", text, |_| Ok(())),
    });
    made.unwrap_or_else(|error| error)
}

/// A description, a network, a trace or a recording that cannot be used.
pub(crate) fn description(error: impl ToString) -> PyErr {
    of("DescriptionError", error.to_string())
}

/// A file that cannot be read or written: Python's own exception.
pub(crate) fn file(path: &Path, error: &io::Error) -> PyErr {
    let text = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
        io::ErrorKind::PermissionDenied => PyPermissionError::new_err(text),
        _ => PyOSError::new_err(text),
    }
}

/// A panic of the code below: a fault of the program.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
    of("InternalError", format!("a fault of vp: {}", said.as_deref().unwrap_or("it says no more")))
}

/// Returns what Python has passed, for a message: cut where it is long.
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> String {
    let text = object.repr().map_or_else(|_| "that".to_owned(), |text| text.to_string());
    text.chars().take(80).collect()
}
