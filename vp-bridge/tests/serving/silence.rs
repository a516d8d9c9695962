//! Silent sessions: asked, borne with, or given up.

use crate::common::process::Ended as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::Served;
use crate::common::raw::{CSB, DBB, Raw};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use vp_client::SilenceLimit;
use vp_host::Host as _;
use vp_protocols::native::{
    AccessKind, Capabilities, Connection, ErrorCode, Event, MemoryRead, MemoryWrite, Reply, Request, Role,
    Time, TimeMode,
};
use vp_remote::{RemoteHost, RemoteOptions};
use vp_server::Options;
use vp_transport::Address;

const NAME: &str = "p";

fn served(heartbeat: Option<u64>, idle_timeout: Option<u64>) -> Served {
    let [heartbeat, idle_timeout] = [heartbeat, idle_timeout].map(|limit| limit.map(Duration::from_millis));
    Served::at("tcp:127.0.0.1:0", Options { heartbeat, idle_timeout, ..Options::default() })
}

fn join(served: &Served) -> Raw {
    Raw::open(&served.address, Some(NAME), TimeMode::Lockstep)
}

/// A session that promises to answer Pings at any time.
fn promise(served: &Served) -> Raw {
    let mut hello = Connection::hello("raw 1.0", Some(NAME), TimeMode::Lockstep);
    hello.capabilities = hello.capabilities.union(Capabilities::HEARTBEAT);
    Raw::greet(&served.address, hello)
}

/// Reason for which the server ends the session; what else comes is left unanswered.
fn bye(raw: &mut Raw) -> Option<ErrorCode> {
    loop {
        if let Event::Bye(bye) = raw.next() {
            return bye.code;
        }
    }
}

fn pong(raw: &mut Raw) {
    let Event::Request { id, request: Request::Ping, .. } = raw.next() else { panic!("no Ping") };
    raw.connection.reply(id, Time::ZERO, Reply::Pong, &[]).unwrap();
}

#[test]
fn who_has_promised_to_answer_pings_and_does_not_loses_its_port_and_others_may_be_silent() {
    let served = served(Some(200), None);
    let (mut silent, mut stopped) = (join(&served), promise(&served));
    assert_eq!(silent.attach(DBB, Role::Target), Reply::Done);
    assert_eq!(stopped.attach(CSB, Role::Initiator), Reply::Done);
    assert!(matches!(stopped.next(), Event::Request { request: Request::Ping, .. }));
    assert_eq!(bye(&mut stopped), Some(ErrorCode::NotAnswered));
    let mut next = join(&served);
    assert_eq!(next.attach(CSB, Role::Initiator), Reply::Done);
    assert_eq!(silent.ask(Request::Detach { port: DBB }), Reply::Done);
}

#[test]
fn who_answers_pings_stays_however_little_it_does() {
    let served = served(Some(2000), None);
    let mut raw = promise(&served);
    // Longer than the limit.
    (0..5).for_each(|_| pong(&mut raw));
    assert!(matches!(raw.ask(Request::Status), Reply::Status(_)));
}

#[test]
fn without_a_limit_nobody_is_asked() {
    let served = served(None, Some(100));
    let mut stopped = promise(&served);
    // Idle sessions are put out; no Ping comes before.
    assert!(matches!(stopped.next(), Event::Bye(bye) if bye.code == Some(ErrorCode::Idle)));
}

#[test]
fn an_idle_session_is_put_out_though_it_pings_and_one_with_something_under_way_is_not() {
    let served = served(None, Some(300));
    let mut owner = join(&served);
    assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
    let mut waiting = join(&served);
    assert_eq!(waiting.attach(DBB, Role::Initiator), Reply::Done);
    let (address, access, axi_id, at) = (0x8000_0000, AccessKind::Debug, 0, None);
    let read =
        waiting.send(Request::MemoryRead(MemoryRead { port: DBB, address, length: 1, access, axi_id, at }));
    waiting.flush();
    let Event::Request { id: asked, .. } = owner.next() else { panic!("it is asked") };
    let mut idle = join(&served);
    loop {
        idle.send(Request::Ping);
        match idle.next() {
            Event::Reply { reply: Reply::Pong, .. } => {}
            Event::Bye(bye) => break assert_eq!(bye.code, Some(ErrorCode::Idle)),
            other => panic!("{other:?}"),
        }
    }
    owner.connection.reply(asked, Time::ZERO, Reply::Data, &[7]).unwrap();
    owner.flush();
    let (id, _, reply) = waiting.reply(&mut Vec::new());
    assert_eq!((id, reply), (read, Reply::Data));
}

