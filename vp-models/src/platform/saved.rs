//! A platform as bytes: what goes on from them does so as what was saved would have.
//!
//! ```text
//! "VPSV"   form, 2 bytes   description and state, deflated   CRC-32 of all before, 4 bytes
//! ```
//!
//! Numbers are little endian. State is a value after another, each a length of 4 bytes and postcard's encoding, in the order in which
//! [`Checkpoint`] meets them; there are no pointers in it and nothing of the machine. Memories are the blocks that were written.

use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write};

use flate2::Compression;
use flate2::bufread::DeflateDecoder;
use flate2::write::DeflateEncoder;
use thiserror::Error;
use toml::{Table, Value};
use vp_core::{Rest, ResumeError, Time};

use super::{Description, DescriptionError, Platform};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::memory::{MemoryBudget, OutOfMemory};
use crate::toml_text::TomlText;

const MAGIC: [u8; 4] = *b"VPSV";

/// Of the form. What one program writes another one reads if theirs is the same.
const FORM: u16 = 7;

/// Bytes in front of what is deflated, and behind it.
const HEADER: u64 = 6;
const SUM: u64 = 4;

/// Cycles without anything happening after which no stage of the hardware can tell how long ago its last work was: more than the longest
/// pipeline, the longest burst and the longest timing of a bus take.
const SETTLED: u64 = 4096;

/// Reason for which a platform is not saved.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The platform is in the middle of something, which may come to its end.
    #[error("the platform is not at rest: {0}")]
    Busy(String),
    /// The platform is at rest, and has been for too short a time.
    #[error(
        "the platform has been at rest for too short a time: it can be saved from {0} on, if nothing happens before"
    )]
    Settling(Time),
    /// Platforms like this are not saved.
    #[error("the platform cannot be saved: {0}")]
    Unsupported(String),
    /// The saved platform cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reason for which there is no platform that goes on from a saved one.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The bytes are something else.
    #[error("this is no saved platform: it does not begin with the bytes `VPSV`")]
    Foreign,
    /// Another program wrote it.
    #[error(
        "this platform was saved in form {0}, and this program reads form {FORM}: use the program that saved it"
    )]
    Form(u16),
    /// Bytes are missing or others than were written.
    #[error("this saved platform is damaged: {0}")]
    Damaged(String),
    /// The saved platform is another than the one that is asked for.
    #[error("this was saved of another platform: `{key}` is {saved} there and {here} here")]
    Other {
        /// The key of the description that differs.
        key: String,
        /// Value of the key in the saved one.
        saved: String,
        /// The value asked for.
        here: String,
    },
    /// The saved platform's description is refused.
    #[error("the saved platform's description: {0}")]
    Description(#[from] DescriptionError),
    /// No memory is left for the platform.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// The saved platform cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<CheckpointError> for SaveError {
    fn from(error: CheckpointError) -> SaveError {
        match error {
            CheckpointError::Busy { .. } => SaveError::Busy(error.to_string()),
            CheckpointError::Io(error) => SaveError::Io(error),
            CheckpointError::Unsupported(why) => SaveError::Unsupported(why),
            CheckpointError::Damaged { .. } | CheckpointError::Memory(_) => {
                SaveError::Unsupported(error.to_string())
            }
        }
    }
}

impl From<CheckpointError> for RestoreError {
    fn from(error: CheckpointError) -> RestoreError {
        match error {
            CheckpointError::Io(error) if is_of_data(&error) => RestoreError::Damaged(error.to_string()),
            CheckpointError::Io(error) => RestoreError::Io(error),
            CheckpointError::Memory(limit) => RestoreError::Memory(limit),
            other => RestoreError::Damaged(other.to_string()),
        }
    }
}

impl From<ResumeError> for RestoreError {
    fn from(error: ResumeError) -> RestoreError {
        RestoreError::Damaged(error.to_string())
    }
}

/// Returns true if the bytes are wrong, and not their way here.
fn is_of_data(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
    )
}

