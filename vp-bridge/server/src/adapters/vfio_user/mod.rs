//! vfio-user: the platform's device as a PCI function of a hypervisor's guest, whose memory it reads and writes.
//!
//! Commands are carried out in the order in which they come. Accesses to registers may be under way together, because the hub keeps their
//! order; each other command waits until those before it are done.

mod features;
mod function;
mod interrupts;
mod memory;
mod registers;
mod state;
mod tasks;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use vp_core::Time;
use vp_hub::{Completion, Failure, FailureKind, Input, Output, PartyCommand, PortId, Role, Tag};
use vp_models::platform::{PortKind, SaveError};
use vp_protocols::pci;
use vp_protocols::vfio_user::{
    Capabilities, Connection, DeviceInfo, Errno, Event, IrqInfo, MAX_DATA, MAX_FILES, RegionInfo, Reply,
    Request, Token, Violation, Write,
};
use vp_shm::descriptors::Passed;

use super::hub_inputs::HubInputs;
use super::{Adapter, DirtyPages, FileTask, SessionEnd, SessionStart};
use function::{CONFIGURATION, Function, MSIX_BAR, MSIX_WINDOW};
use interrupts::{INTX, Interrupts, TYPES, UNMASK};
use memory::{Accesses, MOST_PARTS, Message, PAGE, Parts};
use registers::RegisterAccess;
use state::Migration;
use tasks::Tasks;

/// Regions: `VFIO_PCI_NUM_REGIONS`, <linux/vfio.h>; the first of them are the windows.
const REGIONS: u32 = 9;
const REGISTERS: u32 = 0;
const CONFIGURATION_REGION: u32 = 7;
/// Words of registers under way, before the next command is begun.
const WORDS: usize = 4096;
/// Commands that wait, and their bytes, before the client is read no further.
const WAITING: usize = 1024;
const WAITING_BYTES: usize = 4 << 20;
/// Largest window: a register of the configuration has 32 bits for its address.
const MOST_WINDOW: u64 = 1 << 30;

/// A piece of work that is done in its turn.
enum Work {
    Request(Request, Option<Passed>),
    /// The end of several writes.
    Written(u64),
}

/// Purpose of a command of the hub.
enum Purpose {
    /// To take a port, of that name.
    Attach(&'static str),
    /// For a word of the access that the client began with that number.
    Word(u64),
    Reset(Token),
    /// To go on from a state that the client has written.
    Restored(Bytes),
}

/// The adapter.
pub(crate) struct VfioUser {
    connection: Connection<Passed>,
    function: Function,
    interrupts: Interrupts,
    parts: Parts,
    accesses: Accesses,
    /// Port of the registers, and its first address.
    registers: (PortId, u64),
    /// Ports of memory, and their addresses.
    memories: Vec<(PortId, Range<u64>)>,
    hub: HubInputs<Purpose>,
    migration: Migration,
    /// Log of what the device writes.
    written: Arc<DirtyPages>,
    files: VecDeque<FileTask>,
    tasks: Option<Tasks>,
    queue: VecDeque<(Token, Work)>,
    words: usize,
    registers_under_way: BTreeMap<u64, RegisterAccess>,
    next_access: u64,
    next_memory: u64,
}

impl From<Violation> for SessionEnd {
    fn from(violation: Violation) -> SessionEnd {
        SessionEnd::Wrong(violation.to_string())
    }
}

/// Returns true if the first bytes on a stream are a whole command, or something that is wrong.
fn is_greeted(bytes: &[u8]) -> bool {
    let size = bytes.get(4..8).and_then(|size| size.try_into().ok()).map(u32::from_ne_bytes);
    size.is_some_and(|size| bytes.len() >= (size as usize).min(MOST_GREETING))
}

/// Bytes of the first command, at most.
const MOST_GREETING: usize = 4096;

impl VfioUser {
    pub(crate) fn new() -> VfioUser {
        let own = Capabilities {
            max_msg_fds: Some(MAX_FILES as u64),
            max_data_xfer_size: Some(MAX_DATA as u64),
            max_dma_maps: Some(MOST_PARTS),
            pgsizes: Some(PAGE),
            write_multiple: Some(true),
        };
        VfioUser {
            connection: Connection::new(own),
            function: Function::new(PAGE),
            interrupts: Interrupts::default(),
            parts: Parts::default(),
            accesses: Accesses::default(),
            registers: (PortId(0), 0),
            memories: Vec::new(),
            hub: HubInputs::new(),
            migration: Migration::default(),
            written: Arc::default(),
            files: VecDeque::new(),
            tasks: None,
            queue: VecDeque::new(),
            words: 0,
            registers_under_way: BTreeMap::new(),
            next_access: 0,
            next_memory: 0,
        }
    }

