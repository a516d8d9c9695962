//! The `.cfg` language: one command a line, `name(argument, …);`. Text to [`CfgCommand`]s and back; no meaning
//! yet.
//!
//! Called by [`Trace`](super::Trace). Reads no file but the text it is given and knows no register map.

use std::fmt;
use std::path::Path;

use winnow::combinator::{alt, delimited, eof, separated};
use winnow::token::{rest, take_while};
use winnow::{Parser, Result};

use super::cursor::{Fault, Input, Word, blanks, lines, token, word};
use super::error::{TraceError, TraceErrorKind, clip};
use super::{Line, RegisterName};
use crate::Memory;
use vp_models::nvdla::glb::Interrupt;
use vp_models::suggestion::nearest;

/// One command of a `.cfg` script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CfgCommand {
    /// `reg_write(BLK.REG, value)`: write a 32-bit register.
    RegWrite {
        /// The register.
        register: RegisterName,
        /// The whole word.
        value: u32,
    },
    /// `reg_read(BLK.REG, name)`: read, value dropped.
    RegRead {
        /// The register.
        register: RegisterName,
        /// Name of the value in the script.
        name: String,
    },
    /// `reg_read_check(BLK.REG, value)`: read once; all 32 bits must be equal.
    RegReadCheck {
        /// The register.
        register: RegisterName,
        /// The word expected.
        value: u32,
    },
    /// `poll_reg_equal(BLK.REG, value)`: read until all 32 bits are equal.
    PollRegEqual {
        /// The register.
        register: RegisterName,
        /// The word waited for.
        value: u32,
    },
    /// `sync_notify(BLK, event)`: fire the event when the block's stream gets here.
    SyncNotify {
        /// The block, without `NVDLA_`.
        block: String,
        /// The event.
        event: String,
    },
    /// `sync_wait(BLK, event)`: hold the block's stream until the event has fired.
    SyncWait {
        /// The block, without `NVDLA_`.
        block: String,
        /// The event.
        event: String,
    },
    /// `intr_notify(INTR, event)`: the interrupt must come; then the event fires.
    IntrNotify {
        /// The interrupt.
        interrupt: Interrupt,
        /// The event.
        event: String,
    },
    /// `mem_init(M, base, size, PATTERN)`: fill.
    MemInit {
        /// The memory.
        memory: Memory,
        /// First byte.
        base: u64,
        /// Number of bytes.
        extent: Extent,
        /// Bytes to fill with.
        pattern: Pattern,
        /// Not before this event.
        after: Option<String>,
    },
    /// `mem_load(M, base, "file")`: place a surface file.
    MemLoad {
        /// The memory.
        memory: Memory,
        /// Address for the surface's offset 0.
        base: u64,
        /// The file, beside the script.
        file: String,
        /// Not before this event.
        after: Option<String>,
    },
    /// `mem_reserve(M, base, size)`: declare a region.
    MemReserve {
        /// The memory.
        memory: Memory,
        /// First byte.
        base: u64,
        /// Number of bytes.
        size: u64,
        /// Not before this event.
        after: Option<String>,
    },
    /// `mem_release(M, base)`: drop a declared region.
    MemRelease {
        /// The memory.
        memory: Memory,
        /// First byte of the region.
        base: u64,
        /// Not before this event.
        after: Option<String>,
    },
    /// `check_crc(event, M, base, size, crc)`: after the event, the region's CRC-32 must be equal.
    CheckCrc {
        /// Event after which the check is made.
        event: String,
        /// The memory.
        memory: Memory,
        /// First byte, a multiple of 4.
        base: u64,
        /// Number of bytes, a multiple of 4.
        size: u64,
        /// CRC-32 as in zlib.
        crc: u32,
    },
    /// `check_file(event, M, base, size, "file")`: after the event, the region must hold the surface's
    /// bytes; where its runs overlap, all must be there.
    CheckFile {
        /// Event after which the check is made.
        event: String,
        /// The memory.
        memory: Memory,
        /// Address at which the surface's offset 0 is expected.
        base: u64,
        /// Number of bytes of the surface that count.
        size: u64,
        /// The file, beside the script.
        file: String,
    },
    /// `check_nothing(event)`: the event must happen.
    CheckNothing {
        /// Event that must happen.
        event: String,
    },
}

