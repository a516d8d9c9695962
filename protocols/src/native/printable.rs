//! Text of a peer is made safe for a terminal and a log on receipt: [`Connection`](super::Connection) and
//! [`parse_counters`](super::statistics::parse_counters) pass on no character that [`is_unfit`](vp_types::printable::is_unfit). With these a peer could
//! move the cursor, hide or change the output of others, turn lines round, or forge them.

use vp_types::printable::{lines, one_line};

use super::{
    BreakOn, Counter, CounterValue, DebugEvent, Device, Event, Notice, Reply, StopReport, Welcome, Why,
};

/// Replaces characters that are unfit, except line ends and tabs, by `?`.
pub(super) fn in_lines(text: &mut String) {
    *text = lines(text).into_owned();
}

/// Replaces characters that are unfit by `?`.
pub(super) fn in_one_line(text: &mut String) {
    *text = one_line(text).into_owned();
}

/// Makes the texts of an event safe for people: `fit` is [`in_lines`] for a client, which shows several lines,
/// and [`in_one_line`] for a server's log. A hello is not changed: it may be refused because of its contents.
pub(super) fn event(event: &mut Event, fit: fn(&mut String)) {
    match event {
        Event::Welcome(welcome) => greeting(welcome),
        Event::Refused(refused) => fit(&mut refused.reason),
        Event::Bye(bye) => fit(&mut bye.reason),
        Event::Reply { reply: Reply::Failed { reason, .. }, .. } => fit(reason),
        Event::Reply { reply: Reply::Reached { why: Why::Deadlock { report } }, .. } => fit(report),
        Event::Notice(Notice::Warning { text, .. } | Notice::MarkedWarning { text, .. }) => fit(text),
        Event::Notice(Notice::Stopped(report)) | Event::Reply { reply: Reply::Stopped(report), .. } => {
            stop_report(report);
        }
        Event::Reply { reply: Reply::DebugState(state), .. } => {
            state.stopped.iter_mut().for_each(stop_report);
            for set in &mut state.breakpoints {
                if let BreakOn::Layer { unit, .. } = &mut set.breakpoint.on {
                    in_one_line(unit);
                }
            }
        }
        _ => {}
    }
}

fn stop_report(report: &mut StopReport) {
    for hit in &mut report.hits {
        if let DebugEvent::Layer { unit, label, .. } = &mut hit.seen {
            [unit, label].into_iter().for_each(in_one_line);
        }
    }
}

fn greeting(Welcome { agent, platform, ports, device, .. }: &mut Welcome) {
    [agent, platform].into_iter().for_each(in_one_line);
    ports.iter_mut().for_each(|port| in_one_line(&mut port.name));
    if let Some(Device { kind, compatible, register_map }) = device {
        in_one_line(kind);
        compatible.iter_mut().chain(register_map).for_each(in_one_line);
    }
}

/// Makes fit what people may be shown of a counter.
pub(super) fn counter(Counter { name, unit, value }: &mut Counter) {
    [name, unit].into_iter().for_each(in_one_line);
    if let CounterValue::Text(text) = value {
        in_lines(text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bye, DebugState, ErrorCode, Hit, RequestId, SessionId, StopWhy, Time, WarningMarks};
    use super::*;
    use bytes::Bytes;

    /// Clears the screen, names the window, a C1 control sequence, a line that is turned round, and one that begins; then what is no harm.
    const TEXT: &str = "a\u{1b}[2J\u{1b}]0;b\u{7}\u{9b}1mc\u{202e}\u{2028}\r\n\td é";
    const LINES: &str = "a?[2J?]0;b??1mc???\n\td é";

    #[test]
    fn no_event_shows_control_characters_to_people() {
        let text = || TEXT.to_owned();
        let (id, time) = (RequestId(1), Time::ZERO);
        let reply = |reply| Event::Reply { id, time, reply, payload: Bytes::new() };
        let events = [
            Event::Bye(Bye { code: None, reason: text() }),
            Event::Notice(Notice::Warning { time, text: text() }),
            Event::Notice(Notice::MarkedWarning { time, marks: WarningMarks::REFUSED, text: text() }),
            reply(Reply::Failed { code: ErrorCode::Internal, reason: text() }),
            reply(Reply::Reached { why: Why::Deadlock { report: text() } }),
        ];
        let seen = DebugEvent::Layer { end: true, unit: text(), number: 0, label: text() };
        let hits = vec![Hit { breakpoint: None, time, seen }];
        let report = StopReport { by: SessionId(1), time, why: StopWhy::Stepped, hits };
        let state = DebugState { stopped: Some(report.clone()), breakpoints: Vec::new() };
        let stops = [
            Event::Notice(Notice::Stopped(Box::new(report.clone()))),
            reply(Reply::Stopped(Box::new(report))),
            reply(Reply::DebugState(Box::new(state))),
        ];
        let line = LINES.replace(['\n', '\t'], "?");
        for (fit, fitting) in [(in_lines as fn(&mut String), LINES), (in_one_line, &line)] {
            for mut shown in events.clone() {
                event(&mut shown, fit);
                let shown = format!("{shown:?}");
                assert!(shown.contains(&format!("{fitting:?}")), "{shown}");
            }
        }
        for mut shown in stops {
            event(&mut shown, in_lines);
            let shown = format!("{shown:?}");
            assert_eq!(shown.matches(&format!("{line:?}")).count(), 2, "{shown}");
        }
    }

    #[test]
    fn names_of_counters_have_one_line_and_their_texts_may_have_several() {
        let text = || TEXT.to_owned();
        let mut shown = Counter { name: text(), unit: text(), value: CounterValue::Text(text()) };
        counter(&mut shown);
        let line = LINES.replace(['\n', '\t'], "?");
        let expected =
            Counter { name: line.clone(), unit: line, value: CounterValue::Text(LINES.to_owned()) };
        assert_eq!(shown, expected);
    }
}
