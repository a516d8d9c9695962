//! A platform of this process with parts in other ones: its device, or memories with times of their own.

mod program;
mod server;

use std::str::FromStr;
use std::sync::mpsc::Sender;
use std::time::Duration;

use vp_client::native::{Attached, Role, StatusReport};
use vp_models::hub::PinEvent;
use vp_models::outside_device::OutsideDescription;
use vp_models::platform::{Description, DeviceDescription};
use vp_remote::{RemoteHost, RemoteOptions};
use vp_server::Options;
use vp_study::OnHost;
use vp_transport::Address;

use super::Failure;
pub(super) use program::CONNECT;
use program::Program;
use server::PlatformServer;
pub(super) use server::own_address;

/// How often it is looked whether the parts are attached.
const LOOK: Duration = Duration::from_millis(5);
/// After how many looks without all of them a person is told what is waited for.
const LOOKS_IN_SILENCE: u32 = 200;

/// Options that say which parts of a platform other programs are.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Parts in other programs")]
pub(super) struct PartArgs {
    /// A program that is the platform's device, such as a simulator of its RTL. It is started with the platform's address in
    /// VP_CONNECT, and ended with the platform
    #[arg(long, value_name = "COMMAND")]
    device_command: Option<String>,

    /// A program that is the memory behind a port, with times of its own: dbb0=COMMAND or sram0=COMMAND. Started in the same
    /// way
    #[arg(long, value_name = "PORT=COMMAND")]
    memory_command: Vec<MemoryCommand>,

    /// How long a part may take for a promise, or the owner of a memory for an answer: seconds, or `none`, such as for a
    /// simulator that is stopped in a debugger. It is disconnected then
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    owner_timeout: OwnerTimeout,
}

/// A program that is a memory.
#[derive(Debug, Clone)]
struct MemoryCommand {
    port: String,
    command: String,
}

impl FromStr for MemoryCommand {
    type Err = String;

    fn from_str(text: &str) -> Result<MemoryCommand, String> {
        match text.split_once('=') {
            Some((port @ ("dbb0" | "sram0"), command)) if !command.trim().is_empty() => {
                Ok(MemoryCommand { port: port.to_owned(), command: command.to_owned() })
            }
            _ => Err("write dbb0=COMMAND or sram0=COMMAND".to_owned()),
        }
    }
}

/// How long somebody is waited for by the wall clock; `None`: for ever.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnerTimeout(Option<Duration>);

impl Default for OwnerTimeout {
    fn default() -> OwnerTimeout {
        OwnerTimeout(Some(Options::default().owner_timeout))
    }
}

impl FromStr for OwnerTimeout {
    type Err = String;

    fn from_str(text: &str) -> Result<OwnerTimeout, String> {
        match text.parse() {
            Ok(seconds @ 1..) => Ok(OwnerTimeout(Some(Duration::from_secs(seconds)))),
            _ if text == "none" => Ok(OwnerTimeout(None)),
            _ => Err("write a whole number of seconds, 1 or more, or `none`".to_owned()),
        }
    }
}

/// What a part is to the platform.
struct Part {
    /// How it is called in what people read.
    name: String,
    /// The ports that it takes, and as what.
    ports: Vec<(&'static str, Role)>,
    /// What it is started with, if not by somebody else.
    command: Option<String>,
}

/// The parts of a platform that are in other programs.
pub(super) struct Parts(Vec<Part>);

impl Parts {
    /// Whether all of the platform is in this process.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Starts the programs that are parts, and says of the others how they attach.
    pub(super) fn start(&self, address: &Address) -> Result<Vec<Program>, Failure> {
        let mut programs = Vec::new();
        for Part { name, command, .. } in &self.0 {
            match command {
                Some(command) => programs.push(Program::start(name, command, address)?),
                None => anstream::eprintln!(
                    "{name} is outside: attach it, such as with `vp attach-device {address}`"
                ),
            }
        }
        Ok(programs)
    }
}

impl PartArgs {
    /// How long the server waits for who owes it something.
    pub(super) fn owner_timeout(&self) -> Duration {
        self.owner_timeout.0.unwrap_or(Duration::MAX)
    }