/// Number of bytes that a `mem_init` fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A number of bytes.
    Bytes(u64),
    /// As many as this surface file reaches to.
    File(String),
}

/// Bytes with which a `mem_init` fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// 0x00.
    AllZero,
    /// Any bytes: drawn from the player's seed.
    Random,
    /// 0xff.
    Ones,
    /// Undefined content: drawn like [`Random`](Self::Random).
    X,
    /// 0xa5.
    Afive,
    /// 0x5a.
    Fivea,
    /// The low 8 bits of each byte's address.
    Addr,
}

const PATTERNS: [(&str, Pattern); 7] = [
    ("ALL_ZERO", Pattern::AllZero),
    ("RANDOM", Pattern::Random),
    ("ONES", Pattern::Ones),
    ("X", Pattern::X),
    ("AFIVE", Pattern::Afive),
    ("FIVEA", Pattern::Fivea),
    ("ADDR", Pattern::Addr),
];

/// Every command's name and shape.
const SHAPES: [(&str, &str); 14] = [
    ("reg_write", "reg_write(BLK.REG, value);"),
    ("reg_read", "reg_read(BLK.REG, name);"),
    ("reg_read_check", "reg_read_check(BLK.REG, value);"),
    ("poll_reg_equal", "poll_reg_equal(BLK.REG, value);"),
    ("sync_notify", "sync_notify(BLK, event);"),
    ("sync_wait", "sync_wait(BLK, event);"),
    ("intr_notify", "intr_notify(INTR, event);"),
    ("mem_init", "mem_init(memory, base, size, PATTERN[, event]);"),
    ("mem_load", "mem_load(memory, base, \"file\"[, event]);"),
    ("mem_reserve", "mem_reserve(memory, base, size[, event]);"),
    ("mem_release", "mem_release(memory, base[, event]);"),
    ("check_crc", "check_crc(event, memory, base, size, crc);"),
    ("check_file", "check_file(event, memory, base, size, \"file\");"),
    ("check_nothing", "check_nothing(event);"),
];

/// Reads a script. `file` only names the text in errors.
pub fn parse(text: &str, file: &Path) -> Result<Vec<Line<CfgCommand>>, TraceError> {
    let mut commands = Vec::new();
    for (number, line) in lines(text) {
        let command = parse_line(&mut Input::new(line)).map_err(|fault| fault.at(file, number, line))?;
        commands.extend(command.map(|command| Line { number, command }));
    }
    Ok(commands)
}

fn parse_line(input: &mut Input<'_>) -> Result<Option<CfgCommand>, Fault> {
    if end_of_line(input).is_ok() {
        return Ok(None);
    }
    let name = word(1.., is_identifier).context("a command such as `reg_write(…);`").parse_next(input)?;
    if name.text.starts_with("poll_field") {
        return Err(name.fault(TraceErrorKind::Undefined("poll_field…")));
    }
    let Some((_, shape)) = SHAPES.iter().find(|(known, _)| *known == name.text) else {
        let nearest = nearest(name.text, SHAPES.iter().map(|(known, _)| *known));
        let nearest = SHAPES.iter().map(|(known, _)| *known).find(|known| Some(*known) == nearest);
        return Err(name.fault(TraceErrorKind::UnknownCommand { name: clip(name.text), nearest }));
    };
    let mut arguments = Arguments { words: arguments(input)?, taken: 0, name, shape };
    token(";", "`;` after `)`").parse_next(input)?;
    end_of_line.context("end of line or a `//` comment after `;`").parse_next(input)?;
    let command = command(name.text, &mut arguments)?;
    arguments.finish()?;
    Ok(Some(command))
}

