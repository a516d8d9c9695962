//! A memory whose bytes a callable of Python has.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vp_client::native::{ErrorCode, PortId};
use vp_client::{Handler, Refusal};
use vp_partner::DebugTarget;
use vp_remote::OwnBytes;

use crate::control::Control;
use crate::errors;

/// The memory is a callable of Python: `call(address, size, None)` gives bytes, `call(address, size, bytes)` stores them.
pub(crate) struct CallableMemory {
    call: Py<PyAny>,
    control: Arc<Control>,
}

impl CallableMemory {
    pub(crate) fn new(call: Py<PyAny>, control: Arc<Control>) -> CallableMemory {
        CallableMemory { call, control }
    }

    fn attempt(&self, call: impl FnOnce(Python<'_>) -> PyResult<()>) -> Result<(), String> {
        Python::attach(|py| {
            call(py).map_err(|error| {
                let text = format!("the memory has raised {error}");
                self.control.fail(error);
                text
            })
        })
    }

    fn fill(&self, address: u64, into: &mut [u8]) -> Result<(), String> {
        self.attempt(|py| {
            let given = self.call.call1(py, (address, into.len(), py.None()))?;
            let given = given.bind(py).cast::<PyBytes>()?;
            let bytes = given.as_bytes();
            if bytes.len() != into.len() {
                let text =
                    format!("the memory gives {} bytes of {} at {address:#x}", bytes.len(), into.len());
                return Err(errors::of("ProgramError", text));
            }
            into.copy_from_slice(bytes);
            Ok(())
        })
    }

    fn store(&self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.attempt(|py| {
            self.call.call1(py, (address, bytes.len(), PyBytes::new(py, bytes)))?;
            Ok(())
        })
    }
}

impl OwnBytes for CallableMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), String> {
        self.fill(address, into)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.store(address, bytes)
    }
}

impl DebugTarget for CallableMemory {
    fn debug_read(&self, address: u64, into: &mut [u8]) -> Result<(), String> {
        self.fill(address, into)
    }

    fn debug_write(&self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.store(address, bytes)
    }
}

impl Handler for CallableMemory {
    fn read(&mut self, _: PortId, address: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.fill(address, into).map_err(|why| Refusal::new(ErrorCode::SlaveError, why))
    }

    fn write(&mut self, _: PortId, address: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.store(address, bytes).map_err(|why| Refusal::new(ErrorCode::SlaveError, why))
    }
}
