//! Register writes on every built-in platform: programs near legal ones, and any words in any registers ([`mutation`]).
//!
//! A case: a byte for the platform, one for the kind; a program's seed, or writes of six bytes each.

use vp_models::platform::Description;

use super::{Choices, Form};
use crate::mutation;
use crate::progress::Progress;

/// Form of the target's cases.
pub const FORM: Form = Form::Bytes;

/// Writes of a case: what comes behind them adds nothing.
const MOST: usize = 2000;

/// Runs a case; tells how many registers were written.
///
/// # Panics
/// When the platform does.
pub fn run(case: &[u8]) -> u64 {
    let mut choices = Choices::new(case);
    let names = [Description::NAMES, Description::OTHER_NAMES].concat();
    let platform = names[usize::from(choices.byte()) % names.len()];
    let progress = Progress::of_thread();
    match choices.byte() & 3 {
        0 => mutation::run(platform, choices.u64(), &progress),
        _ => {
            let writes = std::iter::from_fn(|| (!choices.is_empty()).then(|| (choices.u16(), choices.u32())));
            mutation::write_any(platform, writes.take(MOST), &progress)
        }
    }
}
