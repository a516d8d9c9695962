//! The device: units on the register bus, engines behind them, memory interfaces and the interrupt line.

use super::awaited::awaited;
use super::bdma::Bdma;
use super::cdp::Cdp;
use super::config::{CapabilityRom, Config};
use super::control::Control;
use super::conv::{
    self,
    delivery::{Credits, Delivery},
};
use super::dma::MemoryPorts;
use super::engine::{self, EngineContext};
use super::interrupts::Interrupts;
use super::nocif::Nocif;
use super::pdp::Pdp;
use super::registers::{Located, OtherMap, RegisterFile, RegisterMap, Unit, cdma};
use super::rubik::Rubik;
use super::sdp::{self, Sdp};
use super::sdp_to_pdp::SdpToPdp;
use super::timing::Timing;
use crate::bus::axi::Interconnect;
use crate::bus::register::RegisterTarget;
use crate::checkpoint::{Checkpoint, CheckpointError, Remembers};
use crate::device::{PendingInterrupt, Wiring};
use crate::faults::FlippableRegisters;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use vp_core::observe::{LevelUnit, SourceKind, Warning, WarningMarks, What};
use vp_core::{Sim, Time};

/// Parts that a device is built from.
pub struct Parts {
    /// The hardware configuration.
    pub config: Config,
    /// Words that the device's capability ROM holds.
    pub capability_rom: CapabilityRom,
    /// Times that the device's parts take.
    pub timing: Timing,
}

/// Place of a unit's registers.
enum Registers {
    /// Words that never change: the capability ROM.
    Rom(Vec<u32>),
    /// GLB.
    Glb,
    /// A memory interface's settings.
    Nocif(Box<Nocif>),
    /// A unit with a register file and an engine behind it.
    Unit(Rc<Control>),
    /// BDMA, with a command queue in place of register groups.
    Bdma(Rc<Bdma>),
    /// A unit with a register file only: there is nothing behind it.
    Bare(Rc<Control>),
}

/// An NVDLA.
///
/// Built by a platform; driven as hardware is, through its register bus ([`RegisterTarget`]), its memory
/// interfaces and its interrupt line.
pub struct Nvdla {
    map: RegisterMap,
    units: Vec<(Unit, Registers)>,
    /// Engines behind the units' registers.
    engines: Vec<Rc<dyn Remembers>>,
    interrupts: Rc<Interrupts>,
    first_enabled: Cell<Option<Time>>,
    /// Cycles by which CMAC and CACC answer later than other units.
    far_answer: u32,
    sim: Sim,
    other_map: RefCell<OtherMap>,
    /// Units that this hardware was built without, and that somebody has enabled.
    missing: RefCell<Vec<Unit>>,
    /// The stages that SDP has.
    sdp: sdp::layer::Hardware,
}

/// The units and engines of a device, while it is being built. Sources are announced in the order of the calls.
struct Builder<'a> {
    around: EngineContext<'a>,
    capability_rom: CapabilityRom,
    controls: Vec<(Unit, Rc<Control>)>,
    engines: Vec<Rc<dyn Remembers>>,
}

