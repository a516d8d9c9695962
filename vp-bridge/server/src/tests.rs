//! A server whose platform's thread is in a model's hands: one that never lets time move on, and one that does not come back for a
//! while.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};

use vp_core::{Sim, Time};
use vp_host::{Host as _, HostError};
use vp_models::platform::Description;
use vp_protocols::native::{
    AccessKind, Activity, Attach, Connection, Event, MemoryRead, MemoryWrite, PortId, Posted, Reply, Request,
    Role, TimeMode,
};

use super::instance::{Instance, PlatformCommand};
use super::{Options, Server, ServerContext};
use vp_remote::{RemoteHost, RemoteOptions};
use vp_transport::Address;

/// The name of the platform; sessions that name it share it.
const NAME: &str = "shared";
/// A wait that ends long before, or never.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of nv_small, and where it is.
async fn serve(delta_limit: u64) -> (Arc<ServerContext>, Address) {
    serve_at("tcp:127.0.0.1:0", delta_limit).await
}

async fn serve_at(address: &str, delta_limit: u64) -> (Arc<ServerContext>, Address) {
    let description = Description::named("nv_small").unwrap();
    let options = Options { delta_limit, ..Options::default() };
    let server = Server::bind(&address.parse().unwrap(), description, options).await.unwrap();
    let (context, address) = (server.context.clone(), server.local_address().clone());
    tokio::spawn(server.run(std::future::pending()));
    (context, address)
}

/// A client of the platform. Blocks.
fn client(address: &Address, time_mode: TimeMode) -> RemoteHost {
    let options = RemoteOptions { platform: Some(NAME.to_owned()), time_mode, ..RemoteOptions::default() };
    RemoteHost::connect(address, options).unwrap()
}

/// Has the platform's thread do something with its simulation, before all that a session asks from then on.
fn tell(context: &ServerContext, what: impl FnOnce(&Sim) + Send + 'static) -> Instance {
    let instance = context.registry.find(Some(NAME)).expect("a platform of that name");
    let (began, has_begun) = std::sync::mpsc::channel();
    let what = move |sim: &Sim| {
        began.send(()).unwrap();
        what(sim);
    };
    instance.inbox().send(PlatformCommand::Do(Box::new(what))).unwrap();
    has_begun.recv().unwrap();
    instance
}

/// A process that waits for delta cycles.
fn spin(sim: &Sim) {
    let clock = sim.clone();
    sim.process("spins", async move {
        loop {
            clock.wait(Time::ZERO).await;
        }
    });
}

