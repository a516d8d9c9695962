//! Runs a plan as a driver would: registers are written to a group while the other one's layer runs, and what waits for
//! nothing that still runs is enabled at once.

use super::cpu;
use super::error::RunError;
use super::plan::{Constant, Plan, PlanStep, Work};
use crate::driver::{Driver, Event, Job};
use crate::{Activity, DriverError, Host};
use std::collections::BTreeMap;
use vp_core::Time;
use vp_models::nvdla::glb::InterruptSource;
use vp_models::nvdla::registers::{Unit, bdma};

/// Runs a plan on a platform, which nobody else drives meanwhile.
pub struct Runner<'a> {
    plan: &'a Plan,
    driver: Driver<'a>,
    /// The units that have a part in it, in the order in which they are pointed at their groups.
    units: Vec<Unit>,
    /// The table that is loaded into each unit.
    loaded: BTreeMap<Unit, usize>,
}

/// Result for one input, or for as many as the plan takes at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inference {
    /// The network's outputs, each `[line][column][channel]`, frame after frame: the bytes of each element.
    pub outputs: Vec<Vec<i8>>,
    /// Time at which the input was there and its first layer had its turn.
    pub started: Time,
    /// Times at which each of the plan's steps ran.
    pub steps: Vec<Span>,
}

impl Inference {
    /// Time from the first layer's enable to the last layer's interrupt.
    pub fn time(&self) -> Time {
        let first = self.steps.iter().map(|span| span.enabled).min().unwrap_or_default();
        self.steps.iter().map(|span| span.done).max().unwrap_or_default() - first
    }
}

/// Times at which a step ran, as its driver sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The driver begins to enable its units.
    pub enabled: Time,
    /// The last of its interrupts.
    pub done: Time,
    /// Time at which the driver had taken that interrupt, and went on.
    pub taken: Time,
    /// Activity of the platform since the step that was done before this one, if somebody watches it.
    pub activity: Option<Activity>,
}

