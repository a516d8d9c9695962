//! Costs of the attachment: registers and memory over each transport beside the bare transport, and a guest's boot beside
//! QEMU alone.
//!
//! ```text
//! cargo bench -p vp-qemu --bench attachment            everything
//! cargo bench -p vp-qemu --bench attachment registers  one part: registers, guests, pc, tls, memory or boot
//! ```
//!
//! Every figure is the median of several rounds, with the least beside it; what is compared takes turns, so that a busy
//! host disturbs all alike. Both ends of an echo look for 50 µs before they sleep, as both ends of a session do.

mod boot;
mod cores;
mod echo;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/guest/lab.rs"]
mod lab;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/guest/linux.rs"]
mod linux;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/guest/machine.rs"]
mod machine;
mod memory;
mod pc;
mod registers;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/guest/script.rs"]
mod script;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/guest/served.rs"]
mod served;
mod tls;

use std::fmt;
use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Choice of [`served`]: recorded, an access takes up to ten times as long.
const RECORDS_PLATFORMS: bool = false;

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    match &wanted[..] {
        [word, near] if word == echo::AT_TCP => {
            let far = TcpStream::connect(near).expect("the near end");
            far.set_nodelay(true).expect("an option");
            return echo::serve(far);
        }
        [word, near] if word == echo::AT_UNIX => {
            return echo::serve(UnixStream::connect(near).expect("the near end"));
        }
        _ => {}
    }
    let parts: [(&str, fn()); 6] = [
        ("registers", registers::clients),
        ("guests", registers::guests),
        ("pc", pc::measure),
        ("tls", tls::measure),
        ("memory", memory::measure),
        ("boot", boot::measure),
    ];
    for (name, measure) in parts {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            measure();
        }
    }
}

/// Prints a line.
fn line(text: &str) {
    // Whoever closed standard output does not want to know.
    _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Durations of several rounds.
#[derive(Debug, Clone, Default)]
struct Rounds(Vec<Duration>);

impl Rounds {
    fn add(&mut self, round: Duration) {
        self.0.push(round);
        self.0.sort_unstable();
    }

    fn median(&self) -> Duration {
        self.0.get(self.0.len() / 2).copied().unwrap_or_default()
    }

    fn least(&self) -> Duration {
        self.0.first().copied().unwrap_or_default()
    }
}

/// Times of an echo in several turns, and of what was done beside it.
#[derive(Debug, Clone, Default)]
struct Pairs {
    echoes: Rounds,
    taken: Rounds,
    ratios: Vec<f64>,
}

impl Pairs {
    fn add(&mut self, echo: Duration, taken: Duration) {
        self.echoes.add(echo);
        self.taken.add(taken);
        self.ratios.push(times(taken, echo));
        self.ratios.sort_unstable_by(f64::total_cmp);
    }

    /// The median of the pairs' ratios.
    fn ratio(&self) -> f64 {
        self.ratios.get(self.ratios.len() / 2).copied().unwrap_or_default()
    }
}

impl fmt::Display for Pairs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pairs { echoes, taken, .. } = self;
        for rounds in [echoes, taken] {
            let (median, least) = (microseconds(rounds.median()), microseconds(rounds.least()));
            write!(formatter, "{median:6.2} ({least:5.2})  ")?;
        }
        write!(formatter, "{:8.2}x  {:9.2}x", self.ratio(), times(taken.least(), echoes.least()))
    }
}

/// Returns how many times as long the first takes as the second.
fn times(this: Duration, other: Duration) -> f64 {
    this.as_secs_f64() / other.as_secs_f64().max(1e-12)
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