fn command(name: &str, arguments: &mut Arguments<'_>) -> Result<CfgCommand, Fault> {
    Ok(match name {
        "reg_write" => CfgCommand::RegWrite { register: arguments.register()?, value: arguments.value()? },
        "reg_read" => {
            CfgCommand::RegRead { register: arguments.register()?, name: arguments.identifier("a name")? }
        }
        "reg_read_check" => {
            CfgCommand::RegReadCheck { register: arguments.register()?, value: arguments.value()? }
        }
        "poll_reg_equal" => {
            CfgCommand::PollRegEqual { register: arguments.register()?, value: arguments.value()? }
        }
        "sync_notify" => CfgCommand::SyncNotify { block: arguments.block()?, event: arguments.event()? },
        "sync_wait" => CfgCommand::SyncWait { block: arguments.block()?, event: arguments.event()? },
        "intr_notify" => {
            CfgCommand::IntrNotify { interrupt: arguments.interrupt()?, event: arguments.event()? }
        }
        "mem_init" => CfgCommand::MemInit {
            memory: arguments.memory()?,
            base: arguments.address()?,
            extent: arguments.extent()?,
            pattern: arguments.pattern()?,
            after: arguments.after()?,
        },
        "mem_load" => CfgCommand::MemLoad {
            memory: arguments.memory()?,
            base: arguments.address()?,
            file: arguments.file()?,
            after: arguments.after()?,
        },
        "mem_reserve" => CfgCommand::MemReserve {
            memory: arguments.memory()?,
            base: arguments.address()?,
            size: arguments.size()?,
            after: arguments.after()?,
        },
        "mem_release" => CfgCommand::MemRelease {
            memory: arguments.memory()?,
            base: arguments.address()?,
            after: arguments.after()?,
        },
        "check_crc" => CfgCommand::CheckCrc {
            event: arguments.event()?,
            memory: arguments.checked_memory()?,
            base: arguments.whole_words("an address")?,
            size: arguments.whole_words("a size")?,
            crc: arguments.next()?.number32("a CRC")?,
        },
        "check_file" => CfgCommand::CheckFile {
            event: arguments.event()?,
            memory: arguments.checked_memory()?,
            base: arguments.address()?,
            size: arguments.size()?,
            file: arguments.file()?,
        },
        // The caller has found the name in SHAPES, and this is the last one there.
        _ => CfgCommand::CheckNothing { event: arguments.event()? },
    })
}

fn end_of_line(input: &mut Input<'_>) -> Result<(), Fault> {
    (blanks, alt((eof, ("//", rest).take()))).void().parse_next(input)
}

/// From before `(` to after `)`. A quoted word keeps its quotes.
fn arguments<'a>(input: &mut Input<'a>) -> Result<Vec<Word<'a>>, Fault> {
    token("(", "`(` after the command").parse_next(input)?;
    let mut words: Vec<Word<'a>> = separated(1.., argument, (blanks, ',')).parse_next(input)?;
    let missing = words.iter().find(|word| word.text.is_empty());
    match missing {
        Some(_) if words.len() == 1 => words.clear(),
        Some(word) => {
            let kind = TraceErrorKind::Syntax { expected: "an argument", found: "none".into() };
            return Err(word.fault(kind));
        }
        None => {}
    }
    token(")", "`,` or `)`").parse_next(input)?;
    Ok(words)
}

fn argument<'a>(input: &mut Input<'a>) -> Result<Word<'a>, Fault> {
    blanks(input)?;
    if !input.starts_with('"') {
        let word = word(0.., |c| !matches!(c, ',' | ')' | '"' | ';' | '(')).parse_next(input)?;
        return Ok(Word { text: word.text.trim_end(), ..word });
    }
    let whole = *input;
    let quoted = delimited('"', take_while(0.., |c| c != '"'), '"').take().with_span();
    quoted
        .map(|(text, span): (&str, std::ops::Range<usize>)| Word { text, place: span.start })
        .parse_next(input)
        .map_err(|_: Fault| Fault::unexpected(&whole, "a file name closed by `\"`"))
}