impl Builder<'_> {
    /// Makes the register file of a unit that an engine takes.
    fn control(&mut self, unit: Unit) -> Rc<Control> {
        let control = Control::new(self.around.sim, unit, self.around.config);
        self.controls.push((unit, control.clone()));
        control
    }

    /// Starts the engines that every NVDLA has.
    fn start_engines(&mut self) {
        let EngineContext { sim, cycle, timing, occupancy, .. } = self.around;
        let cycles = |n: u32| cycle * u64::from(n);
        let (sdp, sdp_rdma) = (self.control(Unit::Sdp), self.control(Unit::SdpRdma));
        let (pdp, pdp_rdma) = (self.control(Unit::Pdp), self.control(Unit::PdpRdma));
        let on_the_fly = Rc::new(SdpToPdp::new(sim, "nvdla.sdp_to_pdp", cycles(timing.sdp.to_pdp)));
        let level = occupancy.fifos().level("nvdla.cacc.delivery", LevelUnit::Atoms);
        let credits = Credits {
            count: timing.conv.sdp_credits,
            results: timing.conv.credit_results,
            back: cycles(timing.conv.credit_return),
        };
        let sums = Delivery::new(sim, credits, level);
        let convolution = conv::Controls {
            cdma: self.control(Unit::Cdma),
            csc: self.control(Unit::Csc),
            cacc: self.control(Unit::Cacc),
            cmac_a: self.control(Unit::CmacA),
            cmac_b: self.control(Unit::CmacB),
        };
        self.engines.extend(conv::start(&self.around, convolution, sums.clone()));
        let sdp = Sdp::new(&self.around, sdp, sdp_rdma, sums, on_the_fly.clone());
        self.engines.push(engine::start(sdp));
        self.engines.push(engine::start(Pdp::new(&self.around, pdp, pdp_rdma, on_the_fly)));
        let (cdp, cdp_rdma) = (self.control(Unit::Cdp), self.control(Unit::CdpRdma));
        self.engines.push(engine::start(Cdp::new(&self.around, cdp, cdp_rdma)));
    }

    /// Makes the registers of a unit, and starts the engine behind them if not every NVDLA has it.
    fn registers(&mut self, unit: Unit) -> Registers {
        let EngineContext { sim, config, timing, ports, .. } = self.around;
        let nocif = |interface: &Rc<Interconnect>| {
            let registers = RegisterFile::new(unit, config.register_map);
            Registers::Nocif(Box::new(Nocif::new(registers, interface.clone(), timing.arbitration)))
        };
        match (unit, &ports.secondary) {
            (Unit::Cfgrom, _) => {
                let words = config.capability_words(self.capability_rom);
                Registers::Rom(words.into_iter().map(|word| word.value).collect())
            }
            (Unit::Glb, _) => Registers::Glb,
            (Unit::Mcif, _) => nocif(&ports.primary),
            (Unit::Cvif, Some(secondary)) => nocif(secondary),
            (Unit::Cvif, None) => Registers::Bare(Control::new(sim, unit, config)),
            (Unit::Bdma, _) => Registers::Bdma(Bdma::start(&self.around, Control::new(sim, unit, config))),
            (Unit::Rbk, _) => {
                let rubik = self.control(unit);
                self.engines.push(engine::start(Rubik::new(&self.around, rubik.clone())));
                Registers::Unit(rubik)
            }
            _ => {
                let control = self.controls.iter().find(|(of, _)| *of == unit);
                Registers::Unit(control.expect("each other unit has an engine").1.clone())
            }
        }
    }
}

impl Nvdla {
    /// Builds a device and starts its processes.
    pub fn new(parts: Parts, wiring: Wiring<'_>) -> Rc<Nvdla> {
        let Parts { config, capability_rom, timing } = parts;
        let Wiring { sim, cycle, threads, skips_arithmetic, primary, secondary, interrupt, occupancy } =
            wiring;
        let map = config.register_map;
        let interrupts = Interrupts::new(sim, &config, timing.registers, interrupt);
        let ports = MemoryPorts { primary, secondary };
        let order = timing.arbitration;
        ports.all().for_each(|interface| interface.set_order(order.reads, order.writes));
        let around = EngineContext {
            sim,
            cycle,
            config: &config,
            timing: &timing,
            ports: &ports,
            interrupts: &interrupts,
            threads,
            skips_arithmetic,
            occupancy: &occupancy,
        };
        let (controls, engines) = (Vec::new(), Vec::new());
        let mut builder = Builder { around, capability_rom, controls, engines };
        builder.start_engines();
        let units = Unit::ALL.into_iter().filter(|&unit| config.has_unit(unit) && map.base(unit).is_some());
        let units = units.map(|unit| (unit, builder.registers(unit))).collect();
        let engines = builder.engines;
        let device = Rc::new(Nvdla {
            map,
            units,
            engines,
            interrupts,
            first_enabled: Cell::new(None),
            far_answer: timing.registers.far_answer,
            sim: sim.clone(),
            other_map: RefCell::new(OtherMap::new(map)),
            missing: RefCell::default(),
            sdp: sdp::layer::Hardware::from(&config),
        });
        device.clear_buffer(cycle * u64::from(timing.cbuf_flush));
        device
    }

