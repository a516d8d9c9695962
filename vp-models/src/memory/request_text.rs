//! Traces of requests as text: a form of this project's, and those that Ramulator and DRAMsim3 read.
//!
//! Lines are read and written one by one; files are the callers'. A trace has one form, which its first line tells:
//!
//! | form | a line |
//! | --- | --- |
//! | `vp` | `CLOCK R\|W 0xADDRESS [BYTES]`, and comments behind `#` |
//! | Ramulator's load/store trace | `LD\|ST ADDRESS`, decimal or with `0x` |
//! | Ramulator's read/write trace | `R\|W LEVEL,LEVEL,…`, from the channel down to the column |
//! | DRAMsim3's | `0xADDRESS READ\|WRITE CLOCK` |
//!
//! ```
//! use vp_models::memory::{MemoryRequest, RequestForm, RequestReader};
//! let mut trace = RequestReader::new(64, None).unwrap();
//! assert_eq!(trace.read("# two reads").unwrap(), None);
//! let read = MemoryRequest { clock: 12, write: false, address: 0x140, bytes: 8 };
//! assert_eq!(trace.read("12 R 0x140 8").unwrap(), Some(read));
//! assert_eq!(trace.form(), Some(RequestForm::Vp));
//! assert!(trace.read("LD 0x140").is_err());
//! ```
//!
//! Another form is a variant of [`RequestForm`]; of commands, one of [`CommandForm`](super::CommandForm). `vp-bridge/observers/src/memories.rs`
//! writes them of runs, `cli/memory/replay.rs` reads them.

use super::MemoryRequest;
use super::command_text::Level;
use super::dram::mapping::{Location, Mapping};
use super::dram::{DramConfig, DramError};
use super::level::parts;
use strum::{Display, EnumString};

/// Form of a trace of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Display, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum RequestForm {
    /// This project's.
    #[default]
    Vp,
    /// Ramulator's load/store trace, which has no times.
    Ramulator,
    /// Ramulator's read/write trace, which has places in the DRAM in place of addresses, and no times.
    #[strum(serialize = "ramulator-places")]
    RamulatorPlaces,
    /// DRAMsim3's trace.
    Dramsim3,
}

impl RequestForm {
    /// Returns true if lines have the clocks of their requests.
    pub const fn has_clocks(self) -> bool {
        matches!(self, RequestForm::Vp | RequestForm::Dramsim3)
    }

    /// Returns what a line looks like, for people.
    pub const fn line(self) -> &'static str {
        match self {
            RequestForm::Vp => "CLOCK R|W 0xADDRESS [BYTES]",
            RequestForm::Ramulator => "LD|ST ADDRESS",
            RequestForm::RamulatorPlaces => "R|W CHANNEL,…,COLUMN",
            RequestForm::Dramsim3 => "0xADDRESS READ|WRITE CLOCK",
        }
    }

    /// Returns the form of a line, by its words.
    fn of(words: &[&str]) -> Option<RequestForm> {
        match words {
            ["LD" | "ST", ..] => Some(RequestForm::Ramulator),
            ["R" | "W", ..] => Some(RequestForm::RamulatorPlaces),
            [_, "R" | "W", ..] => Some(RequestForm::Vp),
            [_, operation, ..] if dramsim3(operation).is_some() => Some(RequestForm::Dramsim3),
            _ => None,
        }
    }
}

/// Returns whether an operation of DRAMsim3 writes.
fn dramsim3(operation: &str) -> Option<bool> {
    match operation {
        "READ" | "read" | "P_MEM_RD" | "P_FETCH" => Some(false),
        "WRITE" | "write" | "P_MEM_WR" | "BOFF" => Some(true),
        _ => None,
    }
}

/// Latest clock of a request: some 15 minutes.
const LAST_CLOCK: u64 = 1_000_000_000_000;

/// Most bytes of a request: those of an AXI burst.
const MOST_BYTES: u32 = 4096;

/// A line that is no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// A line of no form.
    #[error(
        "no request: a line is `{}`, Ramulator's `{}` or `{}`, or DRAMsim3's `{}`",
        RequestForm::Vp.line(), RequestForm::Ramulator.line(), RequestForm::RamulatorPlaces.line(), RequestForm::Dramsim3.line()
    )]
    NoForm,
    /// A line of another form than the first, or with a word more or less.
    #[error("here a line is `{}`, as the first one", .0.line())]
    Shape(RequestForm),
    /// A word that is none of its kind.
    #[error("`{word}` is no {what}")]
    Word {
        /// The word.
        word: String,
        /// Description of what stands there.
        what: &'static str,
    },
    /// A clock that is earlier than the one before.
    #[error("clock {clock} behind clock {before}: requests stand in the order of their clocks")]
    Order {
        /// The clock.
        clock: u64,
        /// Clock of the line before.
        before: u64,
    },
    /// A place of another number of levels.
    #[error("a place has {} here: {}", .levels.len(), .levels.iter().map(|level| level.name()).collect::<Vec<_>>().join(","))]
    Levels {
        /// The levels.
        levels: &'static [Level],
    },
    /// A place beyond a level.
    #[error("{} {value}: there are {count}, counted from 0", .level.name())]
    Place {
        /// The level.
        level: Level,
        /// Value that was given.
        value: u32,
        /// Number that there is.
        count: u32,
    },
    /// Places, where there is no DRAM.
    #[error(
        "the trace names places in a DRAM, and this memory has none: take addresses, or a DRAM with --dram"
    )]
    NoDram,
}

