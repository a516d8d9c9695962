//! A look at platforms that a server serves, while they run: `vp status`, `stats`, `peek`, `poke`, and `regs --connect`.
//!
//! The sessions are observers: they hold no port, let no time move, and keep no platform alive.

pub(super) mod memory;
pub(super) mod poke;
pub(super) mod registers;
pub(super) mod stats;
pub(super) mod status;

use super::Failure;
use vp_client::native::counters::text;
use vp_client::native::{Capabilities, Counter, PortId, PortKind};
use vp_client::{Client, Credentials, Handler, Options, SilenceLimit};
use vp_models::platform::{Description, DeviceRegisters};
use vp_transport::Address;

/// Options that say where to look.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct LookArgs {
    /// Address of the server: tcp:HOST:PORT, tls:HOST:PORT or unix:PATH
    #[arg(long, value_name = "ADDR")]
    pub(super) connect: Address,

    #[command(flatten)]
    pub(super) which: WhichArgs,
}

/// Options that say at which of a server's platforms.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct WhichArgs {
    /// Name of the platform, or `#` and the session's number for a session's own one, as `vp status` lists them [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub(super) shared: Option<String>,

    /// Seconds after which a silent server counts as gone, or `none`, such as for a server in a debugger
    #[arg(long, value_name = "SECONDS", default_value_t, env = SilenceLimit::VARIABLE)]
    pub(super) heartbeat: SilenceLimit,
}

/// Is told nothing: observers have no ports.
pub(super) struct Nobody;

impl Handler for Nobody {}

/// A session that looks.
pub(super) type ObserverSession = Client<Nobody>;

impl WhichArgs {
    /// A session that looks at a platform, or, without a name, one that asks the server.
    fn open(&self, address: &Address, platform: Option<String>) -> Result<ObserverSession, Failure> {
        self.open_with(address, platform, Capabilities::NONE, Nobody)
    }

    /// Opens a session as [`WhichArgs::open`] does, that does more besides.
    pub(super) fn open_with<H: Handler>(
        &self,
        address: &Address,
        platform: Option<String>,
        more: Capabilities,
        handler: H,
    ) -> Result<Client<H>, Failure> {
        let credentials = Credentials::from_environment().map_err(Failure::new)?;
        let agent = concat!("vp ", env!("CARGO_PKG_VERSION"));
        let options = Options::observer(agent, platform);
        let capabilities = options.capabilities.union(more);
        let options = Options { credentials, heartbeat: self.heartbeat, capabilities, ..options };
        let look = Client::connect(address, &options, handler).map_err(Failure::connection)?;
        match look.welcome().capabilities.contains(Capabilities::INSPECTION.union(Capabilities::OBSERVER)) {
            true => Ok(look),
            false => Err(Failure::new(format!(
                "the server at {address}, {}, lets nobody look in",
                look.welcome().agent
            ))),
        }
    }

    /// The platforms of a server, by the names that observers have for them.
    fn platforms(&self, address: &Address) -> Result<Vec<String>, Failure> {
        self.open(address, None)?.platforms().map_err(Failure::new)
    }

    /// A session that looks at the platform that is meant.
    pub(super) fn look(&self, address: &Address) -> Result<ObserverSession, Failure> {
        let platform = self.platform(address)?;
        self.open(address, Some(platform))
    }

    /// The platform that is meant.
    pub(super) fn platform(&self, address: &Address) -> Result<String, Failure> {
        if let Some(name) = &self.shared {
            return Ok(name.clone());
        }
        let mut names = self.platforms(address)?;
        match (names.pop(), names.as_slice()) {
            (Some(only), []) => Ok(only),
            (None, _) => {
                Err(Failure::new(format!("{address} has no platform: one begins with its first session")))
            }
            (Some(last), others) => {
                let names = [others, &[last]].concat().join(", ");
                Err(Failure::new(format!("{address} has several platforms: {names}"))
                    .hint("say which: --shared NAME"))
            }
        }
    }
}

/// Reads the description that the platform is built from, as the server says.
fn description<H: Handler>(look: &mut Client<H>) -> Result<Description, Failure> {
    let counters = look.counters(vp_remote::DESCRIPTION).map_err(Failure::new)?;
    vp_remote::described(&counters).map_err(Failure::new)
}

/// The registers of the platform's device, by name, and their port.
pub(super) fn device_registers<H: Handler>(
    look: &mut Client<H>,
) -> Result<(DeviceRegisters, PortId), Failure> {
    let registers = DeviceRegisters::of(&description(look)?);
    let port = look.first(PortKind::Csb).ok_or_else(|| Failure::new("the platform has no registers"))?;
    Ok((registers, port))
}

/// Returns what a platform does or waits for, from what it says of itself.
pub(super) fn activity(standing: &[Counter]) -> String {
    let activity = text(standing, "activity").unwrap_or("?");
    match (activity, text(standing, "awaits"), text(standing, "irq.pending")) {
        ("waiting", Some(awaits), _) => format!("waiting for {awaits}"),
        ("idle", _, Some(pending)) => format!("idle, with {pending} pending"),
        _ => activity.to_owned(),
    }
}

/// The interrupt line's level, with what is pending behind it and what a fault makes of it.
pub(super) fn line(standing: &[Counter], level: u64) -> String {
    let mut line = (if level > 0 { "high" } else { "low" }).to_owned();
    if let Some(pending) = text(standing, "irq.pending") {
        line += &format!(", {pending} pending");
    }
    if let Some(fault) = text(standing, "irq.fault") {
        line += &format!(": {fault}");
    }
    line
}

/// A number as people write it.
pub(super) fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is no number: write 4096 or 0x1000"))
}
