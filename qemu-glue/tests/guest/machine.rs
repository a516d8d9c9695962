//! Stock QEMU with the plugin, or cloud-hypervisor, and a guest without an operating system that runs a script.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use vp_models::nvdla::registers::RegisterMap;
use vp_transport::Address;

use crate::script::Script;

/// Kind of thing that the device is in a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A node of the device tree of `virt`.
    Node,
    /// A PCI function of a PC.
    Function,
    /// A PCI function of a PC with an IOMMU, for a program that has it by vfio.
    Group,
    /// A PCI function of RISC-V's `virt`.
    RiscV,
    /// A PCI function of Arm's `virt`.
    Arm,
    /// A PCI function of Arm's `virt`, of which a module makes a node for the driver.
    MadeNode,
}

impl Kind {
    /// The variable that names another QEMU.
    fn variable(self) -> &'static str {
        match self {
            Kind::Node | Kind::Arm | Kind::MadeNode => "VP_QEMU",
            Kind::Function | Kind::Group => "VP_QEMU_X86",
            Kind::RiscV => "VP_QEMU_RISCV",
        }
    }

    /// The QEMU to try.
    fn qemu(self) -> String {
        let program = match self {
            Kind::Node | Kind::Arm | Kind::MadeNode => "qemu-system-aarch64",
            Kind::Function | Kind::Group => "qemu-system-x86_64",
            Kind::RiscV => "qemu-system-riscv64",
        };
        std::env::var(self.variable()).unwrap_or_else(|_| program.to_owned())
    }

    /// Returns the first number of the QEMU's version, 0 if it says none.
    pub(crate) fn version(self) -> u32 {
        let said = Command::new(self.qemu()).arg("--version").output().map(|said| said.stdout);
        let said = String::from_utf8_lossy(&said.unwrap_or_default()).into_owned();
        let version = said.split("version ").nth(1).and_then(|version| version.split('.').next());
        version.and_then(|first| first.parse().ok()).unwrap_or(0)
    }

    /// Returns the compiler that builds the guest's programs.
    pub(crate) fn compiler(self) -> &'static str {
        match self {
            Kind::Node | Kind::Arm | Kind::MadeNode => "aarch64-linux-gnu-gcc",
            Kind::Function | Kind::Group => "x86_64-linux-gnu-gcc",
            Kind::RiscV => "riscv64-linux-gnu-gcc",
        }
    }

    /// The kernel's command line.
    fn line(self) -> &'static str {
        // Of a busy host PC's kernels think that its timer does not work.
        match self {
            Kind::Node => "console=ttyAMA0 quiet panic=-1",
            // They are left to the driver.
            Kind::Function => "console=ttyS0 quiet panic=-1 no_timer_check memmap=16M$0x80000000",
            // What is above it is left to the driver.
            Kind::Arm | Kind::MadeNode => "console=ttyAMA0 quiet panic=-1 mem=1G",
            Kind::Group => "console=ttyS0 quiet panic=-1 no_timer_check intel_iommu=on",
            Kind::RiscV => "console=ttyS0 quiet panic=-1 mem=1G",
        }
    }

    /// Returns the packages in which Debian has QEMU and the compiler.
    fn packages(self) -> &'static str {
        match self {
            Kind::Node | Kind::Arm | Kind::MadeNode => "qemu-system-arm gcc-aarch64-linux-gnu",
            Kind::Function | Kind::Group => "qemu-system-x86 gcc-x86-64-linux-gnu",
            Kind::RiscV => "qemu-system-misc gcc-riscv64-linux-gnu",
        }
    }
}

/// An accelerator of QEMU on a PC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accelerator {
    Tcg,
    Kvm,
}

impl Accelerator {
    pub(crate) fn args(self) -> &'static [&'static str] {
        match self {
            Accelerator::Tcg => &["-accel", "tcg"],
            // A model of the processor that each KVM has.
            Accelerator::Kvm => &["-accel", "kvm", "-cpu", "qemu64"],
        }
    }

    /// Tries the guest program, which finds no device. Some kinds of KVM run nothing but kernels that are made for them, and some open only.
    pub(crate) fn runs_bare_guests(self) -> Result<(), String> {
        let said = Setup::pc(Script::new(RegisterMap::Small), "").args(self.args()).start().tries()?;
        let is_run = said.last().is_some_and(|last| last == "FAIL: no PCI function");
        if is_run { Ok(()) } else { Err(format!("the guest said {said:?}")) }
    }
}

