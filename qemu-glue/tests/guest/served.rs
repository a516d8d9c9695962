//! A server of platforms whose memory is a guest's, which can end politely or at once. A test's platforms are recorded, and run
//! again in the end.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use tempfile::TempDir;
use tokio::sync::oneshot;
use vp_models::platform::Description;
use vp_server::{Access, ObservePlatforms, Options, Server};
use vp_transport::Address;

#[path = "../../../vp-bridge/tests/common/recorded.rs"]
#[allow(unreachable_pub, reason = "a module of several test programs")]
mod recorded;
use recorded::Recorded;

pub(crate) struct Served {
    pub(crate) address: Address,
    /// Address at which it is served over vfio-user, if it is.
    pub(crate) vfio_user: Option<Address>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    recorded: Option<Arc<Recorded>>,
    /// Folder of the socket, if it is the server's own.
    _folder: Option<TempDir>,
}

impl Served {
    /// Serves a built-in platform at a socket in a folder of its own.
    pub(crate) fn named(platform: &str) -> Served {
        let folder = tempfile::tempdir().expect("a folder");
        let mut served = Served::at(folder.path(), platform);
        served._folder = Some(folder);
        served
    }

    /// Serves a built-in platform at a socket of this folder.
    pub(crate) fn at(folder: &Path, platform: &str) -> Served {
        Served::start(Address::Unix(folder.join("vp.sock")), platform)
    }

    pub(crate) fn start(address: Address, platform: &str) -> Served {
        Served::with(address, Description::named(platform).expect("a built-in platform"))
    }

    pub(crate) fn with(address: Address, description: Description) -> Served {
        Served::with_access(address, description, Access::default())
    }

    pub(crate) fn with_access(address: Address, description: Description, access: Access) -> Served {
        Served::with_all(address, None, description, access)
    }

    /// Serves a built-in platform at a socket in a folder of its own, and over vfio-user at another one.
    pub(crate) fn over_vfio_user(platform: &str) -> Served {
        Served::described_over_vfio_user(Description::named(platform).expect("a built-in platform"))
    }

    /// Serves a platform as [`Served::over_vfio_user`] does.
    pub(crate) fn described_over_vfio_user(description: Description) -> Served {
        let folder = tempfile::tempdir().expect("a folder");
        let address = |name: &str| Address::Unix(folder.path().join(name));
        let vfio_user = Some(address("vfio.sock"));
        let mut served = Served::with_all(address("vp.sock"), vfio_user, description, Access::default());
        served._folder = Some(folder);
        served
    }

    fn with_all(
        address: Address,
        vfio_user: Option<Address>,
        mut description: Description,
        access: Access,
    ) -> Served {
        let recorded = crate::RECORDS_PLATFORMS.then(|| Arc::new(Recorded::new()));
        let observe = recorded.clone().map(|recorded| recorded as Arc<dyn ObservePlatforms>);
        let options = Options { access, observe, ..Options::default() };
        description.dbb0.base = 0;
        description.dbb0.size =
            1 << description.nvdla().map_or(40, |nvdla| nvdla.config.address_bits().min(40));
        let (stop, stopped) = oneshot::channel::<()>();
        let (bound, is_bound) = mpsc::channel();
        let listens = vfio_user.clone();
        let serve = move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let runtime = runtime.expect("a runtime");
            runtime.block_on(async {
                let mut server = Server::bind(&address, description, options).await.expect("a server");
                if let Some(address) = vfio_user {
                    server.add_vfio_user(&address).await.expect("a socket for hypervisors");
                }
                bound.send(server.local_address().clone()).expect("who started the server waits");
                tokio::select! {
                    () = server.run(std::future::pending()) => {}
                    _ = stopped => {}
                }
            });
            // The sessions' sockets close as they do when the process is killed: nobody says goodbye.
            runtime.shutdown_background();
        };
        let thread = std::thread::spawn(serve);
        let address = is_bound.recv().expect("a server that listens");
        let vfio_user = listens;
        Served { address, vfio_user, stop: Some(stop), thread: Some(thread), recorded, _folder: None }
    }

    /// Ends at once.
    pub(crate) fn kill(self) {}
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
        if let (Some(recorded), false) = (&self.recorded, std::thread::panicking()) {
            recorded.check(true);
        }
    }
}