    /// The convolution buffer is cleared after reset, which takes a while and is then reported.
    fn clear_buffer(&self, after: Time) {
        if let Some(Registers::Unit(cdma) | Registers::Bare(cdma)) = self.registers(Unit::Cdma) {
            let (clock, cdma) = (self.sim.clone(), cdma.clone());
            self.sim.server("nvdla.cdma.flush", async move {
                // A restored device has been cleared.
                let is_done = cdma.present(0).flag(cdma::S_CBUF_FLUSH_STATUS::FLUSH_DONE);
                if is_done {
                    return;
                }
                clock.wait(after).await;
                cdma.registers().borrow_mut().set_field(0, cdma::S_CBUF_FLUSH_STATUS::FLUSH_DONE, 1);
            });
        }
    }

    /// Returns the time at which the first write that enabled a group was accepted on the bus.
    pub fn first_enabled(&self) -> Option<Time> {
        self.first_enabled.get()
    }

    /// The groups that are enabled, whether they run or wait for something.
    pub fn enabled(&self) -> Vec<(Unit, usize)> {
        let of_unit = |(unit, registers): &(Unit, Registers)| match registers {
            Registers::Unit(control) | Registers::Bare(control) => {
                control.registers().borrow().enabled_groups().map(|group| (*unit, group)).collect()
            }
            Registers::Bdma(bdma) => {
                (0..2).filter(|&group| bdma.is_busy(group)).map(|group| (*unit, group)).collect()
            }
            _ => Vec::new(),
        };
        self.units.iter().flat_map(of_unit).collect()
    }

    /// Returns the time at which the last layer was done: that of its interrupt.
    pub fn last_done(&self) -> Option<Time> {
        self.interrupts.last_done()
    }

    /// The interrupts that are pending.
    pub(crate) fn pending(&self) -> Vec<PendingInterrupt> {
        self.interrupts.pending()
    }

    /// Returns what the CPU has yet to enable before something of what it has enabled can begin or go on. `is_open` says of a unit whether
    /// it is in the middle of a layer.
    pub(crate) fn awaited(&self, is_open: &dyn Fn(Unit) -> bool) -> Vec<String> {
        let controls = self.units.iter().filter_map(|(unit, registers)| match registers {
            Registers::Unit(control) => Some((*unit, &**control)),
            _ => None,
        });
        awaited(&controls.collect::<Vec<_>>(), &self.sdp, is_open)
    }

    fn note_enabled(&self, accepted: Time) {
        if self.first_enabled.get().is_none() {
            self.first_enabled.set(Some(accepted));
        }
    }

    fn registers(&self, unit: Unit) -> Option<&Registers> {
        self.units.iter().find(|(of, _)| *of == unit).map(|(_, registers)| registers)
    }

    /// Says once if the registers accessed are another map's.
    fn look_for_another_map(&self, address: u32, written: Option<u32>) {
        if let Some(text) = self.other_map.borrow_mut().accessed(address, written) {
            self.warn(Warning::Once(&text));
        }
    }

    fn warn(&self, warning: Warning<'_>) {
        // Announced only now: runs without a warning have the sources that they always had.
        let source = self.sim.source("nvdla", SourceKind::Warnings);
        self.sim.report(source, What::Warning(warning));
    }

    /// Says once of each unit that is enabled and is not there that nothing will come of it.
    fn look_for_a_missing_unit(&self, address: u32, value: u32) {
        let Some(located) = self.map.at(address) else { return };
        let Located { unit, register, .. } = located;
        if register.starts_work_with(value) && !self.missing.borrow().contains(&unit) {
            self.missing.borrow_mut().push(unit);
            let text = format!(
                "{located} = {value:#x}: this configuration was built without {unit}, whose registers read 0 and which raises no interrupt"
            );
            let marks = WarningMarks { refused: false, lacking: true };
            self.warn(Warning::Marked { marks, text: &text });
        }
    }

    fn decode(&self, address: u32) -> Option<(&Registers, u32)> {
        let (unit, offset) = self.map.unit_at(address)?;
        Some((self.registers(unit)?, offset))
    }
}

