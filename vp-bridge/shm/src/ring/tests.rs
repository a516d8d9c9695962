use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{Region, RegionError, sealed, wait};

/// After this a test that would hang fails.
const HANGS: Duration = Duration::from_secs(20);

fn files(client: &Client) -> [OwnedFd; 3] {
    client.files().map(|file| file.try_clone_to_owned().unwrap())
}

fn pair() -> (Client, Server) {
    let client = Client::new().unwrap();
    let [memory, own, peer] = files(&client);
    let server = Server::open(&memory, own, peer).unwrap();
    (client, server)
}

fn read(address: u64) -> Request {
    Request { access: Access::Read, address, at: None }
}

#[test]
fn accesses_arrive_as_they_were_asked_and_answers_in_their_order() {
    let (mut client, mut server) = pair();
    let requests = [
        read(0x1000),
        Request { access: Access::Posted(7), address: u64::MAX, at: None },
        Request { access: Access::Write(u32::MAX), address: 4, at: Some(u64::MAX - 1) },
    ];
    requests.iter().for_each(|&request| assert!(client.ask(request)));
    for request in requests {
        assert_eq!(server.take(), Ok(Some(request)));
    }
    assert_eq!((server.take(), server.owed()), (Ok(None), 2));
    server.set_line(true);
    server.answer(0, 0x1234, 99);
    server.answer(64, 0, 100);
    let first = client.answer().unwrap();
    assert_eq!((first.value, first.time, first.is_done(), first.line.level()), (0x1234, 99, true, true));
    assert_eq!(client.answer().unwrap().code, 64);
    assert_eq!(client.answer(), None);
}

#[test]
fn nothing_is_asked_beyond_the_places_there_are() {
    let (mut client, mut server) = pair();
    let posted = Request { access: Access::Posted(1), address: 0, at: None };
    for _ in 0..ENTRIES {
        assert!(client.ask(posted));
    }
    assert!(!client.ask(posted));
    server.take().unwrap();
    assert!(client.ask(posted) && !client.ask(posted));
    while server.take().unwrap().is_some() {}
    // Answers have places too.
    for _ in 0..ENTRIES {
        assert!(client.ask(read(0)));
        server.take().unwrap();
    }
    assert!(!client.ask(read(0)));
    server.answer(0, 0, 0);
    assert!(!client.has_room());
    client.answer().unwrap();
    assert!(client.ask(read(0)));
}

#[test]
fn a_server_that_sleeps_is_woken_once() {
    let (mut client, mut server) = pair();
    let soon = Some(Duration::from_millis(1));
    server.wake();
    assert!(client.ask(read(0)));
    assert!(!wait(&[server.bell()], &[], soon));
    // What came before it would sleep keeps it awake.
    assert!(!server.fall_asleep());
    server.take().unwrap();
    assert!(server.fall_asleep());
    assert!(client.ask(read(0)) && client.ask(read(0)));
    assert!(wait(&[server.bell()], &[], None));
    server.wake();
    assert!(!wait(&[server.bell()], &[], soon));
}

/// Moment of a client's wait at which the server does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// After the last of its looks before it announces that it sleeps.
    Before,
    /// After the look that follows the announcement: it is about to sleep, or does.
    Asleep,
}

/// Waits as long as a test may hang, with the server doing something once. None: nobody rang.
fn wait_while<T>(
    client: &mut Client,
    when: When,
    mut server: impl FnMut(),
    mut take: impl FnMut(&mut Client) -> Option<T>,
) -> Option<T> {
    let memory = Region::map(client.files()[0], 0, BYTES).unwrap();
    let sleeps = || {
        let mut word = [0; 4];
        assert!(memory.read(0x40, &mut word));
        u32::from_le_bytes(word) == 1
    };
    assert!(take(client).is_none(), "this needs no wait");
    if when == When::Before {
        server();
    }
    let mut wait = Wait::sleeping(HANGS);
    let mut has_slept = false;
    loop {
        let taken = client.wait(&mut wait, &[], &[], |client| {
            let taken = take(client);
            if when == When::Asleep && sleeps() && !std::mem::replace(&mut has_slept, true) {
                server();
            }
            taken
        });
        if taken.is_some() || wait.over().is_some() {
            assert!(!sleeps(), "somebody may ring who need not");
            return taken.filter(|_| wait.over().is_none());
        }
    }
}

#[test]
fn a_client_that_waits_for_room_does_not_miss_it_whenever_the_server_makes_it() {
    for when in [When::Before, When::Asleep] {
        let (mut client, mut server) = pair();
        let posted = Request { access: Access::Posted(1), address: 0, at: None };
        while client.ask(posted) {}
        let server = || while server.take().unwrap().is_some() {};
        let asked = wait_while(&mut client, when, server, |client| client.ask(posted).then_some(()));
        assert!(asked.is_some(), "{when:?}: nobody rang");
    }
}