/// The guest gives up earlier by itself, and says why.
const PATIENCE: Duration = Duration::from_secs(100);

/// The library that this package builds.
pub(crate) fn plugin() -> PathBuf {
    let test = std::env::current_exe().expect("this test's own path");
    let found = test.ancestors().skip(1).take(2).map(|folder| folder.join("libvp_qemu.so"));
    found.into_iter().find(|path| path.exists()).expect("the plugin beside this test")
}

/// The command line, if it is built.
pub(crate) fn vp() -> Option<PathBuf> {
    let test = std::env::current_exe().expect("this test's own path");
    test.ancestors().nth(2).map(|folder| folder.join("vp")).filter(|path| path.exists())
}

pub(crate) fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// Prints a line that is not captured, unlike what `println!` prints.
pub(crate) fn say(line: &str) {
    _ = writeln!(std::io::stderr(), "{line}");
}

/// Returns true if the test can run; says so if not.
pub(crate) fn can_run(test: &str) -> bool {
    can_run_on(Kind::Node, test)
}

/// Returns true if the test can run on a guest in which the device is this; says so if not.
pub(crate) fn can_run_on(kind: Kind, test: &str) -> bool {
    let programs = [kind.qemu(), kind.compiler().to_owned()];
    let missing: Vec<_> = programs.into_iter().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        let (missing, packages) = (missing.join(", "), kind.packages());
        say(&format!("skipped: {test}: no QEMU: no {missing} (Debian: apt-get install {packages})"));
    }
    missing.is_empty()
}

/// Returns true if the test can run on a PC whose QEMU has a client of vfio-user of its own; says so if not.
pub(crate) fn can_run_vfio_user(kind: Kind, test: &str) -> bool {
    if !can_run_on(kind, test) {
        return false;
    }
    let qemu = kind.qemu();
    let asked = Command::new(&qemu).args(["-M", "none", "-device", "vfio-user-pci,help"]).output();
    // Older ones say that there is none, and end as if all were well.
    let has_it = asked.is_ok_and(|asked| String::from_utf8_lossy(&asked.stdout).contains("socket="));
    if !has_it {
        let variable = kind.variable();
        say(&format!(
            "skipped: {test}: no QEMU with vfio-user: {qemu} has no vfio-user-pci, as 10.1 and newer have ({variable} names one)"
        ));
    }
    has_it
}

/// cloud-hypervisor, another hypervisor with a client of vfio-user of its own.
fn cloud_hypervisor() -> String {
    std::env::var("VP_CLOUD_HYPERVISOR").unwrap_or_else(|_| "cloud-hypervisor".to_owned())
}

/// Returns true if the test can run on cloud-hypervisor; says so if not.
pub(crate) fn can_run_cloud_hypervisor(test: &str) -> bool {
    let (program, compiler) = (cloud_hypervisor(), Kind::Function.compiler());
    let why = if !is_there(&program) {
        format!("no cloud-hypervisor: no {program} (VP_CLOUD_HYPERVISOR names one)")
    } else if !is_there(compiler) {
        format!("no {compiler} (Debian: apt-get install gcc-x86-64-linux-gnu)")
    } else if !has_kvm() {
        NO_KVM.to_owned()
    } else {
        return true;
    };
    say(&format!("skipped: {test}: {why}"));
    false
}

const NO_KVM: &str = "no /dev/kvm that may be used";

fn has_kvm() -> bool {
    std::fs::File::options().read(true).write(true).open("/dev/kvm").is_ok()
}

/// Returns true if the host's KVM runs kernels as distributions have them; says so if not.
pub(crate) fn runs_stock_kernels(test: &str) -> bool {
    let why = if !has_kvm() {
        NO_KVM
    } else if Path::new("/sys/module/kvm_pvm").exists() {
        "this host's KVM (kvm-pvm) runs kernels that are made for it"
    } else {
        return true;
    };
    say(&format!("skipped: {test}: {why}"));
    false
}

