//! Execution of the commands.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use vp_client::native::counters::{count, text};
use vp_client::native::{
    Accesses, BreakOn, Breakpoint, Capabilities, CounterValue, DebugCommand, DebugEvent, Hit, PortId,
    PortKind, Range, Reply, Request, RequestId, SessionId, SetBreakpoint, StopReport, StopWhy,
};
use vp_client::{Client, Error, Handler};
use vp_core::Time;
use vp_models::backlog::{Backlog, warnings_left_out};
use vp_models::platform::DeviceRegisters;
use vp_transport::Address;

use super::super::live::{self, WhichArgs};
use super::super::{Failure, text as show};
use super::command::{self, Break, Command, On};
use super::complete::Names;
use super::take_interrupt;
use super::whereabouts::{Whereabouts, unfinished};
use crate::cli::out;

/// Interval at which it is looked whether Ctrl-C was pressed.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of memory that are shown, at most.
const MOST_SHOWN: u64 = 64 << 10;

/// Of each kind of what the server tells so many are kept until the next command: the latest.
const MOST_NOTICES: usize = 64;

/// Notices of the server.
pub(super) struct Notices {
    stops: Backlog<StopReport>,
    warnings: Backlog<String>,
}

impl Default for Notices {
    fn default() -> Self {
        Self { stops: Backlog::of(MOST_NOTICES), warnings: Backlog::of(MOST_NOTICES) }
    }
}

impl Notices {
    /// Returns what a person is told of after a command, in lines.
    fn take_warnings(&mut self) -> Vec<String> {
        let (left_out, warnings) = self.warnings.take();
        let left_out = (left_out > 0).then(|| warnings_left_out(left_out));
        let mut told: Vec<String> = left_out.into_iter().chain(warnings).collect();
        let stops = self.stops.take_left_out();
        if stops > 0 {
            let stops = show::counted(stops, "report");
            told.push(format!(
                "{stops} of a stop left out: the server told of more than {MOST_NOTICES} at once"
            ));
        }
        told
    }
}

impl Handler for Notices {
    fn stopped(&mut self, report: StopReport) {
        self.stops.push(report);
    }

    fn warning(&mut self, time: Time, text: String) {
        self.warnings.push(format!("{}: {text}", time));
    }
}

/// Action that follows a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Next,
    Quit,
}

/// A session that debugs.
pub(super) struct Debugger {
    session: Client<Notices>,
    registers: DeviceRegisters,
    port: PortId,
    timeout: Option<Duration>,
    interrupted: Arc<AtomicBool>,
}

