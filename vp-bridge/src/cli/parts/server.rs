//! A server on a thread of its own.

use std::hash::{BuildHasher as _, RandomState};
use std::thread::JoinHandle;

use tokio::sync::oneshot;
use vp_models::platform::Description;
use vp_server::{Options, Server};
use vp_transport::Address;

use super::ExternalParts;
use crate::cli::Failure;

/// A server that ends when it is dropped: its sessions are told, and have a moment to read it.
pub(in crate::cli) struct PlatformServer {
    address: Address,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// An address on this host that nobody else has, without a file that could be left behind.
pub(in crate::cli) fn own_address() -> Address {
    let unique = RandomState::new().hash_one(std::process::id());
    Address::Unix(format!("@vp-{}-{unique:x}", std::process::id()).into())
}

impl PlatformServer {
    /// Listens at an address, or at one of its own.
    pub(in crate::cli) fn start(
        listen: Option<&Address>,
        description: Description,
        options: Options,
        parts: &ExternalParts,
    ) -> Result<PlatformServer, Failure> {
        let address = listen.cloned().unwrap_or_else(own_address);
        let runtime = super::super::runtime::builder()?.worker_threads(1).enable_all().build()?;
        let mut server =
            runtime.block_on(Server::bind(&address, description, options)).map_err(Failure::new)?;
        runtime.block_on(parts.meet(&mut server))?;
        let address = server.local_address().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            runtime.block_on(server.run(async { drop(stopped.await) }));
        });
        Ok(PlatformServer { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address at which the server listens.
    pub(in crate::cli) fn address(&self) -> &Address {
        &self.address
    }
}

impl Drop for PlatformServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // What has gone wrong there has been said there.
            let _ = thread.join();
        }
    }
}
