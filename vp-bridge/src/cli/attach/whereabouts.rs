//! Places at which the driver and the device wait, and what they wait for: `vp where`, and `where` at the debugger's prompt.
//!
//! What is known is what the platform has seen of the CPU, its register accesses, and what the device says of itself. From both
//! follows in most cases who waits for whom.

use std::io::{self, Write};

use vp_client::native::counters::{count, text};
use vp_client::native::{Counter, PortId};
use vp_client::{Client, Handler};
use vp_core::Time;
use vp_models::platform::DeviceRegisters;

use super::super::{Failure, Verdict, live};
use crate::cli::out;

/// Reads of one register behind each other that are a loop.
const POLLS: usize = 3;
/// Accesses that are shown.
const SHOWN: usize = 8;

#[derive(Debug, clap::Args)]
pub(in super::super) struct Args {
    #[command(flatten)]
    look: live::LookArgs,
}

pub(in super::super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let mut look = args.look.which.look(&args.look.connect)?;
    let (registers, port) = live::device_registers(&mut look)?;
    let seen = Whereabouts::of(&mut look, &registers, port)?;
    seen.write(&mut out::stdout())?;
    Ok(Verdict::Right)
}

/// A register access of the CPU's.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Accessed {
    time: Time,
    write: bool,
    register: String,
    value: u32,
}

impl Accessed {
    /// From the platform's words: `1200 write 0xb038 0x1`.
    fn parse(text: &str, registers: &DeviceRegisters) -> Option<Accessed> {
        let mut words = text.split(' ');
        let time = Time::ps(words.next()?.parse().ok()?);
        let write = words.next()? == "write";
        let mut number = || u32::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
        let (address, value) = (number()?, number()?);
        let register =
            registers.at(address).map_or_else(|| format!("{address:#x}"), |named| named.to_string());
        Some(Accessed { time, write, register, value })
    }
}

/// State of driver and device, as far as it is known.
#[derive(Debug, Clone, Default)]
pub(super) struct Whereabouts {
    now: Time,
    is_high: bool,
    /// Time since which the line is as it is.
    since: Time,
    /// Pending interrupts, ends that have not been cleared: the name in the status register, and whether it is masked.
    pending: Vec<(String, bool)>,
    /// Register groups that are the hardware's.
    enabled: Vec<(String, usize)>,
    /// The last accesses, oldest first.
    accesses: Vec<Accessed>,
    /// Phrases on what the device has begun or was asked for, and who waits for what.
    unfinished: Vec<String>,
    /// Phrase on what a fault does to the line.
    fault: Option<String>,
    /// Phrase on what the platform waits for, if that is the CPU's to do.
    awaits: Option<String>,
    /// True if nothing can happen any more.
    is_stuck: bool,
    /// The registers in which a driver finds what interrupts, and masks it.
    interrupt_registers: [String; 2],
    /// True if a debugger has time stand.
    is_stopped: bool,
}

impl Whereabouts {
    /// Looks, which changes nothing.
    pub(super) fn of<H: Handler>(
        look: &mut Client<H>,
        registers: &DeviceRegisters,
        port: PortId,
    ) -> Result<Whereabouts, Failure> {
        let standing: Vec<Counter> = look.inspect().map_err(Failure::new)?;
        let time = |name: &str| Time::ps(count(&standing, name).unwrap_or(0));
        let accesses = (0..).map_while(|index| text(&standing, &format!("access.{index}")));
        let mut seen = Whereabouts {
            now: time("time"),
            is_high: count(&standing, "line.irq0").unwrap_or(0) > 0,
            since: time("irq.since"),
            accesses: accesses.filter_map(|text| Accessed::parse(text, registers)).collect(),
            unfinished: unfinished(&standing),
            is_stuck: text(&standing, "activity") == Some("deadlocked"),
            is_stopped: text(&standing, "stopped").is_some(),
            pending: pending(&standing),
            fault: text(&standing, "irq.fault").map(str::to_owned),
            awaits: text(&standing, "awaits").map(str::to_owned),
            interrupt_registers: interrupt_registers(registers),
            enabled: Vec::new(),
        };
        let mut peek = |address: u32, group| -> Option<u32> {
            look.peek_registers(port, address.into(), 1, group).ok()?.first().copied()
        };
        for register in registers.all().iter().filter(|register| register.name == "D_OP_ENABLE") {
            for group in 0..2 {
                if peek(register.address, Some(group)).is_some_and(|word| word & 1 == 1) {
                    seen.enabled.push((register.unit.to_owned(), usize::from(group)));
                }
            }
        }
        Ok(seen)
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let ago = |time: Time| self.now.since(time);
        let stopped = if self.is_stopped { ", stopped by a debugger" } else { "" };
        writeln!(out, "time      {}{stopped}", self.now)?;
        let level = if self.is_high { "high" } else { "low" };
        writeln!(out, "line      irq0 {level} since {}, for {}", self.since, ago(self.since))?;
        if !self.pending.is_empty() {
            let names: Vec<String> = (self.pending.iter())
                .map(|(name, is_masked)| if *is_masked { format!("{name} (masked)") } else { name.clone() })
                .collect();
            write_wrapped(out, "pending", &names.join(", "))?;
        }
        if !self.enabled.is_empty() {
            write_wrapped(out, "enabled", &self.groups())?;
        }
        let shown = &self.accesses[self.accesses.len().saturating_sub(SHOWN)..];
        for (index, Accessed { time, write, register, value }) in shown.iter().enumerate() {
            let label = if index == 0 { "accesses" } else { "" };
            let (how, ago) = (if *write { "write" } else { "read" }, ago(*time));
            writeln!(out, "{label:<9} {:>14} ago  {how:<5} {register} {value:#x}", ago.to_string())?;
        }
        let sentences = self.conclusions();
        for (label, texts) in [("device", &self.unfinished), ("so", &sentences)] {
            for (index, text) in texts.iter().enumerate() {
                write_wrapped(out, if index == 0 { label } else { "" }, text)?;
            }
        }
        Ok(())
    }

