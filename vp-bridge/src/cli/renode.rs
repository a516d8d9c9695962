//! `vp renode`: a platform as a co-simulated peripheral of Renode.

use tracing::info;
use tracing::level_filters::LevelFilter;
use vp_models::platform::{Description, Platform, Port, PortKind};
use vp_server::renode::Sockets;
use vp_server::{Options, Server};
use vp_transport::Address;

use super::memory_limit::MemoryArgs;
use super::observing::ObserveArgs;
use super::parts::{PartArgs, own_address};
use super::platform_args::{DEFAULT_PLATFORM, PlatformArgs, headline, into_guest_memory};
use super::serve::interrupted;
use super::terminal::start_log;
use super::{Failure, Verdict};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Renode's port for its requests (`{0}` of its simulationContext)
    #[arg(value_name = "MAIN")]
    main: u16,

    /// Renode's port for the peripheral's requests (`{1}`)
    #[arg(value_name = "ASYNC")]
    asynchronous: u16,

    /// Renode's host (`{2}`)
    #[arg(value_name = "HOST", default_value = "127.0.0.1")]
    host: String,

    #[command(flatten)]
    platform: PlatformArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Memory interfaces that are masters on Renode's bus: dbb0, sram0, both with a comma between, or none; the others have the
    /// platform's own memory [default: all that are not a part in another program]
    #[arg(long, value_name = "PORTS")]
    bus_masters: Option<String>,

    #[command(flatten)]
    observing: ObserveArgs,

    #[command(flatten)]
    parts: PartArgs,
}

impl Args {
    fn bus_masters(&self, description: &Description) -> Result<Vec<String>, Failure> {
        Ok(match self.bus_masters.as_deref() {
            Some("none") => Vec::new(),
            Some(ports) => ports.split(',').map(|port| port.trim().to_owned()).collect(),
            None => {
                let platform = Platform::build(description).map_err(Failure::new)?;
                let is_master = |port: &&Port| {
                    port.kind == PortKind::Axi && !self.parts.memories().any(|part| part == port.name)
                };
                platform.ports().iter().filter(is_master).map(|port| port.name.to_owned()).collect()
            }
        })
    }
}

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    start_log(LevelFilter::INFO, &[]);
    let mut description = args.platform.description(DEFAULT_PLATFORM)?;
    let masters = args.bus_masters(&description)?;
    into_guest_memory(&mut description, |port| masters.iter().any(|of| of == port));
    let parts = args.parts.of(&mut description)?;
    let what = headline(&description);
    let options = Options {
        owner_timeout: args.parts.owner_timeout(),
        memory_limit: args.memory.limit(),
        one_platform: true,
        access: args.parts.access(),
        observe: args.observing.of_server(&description)?,
        ..Options::default()
    };
    let socket = |port| Address::Tcp { host: args.host.clone(), port };
    let sockets = Sockets { main: socket(args.main), asynchronous: socket(args.asynchronous) };
    let runtime = super::runtime::builder()?.worker_threads(1).enable_all().build()?;
    let served = runtime.block_on(async {
        // Parts in other programs attach there.
        let mut server = Server::bind(&own_address(), description, options).await.map_err(Failure::new)?;
        parts.meet(&mut server).await?;
        let ended = server.add_renode(&sockets, masters).await.map_err(|error| {
            Failure::connection(format!(
                "Renode does not take a peripheral at {} and {}: {error}",
                sockets.main, sockets.asynchronous
            ))
            .hint("give its ports as it listens for them, main first; it listens once, for three seconds")
        })?;
        info!("beside Renode at {}: {what}", sockets.main);
        let _programs = parts.start(server.local_address())?;
        let mut end = Ok("interrupted".to_owned());
        server
            .run(async {
                tokio::select! {
                    ended = ended => end = ended.unwrap_or_else(|_| Err("the platform failed".to_owned())),
                    () = interrupted() => {}
                }
            })
            .await;
        end.map(|_| Verdict::Right).map_err(Failure::new)
    });
    args.observing.conclude_server(served)
}
