//! The `.txn` language: one command a line, strictly in order. Text to [`TxnCommand`]s and back; no meaning yet.
//!
//! Called by [`Trace`](super::Trace). The vendor's scripts are written for nv_full; others, such as those made of logs of its virtual
//! platform, for any configuration, which the text does not name. `fill_mem` and `wait_intr` are of those that its C-model's layers are
//! written down in, `until` is of those of gem5-NVDLA (suchandler96/gem5-NVDLA, `ext/rtl/model_nvdla/csbMaster.cc`).

use std::fmt;
use std::path::Path;

use winnow::Parser;
use winnow::combinator::repeat;

use self::addresses::Addresses;
use super::Line;
use super::cursor::{Fault, Input, Word, lines, word};
use super::error::{TraceError, TraceErrorKind, clip};
use vp_models::suggestion::nearest;

mod addresses;

/// One command of a `.txn` script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnCommand {
    /// `write_reg A D`: write a register and wait for the acknowledgement.
    WriteReg {
        /// Byte address in the register window.
        address: u32,
        /// The word.
        value: u32,
    },
    /// `read_reg A M D` or `read_reg A M op D [retries]`: read until the masked value stands in the relation
    /// to D.
    ReadReg {
        /// Byte address in the register window.
        address: u32,
        /// The bits that count.
        mask: u32,
        /// Relation in which the value must stand to the one expected.
        relation: Relation,
        /// Value expected, before the mask.
        value: u32,
        /// Number of reads that may follow the first; none: as the player is set.
        retries: Option<u32>,
    },
    /// `load_mem A N file`: put the first N bytes of the file at A.
    LoadMem(Transfer),
    /// `dump_mem A N file`: the N bytes at A must be the first N of the file.
    DumpMem(Transfer),
    /// `fill_mem A N B`: set N bytes at A to B.
    FillMem {
        /// First byte.
        address: u64,
        /// Number of bytes.
        size: u64,
        /// Value of these bytes.
        byte: u8,
    },
    /// `wait`: until the interrupt output is high.
    Wait,
    /// `wait_intr M`: until all these interrupts have come; each is cleared as it is seen.
    WaitIntr {
        /// Bits of S_INTR_STATUS.
        mask: u32,
    },
    /// `until A B`: read until all these bits are set. Nothing is cleared.
    Until {
        /// Byte address in the register window.
        address: u32,
        /// The bits.
        bits: u32,
    },
}

/// Returns true if a script's reads of S_INTR_STATUS are to be taken as gem5-NVDLA's player takes them.
pub(super) fn has_until(lines: &[Line<TxnCommand>]) -> bool {
    lines.iter().any(|line| matches!(line.command, TxnCommand::Until { .. }))
}

impl TxnCommand {
    /// Returns true if the command reads a value that can be wrong. What `until` waits for is no result.
    pub(super) fn is_comparison(&self) -> bool {
        let TxnCommand::ReadReg { mask, relation, value, .. } = *self else { return false };
        match relation {
            Relation::Equal => mask != 0,
            Relation::AtLeast => value & mask != 0,
            Relation::AtMost => value & mask != mask,
        }
    }

    /// Returns true if the command reads that no interrupt is there any more, which a script with `until` need not find: gem5-NVDLA's
    /// player passes over it, as the next interrupt may be there already (`csbMaster.cc`, eval). `is_status` tells the address of
    /// S_INTR_STATUS.
    pub(super) fn is_passed_over(&self, is_status: impl Fn(u32) -> bool) -> bool {
        let TxnCommand::ReadReg { address, value: 0, relation: Relation::Equal, .. } = *self else {
            return false;
        };
        is_status(address)
    }
}

/// Relation in which a value read must stand to the value expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `==`
    Equal,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
}

impl Relation {
    /// Returns true if `found` is as it should be.
    #[must_use]
    pub fn holds(self, found: u32, expected: u32) -> bool {
        match self {
            Relation::Equal => found == expected,
            Relation::AtMost => found <= expected,
            Relation::AtLeast => found >= expected,
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relation::Equal => "==",
            Relation::AtMost => "<=",
            Relation::AtLeast => ">=",
        })
    }
}

