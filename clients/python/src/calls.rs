//! Calls of Python's into the code below, with Python's lock given up meanwhile. What goes wrong in one is an exception; a panic, which would be a
//! fault of that code, ends here as `vp.InternalError`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use send_wrapper::SendWrapper;
use vp_host::HostError;

use crate::control::Control;
use crate::errors;

/// Error of a call.
pub(crate) enum CallError {
    /// The platform says so.
    Host(HostError),
    /// Something else.
    Python(PyErr),
}

impl From<HostError> for CallError {
    fn from(error: HostError) -> CallError {
        CallError::Host(error)
    }
}

impl From<PyErr> for CallError {
    fn from(error: PyErr) -> CallError {
        CallError::Python(error)
    }
}

/// Makes a call that takes no time worth another thread's turn.
pub(crate) fn short<R>(control: &Control, call: impl FnOnce() -> Result<R, CallError>) -> PyResult<R> {
    // Of a call before this one, which was over when it was to end.
    drop(control.take_error());
    let done = catch_unwind(AssertUnwindSafe(call));
    match (done, control.take_error()) {
        (Err(panic), _) => Err(errors::panicked(&*panic)),
        // What has ended the call meanwhile.
        (Ok(_), Some(error)) => Err(error),
        (Ok(Ok(value)), None) => Ok(value),
        (Ok(Err(CallError::Python(error))), None) => Err(error),
        (Ok(Err(CallError::Host(error))), None) => Err(errors::host(&error)),
    }
}

/// Makes a call that may take long: other threads of Python run meanwhile.
pub(crate) fn long<R>(
    py: Python<'_>,
    control: &Control,
    call: impl FnOnce() -> Result<R, CallError>,
) -> PyResult<R> {
    // The closure runs in this very thread.
    let task = SendWrapper::new((control, call));
    let done = py.detach(move || {
        let (control, call) = task.take();
        SendWrapper::new(short(control, call))
    });
    done.take()
}
