//! Commands as they are typed at the debugger's prompt: one line, one command.

use std::fmt;

use vp_client::native::{Accesses, StepBy};
use vp_core::Time;
use vp_models::suggestion::nearest;

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Help(Option<String>),
    Status,
    Registers(Option<String>),
    Set(String),
    Memory { port: String, address: u64, length: u64 },
    Units,
    Break(Break),
    Delete(Option<u32>),
    Breaks,
    Stop,
    Continue(Option<Time>),
    Wait,
    Step(StepBy, u32),
    Where,
    Quit,
}

/// A breakpoint, as it is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Break {
    pub(super) on: On,
    pub(super) skip: u32,
    pub(super) once: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum On {
    Register { name: String, access: Accesses, value: Option<u32> },
    Interrupt,
    Layer { unit: String, end: bool },
    Memory { port: String, address: u64, length: u64, access: Accesses },
    Time(Time),
}

/// A command's name, what follows it, and what it does.
pub(super) struct Described {
    pub(super) name: &'static str,
    pub(super) usage: &'static str,
    what: &'static str,
}

const fn described(name: &'static str, usage: &'static str, what: &'static str) -> Described {
    Described { name, usage, what }
}

/// All commands, as `help` lists them.
pub(super) const ALL: &[Described] = &[
    described("status", "", "sessions, units, the interrupt line, whether time is stopped"),
    described("where", "", "what the driver and the device wait for"),
    described("regs", "[NAME]", "registers with their fields: a unit, a part of a name, 0x…"),
    described("set", "REG[.FIELD]=VALUE", "write a register now, beside the bus"),
    described("mem", "PORT ADDRESS [LENGTH]", "bytes of a memory"),
    described("units", "", "each unit's state, and unfinished work"),
    described("break", "REG [read|write] [=VALUE]", "stop where a register is accessed"),
    described("", "irq", "stop where the interrupt line goes high"),
    described("", "layer [UNIT] [begin|end]", "stop where a unit begins or ends a layer"),
    described("", "mem PORT ADDRESS [LENGTH] [read|write]", "stop at a burst of the device"),
    described("", "time TIME", "stop at a time; options of each form: skip N, once"),
    described("breaks", "", "list the breakpoints"),
    described("delete", "[NUMBER]", "remove a breakpoint, or all"),
    described("stop", "", "stop simulated time, as Ctrl-C does"),
    described("continue", "[until TIME]", "continue, and wait for a breakpoint if there is one"),
    described("wait", "", "wait until time is stopped"),
    described("step", "[cycle|event|layer|access] [N]", "continue for N (1) of these; default: event"),
    described("help", "[COMMAND]", "list the commands"),
    described("quit", "", "leave: breakpoints are removed, time continues"),
];

/// Letters that are enough.
const SHORT: &[(&str, &str)] = &[
    ("b", "break"),
    ("c", "continue"),
    ("d", "delete"),
    ("q", "quit"),
    ("s", "step"),
    ("w", "where"),
    ("exit", "quit"),
];

/// Returns the usage of each command: of all, or of those of one name.
pub(super) fn help(name: Option<&str>) -> Result<String, CommandError> {
    let name = name.map(full_name).transpose()?;
    let mut text = String::new();
    let mut is_shown = false;
    for Described { name: of, usage, what } in ALL {
        if !of.is_empty() {
            is_shown = name.is_none_or(|name| name == *of);
        }
        if is_shown {
            let call = format!("{of:<8} {usage}");
            match call.len() > 38 {
                true => text += &format!("{}\n{:38} {what}\n", call.trim_end(), ""),
                false => text += &format!("{call:<38} {what}\n"),
            }
        }
    }
    Ok(text)
}

/// Reason for which a line is no command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandError(String);

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn wrong<T>(why: impl Into<String>) -> Result<T, CommandError> {
    Err(CommandError(why.into()))
}

