//! PCI functions behind a guest's IOMMU: their accesses are translated, and the guest is told of those that are not.

use std::time::Duration;

use crate::linux;
use crate::machine::{Kind, Machine, Setup, can_run_on, can_run_vfio_user};
use crate::monitor::Monitor;
use crate::served::Served;
use crate::{FUSED, OTHER, small, trace};

/// Words of the plugin about an access that the IOMMU refuses.
const REFUSED: &str = "the guest's IOMMU does not let the device access that address";

/// A guest of this kind that runs a layer, with more on its kernel's command line.
fn guest(kind: Kind, more: &str) -> Setup {
    Setup::kernel(kind, &kind.initramfs(&small().layer(&trace(FUSED)).bytes()), more)
}

/// A guest of Arm's `virt` with an IOMMU.
fn arm(server: &Served, more: &str) -> Machine {
    let device = format!("vp-pci,connect={}", server.address);
    guest(Kind::Arm, more).args(&["-M", "iommu=smmuv3"]).plugin("").args(&["-device", &device]).start()
}

#[test]
fn a_program_has_the_plug_ins_function_behind_an_iommu() {
    let test = "a_program_has_the_plug_ins_function_behind_an_iommu";
    if !linux::can_run(Kind::Group, test) {
        return;
    }
    let server = Served::named("nv_small");
    let mut machine = guest(Kind::Group, "messages=none").connect(&server.address).start();
    machine.wait_for("PASS");
    assert!(machine.said.contains(&"interrupts by the pin".to_owned()), "{:?}", machine.said);
    assert!(!machine.told().contains("warning"), "{}", machine.told());
}

#[test]
fn a_guest_is_told_of_what_its_iommu_refuses_the_plug_ins_function() {
    let test = "a_guest_is_told_of_what_its_iommu_refuses_the_plug_ins_function";
    if !linux::can_run(Kind::Group, test) {
        return;
    }
    let server = Served::named("nv_small");
    let setup = guest(Kind::Group, "messages=none unmapped=1").connect(&server.address);
    let mut machine = setup.start();
    machine.wait_for_start("FAIL");
    machine.told_with(REFUSED);
    let is_told = |line: &String| line.contains("DMAR: [DMA ") && line.contains("fault addr 0x800");
    assert!(machine.said.iter().any(is_told), "{:?}", machine.said);
}

#[test]
fn an_arm_guest_with_an_smmu_runs_a_layer_of_the_plug_ins_function() {
    let test = "an_arm_guest_with_an_smmu_runs_a_layer_of_the_plug_ins_function";
    if !linux::can_run(Kind::Arm, test) {
        return;
    }
    let server = Served::named("nv_small");
    // The generic driver maps nothing.
    arm(&server, "iommu.passthrough=1").passes();
}

#[test]
fn an_arm_guest_is_told_of_what_its_smmu_refuses() {
    let test = "an_arm_guest_is_told_of_what_its_smmu_refuses";
    if !linux::can_run(Kind::Arm, test) {
        return;
    }
    let server = Served::named("nv_small");
    let mut machine = arm(&server, "loglevel=7");
    machine.wait_for_start("FAIL");
    machine.told_with(REFUSED);
    let is_told = |line: &String| line.contains("arm-smmu-v3") && line.contains("event 0x10");
    assert!(machine.said.iter().any(is_told), "{:?}", machine.said);
}

#[test]
fn a_guest_behind_an_iommu_is_reset_while_its_layers_run() {
    if !can_run_on(Kind::Function, "a_guest_behind_an_iommu_is_reset_while_its_layers_run") {
        return;
    }
    let (server, folder) = (Served::named("nv_small"), tempfile::tempdir().unwrap());
    let path = folder.path().join("monitor");
    let script = small().say("begun\n").layer(&trace(FUSED)).layer(&trace(OTHER)).hear();
    let monitor = format!("unix:{},server=on,wait=off", path.display());
    let setup = Setup::pc(script, "").args(&["-device", "intel-iommu", "-monitor", &monitor]);
    let mut machine = setup.connect(&server.address).start();
    let mut monitor = Monitor::open(&path, &machine);
    for millisecond in 0..20 {
        machine.wait_for("begun");
        machine.said.clear();
        std::thread::sleep(Duration::from_millis(millisecond));
        assert_eq!(monitor.ask("system_reset"), "");
    }
    machine.wait_for("begun");
    machine.types();
    machine.passes();
}

#[test]
fn a_module_that_makes_a_node_of_a_function_leaves_one_that_an_iommu_translates() {
    let test = "a_module_that_makes_a_node_of_a_function_leaves_one_that_an_iommu_translates";
    if !linux::can_run(Kind::MadeNode, test) {
        return;
    }
    let server = Served::named("nv_small");
    // The plug-in's function, whose interrupt is a line.
    let boot = |more: &str| {
        let setup = guest(Kind::MadeNode, more).args(&["-M", "iommu=smmuv3"]).plugin("");
        setup.args(&["-device", &format!("vp-pci,connect={}", server.address)]).start()
    };
    boot("iommu.passthrough=1").passes();
    let mut machine = boot("");
    machine.wait_for_start("FAIL: /dev/uio0");
    let is_told = |line: &String| line.contains("boot with iommu.passthrough=1");
    assert!(machine.said.iter().any(is_told), "{:?}", machine.said);
}

#[test]
fn accesses_over_vfio_user_that_nothing_is_mapped_for_are_bus_errors() {
    let test = "accesses_over_vfio_user_that_nothing_is_mapped_for_are_bus_errors";
    if !can_run_vfio_user(Kind::Group, test) || !linux::can_run(Kind::Group, test) {
        return;
    }
    let server = Served::over_vfio_user("nv_small");
    let address = server.vfio_user.as_ref().expect("a socket for hypervisors");
    let mut machine = guest(Kind::Group, "unmapped=1").vfio_user(2100, address).start();
    machine.wait_for_start("FAIL");
    // The server has refused them: the IOMMU has not seen them.
    assert!(!machine.said.iter().any(|line| line.contains("DMAR: [DMA ")), "{:?}", machine.said);
}
