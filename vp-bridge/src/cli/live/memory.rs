//! `vp peek`: bytes of a served platform's memory.

use super::super::{Failure, Verdict};
use super::{LookArgs, ObserverSession, number};
use crate::cli::out;
use std::io::Write;
use std::path::PathBuf;
use vp_client::native::{PortId, PortKind};
use vp_observers::WholeFile;

/// Bytes that are shown on a terminal, at most.
const MOST_SHOWN: u64 = 1 << 20;
/// Bytes that are read for a file at once.
const PIECE: usize = 16 << 20;

#[derive(Debug, clap::Args)]
pub(in super::super) struct Args {
    /// Port of the memory: `dbb0` or `sram0`
    port: String,

    /// Address of the first byte
    #[arg(value_parser = number)]
    address: u64,

    /// Number of bytes
    #[arg(value_parser = number, default_value = "256")]
    length: u64,

    #[command(flatten)]
    look: LookArgs,

    /// Write the bytes to a file, in place of showing them
    #[arg(long, value_name = "FILE", value_parser = crate::cli::standard::named())]
    out: Option<PathBuf>,
}

/// The memory port of that name.
pub(super) fn memory_port(look: &ObserverSession, name: &str) -> Result<PortId, Failure> {
    let memories = || look.ports().filter(|(_, port)| port.kind == PortKind::Axi);
    let found = memories().find(|(_, port)| port.name == name);
    found.map(|(id, _)| id).ok_or_else(|| {
        let names: Vec<&str> = memories().map(|(_, port)| port.name.as_str()).collect();
        Failure::new(format!("the platform has no memory `{name}`: it has {}", names.join(", ")))
    })
}

pub(in super::super) fn main(args: &Args) -> Result<Verdict, Failure> {
    let mut look = args.look.which.look(&args.look.connect)?;
    let port = memory_port(&look, &args.port)?;
    match &args.out {
        Some(path) => {
            let mut file = WholeFile::create(path)?;
            let (mut at, mut left) = (args.address, args.length);
            while left > 0 {
                let mut bytes = vec![0; usize::try_from(left).unwrap_or(PIECE).min(PIECE)];
                look.read_memory(port, at, &mut bytes).map_err(Failure::new)?;
                file.write_all(&bytes)?;
                (at, left) = (at.wrapping_add(bytes.len() as u64), left - bytes.len() as u64);
            }
            file.keep()?;
        }
        None if args.length > MOST_SHOWN => {
            let what = format!("{} bytes are more than anybody reads: at most {MOST_SHOWN}", args.length);
            return Err(Failure::new(what).hint("write them to a file: --out FILE"));
        }
        None => {
            let mut bytes = vec![0; usize::try_from(args.length).unwrap_or_default()];
            look.read_memory(port, args.address, &mut bytes).map_err(Failure::new)?;
            write_dump(&mut out::stdout(), args.address, &bytes)?;
        }
    }
    Ok(Verdict::Right)
}

/// 16 bytes a line, with what of them is text.
pub(in super::super) fn write_dump(out: &mut impl Write, from: u64, bytes: &[u8]) -> std::io::Result<()> {
    for (line, bytes) in bytes.chunks(16).enumerate() {
        let address = from.wrapping_add(16 * line as u64);
        let digits: Vec<String> = bytes
            .chunks(8)
            .map(|half| half.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "))
            .collect();
        let text: String =
            bytes.iter().map(|&byte| if (0x20..0x7f).contains(&byte) { byte as char } else { '.' }).collect();
        writeln!(out, "{address:#010x}  {:<48}  {text}", digits.join("  "))?;
    }
    Ok(())
}
