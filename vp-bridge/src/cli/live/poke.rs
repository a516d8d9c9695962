//! `vp poke`: sets bytes of a served platform's memory, or one of its registers.

use super::super::{Failure, Verdict, standard};
use super::memory::memory_port;
use super::{LookArgs, device_registers, number};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use vp_client::native::Port;

#[derive(Debug, clap::Args)]
pub(in super::super) struct Args {
    /// Register and value, `SDP.S_POINTER=1` or `SDP.S_POINTER.PRODUCER=1`, written at once as a CPU would; or a memory's port, `dbb0`
    what: String,

    /// Address of the first byte in the memory
    #[arg(value_parser = number)]
    address: Option<u64>,

    /// Bytes in hexadecimal, such as `01020304` or `01 02 03 04`
    bytes: Vec<String>,

    #[command(flatten)]
    look: LookArgs,

    /// File with the bytes to write
    #[arg(long, value_name = "FILE", conflicts_with = "bytes")]
    file: Option<PathBuf>,
}

pub(in super::super) fn main(args: &Args) -> Result<Verdict, Failure> {
    match (args.what.contains('='), args.address) {
        (true, None) => poke_register(args),
        (false, Some(address)) => poke_memory(args, address),
        (true, Some(_)) => Err(Failure::new("a register's value has no address behind it")),
        (false, None) => {
            let right = "write `vp poke REGISTER=VALUE`, or `vp poke PORT ADDRESS BYTES`";
            Err(Failure::new(format!("`{}` is not to be set like that", args.what)).hint(right))
        }
    }
}

fn poke_register(args: &Args) -> Result<Verdict, Failure> {
    let mut look = args.look.which.look(&args.look.connect)?;
    let (registers, port) = device_registers(&mut look)?;
    let assignment = registers.assignment(&args.what).map_err(Failure::new)?;
    let address = u64::from(assignment.register.address);
    let present = match assignment.keeps_bits() {
        true => look.peek_registers(port, address, 1, None).map_err(Failure::new)?,
        false => Vec::new(),
    };
    let word = assignment.word(registers.family(), present.first().copied().unwrap_or(0));
    look.poke_register(port, address, word).map_err(Failure::new)?;
    Ok(Verdict::Right)
}

/// Most bytes of a file that are set at once.
const MOST_BYTES: u64 = 1 << 32;
/// Most bytes that are set at once of what does not say how long it is, such as a pipe: it may have no end.
const MOST_OF_PIPE: u64 = 1 << 30;

fn poke_memory(args: &Args, address: u64) -> Result<Verdict, Failure> {
    let given = bytes_of(&args.bytes.concat().replace(char::is_whitespace, ""))?;
    if given.is_empty() && args.file.is_none() {
        return Err(no_bytes());
    }
    let mut look = args.look.which.look(&args.look.connect)?;
    let port = memory_port(&look, &args.what)?;
    let room = look.ports().find(|(id, _)| *id == port).map_or(0, |(_, memory)| room(memory, address));
    let bytes = match &args.file {
        Some(path) => read(path, room, &args.what)?,
        None => given,
    };
    if bytes.is_empty() {
        return Err(no_bytes());
    }
    look.write_memory(port, address, &bytes).map_err(Failure::new)?;
    Ok(Verdict::Right)
}

fn no_bytes() -> Failure {
    Failure::new("no bytes to write").hint("name them in hexadecimal, or a file: --file FILE")
}

/// Bytes of a memory from an address on.
fn room(memory: &Port, address: u64) -> u64 {
    address.checked_sub(memory.base).map_or(0, |offset| memory.size.saturating_sub(offset))
}

/// The bytes of a file for a memory that has so many from where they go. What is longer is not read.
fn read(path: &Path, room: u64, memory: &str) -> Result<Vec<u8>, Failure> {
    let most = if path.is_file() { MOST_BYTES } else { MOST_OF_PIPE };
    standard::read("--file", path, most.min(room)).map_err(|error| {
        let what = match error.kind() {
            ErrorKind::FileTooLarge if room < most => {
                format!("{}: {memory} has only {room} bytes from there on", path.display())
            }
            _ => format!("cannot read {}: {error}", path.display()),
        };
        Failure::new(what)
    })
}

fn bytes_of(text: &str) -> Result<Vec<u8>, Failure> {
    let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    let byte = |pair: &[u8]| {
        u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok().filter(|_| pair.len() == 2)
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    bytes.ok_or_else(|| {
        Failure::new(format!("`{text}` is no bytes: two hexadecimal digits each, such as 01ff"))
    })
}
