//! The device: units on the register bus, engines behind them, memory interfaces and the interrupt line.

use super::awaited::awaited;
use super::bdma::Bdma;
use super::cdp::Cdp;
use super::config::{CapabilityRom, Config};
use super::control::Control;
use super::conv::{self, delivery::Delivery};
use super::dma::MemoryPorts;
use super::engine::{self, EngineContext};
use super::interrupts::Interrupts;
use super::nocif::Nocif;
use super::pdp::Pdp;
use super::registers::{Located, OtherMap, RegisterFile, RegisterMap, Unit, cdma};
use super::rubik::Rubik;
use super::sdp::{self, Sdp};
use super::timing::Timing;
use crate::bus::Handoff;
use crate::bus::axi::Interconnect;
use crate::bus::irq::IrqLine;
use crate::bus::register::RegisterTarget;
use crate::checkpoint::{Checkpoint, CheckpointError, Remembers};
use crate::device::PendingInterrupt;
use crate::faults::FlippableRegisters;
use crate::occupancy::Occupancy;
use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::rc::Rc;
use vp_core::observe::{SourceKind, Warning, WarningMarks, What};
use vp_core::{Sim, Time};

/// Parts that a device is built from.
pub struct Parts {
    /// The hardware configuration.
    pub config: Config,
    /// Words that the device's capability ROM holds.
    pub capability_rom: CapabilityRom,
    /// Times that the device's parts take.
    pub timing: Timing,
    /// One clock cycle.
    pub cycle: Time,
    /// Threads of the host that may share an engine's arithmetic. They change nothing that can be observed.
    pub threads: NonZeroUsize,
    /// True if engines leave the arithmetic out: all times stay the same, and results are zeros.
    pub skips_arithmetic: bool,
    /// The primary memory interface (DBBIF).
    pub primary: Rc<Interconnect>,
    /// The secondary memory interface (SRAMIF), if the configuration has one.
    pub secondary: Option<Rc<Interconnect>>,
    /// The interrupt line.
    pub interrupt: IrqLine,
    /// Record that is told when the device's datapaths have work.
    pub occupancy: Rc<Occupancy>,
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
    sim: Sim,
    other_map: RefCell<OtherMap>,
    /// Units that this hardware was built without, and that somebody has enabled.
    missing: RefCell<Vec<Unit>>,
    /// The stages that SDP has.
    sdp: sdp::layer::Hardware,
}

/// Starts the engines that every NVDLA has, and gives their units registers.
fn start_engines(
    around: &EngineContext<'_>,
    controls: &mut Vec<(Unit, Rc<Control>)>,
) -> Vec<Rc<dyn Remembers>> {
    let EngineContext { sim, cycle, config, timing, occupancy, .. } = *around;
    let mut control = |unit| {
        let control = Control::new(sim, unit, config);
        controls.push((unit, control.clone()));
        control
    };
    let cycles = |n: u32| cycle * u64::from(n);
    let (sdp, sdp_rdma) = (control(Unit::Sdp), control(Unit::SdpRdma));
    let (pdp, pdp_rdma) = (control(Unit::Pdp), control(Unit::PdpRdma));
    // How many atoms lie between the two is the layer's to say.
    let forward = cycles(timing.sdp.to_pdp);
    let on_the_fly = Rc::new(Handoff::new(sim, "nvdla.sdp_to_pdp", 1, forward, Time::ZERO));
    let level = occupancy.fifos().level("nvdla.cacc.delivery", "atoms");
    let sums = Delivery::new(sim, timing.conv.sdp_credits, cycles(timing.conv.credit_return), level);
    let convolution = conv::Controls {
        cdma: control(Unit::Cdma),
        csc: control(Unit::Csc),
        cacc: control(Unit::Cacc),
        cmac_a: control(Unit::CmacA),
        cmac_b: control(Unit::CmacB),
    };
    let mut engines = Vec::new();
    engines.extend(conv::start(around, convolution, sums.clone()));
    engines.push(engine::start(Sdp::new(around, sdp, sdp_rdma, sums, on_the_fly.clone())));
    engines.push(engine::start(Pdp::new(around, pdp, pdp_rdma, on_the_fly)));
    engines.push(engine::start(Cdp::new(around, control(Unit::Cdp), control(Unit::CdpRdma))));
    engines
}

