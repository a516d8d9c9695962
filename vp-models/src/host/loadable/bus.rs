//! What a run does at the host, counted, and with its place in every error.

use super::error::RunError;
use crate::host::program::{Program, address};
use crate::host::{Host, HostError, Memory};
use crate::nvdla::registers::{RegisterMap, RegisterRef, Unit};
use vp_core::Time;

/// The host, with the place of what is being done in every error, and what was done counted.
pub(super) struct Bus<'h> {
    host: &'h mut dyn Host,
    map: RegisterMap,
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

    fn ask<T>(&mut self, what: impl FnOnce(&mut dyn Host) -> Result<T, HostError>) -> Result<T, RunError> {
        what(self.host).map_err(|source| RunError::Host { place: self.place.clone(), source })
    }

    fn address(&mut self, unit: Unit, register: RegisterRef) -> Result<u32, RunError> {
        let map = self.map;
        self.ask(|_| address(map, unit, register))
    }

    fn named(&mut self, unit: Unit, name: &str) -> Result<u32, RunError> {
        let refuse = || HostError::Refused(format!("{unit} has no {name}"));
        let register = self.ask(|_| unit.register(name).ok_or_else(refuse))?;
        self.address(unit, register)
    }

    pub(super) fn write(&mut self, unit: Unit, register: RegisterRef, value: u32) -> Result<(), RunError> {
        let address = self.address(unit, register)?;
        self.writes += 1;
        self.ask(|host| host.write(address, value))
    }

    pub(super) fn write_named(&mut self, unit: Unit, name: &str, value: u32) -> Result<(), RunError> {
        let address = self.named(unit, name)?;
        self.writes += 1;
        self.ask(|host| host.write(address, value))
    }

    pub(super) fn write_acknowledged(
        &mut self,
        unit: Unit,
        register: RegisterRef,
        value: u32,
    ) -> Result<(), RunError> {
        let address = self.address(unit, register)?;
        self.writes += 1;
        self.ask(|host| host.write_acknowledged(address, value))
    }

    pub(super) fn read(&mut self, unit: Unit, register: RegisterRef) -> Result<u32, RunError> {
        let address = self.address(unit, register)?;
        self.read_at(address)
    }

    pub(super) fn read_at(&mut self, address: u32) -> Result<u32, RunError> {
        self.reads += 1;
        self.ask(|host| host.read(address))
    }

    pub(super) fn read_named(&mut self, unit: Unit, name: &str) -> Result<u32, RunError> {
        let address = self.named(unit, name)?;
        self.read_at(address)
    }

    pub(super) fn refused(&self, why: &str) -> RunError {
        RunError::Host { place: self.place.clone(), source: HostError::Refused(why.to_owned()) }
    }

    pub(super) fn run(&mut self, program: &Program) -> Result<(), RunError> {
        self.writes += program.writes.len() as u64;
        self.ask(|host| program.run(host))
    }

    pub(super) fn now(&mut self) -> Result<Time, RunError> {
        self.ask(|host| host.now())
    }

    pub(super) fn wait_interrupt(&mut self) -> Result<Time, RunError> {
        self.interrupts += 1;
        self.ask(|host| host.wait_interrupt())
    }

    pub(super) fn load(&mut self, memory: Memory, address: u64, bytes: &[u8]) -> Result<(), RunError> {
        self.ask(|host| host.load(memory, address, bytes))
    }

    pub(super) fn fetch(&mut self, memory: Memory, address: u64, bytes: &mut [u8]) -> Result<(), RunError> {
        self.ask(|host| host.fetch(memory, address, bytes))
    }
}
