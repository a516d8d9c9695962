//! Runs a plan as a driver would: registers are written to a group while the other one's layer runs, and what waits for
//! nothing that still runs is enabled at once.

use super::cpu;
use super::error::RunError;
use super::plan::{Plan, Step, Work};
use crate::host::program::{Program, address};
use crate::host::trace::{Interrupt, Source};
use crate::host::{Activity, Host, HostError, Memory};
use crate::nvdla::registers::{Unit, glb, sdp};
use vp_core::Time;

/// Runs a plan on a platform, which nobody else drives meanwhile.
pub struct Runner<'a> {
    plan: &'a Plan,
    host: &'a mut dyn Host,
    /// The group of each unit that its next layer takes.
    next_groups: Vec<(Unit, u32)>,
    /// The table that is loaded.
    table: Option<usize>,
}

/// What came of one input, or of as many as the plan takes at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inference {
    /// The network's output, `[line][column][channel]`, frame after frame.
    pub output: Vec<i8>,
    /// When the input was there and its first layer had its turn.
    pub started: Time,
    /// When each of the plan's steps ran.
    pub steps: Vec<Span>,
}

impl Inference {
    /// From the first layer's enable to the last layer's interrupt.
    pub fn time(&self) -> Time {
        let first = self.steps.iter().map(|span| span.enabled).min().unwrap_or_default();
        self.steps.iter().map(|span| span.done).max().unwrap_or_default() - first
    }
}

/// When a step ran, as its driver sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The driver begins to enable its units.
    pub enabled: Time,
    /// The last of its interrupts.
    pub done: Time,
    /// When the driver had taken that, and went on.
    pub taken: Time,
    /// What the platform did since the step that was done before this one, if somebody watches it.
    pub activity: Option<Activity>,
}

/// A step of hardware that is under way.
struct UnderWay<'a> {
    /// Its place.
    at: usize,
    step: &'a Step,
    units: &'a [Unit],
    table: Option<usize>,
    groups: Vec<(Unit, u32)>,
    /// The bits of GLB.S_INTR_STATUS that are to come.
    expected: u32,
    enabled: Option<Time>,
}

