//! Guests of a QEMU that has no plugin: the device is a PCI function over vfio-user, by QEMU's own client.

use vp_models::platform::Description;

use crate::ends::vp_for;
use crate::linux;
use crate::machine::{Kind, Machine, Setup, can_run_vfio_user, runs_stock_kernels};
use crate::riscv::WIDE;
use crate::script::Script;
use crate::served::Served;
use crate::{FUSED, OTHER, half_a_layer, small, trace};

/// Returns true if the test can run; says so if not.
fn can_run(test: &str) -> bool {
    can_run_vfio_user(Kind::Function, test) && linux::can_run(Kind::Function, test)
}

/// Debian's kernel, with the device and more of QEMU's arguments.
fn start(server: &Served, script: Script, args: &[&str]) -> Machine {
    let address = server.vfio_user.as_ref().expect("a socket for hypervisors");
    Setup::linux(Kind::Function, script).vfio_user(2100, address).args(args).start()
}

#[test]
fn a_guest_without_a_plugin_runs_a_layer_by_its_kernels_generic_driver() {
    if !can_run("a_guest_without_a_plugin_runs_a_layer_by_its_kernels_generic_driver") {
        return;
    }
    let server = Served::over_vfio_user("nv_small");
    let mut machine = start(&server, small().layer(&trace(FUSED)), &["-smp", "2"]);
    machine.wait_for("the other process too");
    assert!(machine.said.contains(&"class 120000".to_owned()), "{:?}", machine.said);
    assert!(machine.said.ends_with(&["2 CPUs".into(), "PASS".into(), "the other process too".into()]));
    assert_eq!(machine.told(), "", "QEMU and its client have nothing to say");
}

#[test]
fn a_command_starts_a_platform_and_a_qemu_that_needs_no_plugin() {
    let test = "a_command_starts_a_platform_and_a_qemu_that_needs_no_plugin";
    if !can_run(test) {
        return;
    }
    let Some(vp) = vp_for(test) else { return };
    let setup = Setup::linux_without_plugin(&vp, &["--vfio-user"], small().layer(&trace(FUSED)));
    let mut machine = setup.start();
    machine.wait_for("PASS");
    let report = machine.says().join("\n");
    assert!(report.contains("event hash"), "{report}");
}

#[test]
fn a_program_behind_an_iommu_runs_a_layer_and_has_interrupts_by_messages() {
    let test = "a_program_behind_an_iommu_runs_a_layer_and_has_interrupts_by_messages";
    if !can_run(test) || !linux::can_run(Kind::Group, test) {
        return;
    }
    for messages in ["msi-x", "msi"] {
        let server = Served::over_vfio_user("nv_small");
        let address = server.vfio_user.as_ref().expect("a socket for hypervisors");
        let files = Kind::Group.initramfs(&small().layer(&trace(FUSED)).bytes());
        let setup = Setup::kernel(Kind::Group, &files, &format!("messages={messages}"));
        let mut machine = setup.vfio_user(2100, address).start();
        machine.wait_for("PASS");
        assert!(machine.said.contains(&format!("interrupts by {messages}")), "{:?}", machine.said);
    }
}

#[test]
fn an_arm_guest_without_a_plugin_runs_a_layer() {
    let test = "an_arm_guest_without_a_plugin_runs_a_layer";
    if !can_run_vfio_user(Kind::Arm, test) || !linux::can_run(Kind::Arm, test) {
        return;
    }
    let server = Served::over_vfio_user("nv_small");
    let address = server.vfio_user.as_ref().expect("a socket for hypervisors");
    Setup::linux(Kind::Arm, small().layer(&trace(FUSED))).vfio_user(1100, address).start().passes();
}

#[test]
fn a_driver_that_looks_for_a_node_has_the_function_by_a_module() {
    let test = "a_driver_that_looks_for_a_node_has_the_function_by_a_module";
    if !can_run_vfio_user(Kind::MadeNode, test) || !linux::can_run(Kind::MadeNode, test) {
        return;
    }
    let server = Served::over_vfio_user("nv_small");
    let address = server.vfio_user.as_ref().expect("a socket for hypervisors");
    let setup = Setup::linux(Kind::MadeNode, small().layer(&trace(FUSED)).layer(&trace(OTHER)));
    let mut machine = setup.vfio_user(1100, address).start();
    machine.wait_for("PASS");
    assert!(machine.said.contains(&"node accelerator".to_owned()), "{:?}", machine.said);
}

#[test]
fn a_riscv_guest_without_a_plugin_runs_a_layer() {
    let test = "a_riscv_guest_without_a_plugin_runs_a_layer";
    if !can_run_vfio_user(Kind::RiscV, test) || !linux::can_run(Kind::RiscV, test) {
        return;
    }
    let server = Served::described_over_vfio_user(Description::parse(WIDE).expect("a platform"));
    let address = server.vfio_user.as_ref().expect("a socket for hypervisors");
    Setup::riscv_by_vfio_user(address, small().layer_at(&trace(FUSED), 1)).start().passes();
}

#[test]
fn a_guest_of_the_hosts_processor_runs_a_layer() {
    let test = "a_guest_of_the_hosts_processor_runs_a_layer";
    if !can_run(test) || !runs_stock_kernels(test) {
        return;
    }
    let server = Served::over_vfio_user("nv_small");
    let script = small().layer(&trace(FUSED)).layer(&trace(OTHER));
    start(&server, script, &["-accel", "kvm", "-cpu", "host"]).passes();
}

#[test]
fn registers_read_as_all_ones_when_the_server_is_killed() {
    if !can_run("registers_read_as_all_ones_when_the_server_is_killed") {
        return;
    }
    let server = Served::over_vfio_user("nv_small");
    let mut machine = start(&server, half_a_layer().until_error("GLB.S_INTR_STATUS"), &[]);
    machine.wait_for("running");
    server.kill();
    machine.wait_for("bus error");
    machine.passes();
}