fn is_identifier(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The arguments of one command, taken one by one.
struct Arguments<'a> {
    words: Vec<Word<'a>>,
    taken: usize,
    name: Word<'a>,
    shape: &'static str,
}

impl<'a> Arguments<'a> {
    fn count_fault(&self) -> Fault {
        self.name.fault(TraceErrorKind::ArgumentCount { shape: self.shape, found: self.words.len() })
    }

    fn next(&mut self) -> Result<Word<'a>, Fault> {
        let word = self.words.get(self.taken).copied().ok_or_else(|| self.count_fault())?;
        self.taken += 1;
        Ok(word)
    }

    fn finish(&self) -> Result<(), Fault> {
        if self.taken == self.words.len() { Ok(()) } else { Err(self.count_fault()) }
    }

    fn identifier(&mut self, expected: &'static str) -> Result<String, Fault> {
        let word = self.next()?;
        if word.text.chars().all(is_identifier) {
            Ok(word.text.to_owned())
        } else {
            Err(wrong(word, expected))
        }
    }

    fn event(&mut self) -> Result<String, Fault> {
        self.identifier(
            "the name of an event, such as done in `intr_notify(CDP_0, done); check_nothing(done);`",
        )
    }

    fn after(&mut self) -> Result<Option<String>, Fault> {
        if self.taken == self.words.len() { Ok(None) } else { self.event().map(Some) }
    }

    fn block(&mut self) -> Result<String, Fault> {
        let block = self.identifier("a block such as NVDLA_SDP")?;
        Ok(block.strip_prefix("NVDLA_").map(str::to_owned).unwrap_or(block))
    }

    fn register(&mut self) -> Result<RegisterName, Fault> {
        let word = self.next()?;
        RegisterName::parse(word.text).ok_or_else(|| wrong(word, "a register such as NVDLA_SDP.S_POINTER_0"))
    }

    fn value(&mut self) -> Result<u32, Fault> {
        self.next()?.number32("a register value")
    }

    fn address(&mut self) -> Result<u64, Fault> {
        self.next()?.number("an address", 64)
    }

    fn size(&mut self) -> Result<u64, Fault> {
        self.next()?.number("a size", 64)
    }

    fn whole_words(&mut self, what: &'static str) -> Result<u64, Fault> {
        let word = self.next()?;
        match word.number(what, 64)? {
            number if number % 4 == 0 => Ok(number),
            number => Err(word.fault(TraceErrorKind::Unaligned(number))),
        }
    }

    fn memory(&mut self) -> Result<Memory, Fault> {
        let word = self.next()?;
        match word.text {
            "pri_mem" => Ok(Memory::Primary),
            "sec_mem" => Ok(Memory::Secondary),
            _ => Err(bad_choice(word, "a memory", "pri_mem, sec_mem")),
        }
    }

    /// Most of the vendor's checks have the digit 1 where a name should be; their player then keeps its
    /// default.
    fn checked_memory(&mut self) -> Result<Memory, Fault> {
        if self.words.get(self.taken).is_some_and(|word| word.text == "1") {
            self.taken += 1;
            return Ok(Memory::Primary);
        }
        self.memory()
    }

    fn extent(&mut self) -> Result<Extent, Fault> {
        match self.words.get(self.taken) {
            Some(word) if word.text.starts_with('"') => self.file().map(Extent::File),
            _ => self.size().map(Extent::Bytes),
        }
    }

    fn pattern(&mut self) -> Result<Pattern, Fault> {
        let word = self.next()?;
        PATTERNS
            .iter()
            .find(|(name, _)| *name == word.text)
            .map(|(_, pattern)| *pattern)
            .ok_or_else(|| bad_choice(word, "a pattern", "ALL_ZERO, RANDOM, ONES, X, AFIVE, FIVEA, ADDR"))
    }

    fn interrupt(&mut self) -> Result<Interrupt, Fault> {
        let word = self.next()?;
        Interrupt::parse(word.text).ok_or_else(|| {
            let choices = "SDP, CDP, PDP, BDMA, RUBIK, CDMA_DAT, CDMA_WT, CACC, each with _0 or _1";
            bad_choice(word, "an interrupt", choices)
        })
    }

    fn file(&mut self) -> Result<String, Fault> {
        let word = self.next()?;
        let name = word
            .text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'))
            .ok_or_else(|| wrong(word, "a file name in quotes"))?;
        super::beside(name).map_err(|kind| word.fault(kind))
    }
}

