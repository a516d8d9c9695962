//! `vp qemu`: a platform and a QEMU whose guest has its device; both end together, and what the platform did is shown.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tracing::level_filters::LevelFilter;
use vp_models::suggestion;
use vp_server::{EndedPlatform, Options, Server};
use vp_transport::Address;

use super::fault_args::FaultArgs;
use super::memory_limit::MemoryArgs;
use super::observing::ObserveArgs;
use super::parts::{PartArgs, own_address};
use super::platform_args::{DEFAULT_PLATFORM, PlatformArgs, headline, into_guest_memory};
use super::run::report;
use super::terminal::start_log;
use super::{Failure, Verdict, child};
use crate::cli::out;

mod vfio_user;

const LIBRARY: &str = "libvp_qemu.so";

/// Time that a platform may take to end when its guest has ended.
const LAST_WORDS: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without -M or -machine among QEMU's arguments, `-M virt -cpu cortex-a57` is put before them, or only `-M virt` where QEMU is for RISC-V,
LoongArch or 32-bit Arm. On Arm's `virt` the device is a node of the device tree; on a machine with PCI and without a GIC, such as PCs and
`virt` of RISC-V, it is a PCI function.

--set also takes the options of the device, such as --set spi=180: address, spi, compatible, platform, pool, timeout, share,
heartbeat, ranges.

  vp qemu -- -m 2048 -nographic -kernel Image -initrd initramfs.gz -append console=ttyAMA0")]
pub(super) struct Args {
    #[command(flatten)]
    platform: PlatformArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    #[command(flatten)]
    observing: ObserveArgs,

    #[command(flatten)]
    parts: PartArgs,

    /// Address at which the platform is served to QEMU and to other programs: unix:PATH or tcp:HOST:PORT [default: a new Unix socket]
    #[arg(long, value_name = "ADDR")]
    listen: Option<Address>,

    #[command(flatten)]
    faults: FaultArgs,

    /// QEMU to start
    #[arg(long, value_name = "PROGRAM", default_value = "qemu-system-aarch64")]
    qemu: PathBuf,

    /// Plugin that QEMU loads [default: the one beside this program, or in ../lib]
    #[arg(long, value_name = "FILE")]
    plugin: Option<PathBuf>,

    /// Give the guest the device by QEMU's own client of vfio-user, without a plugin: a PCI function. QEMU from 10.1 on has it
    #[arg(long, conflicts_with = "plugin")]
    vfio_user: bool,

    /// QEMU's own arguments
    #[arg(last = true, value_name = "QEMU-ARGS")]
    args: Vec<OsString>,
}

/// Way in which the guest gets the device.
enum Attachment {
    Plugin(PathBuf),
    VfioUser(vfio_user::Place),
}

/// Options of the device that the library takes (`qemu-glue/src/options.rs`).
const DEVICE_OPTIONS: [&str; 9] =
    ["address", "spi", "compatible", "platform", "pool", "timeout", "share", "heartbeat", "ranges"];

