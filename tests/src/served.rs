//! A server of a platform in this process, for hosts that come over a socket.

use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::sync::oneshot;
use vp_host::Host;
use vp_models::platform::Description;
use vp_remote::{MemoryPlace, RemoteHost, RemoteOptions};
use vp_server::{Options, Server};
use vp_transport::Address;

/// A host at a server of its own, which ends with it.
pub struct ServedHost {
    // Before the server, so that the session ends first.
    host: RemoteHost,
    _server: Served,
}

impl ServedHost {
    /// Starts a server of this platform on a free port of the loopback interface and connects to it.
    ///
    /// # Panics
    /// When either cannot be done.
    pub fn new(description: &Description, memory: MemoryPlace) -> ServedHost {
        let any_port = "tcp:127.0.0.1:0".parse().expect("an address");
        let server = Served::start(&any_port, description.clone(), Options::default());
        let options = RemoteOptions { memory, ..RemoteOptions::default() };
        let host = RemoteHost::connect(&server.address, options).unwrap_or_else(|error| panic!("{error}"));
        ServedHost { host, _server: server }
    }
}

/// A running server; dropping it stops it.
pub(crate) struct Served {
    address: Address,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Starts one at this address.
    pub(crate) fn start(address: &Address, description: Description, options: Options) -> Served {
        let (stop, stopped) = oneshot::channel::<()>();
        let (bound, bound_to) = mpsc::channel();
        let place = address.clone();
        let serve = move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let server = Server::bind(&place, description, options).await.expect("a server");
                bound.send(server.local_address().clone()).expect("who started the server waits");
                // An error says that the sender is gone: the test is over either way.
                server.run(async { _ = stopped.await }).await;
            });
        };
        let thread = std::thread::spawn(serve);
        let address = bound_to.recv().expect("a server that listens");
        Served { address, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

impl Host for ServedHost {
    vp_host::forward_host!(host: write, write_acknowledged, read, wait_interrupt, now, load, fetch, map, device, statistics, warnings, set_limit);
}