#[test]
fn a_client_that_waits_for_an_answer_does_not_miss_it_whenever_the_server_gives_it() {
    for when in [When::Before, When::Asleep] {
        let (mut client, mut server) = pair();
        assert!(client.ask(read(0)));
        server.take().unwrap();
        let answered = wait_while(&mut client, when, || server.answer(0, 5, 0), Client::answer);
        assert_eq!(answered.map(|reply| reply.value), Some(5), "{when:?}: nobody rang");
    }
}

#[test]
fn the_end_of_the_stream_and_the_time_given_end_a_clients_sleep() {
    let (mut client, _server) = pair();
    let (near, far) = UnixStream::pair().unwrap();
    let (mut wait, mut far) = (Wait::sleeping(HANGS), Some(far));
    let answer = client.wait(&mut wait, &[], &[near.as_fd()], |client| {
        far = None;
        client.answer()
    });
    assert!(answer.is_none() && wait.over().is_none());
    let limit = Duration::from_millis(1);
    let mut wait = Wait::within(limit);
    while wait.over().is_none() {
        assert!(client.wait(&mut wait, &[], &[], Client::answer).is_none());
    }
    assert_eq!(wait.over(), Some(limit));
}

#[test]
fn what_is_no_ring_is_refused() {
    let client = Client::new().unwrap();
    let [memory, own, peer] = files(&client);
    let empty = sealed("empty", BYTES).unwrap();
    let open =
        |memory: &OwnedFd| Server::open(memory, own.try_clone().unwrap(), peer.try_clone().unwrap()).err();
    assert!(matches!(open(&empty), Some(RingError::Layout)));
    let short = sealed("short", BYTES - 1).unwrap();
    assert!(matches!(open(&short), Some(RingError::Memory(RegionError::Outside { .. }))));
    // Writing to a bell that is a pipe would wait for the peer to read.
    let (_reader, writer) = std::io::pipe().unwrap();
    let opened = Server::open(&memory, own.try_clone().unwrap(), OwnedFd::from(writer));
    assert!(matches!(opened, Err(RingError::Io(_))));
    assert!(open(&memory).is_none());
}

