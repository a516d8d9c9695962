//! The hub's inputs, from parties and partners that do as a case says: no panic, and the recording runs again to the same outputs
//! and event hash.
//!
//! A case: two bytes (the seed of platform and layer, how time moves), then acts.

use vp_hub::TimeMode;

use super::{Choices, Form};
use crate::progress::Progress;
use crate::stage::{Act, Stage};

/// Form of the target's cases.
pub const FORM: Form = Form::Bytes;

/// Acts of a case: what comes behind them adds nothing.
const MOST: usize = 400;

/// Runs a case; tells how many inputs the hub took.
///
/// # Panics
/// When the hub does, or when its recording runs to something else.
pub fn run(case: &[u8]) -> u64 {
    let mut choices = Choices::new(case);
    let seed = u64::from(choices.byte());
    let mode = if choices.byte() & 1 == 0 { TimeMode::Lockstep } else { TimeMode::Free };
    let mut stage = Stage::new(seed, mode);
    let progress = Progress::of_thread();
    for _ in 0..MOST {
        if choices.is_empty() {
            break;
        }
        stage.act(act(&mut choices));
        progress.step();
    }
    stage.finish();
    progress.step();
    stage.check_replay();
    stage.recording.borrow().len() as u64
}

fn act(choices: &mut Choices<'_>) -> Act {
    let (kind, who) = (choices.byte(), choices.byte());
    let (party, port, flag) = (1 + who % 3, who >> 2 & 3, who & 0x80 != 0);
    match kind % 32 {
        0 | 1 => Act::Enter(party),
        2 => Act::Leave(party),
        3..6 => Act::Attach(party, port, who >> 4 & 3, flag),
        6 => Act::Detach(party, port),
        7..11 => Act::Program(party, 1 + choices.byte() % 40, flag),
        11 | 12 => Act::Read(party, choices.u16()),
        13 | 14 => Act::Advance(party, port, choices.u16()),
        15 => Act::Step(party, choices.u16()),
        16 => Act::Debug(party, choices.u16(), flag),
        17 => Act::Scheduled(party, choices.u16()),
        18 if flag => Act::Inject(party, who >> 2 & 15, choices.u16()),
        18 => Act::Reset(party),
        19..22 => Act::Answer(1 + choices.byte() % 50, who.is_multiple_of(16)),
        22..26 => Act::Run(choices.u16() % 2000),
        26 => Act::Clock(party, flag, choices.byte()),
        30 => Act::Debugger(choices.byte(), choices.u16()),
        27 | 28 => Act::Drive(party, port, choices.byte(), choices.byte(), choices.u32()),
        29 => Act::Beside(party, choices.u16(), flag),
        _ => Act::Promise(party, who >> 4 & 3, choices.u16()),
    }
}
