//! Runs a plan as a driver would: while a layer runs, the next one's registers are written to the other group.

use super::error::RunError;
use super::plan::{Plan, Step};
use crate::host::program::address;
use crate::host::trace::Interrupt;
use crate::host::{Activity, Host, HostError, Memory};
use crate::nvdla::registers::{Unit, glb, sdp};
use vp_core::Time;

/// Runs a plan on a platform, which nobody else drives meanwhile.
pub struct Runner<'a> {
    plan: &'a Plan,
    host: &'a mut dyn Host,
    /// The group of each unit that its next layer takes.
    next_groups: Vec<(Unit, u32)>,
}

/// What came of one input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inference {
    /// The network's output, `[line][column][channel]`.
    pub output: Vec<i8>,
    /// When its input was there and its first layer had its turn.
    pub started: Time,
    /// When each of the plan's hardware layers ran.
    pub steps: Vec<Span>,
}

impl Inference {
    /// From the first layer's enable to the last layer's interrupt.
    pub fn time(&self) -> Time {
        match (self.steps.first(), self.steps.last()) {
            (Some(first), Some(last)) => last.done - first.enabled,
            _ => Time::ZERO,
        }
    }
}

/// When a hardware layer ran, as its driver sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The driver begins to enable its units.
    pub enabled: Time,
    /// The last of its interrupts.
    pub done: Time,
    /// What the platform did since the one before was done, if somebody watches it.
    pub activity: Option<Activity>,
}

/// A layer whose registers are written, and the groups it took.
struct Programmed<'a> {
    step: &'a Step,
    groups: Vec<(Unit, u32)>,
}

impl Programmed<'_> {
    fn group(&self, of: Unit) -> u32 {
        self.groups.iter().find(|(unit, _)| *unit == of).map_or(0, |(_, group)| *group)
    }

    /// The bits of GLB.S_INTR_STATUS that say that it is done.
    fn done(&self) -> u32 {
        let bit = |&(source, unit)| Interrupt { source, group: self.group(unit) as u8 }.bit();
        self.step.done.iter().fold(0, |bits, done| bits | 1 << bit(done))
    }
}