impl<'a> Runner<'a> {
    /// Puts the plan's constants into memory and asks each unit which group it takes next.
    ///
    /// # Errors
    /// When the host cannot do that.
    pub fn new(plan: &'a Plan, host: &'a mut dyn Host) -> Result<Runner<'a>, DriverError> {
        let mut driver = Driver::new(host, "what the network needs before its first layer");
        for Constant { place, bytes, .. } in &plan.constants {
            driver.bus.load(place.memory, place.address, bytes)?;
        }
        let mut units = Vec::new();
        for &unit in plan.steps.iter().flat_map(PlanStep::units) {
            if !units.contains(&unit) {
                // BDMA has no pointer: of a queue that is empty either group may be next.
                if unit != Unit::Bdma {
                    driver.ask(unit)?;
                }
                units.push(unit);
            }
        }
        Ok(Runner { plan, driver, units, loaded: BTreeMap::new() })
    }

    /// Runs the network on inputs `[line][column][channel]`, of int16 and fp16 two bytes for each element, as many at once as the plan takes, and hands out what came of them with the
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
        match self.driver.bus.host.warnings().into_iter().next() {
            Some(warning) => Err(RunError::Warned(warning)),
            None => Ok(()),
        }
    }

    fn infer(&mut self, inputs: &[&[i8]]) -> Result<Inference, RunError> {
        let plan = self.plan;
        let (expected, element) = (plan.input.host_bytes(), plan.input.precision.bytes());
        if let Some(input) = inputs.iter().find(|input| input.len() != expected) {
            let (found, expected) = (input.len() / element, expected / element);
            return Err(RunError::Input { found, expected });
        }
        self.driver.bus.place = plan.steps.first().map_or_else(String::new, place);
        for frame in 0..plan.frames {
            let tensor = plan.input_of(frame);
            let bytes = match inputs.get(frame) {
                Some(input) => tensor.pack(input),
                None => vec![0; tensor.bytes() as usize],
            };
            self.driver.bus.load(tensor.place.memory, tensor.place.address, &bytes)?;
        }
        let started = self.driver.bus.now()?;
        // From here on.
        self.driver.bus.host.activity();
        let mut activities = vec![None; plan.steps.len()];
        self.driver.take_jobs(jobs(plan));
        let mut next = 0;
        while self.driver.left > 0 {
            for at in self.driver.under_way() {
                if self.driver.is_ready(at) {
                    self.enable(at)?;
                }
            }
            let completed = match plan.steps.get(next).map(|step| &step.work) {
                Some(Work::Hardware { .. } | Work::Copy { .. })
                    if plan.steps[next].units().iter().all(|&unit| self.driver.groups(unit).is_free()) =>
                {
                    self.program(next)?;
                    next += 1;
                    continue;
                }
                // What is before it has no part in the order of enabling.
                Some(Work::Cpu { task, from, to }) if self.driver.jobs[next].pending == 0 => {
                    self.driver.at(next);
                    cpu::run(task, &plan.steps[next].name, (from, to), &mut self.driver.bus)?;
                    let now = self.driver.bus.now()?;
                    let job = &mut self.driver.jobs[next];
                    (job.enabled, job.done, job.taken) = (now, now, now);
                    self.driver.complete(next);
                    next += 1;
                    vec![next - 1]
                }
                _ => self.driver.interrupt()?,
            };
            // A copy is made while layers run: the time is theirs.
            for at in completed.into_iter().filter(|&at| plan.steps[at].copied().is_none()) {
                activities[at] = self.driver.bus.host.activity();
            }
        }
        self.driver.bus.place = plan.steps.last().map_or_else(String::new, place);
        let outputs = self.fetch_outputs(inputs.len())?;
        let spans = self.driver.jobs.iter().zip(activities).map(|(job, activity)| {
            let &Job { enabled, done, taken, .. } = job;
            Span { enabled, done, taken, activity }
        });
        Ok(Inference { outputs, started, steps: spans.collect() })
    }

    fn fetch_outputs(&mut self, frames: usize) -> Result<Vec<Vec<i8>>, DriverError> {
        let mut outputs = vec![Vec::new(); self.plan.outputs.len()];
        for frame in 0..frames {
            for (output, tensor) in outputs.iter_mut().zip(self.plan.outputs_of(frame)) {
                output.extend(cpu::fetch(&tensor, &mut self.driver.bus)?);
            }
        }
        Ok(outputs)
    }

    /// Writes a step's registers to the groups that its units take next.
    fn program(&mut self, at: usize) -> Result<(), DriverError> {
        let step = &self.plan.steps[at];
        let (units, program, done) = match &step.work {
            Work::Hardware { units, program, done, .. } => (units, program, done),
            Work::Copy { .. } => {
                // Its registers are no group's: they are written when it is launched.
                let group = self.driver.groups(Unit::Bdma).next;
                self.driver.occupy(Unit::Bdma, group, at);
                let done = InterruptSource::Bdma.of_group(group);
                self.driver.programmed(at, Vec::new(), &[(done, Event::Completed)]);
                return Ok(());
            }
            Work::Cpu { .. } => return Ok(()),
        };
        self.driver.at(at);
        let mut groups = Vec::new();
        for &unit in self.units.iter().filter(|unit| units.contains(unit)) {
            let group = self.driver.groups(unit).next;
            self.driver.occupy(unit, group, at);
            groups.push((unit, group));
        }
        let group = |of: Unit| groups.iter().find(|(unit, _)| *unit == of).map_or(0, |(_, group)| *group);
        let bit = |source: &InterruptSource| (source.of_group(group(source.unit())), Event::Completed);
        let interrupts: Vec<_> = done.iter().map(bit).collect();
        self.driver.point(at, groups)?;
        self.driver.bus.run(program)?;
        self.driver.programmed(at, units.clone(), &interrupts);
        Ok(())
    }

    fn enable(&mut self, at: usize) -> Result<(), DriverError> {
        let step = &self.plan.steps[at];
        self.driver.begin(at)?;
        if let Work::Copy { program, .. } = &step.work {
            self.driver.bus.run(program)?;
            let launch = [bdma::CFG_LAUNCH0, bdma::CFG_LAUNCH1]
                [usize::from(self.driver.groups(Unit::Bdma).users[1] == Some(at))];
            self.driver.bus.write(Unit::Bdma, launch.name, 1)?;
        }
        if let Work::Hardware { table: Some(table), .. } = step.work
            && let Some(unit) = self.plan.unit_of(table)
            && self.loaded.insert(unit, table) != Some(table)
        {
            self.driver.bus.run(&self.plan.tables[table])?;
        }
        self.driver.start(at)
    }
}

fn place(step: &PlanStep) -> String {
    format!("layer `{}`", step.name)
}

/// A plan's steps, each with those that wait for it.
fn jobs(plan: &Plan) -> Vec<Job> {
    let mut jobs: Vec<Job> = plan.steps.iter().map(|step| Job::new(place(step), 0, Vec::new())).collect();
    let mut wait = |at: usize, before: usize, event| {
        jobs[before].consumers.push((at, event));
        jobs[at].pending += 1;
    };
    let mut last: Option<usize> = None;
    // The last step of each unit, and the last table.
    let mut users: BTreeMap<Unit, usize> = BTreeMap::new();
    let mut tables: BTreeMap<Unit, usize> = BTreeMap::new();
    for (at, step) in plan.steps.iter().enumerate() {
        step.after.iter().for_each(|&before| wait(at, before, Event::Completed));
        if let Work::Hardware { .. } = step.work {
            // Enabled in order; BDMA has a queue of its own.
            if let Some(before) = last.replace(at) {
                wait(at, before, Event::Enabled);
            }
        }
        if let Work::Hardware { table: Some(table), .. } = step.work
            && let Some(unit) = plan.unit_of(table)
            && tables.insert(unit, table) != Some(table)
            && let Some(&user) = users.get(&unit)
        {
            // A table is loaded while its unit is idle.
            wait(at, user, Event::Completed);
        }
        for &unit in step.units() {
            users.insert(unit, at);
        }
    }
    jobs
}