/// The guest program, built once.
fn program() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("guest.elf");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest");
        let built = Command::new(Kind::Node.compiler())
            .args([
                "-Wall",
                "-Wextra",
                "-Werror",
                "-O1",
                "-ffreestanding",
                "-fno-stack-protector",
                "-mstrict-align",
            ])
            .args(["-mgeneral-regs-only", "-nostdlib", "-static", "-no-pie", "-Wl,--no-warn-rwx-segments"])
            .args(["-T", "bare.ld", "bare.S", "bare.c", "script.c", "-o"])
            .arg(&path)
            .current_dir(sources)
            .status();
        assert!(built.expect("the compiler runs").success());
        (folder, path)
    });
    path
}

/// The guest program of a PC, built once.
fn pc_program() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("guest.elf");
        let built = Command::new(Kind::Function.compiler())
            .args(["-Wall", "-Wextra", "-Werror", "-O1", "-m32", "-march=i586", "-ffreestanding"])
            .args([
                "-fno-stack-protector",
                "-fno-pic",
                "-fno-asynchronous-unwind-tables",
                "-nostdlib",
                "-static",
            ])
            .args(["-no-pie", "-Wl,--build-id=none,--no-warn-rwx-segments"])
            .args(["-T", "bare_pc.ld", "bare_pc.S", "bare_pc.c", "script.c", "-o"])
            .arg(&path)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("guest"))
            .status();
        assert!(built.expect("the compiler runs").success());
        (folder, path)
    });
    path
}

/// Guest program of a PC in the format of 64 bits, as loaders of PVH want it, built once.
fn pvh_program() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("guest.elf");
        let built = Command::new("x86_64-linux-gnu-objcopy")
            .args(["-I", "elf32-i386", "-O", "elf64-x86-64"])
            .args([pc_program(), &path])
            .status();
        assert!(built.expect("the compiler's objcopy runs").success());
        (folder, path)
    });
    path
}

/// A running hypervisor; dropping it kills it.
pub(crate) struct Machine {
    child: Child,
    lines: Receiver<String>,
    /// Lines that the guest has said.
    pub(crate) said: Vec<String>,
    told: Arc<Mutex<String>>,
    teller: Option<JoinHandle<()>>,
    _folder: TempDir,
}

/// `vp qemu` with these options; QEMU's own follow.
fn vp_qemu(vp: &Path, kind: Kind, options: &[&str]) -> Command {
    let mut command = Command::new(vp);
    command.args(["qemu", "--qemu", &kind.qemu(), "--plugin"]).arg(plugin());
    command.args(options).arg("--");
    command
}

/// A QEMU to be started.
pub(crate) struct Setup {
    command: Command,
    folder: TempDir,
}

impl Setup {
    /// `virt` with the guest program and a script, and no device yet.
    pub(crate) fn new(script: Script) -> Setup {
        let mut command = Command::new(Kind::Node.qemu());
        command.args(["-M", "virt", "-cpu", "cortex-a57"]);
        Setup::bare(command, script)
    }

    /// `virt` as in [`Setup::new`], started by `vp qemu` together with a platform, with these options.
    pub(crate) fn through(vp: &Path, options: &[&str], script: Script) -> Setup {
        Setup::bare(vp_qemu(vp, Kind::Node, options), script)
    }

    /// `virt` as in [`Setup::through`], with Debian's kernel.
    pub(crate) fn linux_through(vp: &Path, options: &[&str], script: Script) -> Setup {
        let files = Kind::Node.initramfs(&script.bytes());
        Setup::kernel_of(vp_qemu(vp, Kind::Node, options), Kind::Node, &files, "")
    }

    /// A PC with Debian's kernel, started by `vp qemu` with these options, and no plugin.
    pub(crate) fn linux_without_plugin(vp: &Path, options: &[&str], script: Script) -> Setup {
        let kind = Kind::Function;
        let mut command = Command::new(vp);
        command.args(["qemu", "--qemu", &kind.qemu()]).args(options).arg("--");
        Setup::kernel_of(command, kind, &kind.initramfs(&script.bytes()), "")
    }