/// Bytes between a file and a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// First byte. The memory that has it is the one of the platform.
    pub address: u64,
    /// Number of bytes.
    pub size: u64,
    /// The file, beside the script.
    pub file: String,
}

/// Settings in a `plusargs.txt`: switches of the vendor's simulator that change how a script is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plusargs {
    /// `+read_reg_poll_retries=R`: reads that may follow the first of a `read_reg`.
    pub read_reg_poll_retries: Option<u32>,
    /// `+continue_on_fail`: a mismatch does not end the run (it is a failure all the same).
    pub continue_on_fail: bool,
}

const SHAPES: [(&str, &str); 8] = [
    ("write_reg", "write_reg ADDRESS DATA"),
    ("read_reg", "read_reg ADDRESS MASK [==|<=|>=] DATA [retries]"),
    ("load_mem", "load_mem ADDRESS SIZE FILE"),
    ("dump_mem", "dump_mem ADDRESS SIZE FILE"),
    ("fill_mem", "fill_mem ADDRESS SIZE BYTE"),
    ("wait", "wait"),
    ("wait_intr", "wait_intr MASK"),
    ("until", "until ADDRESS BITS"),
];

/// Reads a script. `file` only names the text in errors.
pub fn parse(text: &str, file: &Path) -> Result<Vec<Line<TxnCommand>>, TraceError> {
    let addresses = addresses(text);
    let mut commands = Vec::new();
    for (number, line) in lines(text) {
        if let Some((name, arguments)) = words(content(line)).split_first() {
            let command = command(*name, arguments, addresses);
            commands.push(Line { number, command: command.map_err(|fault| fault.at(file, number, line))? });
        }
    }
    Ok(commands)
}

/// The first register address of a script, if they are taken for byte addresses, and could as well count words.
pub(super) fn doubtful_address(text: &str) -> Option<u32> {
    addresses(text).doubtful()
}

fn addresses(text: &str) -> Addresses {
    let mut addresses = Addresses::default();
    for (number, line) in lines(text) {
        if let [name, address, ..] = words(content(line))[..]
            && ["write_reg", "read_reg", "until"].contains(&name.text)
        {
            addresses.note(number, address.text);
        }
    }
    addresses
}

/// A line without its comment.
fn content(line: &str) -> &str {
    line.split_once('#').map_or(line, |(content, _)| content)
}

/// Reads a `plusargs.txt`. `file` only names the text in errors.
pub fn parse_plusargs(text: &str, file: &Path) -> Result<Plusargs, TraceError> {
    let mut plusargs = Plusargs::default();
    for (number, line) in lines(text) {
        for word in words(line) {
            match word.text.split_once('=') {
                None if word.text == "+continue_on_fail" => plusargs.continue_on_fail = true,
                Some(("+read_reg_poll_retries", retries)) => {
                    let retries = Word { text: retries, ..word };
                    let retries = retries
                        .number32("a number of retries")
                        .map_err(|fault| fault.at(file, number, line))?;
                    plusargs.read_reg_poll_retries = Some(retries);
                }
                _ => {
                    let choices = "+read_reg_poll_retries=R, +continue_on_fail";
                    let kind =
                        TraceErrorKind::BadChoice { found: clip(word.text), what: "a plusarg", choices };
                    return Err(word.fault(kind).at(file, number, line));
                }
            }
        }
    }
    Ok(plusargs)
}

fn words(line: &str) -> Vec<Word<'_>> {
    let words = repeat(0.., word(1.., |c: char| !c.is_whitespace())).parse_next(&mut Input::new(line));
    // None is as good as several.
    words.unwrap_or_default()
}