/// The writer has more under way than the server takes, so its own Pings would not be seen.
#[test]
fn who_is_read_no_further_is_told_that_the_server_is_there() {
    const WRITES: usize = 16;
    let served = served(Some(200), None);
    let mut owner = join(&served);
    assert_eq!(owner.attach(DBB, Role::Target), Reply::Done);
    let mut writer = join(&served);
    assert_eq!(writer.attach(DBB, Role::Initiator), Reply::Done);
    let (address, length, axi_id, at) = (0x8000_0000, 1 << 20, 0, None);
    let write =
        MemoryWrite { port: DBB, address, length, access: AccessKind::Debug, axi_id, strobes: false, at };
    for _ in 0..WRITES {
        writer.connection.request(Request::MemoryWrite(write), &vec![1; 1 << 20]).unwrap();
    }
    let bytes = writer.connection.output().split();
    let mut sending = writer.stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || sending.write_all(&bytes).unwrap());
        // The answers stand behind what is not read.
        for _ in 0..3 {
            assert!(matches!(writer.next(), Event::Request { request: Request::Ping, .. }));
        }
        // What it left open fails, what comes later finds the memory inside.
        drop(owner);
        for _ in 0..WRITES {
            while !matches!(writer.next(), Event::Reply { .. }) {}
        }
    });
}

/// The column `tr` of /proc/net/tcp (proc_net_tcp of the kernel's documentation): 02 is the timer of keepalive.
#[test]
fn over_tcp_the_system_finds_out_whether_a_clients_host_is_there() {
    let served = served(Some(20_000), None);
    let raw = join(&served);
    let Address::Tcp { port, .. } = served.address else { panic!() };
    let near = raw.stream.local_addr().unwrap().port();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let ends = [format!(":{port:04X}"), format!(":{near:04X}")];
    let row = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = row.skip(1).find(|row| row[1].ends_with(&ends[0]) && row[2].ends_with(&ends[1])).unwrap();
    assert!(row[5].starts_with("02:"), "{row:?}");
}

/// A `vp serve` in a process of its own.
struct Server(Child);

impl Server {
    fn process(&self) -> Pid {
        Pid::from_raw(self.0.id().try_into().unwrap())
    }

    /// Stops it: the signal alone takes effect later, and a thread of it may answer until then.
    fn stop(&self) {
        kill(self.process(), Signal::SIGSTOP).unwrap();
        let state = waitpid(self.process(), Some(WaitPidFlag::WUNTRACED)).unwrap();
        assert!(matches!(state, WaitStatus::Stopped(..)), "{state:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        kill(self.process(), Signal::SIGKILL).unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_client_that_waits_for_a_stopped_server_is_told_so() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_vp"));
    server.args(["serve", "--listen", "tcp:127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Server(server.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address: Address = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
    let heartbeat = SilenceLimit::of(Duration::from_secs(1));
    let mut host =
        RemoteHost::connect(&address, RemoteOptions { heartbeat, ..RemoteOptions::default() }).unwrap();
    host.read(0).unwrap();
    server.stop();
    let error = host.read(0).unwrap_err().to_string();
    assert!(error.contains(&format!("{address} has said nothing for 1 s")), "{error}");
}

#[test]
fn a_limit_in_the_environment_that_makes_no_sense_is_refused() {
    let mut vp = Command::new(env!("CARGO_BIN_EXE_vp"));
    vp.args(["attach-device", "tcp:127.0.0.1:1"]).env(SilenceLimit::VARIABLE, "soon");
    let told = vp.ended().stderr;
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("VP_HEARTBEAT is `soon`: write a whole number of seconds"), "{told}");
}
