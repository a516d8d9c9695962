//! A distribution's QEMU with the plugin: guests without an operating system run the project's own traces on the device.

mod bare_pc;
mod cloud_hypervisor;
mod ends;
mod inside;
mod iommu;
mod kernel_script;
mod lab;
mod linux;
mod machine;
mod machines;
mod monitor;
mod pci;
mod places;
#[path = "../../../vp-bridge/tests/common/process.rs"]
mod process;
mod riscv;
mod saved;
mod script;
mod served;
mod shared;
mod suite;
mod time;
mod tls;
mod vfio_user;
mod watcher;

use std::path::{Path, PathBuf};

use machine::{Kind, Setup, can_run};
use monitor::Monitor;
use script::Script;
use served::Served;
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::Description;
use vp_transport::Address;

/// Choice of [`served`].
const RECORDS_PLATFORMS: bool = true;

const POOLING: &str = "pdp_max_3x3_s2_16x16x16";
const FUSED: &str = "sdp_pdp_batchnorm_relu_maxpool_16x16x16";
/// Of engines that no other of these has: engines take their two groups of registers in turn, and each layer is in the first.
const OTHER: &str = "cdp_lrn5_7x5x20";

fn trace(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/nv_small").join(name);
    folder.join(format!("{name}.cfg"))
}

fn small() -> Script {
    Script::new(RegisterMap::Small)
}

/// PDP enabled, and waiting for an SDP that is not.
fn half_a_layer() -> Script {
    small().writes(&trace(FUSED), &["PDP"]).read("PDP.S_STATUS", 1).say("running\n")
}

