//! The CPU's side: what a program needs from a platform to drive it, and the programs themselves.
//!
//! [`Host`] is the one interface. The platform implements it for callers in the same process, the bridge for
//! callers behind a socket; a program written against it cannot tell them apart. Programs here are [`trace`]
//! (the vendor's conformance traces: parse, play, judge), [`loadable`] (what the vendor's compiler makes) and [`network`]
//! (networks, layer by layer); [`program`] holds register writes.
//!
//! Nothing here knows how a model works inside, owns a thread or reads a wall clock.

use std::fmt;

use thiserror::Error;
use vp_core::Time;
use vp_core::observe::WarningMarks;

use vp_models::nvdla::registers::{RegisterMap, maps_that_fit};

pub use bus::DriverError;
pub use local::LocalHost;
pub use vp_models::activity::{Activity, Bound, Bounds, Moved};
pub use vp_models::counters::{Counter, CounterValue, Statistics};

mod bus;
mod driver;
mod forward;
pub mod fpga_ai_suite;
pub mod loadable;
mod local;
pub mod network;
pub mod program;
mod softmax;
pub mod trace;

#[cfg(test)]
#[path = "../../src/conformance_data.rs"]
mod conformance_data;

/// Calls by which a CPU-side program uses a platform, whether it runs in this process or behind a socket.
///
/// Time moves only while a call waits: for an answer, an acknowledgement or the interrupt. Requests take
/// effect in the order of the calls; a read never overtakes a posted write. [`load`](Host::load),
/// [`fetch`](Host::fetch), [`now`](Host::now) and [`statistics`](Host::statistics) go round the simulated
/// buses and let no time pass.
///
/// Register addresses are byte addresses inside the accelerator's window (0 is the first register of the
/// map), always multiples of 4.
pub trait Host {
    /// Posted 32-bit register write. Returns when the write is queued; an error of the transport shows here
    /// or at the next call.
    fn write(&mut self, address: u32, value: u32) -> Result<(), HostError>;

    /// Non-posted 32-bit register write: returns when the device has acknowledged it.
    fn write_acknowledged(&mut self, address: u32, value: u32) -> Result<(), HostError>;

    /// 32-bit register read: returns when the answer has come back.
    fn read(&mut self, address: u32) -> Result<u32, HostError>;

    /// Lets time pass until the interrupt line is high, at once if it is, and says what time it is then.
    ///
    /// # Errors
    /// [`HostError::Idle`] when nothing is left to simulate, [`HostError::Limit`] when a limit set on the run
    /// ends it, [`HostError::Livelock`] when simulated time stands still.
    fn wait_interrupt(&mut self) -> Result<Time, HostError>;

    /// The simulated time, as far as this side knows it.
    fn now(&mut self) -> Result<Time, HostError>;

    /// Puts bytes into a memory, as a debugger would.
    fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), HostError>;

    /// Takes bytes out of a memory, as a debugger would. What nothing has written reads as zero.
    fn fetch(&mut self, memory: Memory, address: u64, bytes: &mut [u8]) -> Result<(), HostError>;

    /// Sends bytes into the device's input stream: all of them, or none. Takes no time.
    ///
    /// # Errors
    /// [`HostError::Refused`] when there is no stream, the device does not listen to it, or it has no room.
    fn stream(&mut self, bytes: &[u8]) -> Result<(), HostError> {
        let _ = bytes;
        Err(HostError::Refused("there is no way to an input stream here".to_owned()))
    }

    /// Register map of the NVDLA on the other side; [`RegisterMap::Foreign`], which has no unit, if the device is another.
    fn map(&self) -> RegisterMap;

    /// Returns the kind of the device on the other side: `nvdla`, `fpga-ai-suite` ([`Identity::kind`](vp_models::device::Identity::kind)).
    fn device(&self) -> &str;

    /// Arms faults ([`vp_models::faults`]) behind those that are, from a TOML text.
    ///
    /// # Errors
    /// [`HostError::Refused`]: one of them cannot be, by its line, and none is armed; or there is no way to do so.
    fn inject_faults(&mut self, faults: &str) -> Result<(), HostError> {
        let _ = faults;
        Err(HostError::Refused("there is no way to inject faults here".to_owned()))
    }

    /// The platform's counters at this moment.
    fn statistics(&mut self) -> Result<Statistics, HostError>;

    /// Returns what the platform did since the last call, and what kept it from doing that sooner. `None` where nobody watches
    /// it ([`LocalHost::watch`](crate::LocalHost::watch)).
    fn activity(&mut self) -> Option<Activity> {
        None
    }

    /// Returns the platform's warnings since the last call: refused layers, accesses that hit no memory. What repeats in a
    /// layer is two warnings: when it first happens, and with how often at the layer's end. When nobody calls for long the
    /// oldest are left out, and their number is the first warning then.
    fn warnings(&mut self) -> Vec<Warning> {
        Vec::new()
    }

    /// Hears what is run, such as the name of a network, for whoever shows how far a run is. No input of the platform.
    fn running(&mut self, program: &str) {
        let _ = program;
    }

    /// Hears what the program is at, such as `operation 5 (PDP)`: the same of parts of it.
    fn doing(&mut self, what: &str) {
        let _ = what;
    }

    /// Ends waits that reach this simulated time with [`HostError::Limit`].
    fn set_limit(&mut self, limit: Time);
}

