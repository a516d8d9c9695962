//! Properties that hold in every order of the two sides' steps.

use loom::thread;

use super::super::{Access, Client, ENTRIES, Reply, Request, Server, Wait};
use super::pair;

/// Every order in which so often somebody is interrupted in the middle of his steps. Those who sleep or wake do not count. Almost
/// all faults of lock-free code need no more than two.
fn check(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.max_branches = 10_000;
    model.check(test);
}

/// Of two threads. If `VP_TEST_EFFORT` is above 1, one more.
fn preemptions() -> usize {
    let asks_for_more = |effort: String| effort.parse().is_ok_and(|times: u32| times > 1);
    2 + usize::from(std::env::var("VP_TEST_EFFORT").is_ok_and(asks_for_more))
}

/// Waits as the clients of this project do.
fn wait<T>(client: &mut Client, mut take: impl FnMut(&mut Client) -> Option<T>) -> T {
    let mut wait = Wait::new();
    loop {
        if let Some(taken) = client.wait(&mut wait, &[], &[], &mut take) {
            return taken;
        }
    }
}

fn ask(client: &mut Client, access: Access, address: u64) {
    let request = Request { access, address, at: None };
    wait(client, |client| client.ask(request).then_some(()));
}

fn answer(client: &mut Client) -> Reply {
    wait(client, Client::answer)
}

/// Takes so many accesses, in order, each with its own contents, and answers them at once with their address. Sleeps when
/// there is nothing.
fn serve(server: &mut Server, accesses: u64) {
    let mut taken = 0;
    while taken < accesses {
        match server.take().unwrap() {
            Some(Request { access, address, at }) => {
                assert_eq!((address, at), (taken, None));
                taken += 1;
                if let Access::Write(value) | Access::Posted(value) = access {
                    assert_eq!(value, address as u32 + 100);
                }
                if !matches!(access, Access::Posted(_)) {
                    server.set_line(true);
                    server.answer(0, address as u32, address);
                }
            }
            None => server.sleep(&[], &[]),
        }
    }
}

fn posted(number: u64) -> Access {
    Access::Posted(number as u32 + 100)
}

fn check_reply(reply: Reply, number: u64) {
    assert_eq!((reply.value, reply.time, reply.is_done()), (number as u32, number, true));
}

#[test]
fn posted_writes_into_a_ring_that_is_full_now_and_then_all_arrive() {
    check(preemptions(), || {
        let (mut client, mut server) = pair();
        const COUNT: u64 = 2 * ENTRIES as u64 + 1;
        let served = thread::spawn(move || serve(&mut server, COUNT));
        (0..COUNT).for_each(|number| ask(&mut client, posted(number), number));
        served.join().unwrap();
    });
}

#[test]
fn a_read_gets_its_answer_and_the_line_as_it_was_then() {
    check(preemptions(), || {
        let (mut client, mut server) = pair();
        let served = thread::spawn(move || serve(&mut server, 2));
        for number in 0..2 {
            ask(&mut client, Access::Read, number);
            let reply = answer(&mut client);
            check_reply(reply, number);
            let now = client.line();
            assert!(reply.line.level() && (now == reply.line || now.is_newer(reply.line)));
        }
        served.join().unwrap();
    });
}

#[test]
fn a_read_behind_posted_writes_that_fill_the_ring_gets_its_answer() {
    check(2, || {
        let (mut client, mut server) = pair();
        const POSTED: u64 = ENTRIES as u64;
        let served = thread::spawn(move || serve(&mut server, POSTED + 2));
        (0..POSTED).for_each(|number| ask(&mut client, posted(number), number));
        ask(&mut client, Access::Read, POSTED);
        check_reply(answer(&mut client), POSTED);
        ask(&mut client, Access::Write(POSTED as u32 + 101), POSTED + 1);
        check_reply(answer(&mut client), POSTED + 1);
        served.join().unwrap();
    });
}

#[test]
fn a_client_that_waits_for_room_and_answers_at_once_gets_both() {
    check(preemptions(), || {
        let (mut client, mut server) = pair();
        const COUNT: u64 = ENTRIES as u64 + 1;
        let served = thread::spawn(move || serve(&mut server, COUNT));
        let (mut asked, mut answered) = (0, 0);
        while answered < COUNT {
            // What can be done first: while answers fill their places there is no room.
            let reply = wait(&mut client, |client| {
                let request = Request { access: Access::Read, address: asked, at: None };
                if asked < COUNT && client.ask(request) {
                    asked += 1;
                    return Some(None);
                }
                client.answer().map(Some)
            });
            if let Some(reply) = reply {
                check_reply(reply, answered);
                answered += 1;
            }
        }
        served.join().unwrap();
    });
}

#[test]
fn a_client_that_something_else_wakes_does_not_lose_what_it_waits_for() {
    check(2, || {
        let (mut client, mut server) = pair();
        const POSTED: u64 = ENTRIES as u64 + 1;
        // The stream, say.
        let bell = client.own.clone();
        let other = thread::spawn(move || bell.ring());
        let served = thread::spawn(move || serve(&mut server, POSTED + 1));
        (0..POSTED).for_each(|number| ask(&mut client, posted(number), number));
        ask(&mut client, Access::Read, POSTED);
        check_reply(answer(&mut client), POSTED);
        served.join().unwrap();
        other.join().unwrap();
    });
}