    fn bare(mut command: Command, script: Script) -> Setup {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("script");
        std::fs::write(&file, script.bytes()).expect("the script is written");
        // The traces' surfaces lie from 0x80000000 on; RAM begins at 0x40000000.
        command.args(["-m", "1100"]);
        command.args(["-display", "none", "-serial", "stdio", "-monitor", "none", "-nodefaults"]);
        command.arg("-kernel").arg(program());
        command.arg("-device").arg(format!("loader,file={},addr=0x48000000,force-raw=on", file.display()));
        Setup { command, folder }
    }

    /// A PC with the guest program, a script and these options for it, and no device yet.
    pub(crate) fn pc(script: Script, options: &str) -> Setup {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("script");
        std::fs::write(&file, script.bytes()).expect("the script is written");
        let mut command = Command::new(Kind::Function.qemu());
        // The traces' surfaces lie from 0x80000000 on, and what is below 0xb0000000 is RAM.
        command.args(["-M", "q35", "-m", "2100"]);
        command.args(["-display", "none", "-serial", "stdio", "-monitor", "none", "-nodefaults"]);
        command.arg("-kernel").arg(pc_program()).arg("-initrd").arg(file).args(["-append", options]);
        Setup { command, folder }
    }

    /// A PC of cloud-hypervisor's with the guest program, a script and these options for it, this memory, and the device by its client of
    /// vfio-user.
    pub(crate) fn cloud(script: Script, options: &str, memory: &[&str], server: &Address) -> Setup {
        Setup::cloud_of(pvh_program(), &script.bytes(), options, server).args(memory)
    }

    /// A PC of cloud-hypervisor's as in [`Setup::cloud`], with Debian's kernel.
    pub(crate) fn linux_cloud(script: Script, memory: &[&str], server: &Address) -> Setup {
        let (kind, line) = (Kind::Function, Kind::Function.line());
        Setup::cloud_of(&kind.kernel(), &kind.initramfs(&script.bytes()), line, server).args(memory)
    }

    fn cloud_of(kernel: &Path, files: &[u8], line: &str, server: &Address) -> Setup {
        let Address::Unix(socket) = server else { panic!("a Unix socket") };
        let folder = tempfile::tempdir().expect("a folder");
        let initramfs = folder.path().join("initramfs");
        std::fs::write(&initramfs, files).expect("the initramfs is written");
        let mut command = Command::new(cloud_hypervisor());
        command.args(["--serial", "tty", "--console", "off", "--cmdline", line]);
        command.arg("--kernel").arg(kernel).arg("--initramfs").arg(initramfs);
        command.arg("--user-device").arg(format!("socket={}", socket.display()));
        Setup { command, folder }
    }

    /// Debian's kernel, and a program that runs the script through the kernel's generic driver.
    pub(crate) fn linux(kind: Kind, script: Script) -> Setup {
        Setup::kernel(kind, &kind.initramfs(&script.bytes()), "")
    }

    /// Debian's kernel with these files, and more on its command line.
    pub(crate) fn kernel(kind: Kind, files: &[u8], more: &str) -> Setup {
        Setup::kernel_of(Command::new(kind.qemu()), kind, files, more)
    }

    fn kernel_of(mut command: Command, kind: Kind, files: &[u8], more: &str) -> Setup {
        let folder = tempfile::tempdir().expect("a folder");
        let initramfs = folder.path().join("initramfs");
        std::fs::write(&initramfs, files).expect("the initramfs is written");
        match kind {
            Kind::Node | Kind::Arm | Kind::MadeNode => {
                command.args(["-M", "virt", "-cpu", "cortex-a57", "-m", "1100"])
            }
            // The traces' surfaces lie from 0x80000000 on, and what is below 0xb0000000 is RAM.
            Kind::Function => command.args(["-M", "q35", "-m", "2100"]),
            // As VFIO in QEMU needs it.
            Kind::Group => {
                command.args(["-M", "q35", "-m", "2100", "-device", "intel-iommu,caching-mode=on"])
            }
            // RAM begins where the traces' surfaces lie, with the firmware: a script is for 4 GiB higher up.
            Kind::RiscV => {
                let memory = "memory-backend-memfd,id=ram,size=6200M,share=on,reserve=off";
                command.args(["-M", "virt,memory-backend=ram", "-m", "6200", "-object", memory])
            }
        };
        command.args([
            "-no-reboot",
            "-display",
            "none",
            "-serial",
            "stdio",
            "-monitor",
            "none",
            "-nodefaults",
        ]);
        command.arg("-kernel").arg(kind.kernel()).arg("-initrd").arg(initramfs);
        command.arg("-append").arg(format!("{} {more}", kind.line()));
        Setup { command, folder }
    }