pub(super) fn main(args: &Args) -> Result<Verdict, Failure> {
    // What the guest's session is told, the plug-in says on the same terminal.
    start_log(LevelFilter::WARN, &[vp_server::TOLD]);
    check_machine(args)?;
    let mut platform = args.platform.clone();
    let options = platform.take_settings(&DEVICE_OPTIONS);
    let described = platform.description(DEFAULT_PLATFORM);
    let mut description = described.map_err(|failure| name_device_options(failure, &platform))?;
    let parts = args.parts.of(&mut description)?;
    let one_platform = !parts.is_empty();
    let headline = headline(&description);
    let device = description.device.clone();
    into_guest_memory(&mut description, |_| true);
    let by = match (&args.plugin, args.vfio_user) {
        (_, true) if !options.is_empty() => {
            let what = format!("--set {}: an option of the plugin", options.join(", "));
            return Err(Failure::new(what).hint("leave it out with --vfio-user"));
        }
        (_, true) => Attachment::VfioUser(vfio_user::Place::new()?),
        (Some(plugin), false) => Attachment::Plugin(plugin.clone()),
        (None, false) => Attachment::Plugin(find_plugin()?),
    };
    let observe = args.observing.of_server(&description)?;
    let listen = args.listen.clone().unwrap_or_else(own_address);
    let faults = args.faults.text()?;
    let (ended, platforms) = mpsc::channel();
    let runtime = super::runtime::builder()?.enable_all().build()?;
    let status = runtime.block_on(async {
        let owner_timeout = args.parts.owner_timeout();
        let (memory_limit, access) = (args.memory.limit(), args.parts.access());
        let ended = Some(ended);
        let server = Options {
            ended,
            owner_timeout,
            one_platform,
            memory_limit,
            access,
            observe,
            faults,
            ..Options::default()
        };
        let bound = Server::bind(&listen, description, server).await;
        let mut server = bound.map_err(|error| args.faults.bind_failure(error))?;
        parts.meet(&mut server).await?;
        let (device, _socket) = match &by {
            Attachment::Plugin(plugin) => {
                (plugin_arguments(plugin, &options, server.local_address()), None)
            }
            Attachment::VfioUser(place) => {
                server.add_vfio_user(&place.address()).await.map_err(Failure::new)?;
                let socket = place.for_child()?;
                (vfio_user::arguments(&args.args, &socket), Some(socket))
            }
        };
        let _programs = parts.start(server.local_address())?;
        let mut command = command(args, device);
        child::end_with_parent(command.as_std_mut());
        let mut child = command.spawn().map_err(|error| {
            Failure::new(format!("cannot start {}: {error}", args.qemu.display()))
                .hint("install it (Debian: qemu-system-arm, qemu-system-x86 or qemu-system-misc), or name another with --qemu")
        })?;
        let (ended, has_ended) = oneshot::channel::<()>();
        let qemu = async {
            let status = end_of(&mut child).await;
            drop(ended);
            status
        };
        let (status, ()) = tokio::join!(qemu, server.run(async { _ = has_ended.await }));
        status.map_err(Failure::from)
    })?;
    // QEMU has said itself what was wrong.
    let verdict = if status.success() { Verdict::Right } else { Verdict::Wrong };
    loop {
        let statistics = match platforms.recv_timeout(LAST_WORDS) {
            Ok(EndedPlatform { statistics, .. }) => statistics,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                tracing::warn!("a platform does not end; what it did is not shown");
                break;
            }
        };
        // No guest has used it: QEMU found something wrong before there was one, or was not to run one.
        if statistics.get("events").is_none_or(|events| events == 0) {
            continue;
        }
        // Behind what the guest's console has.
        let _ = writeln!(out::stdout());
        match report::platform(&headline, &device, &statistics) {
            Err(failure) if failure.is_broken_pipe => break,
            shown => shown?,
        }
    }
    args.observing.conclude_server(Ok(verdict))
}

/// Says what the device's options are, if one of them may be what a setting was meant for that the platform does not have.
fn name_device_options(failure: Failure, platform: &PlatformArgs) -> Failure {
    let is_blamed = |name: &&str| !name.contains('.') && failure.what.contains(&format!("`{name}`"));
    let Some(name) = platform.setting_names().find(is_blamed) else { return failure };
    let nearest = suggestion::hint(name, DEVICE_OPTIONS);
    let hint = format!("the device's own options are {}{nearest}", DEVICE_OPTIONS.join(", "));
    failure.hint(hint)
}

/// Returns the arguments by which the plugin gives the guest the device.
fn plugin_arguments(plugin: &Path, device: &[String], address: &Address) -> Vec<String> {
    let mut options =
        format!("{},connect={}", doubled(&plugin.to_string_lossy()), doubled(&address.to_string()));
    for option in device {
        options = format!("{options},{}", doubled(option));
    }
    vec!["-plugin".to_owned(), options]
}

fn command(args: &Args, device: Vec<String>) -> Command {
    let mut command = Command::new(&args.qemu);
    if machine(&args.args).is_none() {
        command.args(usual_machine(&args.qemu));
    }
    command.args(&args.args).args(device).kill_on_drop(true);
    command
}