impl Platform {
    /// Time from which on it can be saved, if nothing happens before and nothing is under way.
    #[must_use]
    pub fn settled_from(&self) -> Time {
        self.active_until() + self.description().period * SETTLED
    }

    /// Checks that the platform is one that can be saved, at rest.
    pub fn may_be_saved(&self) -> Result<(), SaveError> {
        if self.faults().count() > 0 {
            let why = "faults are armed, and what they have counted and drawn is not saved";
            return Err(SaveError::Unsupported(why.to_owned()));
        }
        Ok(())
    }

    /// Time and numbers of a simulation at rest, as they are saved.
    ///
    /// # Errors
    /// As of [`Platform::save_device`].
    pub fn rest(&self) -> Result<Rest, SaveError> {
        if let Some(unfinished) = self.unfinished() {
            return Err(SaveError::Busy(unfinished));
        }
        self.may_be_saved()?;
        self.sim().flush_observers();
        let rest = self.simulation().rest().map_err(|busy| SaveError::Busy(busy.to_string()))?;
        match rest.now() < self.settled_from() {
            true => Err(SaveError::Settling(self.settled_from())),
            false => Ok(rest),
        }
    }

    /// Writes down where the platform stands: device, memories, time, counters and event hash. What [`Platform::restore`]
    /// makes of it goes on, for the same accesses at the same times, with the same events at the same times. Who is attached at its ports is not saved;
    /// what [`Platform::watch`] has kept, and warnings that nobody has taken, are not either.
    ///
    /// # Errors
    /// [`SaveError::Busy`] while something is under way, [`SaveError::Settling`] shortly after: let time pass and try again.
    pub fn save(&self, into: &mut dyn Write) -> Result<(), SaveError> {
        if let Some(outside) = self.memories().iter().find(|memory| memory.is_outside()) {
            let text =
                format!("the memory of {} is outside, and is not saved with the platform", outside.name());
            return Err(SaveError::Unsupported(text));
        }
        self.save_device(into)
    }

    /// Saves the platform as [`Platform::save`] does, without memories outside.
    ///
    /// # Errors
    /// As there, but for memories outside.
    pub fn save_device(&self, into: &mut dyn Write) -> Result<(), SaveError> {
        let rest = self.rest()?;
        let mut description = self.description().to_toml();
        if Description::parse(&description).is_err() {
            let why = "its description cannot be written as TOML, such as a seed beyond 2^63 - 1";
            return Err(SaveError::Unsupported(why.to_owned()));
        }
        let mut into = Summed { bytes: into, sum: crc32fast::Hasher::new() };
        into.write_all(&MAGIC)?;
        into.write_all(&FORM.to_le_bytes())?;
        let mut packed = DeflateEncoder::new(&mut into, Compression::fast());
        let mut at = Checkpoint::save(&mut packed);
        at.value(&mut description)?;
        at.value(&mut rest.clone())?;
        self.checkpoint(&mut at)?;
        packed.finish()?;
        let sum = into.sum.clone().finalize();
        into.write_all(&sum.to_le_bytes())?;
        Ok(())
    }

    /// Returns the description that a saved platform was built from.
    ///
    /// # Errors
    /// [`RestoreError`].
    pub fn saved_description(from: &mut (impl Read + Seek)) -> Result<Description, RestoreError> {
        let mut unpacked = unpacked(from)?;
        Ok(Description::parse(&Checkpoint::restore(&mut unpacked).read::<String>()?)?)
    }

    /// A platform that goes on from one that was saved. It is the one that was saved, or, if `expected` is given, that one; the number of
    /// threads may be another.
    ///
    /// # Errors
    /// [`RestoreError`].
    pub fn restore(
        from: &mut (impl Read + Seek),
        expected: Option<&Description>,
        budget: MemoryBudget,
    ) -> Result<Platform, RestoreError> {
        let mut unpacked = unpacked(from)?;
        let mut at = Checkpoint::restore(&mut unpacked);
        let mut description = Description::parse(&at.read::<String>()?)?;
        if let Some(expected) = expected {
            description.threads = expected.threads;
            agree(&description, expected)?;
        }
        let rest: Rest = at.read()?;
        Platform::resume(&description, budget, &rest, |platform| {
            platform.checkpoint(&mut at).map_err(RestoreError::from)
        })
    }