    /// A PC without a guest, stopped at its first instruction.
    pub(crate) fn stopped_pc() -> Setup {
        Setup::stopped(Kind::Function, "q35")
    }

    /// A machine without a guest, stopped at its first instruction.
    pub(crate) fn stopped(kind: Kind, machine: &str) -> Setup {
        let mut command = Command::new(kind.qemu());
        command.args(["-S", "-M", machine, "-display", "none", "-nodefaults"]);
        Setup { command, folder: tempfile::tempdir().expect("a folder") }
    }

    /// Debian's kernel with a script for 4 GiB higher up than the traces' surfaces lie, started by `vp qemu`.
    pub(crate) fn riscv_through(vp: &Path, options: &[&str], script: Script) -> Setup {
        let files = Kind::RiscV.initramfs(&script.bytes());
        Setup::kernel_of(vp_qemu(vp, Kind::RiscV, options), Kind::RiscV, &files, "")
    }

    /// With RAM of so many MiB that can be shared, and the device by QEMU's own client of vfio-user.
    pub(crate) fn vfio_user(self, size: u32, server: &Address) -> Setup {
        let memory = format!("memory-backend-memfd,id=ram,size={size}M,share=on");
        self.args(&["-object", &memory, "-M", "memory-backend=ram"]).vfio_user_device(server)
    }

    /// With the device by QEMU's own client of vfio-user.
    fn vfio_user_device(self, server: &Address) -> Setup {
        let Address::Unix(path) = server else { panic!("a Unix socket") };
        let path = path.display();
        let device = format!(r#"{{"driver":"vfio-user-pci","socket":{{"type":"unix","path":"{path}"}}}}"#);
        self.args(&["-device", &device])
    }

    /// RISC-V's `virt` with Debian's kernel, and the device by QEMU's own client of vfio-user.
    pub(crate) fn riscv_by_vfio_user(server: &Address, script: Script) -> Setup {
        let files = Kind::RiscV.initramfs(&script.bytes());
        Setup::kernel_of(Command::new(Kind::RiscV.qemu()), Kind::RiscV, &files, "").vfio_user_device(server)
    }

    /// With the plugin's own device.
    pub(crate) fn connect(self, server: &Address) -> Setup {
        self.plugin(&format!(",connect={server}"))
    }

    /// With the plugin, and behind its path what it is told.
    pub(crate) fn plugin(mut self, options: &str) -> Setup {
        self.command.arg("-plugin").arg(format!("{}{options}", plugin().display()));
        self
    }

    pub(crate) fn args(mut self, args: &[&str]) -> Setup {
        self.command.args(args);
        self
    }

    /// Sets the folder to which temporary files go.
    pub(crate) fn temporary(mut self, folder: &Path) -> Setup {
        self.command.env("TMPDIR", folder);
        self
    }

    pub(crate) fn start(mut self) -> Machine {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("QEMU starts");
        let (sender, lines) = channel();
        let console = BufReader::new(child.stdout.take().expect("a console"));
        std::thread::spawn(move || {
            // Ends with QEMU, or with the test.
            console.lines().map_while(Result::ok).try_for_each(|line| sender.send(line).ok())
        });
        let told = Arc::new(Mutex::new(String::new()));
        let (mut errors, notes) = (child.stderr.take().expect("standard error"), told.clone());
        let teller = std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(read @ 1..) = errors.read(&mut part) {
                notes.lock().expect("no panic").push_str(&String::from_utf8_lossy(&part[..read]));
            }
        });
        Machine { child, lines, said: Vec::new(), told, teller: Some(teller), _folder: self.folder }
    }
}

