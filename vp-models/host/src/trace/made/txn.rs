//! Steps as a `.txn` script.

use std::collections::BTreeMap;
use std::path::PathBuf;

use vp_models::nvdla::registers::{RegisterMap, Unit, glb};

use super::super::txn::{Plusargs, Relation, Transfer, TxnCommand};
use super::super::{Body, Line, Surface, Trace, check};
use super::{Bytes, MOST_FILE, MadeError, Step};

/// Reads of a register that is polled: as many as the vendor's bench takes.
const RETRIES: u32 = 100_000;
/// File of zeros, of which each command takes as many as it wants.
const ZEROS: &str = "zeros.dat";

struct Script {
    lines: Vec<Line<TxnCommand>>,
    surfaces: BTreeMap<String, Surface>,
    zeros: usize,
}

pub(super) fn made(name: &str, steps: Vec<Step>, map: RegisterMap) -> Result<Trace, MadeError> {
    let mut script = Script { lines: Vec::new(), surfaces: BTreeMap::new(), zeros: 0 };
    let status = map.address(Unit::Glb, glb::S_INTR_STATUS).unwrap_or_default();
    let poll = |address, mask, relation, value| TxnCommand::ReadReg {
        address,
        mask,
        relation,
        value,
        retries: None,
    };
    for step in steps {
        match step {
            Step::Load(bytes) => script.transfer("load", &bytes, TxnCommand::LoadMem),
            Step::Fetch(bytes) => script.transfer("left", &bytes, TxnCommand::DumpMem),
            Step::Write { address, value } => script.push(TxnCommand::WriteReg { address, value }),
            Step::Flushed { address } => script.push(poll(address, 1, Relation::Equal, 1)),
            Step::Room { address } => script.push(poll(address, 0xff, Relation::AtLeast, 1)),
            Step::Taken { bits } => {
                script.push(TxnCommand::Wait);
                script.push(poll(status, bits, Relation::Equal, bits));
                script.push(TxnCommand::WriteReg { address: status, value: bits });
                // Behind a posted write the line is high for some cycles more, in which the next wait would end.
                script.push(poll(status, bits, Relation::Equal, 0));
            }
        }
    }
    if script.zeros > 0 {
        script.surfaces.insert(ZEROS.to_owned(), Surface::from_bytes(vec![0; script.zeros]));
    }
    let plusargs = Plusargs { read_reg_poll_retries: Some(RETRIES), continue_on_fail: false };
    let body = Body::Txn { lines: script.lines, plusargs, doubtful: None };
    let trace =
        Trace { name: name.to_owned(), script: PathBuf::from("input.txn"), body, surfaces: script.surfaces };
    check::check(&trace)?;
    Ok(trace)
}

impl Script {
    fn push(&mut self, command: TxnCommand) {
        let number = u32::try_from(self.lines.len()).map_or(u32::MAX, |lines| lines.saturating_add(1));
        self.lines.push(Line { number, command });
    }

    /// Commands for bytes, in whole lines, and their files.
    fn transfer(&mut self, name: &str, bytes: &Bytes, command: fn(Transfer) -> TxnCommand) {
        let (first, bytes) = bytes.lines();
        let is_zero = bytes.iter().all(|byte| *byte == 0);
        for (address, part) in (first..).step_by(MOST_FILE).zip(bytes.chunks(MOST_FILE)) {
            let size = part.len() as u64;
            let file = if is_zero {
                self.zeros = self.zeros.max(part.len());
                ZEROS.to_owned()
            } else {
                let file = format!("{name}_{}.dat", self.surfaces.len());
                self.surfaces.insert(file.clone(), Surface::from_bytes(part));
                file
            };
            self.push(command(Transfer { address, size, file }));
        }
    }
}