/// Something a person should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Simulated time at which it was said.
    pub time: Time,
    /// Source of the warning, and what it says.
    pub text: String,
    /// Marks by which a program judges a run: a layer was refused, or the configuration lacks what was asked for.
    pub marks: WarningMarks,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.time, self.text)
    }
}

impl Warning {
    /// A warning without marks, for people only.
    #[must_use]
    pub fn new(time: Time, text: String) -> Warning {
        Warning { time, text, marks: WarningMarks::NONE }
    }

    /// The register maps that the accesses fit, if the device says that they are of another one than its own.
    #[must_use]
    pub fn other_maps(&self) -> Vec<RegisterMap> {
        maps_that_fit(&self.text)
    }
}

/// The two memories an NVDLA can reach; separate address spaces, no translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Memory {
    /// Memory behind the primary interface (DBBIF, served by MCIF): the system's DRAM.
    Primary,
    /// Memory behind the secondary interface (SRAMIF, served by CVIF): on-chip SRAM.
    Secondary,
}

impl Memory {
    /// The platform's port to it.
    pub const fn port(self) -> &'static str {
        match self {
            Memory::Primary => "dbb0",
            Memory::Secondary => "sram0",
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Memory::Primary => "primary",
            Memory::Secondary => "secondary",
        })
    }
}

/// Reason for which a platform could not do what a [`Host`] call asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// Nothing is left to simulate and what the call waits for has not happened: it never will.
    #[error("nothing left to simulate at {time}: {report}")]
    Idle {
        /// Simulated time at which everything stood still.
        time: Time,
        /// One line naming who waits for what.
        report: String,
    },
    /// Simulated time stands still, however much is done: a fault of a model, which no limit of time would end.
    #[error("the run was ended: {report}")]
    Livelock {
        /// One line: since when time has stood, and who runs again and again.
        report: String,
    },
    /// A limit set on the run ended the wait.
    #[error("stopped at {time} by the limit of {limit}")]
    Limit {
        /// Simulated time at which the run was stopped.
        time: Time,
        /// The limit, with its unit: `2000000 cycles`.
        limit: String,
    },
    /// The caller has ended the call before what it waits for.
    #[error("the call was ended at {time} by its caller")]
    Cancelled {
        /// Simulated time at which it was.
        time: Time,
    },
    /// The connection to the platform is broken; no later call will succeed.
    #[error("connection to the platform lost: {0}")]
    Transport(String),
    /// The platform understood and declined; the text says why.
    #[error("refused by the platform: {0}")]
    Refused(String),
    /// The bytes asked for do not lie in the memory.
    #[error("{size:#x} bytes at {address:#x} are not in {memory} memory: {holds}")]
    MemoryRange {
        /// The memory addressed.
        memory: Memory,
        /// First byte asked for.
        address: u64,
        /// Number of bytes asked for.
        size: u64,
        /// Extent of the memory, such as `it spans 0x80000000..0x90000000` or `the platform has none`.
        holds: String,
    },
}
