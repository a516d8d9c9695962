use super::interrupts::MSIX;
use super::*;
use crate::adapters::SharedPart;
use vp_hub::{AccessKind, MemoryAccess, Operation, PartyId, RequestId};
use vp_models::platform::{Description, Platform};
use vp_protocols::vfio_user::{Client, ClientEvent, DmaMap, DmaUnmap, IrqAction, IrqData, SetIrqs};

/// An adapter, its client, and what the adapter has wanted of the hub and of files.
struct Both {
    adapter: VfioUser,
    client: Client,
    received: BytesMut,
    told: Vec<ClientEvent>,
    inputs: Vec<Input>,
    tasks: Vec<FileTask>,
    /// Outcome of all tasks.
    result: Result<(), String>,
}

const MAP: DmaMap =
    DmaMap { is_readable: true, is_writeable: true, offset: 0x1000, address: 0x8000_0000, size: 0x4000 };
const DBB: PortId = PortId(2);

fn both() -> Both {
    let description = Description::named("nv_small").unwrap();
    let ports = Platform::build(&description).unwrap().ports();
    let mut adapter = VfioUser::new();
    let beginning =
        SessionStart { party: PartyId(3), ports: &ports, description: &description, now: Time::ZERO };
    adapter.begin(&beginning).unwrap();
    let (client, result) = (Client::new(Capabilities::default()), Ok(()));
    let (told, inputs, tasks, received) = (Vec::new(), Vec::new(), Vec::new(), BytesMut::new());
    let mut both = Both { adapter, client, received, told, inputs, tasks, result };
    both.go(0);
    assert_eq!(both.told.remove(0), ClientEvent::Opened(Capabilities::default()));
    both
}

impl Both {
    /// Brings the client's bytes, with so many files, and does what the adapter wants, but for accesses.
    fn go(&mut self, files: usize) {
        let mut bytes = self.client.output().split();
        let file = || Passed::from(vp_shm::sealed("test", 0x8000).unwrap());
        if files > 0 {
            self.adapter.add_files(0, (0..files).map(|_| file()).collect(), bytes.len());
        }
        self.adapter.receive(0, &mut bytes, Time::ZERO).unwrap();
        self.settle();
    }

    fn settle(&mut self) {
        loop {
            if let Some(input) = self.adapter.next_input() {
                match input {
                    Input::Command { tag, command: PartyCommand::Attach { .. }, .. } => {
                        self.complete(tag, Ok(Completion::Done));
                    }
                    input => self.inputs.push(input),
                }
            } else if let Some(task) = self.adapter.next_file_task() {
                let is_answered =
                    matches!(task, FileTask::Map { .. } | FileTask::Share { .. } | FileTask::Eventfd { .. });
                self.tasks.push(task);
                if is_answered {
                    self.adapter.file_task_done(self.result.clone());
                }
            } else {
                break;
            }
        }
        while let Some((_, output)) = self.adapter.next_output() {
            self.received.unsplit(output.split());
        }
        while let Some(event) = self.client.receive(&mut self.received).unwrap() {
            self.told.push(event);
        }
    }

    fn complete(&mut self, tag: Tag, result: Result<Completion, Failure>) {
        let output = Output::Completed { party: PartyId(3), tag, time: Time::ZERO, result };
        self.adapter.tell(output, Time::ZERO).unwrap();
    }

    /// Completes the register accesses that the hub has got, and gives them.
    fn complete_all(&mut self, value: u32) -> Vec<Operation> {
        let mut done = Vec::new();
        for input in std::mem::take(&mut self.inputs) {
            let Input::Command { tag, command: PartyCommand::Access(access), .. } = input else {
                self.inputs.push(input);
                continue;
            };
            let completion = match access.operation {
                Operation::RegisterRead { .. } => Completion::Value(value),
                _ => Completion::Done,
            };
            done.push(access.operation);
            self.complete(tag, Ok(completion));
        }
        self.settle();
        done
    }

    /// Asks, and gives the answer.
    fn ask(&mut self, request: &Request, files: usize) -> Result<Reply, Errno> {
        let asked = self.client.request(request);
        self.go(files);
        match self.told.remove(0) {
            ClientEvent::Replied { id, result } if id == asked => result,
            other => panic!("{other:?}"),
        }
    }