impl UnderWay<'_> {
    fn uses(&self, unit: Unit, group: u32) -> bool {
        self.groups.contains(&(unit, group))
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
        for &unit in plan.steps.iter().flat_map(Step::units) {
            if next_groups.iter().all(|(known, _)| *known != unit) {
                let pointer = host.read(register(&*host, unit, "S_POINTER")?)?;
                // All units have it in the same place.
                next_groups.push((unit, pointer >> CONSUMER & 1));
            }
        }
        Ok(Runner { plan, host, next_groups, table: None })
    }

    /// Runs the network on inputs `[line][column][channel]`, as many at once as the plan takes, and hands out what came of them with the
    /// first one's number. Where inputs are no multiple of these, zeros run in the place of those that are missing.
    ///
    /// # Errors
    /// The first thing that went wrong; nothing runs after it.
    pub fn run<I: AsRef<[i8]>>(
        &mut self,
        inputs: &[I],
        mut done: impl FnMut(usize, Inference),
    ) -> Result<(), RunError> {
        for (at, inputs) in inputs.chunks(self.plan.frames).enumerate() {
            let inputs: Vec<&[i8]> = inputs.iter().map(AsRef::as_ref).collect();
            done(at * self.plan.frames, self.infer(&inputs)?);
        }
        match self.host.warnings().into_iter().next() {
            Some(warning) => Err(RunError::Warned(warning)),
            None => Ok(()),
        }
    }

    fn infer(&mut self, inputs: &[&[i8]]) -> Result<Inference, RunError> {
        let plan = self.plan;
        let expected = plan.input.shape.elements();
        if let Some(input) = inputs.iter().find(|input| input.len() != expected) {
            return Err(RunError::Input { found: input.len(), expected });
        }
        let of = |at: usize| move |error| RunError::Host { layer: plan.steps[at].name.clone(), error };
        for frame in 0..plan.frames {
            let [place, _] = plan.of_frame(frame);
            let bytes = match inputs.get(frame) {
                Some(input) => place.pack(input),
                None => vec![0; place.bytes() as usize],
            };
            self.host.load(Memory::Primary, place.base, &bytes).map_err(of(0))?;
        }
        let started = self.host.now().map_err(of(0))?;
        // From here on.
        self.host.activity();
        let mut spans = vec![Span::default(); plan.steps.len()];
        let mut is_done = vec![false; plan.steps.len()];
        let (mut under_way, mut next) = (Vec::<UnderWay<'_>>::new(), 0);
        while is_done.iter().any(|done| !done) {
            // Enabled in order, each as soon as all that it waits for is done.
            while let Some(waiting) = under_way.iter_mut().find(|step| step.enabled.is_none())
                && waiting.step.after.iter().all(|&before| is_done[before])
            {
                waiting.enabled = Some(self.enable(waiting).map_err(of(waiting.at))?);
            }
            if let Some(step) = plan.steps.get(next) {
                match &step.work {
                    Work::Hardware { .. } if self.has_groups(step, &under_way) => {
                        under_way.push(self.program(next, step).map_err(of(next))?);
                        next += 1;
                        continue;
                    }
                    // What is before it has no part in the order of enabling.
                    Work::Cpu { task, from, to } if step.after.iter().all(|&before| is_done[before]) => {
                        cpu::run(*task, from, to, self.host).map_err(of(next))?;
                        let now = self.host.now().map_err(of(next))?;
                        spans[next] =
                            Span { enabled: now, done: now, taken: now, activity: self.host.activity() };
                        is_done[next] = true;
                        next += 1;
                        continue;
                    }
                    _ => {}
                }
            }
            let (time, taken) = self.interrupt(&mut under_way)?;
            for step in under_way.extract_if(.., |step| step.expected == 0) {
                let enabled = step.enabled.unwrap_or(time);
                spans[step.at] = Span { enabled, done: time, taken, activity: self.host.activity() };
                is_done[step.at] = true;
            }
        }
        let output = self.fetch_output(inputs.len()).map_err(of(plan.steps.len() - 1))?;
        Ok(Inference { output, started, steps: spans })
    }

    fn fetch_output(&mut self, frames: usize) -> Result<Vec<i8>, HostError> {
        let mut output = Vec::new();
        for frame in 0..frames {
            let [_, tensor] = self.plan.of_frame(frame);
            let mut bytes = vec![0; tensor.bytes() as usize];
            self.host.fetch(Memory::Primary, tensor.base, &mut bytes)?;
            output.extend(tensor.unpack(&bytes));
        }
        Ok(output)
    }

    /// Whether the groups that a step's units take next are free.
    fn has_groups(&self, step: &Step, under_way: &[UnderWay<'_>]) -> bool {
        let mut next = self.next_groups.iter().filter(|(unit, _)| step.units().contains(unit));
        next.all(|&(unit, group)| under_way.iter().all(|other| !other.uses(unit, group)))
    }

    /// Writes a step's registers to the groups that its units take next.
    fn program(&mut self, at: usize, step: &'a Step) -> Result<UnderWay<'a>, HostError> {
        let Work::Hardware { units, program, done, table } = &step.work else {
            return Err(HostError::Refused(format!("`{}` is the CPU's", step.name)));
        };
        let mut groups = Vec::new();
        for (unit, next) in &mut self.next_groups {
            if units.contains(unit) {
                groups.push((*unit, *next));
                *next ^= 1;
            }
        }
        self.select(&groups)?;
        program.run(self.host)?;
        let group = |of: Unit| groups.iter().find(|(unit, _)| *unit == of).map_or(0, |(_, group)| *group);
        let bit = |&(source, unit): &(Source, Unit)| Interrupt { source, group: group(unit) as u8 }.bit();
        let expected = done.iter().fold(0, |bits, done| bits | 1 << bit(done));
        Ok(UnderWay { at, step, units, table: *table, groups, expected, enabled: None })
    }

    fn select(&mut self, groups: &[(Unit, u32)]) -> Result<(), HostError> {
        for &(unit, group) in groups {
            let pointer = register(&*self.host, unit, "S_POINTER")?;
            self.host.write(pointer, group)?;
        }
        Ok(())
    }

    /// Starts a step whose registers are written; gives the time at which that began.
    fn enable(&mut self, step: &UnderWay<'_>) -> Result<Time, HostError> {
        // Until its answer comes, time passes for writes that are still on their way.
        self.host.read(self.status()?)?;
        let enabled = self.host.now()?;
        if let Some(table) = step.table.filter(|table| self.table != Some(*table)) {
            self.load(table)?;
        }
        self.select(&step.groups)?;
        for &unit in step.units {
            let enable = register(&*self.host, unit, "D_OP_ENABLE")?;
            self.host.write(enable, 1)?;
        }
        Ok(enabled)
    }

    fn load(&mut self, table: usize) -> Result<(), HostError> {
        if let Some(program) = self.plan.tables.get(table) {
            Program::run(program, self.host)?;
        }
        self.table = Some(table);
        Ok(())
    }

    /// Takes an interrupt; gives its time, and when it was taken.
    fn interrupt(&mut self, under_way: &mut [UnderWay<'_>]) -> Result<(Time, Time), RunError> {
        let layer = || under_way.first().map_or_else(String::new, |step| step.step.name.clone());
        let within = |error| RunError::Host { layer: layer(), error };
        let address = self.status().map_err(within)?;
        let time = self.host.wait_interrupt().map_err(within)?;
        let status = self.host.read(address).map_err(within)?;
        let enabled = under_way.iter().filter(|step| step.enabled.is_some());
        let expected = enabled.fold(0, |bits, step| bits | step.expected);
        if status == 0 || status & !expected != 0 {
            return Err(RunError::Interrupt { layer: layer(), status, expected });
        }
        self.host.write_acknowledged(address, status).map_err(within)?;
        let taken = self.host.now().map_err(within)?;
        under_way.iter_mut().filter(|step| step.enabled.is_some()).for_each(|step| step.expected &= !status);
        Ok((time, taken))
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
