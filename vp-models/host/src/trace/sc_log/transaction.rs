//! A line of an adaptor's: the transaction that it tells (nvdla/vp, `models/nvdla/src/adaptors/gp2str.cpp`).

use crate::Memory;
use crate::trace::error::clip;

/// The port that a transaction went over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Port {
    /// CSB.
    Registers,
    /// A memory interface of the device.
    Memory(Memory),
}

/// A read or a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Transaction {
    /// Port over which it goes.
    pub(super) port: Port,
    /// True if it is a write.
    pub(super) is_write: bool,
    /// Address of the first byte.
    pub(super) address: u64,
    /// The bytes in the order of their addresses; none for one that was not enabled.
    pub(super) bytes: Vec<Option<u8>>,
}

/// The adaptors' names, with the ports they are at.
const ADAPTORS: [(&str, Port); 3] = [
    ("csb_adaptor: GP: ", Port::Registers),
    ("dbb_adaptor: GP: ", Port::Memory(Memory::Primary)),
    ("sram_adaptor: GP: ", Port::Memory(Memory::Secondary)),
];

impl Transaction {
    /// Reads a line; none if it is no adaptor's.
    ///
    /// # Errors
    /// It is an adaptor's, and tells no transaction that was served.
    pub(super) fn parse(line: &[u8]) -> Result<Option<Transaction>, String> {
        let Ok(line) = std::str::from_utf8(line) else { return Ok(None) };
        let found = ADAPTORS.iter().find_map(|&(name, port)| Some((port, line.split_once(name)?.1)));
        let Some((port, text)) = found else { return Ok(None) };
        let text = text.trim_end();
        let wrong = || {
            let shape = "iswrite=1 addr=0x3010 len=4 data=0x 00000001 resp=TLM_OK_RESPONSE";
            format!("expected a transaction such as `{shape}`, found `{}`", clip(text))
        };
        let (head, data) = text.split_once(" data=0x").ok_or_else(wrong)?;
        let (data, response) = data.split_once(" resp=").ok_or_else(wrong)?;
        let mut head = head.split(' ');
        let mut field = |name: &str| head.next()?.strip_prefix(name)?.strip_prefix('=');
        let fields = (field("iswrite"), field("addr"), field("len"));
        let (Some(is_write @ ("0" | "1")), Some(address), Some(length)) = fields else { return Err(wrong()) };
        let address = address.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let (address, length) = (address.ok_or_else(wrong)?, length.parse::<usize>().map_err(|_| wrong())?);
        if response != "TLM_OK_RESPONSE" {
            return Err(format!(
                "the access to {address:#x} failed in the virtual platform: {}",
                clip(response)
            ));
        }
        let mut bytes = Vec::with_capacity(length.min(data.len()));
        let words = data.split(' ').filter(|word| !word.is_empty());
        words.map(|word| read_word(word, &mut bytes)).collect::<Option<()>>().ok_or_else(wrong)?;
        let fits = address.checked_add(length as u64).is_some();
        if bytes.len() != length || length == 0 || !fits {
            return Err(wrong());
        }
        Ok(Some(Transaction { port, is_write: is_write == "1", address, bytes }))
    }
}

/// Appends the bytes of a word: a number of 32 bits, or single bytes with `_` between them, `XX` for one that is not enabled.
fn read_word(text: &str, bytes: &mut Vec<Option<u8>>) -> Option<()> {
    let hex = |text: &str| u32::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'));
    if text.len() == 8 && !text.contains('_') {
        bytes.extend(hex(text)?.to_le_bytes().map(Some));
        return Some(());
    }
    for text in text.split('_') {
        bytes.push(match text {
            "XX" => None,
            _ if text.len() == 2 => Some(hex(text)? as u8),
            _ => return None,
        });
    }
    Some(())
}