/// The reader of a trace's lines.
#[derive(Debug)]
pub struct RequestReader {
    bytes: u32,
    places: Option<Places>,
    form: Option<RequestForm>,
    clock: u64,
}

impl RequestReader {
    /// Begins a trace for a memory, whose bursts have that many bytes; with its DRAM, if it is one.
    pub fn new(bytes: u32, dram: Option<&DramConfig>) -> Result<RequestReader, DramError> {
        Ok(RequestReader { bytes, places: dram.map(Places::of).transpose()?, form: None, clock: 0 })
    }

    /// Returns the trace's form, which its first line has told.
    pub fn form(&self) -> Option<RequestForm> {
        self.form
    }

    /// Reads the next line: none if it is empty or a comment.
    pub fn read(&mut self, line: &str) -> Result<Option<MemoryRequest>, RequestError> {
        let line = line.split_once('#').map_or(line, |(before, _)| before);
        let mut words = [""; 5];
        let mut count = 0;
        for word in line.split_ascii_whitespace().take(words.len()) {
            words[count] = word;
            count += 1;
        }
        let words = &words[..count];
        if words.is_empty() {
            return Ok(None);
        }
        let form = match self.form {
            Some(form) => form,
            None => *self.form.insert(RequestForm::of(words).ok_or(RequestError::NoForm)?),
        };
        let shape = || RequestError::Shape(form);
        // A request of a peer is a burst of the DRAM.
        let whole = |clock, write, address: u64| {
            let address = address - address % u64::from(self.bytes);
            MemoryRequest { clock, write, address, bytes: self.bytes }
        };
        let request = match (form, words) {
            (RequestForm::Vp, [clock, direction @ ("R" | "W"), address, rest @ ..]) if rest.len() <= 1 => {
                MemoryRequest {
                    clock: number(clock, "clock")?,
                    write: *direction == "W",
                    address: number(address, "address: it is written as 0x1f40")?,
                    bytes: rest.first().map_or(Ok(self.bytes), |bytes| size(bytes))?,
                }
            }
            (RequestForm::Ramulator, [operation @ ("LD" | "ST"), address]) => {
                whole(0, *operation == "ST", number(address, "address: it is written as 0x1f40 or 8000")?)
            }
            (RequestForm::RamulatorPlaces, [operation @ ("R" | "W"), place]) => {
                let places = self.places.as_ref().ok_or(RequestError::NoDram)?;
                whole(0, *operation == "W", places.read(place)?)
            }
            (RequestForm::Dramsim3, [address, operation, clock]) => {
                let write = dramsim3(operation).ok_or_else(shape)?;
                whole(number(clock, "clock")?, write, hex(address)?)
            }
            _ => return Err(shape()),
        };
        if request.clock < self.clock {
            return Err(RequestError::Order { clock: request.clock, before: self.clock });
        }
        if request.clock > LAST_CLOCK {
            return Err(word(words[if form == RequestForm::Vp { 0 } else { 2 }], "clock up to 10^12"));
        }
        self.clock = request.clock;
        Ok(Some(request))
    }
}

fn word(word: &str, what: &'static str) -> RequestError {
    RequestError::Word { word: word.chars().take(40).collect(), what }
}

/// Returns a number, decimal or with `0x`.
fn number(text: &str, what: &'static str) -> Result<u64, RequestError> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
    .map_err(|_| word(text, what))
}

/// Returns a hexadecimal number, with or without `0x`.
fn hex(text: &str) -> Result<u64, RequestError> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| word(text, "hexadecimal address"))
}

fn size(text: &str) -> Result<u32, RequestError> {
    let bytes = text.parse().ok().filter(|bytes| (1..=MOST_BYTES).contains(bytes));
    bytes.ok_or_else(|| word(text, "number of bytes from 1 to 4096"))
}