    /// Checks that [`Platform::take_up`] can make this platform of a saved one.
    ///
    /// # Errors
    /// [`RestoreError`].
    pub fn may_take_up(&self, saved: &[u8]) -> Result<(), RestoreError> {
        let budget = MemoryBudget::new(self.memory_limit());
        Platform::restore(&mut Cursor::new(saved), Some(self.description()), budget).map(drop)
    }

    /// Goes on from a saved platform of the same description, as [`Platform::restore`] makes a new one: registers, models, memories inside,
    /// counters and event hash are those of the saved one. Time is that of the later of both. Observers stay, and are told what a reset tells
    /// them. Whoever listens to ports or has a memory behind one is to connect again.
    ///
    /// # Errors
    /// [`RestoreError`]. If [`Platform::may_take_up`] has said nothing against it, the platform is of no use then.
    pub fn take_up(&mut self, saved: &[u8]) -> Result<(), RestoreError> {
        let mut saved = Cursor::new(saved);
        let mut unpacked = unpacked(&mut saved)?;
        let mut at = Checkpoint::restore(&mut unpacked);
        at.read::<String>()?;
        let rest: Rest = at.read()?;
        self.rebuild(rest.now())?;
        self.checkpoint(&mut at)?;
        let since = self.irq().since();
        self.simulation_mut().rest_unobserved().map_err(ResumeError::from)?;
        self.irq().set_since(since);
        Ok(())
    }
}

/// Bytes on their way out, with their sum.
struct Summed<'a> {
    bytes: &'a mut dyn Write,
    sum: crc32fast::Hasher,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.bytes.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.bytes.flush()
    }
}

/// Returns a reader of what is deflated in a saved platform, which is whole.
fn unpacked<R: Read + Seek>(from: &mut R) -> Result<impl Read + use<'_, R>, RestoreError> {
    let state = check(from)?;
    from.seek(SeekFrom::Start(HEADER))?;
    Ok(DeflateDecoder::new(BufReader::new(from.take(state))))
}

/// Checks that these are the bytes of a saved platform, as they were written; tells how many of them are its state. Nothing of a damaged
/// one is believed.
fn check(from: &mut (impl Read + Seek)) -> Result<u64, RestoreError> {
    let all = from.seek(SeekFrom::End(0))?;
    from.seek(SeekFrom::Start(0))?;
    let mut header = [0; HEADER as usize];
    let magic = all.min(MAGIC.len() as u64) as usize;
    from.read_exact(&mut header[..magic])?;
    if header[..magic] != MAGIC {
        return Err(RestoreError::Foreign);
    }
    let cut_short = || RestoreError::Damaged("it is cut short".to_owned());
    let state = all.checked_sub(HEADER + SUM).ok_or_else(cut_short)?;
    from.read_exact(&mut header[magic..])?;
    let [.., low, high] = header;
    match u16::from_le_bytes([low, high]) {
        FORM => {}
        form => return Err(RestoreError::Form(form)),
    }
    let mut summed = crc32fast::Hasher::new();
    summed.update(&header);
    let (mut left, mut part) = (state, vec![0; 1 << 16]);
    while left > 0 {
        let bytes = &mut part[..left.min(1 << 16) as usize];
        from.read_exact(bytes)?;
        summed.update(bytes);
        left -= bytes.len() as u64;
    }
    let mut sum = [0; SUM as usize];
    from.read_exact(&mut sum)?;
    match summed.finalize() == u32::from_le_bytes(sum) {
        true => Ok(state),
        false => Err(RestoreError::Damaged(
            "it is cut short, or some of its bytes are not those that were written".to_owned(),
        )),
    }
}