impl<'a> Runner<'a> {
    /// Puts the plan's constants into memory and asks each unit which group it takes next.
    ///
    /// # Errors
    /// When the host cannot do that.
    pub fn new(plan: &'a Plan, host: &'a mut dyn Host) -> Result<Runner<'a>, HostError> {
        for (base, bytes) in &plan.constants {
            host.load(Memory::Primary, *base, bytes)?;
        }
        let mut next_groups = Vec::new();
        for &unit in plan.steps.iter().flat_map(|step| &step.units) {
            if next_groups.iter().all(|(known, _)| *known != unit) {
                let pointer = host.read(register(&*host, unit, "S_POINTER")?)?;
                // All units have it in the same place.
                next_groups.push((unit, pointer >> CONSUMER & 1));
            }
        }
        Ok(Runner { plan, host, next_groups })
    }

    /// Runs the network on each input `[line][column][channel]`, one after the other, and hands out what came of it.
    ///
    /// # Errors
    /// The first thing that went wrong; nothing runs after it.
    pub fn run<I: AsRef<[i8]>>(
        &mut self,
        inputs: &[I],
        mut done: impl FnMut(usize, Inference),
    ) -> Result<(), RunError> {
        let plan = self.plan;
        let steps: Vec<(usize, &Step)> =
            (0..inputs.len()).flat_map(|input| plan.steps.iter().map(move |step| (input, step))).collect();
        let (mut spans, mut started) = (Vec::new(), Time::ZERO);
        let mut programmed = None;
        for (at, &(input, step)) in steps.iter().enumerate() {
            let within = |error| RunError::Host { layer: step.name.clone(), error };
            if spans.is_empty() {
                self.load_input(inputs[input].as_ref(), step)?;
                started = self.host.now().map_err(within)?;
                // From here on.
                self.host.activity();
            }
            let current = match programmed.take() {
                Some(programmed) => programmed,
                None => self.program(step).map_err(within)?,
            };
            let enabled = self.enable(&current).map_err(within)?;
            if let Some((_, next)) = steps.get(at + 1) {
                programmed = Some(self.program(next).map_err(within)?);
            }
            spans.push(Span { enabled, done: self.wait(&current)?, activity: self.host.activity() });
            if spans.len() == plan.steps.len() {
                let output = self.fetch_output().map_err(within)?;
                done(input, Inference { output, started, steps: std::mem::take(&mut spans) });
            }
        }
        match self.host.warnings().into_iter().next() {
            Some(warning) => Err(RunError::Warned(warning)),
            None => Ok(()),
        }
    }

    fn load_input(&mut self, input: &[i8], step: &Step) -> Result<(), RunError> {
        let expected = self.plan.input.shape.elements();
        if input.len() != expected {
            return Err(RunError::Input { found: input.len(), expected });
        }
        let bytes = self.plan.input.pack(input);
        self.host
            .load(Memory::Primary, self.plan.input.base, &bytes)
            .map_err(|error| RunError::Host { layer: step.name.clone(), error })
    }

    fn fetch_output(&mut self) -> Result<Vec<i8>, HostError> {
        let surface = self.plan.output;
        let mut bytes = vec![0; surface.bytes() as usize];
        self.host.fetch(Memory::Primary, surface.base, &mut bytes)?;
        Ok(surface.unpack(&bytes))
    }

    /// Writes a layer's registers to the groups that its units take next.
    fn program(&mut self, step: &'a Step) -> Result<Programmed<'a>, HostError> {
        let mut groups = Vec::new();
        for (unit, next) in &mut self.next_groups {
            if step.units.contains(unit) {
                groups.push((*unit, *next));
                *next ^= 1;
            }
        }
        let programmed = Programmed { step, groups };
        self.select(&programmed)?;
        step.program.run(self.host)?;
        Ok(programmed)
    }

    fn select(&mut self, layer: &Programmed<'_>) -> Result<(), HostError> {
        for &(unit, group) in &layer.groups {
            let pointer = register(&*self.host, unit, "S_POINTER")?;
            self.host.write(pointer, group)?;
        }
        Ok(())
    }

    /// Starts a layer whose registers are written; gives the time at which that began.
    fn enable(&mut self, layer: &Programmed<'_>) -> Result<Time, HostError> {
        // Until its answer comes, time passes for writes that are still on their way.
        self.host.read(self.status()?)?;
        let enabled = self.host.now()?;
        self.select(layer)?;
        for &unit in &layer.step.units {
            let enable = register(&*self.host, unit, "D_OP_ENABLE")?;
            self.host.write(enable, 1)?;
        }
        Ok(enabled)
    }

    /// Takes interrupts until the layer is done; gives the time of the last one.
    fn wait(&mut self, layer: &Programmed<'_>) -> Result<Time, RunError> {
        let within = |error| RunError::Host { layer: layer.step.name.clone(), error };
        let address = self.status().map_err(within)?;
        let (mut expected, mut time) = (layer.done(), Time::ZERO);
        while expected != 0 {
            time = self.host.wait_interrupt().map_err(within)?;
            let status = self.host.read(address).map_err(within)?;
            if status == 0 || status & !expected != 0 {
                return Err(RunError::Interrupt { layer: layer.step.name.clone(), status, expected });
            }
            self.host.write_acknowledged(address, status).map_err(within)?;
            expected &= !status;
        }
        Ok(time)
    }

    fn status(&self) -> Result<u32, HostError> {
        address(self.host.map(), Unit::Glb, glb::S_INTR_STATUS)
    }
}

/// The bit of S_POINTER that names the group which a unit runs from, or takes next.
const CONSUMER: u8 = sdp::s_pointer::CONSUMER.bits(crate::nvdla::registers::Family::Small).lsb;

/// A register that all units with groups have.
fn register(host: &dyn Host, unit: Unit, name: &str) -> Result<u32, HostError> {
    let map = host.map();
    let register = unit
        .register(name)
        .ok_or_else(|| HostError::Refused(format!("{unit} has no {name}: it has no register groups")))?;
    address(map, unit, register)
}
