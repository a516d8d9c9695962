//! Logs of single simulations: every request on the memory interfaces, in order.

use super::RtlError;
use std::collections::BTreeMap;
use std::path::Path;
use vp_models::bounded_file::unpack_text_at_most;

use super::table::{Row, Setting, Table};

/// The interface, whether its requests write, and their id.
pub type Channel = (&'static str, bool, u32);

/// The requests on each channel, in order: address and bytes.
pub type Requests = BTreeMap<Channel, Vec<(u64, u32)>>;

/// Most bytes of a log, unpacked. The longest of the vendor's layers has half a megabyte.
const MOST: u64 = 64 << 20;

/// The memory under which logs were written.
const LOGGED: Setting = Setting { read_latency: 100, write_latency: 1, read_outstanding: 256 };

/// The log of a row, if there is one beside the tables in `folder`.
///
/// # Errors
/// A log that is not as its description says.
pub fn of_row(folder: &Path, table: &Table, row: &Row) -> Result<Option<Requests>, RtlError> {
    let path = folder.join("logs").join(&table.name).join(format!("{}.csv.gz", row.test));
    if row.setting != LOGGED || !path.exists() {
        return Ok(None);
    }
    read(&path).map(Some)
}

/// Reads a log: gzipped CSV of cycle, channel, address, length and id.
///
/// # Errors
/// A log that is not as its description says.
pub fn read(path: &Path) -> Result<Requests, RtlError> {
    let text = unpack_text_at_most(path, MOST).map_err(|error| RtlError::new(path, error))?;
    let mut requests = Requests::new();
    for (number, line) in text.lines().enumerate().skip(1) {
        let request = request(line);
        let wrong = || RtlError::new(path, format!("line {}: `{line}` is no transaction", number + 1));
        if let Some((channel, request)) = request.ok_or_else(wrong)? {
            requests.entry(channel).or_default().push(request);
        }
    }
    Ok(requests)
}

/// A line's request, if it is one; nothing at all if the line is not as it should be.
fn request(line: &str) -> Option<Option<(Channel, (u64, u32))>> {
    let [_, channel, address, length, id] = line.split(',').collect::<Vec<_>>()[..] else { return None };
    let (port, write) = match channel {
        "AR" => ("dbb0", false),
        "AW" => ("dbb0", true),
        "SAR" => ("sram0", false),
        "SAW" => ("sram0", true),
        _ => return Some(None),
    };
    let address = u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()?;
    Some(Some(((port, write, id.parse().ok()?), (address, length.parse().ok()?))))
}

/// Returns where two runs asked for different addresses, or in another order on the same channel.
#[must_use]
pub fn differences(model: &Requests, rtl: &Requests) -> Vec<String> {
    let channels = model.keys().chain(rtl.keys().filter(|channel| !model.contains_key(channel)));
    let difference = |channel: &Channel| {
        let of = |requests: &Requests| requests.get(channel).cloned().unwrap_or_default();
        let (ours, theirs) = (of(model), of(rtl));
        let (port, write, id) = channel;
        let name = format!("{port} {} id {id}", if *write { "writes" } else { "reads" });
        if let Some(at) = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs) {
            let (address, bytes) = ours[at];
            let (theirs, their_bytes) = theirs[at];
            let ours = format!("{bytes} bytes at {address:#x}");
            return Some(format!("{name}: request {at} is {ours}, the RTL's {their_bytes} at {theirs:#x}"));
        }
        let counts = (ours.len(), theirs.len());
        (counts.0 != counts.1).then(|| format!("{name}: {} requests, the RTL {}", counts.0, counts.1))
    };
    channels.filter_map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn only_requests_are_kept_of_a_log() {
        assert_eq!(request("12,AR,0x80000040,32,8"), Some(Some((("dbb0", false, 8), (0x8000_0040, 32)))));
        assert_eq!(request("13,CSBW,0x3010,1,0"), Some(None));
        assert_eq!(request("13,AW,80000000,1,0"), None);
    }

    #[test]
    fn a_log_that_unpacks_to_more_than_any_has_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb.csv.gz");
        let packed = std::fs::File::create(&path).unwrap();
        let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
        let line = [b'\n'; 1 << 20];
        (0..=MOST >> 20).for_each(|_| packed.write_all(&line).unwrap());
        packed.finish().unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert_eq!(error, format!("{}: it has more than {MOST} bytes", path.display()));
    }

    #[test]
    fn another_order_and_another_count_are_told() {
        let runs = |requests: &[(u64, u32)]| Requests::from([(("dbb0", false, 8), requests.to_vec())]);
        let (a, b) = ((0x40, 8), (0x48, 8));
        assert!(differences(&runs(&[a, b]), &runs(&[a, b])).is_empty());
        assert_eq!(
            differences(&runs(&[a, b]), &runs(&[b, a])),
            ["dbb0 reads id 8: request 0 is 8 bytes at 0x40, the RTL's 8 at 0x48"]
        );
        assert_eq!(differences(&Requests::new(), &runs(&[a])), ["dbb0 reads id 8: 0 requests, the RTL 1"]);
    }
}
