//! Accesses of a driver to the host, counted, and with its place in every error.

use thiserror::Error;
use vp_core::Time;

use super::program::{Program, address};
use super::{Host, HostError, Memory, Statistics};
use vp_models::nvdla::registers::{RegisterMap, Unit};

/// Reason for which a driver could not go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The platform could not do what was asked.
    #[error("{place}: {error}")]
    Host {
        /// Layer or operation that was being done.
        place: String,
        /// Error of the platform.
        error: HostError,
    },
    /// An interrupt came that nothing under way raises.
    #[error("{place}: the interrupt status is {status:#x} where {expected:#x} may come")]
    Interrupt {
        /// The first that was under way.
        place: String,
        /// GLB.S_INTR_STATUS.
        status: u32,
        /// The bits that were waited for.
        expected: u32,
    },
}

/// The host, with the place of what is being done in every error, and what was done counted.
pub(super) struct Bus<'h> {
    pub(super) host: &'h mut dyn Host,
    pub(super) map: RegisterMap,
    pub(super) place: String,
    pub(super) writes: u64,
    pub(super) reads: u64,
    pub(super) interrupts: u64,
}

impl<'h> Bus<'h> {
    pub(super) fn new(host: &'h mut dyn Host, place: &str) -> Bus<'h> {
        let map = host.map();
        Bus { host, map, place: place.to_owned(), writes: 0, reads: 0, interrupts: 0 }
    }

    /// Names the place that errors are about from here on, and that is shown as progress of a run.
    pub(super) fn at(&mut self, place: &str) {
        place.clone_into(&mut self.place);
        self.host.doing(place);
    }

    fn ask<T>(&mut self, what: impl FnOnce(&mut dyn Host) -> Result<T, HostError>) -> Result<T, DriverError> {
        what(self.host).map_err(|error| DriverError::Host { place: self.place.clone(), error })
    }

    /// Returns the address of a unit's register; by name, for units have some alike.
    fn address(&mut self, unit: Unit, name: &str) -> Result<u32, DriverError> {
        let map = self.map;
        let refuse = || HostError::Refused(format!("{unit} has no {name}"));
        self.ask(|_| address(map, unit, unit.register(name).ok_or_else(refuse)?))
    }

    pub(super) fn write(&mut self, unit: Unit, name: &str, value: u32) -> Result<(), DriverError> {
        let address = self.address(unit, name)?;
        self.writes += 1;
        self.ask(|host| host.write(address, value))
    }

    pub(super) fn write_acknowledged(
        &mut self,
        unit: Unit,
        name: &str,
        value: u32,
    ) -> Result<(), DriverError> {
        let address = self.address(unit, name)?;
        self.writes += 1;
        self.ask(|host| host.write_acknowledged(address, value))
    }

    pub(super) fn read(&mut self, unit: Unit, name: &str) -> Result<u32, DriverError> {
        let address = self.address(unit, name)?;
        self.read_at(address)
    }

    pub(super) fn read_at(&mut self, address: u32) -> Result<u32, DriverError> {
        self.reads += 1;
        self.ask(|host| host.read(address))
    }

    pub(super) fn refused(&self, why: &str) -> DriverError {
        DriverError::Host { place: self.place.clone(), error: HostError::Refused(why.to_owned()) }
    }

    pub(super) fn run(&mut self, program: &Program) -> Result<(), DriverError> {
        self.writes += program.writes.len() as u64;
        self.ask(|host| program.run(host))
    }

    pub(super) fn now(&mut self) -> Result<Time, DriverError> {
        self.ask(|host| host.now())
    }

    pub(super) fn wait_interrupt(&mut self) -> Result<Time, DriverError> {
        self.interrupts += 1;
        self.ask(|host| host.wait_interrupt())
    }

    pub(super) fn statistics(&mut self) -> Result<Statistics, DriverError> {
        self.ask(|host| host.statistics())
    }

    pub(super) fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), DriverError> {
        self.ask(|host| host.load(memory, address, bytes))
    }

    pub(super) fn fetch(
        &mut self,
        memory: Memory,
        address: u64,
        bytes: &mut [u8],
    ) -> Result<(), DriverError> {
        self.ask(|host| host.fetch(memory, address, bytes))
    }
}