    fn ring(&mut self, eventfd: Option<u32>) {
        self.files.extend(eventfd.map(|eventfd| FileTask::Signal { eventfd }));
    }

    // What the client wants.

    fn enqueue(&mut self, token: Token, request: Request, files: Vec<Passed>) {
        match request {
            Request::RegionWriteMulti(writes) => {
                let count = writes.len() as u64;
                let writes = writes.into_iter().map(|write| Work::Request(Request::RegionWrite(write), None));
                self.queue.extend(writes.map(|write| (token.part(), write)));
                self.queue.push_back((token, Work::Written(count)));
            }
            request => {
                self.queue.push_back((token, Work::Request(request, files.into_iter().next())));
            }
        }
    }

    /// Begins what can be begun.
    fn progress(&mut self) {
        while self.tasks.is_none()
            && !self.migration.is_under_way()
            && self.words < WORDS
            && let Some((_, work)) = self.queue.front()
        {
            if !work.is_of_registers() && !self.hub.commands.is_empty() {
                return;
            }
            match self.queue.pop_front() {
                Some((token, Work::Request(request, file))) => self.carry_out(token, request, file),
                Some((token, Work::Written(count))) => {
                    self.connection.reply(token, &Reply::WrittenMulti { count });
                }
                None => return,
            }
        }
    }

    fn carry_out(&mut self, token: Token, request: Request, file: Option<Passed>) {
        let done = match request {
            Request::DmaMap(map) => return self.map(token, map, file),
            Request::DmaUnmap(unmap) => return self.unmap(token, unmap),
            Request::SetIrqs(set) => return self.set_irqs(token, &set, file),
            Request::RegionRead { region: REGISTERS, offset, count } => {
                return self.access_registers(token, offset, count as usize, None);
            }
            Request::RegionWrite(Write { region: REGISTERS, offset, data }) => {
                return self.access_registers(token, offset, data.len(), Some(&data));
            }
            Request::Reset => return self.hub.command(PartyCommand::Reset, Purpose::Reset(token)),
            Request::DeviceInfo => Ok(Reply::Device(DeviceInfo { regions: REGIONS, irqs: TYPES })),
            Request::RegionInfo { index } if index < REGIONS => {
                let size = match index {
                    REGISTERS => self.function.window(),
                    MSIX_BAR => MSIX_WINDOW,
                    CONFIGURATION_REGION => CONFIGURATION as u64,
                    _ => 0,
                };
                Ok(Reply::Region(RegionInfo { index, size }))
            }
            Request::IrqInfo { index } => Interrupts::count(index)
                .ok_or(Errno::EINVAL)
                .map(|count| Reply::Irq(IrqInfo { index, count, is_level: index == INTX })),
            Request::RegionRead { region, offset, count } => self.read(region, offset, count as usize),
            Request::RegionWrite(write) => return self.write(token, &write),
            Request::Feature(feature) => return self.feature(token, feature),
            Request::MigrationRead { most, count } => self.migration.read(most, count),
            Request::MigrationWrite(data) => self.migration.write(&data),
            Request::RegionInfo { .. } | Request::RegionWriteMulti(_) => Err(Errno::EINVAL),
            Request::Other { command, .. } => Err(refusal(command)),
        };
        match done {
            Ok(reply) => self.connection.reply(token, &reply),
            Err(error) => self.connection.fail(token, error),
        }
    }