fn wrong(word: Word<'_>, expected: &'static str) -> Fault {
    word.fault(TraceErrorKind::Syntax { expected, found: format!("`{}`", clip(word.text)) })
}

fn bad_choice(word: Word<'_>, what: &'static str, choices: &'static str) -> Fault {
    word.fault(TraceErrorKind::BadChoice { found: clip(word.text), what, choices })
}

/// The line [`parse`] reads back as an equal command.
impl fmt::Display for CfgCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use CfgCommand::*;
        match self {
            RegWrite { register, value } => write!(f, "reg_write({}, {value:#x});", register.vendor()),
            RegRead { register, name } => write!(f, "reg_read({}, {name});", register.vendor()),
            RegReadCheck { register, value } => {
                write!(f, "reg_read_check({}, {value:#x});", register.vendor())
            }
            PollRegEqual { register, value } => {
                write!(f, "poll_reg_equal({}, {value:#x});", register.vendor())
            }
            SyncNotify { block, event } => write!(f, "sync_notify(NVDLA_{block}, {event});"),
            SyncWait { block, event } => write!(f, "sync_wait(NVDLA_{block}, {event});"),
            IntrNotify { interrupt, event } => write!(f, "intr_notify({interrupt}, {event});"),
            MemInit { memory, base, extent, pattern, after } => {
                let pattern =
                    PATTERNS.iter().find(|(_, known)| known == pattern).map_or("", |(name, _)| *name);
                match extent {
                    Extent::Bytes(size) => {
                        write!(f, "mem_init({}, {base:#x}, {size:#x}, {pattern}", name(*memory))?;
                    }
                    Extent::File(file) => {
                        write!(f, "mem_init({}, {base:#x}, \"{file}\", {pattern}", name(*memory))?;
                    }
                }
                end(f, after.as_deref())
            }
            MemLoad { memory, base, file, after } => {
                write!(f, "mem_load({}, {base:#x}, \"{file}\"", name(*memory))?;
                end(f, after.as_deref())
            }
            MemReserve { memory, base, size, after } => {
                write!(f, "mem_reserve({}, {base:#x}, {size:#x}", name(*memory))?;
                end(f, after.as_deref())
            }
            MemRelease { memory, base, after } => {
                write!(f, "mem_release({}, {base:#x}", name(*memory))?;
                end(f, after.as_deref())
            }
            CheckCrc { event, memory, base, size, crc } => {
                write!(f, "check_crc({event}, {}, {base:#x}, {size:#x}, {crc:#010x});", name(*memory))
            }
            CheckFile { event, memory, base, size, file } => {
                write!(f, "check_file({event}, {}, {base:#x}, {size:#x}, \"{file}\");", name(*memory))
            }
            CheckNothing { event } => write!(f, "check_nothing({event});"),
        }
    }
}

fn name(memory: Memory) -> &'static str {
    match memory {
        Memory::Primary => "pri_mem",
        Memory::Secondary => "sec_mem",
    }
}

