//! The register log: each access, who made it, and what else is needed to play it again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use vp_core::Time;
use vp_core::observe::{Kinds, Observation, Observer, Source, SourceInfo, What};
use vp_host::trace::log::{LogAccess, LogEntry, LogHeader};
use vp_hub::{AccessOrigins, Hub};
use vp_models::platform::{DeviceRegisters, NamedRegister};
use vp_models::printable;

use crate::observers::FileObserver;
use crate::{ObserveError, WholeFile};

/// Fields of a register that are all shown to people.
const FEW: usize = 4;

/// Format in which the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A JSON object a line, which can be played again.
    Json,
    /// As a driver's debug print, for people.
    Text,
}

impl Form {
    /// The form that a file's name asks for. Names of scripts and others are refused: what is written is none.
    fn of(path: &Path) -> Result<Form, ObserveError> {
        match path.extension().map(|ending| ending.to_string_lossy()).as_deref() {
            Some("txt" | "log") => Ok(Form::Text),
            Some("jsonl" | "json") | None => Ok(Form::Json),
            Some(ending) => Err(ObserveError::Option {
                option: "--registers",
                given: path.display().to_string(),
                why: format!(
                    "a register log is no .{ending}: name {}, which `vp run` plays again, or one that ends in .txt or .log, for text",
                    path.with_extension("jsonl").display()
                ),
            }),
        }
    }
}

/// Checks a log's name, before anything runs.
pub(crate) fn check_name(path: &Path) -> Result<(), ObserveError> {
    Form::of(path).map(drop)
}

/// Writes the log of one platform.
pub(crate) struct RegisterLog {
    path: PathBuf,
    form: Form,
    registers: DeviceRegisters,
    askers: AccessOrigins,
    /// The interrupt line.
    line: Cell<Option<Source>>,
    /// The group that accesses of a unit go to, where one has been chosen.
    producers: RefCell<BTreeMap<&'static str, u8>>,
    /// None once it is in place, or cannot be written.
    file: RefCell<Option<WholeFile>>,
    failed: RefCell<Option<io::Error>>,
}

impl RegisterLog {
    /// Begins the log of a hub's platform, which has not run.
    pub(crate) fn begin(path: &Path, hub: &mut Hub) -> Result<Rc<RegisterLog>, ObserveError> {
        let form = Form::of(path)?;
        let file = WholeFile::create(path).map_err(|error| ObserveError::write(path, error))?;
        let description = hub.platform().description();
        let (header, registers) = (LogHeader::of(description), DeviceRegisters::of(description));
        let log = Rc::new(RegisterLog {
            path: path.to_owned(),
            form,
            registers,
            askers: hub.askers(),
            line: Cell::default(),
            producers: RefCell::default(),
            file: RefCell::new(Some(file)),
            failed: RefCell::default(),
        });
        match log.form {
            Form::Json => log.write(|file| json(file, &header)),
            Form::Text => log.write(|file| writeln!(file, "# registers of {}", header.platform)),
        }
        let (loads, sim) = (log.clone(), hub.platform().sim());
        hub.on_load(Box::new(move |memory, address, bytes| loads.load(sim.now(), memory, address, bytes)));
        Ok(log)
    }

    fn write(&self, what: impl FnOnce(&mut WholeFile) -> io::Result<()>) {
        let mut file = self.file.borrow_mut();
        if let Some(open) = file.as_mut()
            && let Err(error) = what(open)
        {
            // The run goes on, without the file.
            *file = None;
            *self.failed.borrow_mut() = Some(error);
        }
    }

    fn load(&self, time: Time, memory: &str, address: u64, bytes: &[u8]) {
        match self.form {
            Form::Json => {
                let entry = LogEntry::load(time.as_ps(), memory, address, bytes);
                self.write(|file| json(file, &entry));
            }
            Form::Text => {
                let (size, time) = (bytes.len(), time.to_string());
                self.write(|file| {
                    writeln!(file, "[{time:>12}] {size} bytes into {memory} at {address:#010x}")
                });
            }
        }
    }

