//! Faults, armed at a platform: the hooks that they need, and a process for each that strikes at a moment.

use std::rc::Rc;

use vp_core::Time;

use super::Platform;
use super::carried::DeviceDescription;
use crate::faults::{
    Armed, BurstFaults, FaultKind, FaultyLine, MOST_FAULTS, MOST_FAULTS_TEXT, Surroundings, parse,
};
use crate::toml_text::TextError;

impl Platform {
    /// Arms the faults of a TOML text behind those that are armed already; a reset leaves them as they are.
    ///
    /// # Errors
    /// The first that cannot be, by its line. None of them is armed then.
    pub fn arm(&self, text: &str) -> Result<(), TextError> {
        let nvdla = match &self.description().device {
            DeviceDescription::Nvdla(nvdla) => Some(&nvdla.config),
            DeviceDescription::FpgaAiSuite(_) | DeviceDescription::Outside(_) => None,
        };
        if text.len() > MOST_FAULTS_TEXT {
            let bytes = text.len();
            let what = format!("{bytes} bytes: a text of faults has at most {MOST_FAULTS_TEXT}");
            return Err(TextError::whole(what));
        }
        let (ports, known) = (self.ports(), self.faults().count());
        let faults = parse(text, &Surroundings { ports: &ports, nvdla, room: MOST_FAULTS - known })?;
        self.faults().add(faults);
        self.connect_faults(known);
        Ok(())
    }

    /// Sets up what the armed faults need in hardware that has hooks for the first so many.
    pub(super) fn connect_faults(&self, known: usize) {
        let (faults, period) = (self.faults(), self.description().period);
        if faults.count() == known {
            return;
        }
        for memory in self.memories() {
            if let Some(at_port) = BurstFaults::at(memory.name(), period, faults) {
                memory.set_faults(at_port);
            }
        }
        if !faults.of(is_of_the_line).is_empty() {
            self.line().look();
        }
        self.connect_registers();
        for armed in faults.of(|_| true).into_iter().skip(known) {
            self.start_moment(armed);
        }
    }

    /// The interrupt line, as faults have it.
    fn line(&self) -> Rc<FaultyLine> {
        let (sim, period) = (self.sim(), self.description().period);
        self.irq().faulty(|shown| FaultyLine::new(&sim, period, shown, self.faults()))
    }

    /// Counts accesses to registers whose bits flip.
    fn connect_registers(&self) {
        let flips = self.faults().of(|kind| matches!(kind, FaultKind::RegisterFlip { .. }));
        let Some(registers) = self.device().flippable().filter(|_| !flips.is_empty()) else { return };
        let faults = self.faults().clone();
        self.registers().on_access(Box::new(move |accessed| {
            for armed in &flips {
                let FaultKind::RegisterFlip { address, group, bit, .. } = *armed.kind() else { continue };
                // One that flips at a moment has a process for that.
                if address == accessed && armed.moment().is_none() && faults.strikes(armed) {
                    registers.flip(address, group, 1 << bit);
                    faults.strike(armed, "after an access to it");
                }
            }
        }));
    }

    /// Starts the process of a fault that strikes at a moment.
    fn start_moment(&self, armed: Rc<Armed>) {
        let Some(at) = armed.moment() else { return };
        // Whoever has a clock sees things at its edges only.
        let period = self.description().period.as_ps();
        let at = Time::ps(at.as_ps().div_ceil(period) * period);
        let (sim, faults) = (self.sim(), self.faults().clone());
        let strike: Box<dyn Fn(&Armed)> = match *armed.kind() {
            FaultKind::SpuriousInterrupt { .. } => {
                let line = self.line();
                Box::new(move |armed| line.raise(armed))
            }
            FaultKind::MemoryFlip { port, address, bit } => {
                let Some(flip) = self.memory(port).map(super::MemoryPort::flips) else { return };
                let faults = faults.clone();
                Box::new(move |armed| match flip(address, 1 << bit) {
                    Ok([before, after]) => {
                        let what = format_args!("the byte is 0x{after:02x}, and was 0x{before:02x}");
                        faults.strike(armed, what);
                    }
                    Err(why) => faults.miss(armed, why),
                })
            }
            FaultKind::RegisterFlip { address, group, bit, .. } => {
                let Some(registers) = self.device().flippable() else { return };
                let faults = faults.clone();
                Box::new(move |armed| {
                    registers.flip(address, group, 1 << bit);
                    faults.strike(armed, "at its time");
                })
            }
            FaultKind::SilentPartner { .. } | FaultKind::FailingPartner { .. } => {
                let faults = faults.clone();
                Box::new(move |armed| faults.strike_partner(armed))
            }
            _ => return,
        };
        self.sim().server(format!("faults.{}", armed.number()), async move {
            sim.wait_until(at).await;
            if faults.strikes(&armed) {
                strike(&armed);
            }
        });
    }
}

fn is_of_the_line(kind: &FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::LostInterrupt | FaultKind::DelayedInterrupt { .. } | FaultKind::SpuriousInterrupt { .. }
    )
}