    /// `SDP group 0, SDP_RDMA group 0`
    fn groups(&self) -> String {
        let group = |(unit, group): &(String, usize)| format!("{unit} group {group}");
        self.enabled.iter().map(group).collect::<Vec<_>>().join(", ")
    }

    /// Returns what follows, a sentence each: of the driver, its interrupt, and the device.
    fn conclusions(&self) -> Vec<String> {
        let interrupt = self.of_interrupt();
        let polls = self.of_polls();
        let driver = polls.or_else(|| interrupt.is_none().then(|| self.of_driver()));
        [driver, interrupt, Some(self.of_device())].into_iter().flatten().collect()
    }

    fn of_device(&self) -> String {
        match (&self.awaits, self.enabled.is_empty() && self.unfinished.is_empty()) {
            (Some(awaits), _) => format!("The device waits for {awaits}."),
            (None, true) => "The device waits for the driver.".to_owned(),
            (None, false) if self.is_stuck => {
                "The device waits for what does not come by itself: see above.".to_owned()
            }
            (None, false) if self.is_stopped => "The device waits for time to go on.".to_owned(),
            (None, false) => "The device is at work.".to_owned(),
        }
    }

    fn of_polls(&self) -> Option<String> {
        let last = self.accesses.last()?;
        let is_same = |access: &&Accessed| !access.write && access.register == last.register;
        let polls = self.accesses.iter().rev().take_while(is_same).count();
        (polls >= POLLS)
            .then(|| format!("The driver polls {}, which reads {:#x}.", last.register, last.value))
    }