impl Nvdla {
    /// Builds a device and starts its processes.
    pub fn new(sim: &Sim, parts: Parts) -> Rc<Nvdla> {
        let Parts { config, capability_rom, timing, cycle, primary, secondary, interrupt, .. } = parts;
        let Parts { threads, skips_arithmetic, occupancy, .. } = parts;
        let map = config.register_map;
        let interrupts = Interrupts::new(sim, &config, interrupt);
        let ports = MemoryPorts { primary: primary.clone(), secondary: secondary.clone() };
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
        let mut controls = Vec::new();
        let mut engines = start_engines(&around, &mut controls);
        let units = Unit::ALL.into_iter().filter(|&unit| config.has_unit(unit) && map.base(unit).is_some());
        let nocif = |unit, interface: &Rc<Interconnect>| {
            Registers::Nocif(Box::new(Nocif::new(RegisterFile::new(unit, map), interface.clone())))
        };
        let units = units.map(|unit| {
            let registers = match unit {
                Unit::Cfgrom => Registers::Rom(
                    config.capability_words(capability_rom).into_iter().map(|word| word.value).collect(),
                ),
                Unit::Glb => Registers::Glb,
                Unit::Mcif => nocif(unit, &primary),
                Unit::Cvif => match &secondary {
                    Some(secondary) => nocif(unit, secondary),
                    None => Registers::Bare(Control::new(sim, unit, &config)),
                },
                Unit::Bdma => Registers::Bdma(Bdma::start(&around, Control::new(sim, unit, &config))),
                Unit::Rbk => {
                    let rubik = Control::new(sim, unit, &config);
                    engines.push(engine::start(Rubik::new(&around, rubik.clone())));
                    Registers::Unit(rubik)
                }
                _ => {
                    let control = controls.iter().find(|(of, _)| *of == unit);
                    Registers::Unit(control.expect("each other unit has an engine").1.clone())
                }
            };
            (unit, registers)
        });
        let (units, first_enabled) = (units.collect(), Cell::new(None));
        let (sim_here, other_map) = (sim.clone(), RefCell::new(OtherMap::new(map)));
        let (sim, missing) = (&sim_here.clone(), RefCell::default());
        let device = Rc::new(Nvdla {
            map,
            units,
            engines,
            interrupts,
            first_enabled,
            sim: sim_here,
            other_map,
            missing,
            sdp: sdp::layer::Hardware::from(&config),
        });
        device.clear_buffer(sim, cycle * u64::from(timing.cbuf_flush));
        device
    }

    /// The convolution buffer is cleared after reset, which takes a while and is then reported.
    fn clear_buffer(&self, sim: &Sim, after: Time) {
        if let Some(Registers::Unit(cdma) | Registers::Bare(cdma)) = self.registers(Unit::Cdma) {
            let (clock, cdma) = (sim.clone(), cdma.clone());
            sim.server("nvdla.cdma.flush", async move {
                // One that goes on from another's state has been cleared.
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
        self.interrupts.last_raised()
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
        let enables = matches!(register.name, "D_OP_ENABLE" | "CFG_LAUNCH0" | "CFG_LAUNCH1");
        if enables && value & 1 != 0 && !self.missing.borrow().contains(&unit) {
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
            Some((Registers::Glb, offset)) => self.interrupts.read(offset),
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
        // RTL, `NV_NVDLA_RT_csb2cmac.v`, `NV_NVDLA_RT_csb2cacc.v`: three registers there and three back. Writes go the same way,
        // and nothing waits for theirs.
        let unit = self.map.unit_at(address);
        if matches!(unit, Some((Unit::CmacA | Unit::CmacB | Unit::Cacc, _))) { 6 } else { 0 }
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
        let Nvdla { map: _, units, engines, interrupts, first_enabled, sim: _, other_map, missing, sdp: _ } =
            self;
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