impl Machine {
    /// Types a line at the guest's console.
    #[allow(dead_code, reason = "a test types")]
    pub(crate) fn types(&mut self) {
        self.child.stdin.as_mut().expect("a keyboard").write_all(b"\n").expect("QEMU reads what is typed");
    }

    /// The number of QEMU's process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Returns what QEMU and the plugin have said until now.
    pub(crate) fn told(&self) -> String {
        self.told.lock().expect("no panic").clone()
    }

    /// Returns what was told once a sentence is in it: the thread that reads it may be behind what a guest or a monitor says.
    pub(crate) fn told_with(&self, sentence: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let told = self.told();
            if told.contains(sentence) {
                return told;
            }
            assert!(Instant::now() < until, "not told: {sentence}\n{told}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the guest says a line. Gives what it said if it ends without.
    pub(crate) fn wait_for(&mut self, line: &str) {
        self.wait_until(line, |last| last == line);
    }

    /// Waits as [`Machine::wait_for`] does, for a line that begins so.
    pub(crate) fn wait_for_start(&mut self, line: &str) {
        self.wait_until(line, |last| last.starts_with(line));
    }

    fn wait_until(&mut self, line: &str, is_said: impl Fn(&str) -> bool) {
        let until = Instant::now() + PATIENCE;
        while self.said.last().is_none_or(|last| !is_said(last)) {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(said) => self.said.push(said.trim_end().to_owned()),
                Err(RecvTimeoutError::Timeout) => panic!("the guest hangs: {:?}\n{}", self.said, self.told()),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the guest ends without `{line}`: {:?}\n{}", self.said, self.told())
                }
            }
        }
    }

    /// Waits for the end, which must be a good one. Gives what was told.
    pub(crate) fn passes(mut self) -> String {
        self.wait_for("PASS");
        let status = self.child.wait().expect("QEMU ends");
        assert!(status.success(), "{status}: {}", self.told());
        self.end()
    }

    /// Kills what was started, at once, and waits until nobody has its console any more. Gives what was said since.
    pub(crate) fn killed(mut self) -> Vec<String> {
        let before = self.said.len();
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        let until = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(said) => self.said.push(said.trim_end().to_owned()),
                Err(RecvTimeoutError::Timeout) => panic!("QEMU goes on: {:?}", self.said),
                Err(RecvTimeoutError::Disconnected) => return self.said.split_off(before),
            }
        }
    }

    /// Waits for the end, which must be a good one, and for the console's. Gives what was said on it.
    pub(crate) fn says(mut self) -> Vec<String> {
        let status = self.child.wait().expect("QEMU ends");
        assert!(status.success(), "{status}: {}", self.told());
        self.said.extend(self.lines.iter().map(|said| said.trim_end().to_owned()));
        std::mem::take(&mut self.said)
    }

    /// Waits a while for the end of a guest that may not run at all. Gives what it said, and whatever was told instead if it did not end
    /// well.
    pub(crate) fn tries(mut self) -> Result<Vec<String>, String> {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(said) => self.said.push(said.trim_end().to_owned()),
                Err(RecvTimeoutError::Timeout) => return Err(format!("it hangs: {:?}", self.said)),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = self.child.wait().expect("QEMU ends");
        let told = self.end();
        if status.success() { Ok(std::mem::take(&mut self.said)) } else { Err(told.trim().to_owned()) }
    }

    /// Waits for the end of a QEMU whose guest does not run.
    pub(crate) fn ends(self) {
        self.tells();
    }

    /// Waits for that end, and gives what was told.
    pub(crate) fn tells(mut self) -> String {
        let status = self.child.wait().expect("QEMU ends");
        let told = self.end();
        assert!(status.success(), "{status}: {told}");
        told
    }

    /// Waits for QEMU to give up, with nothing on its console. Gives what was told.
    pub(crate) fn refuses(mut self) -> String {
        let status = self.child.wait().expect("QEMU ends");
        assert_eq!(status.code(), Some(1), "{}", self.told());
        assert_eq!(self.lines.iter().collect::<Vec<_>>(), [""; 0]);
        self.end()
    }

    fn end(&mut self) -> String {
        if let Some(teller) = self.teller.take() {
            teller.join().expect("no panic");
        }
        self.told()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Mostly it has ended.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