    fn read(&self, region: u32, offset: u64, count: usize) -> Result<Reply, Errno> {
        let data = match region {
            CONFIGURATION_REGION => self.function.read(offset, count).map(<[u8]>::to_vec),
            MSIX_BAR => self.function.read_table(offset, count),
            _ => None,
        };
        let data = Bytes::from(data.ok_or(Errno::EINVAL)?);
        Ok(Reply::Data { region, offset, data })
    }

    fn write(&mut self, token: Token, write: &Write) {
        let &Write { region, offset, ref data } = write;
        let was_master = self.function.is_bus_master();
        let is_done = match region {
            CONFIGURATION_REGION => self.function.write(offset, data),
            MSIX_BAR => self.function.write_table(offset, data),
            _ => false,
        };
        if !is_done {
            return self.connection.fail(token, Errno::EINVAL);
        }
        let due = self.interrupts.configured(&self.function);
        self.ring(due);
        let written = Reply::Written { region, offset, count: data.len() as u32 };
        if self.function.is_bus_master() == was_master {
            return self.connection.reply(token, &written);
        }
        self.share(token, written);
    }

    fn command_done(&mut self, tag: Tag, result: Result<Completion, Failure>) -> Result<(), SessionEnd> {
        match self.hub.commands.remove(&tag) {
            Some(Purpose::Attach(port)) => {
                result.map_err(|failure| SessionEnd::Wrong(format!("{port}: {failure}")))?;
            }
            Some(Purpose::Word(access)) => self.word_done(access, result),
            Some(Purpose::Reset(token)) => self.reset_done(token, result.is_ok()),
            Some(Purpose::Restored(all)) => self.loaded(all, result),
            None => {}
        }
        self.progress();
        Ok(())
    }

    fn reset_done(&mut self, token: Token, is_done: bool) {
        if !is_done {
            return self.connection.fail(token, Errno::EIO);
        }
        self.function.reset();
        self.migration = Migration::default();
        self.share(token, Reply::Done);
    }

    // What the platform wants of the client's memory.

    fn take_done(&mut self) {
        while let Some((request, result)) = self.accesses.take_done() {
            self.hub.answer(request, result);
        }
    }

    fn send_accesses(&mut self) {
        let (connection, written) = (&mut self.connection, &self.written);
        self.accesses.send(|message| match message {
            Message::Read { address, count } => connection.read_memory(address, count),
            Message::Write { address, data } => {
                written.note(address, data.len() as u64);
                connection.write_memory(address, data)
            }
        });
        self.take_done();
    }
}

impl Work {
    fn is_of_registers(&self) -> bool {
        matches!(
            self,
            Work::Request(
                Request::RegionRead { region: REGISTERS, .. }
                    | Request::RegionWrite(Write { region: REGISTERS, .. }),
                _
            )
        )
    }

    /// Bytes that it holds.
    fn bytes(&self) -> usize {
        match self {
            Work::Request(Request::RegionWrite(write), _) => write.data.len(),
            Work::Request(Request::MigrationWrite(data), _) => data.len(),
            Work::Request(Request::Feature(feature), _) => feature.data.len(),
            Work::Request(Request::Other { payload, .. }, _) => payload.len(),
            _ => 0,
        }
    }
}

/// The reason for which a command is refused that this server does not know.
fn refusal(command: u16) -> Errno {
    use vp_protocols::vfio_user::Command;
    match Command::new(command) {
        Some(_) => Errno::ENOTSUP,
        None => Errno::ENOSYS,
    }
}

impl Adapter for VfioUser {
    fn begin(&mut self, beginning: &SessionStart<'_>) -> Result<(), SessionEnd> {
        self.hub.party = beginning.party;
        for (index, port) in beginning.ports.iter().enumerate() {
            let index = PortId(index as u16);
            let role = match port.kind {
                PortKind::Registers => {
                    let window = pci::window(port.size).max(PAGE);
                    if window > MOST_WINDOW {
                        let why = format!("{} has {window} bytes, too many for a PCI function", port.name);
                        return Err(SessionEnd::Wrong(why));
                    }
                    self.registers = (index, port.base);
                    self.function = Function::new(window);
                    Role::Initiator
                }
                PortKind::Irq => Role::Sink,
                PortKind::Axi => {
                    self.memories.push((index, port.base..port.base.saturating_add(port.size)));
                    Role::Target
                }
                PortKind::Stream => continue,
            };
            let attach = PartyCommand::Attach { port: index, role, range: None };
            self.hub.command(attach, Purpose::Attach(port.name));
        }
        Ok(())
    }