/// Addresses of places in a DRAM: the inverse of its mapping.
///
/// A mapping is linear over bits, so the addresses of single bits are enough: they are brought into echelon form.
#[derive(Debug)]
pub(super) struct Places {
    levels: &'static [Level],
    counts: Vec<u32>,
    /// Places, each with a highest bit of its own, and the addresses that they belong to.
    basis: Vec<(u64, u64)>,
}

impl Places {
    pub(super) fn of(config: &DramConfig) -> Result<Places, DramError> {
        let organisation = config.organisation()?;
        let mapping = Mapping::parse(&config.mapping, &organisation)
            .map_err(|source| DramError::Mapping { text: config.mapping.clone(), source })?;
        let levels = Level::all(config.standard.standard());
        let mut basis: Vec<(u64, u64)> = Vec::new();
        let first = organisation.burst_bytes().trailing_zeros();
        for bit in first..organisation.bytes().trailing_zeros() {
            let (place, address) = reduced(&basis, packed(&mapping.locate(1 << bit)), 1 << bit);
            basis.push((place, address));
            basis.sort_unstable_by(|one, other| other.cmp(one));
        }
        let counts = levels.iter().map(|level| level.count(&organisation)).collect();
        Ok(Places { levels, counts, basis })
    }

    fn read(&self, text: &str) -> Result<u64, RequestError> {
        let levels = self.levels;
        let parts =
            text.split(',').map(|part| part.parse::<u32>().map_err(|_| word(part, "number of a place")));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        if parts.len() != levels.len() {
            return Err(RequestError::Levels { levels });
        }
        let mut place = Location::default();
        for ((&level, &value), &count) in levels.iter().zip(&parts).zip(&self.counts) {
            if value >= count {
                return Err(RequestError::Place { level, value, count });
            }
            level.set(&mut place, value);
        }
        Ok(self.address_of(&place))
    }

    /// Returns the address of a place, which the DRAM has.
    pub(super) fn address_of(&self, place: &Location) -> u64 {
        reduced(&self.basis, packed(place), 0).1
    }
}

/// Takes out of a place what the basis has of it, and puts it into the address.
fn reduced(basis: &[(u64, u64)], mut place: u64, mut address: u64) -> (u64, u64) {
    for &(other, its) in basis {
        if place ^ other < place {
            (place, address) = (place ^ other, address ^ its);
        }
    }
    (place, address)
}

fn packed(place: &Location) -> u64 {
    let Location { channel, pseudo_channel, rank, group, bank, row, column } = *place;
    // Each has the bits that the most there can be of it need.
    let parts =
        [(channel, 7), (pseudo_channel, 2), (rank, 3), (group, 4), (bank, 5), (row, 21), (column, 17)];
    parts.into_iter().fold(0, |packed, (part, bits)| packed << bits | u64::from(part))
}

/// The writer of a trace's lines.
#[derive(Debug, Clone, Copy)]
pub struct RequestWriter {
    form: RequestForm,
    granule: u32,
}

impl RequestWriter {
    /// Begins a trace of that form, for a memory whose bursts have that many bytes: a peer's requests are bursts of the memory.
    pub fn new(form: RequestForm, granule: u32) -> RequestWriter {
        RequestWriter { form, granule }
    }