#[test]
fn a_guest_runs_a_layer_in_its_own_memory() {
    if !can_run("a_guest_runs_a_layer_in_its_own_memory") {
        return;
    }
    let server = Served::named("nv_small");
    let told = Setup::new(small().layer(&trace(FUSED))).connect(&server.address).start().passes();
    let expected =
        "vp: /accelerator@b000000 at 0xb000000, 256 KiB of registers, interrupt SPI 176: nv_small at unix:";
    assert!(told.starts_with(expected), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn a_server_reaches_no_other_memory_of_the_guest_than_it_is_given() {
    if !can_run("a_server_reaches_no_other_memory_of_the_guest_than_it_is_given") {
        return;
    }
    let server = Served::named("nv_small");
    let guest = |ranges| {
        let setup = Setup::new(small().layer(&trace(FUSED)));
        setup.plugin(&format!(",connect={},ranges={ranges}", server.address)).start()
    };
    // Where the trace's surfaces lie.
    guest("0x80000000:0x1000000").passes();
    let mut machine = guest("0x40000000:0x1000000");
    machine.wait_for_start("FAIL");
    let told = machine.told_with("ranges= does not let the device access the guest's memory there");
    assert!(!told.contains("no memory"), "{told}");
}

#[test]
fn a_pool_that_the_device_does_not_reach_is_refused_at_start() {
    if !can_run("a_pool_that_the_device_does_not_reach_is_refused_at_start") {
        return;
    }
    let server = Served::named("nv_small");
    let refused = |options: &str, args: &[&str]| {
        let setup = Setup::new(small()).plugin(&format!(",connect={},{options}", server.address));
        setup.args(args).start().refuses()
    };
    let told = refused("pool=0x80000000:0x1000000,ranges=0x60000000:0x1000000", &[]);
    let sentence = "pool=0x80000000:0x1000000: by ranges= the device reaches only 0x60000000 to 0x60ffffff; \
                    pool=0x60000000:0x1000000 is free";
    assert!(told.contains(sentence), "{told}");
    let told = refused("ranges=0x20000000:0x1000", &[]);
    assert!(told.contains("vp: ranges= has none of the guest's memory, which is "), "{told}");
    // nv_small's own addresses have 32 bits.
    let memory = "memory-backend-ram,id=ram,size=5300M,reserve=off";
    let high = ["-m", "5300", "-object", memory, "-M", "memory-backend=ram"];
    let told = refused("pool=0x100000000:0x1000000", &high);
    let sentence = "pool=0x100000000:0x1000000: the device's memory interfaces reach only 0x0 to 0xffffffff; pool=0xff000000:";
    assert!(told.contains(sentence), "{told}");
}

#[test]
fn a_guest_with_firmware_is_warned_that_its_kernel_gets_no_device_tree() {
    if !can_run("a_guest_with_firmware_is_warned_that_its_kernel_gets_no_device_tree") {
        return;
    }
    let server = Served::named("nv_small");
    let folder = tempfile::tempdir().unwrap();
    // Whatever it is, it does not begin.
    let firmware = folder.path().join("firmware");
    std::fs::write(&firmware, [0; 4096]).unwrap();
    let told = |machine: &str, args: &[&str]| {
        let tree = folder.path().join("tree").display().to_string();
        let setup = Setup::stopped(Kind::Node, &format!("{machine},dumpdtb={tree}")).connect(&server.address);
        setup.args(args).start().tells()
    };
    let bios = ["-bios", firmware.to_str().unwrap()];
    let sentence = "vp: warning: UEFI firmware gives the guest's kernel ACPI tables and no device tree, so no /accelerator@b000000: \
                    add -M acpi=off\n";
    assert!(told("virt", &bios).contains(sentence));
    for (machine, args) in [("virt", &[][..]), ("virt,acpi=off", &bios)] {
        let told = told(machine, args);
        assert!(!told.contains("warning"), "{told}");
    }
}

#[test]
fn a_layer_lies_above_4_gib() {
    if !can_run("a_layer_lies_above_4_gib") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // nv_small's own addresses have 32 bits.
    let wide = "name = \"wide\"\n[nvdla]\nbase = \"nv_small\"\naddress_bits = 40\n";
    let address = Address::Unix(folder.path().join("vp.sock"));
    let server = Served::with(address, Description::parse(wide).expect("a platform"));
    let setup = Setup::new(small().layer_at(&trace(FUSED), 1)).connect(&server.address);
    let memory = "memory-backend-ram,id=ram,size=5300M,reserve=off";
    setup.args(&["-m", "5300", "-object", memory, "-M", "memory-backend=ram"]).start().passes();
}

#[test]
fn the_node_has_the_name_that_the_driver_of_the_register_map_looks_for() {
    if !can_run("the_node_has_the_name_that_the_driver_of_the_register_map_looks_for") {
        return;
    }
    for (map, names) in [
        (RegisterMap::Small, "nvidia,nv_small\0nvidia,nvdla_2\0"),
        (RegisterMap::Large, "nvidia,nv_large\0"),
        (RegisterMap::Full, "nvidia,nvdla_os_initial\0"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let server = Served::at(folder.path(), map.name());
        let tree = folder.path().join("tree").display().to_string();
        // The guest looks for the node by itself, the text is for us.
        let script = Script::new(map).read("GLB.S_INTR_STATUS", 0).say("found\n");
        Setup::new(script.clone()).connect(&server.address).start().passes();
        let dump = Setup::new(script).connect(&server.address).args(&["-M", &format!("dumpdtb={tree}")]);
        dump.start().ends();
        let tree = std::fs::read(tree).unwrap();
        assert!(tree.windows(names.len()).any(|part| part == names.as_bytes()), "{map:?}");
    }
}

#[test]
fn two_guests_of_one_server_have_a_device_each() {
    if !can_run("two_guests_of_one_server_have_a_device_each") {
        return;
    }
    let server = Served::start("tcp:127.0.0.1:0".parse().unwrap(), "nv_small");
    let guest = |name| Setup::new(small().layer(&trace(name))).connect(&server.address).start();
    let (one, other) = (guest(POOLING), guest(FUSED));
    one.passes();
    other.passes();
}

#[test]
fn one_guest_has_several_devices() {
    if !can_run("one_guest_has_several_devices") {
        return;
    }
    let server = Served::named("nv_small");
    let device = format!("vp-device,connect={}", server.address);
    let setup = Setup::new(small().layer(&trace(POOLING))).plugin("");
    let told = setup.args(&["-device", &device, "-device", &device]).start().passes();
    assert!(told.contains("at 0xb000000,") && told.contains("interrupt SPI 176:"), "{told}");
    assert!(told.contains("at 0xb040000,") && told.contains("interrupt SPI 177:"), "{told}");
}

#[test]
fn a_reset_of_the_machine_resets_the_device() {
    if !can_run("a_reset_of_the_machine_resets_the_device") {
        return;
    }
    let server = Served::named("nv_small");
    // Without the reset the second layer would wait for the group behind the first one's.
    let script = small().layer(&trace(POOLING)).say("once\n").restart();
    let mut machine = Setup::new(script).connect(&server.address).start();
    machine.wait_for("PASS");
    assert_eq!(machine.said, ["once", "once", "PASS"]);
}

#[test]
fn a_server_that_is_killed_means_bus_errors_until_there_is_a_new_one() {
    if !can_run("a_server_that_is_killed_means_bus_errors_until_there_is_a_new_one") {
        return;
    }
    for args in [&[][..], &["-icount", "shift=3,sleep=off"]] {
        let folder = tempfile::tempdir().unwrap();
        let server = Served::at(folder.path(), "nv_small");
        let status = "GLB.S_INTR_STATUS";
        let script = half_a_layer().until_error(status).until_answer(status).layer(&trace(POOLING));
        let mut machine = Setup::new(script).connect(&server.address).args(args).start();
        machine.wait_for("running");
        server.kill();
        machine.wait_for("bus error");
        let server = Served::at(folder.path(), "nv_small");
        machine.wait_for("answered");
        let told = machine.passes();
        assert!(told.contains("; the device answers with errors from now on"), "{told}");
        assert!(told.contains("a new session; the device is as after power-on"), "{told}");
        drop(server);
    }
}

#[test]
fn a_qemu_that_is_killed_in_mid_layer_leaves_a_platform_for_the_next() {
    if !can_run("a_qemu_that_is_killed_in_mid_layer_leaves_a_platform_for_the_next") {
        return;
    }
    let server = Served::named("nv_small");
    let options = format!(",connect={},platform=shared", server.address);
    let mut first = Setup::new(half_a_layer()).plugin(&options).start();
    first.wait_for("running");
    drop(first);
    Setup::new(small().layer(&trace(FUSED))).plugin(&options).start().passes();
}

#[test]
fn what_does_not_fit_is_refused_with_a_sentence() {
    if !can_run("what_does_not_fit_is_refused_with_a_sentence") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Served::at(folder.path(), "nv_small");
    let address = &server.address;
    let nobody = folder.path().join("nobody").display().to_string();
    let cases: [(String, &[&str], &str); 5] = [
        (format!(",connect=unix:{nobody}"), &[], "vp: cannot connect to unix:"),
        (",connect=nowhere".into(), &[], "vp: connect=nowhere makes no sense: write connect=unix:"),
        (",adress=1".into(), &[], "vp: no option `adress`; nearest: address; there are connect, address"),
        (
            format!(",connect={address}"),
            &["-icount", "shift=3,rr=record,rrfile=/dev/null"],
            "with -icount rr= nothing",
        ),
        (format!(",connect={address}"), &["-M", "raspi3b", "-m", "1G"], "vp: this machine has no place"),
    ];
    for (options, args, sentence) in cases {
        let told = Setup::new(small()).plugin(&options).args(args).start().refuses();
        assert!(told.contains(sentence), "{options}: {told}");
    }
}

#[test]
fn a_node_stays_in_the_machine() {
    if !can_run("a_node_stays_in_the_machine") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Served::at(folder.path(), "nv_small");
    let path = folder.path().join("monitor");
    let monitor = format!("unix:{},server=on,wait=off", path.display());
    let device = format!("vp-device,id=vp,connect={}", server.address);
    let setup = Setup::new(small()).plugin("").args(&["-S", "-monitor", &monitor, "-device", &device]);
    let machine = setup.start();
    let mut monitor = Monitor::open(&path, &machine);
    let refused = monitor.ask("device_del vp");
    assert!(refused.contains("its registers and its node stay as long as the machine"), "{refused}");
}

/// The memory that the traces use, left to the device's driver by the kernel.
const POOL: &str = "pool=0x80000000:0x1000000";

#[test]
fn linux_and_its_generic_driver_run_a_layer_on_two_cpus() {
    if !linux::can_run(Kind::Node, "linux_and_its_generic_driver_run_a_layer_on_two_cpus") {
        return;
    }
    let server = Served::named("nv_small");
    let options = format!(",connect={},{POOL}", server.address);
    let setup = Setup::linux(Kind::Node, small().layer(&trace(FUSED))).plugin(&options);
    let mut machine = setup.args(&["-smp", "2"]).start();
    // Which reads registers all the while.
    machine.wait_for("the other process too");
    assert!(machine.said.ends_with(&["2 CPUs".into(), "PASS".into(), "the other process too".into()]));
}

#[test]
fn a_program_under_linux_gets_a_signal_when_the_server_is_killed() {
    if !linux::can_run(Kind::Node, "a_program_under_linux_gets_a_signal_when_the_server_is_killed") {
        return;
    }
    let server = Served::named("nv_small");
    let options = format!(",connect={},{POOL}", server.address);
    let script = half_a_layer().until_error("GLB.S_INTR_STATUS");
    let mut machine = Setup::linux(Kind::Node, script).plugin(&options).start();
    machine.wait_for("running");
    server.kill();
    machine.wait_for("bus error");
    machine.passes();
}
