//! Callbacks of Python as observers of a platform in this process.

use std::sync::Arc;

use pyo3::prelude::*;
use vp_core::Sim;
use vp_core::observe::{Kinds, Observation, Observer, Stage, Transfer, Warning, What};

use crate::control::Control;
use crate::errors;

/// A callback, which is told of one kind of what happens.
pub(crate) struct Callback {
    kinds: Kinds,
    /// The only source that it is told of, if it is one.
    source: Option<String>,
    call: Py<PyAny>,
    control: Arc<Control>,
    sim: Sim,
}

impl Callback {
    /// A callback for a kind of observation; of one source only, if that is named.
    pub(crate) fn new(
        (kind, source): (&str, Option<String>),
        call: Py<PyAny>,
        control: Arc<Control>,
        sim: Sim,
    ) -> PyResult<Callback> {
        let kinds = match kind {
            "register" => Kinds::REGISTERS,
            "level" => Kinds::LEVELS,
            "transfer" => Kinds::TRANSFERS | Kinds::PROMPT,
            "work" => Kinds::WORK,
            "count" => Kinds::COUNTS,
            "warning" => Kinds::WARNINGS,
            other => {
                let text = format!(
                    "`{other}` is nothing that is observed: register, level, transfer, work, count or warning"
                );
                return Err(errors::of("RefusedError", text));
            }
        };
        Ok(Callback { kinds, source, call, control, sim })
    }
}

impl Observer for Callback {
    fn wants(&self) -> Kinds {
        self.kinds
    }

    fn observe(&self, seen: &Observation<'_>) {
        if self.control.has_failed() {
            return;
        }
        let source = self.sim.source_name(seen.source);
        if self.source.as_ref().is_some_and(|wanted| *wanted != *source) {
            return;
        }
        let (time, source) = (seen.time.as_ps(), &*source);
        let called = Python::attach(|py| match seen.what {
            What::Level(value) => self.call.call1(py, (time, source, value)),
            What::Register { write, address, value } => {
                self.call.call1(py, (time, source, write, address, value))
            }
            What::Transfer(Transfer { stage, write, id, address, bytes, requested }) => {
                let stage = match stage {
                    Stage::Request => "request",
                    Stage::Data => "data",
                    Stage::Response => "response",
                };
                let requested = requested.as_ps();
                self.call.call1(py, (time, source, stage, write, id, address, bytes, requested))
            }
            What::Begin { label, id } => self.call.call1(py, (time, source, true, label, id)),
            What::End { label, id } => self.call.call1(py, (time, source, false, label, id)),
            What::Count { label, value } => self.call.call1(py, (time, source, label, value)),
            What::Warning(
                Warning::Once(text)
                | Warning::Marked { text, .. }
                | Warning::Repeated { text, .. }
                | Warning::Access { text, .. },
            ) => self.call.call1(py, (time, source, text)),
        });
        if let Err(error) = called {
            self.control.fail(error);
            self.sim.stop();
        }
    }
}
