//! Registers that a trace writes, in the order of its script.

use super::log::LogCommand;
use super::recording::RecordedCommand;
use super::sc_log::ScCommand;
use super::{Body, Trace};
use crate::trace::{cfg::CfgCommand, txn::TxnCommand};
use vp_models::nvdla::registers::{Located, RegisterMap};

impl Trace {
    /// The registers that it writes and what it writes to them, in the order of the script. Writes to where the map has no register
    /// are left out; a loadable
    /// has none, its driver writes them.
    #[must_use]
    pub fn register_writes(&self, map: RegisterMap) -> Vec<(Located, u32)> {
        let named = |name: &str, value| map.find(name).ok().map(|located| (located, value));
        let at = |address, value| map.at(address).map(|located| (located, value));
        match self.body() {
            Body::Cfg(lines) => {
                let writes = lines.iter().filter_map(|line| match &line.command {
                    CfgCommand::RegWrite { register, value } => named(register.as_str(), *value),
                    _ => None,
                });
                writes.collect()
            }
            Body::Txn { lines, .. } => {
                let writes = lines.iter().filter_map(|line| match line.command {
                    TxnCommand::WriteReg { address, value } => at(address, value),
                    _ => None,
                });
                writes.collect()
            }
            Body::Recording { lines, .. } => {
                let writes = lines.iter().filter_map(|line| match line.command {
                    RecordedCommand::Write { address, value } => at(address, value),
                    _ => None,
                });
                writes.collect()
            }
            Body::Log(lines) => {
                let writes = lines.iter().filter_map(|line| match line.command {
                    LogCommand::Write { address, value, .. } => at(address, value),
                    _ => None,
                });
                writes.collect()
            }
            Body::ScLog(log) => {
                let writes = log.lines.iter().filter_map(|line| match line.command {
                    ScCommand::Write { address, value } => at(address, value),
                    _ => None,
                });
                writes.collect()
            }
            Body::Loadable { .. } => Vec::new(),
        }
    }
}