    /// Writes a request: a line, or one for each of its bursts.
    pub fn write(&self, request: &MemoryRequest, to: &mut impl std::fmt::Write) -> std::fmt::Result {
        let MemoryRequest { clock, write, address, bytes } = *request;
        let pick = |read, written| if write { written } else { read };
        if self.form == RequestForm::Vp {
            return writeln!(to, "{clock} {} {address:#x} {bytes}", pick("R", "W"));
        }
        for (address, _) in parts(address, bytes, self.granule) {
            let address = address - address % u64::from(self.granule);
            match self.form {
                RequestForm::Dramsim3 => writeln!(to, "{address:#x} {} {clock}", pick("READ", "WRITE"))?,
                _ => writeln!(to, "{} {address:#x}", pick("LD", "ST"))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(reader: &mut RequestReader, line: &str) -> Result<(u64, bool, u64, u32), String> {
        let request = reader.read(line).map_err(|error| error.to_string())?.ok_or("nothing")?;
        Ok((request.clock, request.write, request.address, request.bytes))
    }

    fn first(line: &str) -> Result<(u64, bool, u64, u32), String> {
        read(&mut RequestReader::new(64, Some(&ddr4())).unwrap(), line)
    }

    fn ddr4() -> DramConfig {
        DramConfig::of("DDR4-2400R".parse().unwrap())
    }

    #[test]
    fn each_form_is_known_by_its_first_line() {
        assert_eq!(first("7 W 0x1040 256"), Ok((7, true, 0x1040, 256)));
        assert_eq!(first("7 R 0x1041 # a comment"), Ok((7, false, 0x1041, 64)));
        // A peer's request is the whole burst.
        assert_eq!(first("LD 4161"), Ok((0, false, 0x1040, 64)));
        assert_eq!(first("ST 0x1041"), Ok((0, true, 0x1040, 64)));
        assert_eq!(first("0x2000D5C0 READ  30"), Ok((30, false, 0x2000_d5c0, 64)));
        assert_eq!(first("2000d5c1 P_MEM_WR 30"), Ok((30, true, 0x2000_d5c0, 64)));
    }

    #[test]
    fn a_place_of_ramulator_becomes_an_address() {
        // row rank bank column group: 16, 0, 2, 7 and 2 bits above 64 bytes.
        assert_eq!(first("R 0,0,2,3,5,65"), Ok((0, false, 5 << 17 | 3 << 15 | 65 << 8 | 2 << 6, 64)));
        let refused = |line| first(line).unwrap_err();
        assert_eq!(refused("R 0,0,2,3,5"), "a place has 6 here: Channel,Rank,BankGroup,Bank,Row,Column");
        assert_eq!(refused("R 0,0,4,3,5,65"), "BankGroup 4: there are 4, counted from 0");
        assert_eq!(refused("W 0,0,x,3,5,65"), "`x` is no number of a place");
        let mut without = RequestReader::new(64, None).unwrap();
        assert!(read(&mut without, "R 0,0,2,3,5,65").unwrap_err().contains("this memory has none"));
    }

    #[test]
    fn refuses_what_is_no_request_and_says_what_would_be_right() {
        let refused = |line| first(line).unwrap_err();
        assert!(
            refused("hello")
                .starts_with("no request: a line is `CLOCK R|W 0xADDRESS [BYTES]`, Ramulator's `LD|ST")
        );
        assert!(refused("12 33 44").starts_with("no request"));
        assert_eq!(refused("x R 0x40"), "`x` is no clock");
        assert_eq!(refused("1 R 0x40 0"), "`0` is no number of bytes from 1 to 4096");
        assert_eq!(
            refused("1 R 0x40 64 1"),
            "here a line is `CLOCK R|W 0xADDRESS [BYTES]`, as the first one"
        );
        assert_eq!(refused("LD zero"), "`zero` is no address: it is written as 0x1f40 or 8000");
        assert_eq!(refused("1000000000001 R 0x40"), "`1000000000001` is no clock up to 10^12");
        let mut reader = RequestReader::new(64, None).unwrap();
        assert_eq!(read(&mut reader, "5 R 0x40"), Ok((5, false, 0x40, 64)));
        assert_eq!(read(&mut reader, "").unwrap_err(), "nothing");
        assert!(read(&mut reader, "0x40 READ 6").unwrap_err().starts_with("here a line is `CLOCK"));
        assert!(read(&mut reader, "4 R 0x40").unwrap_err().starts_with("clock 4 behind clock 5"));
    }

    #[test]
    fn a_request_is_written_as_each_form_has_it() {
        let request = MemoryRequest { clock: 9, write: true, address: 0x1060, bytes: 64 };
        let written = |form| {
            let mut text = String::new();
            RequestWriter::new(form, 64).write(&request, &mut text).unwrap();
            text
        };
        assert_eq!(written(RequestForm::Vp), "9 W 0x1060 64\n");
        assert_eq!(written(RequestForm::Dramsim3), "0x1040 WRITE 9\n0x1080 WRITE 9\n");
        assert_eq!(written(RequestForm::Ramulator), "ST 0x1040\nST 0x1080\n");
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line in "[RW0-9a-fxLDST#, ]{0,40}|.{0,40}") {
            let mut reader = RequestReader::new(64, Some(&ddr4())).unwrap();
            let _ = reader.read(&line);
            let _ = reader.read(&line);
        }

        #[test]
        fn a_place_is_found_at_its_address(address in 0u64..1 << 33, which in 0usize..4) {
            let (grade, mapping) = [
                ("DDR4-2400R", "row bank column group"),
                ("DDR4-2400R", "row bank^row@3 column group^column@2"),
                ("HBM2E-3200", Mapping::DEFAULT),
                ("LPDDR5-6400", "row^column column bank:1 channel group bank^column@2"),
            ][which];
            let mut config = DramConfig::of(grade.parse().unwrap());
            config.mapping = mapping.to_owned();
            let organisation = config.organisation().unwrap();
            let address = address % organisation.bytes() / u64::from(organisation.burst_bytes()) * u64::from(organisation.burst_bytes());
            let places = Places::of(&config).unwrap();
            let at = Mapping::parse(&config.mapping, &organisation).unwrap().locate(address);
            let values: Vec<String> = places.levels.iter().map(|level| level.of(&at).to_string()).collect();
            prop_assert_eq!(places.read(&values.join(",")), Ok(address));
        }
    }
}
