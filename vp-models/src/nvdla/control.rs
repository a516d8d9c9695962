//! A unit's registers as its engine sees them: groups that become enabled and groups that end.

use super::config::Config;
use super::int8_build::Unread;
use super::refused::Refused;
use super::registers::{FieldRef, Group, RegisterFile, RegisterRef, Unit, Written};
use crate::checkpoint::{Checkpoint, CheckpointError};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use vp_core::observe::{Kinds, Source, SourceKind, Warning, WarningMarks, What};
use vp_core::{Event, Name, Sim, Time};

/// One unit: its register file, and who waits for its groups.
pub(crate) struct Control {
    sim: Sim,
    name: Name,
    source: Source,
    registers: RefCell<RegisterFile>,
    unread: Unread,
    enabled: Event,
    /// Time at which each group was last enabled.
    enabled_at: [Cell<Time>; 2],
    /// The group's layer has been given to the engine and has not ended: the group stays enabled, and is not a
    /// new one.
    taken: [Cell<bool>; 2],
    /// Layers that have ended since the unit was built.
    ended: Cell<u64>,
}

impl Control {
    pub(crate) fn new(sim: &Sim, unit: Unit, config: &Config) -> Rc<Control> {
        let name: Name = format!("nvdla.{}", unit.name().to_lowercase()).into();
        Rc::new(Control {
            sim: sim.clone(),
            source: sim.source(name.clone(), SourceKind::Work),
            registers: RefCell::new(RegisterFile::new(unit, config.register_map)),
            unread: Unread::of(unit, config),
            enabled: sim.work_event(format!("{name}.op_enable")),
            name,
            enabled_at: [Cell::new(Time::ZERO), Cell::new(Time::ZERO)],
            taken: [Cell::new(false), Cell::new(false)],
            ended: Cell::new(0),
        })
    }

    /// Returns the unit's name, such as `nvdla.sdp`.
    pub(crate) fn name(&self) -> Name {
        self.name.clone()
    }

    pub(crate) fn registers(&self) -> &RefCell<RegisterFile> {
        &self.registers
    }

    /// A write from the bus; true if it enabled a group.
    pub(crate) fn write(&self, offset: u32, value: u32) -> bool {
        let written = self.registers.borrow_mut().write(offset, value);
        if let Written::Enabled { group } = written {
            self.enabled_at[group].set(self.sim.now());
            self.enabled.notify_delta();
        }
        matches!(written, Written::Enabled { .. })
    }

    /// Waits until `group` is enabled, whether or not it is its turn, and gives what it then holds: each layer
    /// once.
    pub(crate) async fn enabled(&self, group: usize) -> Group {
        loop {
            if let registers = self.registers.borrow()
                && registers.is_enabled(group)
                && !self.taken[group].replace(true)
            {
                let registers = registers.group(group);
                self.unread.warnings(registers).into_iter().for_each(|warning| self.warn(warning));
                return self.unread.cut(registers);
            }
            self.enabled.wait().await;
        }
    }

    /// Waits until the group whose turn it is is enabled; tells also when it was.
    pub(crate) async fn turn(&self) -> (Group, Time) {
        let group = self.registers.borrow().consumer();
        (self.enabled(group).await, self.enabled_at[group].get())
    }

    /// Gives the group whose turn it is, as [`Control::turn`], if it is enabled.
    pub(crate) async fn turn_if_enabled(&self) -> Option<Group> {
        let is_enabled = self.registers.borrow().enabled_group().is_some();
        if is_enabled { Some(self.turn().await.0) } else { None }
    }

    /// As [`Control::turn`], and tells also which group it is.
    pub(crate) async fn next_group(&self) -> (usize, Group, Time) {
        let consumer = self.registers.borrow().consumer();
        let (group, enabled) = self.turn().await;
        (consumer, group, enabled)
    }

    /// Returns what the group whose turn it is holds once it is enabled, and since when it is; it is not given out by this.
    pub(crate) async fn coming(&self) -> (Group, Time) {
        loop {
            if let registers = self.registers.borrow()
                && let group = registers.consumer()
                && registers.is_enabled(group)
                && !self.taken[group].get()
            {
                return (self.unread.cut(registers.group(group)), self.enabled_at[group].get());
            }
            self.enabled.wait().await;
        }
    }

    /// Returns the time at which a group was last enabled.
    pub(crate) fn enabled_at(&self, group: usize) -> Time {
        self.enabled_at[group].get()
    }

    /// Returns what a group holds now, enabled or not.
    pub(crate) fn present(&self, group: usize) -> Group {
        self.unread.cut(self.registers.borrow().group(group))
    }

    /// The layer whose turn it is has been given out, and is to be given out again.
    pub(crate) fn put_back(&self) {
        let group = self.registers.borrow().consumer();
        self.taken[group].set(false);
    }

    /// Returns what the unit holds when no layer of its own is asked for.
    pub(crate) fn idle(&self) -> (Group, Time) {
        (self.present(0), self.sim.now())
    }

    /// Ends the running layer: its group is software's again and the other has its turn.
    pub(crate) fn finish(&self) {
        if let Some(group) = self.registers.borrow_mut().finish() {
            self.taken[group].set(false);
            self.ended.set(self.ended.get() + 1);
        }
    }