/// The name that is meant by a short form, or by a beginning that only one has.
fn full_name(word: &str) -> Result<&'static str, CommandError> {
    if let Some((_, name)) = SHORT.iter().find(|(short, _)| *short == word) {
        return Ok(name);
    }
    let names = || ALL.iter().map(|of| of.name).filter(|name| !name.is_empty());
    if let Some(name) = names().find(|name| *name == word) {
        return Ok(name);
    }
    let begun: Vec<&str> = names().filter(|name| name.starts_with(word)).collect();
    match begun[..] {
        [only] => Ok(only),
        [] => {
            let meant = nearest(word, names()).map(|near| format!(": did you mean `{near}`?"));
            wrong(format!("no command `{word}`{} `help` lists all", meant.as_deref().unwrap_or(";")))
        }
        _ => wrong(format!("`{word}` may be {}", begun.join(", "))),
    }
}

/// Words that are left of a line.
struct Words<'a> {
    command: &'static str,
    left: std::collections::VecDeque<&'a str>,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        self.left.pop_front()
    }

    /// The next word, which has to be there.
    fn need(&mut self, what: &str) -> Result<&'a str, CommandError> {
        self.next().map_or_else(|| wrong(format!("{}: {what} is missing{}", self.command, self.usage())), Ok)
    }

    /// Takes the next word if it is this one.
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.left.front().is_some_and(|next| *next == word);
        if is_next {
            self.left.pop_front();
        }
        is_next
    }

    /// Takes a time, whose unit may stand apart.
    fn time(&mut self) -> Result<Time, CommandError> {
        let mut text = self.need("a time, such as 12 us,")?.to_owned();
        if let Some(unit) = self.left.front().filter(|unit| unit.chars().all(char::is_alphabetic))
            && text.parse::<Time>().is_err()
        {
            text = format!("{text} {unit}");
            self.left.pop_front();
        }
        text.parse().or_else(|_| wrong(format!("`{text}` is no time: write 12 us, or 1500 ns")))
    }

    fn usage(&self) -> String {
        let lines = ALL.iter().skip_while(|of| of.name != self.command);
        let mut uses = lines.take(1).map(|of| of.usage);
        uses.next().map_or_else(String::new, |usage| format!(": {} {usage}", self.command))
    }

    fn end(&mut self) -> Result<(), CommandError> {
        match self.next() {
            None => Ok(()),
            Some(word) => wrong(format!("{}: `{word}` is too much{}", self.command, self.usage())),
        }
    }
}

fn number(text: &str) -> Result<u64, CommandError> {
    super::super::live::number(text).or_else(wrong)
}

fn small<T: TryFrom<u64>>(text: &str) -> Result<T, CommandError> {
    let number = number(text)?;
    T::try_from(number).or_else(|_| wrong(format!("{number} is too much")))
}

fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

/// Reads a line; `None`: there is nothing on it.
pub(super) fn parse(line: &str) -> Result<Option<Command>, CommandError> {
    let line = line.split('#').next().unwrap_or_default();
    let mut left: std::collections::VecDeque<&str> = line.split_whitespace().collect();
    let Some(first) = left.pop_front() else { return Ok(None) };
    let mut words = Words { command: full_name(first)?, left };
    let command = match words.command {
        "help" => Command::Help(words.next().map(str::to_owned)),
        "status" => Command::Status,
        "where" => Command::Where,
        "regs" => Command::Registers(words.next().map(str::to_owned)),
        "set" => {
            let text = words.left.drain(..).collect::<Vec<_>>().join(" ");
            match text.is_empty() {
                true => return wrong(format!("set: the register is missing{}", words.usage())),
                false => Command::Set(text),
            }
        }
        "mem" => Command::Memory {
            port: words.need("the memory's port")?.to_owned(),
            address: number(words.need("the address")?)?,
            length: words.next().map_or(Ok(64), number)?,
        },
        "units" => Command::Units,
        "break" => Command::Break(breakpoint(&mut words)?),
        "breaks" => Command::Breaks,
        "delete" => Command::Delete(match words.next() {
            None | Some("all") => None,
            Some(text) => Some(small(text)?),
        }),
        "stop" => Command::Stop,
        "continue" => Command::Continue(match words.take("until") {
            true => Some(words.time()?),
            false => None,
        }),
        "wait" => Command::Wait,
        "step" => {
            let by = match words.left.front().copied() {
                None => StepBy::Event,
                Some(text) if is_number(text) => StepBy::Event,
                Some(text) => {
                    words.next();
                    step_by(text)?
                }
            };
            Command::Step(by, words.next().map_or(Ok(1), small)?)
        }
        _ => Command::Quit,
    };
    words.end()?;
    Ok(Some(command))
}

