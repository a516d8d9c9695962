//! Machines that are saved with their device, loaded again, and moved to another QEMU and another server.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use vp_models::platform::Description;
use vp_transport::Address;

use crate::machine::{Kind, Machine, Setup, can_run, can_run_on, say};
use crate::monitor::Monitor;
use crate::script::Script;
use crate::served::Served;
use crate::{FUSED, OTHER, half_a_layer, small, trace};

/// Bytes of a cluster of a disk image.
const CLUSTER: u64 = 1 << 16;

/// Files of a test: disk images, sockets, streams.
struct Files(TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// An empty disk of 64 MiB, in which QEMU can save machines: the first version of qcow2, one cluster each for its head, its table of
    /// reference counts, these, and its table of tables.
    fn disk(&self) -> PathBuf {
        let path = self.path("disk.qcow2");
        let mut head = Vec::new();
        head.extend(b"QFI\xfb");
        for word in [2_u32, 0, 0, 0, CLUSTER.ilog2()] {
            head.extend(word.to_be_bytes());
        }
        head.extend((64_u64 << 20).to_be_bytes());
        for word in [0_u32, 1] {
            head.extend(word.to_be_bytes());
        }
        for word in [3 * CLUSTER, CLUSTER] {
            head.extend(word.to_be_bytes());
        }
        for word in [1_u32, 0, 0, 0] {
            head.extend(word.to_be_bytes());
        }
        let mut file = File::create(&path).unwrap();
        let mut cluster = |bytes: &[u8]| {
            let rest = vec![0; CLUSTER as usize - bytes.len()];
            file.write_all(&[bytes, &rest].concat()).unwrap();
        };
        cluster(&head);
        cluster(&(2 * CLUSTER).to_be_bytes());
        cluster(&[0, 1].repeat(4));
        cluster(&[]);
        path
    }
}

/// A machine with a monitor and a disk in which it can be saved.
struct Keeper {
    machine: Machine,
    monitor: Monitor,
}

impl Keeper {
    fn start(setup: Setup, files: &Files, disk: Option<&Path>, args: &[&str]) -> Keeper {
        let path = files.path("monitor");
        _ = std::fs::remove_file(&path);
        let monitor = format!("unix:{},server=on,wait=off", path.display());
        let mut setup = setup.args(&["-monitor", &monitor]).args(args);
        if let Some(disk) = disk {
            setup = setup.args(&["-drive", &format!("if=none,format=qcow2,file={}", disk.display())]);
        }
        let machine = setup.start();
        let monitor = Monitor::open(&path, &machine);
        Keeper { machine, monitor }
    }

    /// A command that says nothing when all is well.
    fn does(&mut self, command: &str) {
        let said = self.monitor.ask(command);
        assert_eq!(said, "", "{command}: {}", self.machine.told());
    }

    /// Waits until the guest runs: its console is heard from then on.
    fn wait_until_running(&mut self) {
        self.wait_for("info status", "running");
    }