    fn set_master(&mut self, is_master: bool) {
        let data = Bytes::copy_from_slice(&[if is_master { 6 } else { 2 }, 0]);
        let write = Request::RegionWrite(Write { region: CONFIGURATION_REGION, offset: 4, data });
        let written = Reply::Written { region: CONFIGURATION_REGION, offset: 4, count: 2 };
        assert_eq!(self.ask(&write, 0), Ok(written));
    }

    /// The parts that the device was given last.
    fn shared(&mut self) -> Option<Vec<SharedPart>> {
        let tasks = std::mem::take(&mut self.tasks).into_iter();
        let mut shares = tasks.filter_map(|task| match task {
            FileTask::Share { port: DBB, parts, .. } => Some(parts),
            _ => None,
        });
        shares.next_back()
    }

    fn signalled(&mut self) -> Vec<u32> {
        let tasks = std::mem::take(&mut self.tasks).into_iter();
        let signals = tasks.filter_map(|task| match task {
            FileTask::Signal { eventfd } => Some(eventfd),
            _ => None,
        });
        signals.collect()
    }

    /// The platform accesses memory.
    fn access(&mut self, request: u64, address: u64, length: u32, write: Option<(Bytes, Option<Bytes>)>) {
        let access = MemoryAccess { address, length, write, kind: AccessKind::Timed, axi_id: 0, at: None };
        let output = Output::Request { party: PartyId(3), request: RequestId(request), port: DBB, access };
        self.adapter.tell(output, Time::ZERO).unwrap();
        self.settle();
    }

    /// Answers to accesses to memory.
    fn answers(&mut self) -> Vec<(u64, Result<Bytes, String>)> {
        let inputs = std::mem::take(&mut self.inputs).into_iter();
        let answers = inputs.filter_map(|input| match input {
            Input::Answer { request, result, .. } => Some((request.0, result.map_err(|why| why.reason))),
            _ => None,
        });
        answers.collect()
    }

    fn level(&mut self, level: bool) -> Vec<u32> {
        let output = Output::Level { party: PartyId(3), port: PortId(1), level, time: Time::ZERO };
        self.adapter.tell(output, Time::ZERO).unwrap();
        self.settle();
        self.signalled()
    }
}

fn read(offset: u64, count: u32) -> Request {
    Request::RegionRead { region: REGISTERS, offset, count }
}

fn write(offset: u64, data: &'static [u8]) -> Request {
    Request::RegionWrite(Write { region: REGISTERS, offset, data: Bytes::from_static(data) })
}

fn eventfd(index: u32, action: IrqAction) -> Request {
    Request::SetIrqs(SetIrqs { index, start: 0, count: 1, action, data: IrqData::Eventfd })
}

#[test]
fn the_device_reaches_memory_only_while_it_is_a_bus_master() {
    let mut both = both();
    assert_eq!(both.ask(&Request::DmaMap(MAP), 1), Ok(Reply::Done));
    assert_eq!(both.shared(), Some(vec![]));
    both.set_master(true);
    let range = MAP.address..MAP.address + MAP.size;
    assert_eq!(both.shared(), Some(vec![SharedPart { range, memory: 0, offset: 0, is_writeable: true }]));
    both.set_master(false);
    assert_eq!(both.shared(), Some(vec![]));
    both.access(1, MAP.address, 8, None);
    let why = "the guest's driver has not made the device a bus master";
    assert_eq!(both.answers(), [(1, Err(why.to_owned()))]);
}

#[test]
fn memory_is_unmapped_when_the_device_has_it_no_more() {
    let mut both = both();
    both.set_master(true);
    both.ask(&Request::DmaMap(MAP), 1).unwrap();
    both.tasks.clear();
    let unmap = DmaUnmap { is_all: false, address: MAP.address, size: MAP.size };
    assert_eq!(both.ask(&Request::DmaUnmap(unmap), 0), Ok(Reply::Unmapped(unmap)));
    let is_share = |task: &FileTask| matches!(task, FileTask::Share { parts, .. } if parts.is_empty());
    let (last, before) = both.tasks.split_last().unwrap();
    assert!(before.iter().all(is_share) && matches!(last, FileTask::Unmap { memory: 0 }), "{:?}", both.tasks);
}