/// Refuses a platform of another description, with the first key that differs.
fn agree(saved: &Description, here: &Description) -> Result<(), RestoreError> {
    // As it is written: values that are left out are there.
    let table = |description: &Description| {
        let text = description.to_toml();
        TomlText::parse(&text)?.read::<Table>().map_err(DescriptionError::Text)
    };
    match difference("", &Value::Table(table(saved)?), &Value::Table(table(here)?)) {
        Some((key, saved, here)) => Err(RestoreError::Other { key, saved, here }),
        None => Ok(()),
    }
}

/// The first key under which two values differ, and what they have there.
fn difference(key: &str, saved: &Value, here: &Value) -> Option<(String, String, String)> {
    let below = |part: &str| if key.is_empty() { part.to_owned() } else { format!("{key}.{part}") };
    match (saved, here) {
        (Value::Table(saved), Value::Table(here)) => {
            let only_here = here.keys().filter(|part| !saved.contains_key(*part));
            saved.keys().chain(only_here).find_map(|part| match (saved.get(part), here.get(part)) {
                (Some(saved), Some(here)) => difference(&below(part), saved, here),
                (saved, here) => {
                    let said = |value: Option<&Value>| value.map_or("not given".to_owned(), Value::to_string);
                    Some((below(part), said(saved), said(here)))
                }
            })
        }
        _ if saved == here => None,
        _ => Some((key.to_owned(), saved.to_string(), here.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(platform: &mut Platform) -> Vec<u8> {
        let mut bytes = Vec::new();
        let end = platform.simulation().now() + Time::us(100);
        platform.simulation_mut().run_until(end);
        platform.save(&mut bytes).unwrap();
        bytes
    }

    fn restored(bytes: &[u8], expected: Option<&Description>) -> Result<Platform, RestoreError> {
        Platform::restore(&mut Cursor::new(bytes), expected, MemoryBudget::unlimited())
    }

    fn small() -> (Description, Vec<u8>) {
        let description = Description::named("nv_small").unwrap();
        let mut platform = Platform::build(&description).unwrap();
        platform.memories()[0].poke(0x8000_1234, b"some bytes").unwrap();
        (description, saved(&mut platform))
    }

    fn refusal(bytes: &[u8]) -> String {
        restored(bytes, None).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn time_memory_and_statistics_come_back() {
        let (description, bytes) = small();
        let mut platform = restored(&bytes, Some(&description)).unwrap();
        assert_eq!(platform.simulation().now(), Time::us(100));
        assert_eq!(platform.memories()[0].peeked(0x8000_1234, 10).unwrap(), b"some bytes");
        assert_eq!(saved(&mut platform).len() / 100, bytes.len() / 100);
    }

    #[test]
    fn refuses_to_save_before_it_is_at_rest_and_settled() {
        let mut platform = Platform::build(&Description::named("nv_small").unwrap()).unwrap();
        platform.simulation_mut().run_until(Time::ns(1));
        let busy = platform.save(&mut Vec::new()).unwrap_err().to_string();
        assert!(busy.starts_with("the platform is not at rest: something is due at"), "{busy}");
        platform.simulation_mut().run();
        let settling = platform.save(&mut Vec::new()).unwrap_err();
        assert!(matches!(settling, SaveError::Settling(from) if from > platform.simulation().now()));
        let from = platform.settled_from();
        platform.simulation_mut().run_until(from);
        platform.save(&mut Vec::new()).unwrap();
    }

    #[test]
    fn refuses_what_is_none_is_newer_or_is_damaged() {
        let (_, bytes) = small();
        assert_eq!(refusal(b"VPIB and more"), RestoreError::Foreign.to_string());
        assert_eq!(refusal(b""), RestoreError::Foreign.to_string());
        let mut newer = bytes.clone();
        newer[4] = FORM as u8 + 1;
        assert_eq!(refusal(&newer), RestoreError::Form(FORM + 1).to_string());
        for end in [4, 5, 9, 10, 100, bytes.len() - 1] {
            assert!(refusal(&bytes[..end]).starts_with("this saved platform is damaged: "), "{end}");
        }
        for place in (6..bytes.len()).step_by(bytes.len() / 50) {
            let mut flipped = bytes.clone();
            flipped[place] ^= 0x10;
            assert!(refusal(&flipped).contains("some of its bytes are not those"), "{place}");
        }
    }

    /// Contents of a file are not believed, even if its sum is right.
    #[test]
    fn refuses_other_bytes_with_the_right_sum() {
        let (_, bytes) = small();
        let mut state = Vec::new();
        let packed = &bytes[HEADER as usize..bytes.len() - SUM as usize];
        DeflateDecoder::new(packed).read_to_end(&mut state).unwrap();
        let pack = |state: &[u8]| {
            let mut all = bytes[..HEADER as usize].to_vec();
            let mut packed = DeflateEncoder::new(&mut all, Compression::fast());
            packed.write_all(state).unwrap();
            packed.finish().unwrap();
            let sum = crc32fast::hash(&all);
            [all, sum.to_le_bytes().to_vec()].concat()
        };
        assert!(restored(&pack(&state), None).is_ok());
        for end in (0..state.len()).step_by(state.len() / 40) {
            assert!(restored(&pack(&state[..end]), None).is_err(), "cut at {end}");
        }
        // Some changes make another state; none may do harm.
        for place in (0..state.len()).step_by(state.len() / 200) {
            for value in [0xff, 0] {
                let mut other = state.clone();
                other[place] = value;
                if let Ok(mut platform) = restored(&pack(&other), None) {
                    let end = platform.simulation().now() + Time::us(1);
                    platform.simulation_mut().run_until(end);
                }
            }
        }
    }

    #[test]
    fn refuses_another_platform_with_the_key_that_differs() {
        let (description, bytes) = small();
        let other = description.with(["dbb0.read_latency=77"]).unwrap();
        let refusal = restored(&bytes, Some(&other)).map(drop).unwrap_err().to_string();
        assert!(refusal.contains("`dbb0.read_latency` is") && refusal.ends_with("77 here"), "{refusal}");
        let threads = description.with(["threads=3"]).unwrap();
        let restored = restored(&bytes, Some(&threads)).unwrap();
        assert_eq!(restored.description().to_toml(), threads.to_toml());
    }

    #[test]
    fn a_platform_takes_up_where_another_one_stood_at_the_later_of_their_times() {
        let (description, bytes) = small();
        for before in [Time::us(1), Time::us(300)] {
            let mut platform = Platform::build(&description).unwrap();
            platform.memories()[0].poke(0x8000_0000, b"others").unwrap();
            platform.simulation_mut().run_until(before);
            platform.may_take_up(&bytes).unwrap();
            platform.take_up(&bytes).unwrap();
            assert_eq!(platform.simulation().now(), before.max(Time::us(100)));
            assert_eq!(platform.memories()[0].peeked(0x8000_1234, 10).unwrap(), b"some bytes");
            assert_eq!(platform.memories()[0].peeked(0x8000_0000, 6).unwrap(), [0; 6]);
            assert_eq!(platform.event_hash(), restored(&bytes, None).unwrap().event_hash());
            // It is one that can be saved again.
            assert!(saved(&mut platform).len().abs_diff(bytes.len()) < 100);
        }
        let platform = Platform::build(&description.with(["dbb0.read_latency=77"]).unwrap()).unwrap();
        assert!(matches!(platform.may_take_up(&bytes), Err(RestoreError::Other { .. })));
        assert!(matches!(platform.may_take_up(&bytes[..100]), Err(RestoreError::Damaged(_))));
    }

    #[test]
    fn refuses_what_finds_no_memory() {
        let (_, bytes) = small();
        let within = |bytes: &[u8], limit| {
            Platform::restore(&mut Cursor::new(bytes), None, MemoryBudget::new(limit)).map(drop)
        };
        within(&bytes, 1 << 20).unwrap();
        assert!(matches!(within(&bytes, 100), Err(RestoreError::Memory(_))));
    }
}
