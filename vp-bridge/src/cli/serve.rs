//! `vp serve`: offers a platform to programs that connect.

use super::parts::PartArgs;
use super::platform_args::{PlatformArgs, headline, into_guest_memory};
use super::{Failure, Verdict};
use tracing::info;
use tracing_subscriber::EnvFilter;
use vp_server::remote_port::{Peer, TimeSource};
use vp_server::{Options, Server};
use vp_transport::{Address, MeetingPlace};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    platform: PlatformArgs,

    /// Where to listen: tcp:HOST:PORT (port 0 for any free one) or unix:PATH
    #[arg(long, value_name = "ADDR", default_value = "tcp:127.0.0.1:7700")]
    listen: Address,

    /// Let the memory interfaces reach every address: the memory is that of a guest, whose emulator serves it
    #[arg(long)]
    guest_memory: bool,

    /// Sessions at a time, at most
    #[arg(long, value_name = "N", default_value_t = Options::default().max_sessions)]
    max_sessions: usize,

    /// Also meet a CPU that speaks Remote-Port, such as Xilinx's QEMU or a SystemC platform: it connects there, or listens
    /// already. unix:PATH or tcp:HOST:PORT, behind `listen:` or `connect:` if only one of both should be tried
    #[arg(long, value_name = "PLACE")]
    remote_port: Vec<MeetingPlace>,

    /// What lets simulated time move for such a CPU: the platform's own work, or the peer's times
    #[arg(long, value_name = "SOURCE", default_value = "free")]
    remote_port_time: RemotePortTime,

    #[command(flatten)]
    parts: PartArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RemotePortTime {
    /// The platform's own work: as fast as it can
    Free,
    /// The times of the peer's packets: those of its syncs, and of accesses between them
    Peer,
}

impl From<RemotePortTime> for TimeSource {
    fn from(time: RemotePortTime) -> TimeSource {
        match time {
            RemotePortTime::Free => TimeSource::Free,
            RemotePortTime::Peer => TimeSource::Peer,
        }
    }
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    start_log("info");
    let mut description = args.platform.description("nv_small")?;
    if args.guest_memory {
        into_guest_memory(&mut description, |_| true);
    }
    let parts = args.parts.of(&mut description)?;
    let what = headline(&description);
    let options = Options {
        max_sessions: args.max_sessions,
        owner_timeout: args.parts.owner_timeout(),
        one_platform: !parts.is_empty(),
        ..Options::default()
    };
    let runtime = super::runtime::builder()?.enable_all().build()?;
    runtime.block_on(async {
        let mut server = Server::bind(&args.listen, description, options).await.map_err(Failure::new)?;
        // The line that scripts wait for, on standard output: it names the port that was really taken.
        anstream::println!("listening on {}", server.local_address());
        info!("serving {what}");
        parts.meet(&mut server).await?;
        for place in &args.remote_port {
            let (peer, channels) = (Peer::Host { time: args.remote_port_time.into() }, args.parts.channels());
            let address = server.add_remote_port(place, peer, channels).await.map_err(Failure::new)?;
            info!("Remote-Port at {address}: {}", args.parts.channels());
        }
        let _programs = parts.start(server.local_address())?;
        server.run(interrupted()).await;
        info!("stopped");
        Ok(Verdict::Right)
    })
}

/// Logs to standard error, from this level on unless the environment says otherwise.
pub(super) fn start_log(level: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let colours = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.with_target(false).with_ansi(colours).init();
}

/// Ctrl-C, or a polite request to end.
pub(super) async fn interrupted() {
    let ctrl_c = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = ctrl_c => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    _ = ctrl_c.await;
}