    fn is_greeted(&self, bytes: &[u8]) -> bool {
        is_greeted(bytes)
    }

    fn add_files(&mut self, _: usize, files: VecDeque<Passed>, behind: usize) {
        self.connection.add_files(files, behind);
    }

    fn receive(&mut self, _: usize, bytes: &mut BytesMut, _: Time) -> Result<(), SessionEnd> {
        let end = loop {
            if !self.takes_more() {
                self.progress();
                // What is left is taken when something that is under way is done.
                if !self.takes_more() {
                    break Ok(());
                }
            }
            match self.connection.receive(bytes) {
                Ok(Some(Event::Opened)) => {}
                Ok(Some(Event::Request { token, request, files })) => self.enqueue(token, request, files),
                Ok(Some(Event::Answered { token, result })) => {
                    self.accesses.answered(token, result);
                    self.send_accesses();
                }
                Ok(None) => break Ok(()),
                Err(violation) => break Err(violation.into()),
            }
        };
        self.progress();
        end
    }

    fn tell(&mut self, output: Output, _: Time) -> Result<(), SessionEnd> {
        match output {
            Output::Completed { tag, result, .. } => return self.command_done(tag, result),
            Output::Request { request, access, .. } => {
                if self.function.is_bus_master() {
                    self.accesses.push(request, access, &self.parts, self.connection.most_data());
                    self.send_accesses();
                } else {
                    let why = "the guest's driver has not made the device a bus master";
                    let result = Err(Failure::new(FailureKind::SlaveError, why));
                    self.hub.answer(request, result);
                }
            }
            Output::Level { level, .. } => {
                self.function.set_interrupt(level);
                let due = self.interrupts.set_level(level, &self.function);
                self.ring(due);
            }
            _ => {}
        }
        Ok(())
    }

    fn next_input(&mut self) -> Option<Input> {
        self.hub.next()
    }

    fn next_file_task(&mut self) -> Option<FileTask> {
        self.files.pop_front()
    }

    fn file_task_done(&mut self, result: Result<(), String>) {
        let Some(tasks) = &mut self.tasks else { return };
        tasks.left = tasks.left.saturating_sub(1);
        tasks.result = std::mem::replace(&mut tasks.result, Ok(())).and(result);
        if tasks.left == 0 {
            self.end_tasks();
        }
        self.progress();
    }

    fn wants_saved(&self) -> bool {
        self.migration.is_saving()
    }

    fn saved(&mut self, result: Result<Bytes, SaveError>) {
        self.stopped(result);
    }

    fn is_signalled(&mut self, eventfd: u32) {
        if eventfd == UNMASK {
            let due = self.interrupts.set_mask(false, &self.function);
            self.ring(due);
        }
    }

    fn next_output(&mut self) -> Option<(usize, &mut BytesMut)> {
        let output = self.connection.output();
        (!output.is_empty()).then_some((0, output))
    }

    fn takes_more(&self) -> bool {
        // An answer that the platform waits for may stand behind commands, but not behind any number of them.
        let most = if self.accesses.is_empty() { 1 } else { 8 };
        let bytes: usize = self.queue.iter().map(|(_, work)| work.bytes()).sum();
        self.queue.len() < most * WAITING && bytes < most * WAITING_BYTES
    }

    fn owes_answers(&self) -> bool {
        let is_idle = self.queue.is_empty() && self.hub.commands.is_empty() && !self.migration.is_under_way();
        self.accesses.is_empty() && !is_idle
    }

    fn is_under_way(&self) -> bool {
        !self.accesses.is_empty() || !self.hub.commands.is_empty() || self.migration.is_under_way()
    }

    fn gone(&self) -> SessionEnd {
        SessionEnd::Fine("the hypervisor is gone".to_owned())
    }
}

#[cfg(test)]
mod tests;