/// The machine among QEMU's arguments, with its options.
fn machine(args: &[OsString]) -> Option<&str> {
    const NAMES: [&str; 3] = ["-M", "-machine", "--machine"];
    args.iter().enumerate().find_map(|(at, arg)| {
        let arg = arg.to_str()?;
        match arg.split_once('=') {
            Some((name, machine)) if NAMES.contains(&name) => Some(machine),
            _ if NAMES.contains(&arg) => {
                Some(args.get(at + 1).and_then(|next| next.to_str()).unwrap_or_default())
            }
            _ => None,
        }
    })
}

/// Refuses a machine of PCs where QEMU is for another processor: it would say only that it does not have it.
fn check_machine(args: &Args) -> Result<(), Failure> {
    let name = machine(&args.args).and_then(|machine| machine.split(',').next()).unwrap_or_default();
    let is_of_pcs = ["pc", "q35", "microvm"].contains(&name) || name.starts_with("pc-");
    let processor = processor(&args.qemu);
    if !is_of_pcs || processor.is_empty() || ["x86_64", "i386"].iter().any(|of| processor.starts_with(of)) {
        return Ok(());
    }
    let option = if name == "microvm" { "microvm,pcie=on" } else { name };
    let what =
        format!("-M {name}: a machine of qemu-system-x86_64, and {} is for {processor}", args.qemu.display());
    Err(Failure::new(what).hint(format!("vp qemu --qemu qemu-system-x86_64 -- -M {option} …")))
}

/// The processor that a QEMU is for, by its name; empty if that does not tell.
fn processor(qemu: &Path) -> String {
    let name = qemu.file_name().unwrap_or_default().to_string_lossy();
    name.split_once("qemu-system-").map_or_else(String::new, |(_, processor)| processor.to_owned())
}

/// The arguments for the machine that a QEMU is given where the user names none. Its name says for which processor it is; one with
/// another name is taken for `qemu-system-aarch64`.
fn usual_machine(qemu: &Path) -> &'static [&'static str] {
    let processor = processor(qemu);
    let is = |names: &[&str]| names.iter().any(|name| processor.starts_with(name));
    match () {
        () if processor.is_empty() || is(&["aarch64"]) => &["-M", "virt", "-cpu", "cortex-a57"],
        () if is(&["arm", "riscv", "loongarch"]) => &["-M", "virt"],
        () => &[],
    }
}

/// QEMU ends a value at a comma that stands alone.
fn doubled(text: &str) -> String {
    text.replace(',', ",,")
}

/// Waits for QEMU's end. A polite request to us is passed on; Ctrl-C reaches QEMU by itself, and is its guest's.
async fn end_of(child: &mut Child) -> std::io::Result<ExitStatus> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    loop {
        tokio::select! {
            status = child.wait() => return status,
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {
                let process = child.id().and_then(|id| i32::try_from(id).ok());
                if let Some(process) = process {
                    // An error says that it has ended.
                    _ = kill(Pid::from_raw(process), Signal::SIGTERM);
                }
            }
        }
    }
}