fn command(name: Word<'_>, arguments: &[Word<'_>], addresses: Addresses) -> Result<TxnCommand, Fault> {
    let register = |address: Word<'_>| addresses.byte_address(address);
    match (name.text, arguments) {
        ("write_reg", [address, value]) => Ok(TxnCommand::WriteReg {
            address: register(*address)?,
            value: value.number32("a register value")?,
        }),
        ("read_reg", [address, mask, value]) => {
            read_reg(register(*address)?, *mask, Relation::Equal, *value, None)
        }
        ("read_reg", [address, mask, operator, value]) => {
            read_reg(register(*address)?, *mask, relation(*operator)?, *value, None)
        }
        ("read_reg", [address, mask, operator, value, retries]) => {
            read_reg(register(*address)?, *mask, relation(*operator)?, *value, Some(*retries))
        }
        ("until", [address, bits]) => {
            Ok(TxnCommand::Until { address: register(*address)?, bits: bits.number32("a mask")? })
        }
        ("load_mem", [address, size, file]) => transfer(*address, *size, *file).map(TxnCommand::LoadMem),
        ("dump_mem", [address, size, file]) => transfer(*address, *size, *file).map(TxnCommand::DumpMem),
        ("fill_mem", [address, size, byte]) => {
            let (address, size) = region(*address, *size)?;
            Ok(TxnCommand::FillMem { address, size, byte: byte.number("a byte", 8)? as u8 })
        }
        ("wait", []) => Ok(TxnCommand::Wait),
        ("wait_intr", [mask]) => Ok(TxnCommand::WaitIntr { mask: mask.number32("a mask")? }),
        ("read_mem", _) => Err(name.fault(TraceErrorKind::Undefined("read_mem"))),
        ("write_mem", _) => Err(name.fault(TraceErrorKind::Undefined("write_mem"))),
        (text, _) => Err(name.fault(match SHAPES.iter().find(|(known, _)| *known == text) {
            Some((_, shape)) => TraceErrorKind::ArgumentCount { shape, found: arguments.len() },
            None => {
                let likely = nearest(text, SHAPES.iter().map(|(known, _)| *known));
                let nearest = SHAPES.iter().map(|(known, _)| *known).find(|known| Some(*known) == likely);
                TraceErrorKind::UnknownCommand { name: clip(text), nearest }
            }
        })),
    }
}

fn read_reg(
    address: u32,
    mask: Word<'_>,
    relation: Relation,
    value: Word<'_>,
    retries: Option<Word<'_>>,
) -> Result<TxnCommand, Fault> {
    Ok(TxnCommand::ReadReg {
        address,
        mask: mask.number32("a mask")?,
        relation,
        value: value.number32("a register value")?,
        retries: retries.map(number_of_retries).transpose()?,
    })
}

/// The vendor asks for up to 100 000; the bound keeps a wrong script from reading for hours.
fn number_of_retries(word: Word<'_>) -> Result<u32, Fault> {
    word.number("a number of retries", 24).map(|retries| retries as u32)
}

fn relation(word: Word<'_>) -> Result<Relation, Fault> {
    match word.text {
        "==" => Ok(Relation::Equal),
        "<=" => Ok(Relation::AtMost),
        ">=" => Ok(Relation::AtLeast),
        _ => Err(word.fault(TraceErrorKind::BadChoice {
            found: clip(word.text),
            what: "a relation",
            choices: "==, <=, >=",
        })),
    }
}

fn transfer(address: Word<'_>, size: Word<'_>, file: Word<'_>) -> Result<Transfer, Fault> {
    let (address, size) = region(address, size)?;
    let file = super::beside(file.text).map_err(|kind| file.fault(kind))?;
    Ok(Transfer { address, size, file })
}

/// The address of the first byte, and how many there are.
fn region(address: Word<'_>, size: Word<'_>) -> Result<(u64, u64), Fault> {
    let start = address.number("an address", 64)?;
    let bytes = size.number("a size", 64)?;
    match start.checked_add(bytes) {
        Some(_) => Ok((start, bytes)),
        None => Err(size.fault(TraceErrorKind::BeyondMemory { base: start, size: bytes, last: u64::MAX })),
    }
}