    /// The first of these options that is given.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        match self {
            PartArgs { device_command: Some(_), .. } => Some("--device-command"),
            PartArgs { memory_command, .. } if !memory_command.is_empty() => Some("--memory-command"),
            _ => None,
        }
    }

    /// The options that say which parts are in other programs, word by word.
    pub(super) fn words(&self) -> Vec<String> {
        let device = self.device_command.iter().flat_map(|it| ["--device-command".to_owned(), it.clone()]);
        let memories = self.memory_command.iter();
        let memories = memories.flat_map(|MemoryCommand { port, command }| {
            ["--memory-command".to_owned(), format!("{port}={command}")]
        });
        device.chain(memories).collect()
    }

    /// Runs something on a platform of its own, whose parts are started for it and ended; `point` says in a study where that is.
    pub(super) fn run_at(
        &self,
        point: usize,
        description: &Description,
        run: &mut OnHost<'_>,
    ) -> Result<(), String> {
        let told = |failure: Failure| failure.to_string();
        let mut description = description.clone();
        let mut parts = self.of(&mut description).map_err(told)?;
        for part in &mut parts.0 {
            part.name = format!("point {point}: {}", part.name);
        }
        let (mut host, outside) = self.serve(&parts, description, None, None).map_err(told)?;
        let ran = run(&mut host);
        drop(host);
        drop(outside);
        ran
    }

    /// The ports whose memories are in other programs.
    pub(super) fn memories(&self) -> impl Iterator<Item = &str> {
        self.memory_command.iter().map(|memory| memory.port.as_str())
    }

    /// The parts of a platform that are in other programs. Its device is outside then, if one of them is that.
    pub(super) fn of(&self, description: &mut Description) -> Result<Parts, Failure> {
        if self.device_command.is_some() && !matches!(description.device, DeviceDescription::Outside(_)) {
            let outside = OutsideDescription::in_place_of(&description.device);
            description.device = DeviceDescription::Outside(Box::new(outside));
        }
        let mut parts = Vec::new();
        if let DeviceDescription::Outside(_) = description.device {
            parts.push(Part {
                name: "the device".to_owned(),
                ports: vec![("csb0", Role::Target), ("irq0", Role::Source)],
                command: self.device_command.clone(),
            });
        }
        for MemoryCommand { port, command } in &self.memory_command {
            let port = if port == "dbb0" { "dbb0" } else { "sram0" };
            if parts.iter().any(|part: &Part| part.ports.contains(&(port, Role::Target))) {
                return Err(Failure::new(format!("--memory-command: {port} is given twice")));
            }
            parts.push(Part {
                name: format!("the memory behind {port}"),
                ports: vec![(port, Role::Target)],
                command: Some(command.clone()),
            });
        }
        Ok(Parts(parts))
    }

    /// Serves a platform of which parts are in other programs, and waits until they are attached. `None`: all of it is in
    /// this process. What is driven between platform and parts is told to `pins`.
    pub(super) fn open(
        &self,
        description: &mut Description,
        listen: Option<&Address>,
        pins: Option<Sender<PinEvent>>,
    ) -> Result<Option<(RemoteHost, PartsOutside)>, Failure> {
        let parts = self.of(description)?;
        if parts.is_empty() && listen.is_none() {
            return Ok(None);
        }
        self.serve(&parts, description.clone(), listen, pins).map(Some)
    }

    fn serve(
        &self,
        parts: &Parts,
        description: Description,
        listen: Option<&Address>,
        pins: Option<Sender<PinEvent>>,
    ) -> Result<(RemoteHost, PartsOutside), Failure> {
        let owner_timeout = self.owner_timeout();
        let options = Options { one_platform: true, owner_timeout, pins, ..Options::default() };
        let server = PlatformServer::start(listen, description, options)?;
        let mut host =
            RemoteHost::connect(server.address(), RemoteOptions::default()).map_err(Failure::connection)?;
        let programs = parts.start(server.address())?;
        let mut outside = PartsOutside { _server: server, programs };
        outside.wait(parts, &mut host)?;
        Ok((host, outside))
    }
}

/// Who is a part of a platform of this process, and what they reach it by. They end when this is dropped.
pub(super) struct PartsOutside {
    // Ended in this order: the sessions are told, then the programs have a moment to end by themselves.
    _server: PlatformServer,
    programs: Vec<Program>,
}

impl PartsOutside {
    /// Waits until all ports are taken.
    fn wait(&mut self, parts: &Parts, host: &mut RemoteHost) -> Result<(), Failure> {
        for look in 0_u32.. {
            let StatusReport { attached, .. } = host.status().map_err(Failure::new)?;
            let is_attached = |&(name, role): &(&str, Role)| {
                let mut ports = host.welcome().ports.iter();
                let place = ports.position(|port| port.name == name);
                let is = |it: &Attached| place == Some(usize::from(it.port.0)) && it.role == role;
                attached.iter().any(is)
            };
            let Some(missing) = parts.0.iter().find(|part| !part.ports.iter().all(is_attached)) else {
                return Ok(());
            };
            for program in &mut self.programs {
                program.check()?;
            }
            if look == LOOKS_IN_SILENCE
                && let Part { name, command: Some(command), .. } = missing
            {
                anstream::eprintln!("waiting for {name}: `{command}`");
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}