/// A process that hardly ever comes back to the kernel.
fn spin_in_place(sim: &Sim) {
    let clock = sim.clone();
    sim.process("spins", async move {
        loop {
            clock.wait_until(Time::ZERO).await;
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_platform_whose_time_stands_still_is_told_who_runs_and_a_reset_helps() {
    for model in [spin, spin_in_place] {
        let (context, address) = serve(50_000).await;
        let done = tokio::task::spawn_blocking(move || {
            let mut client = client(&address, TimeMode::Lockstep);
            tell(&context, model);
            // The second is not tried: time stands until a reset.
            for _ in 0..2 {
                let error = client.read(0).unwrap_err();
                let HostError::Livelock { report } = &error else { panic!("{error:?}") };
                assert!(report.contains("time stands still at 0 s while spins"), "{report}");
            }
            assert_eq!(client.status().unwrap().activity, Activity::Deadlocked);
            assert!(client.warnings().iter().any(|warning| warning.text.contains("stands still")));
            client.reset().unwrap();
            client.read(0).unwrap();
        });
        tokio::time::timeout(PATIENCE, done).await.expect("an end").unwrap();
    }
}

/// A client that asks again and again how the platform is.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_an_interrupt_in_free_mode_is_told_that_time_stands_still() {
    for model in [spin, spin_in_place] {
        let (context, address) = serve(500_000).await;
        let done = tokio::task::spawn_blocking(move || {
            let mut client = client(&address, TimeMode::Free);
            tell(&context, model);
            let error = client.wait_interrupt().unwrap_err();
            let HostError::Livelock { report } = &error else { panic!("{error:?}") };
            assert!(report.contains("while spins runs again and again"), "{report}");
        });
        tokio::time::timeout(PATIENCE, done).await.expect("an end").unwrap();
    }
}

/// Has no limit of delta cycles: nothing but the client's going ends the run.
#[tokio::test(flavor = "multi_thread")]
async fn a_platform_whose_time_stands_still_ends_when_its_last_session_has_gone() {
    for model in [spin, spin_in_place] {
        let (context, address) = serve(u64::MAX).await;
        let gone = tokio::task::spawn_blocking(move || {
            let client = client(&address, TimeMode::Free);
            let instance = tell(&context, model);
            drop(client);
            instance
        });
        let instance = gone.await.unwrap();
        let ended = async {
            while instance.inbox().is_open() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.expect("the thread ends");
    }
}

/// A client that speaks by hand.
struct Raw {
    stream: UnixStream,
    connection: Connection,
    input: BytesMut,
}

impl Raw {
    const MEMORY: PortId = PortId(2);
    const ADDRESS: u64 = 0x8000_0000;

    /// A session that may access the memory.
    fn open(address: &Address) -> Raw {
        let Address::Unix(path) = address else { panic!() };
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let hello = Connection::hello("raw", Some(NAME), TimeMode::Lockstep);
        let mut raw = Raw { stream, connection: Connection::client(hello).unwrap(), input: BytesMut::new() };
        raw.send();
        assert!(matches!(raw.next(), Event::Welcome(_)));
        let attach = Attach { port: Raw::MEMORY, role: Role::Initiator, range: None };
        raw.connection.request(Request::Attach(attach), &[]).unwrap();
        raw.send();
        assert!(matches!(raw.next(), Event::Reply { reply: Reply::Done, .. }));
        raw
    }

    fn send(&mut self) {
        let output = self.connection.output().split();
        self.stream.write_all(&output).unwrap();
    }

    fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.connection.receive(&mut self.input).unwrap() {
                return event;
            }
            let mut part = [0; 4096];
            let read = self.stream.read(&mut part).unwrap();
            assert!(read > 0, "the server has gone");
            self.input.extend_from_slice(&part[..read]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_waits_for_a_batch_of_another_session_and_not_for_all_that_it_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let (context, address) = serve_at(&format!("unix:{}", path.display()), u64::MAX).await;
    let done = tokio::task::spawn_blocking(move || {
        let (mut greedy, mut modest) = (Raw::open(&address), Raw::open(&address));
        let (go_on, is_held) = std::sync::mpsc::channel::<()>();
        tell(&context, move |_| {
            let _ = is_held.recv();
        });
        // As much as the stream takes: counts its own writes in memory.
        greedy.stream.set_nonblocking(true).unwrap();
        let (port, address, length, access, axi_id, at) =
            (Raw::MEMORY, Raw::ADDRESS, 4, AccessKind::Debug, 0, None);
        const WRITES: u32 = 20_000;
        for count in 1..=WRITES {
            let write = MemoryWrite { port, address, length, access, axi_id, strobes: false, at };
            greedy.connection.post(Posted::MemoryWrite(write), &count.to_le_bytes()).unwrap();
        }
        let output = greedy.connection.output().split();
        let sent = greedy.stream.write(&output).unwrap();
        assert!(sent > 64 << 10, "{sent}");
        let read = MemoryRead { port, address, length, access, axi_id, at };
        modest.connection.request(Request::MemoryRead(read), &[]).unwrap();
        modest.send();
        drop(go_on);
        let Event::Reply { reply: Reply::Data, mut payload, .. } = modest.next() else { panic!() };
        let carried_out = payload.get_u32_le();
        // One batch.
        assert!(carried_out <= 64, "{carried_out} writes of another session were carried out before");
    });
    tokio::time::timeout(PATIENCE, done).await.expect("an end").unwrap();
}