#[test]
fn the_layout_is_that_of_the_specification() {
    let (mut client, mut server) = pair();
    let memory = client.files()[0].try_clone_to_owned().unwrap();
    let bytes = Region::map(&memory, 0, BYTES).unwrap();
    let at = |offset, length| {
        let mut part = vec![0; length];
        assert!(bytes.read(offset, &mut part));
        part
    };
    assert_eq!(at(0, 12), *b"VPRG\x01\0\0\0\x40\0\0\0");
    assert_eq!(at(0xc0, 4), [1, 0, 0, 0]);
    let asleep = client.wait(&mut Wait::sleeping(Duration::ZERO), &[], &[], |_| match at(0x40, 4)[..] {
        [0, 0, 0, 0] => None,
        _ => Some(at(0x40, 4)),
    });
    assert_eq!((asleep, at(0x40, 4)), (Some(vec![1, 0, 0, 0]), vec![0, 0, 0, 0]));
    assert!(client.ask(Request { access: Access::Posted(1), address: 2, at: None }));
    let write = Access::Write(0x0d0c_0b0a);
    assert!(client.ask(Request { access: write, address: 0x0807_0605_0403_0201, at: Some(0x11) }));
    let entry = [
        2, 0, 0, 0, 1, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0, 0, 0, 0, 0, 0, 0, 0xa, 0xb, 0xc, 0xd, 0, 0,
        0, 0,
    ];
    assert_eq!(at(0x120, 32), entry);
    server.take().unwrap();
    server.take().unwrap();
    assert_eq!(at(0x80, 4), [2, 0, 0, 0]);
    server.set_line(true);
    assert_eq!(at(0xc4, 4), [3, 0, 0, 0]);
    server.answer(0x40, 0x0403_0201, 0x0807_0605_0403_0201);
    let entry = [1, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4, 3, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(at(0x900, 24), entry);
}

#[test]
fn of_two_lines_the_newer_is_known_also_after_a_turn_of_the_counter() {
    let mut line = Line(u32::MAX - 3);
    for level in [true, true, false, true] {
        let next = line.changed(level);
        assert!(next.is_newer(line) && !line.is_newer(next) && !next.is_newer(next));
        assert_eq!(next.level(), level);
        line = next;
    }
}

#[test]
fn two_threads_that_sleep_now_and_then_miss_nothing() {
    let (mut client, mut server) = pair();
    const COUNT: u32 = 500;
    /// Posted writes before each read: now and then the ring is full.
    const POSTED: u64 = 70;
    let answers = std::thread::spawn(move || {
        let mut seen = 0;
        while seen < COUNT {
            match server.take().unwrap() {
                Some(Request { access: Access::Read, address, .. }) => {
                    server.answer(0, address as u32, 0);
                    seen += 1;
                }
                Some(_) => {}
                // A hair's breadth of looking, so that every way of falling asleep is met.
                None if seen % 3 == 0 => {
                    if server.fall_asleep() {
                        assert!(wait(&[server.bell()], &[], Some(HANGS)), "nobody rang");
                    }
                    server.wake();
                }
                None => {}
            }
        }
    });
    let ask = |client: &mut Client, access, number| {
        let request = Request { access, address: number, at: None };
        soon(client, number % 2 == 0, |client| client.ask(request).then_some(()));
    };
    for number in 0..u64::from(COUNT) {
        (0..POSTED * (number % 2)).for_each(|posted| ask(&mut client, Access::Posted(1), posted));
        ask(&mut client, Access::Read, number);
        let answer = soon(&mut client, number % 2 == 0, Client::answer);
        assert_eq!(u64::from(answer.value), number);
    }
    answers.join().unwrap();
}

/// Waits, with or without looking first.
fn soon<T>(client: &mut Client, looks: bool, mut take: impl FnMut(&mut Client) -> Option<T>) -> T {
    let mut wait = if looks { Wait::within(HANGS) } else { Wait::sleeping(HANGS) };
    loop {
        let taken = client.wait(&mut wait, &[], &[], &mut take);
        assert!(wait.over().is_none(), "nobody rang");
        if let Some(taken) = taken {
            return taken;
        }
    }
}

proptest! {
    /// Whatever a client writes into the memory, and whenever: the server takes accesses that are there, or says that one
    /// is none, and never takes more than the client could have written.
    #[test]
    fn no_memory_content_makes_a_server_err(
        writes in proptest::collection::vec((0usize..BYTES as usize - 4, any::<u32>(), any::<bool>()), 0..200),
    ) {
        let (client, mut server) = pair();
        let bytes = Region::map(client.files()[0].as_fd(), 0, BYTES).unwrap();
        let mut taken = 0_u32;
        for (at, value, near) in writes {
            // Half of the writes go to where they matter: the number of the entry that is next.
            let (at, value) = match near {
                true => (0x100 + (taken % ENTRIES) as usize * 32, taken.wrapping_add(1)),
                false => (at & !3, value),
            };
            prop_assert!(bytes.write(at as u64, &value.to_le_bytes()));
            let before = server.owed();
            match server.take() {
                Ok(Some(_)) => taken += 1,
                Ok(None) => prop_assert_eq!(server.owed(), before),
                Err(error) => prop_assert_eq!(error.number, taken),
            }
            prop_assert!(server.owed() <= ENTRIES);
            if value % 2 == 0 {
                server.answer(0, value, 0);
            }
        }
    }

    /// Checks a server's memory likewise: a client gets an answer to what it asked, or none.
    #[test]
    fn no_memory_content_makes_a_client_err(
        writes in proptest::collection::vec((0usize..BYTES as usize - 4, any::<u32>()), 0..200),
    ) {
        let (mut client, _server) = pair();
        let bytes = Region::map(client.files()[0].as_fd(), 0, BYTES).unwrap();
        let (mut asked, mut answered) = (0_u32, 0_u32);
        for (at, value) in writes {
            let (at, value) = match value % 3 {
                0 => (0x900 + (answered % ENTRIES) as usize * 32, answered.wrapping_add(1)),
                _ => (at & !3, value),
            };
            prop_assert!(bytes.write(at as u64, &value.to_le_bytes()));
            asked += u32::from(client.ask(read(0)));
            answered += u32::from(client.answer().is_some());
            prop_assert!(answered <= asked && asked - answered <= ENTRIES);
        }
    }

    /// Any order of asking and answering: everything arrives once, in order.
    #[test]
    fn any_interleaving_keeps_order(steps in proptest::collection::vec(0u8..4, 0..500)) {
        let (mut client, mut server) = pair();
        let (mut asked, mut taken, mut given, mut got) = (0_u64, 0, 0, 0);
        for step in steps {
            match step {
                0 => asked += u64::from(client.ask(read(asked))),
                1 => if let Some(request) = server.take().unwrap() {
                    prop_assert_eq!(request.address, taken);
                    taken += 1;
                },
                2 => if server.owed() > 0 {
                    server.answer(0, given, 0);
                    given += 1;
                },
                _ => if let Some(answer) = client.answer() {
                    prop_assert_eq!(answer.value, got);
                    got += 1;
                },
            }
            prop_assert!(u64::from(got) <= u64::from(given) && u64::from(given) <= taken && taken <= asked);
        }
    }
}
