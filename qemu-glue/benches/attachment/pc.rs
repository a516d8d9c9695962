//! Register accesses of a PC's guest without an operating system: of the plug-in's function and of the one over vfio-user, by TCG and, where
//! it runs such a guest, by KVM.

use std::time::Duration;

use vp_models::nvdla::registers::RegisterMap;

use crate::machine::{Accelerator, Kind, Setup, can_run_on, can_run_vfio_user};
use crate::script::Script;
use crate::served::Served;
use crate::{Rounds, line, microseconds};

const TURNS: usize = 9;
const ACCESSES: u32 = 5000;
const REGISTER: &str = "GLB.S_INTR_STATUS";

pub(crate) fn measure() {
    let what = "register accesses of a PC's guest";
    if !can_run_on(Kind::Function, what) {
        return;
    }
    let has_vfio_user = can_run_vfio_user(Kind::Function, what);
    line(&format!("{what}: µs each, median and least of {TURNS} turns of {ACCESSES}"));
    let mut accelerators = vec![Accelerator::Tcg];
    match Accelerator::Kvm.runs_bare_guests() {
        Ok(()) => accelerators.push(Accelerator::Kvm),
        Err(why) => line(&format!("  without KVM: {why}")),
    }
    let ways = accelerators.iter().flat_map(|accelerator| [(*accelerator, false), (*accelerator, true)]);
    let mut ways: Vec<_> = ways
        .filter(|(_, is_vfio_user)| !is_vfio_user || has_vfio_user)
        .map(|way| (way, Rounds::default(), Rounds::default()))
        .collect();
    for _ in 0..TURNS {
        for (way, reads, writes) in &mut ways {
            let [read, write] = turn(*way);
            reads.add(read / ACCESSES);
            writes.add(write / ACCESSES);
        }
    }
    for ((accelerator, is_vfio_user), reads, writes) in &ways {
        let name = if *is_vfio_user { "vfio-user" } else { "plug-in" };
        let of = |rounds: &Rounds| {
            format!("{:.2} ({:.2})", microseconds(rounds.median()), microseconds(rounds.least()))
        };
        line(&format!("  {accelerator:?}, {name}: reads {}, posted writes {}", of(reads), of(writes)));
    }
}

/// Times of the guest's reads and writes.
fn turn((accelerator, is_vfio_user): (Accelerator, bool)) -> [Duration; 2] {
    let server = Served::over_vfio_user("nv_small");
    let script = Script::new(RegisterMap::Small).reads(REGISTER, ACCESSES).write_often(REGISTER, ACCESSES);
    let setup = Setup::pc(script, "").args(accelerator.args());
    let setup = match &server.vfio_user {
        Some(address) if is_vfio_user => setup.vfio_user(2100, address),
        _ => setup.connect(&server.address),
    };
    let said = setup.start().says();
    let time = |word: &str| {
        let time = said.iter().find_map(|said| said.strip_prefix(word)?.trim().parse().ok());
        Duration::from_nanos(time.unwrap_or_else(|| panic!("no {word}: {said:?}")))
    };
    [time("reads"), time("writes")]
}
