//! Reports to a person: lines on standard error, as QEMU itself does.

use std::any::Any;
use std::fmt;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Prints one line.
pub(crate) fn say(line: impl fmt::Display) {
    // Whoever closed standard error does not want to know.
    _ = writeln!(std::io::stderr().lock(), "vp: {line}");
}

/// Runs what QEMU called. A panic must not run into C: it is told, and `otherwise` is the answer.
pub(crate) fn guarded<T>(what: &str, otherwise: T, body: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => value,
        Err(panic) => {
            say(format_args!("a fault of the plugin's own in {what}: {}", reason(&*panic)));
            otherwise
        }
    }
}

fn reason(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_the_other_answer() {
        assert_eq!(guarded("a test", 7, || 1), 1);
        assert_eq!(guarded("a test", 7, || panic!("expected in this test")), 7);
    }
}