    /// Waits until the monitor says so.
    fn wait_for(&mut self, command: &str, wanted: &str) {
        let until = Instant::now() + Duration::from_secs(240);
        loop {
            let said = self.monitor.ask(command);
            if said.contains(wanted) {
                return;
            }
            assert!(!said.contains("failed") && Instant::now() < until, "{said}: {}", self.machine.told());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Moves the machine to another QEMU, or to a file.
    fn migrate(&mut self, to: &str) {
        self.does("migrate_set_parameter max-bandwidth 4G");
        self.does(&format!("migrate -d \"{to}\""));
        self.wait_for("info migrate", "completed");
    }

    fn passes(mut self) -> String {
        drop(self.monitor);
        self.machine.types();
        self.machine.passes()
    }
}

/// Two layers of different engines; the guest waits for somebody before the second and before its end. The registers' groups take turns: the
/// second runs twice only if the device goes back too.
fn two_layers() -> Script {
    let first = small().layer(&trace(FUSED)).say("first\n").hear();
    first.layer(&trace(OTHER)).say("second\n").hear()
}

/// The guest has run its first layer; it is saved, runs the second, is loaded, runs the second again, and once more in a new QEMU
/// with a new server.
fn goes_back(setup: impl Fn(&Served) -> Setup) {
    let (files, server) = (Files::new(), Served::named("nv_small"));
    let disk = files.disk();
    let mut keeper = Keeper::start(setup(&server), &files, Some(&disk), &[]);
    keeper.machine.wait_for("first");
    keeper.does("savevm one");
    keeper.machine.types();
    keeper.machine.wait_for("second");
    for _ in 0..2 {
        keeper.does("loadvm one");
        keeper.machine.types();
        keeper.machine.said.clear();
        keeper.machine.wait_for("second");
    }
    keeper.passes();
    drop(server);
    let server = Served::named("nv_small");
    let mut keeper = Keeper::start(setup(&server), &files, Some(&disk), &["-loadvm", "one"]);
    keeper.machine.types();
    keeper.machine.wait_for("second");
    assert!(!keeper.machine.said.iter().any(|said| said == "first"), "{:?}", keeper.machine.said);
    keeper.passes();
}

#[test]
fn a_machine_goes_back_to_where_it_was_saved_with_its_device() {
    if !can_run("a_machine_goes_back_to_where_it_was_saved_with_its_device") {
        return;
    }
    goes_back(|server| Setup::new(two_layers()).connect(&server.address));
}

#[test]
fn a_device_whose_memory_is_reached_by_messages_is_saved_too() {
    if !can_run("a_device_whose_memory_is_reached_by_messages_is_saved_too") {
        return;
    }
    goes_back(|server| Setup::new(two_layers()).plugin(&format!(",connect={},share=off", server.address)));
}

#[test]
fn a_machine_whose_time_is_the_platforms_goes_back_too() {
    if !can_run("a_machine_whose_time_is_the_platforms_goes_back_too") {
        return;
    }
    goes_back(|server| {
        Setup::new(two_layers()).connect(&server.address).args(&["-icount", "shift=3,sleep=off"])
    });
}

#[test]
fn a_pc_goes_back_with_its_function() {
    let test = "a_pc_goes_back_with_its_function";
    if !can_run_on(Kind::Function, test) {
        return;
    }
    for accelerator in crate::bare_pc::accelerators() {
        goes_back(|server| Setup::pc(two_layers(), "").connect(&server.address).args(accelerator.args()));
    }
}

#[test]
fn linux_goes_back_with_its_driver() {
    let test = "linux_goes_back_with_its_driver";
    if !crate::linux::can_run(Kind::Node, test) {
        return;
    }
    goes_back(|server| {
        let options = format!(",connect={},{}", server.address, crate::POOL);
        Setup::linux(Kind::Node, two_layers()).plugin(&options)
    });
}

/// A layer that is under way when the machine stops ends first, and its interrupt comes when the machine goes on, each time.
#[test]
fn an_interrupt_that_comes_while_a_machine_is_saved_comes_again_when_it_is_loaded() {
    if !can_run("an_interrupt_that_comes_while_a_machine_is_saved_comes_again_when_it_is_loaded") {
        return;
    }
    let (files, server) = (Files::new(), Served::named("nv_small"));
    let disk = files.disk();
    let script = small().layer(&trace(OTHER)).layer_heard(&trace(FUSED)).say("second\n").hear();
    let setup = Setup::new(script).connect(&server.address);
    let mut keeper = Keeper::start(setup, &files, Some(&disk), &[]);
    keeper.machine.wait_for("enabled");
    keeper.does("savevm one");
    keeper.machine.types();
    keeper.machine.wait_for("second");
    keeper.does("loadvm one");
    keeper.machine.said.clear();
    keeper.machine.types();
    keeper.machine.wait_for("second");
    keeper.passes();
}

#[test]
fn a_machine_whose_layer_does_not_end_is_not_saved_and_goes_on() {
    if !can_run("a_machine_whose_layer_does_not_end_is_not_saved_and_goes_on") {
        return;
    }
    let (files, server) = (Files::new(), Served::named("nv_small"));
    let disk = files.disk();
    let script = half_a_layer().hear().layer(&trace(OTHER)).say("other\n");
    let setup = Setup::new(script).connect(&server.address);
    let mut keeper = Keeper::start(setup, &files, Some(&disk), &[]);
    keeper.machine.wait_for("running");
    let said = keeper.monitor.ask("savevm one");
    let told = keeper.machine.told() + &said;
    assert!(told.contains("the device is not saved: ") && told.contains("nvdla.pdp"), "{told}");
    assert!(!keeper.monitor.ask("info snapshots").contains("one"), "{told}");
    keeper.passes();
}

#[test]
fn a_state_of_another_platform_is_refused_and_one_of_its_own_is_not() {
    if !can_run("a_state_of_another_platform_is_refused_and_one_of_its_own_is_not") {
        return;
    }
    let (files, server) = (Files::new(), Served::named("nv_small"));
    let disk = files.disk();
    let start = |server: &Served| {
        let setup = Setup::new(two_layers()).connect(&server.address);
        let mut keeper = Keeper::start(setup, &files, Some(&disk), &[]);
        keeper.machine.wait_for("first");
        keeper
    };
    let mut keeper = start(&server);
    keeper.does("savevm one");
    drop(keeper);
    let slow = "name = \"slow\"\n[nvdla]\nbase = \"nv_small\"\n[dbb0]\nread_latency = 70\n";
    let folder = tempfile::tempdir().unwrap();
    let address = Address::Unix(folder.path().join("vp.sock"));
    let other = Served::with(address, Description::parse(slow).expect("a platform"));
    let mut keeper = start(&other);
    keeper.does("savevm other");
    let said = keeper.monitor.ask("loadvm one");
    let told = keeper.machine.told() + &said;
    let sentence = "the device's state is refused: this was saved of another platform: `";
    assert!(told.contains(sentence), "{told}");
    // To load another one now would be the end of QEMU, whatever it was that was not loaded.
    let status = keeper.monitor.ask("info status");
    assert!(status.contains("paused"), "{status}");
    drop(keeper);
    let setup = || Setup::new(two_layers()).connect(&other.address);
    let drive = format!("if=none,format=qcow2,file={}", disk.display());
    let told = setup().args(&["-drive", &drive, "-loadvm", "one"]).start().refuses();
    assert!(told.contains(sentence), "{told}");
    let mut keeper = Keeper::start(setup(), &files, Some(&disk), &["-loadvm", "other"]);
    keeper.machine.types();
    keeper.machine.wait_for("second");
    keeper.passes();
}

/// Moves a machine to a file.
fn moved() -> (Files, PathBuf) {
    let (files, server) = (Files::new(), Served::named("nv_small"));
    let stream = files.path("stream");
    let setup = Setup::new(two_layers()).connect(&server.address);
    let mut keeper = Keeper::start(setup, &files, None, &[]);
    keeper.machine.wait_for("first");
    keeper.migrate(&format!("exec:cat > {}", stream.display()));
    drop(keeper);
    (files, stream)
}

#[test]
fn a_machine_moves_to_another_qemu_and_another_server() {
    if !can_run("a_machine_moves_to_another_qemu_and_another_server") {
        return;
    }
    let (files, stream) = moved();
    let server = Served::named("nv_small");
    let setup = Setup::new(two_layers()).connect(&server.address);
    let incoming = format!("exec:cat {}", stream.display());
    let mut keeper = Keeper::start(setup, &files, None, &["-incoming", &incoming]);
    keeper.wait_until_running();
    keeper.machine.types();
    keeper.machine.wait_for("second");
    assert_eq!(keeper.machine.said, ["second"]);
    keeper.passes();
}

/// A layer runs while memory is on its way. What the server has written by itself, unseen by QEMU, is there behind it.
#[test]
fn a_machine_moves_while_its_device_is_at_work() {
    if !can_run("a_machine_moves_while_its_device_is_at_work") {
        return;
    }
    let (files, other) = (Files::new(), Files::new());
    let (here, there) = (Served::named("nv_small"), Served::named("nv_small"));
    let setup = |server: &Served| {
        let script = small().say("first\n").hear().layer_heard(&trace(FUSED)).say("done\n").hear();
        Setup::new(script.layer(&trace(OTHER))).connect(&server.address)
    };
    let socket = format!("unix:{}", files.path("migration").display());
    let mut to = Keeper::start(setup(&there), &other, None, &["-incoming", &socket]);
    let mut from = Keeper::start(setup(&here), &files, None, &[]);
    from.machine.wait_for("first");
    from.does("migrate_set_parameter max-bandwidth 1M");
    from.does(&format!("migrate -d {socket}"));
    from.machine.types();
    from.machine.wait_for("enabled");
    from.does("migrate_set_parameter max-bandwidth 4G");
    from.wait_for("info migrate", "completed");
    from.wait_for("info status", "postmigrate");
    to.wait_until_running();
    to.machine.types();
    to.machine.wait_for("done");
    assert_eq!(to.machine.said, ["done"]);
    to.passes();
}

/// A machine that waits to be moved, with a layer that is heard and another, and one to which it moves, each with a server of its own and these
/// options of the plugin; and where the second one listens from when it is told.
fn both(files: [&Files; 2], servers: [&Served; 2], options: &str) -> (Keeper, Keeper, String) {
    let setup = |server: &Served| {
        let script = small().say("first\n").hear().layer_heard(&trace(FUSED)).say("done\n").hear();
        let setup = Setup::new(script.layer(&trace(OTHER)));
        // So both name it alike, whether the server maps it or not.
        let memory = "memory-backend-memfd,id=ram,size=1100M,share=on";
        let setup = setup.args(&["-object", memory, "-M", "memory-backend=ram"]);
        setup.plugin(&format!(",connect={}{options}", server.address))
    };
    let socket = format!("unix:{}", files[0].path("migration").display());
    let to = Keeper::start(setup(servers[1]), files[1], None, &["-incoming", "defer"]);
    let mut from = Keeper::start(setup(servers[0]), files[0], None, &[]);
    from.machine.wait_for("first");
    (from, to, socket)
}

/// A machine moves before its memory does. A layer runs before it moves, and what the server has written by itself, unseen by QEMU, follows;
/// another runs behind it, in memory of which most has not come yet.
#[test]
fn a_machine_moves_and_its_memory_follows() {
    let test = "a_machine_moves_and_its_memory_follows";
    if !can_run(test) {
        return;
    }
    let tcp = || Served::start("tcp:127.0.0.1:0".parse().unwrap(), "nv_small");
    for (there, options) in [(Served::named("nv_small"), ",share=off"), (tcp(), "")] {
        let (files, other, here) = (Files::new(), Files::new(), Served::named("nv_small"));
        let (mut from, mut to, socket) = both([&files, &other], [&here, &there], options);
        let said = to.monitor.ask("migrate_set_capability postcopy-ram on");
        if !said.is_empty() {
            return say(&format!("skipped: {test}: no postcopy on this host: {said}{}", to.machine.told()));
        }
        from.does("migrate_set_capability postcopy-ram on");
        from.does("migrate_set_parameter max-bandwidth 1M");
        from.does("migrate_set_parameter max-postcopy-bandwidth 1M");
        to.does(&format!("migrate_incoming {socket}"));
        from.does(&format!("migrate -d {socket}"));
        from.wait_for("info migrate", "active");
        from.machine.types();
        from.machine.wait_for("enabled");
        from.does("migrate_start_postcopy");
        to.wait_until_running();
        to.machine.types();
        to.machine.wait_for("done");
        let said = from.monitor.ask("info migrate");
        assert!(said.contains("postcopy-"), "all of the memory is there: {said}");
        to.machine.types();
        to.machine.wait_for("PASS");
        drop(from);
    }
}

#[test]
fn memory_that_a_server_maps_does_not_follow_and_is_not_saved_while_the_machine_runs() {
    if !can_run("memory_that_a_server_maps_does_not_follow_and_is_not_saved_while_the_machine_runs") {
        return;
    }
    let (files, other) = (Files::new(), Files::new());
    let (here, there) = (Served::named("nv_small"), Served::named("nv_small"));
    let (mut from, mut to, _) = both([&files, &other], [&here, &there], "");
    let said = to.monitor.ask("migrate_set_capability postcopy-ram on");
    let told = to.machine.told() + &said;
    let sentence = "the server here reaches the guest's memory without QEMU, and would not wait for what has not come yet \
                    (postcopy): give the device share=off";
    assert!(told.contains(sentence), "{told}");
    // A host's kernel may not have it.
    if from.monitor.ask("migrate_set_capability background-snapshot on").is_empty() {
        let stream = files.path("stream");
        let said = from.monitor.ask(&format!("migrate -d \"exec:cat > {}\"", stream.display()));
        let until = Instant::now() + Duration::from_secs(60);
        while !from.monitor.ask("info migrate").contains("failed") {
            assert!(Instant::now() < until, "{}", from.machine.told());
            std::thread::sleep(Duration::from_millis(20));
        }
        // QEMU's words may come behind its answer.
        let sentence = "the server writes the guest's memory without QEMU";
        let mut told = || from.machine.told() + &said + &from.monitor.ask("info migrate");
        while !told().contains(sentence) {
            assert!(Instant::now() < until, "{}", told());
            std::thread::sleep(Duration::from_millis(20));
        }
        // Not every QEMU lets the machine go on by itself.
        from.does("cont");
    }
    from.machine.types();
    from.machine.wait_for("enabled");
    from.machine.types();
    from.machine.wait_for("done");
    from.passes();
}

#[test]
fn a_stream_that_is_not_what_was_saved_is_refused() {
    if !can_run("a_stream_that_is_not_what_was_saved_is_refused") {
        return;
    }
    let place = |bytes: &[u8]| bytes.windows(4).rposition(|part| part == b"VPSV").expect("a saved platform");
    let (_files, stream) = moved();
    let whole = std::fs::read(&stream).unwrap();
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        std::fs::write(&stream, bytes).unwrap();
        let server = Served::named("nv_small");
        let setup = Setup::new(two_layers()).connect(&server.address);
        let incoming = format!("exec:cat {}", stream.display());
        let told = setup.args(&["-incoming", &incoming]).start().refuses();
        assert!(told.contains("vp: the device's state "), "{told}");
        told
    };
    let told = refused(&|bytes| {
        let at = place(bytes);
        bytes[at + 200] ^= 1;
    });
    assert!(told.contains("is refused: this saved platform is damaged"), "{told}");
    let told = refused(&|bytes| {
        let at = place(bytes);
        bytes[at - 2] = 7;
    });
    assert!(told.contains("it has form 7, and this library reads form 1"), "{told}");
    // Its length: two bytes are before a platform of 1 GiB at most.
    let told = refused(&|bytes| {
        let at = place(bytes);
        bytes[at - 10] = 0x7f;
    });
    assert!(told.contains("1073741826 are the most"), "{told}");
    let told = refused(&|bytes| {
        let at = place(bytes);
        bytes.truncate(at + 100);
    });
    assert!(told.contains("is cut short"), "{told}");
}
