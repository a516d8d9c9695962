//! Guests that have the device as a PCI function.

use vp_models::nvdla::registers::RegisterMap;

use crate::linux;
use crate::machine::{Kind, Setup, can_run_on};
use crate::monitor::Monitor;
use crate::script::Script;
use crate::served::Served;
use crate::{FUSED, half_a_layer, trace};

fn small() -> Script {
    Script::new(RegisterMap::Small)
}

#[test]
fn linux_and_its_generic_driver_of_pci_functions_run_a_layer() {
    if !linux::can_run(Kind::Function, "linux_and_its_generic_driver_of_pci_functions_run_a_layer") {
        return;
    }
    let server = Served::named("nv_small");
    let setup = Setup::linux(Kind::Function, small().layer(&trace(FUSED))).connect(&server.address);
    let mut machine = setup.args(&["-smp", "2"]).start();
    machine.wait_for("the other process too");
    assert!(machine.said.contains(&"class 120000".to_owned()), "{:?}", machine.said);
    assert!(machine.said.ends_with(&["2 CPUs".into(), "PASS".into(), "the other process too".into()]));
    let told = machine.told_with("vp: PCI function");
    let expected = "vp: PCI function 1af4:10f0, 256 KiB of registers, interrupt INTA#: nv_small at unix:";
    assert!(told.starts_with(expected) && told.lines().count() == 1, "{told}");
}

#[test]
fn registers_of_a_pci_function_read_as_all_ones_when_the_server_is_killed() {
    if !linux::can_run(
        Kind::Function,
        "registers_of_a_pci_function_read_as_all_ones_when_the_server_is_killed",
    ) {
        return;
    }
    let server = Served::named("nv_small");
    let script = half_a_layer().until_error("GLB.S_INTR_STATUS");
    let mut machine = Setup::linux(Kind::Function, script).connect(&server.address).start();
    machine.wait_for("running");
    server.kill();
    machine.wait_for("bus error");
    machine.passes();
}

#[test]
fn a_function_that_is_no_bus_master_is_said_to_be_none_with_each_access() {
    let test = "a_function_that_is_no_bus_master_is_said_to_be_none_with_each_access";
    if !linux::can_run(Kind::Function, test) {
        return;
    }
    let server = Served::named("nv_small");
    let files = Kind::Function.initramfs(&small().layer(&trace(FUSED)).bytes());
    let setup = Setup::kernel(Kind::Function, &files, "passive=1").connect(&server.address);
    let mut machine = setup.start();
    machine.wait_for_start("FAIL");
    let told = machine.told_with("the guest's driver has not made the device a bus master");
    let warnings: Vec<&str> = told.lines().filter(|line| line.contains("warning")).collect();
    let is_right = |line: &&str| line.contains("the guest's driver has not made the device a bus master");
    assert!(warnings.len() > 1 && warnings.iter().all(is_right), "{told}");
}

#[test]
fn a_pci_function_takes_no_options_of_a_node() {
    if !can_run_on(Kind::Function, "a_pci_function_takes_no_options_of_a_node") {
        return;
    }
    let server = Served::named("nv_small");
    let told = Setup::stopped_pc().plugin(&format!(",connect={},spi=9", server.address)).start().refuses();
    assert!(told.contains("vp: spi is for a node of a device tree"), "{told}");
}

#[test]
fn a_machine_of_which_all_must_migrate_takes_the_device() {
    if !can_run_on(Kind::Function, "a_machine_of_which_all_must_migrate_takes_the_device") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Served::at(folder.path(), "nv_small");
    let path = folder.path().join("monitor");
    let monitor = format!("unix:{},server=on,wait=off", path.display());
    let setup =
        Setup::stopped_pc().connect(&server.address).args(&["-monitor", &monitor, "-only-migratable"]);
    let machine = setup.start();
    let mut monitor = Monitor::open(&path, &machine);
    let said = monitor.ask("savevm now");
    assert!(said.contains("block device"), "a disk is all that is missing: {said}");
    let said = monitor.ask("migrate exec:cat>/dev/null");
    assert_eq!(said, "", "{}", machine.told());
}

#[test]
fn a_pci_function_can_leave_the_machine() {
    if !can_run_on(Kind::Function, "a_pci_function_can_leave_the_machine") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Served::at(folder.path(), "nv_small");
    let path = folder.path().join("monitor");
    let monitor = format!("unix:{},server=on,wait=off", path.display());
    let device = format!("vp-pci,id=vp,addr=5,connect={}", server.address);
    let setup = Setup::stopped_pc().plugin("").args(&["-M", "pc", "-monitor", &monitor, "-device", &device]);
    let machine = setup.start();
    let mut monitor = Monitor::open(&path, &machine);
    assert!(monitor.ask("info pci").contains("PCI device 1af4:10f0"), "{}", machine.told());
    // What a guest's ACPI does when it is asked to: the bus, and the slot in it (docs/specs/acpi_pci_hotplug of QEMU).
    for command in ["device_del vp", "o/w 0xae10 0", "o/w 0xae08 0x20"] {
        assert_eq!(monitor.ask(command), "");
    }
    assert!(!monitor.ask("info pci").contains("1af4:10f0"));
    assert_eq!(monitor.ask("system_reset"), "");
    assert_eq!(monitor.ask("info status"), "VM status: paused (prelaunch)");
    let told = machine.told();
    assert_eq!(told.lines().count(), 1, "nobody looks for a server: {told}");
}
