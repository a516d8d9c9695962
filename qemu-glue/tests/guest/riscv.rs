//! Machines without a GIC: the device that `-plugin` or `vp qemu` is told of is a PCI function where there is PCI.

use vp_models::platform::Description;
use vp_transport::Address;

use crate::ends::vp_for;
use crate::linux;
use crate::machine::{Kind, Setup, can_run, can_run_on};
use crate::monitor::Monitor;
use crate::served::Served;
use crate::{FUSED, small, trace};

/// Addresses of 40 bits, which nv_small does not have: RAM of RISC-V's `virt` begins at 2 GiB, and its low end is the kernel's.
pub(crate) const WIDE: &str = "name = \"wide\"\n[nvdla]\nbase = \"nv_small\"\naddress_bits = 40\n";
const NOTE: &str =
    "vp: this machine has no GIC, but PCI: the device is a PCI function, as with -device vp-pci\n";

#[test]
fn a_riscv_guest_runs_a_layer_by_its_kernels_generic_driver_of_pci_functions() {
    let test = "a_riscv_guest_runs_a_layer_by_its_kernels_generic_driver_of_pci_functions";
    let Some(vp) = vp_for(test).filter(|_| linux::can_run(Kind::RiscV, test)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let platform = folder.path().join("wide.toml");
    std::fs::write(&platform, WIDE).unwrap();
    let options = ["--platform", platform.to_str().unwrap()];
    let mut machine = Setup::riscv_through(&vp, &options, small().layer_at(&trace(FUSED), 1)).start();
    machine.wait_for("PASS");
    assert!(machine.said.contains(&"class 120000".to_owned()), "{:?}", machine.said);
    let told = machine.told_with("vp: PCI function 1af4:10f0, ");
    assert!(told.starts_with(NOTE), "{told}");
    assert!(!told.contains("warning"), "{told}");
}

#[test]
fn the_device_of_a_machine_without_a_gic_is_a_pci_function() {
    if !can_run_on(Kind::RiscV, "the_device_of_a_machine_without_a_gic_is_a_pci_function") {
        return;
    }
    for machine in ["virt", "virt,aia=aplic-imsic"] {
        let folder = tempfile::tempdir().unwrap();
        let address = Address::Unix(folder.path().join("vp.sock"));
        let server = Served::with(address, Description::named("nv_small").unwrap());
        let path = folder.path().join("monitor");
        let monitor = format!("unix:{},server=on,wait=off", path.display());
        let setup = Setup::stopped(Kind::RiscV, machine).connect(&server.address);
        let machine = setup.args(&["-monitor", &monitor]).start();
        let mut monitor = Monitor::open(&path, &machine);
        assert!(monitor.ask("info pci").contains("PCI device 1af4:10f0"), "{}", machine.told());
        let told = machine.told_with("vp: PCI function 1af4:10f0, ");
        assert!(told.starts_with(NOTE) && told.lines().count() == 2, "{told}");
    }
}

#[test]
fn a_machine_with_neither_a_gic_nor_pci_is_refused_with_what_would_be_right() {
    if !can_run_on(Kind::RiscV, "a_machine_with_neither_a_gic_nor_pci_is_refused_with_what_would_be_right") {
        return;
    }
    let server = Served::named("nv_small");
    let told = Setup::stopped(Kind::RiscV, "spike").connect(&server.address).start().refuses();
    assert!(told.contains("vp: this machine has no place for the device: take -M virt"), "{told}");
    if can_run_on(Kind::Function, "a_machine_with_neither_a_gic_nor_pci_is_refused_with_what_would_be_right")
    {
        let told = Setup::stopped(Kind::Function, "microvm").connect(&server.address).start().refuses();
        assert!(
            told.contains("vp: this machine has no place for the device: take -M q35, or -M microvm,pcie=on"),
            "{told}"
        );
    }
}

#[test]
fn a_node_where_there_can_be_none_is_refused_with_the_pci_function() {
    if !can_run_on(Kind::RiscV, "a_node_where_there_can_be_none_is_refused_with_the_pci_function") {
        return;
    }
    let server = Served::named("nv_small");
    let device = format!("vp-device,connect={}", server.address);
    let told = Setup::stopped(Kind::RiscV, "virt").plugin("").args(&["-device", &device]).start().refuses();
    let sentence = "vp: this machine has no GIC, but PCI: take -device vp-pci in place of vp-device";
    assert!(told.contains(sentence), "{told}");
    let told =
        Setup::stopped(Kind::RiscV, "virt").plugin(&format!(",connect={},spi=9", server.address)).start();
    let told = told.refuses();
    assert!(told.contains("vp: spi is for a node of a device tree"), "{told}");
}

#[test]
fn a_machine_of_arm_without_a_place_for_a_node_has_a_pci_function() {
    if !can_run("a_machine_of_arm_without_a_place_for_a_node_has_a_pci_function") {
        return;
    }
    let server = Served::named("nv_small");
    let told =
        Setup::stopped(Kind::Node, "sbsa-ref").plugin(&format!(",connect={},spi=9", server.address)).start();
    let told = told.refuses();
    assert!(
        told.contains("vp: this machine has no place for the device, but PCI: the device is a PCI function"),
        "{told}"
    );
}