/// The line [`parse`] reads back as an equal command.
impl fmt::Display for TxnCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |address: u32| 0xffff_0000 | (address >> 2 & 0xffff);
        match self {
            TxnCommand::WriteReg { address, value } => {
                write!(f, "write_reg {:#x} {value:#x}", word(*address))
            }
            TxnCommand::ReadReg { address, mask, relation: Relation::Equal, value, retries: None } => {
                write!(f, "read_reg {:#x} {mask:#010x} {value:#010x}", word(*address))
            }
            TxnCommand::ReadReg { address, mask, relation, value, retries } => {
                write!(f, "read_reg {:#x} {mask:#010x} {relation} {value:#010x}", word(*address))?;
                retries.map_or(Ok(()), |retries| write!(f, " {retries}"))
            }
            TxnCommand::LoadMem(Transfer { address, size, file, .. }) => {
                write!(f, "load_mem {address:#x} {size:#x} {file}")
            }
            TxnCommand::DumpMem(Transfer { address, size, file, .. }) => {
                write!(f, "dump_mem {address:#x} {size:#x} {file}")
            }
            TxnCommand::FillMem { address, size, byte, .. } => {
                write!(f, "fill_mem {address:#x} {size:#x} {byte:#04x}")
            }
            TxnCommand::Wait => f.write_str("wait"),
            TxnCommand::WaitIntr { mask } => write!(f, "wait_intr {mask:#x}"),
            TxnCommand::Until { address, bits } => write!(f, "until {:#x} {bits:#010x}", word(*address)),
        }
    }
}