    fn line_changed(&self, time: Time, level: bool) {
        match self.form {
            Form::Json => self.write(|file| json(file, &LogEntry::Line { time: time.as_ps(), level })),
            Form::Text => {
                let (level, time) = (if level { "raised" } else { "cleared" }, time.to_string());
                self.write(|file| writeln!(file, "[{time:>12}] interrupt {level}"));
            }
        }
    }

    /// The group that an access goes to, of a register that is there in groups.
    fn group(&self, register: &NamedRegister) -> Option<u8> {
        register.has_groups().then(|| self.producers.borrow().get(register.unit).copied().unwrap_or(0))
    }

    fn accessed(&self, time: Time, (write, address, value): (bool, u32, u32)) {
        let (who, posted) =
            self.askers.next().map_or((None, false), |asker| (Some(asker.name), asker.is_posted));
        let register = self.registers.at(address);
        let group = register.as_ref().and_then(|register| self.group(register));
        let fields =
            register.map_or_else(Vec::new, |register| register.decode(self.registers.family(), value));
        if let Some(register) = register.filter(|register| write && register.name == "S_POINTER")
            && let Some(producer) = fields.iter().find(|field| field.name == "PRODUCER")
        {
            self.producers.borrow_mut().insert(register.unit, u8::from(producer.value != 0));
        }
        // Of many, as of a status, people want those that say something.
        let is_all = self.form == Form::Json || fields.len() <= FEW;
        let fields = fields.iter().filter(|field| is_all || field.value != 0);
        let fields = fields.map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let name = register.map(|register| register.to_string());
        match self.form {
            Form::Json => {
                let access = LogAccess {
                    time: time.as_ps(),
                    who,
                    posted,
                    address,
                    register: name,
                    group,
                    value,
                    fields,
                };
                let entry = if write { LogEntry::Write(access) } else { LogEntry::Read(access) };
                self.write(|file| json(file, &entry));
            }
            Form::Text => {
                let (who, kind) = (who.unwrap_or_default(), if write { "write" } else { "read " });
                let (name, time) = (name.unwrap_or_else(|| "no register".to_owned()), time.to_string());
                let group = group.map_or_else(String::new, |group| format!(", group {group}"));
                let line = format!(
                    "[{time:>12}] {who}: {kind} {name} ({address:#07x}{group}) = {value:#010x}  {fields}"
                );
                self.write(|file| writeln!(file, "{}", printable::one_line(line.trim_end())));
            }
        }
    }
}

fn json(file: &mut WholeFile, line: &impl serde::Serialize) -> io::Result<()> {
    let line = serde_json::to_string(line)?;
    writeln!(file, "{}", printable::json(&line))
}

impl Observer for RegisterLog {
    fn wants(&self) -> Kinds {
        Kinds::REGISTERS | Kinds::LEVELS
    }

    fn announced(&self, source: Source, info: &SourceInfo) {
        if &*info.name == "irq0" {
            self.line.set(Some(source));
        }
    }

    fn observe(&self, observation: &Observation<'_>) {
        let &Observation { time, source, what, .. } = observation;
        match what {
            What::Register { write, address, value } => self.accessed(time, (write, address, value)),
            What::Level(level) if self.line.get() == Some(source) => self.line_changed(time, level != 0),
            _ => {}
        }
    }
}

impl FileObserver for RegisterLog {
    fn has_failed(&self) -> bool {
        self.failed.borrow().is_some()
    }

    fn finish(&self, _: Time) -> Result<Option<String>, ObserveError> {
        let write = |error| ObserveError::write(&self.path, error);
        if let Some(error) = self.failed.borrow_mut().take() {
            return Err(write(error));
        }
        match self.file.borrow_mut().take() {
            Some(file) => file.keep().map(|()| None).map_err(write),
            None => Ok(None),
        }
    }
}
