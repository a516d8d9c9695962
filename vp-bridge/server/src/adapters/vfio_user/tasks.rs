//! Commands that need files: memory that is mapped and shown to the device, and eventfds.

use vp_protocols::vfio_user::{DmaMap, DmaUnmap, Errno, IrqAction, IrqData, Reply, SetIrqs, Token};
use vp_shm::descriptors::Passed;

use super::interrupts::{INTX, Interrupts, MSIX, UNMASK};
use super::{FileTask, VfioUser};

/// Bytes of memory that is a guest's RAM: what is less may be a device's.
const RAM: u64 = 64 << 20;

/// A command that waits for tasks with files.
pub(super) struct Tasks {
    pub(super) token: Token,
    pub(super) left: usize,
    pub(super) then: Then,
    pub(super) result: Result<(), String>,
}

/// Continuation of a command when its tasks are done.
pub(super) enum Then {
    /// The part is added, and shown to the device.
    Map(DmaMap, u64),
    /// The eventfd is in use.
    Eventfd(u32),
    /// The device has another state.
    GoOn,
    Reply(Reply),
}

impl VfioUser {
    /// Shows the device the memory that it may reach, and then answers.
    pub(super) fn share(&mut self, token: Token, reply: Reply) {
        self.share_then(token, Then::Reply(reply));
    }

    /// Shows the device the memory that it may reach, and then does more.
    pub(super) fn share_then(&mut self, token: Token, then: Then) {
        let is_master = self.function.is_bus_master();
        for (port, addresses) in &self.memories {
            let parts = if is_master { self.parts.shared(addresses) } else { Vec::new() };
            let written = self.written.clone();
            self.files.push_back(FileTask::Share { port: *port, parts, written });
        }
        self.begin_tasks(token, self.memories.len(), then);
    }

    pub(super) fn begin_tasks(&mut self, token: Token, left: usize, then: Then) {
        self.tasks = Some(Tasks { token, left, then, result: Ok(()) });
        if left == 0 {
            self.end_tasks();
        }
    }

    pub(super) fn end_tasks(&mut self) {
        let Some(Tasks { token, then, result, .. }) = self.tasks.take() else { return };
        match (then, result) {
            // What cannot be mapped is accessed by messages.
            (Then::Map(map, memory), result) => {
                self.parts.add(map, result.is_ok().then_some(memory));
                self.share(token, Reply::Done);
            }
            (Then::GoOn, Err(why)) => self.refuse_state(&why, Errno::EINVAL),
            (Then::GoOn, Ok(())) => {
                let due = self.interrupts.configured(&self.function);
                self.ring(due);
                self.go_on();
            }
            (_, Err(_)) => self.connection.fail(token, Errno::EINVAL),
            (Then::Eventfd(eventfd), Ok(())) => {
                let due = self.interrupts.set_eventfd(eventfd, true, &self.function);
                self.ring(due);
                self.connection.reply(token, &Reply::Done);
            }
            (Then::Reply(reply), Ok(())) => self.connection.reply(token, &reply),
        }
    }

    pub(super) fn map(&mut self, token: Token, map: DmaMap, file: Option<Passed>) {
        if let Err(error) = self.parts.check(&map) {
            return self.connection.fail(token, error);
        }
        let Some(file) = file else {
            if map.is_writeable && map.size >= RAM {
                tracing::warn!(
                    "{} bytes of the guest's memory at 0x{:x} came without a file, and the device accesses them by messages: for QEMU, \
                     give it a memory-backend-memfd with share=on",
                    map.size,
                    map.address
                );
            }
            self.parts.add(map, None);
            return self.connection.reply(token, &Reply::Done);
        };
        let memory = self.next_memory;
        self.next_memory += 1;
        let DmaMap { offset, size, address, .. } = map;
        self.files.push_back(FileTask::Map { memory, file, offset, size, address });
        self.begin_tasks(token, 1, Then::Map(map, memory));
    }

    pub(super) fn unmap(&mut self, token: Token, unmap: DmaUnmap) {
        match self.parts.remove(&unmap) {
            Ok(memories) => {
                self.accesses.fail_unmapped(&self.parts);
                self.take_done();
                self.share(token, Reply::Unmapped(unmap));
                // Behind what takes them away from the device.
                self.files.extend(memories.into_iter().map(|memory| FileTask::Unmap { memory }));
            }
            Err(error) => self.connection.fail(token, error),
        }
    }

    pub(super) fn set_irqs(&mut self, token: Token, set: &SetIrqs, file: Option<Passed>) {
        let &SetIrqs { index, start, count, action, ref data } = set;
        let has = Interrupts::count(index).unwrap_or(0);
        let is_whole_type = (start, count, data) == (0, 0, &IrqData::None) && action == IrqAction::Trigger;
        if index > MSIX || start.checked_add(count).is_none_or(|end| end > has) {
            return self.connection.fail(token, Errno::EINVAL);
        }
        let is_meant = count > 0 && !matches!(data, IrqData::Bool(meant) if meant.first() != Some(&true));
        match (action, data) {
            _ if is_whole_type => self.take_eventfd_away(index),
            _ if !is_meant => {}
            (IrqAction::Trigger, IrqData::Eventfd) => match file {
                Some(file) => return self.set_eventfd(token, index, file),
                None => self.take_eventfd_away(index),
            },
            (IrqAction::Trigger, _) => self.ring(Some(index)),
            (IrqAction::Unmask, IrqData::Eventfd) if index == INTX => match file {
                Some(file) => return self.set_eventfd(token, UNMASK, file),
                None => self.files.push_back(FileTask::Forget { eventfd: UNMASK }),
            },
            (IrqAction::Mask | IrqAction::Unmask, IrqData::None | IrqData::Bool(_)) if index == INTX => {
                let due = self.interrupts.set_mask(action == IrqAction::Mask, &self.function);
                self.ring(due);
            }
            _ => return self.connection.fail(token, Errno::ENOTSUP),
        }
        self.connection.reply(token, &Reply::Done);
    }

    pub(super) fn set_eventfd(&mut self, token: Token, eventfd: u32, file: Passed) {
        let is_heard = eventfd == UNMASK;
        self.files.push_back(FileTask::Eventfd { eventfd, file, is_heard });
        self.interrupts.set_eventfd(eventfd, false, &self.function);
        self.begin_tasks(token, 1, Then::Eventfd(eventfd));
    }

    pub(super) fn take_eventfd_away(&mut self, index: u32) {
        self.interrupts.set_eventfd(index, false, &self.function);
        self.files.push_back(FileTask::Forget { eventfd: index });
        if index == INTX {
            self.files.push_back(FileTask::Forget { eventfd: UNMASK });
        }
    }
}