    /// Layers that have ended since the unit was built.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.get()
    }

    /// Puts counters into a group's registers if its field `enable` has them counted.
    pub(crate) fn count(&self, group: usize, enable: FieldRef, counts: &[(RegisterRef, u64)]) {
        let mut registers = self.registers.borrow_mut();
        if registers.group(group).flag(enable) {
            for &(register, count) in counts {
                registers.set(group, register, count.min(u32::MAX.into()) as u32);
            }
        }
    }

    /// Adds a layer's cycles, if its group has them counted, to those of all layers since reset, and shows the sum in its group.
    ///
    /// So count PDP, CDP and their read DMAs: what should clear the counter needs a cycle with `valid` and without `ready`, and comes in one
    /// with both. At each layer's end its group's register takes what the counter has, and keeps it through the next enable (RTL,
    /// `NV_NVDLA_PDP_wdma.v`, `NV_NVDLA_PDP_RDMA_ig.v`, `NV_NVDLA_CDP_wdma.v`, `NV_NVDLA_CDP_RDMA_ig.v`: `cnt_clr`, `cnt_cen`, `layer_flag`).
    pub(crate) fn add_to_total(&self, group: usize, enable: FieldRef, register: RegisterRef, cycles: u64) {
        let mut registers = self.registers.borrow_mut();
        let [first, second] = [0, 1].map(|group| registers.group(group).word(register));
        let counted = if registers.group(group).flag(enable) { cycles } else { 0 };
        // The counter never falls but where its 32 bits overflow: the last layer's group has the larger sum.
        registers.set(group, register, first.max(second).wrapping_add(counted as u32));
    }

    /// [`Control::add_to_total`] of the group whose layer runs.
    pub(crate) fn add_running_to_total(&self, enable: FieldRef, register: RegisterRef, cycles: u64) {
        let group = self.registers.borrow().consumer();
        self.add_to_total(group, enable, register, cycles);
    }

    /// Puts counters into a group's registers that are always counted.
    pub(crate) fn show(&self, group: usize, counts: &[(RegisterRef, u64)]) {
        let mut registers = self.registers.borrow_mut();
        for &(register, count) in counts {
            registers.set(group, register, count.min(u32::MAX.into()) as u32);
        }
    }

    /// Returns the group whose layer runs, and true if its field `enable` has it counted.
    pub(crate) fn running_counts(&self, enable: FieldRef) -> (usize, bool) {
        let registers = self.registers.borrow();
        let group = registers.consumer();
        (group, registers.group(group).flag(enable))
    }

    /// Tells that a layer begins.
    pub(crate) fn begin(&self, label: impl FnOnce() -> String, group: usize) {
        if self.sim.is_observed(Kinds::WORK) {
            self.sim.report(self.source, What::Begin { label: &label(), id: group as u64 });
        }
    }

    /// Tells that it is over.
    pub(crate) fn end(&self, label: impl FnOnce() -> String, group: usize) {
        if self.sim.is_observed(Kinds::WORK) {
            self.sim.report(self.source, What::End { label: &label(), id: group as u64 });
        }
    }

    /// Tells of what happens once in a layer.
    pub(crate) fn warn(&self, text: impl fmt::Display) {
        if self.sim.is_observed(Kinds::WARNINGS) {
            self.sim.report(self.source, What::Warning(Warning::Once(&text.to_string())));
        }
    }

    /// Tells that a layer is refused.
    pub(crate) fn refuse(&self, refused: &Refused) {
        let marks = WarningMarks { refused: true, lacking: refused.lacking };
        self.warn_marked(marks, format_args!("layer refused: {refused}"));
    }

    /// Tells that a layer, which is run nevertheless, asks for what the configuration lacks.
    pub(crate) fn warn_of_lack(&self, text: impl fmt::Display) {
        self.warn_marked(WarningMarks { refused: false, lacking: true }, text);
    }

    fn warn_marked(&self, marks: WarningMarks, text: impl fmt::Display) {
        if self.sim.is_observed(Kinds::WARNINGS) {
            self.sim.report(self.source, What::Warning(Warning::Marked { marks, text: &text.to_string() }));
        }
    }

    /// Tells of what may happen many times in a layer; `cause` is the same each time.
    pub(crate) fn warn_again(&self, cause: &str, text: impl fmt::Display) {
        if self.sim.is_observed(Kinds::WARNINGS) {
            let text = &text.to_string();
            self.sim.report(self.source, What::Warning(Warning::Repeated { cause, text }));
        }
    }
}

impl Control {
    pub(crate) fn checkpoint(&self, at: &mut Checkpoint<'_>) -> Result<(), CheckpointError> {
        // Of a unit at rest it only matters for what begins later: all units begin at 0.
        let Control {
            sim: _,
            name,
            source: _,
            registers,
            unread: _,
            enabled: _,
            enabled_at,
            taken,
            ended: _,
        } = self;
        at.part(name)?;
        registers.borrow_mut().checkpoint(at)?;
        at.at_rest(taken.iter().all(|taken| !taken.get()), "a layer is under way")?;
        enabled_at.iter().try_for_each(|enabled_at| at.cell(enabled_at))
    }
}
