//! The payload of a statistics report: counters, one after the other, each in postcard.
//!
//! Reports may be long, so they travel as payload and in pieces. The report gives the number of counters and
//! how many it holds; the client asks again from there.

use bytes::BytesMut;

use super::{Counter, FrameRule, Malformed, frame::append, printable};

/// Packs as many counters, in order, as fit `limit` bytes. Returns the payload and their number.
pub fn emit_counters<'a>(counters: impl IntoIterator<Item = &'a Counter>, limit: usize) -> (BytesMut, u32) {
    let mut payload = BytesMut::new();
    let mut count = 0;
    for counter in counters {
        let before = payload.len();
        append(counter, &mut payload);
        if payload.len() > limit {
            payload.truncate(before);
            break;
        }
        count += 1;
    }
    (payload, count)
}

/// Reads the `count` counters that are a payload.
///
/// # Errors
/// [`FrameRule::BadCounters`] at the payload's byte offset, when there are more, fewer or other bytes.
pub fn parse_counters(payload: &[u8], count: u32) -> Result<Vec<Counter>, Malformed> {
    let mut rest = payload;
    let refuse = |rest: &[u8]| Malformed { offset: payload.len() - rest.len(), rule: FrameRule::BadCounters };
    let mut counters = Vec::new();
    for _ in 0..count {
        let (mut counter, behind) = postcard::take_from_bytes(rest).map_err(|_| refuse(rest))?;
        printable::counter(&mut counter);
        counters.push(counter);
        rest = behind;
    }
    if rest.is_empty() { Ok(counters) } else { Err(refuse(rest)) }
}

#[cfg(test)]
mod tests {
    use super::super::CounterValue;
    use super::*;

    fn counters() -> Vec<Counter> {
        let counter = |name: &str, unit: &str, value| Counter { name: name.into(), unit: unit.into(), value };
        vec![
            counter("dbb0.read.bytes", "bytes", CounterValue::Count(4096)),
            counter("dbb0.read.utilisation", "%", CounterValue::Real(37.5)),
            counter("pdp.state", "", CounterValue::Text("idle".into())),
        ]
    }

    #[test]
    fn counters_come_back_as_they_went() {
        let (payload, count) = emit_counters(&counters(), 1024);
        assert_eq!(count, 3);
        assert_eq!(parse_counters(&payload, count).unwrap(), counters());
    }

    #[test]
    fn a_report_holds_only_whole_counters_within_its_limit() {
        let (whole, _) = emit_counters(&counters(), usize::MAX);
        for limit in 0..=whole.len() {
            let (payload, count) = emit_counters(&counters(), limit);
            assert!(payload.len() <= limit);
            assert_eq!(parse_counters(&payload, count).unwrap(), counters()[..count as usize]);
        }
    }

    #[test]
    fn refuses_more_or_fewer_bytes_than_the_counters_need() {
        let (payload, _) = emit_counters(&counters(), 1024);
        assert_eq!(parse_counters(&payload, 2).unwrap_err().rule, FrameRule::BadCounters);
        assert_eq!(parse_counters(&payload, 4).unwrap_err().rule, FrameRule::BadCounters);
        assert_eq!(parse_counters(&payload, u32::MAX).unwrap_err().rule, FrameRule::BadCounters);
    }
}