impl fmt::Display for Plusargs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(retries) = self.read_reg_poll_retries {
            writeln!(f, "+read_reg_poll_retries={retries}")?;
        }
        if self.continue_on_fail { writeln!(f, "+continue_on_fail") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(line: &str) -> Result<TxnCommand, String> {
        let commands = parse(line, Path::new("t.txn")).map_err(|error| error.to_string())?;
        Ok(commands.into_iter().next().expect("a command").command)
    }

    #[test]
    fn register_addresses_are_word_addresses_of_sixteen_bits() {
        assert_eq!(one("write_reg 0xffff100b 5 # x"), Ok(TxnCommand::WriteReg { address: 0x402c, value: 5 }));
    }

    /// The byte addresses of the registers in a script, or its error.
    fn addresses(text: &str) -> Result<Vec<u32>, String> {
        let lines = parse(text, Path::new("t.txn")).map_err(|error| error.to_string())?;
        let address = |line: Line<TxnCommand>| match line.command {
            TxnCommand::WriteReg { address, .. }
            | TxnCommand::ReadReg { address, .. }
            | TxnCommand::Until { address, .. } => address,
            other => panic!("{other:?}"),
        };
        Ok(lines.into_iter().map(address).collect())
    }

    #[test]
    fn addresses_without_the_benchs_upper_half_count_bytes() {
        let mixed =
            "write_reg 0x1004 3\nread_reg 0xffff0401 0xffffffff 3\nuntil 0x100c 1\nwrite_reg 0x9038 1";
        assert_eq!(addresses(mixed), Ok(vec![0x1004, 0x1004, 0x100c, 0x9038]));
    }

    #[test]
    fn byte_addresses_may_have_the_base_of_the_register_window() {
        assert_eq!(addresses("write_reg 0x10201004 3\nwrite_reg 0x1020100c 3"), Ok(vec![0x1004, 0x100c]));
        let expected = "t.txn:2:11: 0x100c is not in the register window of 0x10201004: both are taken for byte addresses";
        assert_eq!(addresses("write_reg 0x10201004 3\nwrite_reg 0x100c 3"), Err(expected.to_owned()));
    }

    #[test]
    fn one_address_that_is_no_multiple_of_four_makes_all_count_words() {
        assert_eq!(addresses("write_reg 0x404 3\nwrite_reg 0x401 3"), Ok(vec![0x1010, 0x1004]));
    }

    #[test]
    fn word_and_byte_addresses_that_look_alike_are_refused_together() {
        let expected = "t.txn:2:10: 0x9004 is behind all registers as a word address, and 0x1005 in line 1 is no byte address";
        assert_eq!(addresses("write_reg 0x1005 3\nread_reg 0x9004 1 3"), Err(expected.to_owned()));
    }

    #[test]
    fn plusargs_set_retries_and_whether_to_go_on() {
        let read = parse_plusargs("+read_reg_poll_retries=10 +continue_on_fail\n", Path::new("p")).unwrap();
        assert_eq!(read, Plusargs { read_reg_poll_retries: Some(10), continue_on_fail: true });
        let error = parse_plusargs("+continue", Path::new("p.txt")).unwrap_err().to_string();
        let expected = "p.txt:1:1: `+continue` is not a plusarg: expected one of +read_reg_poll_retries=R, +continue_on_fail";
        assert_eq!(error, expected);
    }

    #[test]
    fn every_wrong_line_is_told_with_its_place_and_what_would_be_right() {
        for (line, expected) in [
            ("write_rge 1 2", "1:1: unknown command `write_rge`; nearest: write_reg"),
            (" write_reg 1", "1:2: 1 arguments do not fit `write_reg ADDRESS DATA`"),
            ("wait 1", "1:1: 1 arguments do not fit `wait`"),
            ("read_mem 1", "1:1: `read_mem` has no defined meaning and is not played"),
            ("read_reg 1 2 = 3", "1:14: `=` is not a relation: expected one of ==, <=, >="),
            (
                "write_reg 1 0x1ffffffff",
                "1:13: `0x1ffffffff` is not a register value: expected decimal or 0x hex of at most 32 bits",
            ),
            (
                "load_mem 0xfffffffffffffffc 8 f",
                "1:29: 0x8 bytes at 0xfffffffffffffffc end beyond 0xffffffffffffffff",
            ),
            ("until 0xffff0003", "1:1: 1 arguments do not fit `until ADDRESS BITS`"),
            (
                "load_mem 0x80000000 8 a/f",
                "1:23: `a/f` leaves the script's folder: name a file beside the script",
            ),
        ] {
            assert_eq!(one(line), Err(format!("t.txn:{expected}")), "{line}");
        }
    }

    fn any_command() -> impl Strategy<Value = TxnCommand> {
        let address = || any::<u16>().prop_map(|word| u32::from(word) << 2);
        let relation = prop::sample::select(vec![Relation::Equal, Relation::AtMost, Relation::AtLeast]);
        let transfer = || {
            (any::<u64>(), 0..0x1000u64, "[a-z_.]{1,6}dat").prop_map(|(address, size, file)| Transfer {
                address,
                size: size.min(u64::MAX - address),
                file,
            })
        };
        prop_oneof![
            (address(), any::<u32>()).prop_map(|(address, value)| TxnCommand::WriteReg { address, value }),
            (address(), any::<u32>(), relation, any::<u32>(), prop::option::of(0..1u32 << 24)).prop_map(
                |(address, mask, relation, value, retries)| {
                    TxnCommand::ReadReg { address, mask, relation, value, retries }
                }
            ),
            transfer().prop_map(TxnCommand::LoadMem),
            transfer().prop_map(TxnCommand::DumpMem),
            (transfer(), any::<u8>()).prop_map(|(Transfer { address, size, .. }, byte)| {
                TxnCommand::FillMem { address, size, byte }
            }),
            (address(), any::<u32>()).prop_map(|(address, bits)| TxnCommand::Until { address, bits }),
            Just(TxnCommand::Wait),
            any::<u32>().prop_map(|mask| TxnCommand::WaitIntr { mask }),
        ]
    }

    proptest! {
        #[test]
        fn a_command_reads_back_as_written(command in any_command()) {
            prop_assert_eq!(one(&command.to_string()), Ok(command));
        }

        #[test]
        fn no_text_makes_the_parser_panic(
            text in "(read_reg|write_reg|load_mem|wait|0x[0-9a-f]{1,9}| |\\PC){0,20}",
        ) {
            let _ = parse(&text, Path::new("t"));
            let _ = parse_plusargs(&text, Path::new("t"));
        }
    }
}