#[test]
fn parts_do_not_overlap_are_whole_pages_and_go_as_they_came() {
    let mut both = both();
    let map = |both: &mut Both, address, size| {
        both.ask(&Request::DmaMap(DmaMap { address, size, ..MAP }), 0).map(drop)
    };
    let unmap = |both: &mut Both, address, size| {
        both.ask(&Request::DmaUnmap(DmaUnmap { is_all: false, address, size }), 0).map(drop)
    };
    assert_eq!(map(&mut both, 0x4000, 0x2000), Ok(()));
    for (address, size) in [(0x4000, 0x1000), (0x3000, 0x2000), (0x5000, 0x9000), (0, 0x10_0000)] {
        assert_eq!(map(&mut both, address, size), Err(Errno::EEXIST));
    }
    for (address, size) in [(0, 0), (0x100, 0x1000), (0, 0xfff), (u64::MAX - 0xfff, 0x2000)] {
        assert_eq!(map(&mut both, address, size), Err(Errno::EINVAL));
    }
    assert_eq!(map(&mut both, 0x6000, 0x1000), Ok(()));
    assert_eq!(unmap(&mut both, 0x4000, 0x1000), Err(Errno::EINVAL));
    assert_eq!(unmap(&mut both, 0x5000, 0x2000), Err(Errno::EINVAL));
    assert_eq!(unmap(&mut both, 0x4000, u64::MAX), Err(Errno::EINVAL));
    // As Linux has it: several, and none.
    assert_eq!(unmap(&mut both, 0, 0x8000), Ok(()));
    assert_eq!(unmap(&mut both, 0, 0x8000), Ok(()));
    assert!((0..MOST_PARTS).all(|page| map(&mut both, page * PAGE, PAGE).is_ok()));
    assert_eq!(map(&mut both, MOST_PARTS * PAGE, PAGE), Err(Errno::ENOSPC));
    assert!(both.ask(&Request::DmaUnmap(DmaUnmap { is_all: true, address: 0, size: 0 }), 0).is_ok());
    assert_eq!(map(&mut both, 0, PAGE), Ok(()));
}

#[test]
fn memory_whose_file_cannot_be_mapped_is_accessed_by_messages() {
    let mut both = both();
    both.set_master(true);
    both.result = Err("not sealed".to_owned());
    // What shares it is not refused.
    both.client.request(&Request::DmaMap(MAP));
    both.go(1);
    both.result = Ok(());
    both.told.clear();
    both.access(7, MAP.address + 2, 3, None);
    let asked = both.told.remove(0);
    let ClientEvent::Read { address, count: 3, .. } = asked else { panic!("{asked:?}") };
    assert_eq!(address, MAP.address + 2);
    both.client.answer(&asked, Ok(&[1, 2, 3]));
    both.go(0);
    assert_eq!(both.answers(), [(7, Ok(Bytes::from_static(&[1, 2, 3])))]);
    // The second byte stays as it is.
    let strobes = Some(Bytes::from_static(&[0b101]));
    both.access(8, MAP.address, 3, Some((Bytes::from_static(&[4, 5, 6]), strobes)));
    for asked in both.told.split_off(0) {
        assert!(matches!(&asked, ClientEvent::Write { data, .. } if data.len() == 1), "{asked:?}");
        both.client.answer(&asked, Ok(&[]));
    }
    both.go(0);
    assert_eq!(both.answers(), [(8, Ok(Bytes::new()))]);
}

#[test]
fn an_access_whose_memory_is_unmapped_meanwhile_fails_at_once() {
    let mut both = both();
    both.set_master(true);
    both.ask(&Request::DmaMap(MAP), 0).unwrap();
    both.access(1, MAP.address, 64, None);
    let asked = both.told.remove(0);
    both.ask(&Request::DmaUnmap(DmaUnmap { is_all: true, address: 0, size: 0 }), 0).unwrap();
    let answers = both.answers();
    assert!(matches!(&answers[..], [(1, Err(why))] if why.contains("unmapped its memory")), "{answers:?}");
    // What it says of it later is not heeded.
    both.client.answer(&asked, Ok(&[0; 64]));
    both.go(0);
    assert_eq!(both.answers(), []);
    both.access(2, MAP.address, 64, None);
    assert!(matches!(&both.answers()[..], [(2, Err(why))] if why.contains("no memory at 0x80000000")));
}