impl RegisterTarget for Nvdla {
    fn read(&self, address: u32) -> u32 {
        self.look_for_another_map(address, None);
        match self.decode(address) {
            None => 0,
            Some((Registers::Rom(words), offset)) => words.get(offset as usize / 4).copied().unwrap_or(0),
            Some((Registers::Glb, offset)) => self.interrupts.read(offset),
            Some((Registers::Nocif(nocif), offset)) => nocif.read(offset),
            Some((Registers::Bdma(bdma), offset)) => bdma.read(offset),
            Some((Registers::Unit(control) | Registers::Bare(control), offset)) => {
                control.registers().borrow_mut().read(offset)
            }
        }
    }

    fn peek(&self, address: u32, group: Option<usize>) -> u32 {
        match self.decode(address) {
            None => 0,
            Some((Registers::Rom(words), offset)) => words.get(offset as usize / 4).copied().unwrap_or(0),
            Some((Registers::Glb, offset)) => self.interrupts.peek(offset),
            Some((Registers::Nocif(nocif), offset)) => nocif.peek(offset),
            Some((Registers::Bdma(bdma), offset)) => bdma.peek(offset),
            Some((Registers::Unit(control) | Registers::Bare(control), offset)) => {
                control.registers().borrow().peek(offset, group)
            }
        }
    }

    fn groups(&self) -> usize {
        2
    }

    fn distance(&self, address: u32) -> u32 {
        let unit = self.map.unit_at(address);
        let is_far = matches!(unit, Some((Unit::CmacA | Unit::CmacB | Unit::Cacc, _)));
        if is_far { self.far_answer } else { 0 }
    }

    fn write(&self, address: u32, value: u32, accepted: Time) {
        self.look_for_another_map(address, Some(value));
        match self.decode(address) {
            None => self.look_for_a_missing_unit(address, value),
            Some((Registers::Rom(_), _)) => {}
            Some((Registers::Glb, offset)) => self.interrupts.write(offset, value),
            Some((Registers::Nocif(nocif), offset)) => nocif.write(offset, value),
            Some((Registers::Bdma(bdma), offset)) => {
                if bdma.write(offset, value) {
                    self.note_enabled(accepted);
                }
            }
            Some((Registers::Unit(control) | Registers::Bare(control), offset)) => {
                if control.write(offset, value) {
                    self.note_enabled(accepted);
                }
            }
        }
    }
}

impl FlippableRegisters for Nvdla {
    fn flip(&self, address: u32, group: usize, mask: u32) {
        match self.decode(address) {
            Some((Registers::Glb, offset)) => self.interrupts.flip(offset, mask),
            Some((Registers::Nocif(nocif), offset)) => nocif.flip(offset, mask),
            Some((Registers::Bdma(bdma), offset)) => bdma.flip(offset, mask),
            Some((Registers::Unit(control) | Registers::Bare(control), offset)) => {
                control.registers().borrow_mut().flip(group, offset, mask);
            }
            Some((Registers::Rom(_), _)) | None => {}
        }
    }
}

impl Nvdla {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        let Nvdla {
            map: _,
            units,
            engines,
            interrupts,
            first_enabled,
            far_answer: _,
            sim: _,
            other_map,
            missing,
            sdp: _,
        } = self;
        for (unit, registers) in units {
            at.part(unit.name())?;
            match registers {
                Registers::Rom(_) | Registers::Glb => {}
                Registers::Nocif(nocif) => nocif.checkpoint(at)?,
                Registers::Unit(control) | Registers::Bare(control) => control.checkpoint(at)?,
                Registers::Bdma(bdma) => bdma.checkpoint(at)?,
            }
        }
        engines.iter().try_for_each(|engine| engine.checkpoint(at))?;
        interrupts.checkpoint(at)?;
        at.part("nvdla")?;
        at.cell(first_enabled)?;
        other_map.borrow_mut().checkpoint(at)?;
        let mut names: Vec<String> = missing.borrow().iter().map(|unit| unit.name().to_owned()).collect();
        at.value(&mut names)?;
        let known = |name: &String| Unit::ALL.into_iter().find(|unit| unit.name() == name);
        *missing.borrow_mut() = names.iter().filter_map(known).collect();
        Ok(())
    }
}