/// Units that a step may go by.
pub(super) const STEPS: &[(&str, StepBy)] = &[
    ("cycle", StepBy::Cycle),
    ("event", StepBy::Event),
    ("layer", StepBy::Layer),
    ("access", StepBy::Access),
];

fn step_by(text: &str) -> Result<StepBy, CommandError> {
    let singular = text.strip_suffix("es").filter(|text| text.ends_with("ss"));
    let singular = singular.or_else(|| text.strip_suffix('s').filter(|text| !text.ends_with('s')));
    let word = singular.unwrap_or(text);
    let found = STEPS.iter().find(|(name, _)| *name == word);
    found.map_or_else(
        || wrong(format!("no step by `{text}`: cycle, event, layer or access")),
        |(_, by)| Ok(*by),
    )
}

fn breakpoint(words: &mut Words<'_>) -> Result<Break, CommandError> {
    let access = |words: &mut Words<'_>| match (words.take("read"), words.take("write")) {
        (true, false) => Accesses::Read,
        (false, true) => Accesses::Write,
        _ => Accesses::Any,
    };
    let first = words.need("what to stop at")?;
    let on = match first {
        "irq" | "irq0" | "interrupt" => On::Interrupt,
        "layer" => {
            let is_unit =
                words.left.front().is_some_and(|word| !["begin", "end", "skip", "once"].contains(word));
            let unit = if is_unit { words.next().unwrap_or_default() } else { "" };
            let unit = unit.to_lowercase();
            let end = match (words.take("begin"), words.take("end")) {
                (true, _) => false,
                (false, _) => true,
            };
            On::Layer { unit, end }
        }
        "mem" => {
            let port = words.need("the memory's port")?.to_owned();
            let address = number(words.need("the address")?)?;
            let has_length = words.left.front().is_some_and(|word| is_number(word));
            let length = if has_length { number(words.need("the length")?)? } else { 1 };
            On::Memory { port, address, length, access: access(words) }
        }
        "time" => On::Time(words.time()?),
        name => {
            // `REG=1`, `REG = 1`, `REG =1`, with the kind of access before or behind.
            let (name, mut value) = match name.split_once('=') {
                Some((name, "")) => (name, Some(words.need("the value")?)),
                Some((name, value)) => (name, Some(value)),
                None => (name, None),
            };
            let mut how = access(words);
            if value.is_none()
                && let Some(text) = words.left.front().and_then(|word| word.strip_prefix('='))
            {
                words.next();
                value = Some(if text.is_empty() { words.need("the value")? } else { text });
            }
            if how == Accesses::Any {
                how = access(words);
            }
            let value = value.map(small).transpose()?;
            On::Register { name: name.to_owned(), access: how, value }
        }
    };
    let (mut skip, mut once) = (0, false);
    loop {
        if words.take("skip") {
            skip = small(words.need("how often it is passed over")?)?;
        } else if words.take("once") {
            once = true;
        } else {
            return Ok(Break { on, skip, once });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Command {
        parse(line).unwrap().unwrap()
    }

    fn refusal(line: &str) -> String {
        parse(line).unwrap_err().to_string()
    }

    fn on(line: &str) -> On {
        let Command::Break(Break { on, .. }) = read(line) else { panic!("{line}") };
        on
    }

    #[test]
    fn a_command_may_be_short() {
        assert_eq!(parse("  # nothing"), Ok(None));
        assert_eq!(read("c"), Command::Continue(None));
        assert_eq!(read("cont until 12 us"), Command::Continue(Some(Time::us(12))));
        assert_eq!(read("continue until 12us"), Command::Continue(Some(Time::us(12))));
        assert_eq!(read("s"), Command::Step(StepBy::Event, 1));
        assert_eq!(read("step 5"), Command::Step(StepBy::Event, 5));
        assert_eq!(read("step accesses 5"), Command::Step(StepBy::Access, 5));
        assert_eq!(read("s cycles 5"), Command::Step(StepBy::Cycle, 5));
        assert_eq!(read("r SDP"), Command::Registers(Some("SDP".into())));
        assert_eq!(read("set SDP.S_POINTER = 1"), Command::Set("SDP.S_POINTER = 1".into()));
        let port = "dbb0".to_owned();
        assert_eq!(read("mem dbb0 0x80000000"), Command::Memory { port, address: 0x8000_0000, length: 64 });
        assert_eq!(read("d"), Command::Delete(None));
        assert_eq!(read("delete 3"), Command::Delete(Some(3)));
    }

    #[test]
    fn a_breakpoint_reads_as_it_is_said() {
        let register = |access, value| On::Register { name: "SDP.D_OP_ENABLE".into(), access, value };
        for line in
            ["b SDP.D_OP_ENABLE=1 write", "b SDP.D_OP_ENABLE = 1 write", "b SDP.D_OP_ENABLE write =0x1"]
        {
            assert_eq!(on(line), register(Accesses::Write, Some(1)), "{line}");
        }
        assert_eq!(on("b SDP.D_OP_ENABLE"), register(Accesses::Any, None));
        assert_eq!(on("b irq"), On::Interrupt);
        assert_eq!(on("b layer"), On::Layer { unit: String::new(), end: true });
        assert_eq!(on("b layer begin"), On::Layer { unit: String::new(), end: false });
        assert_eq!(on("b layer SDP begin"), On::Layer { unit: "sdp".into(), end: false });
        let memory = |length, access| On::Memory { port: "dbb0".into(), address: 64, length, access };
        assert_eq!(on("b mem dbb0 0x40 read"), memory(1, Accesses::Read));
        assert_eq!(on("b mem dbb0 0x40 16"), memory(16, Accesses::Any));
        assert_eq!(on("b time 3 ns"), On::Time(Time::ns(3)));
        let Command::Break(set) = read("b irq skip 2 once") else { panic!() };
        assert_eq!((set.skip, set.once), (2, true));
    }

    #[test]
    fn what_is_wrong_is_said_in_a_line_with_what_would_be_right() {
        assert_eq!(refusal("brek irq"), "no command `brek`: did you mean `break`? `help` lists all");
        assert_eq!(refusal("zzz"), "no command `zzz`; `help` lists all");
        assert_eq!(refusal("st"), "`st` may be status, stop, step");
        assert_eq!(refusal("mem"), "mem: the memory's port is missing: mem PORT ADDRESS [LENGTH]");
        assert_eq!(refusal("mem dbb0 x"), "`x` is no number: write 4096 or 0x1000");
        assert_eq!(refusal("stop now"), "stop: `now` is too much: stop ");
        assert_eq!(refusal("step parsec"), "no step by `parsec`: cycle, event, layer or access");
        assert_eq!(refusal("b time soon"), "`soon` is no time: write 12 us, or 1500 ns");
        assert_eq!(refusal("step -1"), "no step by `-1`: cycle, event, layer or access");
        assert_eq!(refusal("d 5000000000"), "5000000000 is too much");
    }

    #[test]
    fn help_fits_a_terminal_of_80_columns() {
        let all = help(None).unwrap();
        assert!(all.lines().all(|line| line.chars().count() <= 110), "{all}");
        assert_eq!(help(Some("b")).unwrap().lines().count(), 6);
        assert!(help(Some("xyz")).is_err());
    }
}