    /// Of the interrupt, if there is something to say.
    fn of_interrupt(&self) -> Option<String> {
        let names = |is_masked: bool| -> Option<String> {
            let names = self.pending.iter().filter(|pending| pending.1 == is_masked);
            let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let (since, [status, mask]) = (self.since, &self.interrupt_registers);
        let has_looked = self.accesses.iter().any(|it| it.time >= since && it.register == *status);
        match (self.is_high, &self.fault) {
            (_, Some(fault)) => {
                let level = if self.is_high { "high" } else { "low" };
                let pending = names(false).map_or_else(
                    || {
                        if self.is_high {
                            "Nothing is pending".to_owned()
                        } else {
                            "The device interrupts".to_owned()
                        }
                    },
                    |names| format!("{names} is pending and not masked"),
                );
                Some(format!("{pending}, and the line is {level}: {fault}."))
            }
            (true, None) if has_looked => Some(format!(
                "The interrupt is high since {since}: the driver has looked at {status}, and cleared less than is there."
            )),
            (true, None) => Some(format!(
                "The interrupt is high since {since}, and the driver has not looked at {status}: its CPU does not take it."
            )),
            (false, None) => names(true)
                .map(|names| format!("{names} has ended and is masked in {mask}: the driver is not told.")),
        }
    }

    fn of_driver(&self) -> String {
        let Some(last) = self.accesses.last() else {
            return "The driver has not accessed a register: it has not found the device, or does not run."
                .to_owned();
        };
        let ago = self.now.since(last.time);
        match (self.enabled.is_empty(), self.unfinished.is_empty()) {
            (false, _) => format!(
                "The driver has enabled {} and waits for the interrupt; its last access was {ago} ago.",
                self.groups()
            ),
            (true, false) => format!("The driver waits for the interrupt; its last access was {ago} ago."),
            (true, true) => format!(
                "Nothing is enabled and nothing is pending; the driver's last access, {} {}, was {ago} ago.",
                if last.write { "a write of" } else { "a read of" },
                last.register
            ),
        }
    }
}

/// Returns the pending interrupts, ends that have not been cleared, from the platform's words:
/// `SDP_DONE_STATUS0, PDP_DONE_STATUS1 (masked)`.
fn pending(standing: &[Counter]) -> Vec<(String, bool)> {
    let names = text(standing, "irq.pending").unwrap_or_default().split(", ");
    let names = names.filter(|name| !name.is_empty());
    let parse = |name: &str| match name.strip_suffix(" (masked)") {
        Some(name) => (name.to_owned(), true),
        None => (name.to_owned(), false),
    };
    names.map(parse).collect()
}

/// The names of the device's registers of pending and of masked interrupts.
fn interrupt_registers(registers: &DeviceRegisters) -> [String; 2] {
    let name = |name: &str| registers.named(name).ok().map(|register| register.to_string());
    let pair = |[status, mask]: [&str; 2]| Some([name(status)?, name(mask)?]);
    let known = [["GLB.S_INTR_STATUS", "GLB.S_INTR_MASK"], ["INTERRUPT_CONTROL", "INTERRUPT_MASK"]];
    known.into_iter().find_map(pair).unwrap_or_else(|| ["its status".to_owned(), "its mask".to_owned()])
}

/// Returns what is begun or asked for and not done, and who waits for what, a phrase each.
pub(super) fn unfinished(standing: &[Counter]) -> Vec<String> {
    let Some(phrases) = text(standing, "unfinished") else { return Vec::new() };
    let is_stuck = text(standing, "activity") == Some("deadlocked");
    let phrase = |phrase: &str| match phrase.strip_suffix("for nothing that could come") {
        // The report is one of rest, where no time comes any more.
        Some(who) if !is_stuck => format!("{who}for its time"),
        _ => phrase.to_owned(),
    };
    phrases.split("; ").map(phrase).collect()
}

/// Writes a text behind a label, in lines that a terminal of 80 columns has.
fn write_wrapped(out: &mut impl Write, label: &str, text: &str) -> io::Result<()> {
    const COLUMNS: usize = crate::cli::text::COLUMNS as usize;
    let mut line = format!("{label:<9}");
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            writeln!(out, "{line}")?;
            line = " ".repeat(9);
        }
        line = format!("{line} {word}");
        is_empty = false;
    }
    writeln!(out, "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use vp_client::native::CounterValue;
    use vp_models::platform::Description;

    fn access(time: u64, write: bool, register: &str, value: u32) -> Accessed {
        Accessed { time: Time::us(time), write, register: register.to_owned(), value }
    }

    fn seen(accesses: Vec<Accessed>) -> Whereabouts {
        let interrupt_registers = ["GLB.S_INTR_STATUS", "GLB.S_INTR_MASK"].map(str::to_owned);
        Whereabouts { now: Time::us(10), accesses, interrupt_registers, ..Whereabouts::default() }
    }

    #[test]
    fn an_access_reads_as_the_platform_writes_it() {
        let registers = DeviceRegisters::of(&Description::named("nv_small").unwrap());
        let enable = registers.named("SDP.D_OP_ENABLE").unwrap().address;
        let text = format!("{} write {enable:#x} 0x1", Time::us(3).as_ps());
        assert_eq!(Accessed::parse(&text, &registers), Some(access(3, true, "SDP.D_OP_ENABLE", 1)));
        assert_eq!(Accessed::parse("1 read 0x3fffc 0x0", &registers).unwrap().register, "0x3fffc");
        assert_eq!(Accessed::parse("soon", &registers), None);
    }

    #[test]
    fn the_driver_that_has_enabled_a_group_waits_for_its_interrupt() {
        let mut seen = seen(vec![access(8, true, "SDP.D_OP_ENABLE", 1)]);
        seen.enabled = vec![("SDP".into(), 0)];
        seen.unfinished = vec!["sdp is enabled (group 0) and has not begun".into()];
        let expected =
            "The driver has enabled SDP group 0 and waits for the interrupt; its last access was 2 µs ago.";
        assert_eq!(seen.conclusions(), [expected, "The device is at work."]);
        seen.is_stuck = true;
        assert!(seen.conclusions()[1].contains("does not come by itself"));
        (seen.is_stuck, seen.is_stopped) = (false, true);
        assert!(seen.conclusions()[1].contains("time to go on"));
        (seen.is_stopped, seen.awaits) = (false, Some("the CPU to enable CACC".into()));
        assert_eq!(seen.conclusions(), [expected, "The device waits for the CPU to enable CACC."]);
    }

    #[test]
    fn a_fault_at_the_line_is_told_with_what_is_pending_behind_it() {
        let mut seen = seen(vec![access(3, true, "PDP.D_OP_ENABLE", 1)]);
        seen.pending = vec![("PDP_DONE_STATUS0".into(), false)];
        seen.fault = Some("a fault took the interrupt".into());
        seen.awaits = Some("the CPU to clear PDP_DONE_STATUS0, of which it is not told".into());
        assert_eq!(
            seen.conclusions(),
            [
                "PDP_DONE_STATUS0 is pending and not masked, and the line is low: a fault took the interrupt.",
                "The device waits for the CPU to clear PDP_DONE_STATUS0, of which it is not told."
            ]
        );
        // A driver that polls is told too.
        seen.accesses = vec![access(7, false, "PDP.S_STATUS", 0); 3];
        assert!(seen.conclusions()[0].starts_with("The driver polls PDP.S_STATUS"));
        assert!(seen.conclusions()[1].contains("the line is low: a fault took the interrupt"));
        (seen.pending, seen.awaits, seen.is_high) = (Vec::new(), None, true);
        seen.fault = Some("a fault holds the line high".into());
        let spurious = "Nothing is pending, and the line is high: a fault holds the line high.";
        assert_eq!(seen.of_interrupt().as_deref(), Some(spurious));
    }

    #[test]
    fn what_is_pending_is_read_as_the_platform_writes_it() {
        let value = CounterValue::Text("SDP_DONE_STATUS0, PDP_DONE_STATUS1 (masked)".into());
        let counter = Counter { name: "irq.pending".into(), unit: String::new(), value };
        let expected = [("SDP_DONE_STATUS0".to_owned(), false), ("PDP_DONE_STATUS1".to_owned(), true)];
        assert_eq!(pending(&[counter]), expected);
        assert!(pending(&[]).is_empty());
    }

    #[test]
    fn an_interrupt_that_nobody_serves_is_told_from_one_that_is_not_cleared_and_from_a_masked_one() {
        let mut seen = seen(vec![access(3, true, "SDP.D_OP_ENABLE", 1)]);
        (seen.is_high, seen.since) = (true, Time::us(5));
        seen.pending = vec![("SDP_DONE_STATUS0".into(), false)];
        assert!(
            seen.of_interrupt().unwrap().contains("high since 5 µs, and the driver has not looked"),
            "{seen:?}"
        );
        seen.accesses.push(access(6, false, "GLB.S_INTR_STATUS", 1));
        assert!(seen.of_interrupt().unwrap().contains("cleared less than is there"), "{seen:?}");
        seen.is_high = false;
        seen.pending[0].1 = true;
        assert!(
            seen.of_interrupt().unwrap().starts_with("SDP_DONE_STATUS0 has ended and is masked"),
            "{seen:?}"
        );
    }

    #[test]
    fn a_driver_that_polls_or_does_nothing_is_said_to() {
        let polls = vec![access(7, false, "CDMA.S_CBUF_FLUSH_STATUS", 0); 3];
        let polling = seen(polls).of_polls().unwrap();
        assert_eq!(polling, "The driver polls CDMA.S_CBUF_FLUSH_STATUS, which reads 0x0.");
        assert!(seen(vec![]).of_driver().starts_with("The driver has not accessed a register"));
        let idle = seen(vec![access(4, true, "GLB.S_INTR_STATUS", 1)]);
        assert!(
            idle.of_driver().ends_with("a write of GLB.S_INTR_STATUS, was 6 µs ago."),
            "{}",
            idle.of_driver()
        );
        assert_eq!(idle.conclusions()[1], "The device waits for the driver.");
    }

    #[test]
    fn all_that_is_known_is_aligned() {
        let mut seen = seen(vec![access(8, true, "SDP.D_OP_ENABLE", 1)]);
        seen.enabled = vec![("SDP".into(), 0)];
        seen.pending = vec![("PDP_DONE_STATUS0".into(), true)];
        let mut shown = Vec::new();
        seen.write(&mut shown).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        for line in [
            "line      irq0 low since 0 s, for 10 µs",
            "pending   PDP_DONE_STATUS0 (masked)",
            "enabled   SDP group 0",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{shown}");
        }
        assert!(shown.contains("accesses            2 µs ago  write SDP.D_OP_ENABLE 0x1"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        assert!(shown.contains("GLB.S_INTR_MASK: the\n          driver is not told."), "{shown}");
    }
}