fn end(f: &mut fmt::Formatter<'_>, after: Option<&str>) -> fmt::Result {
    match after {
        Some(event) => write!(f, ", {event});"),
        None => f.write_str(");"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(line: &str) -> Result<CfgCommand, String> {
        let commands = parse(line, Path::new("t.cfg")).map_err(|error| error.to_string())?;
        Ok(commands.into_iter().next().expect("a command").command)
    }

    #[test]
    fn blanks_comments_and_spacing_do_not_matter() {
        let text = "\n  // reg_write(a)\n\treg_write( NVDLA_SDP.S_POINTER_0 ,16 ) ; // ten\r\n";
        let register = RegisterName::parse("SDP.S_POINTER").unwrap();
        assert_eq!(
            parse(text, Path::new("t")).unwrap(),
            [Line { number: 3, command: CfgCommand::RegWrite { register, value: 16 } }]
        );
    }

    #[test]
    fn the_digit_one_means_primary_in_a_check() {
        let Ok(CfgCommand::CheckCrc { memory, .. }) = one("check_crc(e, 1, 0x8, 4, 0);") else { panic!() };
        assert_eq!(memory, Memory::Primary);
    }

    #[test]
    fn every_wrong_line_is_told_with_its_place_and_what_would_be_right() {
        for (line, expected) in [
            ("reg_wirte(A.B, 1);", "1:1: unknown command `reg_wirte`; nearest: reg_write"),
            ("hello(1);", "1:1: unknown command `hello`"),
            ("poll_field_equal(A.B, 1);", "1:1: `poll_field…` has no defined meaning and is not played"),
            ("  @", "1:3: expected a command such as `reg_write(…);`, found `@`"),
            ("reg_write", "1:10: expected `(` after the command, found end of line"),
            ("reg_write(A.B, 1)", "1:18: expected `;` after `)`, found end of line"),
            ("reg_write(A.B, 1", "1:17: expected `,` or `)`, found end of line"),
            ("reg_write(A.B, 1); x", "1:20: expected end of line or a `//` comment after `;`, found `x`"),
            ("reg_write(A.B);", "1:1: 1 arguments do not fit `reg_write(BLK.REG, value);`"),
            ("reg_write(A.B, 1, 2);", "1:1: 3 arguments do not fit `reg_write(BLK.REG, value);`"),
            ("reg_write(A.B, , 2);", "1:16: expected an argument, found none"),
            ("reg_write(A.B, 2, );", "1:19: expected an argument, found none"),
            ("reg_write();", "1:1: 0 arguments do not fit `reg_write(BLK.REG, value);`"),
            ("reg_write(AB, 1);", "1:11: expected a register such as NVDLA_SDP.S_POINTER_0, found `AB`"),
            (
                "reg_write(A.B, 0x1g);",
                "1:16: `0x1g` is not a register value: expected decimal or 0x hex of at most 32 bits",
            ),
            (
                "reg_write(A.B, 0x100000000);",
                "1:16: `0x100000000` is not a register value: expected decimal or 0x hex of at most 32 bits",
            ),
            ("mem_init(mem, 0, 4, ONES);", "1:10: `mem` is not a memory: expected one of pri_mem, sec_mem"),
            (
                "mem_init(pri_mem, 0, 4, ZERO);",
                "1:25: `ZERO` is not a pattern: expected one of ALL_ZERO, RANDOM, ONES, X, AFIVE, FIVEA, ADDR",
            ),
            (
                "intr_notify(SDP_2, e);",
                "1:13: `SDP_2` is not an interrupt: expected one of SDP, CDP, PDP, BDMA, RUBIK, CDMA_DAT, CDMA_WT, \
                 CACC, each with _0 or _1",
            ),
            ("mem_load(pri_mem, 0, in.dat);", "1:22: expected a file name in quotes, found `in.dat`"),
            (
                "mem_load(pri_mem, 0, \"in.dat);",
                "1:22: expected a file name closed by `\"`, found `\"in.dat);`",
            ),
            (
                "mem_load(pri_mem, 0, \"../in.dat\");",
                "1:22: `../in.dat` leaves the script's folder: name a file beside the script",
            ),
            (
                "check_crc(e, 1, 0, 6, 0);",
                "1:20: a CRC is taken over whole words: 0x6 is not a multiple of 4",
            ),
            (
                "check_nothing(a b);",
                "1:15: expected the name of an event, such as done in `intr_notify(CDP_0, done); check_nothing(done);`, found `a b`",
            ),
        ] {
            assert_eq!(one(line), Err(format!("t.cfg:{expected}")), "{line}");
        }
    }

    fn identifier() -> impl Strategy<Value = String> {
        "[A-Za-z_][A-Za-z0-9_]{0,8}".prop_filter("NVDLA_ is taken off", |name| !name.starts_with("NVDLA_"))
    }

    fn register() -> impl Strategy<Value = RegisterName> {
        (identifier(), identifier())
            .prop_map(|(unit, name)| RegisterName::parse(&format!("{unit}.{name}")).expect("identifiers"))
    }

    fn any_command() -> impl Strategy<Value = CfgCommand> {
        let memory = || prop_oneof![Just(Memory::Primary), Just(Memory::Secondary)];
        let pattern = prop::sample::select(PATTERNS.map(|(_, pattern)| pattern).to_vec());
        let interrupt = prop::sample::select(Interrupt::all().collect::<Vec<_>>());
        let file = || "[a-zA-Z0-9_.-]{1,8}\\.dat";
        let after = || prop::option::of(identifier());
        let extent = prop_oneof![any::<u64>().prop_map(Extent::Bytes), file().prop_map(Extent::File)];
        let words = || any::<u64>().prop_map(|number| number & !3);
        prop_oneof![
            (register(), any::<u32>()).prop_map(|(register, value)| CfgCommand::RegWrite { register, value }),
            (register(), identifier()).prop_map(|(register, name)| CfgCommand::RegRead { register, name }),
            (register(), any::<u32>())
                .prop_map(|(register, value)| CfgCommand::RegReadCheck { register, value }),
            (register(), any::<u32>())
                .prop_map(|(register, value)| CfgCommand::PollRegEqual { register, value }),
            (identifier(), identifier()).prop_map(|(block, event)| CfgCommand::SyncNotify { block, event }),
            (identifier(), identifier()).prop_map(|(block, event)| CfgCommand::SyncWait { block, event }),
            (interrupt, identifier())
                .prop_map(|(interrupt, event)| CfgCommand::IntrNotify { interrupt, event }),
            (memory(), any::<u64>(), extent, pattern, after()).prop_map(
                |(memory, base, extent, pattern, after)| {
                    CfgCommand::MemInit { memory, base, extent, pattern, after }
                }
            ),
            (memory(), any::<u64>(), file(), after())
                .prop_map(|(memory, base, file, after)| CfgCommand::MemLoad { memory, base, file, after }),
            (memory(), any::<u64>(), any::<u64>(), after())
                .prop_map(|(memory, base, size, after)| CfgCommand::MemReserve { memory, base, size, after }),
            (memory(), any::<u64>(), after()).prop_map(|(memory, base, after)| CfgCommand::MemRelease {
                memory,
                base,
                after
            }),
            (identifier(), memory(), words(), words(), any::<u32>()).prop_map(
                |(event, memory, base, size, crc)| {
                    CfgCommand::CheckCrc { event, memory, base, size, crc }
                }
            ),
            (identifier(), memory(), any::<u64>(), any::<u64>(), file()).prop_map(
                |(event, memory, base, size, file)| {
                    CfgCommand::CheckFile { event, memory, base, size, file }
                }
            ),
            identifier().prop_map(|event| CfgCommand::CheckNothing { event }),
        ]
    }

    proptest! {
        #[test]
        fn a_command_reads_back_as_written(command in any_command()) {
            prop_assert_eq!(one(&command.to_string()), Ok(command));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,80}") {
            let _ = parse(&text, Path::new("t"));
        }

        #[test]
        fn a_damaged_line_never_panics(command in any_command(), at in 0..60usize, with in "\\PC{0,3}") {
            let mut line: Vec<char> = command.to_string().chars().collect();
            let at = at.min(line.len());
            let end = (at + 1).min(line.len());
            line.splice(at..end, with.chars());
            let _ = one(&line.iter().chain(&['\n', 'x']).collect::<String>());
        }
    }
}