impl Debugger {
    pub(super) fn open(
        address: &Address,
        which: &WhichArgs,
        timeout: Option<Duration>,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Debugger, Failure> {
        let platform = which.platform(address)?;
        let extra = Capabilities::DEBUGGING.union(Capabilities::WARNINGS);
        let mut session = which.open_with(address, Some(platform), extra, Notices::default())?;
        if !session.welcome().capabilities.contains(Capabilities::DEBUGGING) {
            let agent = &session.welcome().agent;
            return Err(Failure::new(format!("the server at {address}, {agent}, has no debugger")));
        }
        let (registers, port) = live::device_registers(&mut session)?;
        Ok(Debugger { session, registers, port, timeout, interrupted })
    }

    /// Returns true if the session has ended.
    pub(super) fn is_over(&self) -> bool {
        self.session.check().is_err()
    }

    /// Returns the names that may be completed.
    pub(super) fn names(&self) -> Names {
        let registers: Vec<String> = self.registers.all().iter().map(ToString::to_string).collect();
        let mut units: Vec<String> =
            self.registers.all().iter().map(|register| register.unit.to_owned()).collect();
        units.dedup();
        Names { registers, units, memories: self.memories().map(|(_, name)| name.to_owned()).collect() }
    }

    fn memories(&self) -> impl Iterator<Item = (PortId, &str)> {
        let memories = self.session.ports().filter(|(_, port)| port.kind == PortKind::Axi);
        memories.map(|(id, port)| (id, port.name.as_str()))
    }

    fn memory(&self, name: &str) -> Result<PortId, Failure> {
        let found = self.memories().find(|(_, of)| *of == name);
        found.map(|(id, _)| id).ok_or_else(|| {
            let names: Vec<&str> = self.memories().map(|(_, name)| name).collect();
            Failure::new(format!("no memory `{name}`: the platform has {}", names.join(", ")))
        })
    }

    /// Returns what the debugger says first.
    pub(super) fn greeting(&mut self) -> Result<String, Failure> {
        let welcome = self.session.welcome();
        let (platform, session) = (welcome.platform.clone(), welcome.session);
        let state = self.session.debug_state().map_err(Failure::new)?;
        let how = state.stopped.map_or_else(|| "runs".to_owned(), |report| self.stop_line(&report));
        Ok(format!("platform {platform}, session {}: {how}; `help` lists commands\n", session.0))
    }

    /// Carries out a line.
    pub(super) fn carry_out(&mut self, line: &str, out: &mut impl Write) -> Result<After, Failure> {
        let Some(command) = command::parse(line).map_err(Failure::new)? else { return Ok(After::Next) };
        let done = self.execute(command, out);
        for warning in self.session.handler_mut().take_warnings() {
            out::eprintln!("{} {warning}", show::styled(show::YELLOW, "warning:"));
        }
        out.flush()?;
        done
    }

    fn execute(&mut self, command: Command, out: &mut impl Write) -> Result<After, Failure> {
        match command {
            Command::Help(name) => write!(out, "{}", command::help(name.as_deref()).map_err(Failure::new)?)?,
            Command::Status => self.status(out)?,
            Command::Registers(pattern) => self.show_registers(pattern.as_deref(), out)?,
            Command::Set(text) => self.set(&text, out)?,
            Command::Memory { port, address, length } => self.show_memory(&port, address, length, out)?,
            Command::Units => self.units(out)?,
            Command::Break(set) => self.set_breakpoint(set, out)?,
            Command::Delete(number) => self.delete(number)?,
            Command::Breaks => self.breakpoints(out)?,
            Command::Stop => {
                let report = self.stop()?;
                writeln!(out, "{}", self.stop_line(&report))?;
            }
            Command::Continue(until) => self.go_on(until, out)?,
            Command::Wait => {
                let state = self.session.debug_state().map_err(Failure::new)?;
                let report = match state.stopped {
                    Some(report) => report,
                    None => self.wait(None)?,
                };
                writeln!(out, "{}", self.stop_line(&report))?;
            }
            Command::Step(by, count) => {
                self.session.handler_mut().stops.clear();
                let request = Request::Debug { command: DebugCommand::Step { by, count } };
                let id = self.session.send(request, &[]).map_err(Failure::new)?;
                let report = self.wait(Some(id))?;
                writeln!(out, "{}", self.stop_line(&report))?;
            }
            Command::Where => {
                Whereabouts::of(&mut self.session, &self.registers, self.port)?.write(out)?;
            }
            Command::Quit => return Ok(After::Quit),
        }
        Ok(After::Next)
    }

    // Time.

    fn stop(&mut self) -> Result<StopReport, Failure> {
        let report = self.session.debug_stop().map_err(Failure::new)?;
        self.session.handler_mut().stops.clear();
        Ok(report)
    }

    fn go_on(&mut self, until: Option<Time>, out: &mut impl Write) -> Result<(), Failure> {
        let until = match until {
            None => None,
            Some(time) => {
                let on = BreakOn::Time(time);
                let once = Breakpoint { on, skip: 0, once: true };
                Some(self.session.debug_break(once).map_err(Failure::new)?)
            }
        };
        self.session.handler_mut().stops.clear();
        self.session.debug_continue().map_err(Failure::new)?;
        let state = self.session.debug_state().map_err(Failure::new)?;
        if state.breakpoints.is_empty() && state.stopped.is_none() && until.is_none() {
            writeln!(out, "time goes on; there is no breakpoint to wait for")?;
            return Ok(());
        }
        let waited = self.wait(None);
        if let Some(number) = until {
            // It goes by itself when it is hit.
            let _ = self.session.debug_clear(number);
        }
        let report = waited?;
        writeln!(out, "{}", self.stop_line(&report))?;
        Ok(())
    }

    /// Waits until time stands: for the answer to a step, or for a stop. Ctrl-C has it stand at once.
    fn wait(&mut self, step: Option<RequestId>) -> Result<StopReport, Failure> {
        let began = Instant::now();
        loop {
            let told = self.session.wait(Some(LOOK), |session| match step {
                Some(id) => session.take_answer(id).map(|answer| match answer.reply {
                    Reply::Stopped(report) => Ok(*report),
                    Reply::Failed { code, reason } => Err(Error::Refused { code, reason }),
                    other => Err(Error::Unfit(other.name())),
                }),
                None => session.handler_mut().stops.pop().map(Ok),
            });
            if let Some(report) = told.map_err(Failure::new)? {
                return report.map_err(Failure::new);
            }
            let is_late = self.timeout.is_some_and(|timeout| began.elapsed() >= timeout);
            if !is_late && !take_interrupt(&self.interrupted) {
                continue;
            }
            let report = self.stop()?;
            // A step that this has ended.
            let _ = step.and_then(|id| self.session.take_answer(id));
            if !is_late || report.why != StopWhy::Asked {
                return Ok(report);
            }
            let waited = began.elapsed().as_secs_f64();
            let time = report.time;
            return Err(Failure::new(format!(
                "nothing has stopped time within {waited:.0} s: it is {time}, and stands now"
            ))
            .hint("in lockstep time moves only for what other sessions ask"));
        }
    }

    /// Report of a stop, in a line.
    fn stop_line(&self, report: &StopReport) -> String {
        let StopReport { by, time, why, hits } = report;
        let mut text = format!("stopped at {}", time);
        match *by {
            // Time stands from the beginning on: `vp serve --stopped`.
            SessionId(0) => {}
            by if by == self.session.welcome().session => {}
            by => text += &format!(" by session {}", by.0),
        }
        let what: Vec<String> = hits.iter().map(|hit| self.hit(hit, *time)).collect();
        match (what.is_empty(), why) {
            (true, StopWhy::Stepped) => text += ": step",
            (true, _) => {}
            (false, _) => text += &format!(": {}", what.join("; ")),
        }
        text
    }

    fn hit(&self, hit: &Hit, stopped: Time) -> String {
        let what = match &hit.seen {
            DebugEvent::Register { write, address, value } => {
                let how = if *write { "written" } else { "read" };
                format!("{} {how}, {value:#x}", self.register_name(*address))
            }
            DebugEvent::Interrupt => "the interrupt line is high".to_owned(),
            DebugEvent::Layer { end, unit, number, label } => {
                let how = if *end { "has ended" } else { "has begun" };
                format!("{unit} {how} {label}, number {number}")
            }
            DebugEvent::Burst { port, write, id, address, bytes } => {
                let how = if *write { "write" } else { "read" };
                let name = self.session.port(*port).map_or("?", |port| &port.name);
                format!("{how} of {bytes} bytes at {address:#x} of {name}, id {id}")
            }
            DebugEvent::Time => "time".to_owned(),
        };
        let when = match hit.time == stopped {
            true => String::new(),
            false => format!(" at {}", hit.time),
        };
        match hit.breakpoint {
            Some(number) => format!("{what}{when} (breakpoint {number})"),
            None => format!("{what}{when}"),
        }
    }

    fn register_name(&self, address: u64) -> String {
        let named = u32::try_from(address).ok().and_then(|address| self.registers.at(address));
        named.map_or_else(|| format!("{address:#x}"), |named| named.to_string())
    }

    // Breakpoints.

    fn set_breakpoint(&mut self, set: Break, out: &mut impl Write) -> Result<(), Failure> {
        let Break { on, skip, once } = set;
        let on = match on {
            On::Register { name, access, value } => {
                let address =
                    self.registers.matching(Some(&name)).map_err(Failure::new).and_then(|found| {
                        let exact = self
                            .registers
                            .named(&name)
                            .ok()
                            .or_else(|| found.first().copied().filter(|_| found.len() == 1));
                        exact.ok_or_else(|| {
                            let names: Vec<String> = found.iter().take(4).map(ToString::to_string).collect();
                            Failure::new(format!(
                                "`{name}` is part of {} names: {}, …",
                                found.len(),
                                names.join(", ")
                            ))
                        })
                    })?;
                BreakOn::Register { address: address.address.into(), access, value }
            }
            On::Interrupt => BreakOn::Interrupt,
            On::Layer { unit, end } => {
                self.check_unit(&unit)?;
                BreakOn::Layer { unit, end }
            }
            On::Memory { port, address, length, access } => BreakOn::Memory {
                port: self.memory(&port)?,
                range: Range { base: address, size: length },
                access,
            },
            On::Time(time) => BreakOn::Time(time),
        };
        let breakpoint = Breakpoint { on, skip, once };
        let shown = self.breakpoint_text(&breakpoint);
        let number = self.session.debug_break(breakpoint).map_err(Failure::new)?;
        writeln!(out, "breakpoint {number}: {shown}")?;
        Ok(())
    }

    /// A unit that the device has not never begins a layer.
    fn check_unit(&self, unit: &str) -> Result<(), Failure> {
        let mut units: Vec<String> =
            self.registers.all().iter().map(|register| register.unit.to_lowercase()).collect();
        units.dedup();
        // A device without units by name does jobs.
        if unit.is_empty() || units.len() < 2 || units.iter().any(|of| of == unit) {
            return Ok(());
        }
        Err(Failure::new(format!("no unit `{unit}`: the device has {}", units.join(", "))))
    }

    fn breakpoint_text(&self, breakpoint: &Breakpoint) -> String {
        let access = |access: Accesses| match access {
            Accesses::Read => "read of ",
            Accesses::Write => "write of ",
            Accesses::Any => "access to ",
        };
        let mut text = match &breakpoint.on {
            BreakOn::Register { address, access: how, value } => {
                let value = value.map_or_else(String::new, |value| format!(" with {value:#x}"));
                format!("{}{}{value}", access(*how), self.register_name(*address))
            }
            BreakOn::Interrupt => "interrupt".to_owned(),
            BreakOn::Layer { unit, end } => {
                let unit = if unit.is_empty() { "any unit" } else { unit };
                format!("{} of a layer of {unit}", if *end { "end" } else { "beginning" })
            }
            BreakOn::Memory { port, range: Range { base, size }, access: how } => {
                let name = self.session.port(*port).map_or("?", |port| &port.name);
                format!("{}{size} bytes at {base:#x} of {name}", access(*how))
            }
            BreakOn::Time(time) => format!("time {time}"),
        };
        if breakpoint.skip > 0 {
            text += &format!(", after {}", show::counted(breakpoint.skip.into(), "time"));
        }
        if breakpoint.once {
            text += ", once";
        }
        text
    }

    fn breakpoints(&mut self, out: &mut impl Write) -> Result<(), Failure> {
        let state = self.session.debug_state().map_err(Failure::new)?;
        if state.breakpoints.is_empty() {
            writeln!(out, "no breakpoints")?;
        }
        let own: SessionId = self.session.welcome().session;
        for SetBreakpoint { number, by, breakpoint, hits } in &state.breakpoints {
            let whose = if *by == own { String::new() } else { format!(", session {}'s", by.0) };
            let hits = show::counted((*hits).into(), "hit");
            writeln!(out, "{number:>3}  {:>8}  {}{whose}", hits, self.breakpoint_text(breakpoint))?;
        }
        Ok(())
    }

    fn delete(&mut self, number: Option<u32>) -> Result<(), Failure> {
        if let Some(number) = number {
            return self.session.debug_clear(number).map_err(Failure::new);
        }
        let state = self.session.debug_state().map_err(Failure::new)?;
        let own = self.session.welcome().session;
        for set in state.breakpoints.iter().filter(|set| set.by == own) {
            self.session.debug_clear(set.number).map_err(Failure::new)?;
        }
        Ok(())
    }

    // Looking.

    fn show_registers(&mut self, pattern: Option<&str>, out: &mut impl Write) -> Result<(), Failure> {
        let found = self.registers.matching(pattern).map_err(Failure::new)?;
        let held = live::registers::peek(&mut self.session, self.port, &found)?;
        let shown = live::registers::Shown { brief: false, all: false, json: false };
        live::registers::show(out, &self.registers, &held, pattern.is_some(), shown)
    }

    fn set(&mut self, text: &str, out: &mut impl Write) -> Result<(), Failure> {
        let assignment = self.registers.assignment(text).map_err(Failure::new)?;
        let address = assignment.register.address.into();
        let present = match assignment.keeps_bits() {
            true => {
                let words = self.session.peek_registers(self.port, address, 1, None).map_err(Failure::new)?;
                words.first().copied().unwrap_or(0)
            }
            false => 0,
        };
        let word = assignment.word(self.registers.family(), present);
        self.session.poke_register(self.port, address, word).map_err(Failure::new)?;
        writeln!(out, "{} = {word:#x}", assignment.register)?;
        Ok(())
    }

    fn show_memory(
        &mut self,
        port: &str,
        address: u64,
        length: u64,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        let port = self.memory(port)?;
        if !(1..=MOST_SHOWN).contains(&length) {
            return Err(Failure::new(format!("{length} bytes: 1 to {MOST_SHOWN} are shown at once")));
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        self.session.read_memory(port, address, &mut bytes).map_err(Failure::new)?;
        Ok(live::memory::write_dump(out, address, &bytes)?)
    }

    fn status(&mut self, out: &mut impl Write) -> Result<(), Failure> {
        let standing = self.session.inspect().map_err(Failure::new)?;
        let said = |name: &str| text(&standing, name).unwrap_or("?");
        let time = Time::ps(count(&standing, "time").unwrap_or(0));
        let stopped = text(&standing, "stopped").map_or_else(String::new, |by| format!(", stopped by {by}"));
        writeln!(
            out,
            "platform  {}, {}, {}{stopped}",
            said("platform"),
            said("time.mode"),
            live::activity(&standing)
        )?;
        writeln!(out, "time      {time}")?;
        for counter in &standing {
            let Some(number) = counter.name.strip_prefix("session.").filter(|name| !name.contains('.'))
            else {
                continue;
            };
            let of = |what: &str| text(&standing, &format!("session.{number}.{what}"));
            let agent = of("agent").unwrap_or("another protocol");
            let waits = of("waits")
                .map(|waits| format!(": waits for {waits}"))
                .or_else(|| of("observer").map(|observer| format!(": {observer}")));
            writeln!(out, "session   {number}, {agent}{}", waits.unwrap_or_default())?;
        }
        let level = count(&standing, "line.irq0").unwrap_or(0);
        writeln!(out, "line      irq0 {}", live::line(&standing, level))?;
        Ok(())
    }

    fn units(&mut self, out: &mut impl Write) -> Result<(), Failure> {
        let standing = self.session.inspect().map_err(Failure::new)?;
        for counter in &standing {
            if let (Some(unit), CounterValue::Text(state)) =
                (counter.name.strip_prefix("unit."), &counter.value)
            {
                writeln!(out, "{unit:<9} {state}")?;
            }
        }
        let unfinished = unfinished(&standing);
        if unfinished.is_empty() {
            writeln!(out, "nothing is unfinished")?;
        }
        for phrase in unfinished {
            writeln!(out, "{phrase}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_the_server_tells_the_latest_is_kept_and_the_rest_is_counted() {
        let mut notices = Notices::default();
        for time in 0..100 {
            notices.warning(Time::ps(time), format!("warning {time}"));
            let (by, why) = (SessionId(1), StopWhy::Asked);
            notices.stopped(StopReport { by, time: Time::ps(time), why, hits: Vec::new() });
        }
        let told = notices.take_warnings();
        assert_eq!(told.len(), 1 + MOST_NOTICES + 1);
        assert_eq!(told[0], "36 warnings before these left out: nobody asked for them");
        assert!(told[1].ends_with("warning 36") && told[MOST_NOTICES].ends_with("warning 99"), "{told:?}");
        assert!(told[MOST_NOTICES + 1].starts_with("36 reports of a stop left out"), "{told:?}");
        assert_eq!(notices.stops.pop().map(|report| report.time), Some(Time::ps(36)));
        assert_eq!(notices.take_warnings(), Vec::<String>::new());
    }
}