#[test]
fn memory_that_may_not_be_written_is_only_read() {
    let mut both = both();
    both.set_master(true);
    both.ask(&Request::DmaMap(DmaMap { is_writeable: false, ..MAP }), 1).unwrap();
    let shared = both.shared().unwrap();
    assert!(matches!(&shared[..], [part] if !part.is_writeable), "{shared:?}");
    both.access(1, MAP.address, 4, Some((Bytes::from_static(&[0; 4]), None)));
    assert!(matches!(&both.answers()[..], [(1, Err(why))] if why.contains("may be written")));
}

#[test]
fn registers_are_words_and_reads_have_any_part_of_them() {
    let mut both = both();
    both.client.request(&read(0x1001, 6));
    both.go(0);
    let words = both.complete_all(0x4433_2211);
    assert_eq!(words, [0x1000, 0x1004].map(|address| Operation::RegisterRead { address }));
    let data = Bytes::from_static(&[0x22, 0x33, 0x44, 0x11, 0x22, 0x33]);
    let told = ClientEvent::Replied { id: 1, result: Ok(Reply::Data { region: 0, offset: 0x1001, data }) };
    assert_eq!(both.told.remove(0), told);
    for refused in
        [write(0x1002, &[0; 4]), write(0x1000, &[0; 3]), read(0x3_fffc, 5), read(0, 4097), read(0, 0)]
    {
        assert_eq!(both.ask(&refused, 0), Err(Errno::EINVAL), "{refused:?}");
    }
}

#[test]
fn commands_are_carried_out_in_their_order() {
    let mut both = both();
    both.client.post(&write(0x1000, &[1, 0, 0, 0, 2, 0, 0, 0]));
    both.client.request(&read(0x1000, 4));
    both.client.request(&Request::DmaMap(MAP));
    both.go(1);
    both.client.request(&Request::Reset);
    both.go(0);
    assert!(both.told.is_empty() && both.tasks.is_empty(), "the map waits for the accesses");
    assert_eq!(both.complete_all(5).len(), 3);
    assert_eq!(both.told.len(), 2, "the read and the map");
    let Some(Input::Command { tag, command: PartyCommand::Reset, .. }) = both.inputs.pop() else { panic!() };
    both.complete(tag, Ok(Completion::Done));
    both.settle();
    assert_eq!(both.told.len(), 3);
}

#[test]
fn several_writes_in_one_command_are_answered_once() {
    let mut both = both();
    let write = |offset| Write { region: REGISTERS, offset, data: Bytes::from_static(&[1, 0, 0, 0]) };
    both.client.request(&Request::RegionWriteMulti(vec![write(0x1000), write(0x1004)]));
    both.go(0);
    assert_eq!(both.complete_all(0).len(), 2);
    let told = ClientEvent::Replied { id: 1, result: Ok(Reply::WrittenMulti { count: 2 }) };
    assert_eq!(both.told, [told]);
}

#[test]
fn a_reset_takes_the_bus_away_from_the_device() {
    let mut both = both();
    both.ask(&Request::DmaMap(MAP), 1).unwrap();
    both.set_master(true);
    both.client.request(&Request::Reset);
    both.go(0);
    both.tasks.clear();
    let Some(Input::Command { tag, command: PartyCommand::Reset, .. }) = both.inputs.pop() else { panic!() };
    both.complete(tag, Ok(Completion::Done));
    both.settle();
    assert_eq!(both.shared(), Some(vec![]));
    assert!(matches!(both.told.pop(), Some(ClientEvent::Replied { result: Ok(Reply::Done), .. })));
}