fn find_plugin() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places =
        [folder.join(LIBRARY), folder.join("deps").join(LIBRARY), folder.join("../lib").join(LIBRARY)];
    places.into_iter().find(|place| place.exists()).ok_or_else(|| {
        Failure::new(format!("no {LIBRARY} beside {}", program.display()))
            .hint("`cargo build --release -p vp-qemu` builds it; or name one with --plugin")
    })
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::super::commands::{Command as Commands, ServeCommand};
    use super::*;
    use clap::Parser as _;

    fn parsed(line: &[&str]) -> Args {
        match Cli::parse_from(line).command {
            Commands::Serve(ServeCommand::Qemu(args)) => args,
            _ => panic!("another command"),
        }
    }

    fn started(line: &[&str]) -> Vec<String> {
        let args = parsed(line);
        let device = args.platform.clone().take_settings(&DEVICE_OPTIONS);
        let address = Address::Unix("/tmp/s".into());
        let command = command(&args, plugin_arguments(Path::new("/lib/a,b.so"), &device, &address));
        command.as_std().get_args().map(|arg| arg.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn qemu_gets_its_own_arguments_and_the_plugin() {
        let args = started(&[
            "vp",
            "qemu",
            "--set",
            "compatible=a,b",
            "--set",
            "spi=9",
            "--set",
            "dbb0.seed=4",
            "--",
            "-m",
            "1G",
        ]);
        let plugin = "/lib/a,,b.so,connect=unix:/tmp/s,compatible=a,,b,spi=9";
        assert_eq!(args, ["-M", "virt", "-cpu", "cortex-a57", "-m", "1G", "-plugin", plugin]);
    }

    #[test]
    fn a_machine_of_pcs_is_refused_with_the_qemu_that_has_it() {
        let refused = |line: &[&str]| {
            let args = parsed(&[&["vp", "qemu"], line].concat());
            check_machine(&args).err()
        };
        let failure = refused(&["--", "-m", "1G", "-M", "microvm"]).unwrap();
        assert!(failure.what.contains("-M microvm: a machine of qemu-system-x86_64"), "{failure}");
        let hint = "vp qemu --qemu qemu-system-x86_64 -- -M microvm,pcie=on …";
        assert_eq!(failure.hint.as_deref(), Some(hint));
        assert!(refused(&["--qemu", "qemu-system-riscv64", "--", "-machine=q35,accel=tcg"]).is_some());
        for line in [
            &["--qemu", "qemu-system-x86_64", "--", "-M", "microvm"][..],
            &["--qemu", "my-qemu", "--", "-M", "q35"],
            &["--", "-M", "virt"],
            &["--", "-m", "1G"],
            &[],
        ] {
            assert!(refused(line).is_none(), "{line:?}");
        }
    }

    #[test]
    fn a_mistyped_option_of_the_device_is_refused_with_those_that_there_are() {
        let refused = |setting: &str| {
            let line = ["vp", "qemu", "--set", setting];
            let args = parsed(&line);
            let mut platform = args.platform.clone();
            assert!(platform.take_settings(&DEVICE_OPTIONS).is_empty());
            let failure = platform.description("nv_small").unwrap_err();
            name_device_options(failure, &platform).hint.unwrap_or_default()
        };
        let all = "the device's own options are address, spi, compatible, platform, pool, timeout, share, heartbeat, ranges";
        assert_eq!(refused("spii=180"), format!("{all}; nearest: spi"));
        assert_eq!(refused("zzz=1"), all);
        assert_eq!(refused("dbb0.sedd=1"), "");
    }

    #[test]
    fn a_pc_has_a_machine_of_its_own() {
        let args = started(&["vp", "qemu", "--qemu", "/usr/bin/qemu-system-x86_64", "--", "-m", "1G"]);
        assert_eq!(args, ["-m", "1G", "-plugin", "/lib/a,,b.so,connect=unix:/tmp/s"]);
    }

    #[test]
    fn other_processors_have_machines_of_their_own() {
        let machine = |qemu: &str| {
            let args = started(&["vp", "qemu", "--qemu", qemu, "--", "-m", "1G"]);
            args.iter().take_while(|arg| *arg != "-m").cloned().collect::<Vec<_>>().join(" ")
        };
        for qemu in [
            "qemu-system-riscv64",
            "/opt/bin/qemu-system-riscv32",
            "qemu-system-loongarch64",
            "qemu-system-arm",
        ] {
            assert_eq!(machine(qemu), "-M virt", "{qemu}");
        }
        for qemu in ["qemu-system-aarch64", "my-qemu"] {
            assert_eq!(machine(qemu), "-M virt -cpu cortex-a57", "{qemu}");
        }
        for qemu in ["qemu-system-i386", "qemu-system-ppc64", "qemu-system-mips64el"] {
            assert_eq!(machine(qemu), "", "{qemu}");
        }
    }

    #[test]
    fn a_machine_that_is_given_is_left_alone() {
        for machine in ["-M", "-machine"] {
            let args = started(&["vp", "qemu", "--", machine, "virt,gic-version=3"]);
            assert_eq!(args[..2], [machine, "virt,gic-version=3"]);
        }
    }
}