#[test]
fn the_line_is_signalled_by_the_pin_until_messages_are_set_up() {
    let mut both = both();
    both.ask(&eventfd(INTX, IrqAction::Trigger), 1).unwrap();
    both.tasks.clear();
    assert_eq!(both.level(true), [INTX]);
    let mask = |action, data| Request::SetIrqs(SetIrqs { index: INTX, start: 0, count: 1, action, data });
    both.ask(&mask(IrqAction::Unmask, IrqData::None), 0).unwrap();
    assert_eq!(both.signalled(), [INTX], "still high");
    assert_eq!(both.level(false), [0; 0]);
    both.ask(&mask(IrqAction::Unmask, IrqData::Bool(vec![true])), 0).unwrap();
    both.ask(&eventfd(MSIX, IrqAction::Trigger), 1).unwrap();
    both.tasks.clear();
    assert_eq!(both.level(true), [MSIX]);
    both.client.post(&write(0x1004, &[0; 4]));
    both.go(0);
    both.complete_all(0);
    assert_eq!(both.signalled(), [MSIX], "a write that leaves it high");
    assert_eq!(both.level(false), [0; 0]);
}

#[test]
fn an_eventfd_of_the_client_unmasks_the_pin() {
    let mut both = both();
    both.ask(&eventfd(INTX, IrqAction::Trigger), 1).unwrap();
    both.ask(&eventfd(INTX, IrqAction::Unmask), 1).unwrap();
    let heard = both.tasks.iter().filter(|task| matches!(task, FileTask::Eventfd { is_heard: true, .. }));
    assert_eq!(heard.count(), 1);
    both.tasks.clear();
    assert_eq!(both.level(true), [INTX]);
    both.adapter.is_signalled(UNMASK);
    both.settle();
    assert_eq!(both.signalled(), [INTX]);
}

#[test]
fn a_file_that_is_no_eventfd_is_refused_and_never_signalled() {
    let mut both = both();
    both.result = Err("no eventfd".to_owned());
    assert_eq!(both.ask(&eventfd(MSIX, IrqAction::Trigger), 1), Err(Errno::EINVAL));
    both.tasks.clear();
    assert_eq!(both.level(true), [0; 0]);
}

#[test]
fn interrupts_that_are_not_there_are_refused() {
    let mut both = both();
    let set = |index, start, count, action| {
        Request::SetIrqs(SetIrqs { index, start, count, action, data: IrqData::None })
    };
    for refused in [
        set(MSIX, 0, 2, IrqAction::Trigger),
        set(MSIX, 1, 1, IrqAction::Trigger),
        set(INTX, u32::MAX, u32::MAX, IrqAction::Mask),
        set(TYPES, 0, 0, IrqAction::Trigger),
    ] {
        assert_eq!(both.ask(&refused, 0), Err(Errno::EINVAL), "{refused:?}");
    }
    assert_eq!(both.ask(&set(MSIX, 0, 1, IrqAction::Mask), 0), Err(Errno::ENOTSUP));
    for all in [INTX, MSIX] {
        assert_eq!(both.ask(&set(all, 0, 0, IrqAction::Trigger), 0), Ok(Reply::Done));
    }
}

#[test]
fn what_is_of_no_use_here_is_refused_with_a_reason() {
    let mut both = both();
    let other = |command| Request::Other { command, payload: Bytes::new() };
    for (command, error) in [(6, Errno::ENOTSUP), (99, Errno::ENOSYS)] {
        assert_eq!(both.ask(&other(command), 0), Err(error));
    }
    assert_eq!(both.ask(&Request::RegionInfo { index: REGIONS }, 0), Err(Errno::EINVAL));
    assert_eq!(both.ask(&Request::IrqInfo { index: 3 }, 0), Err(Errno::EINVAL));
}

#[test]
fn a_flood_is_read_no_further_than_it_is_worked_off() {
    let mut both = both();
    both.go(0);
    both.client.request(&Request::Reset);
    (0..3 * WAITING).for_each(|_| both.client.post(&Request::DeviceInfo));
    let mut bytes = both.client.output().split();
    both.adapter.receive(0, &mut bytes, Time::ZERO).unwrap();
    assert!(!both.adapter.takes_more() && !bytes.is_empty());
    assert_eq!(both.adapter.queue.len(), WAITING);
    let Some(Input::Command { tag, command: PartyCommand::Reset, .. }) =
        std::iter::from_fn(|| both.adapter.next_input()).last()
    else {
        panic!()
    };
    both.adapter.command_done(tag, Ok(Completion::Done)).unwrap();
    both.settle();
    both.adapter.receive(0, &mut bytes, Time::ZERO).unwrap();
    assert!(both.adapter.queue.is_empty() && bytes.is_empty(), "in one go");
}
