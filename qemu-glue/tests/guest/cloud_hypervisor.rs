//! Guests of cloud-hypervisor, whose client of vfio-user is another than QEMU's. It has its guest's memory in a file that is not sealed
//! against shrinking, reads no answer that tells of an error, and knows no accesses to memory by messages.

use std::os::fd::AsRawFd as _;
use std::path::Path;

use vp_models::nvdla::registers::RegisterMap;
use vp_transport::Address;

use crate::linux;
use crate::machine::{Kind, Setup, can_run_cloud_hypervisor, runs_stock_kernels};
use crate::script::Script;
use crate::served::Served;
use crate::{FUSED, OTHER, POOLING, small, trace};

/// The traces' surfaces lie from 0x80000000 on, and what is below 0xc0000000 is RAM.
const MEMORY: &[&str] = &["--memory", "size=2100M,shared=on"];

fn address(server: &Served) -> &Address {
    server.vfio_user.as_ref().expect("a socket for hypervisors")
}

#[test]
fn a_bare_guest_of_cloud_hypervisor_runs_layers_with_each_kind_of_interrupts() {
    let test = "a_bare_guest_of_cloud_hypervisor_runs_layers_with_each_kind_of_interrupts";
    if !can_run_cloud_hypervisor(test) {
        return;
    }
    for options in ["controller=io-apic", "messages=msi", "messages=msi-x"] {
        let server = Served::over_vfio_user("nv_small");
        let script = small().layer(&trace(FUSED)).layer(&trace(OTHER));
        Setup::cloud(script, options, MEMORY, address(&server)).start().passes();
    }
}

#[test]
fn a_bare_guest_of_cloud_hypervisor_with_memory_above_4_gib_runs_a_layer_of_nv_large() {
    let test = "a_bare_guest_of_cloud_hypervisor_with_memory_above_4_gib_runs_a_layer_of_nv_large";
    if !can_run_cloud_hypervisor(test) {
        return;
    }
    let name = "conv_3x3_bias_relu_6x5x70x40";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/nv_large").join(name);
    let layer = Script::new(RegisterMap::Large).layer(&folder.join(format!("{name}.cfg")));
    let server = Served::over_vfio_user("nv_large");
    // Two parts, each with a file of its own.
    let memory = ["--memory", "size=5G,shared=on"];
    Setup::cloud(layer, "messages=msi-x", &memory, address(&server)).start().passes();
}

#[test]
fn a_restart_of_cloud_hypervisors_guest_begins_anew_with_the_memory_that_it_is_given() {
    let test = "a_restart_of_cloud_hypervisors_guest_begins_anew_with_the_memory_that_it_is_given";
    if !can_run_cloud_hypervisor(test) {
        return;
    }
    let server = Served::over_vfio_user("nv_small");
    // A sealed file, which the device accesses directly, and which stays: so the guest finds that it was here before.
    let file = vp_shm::sealed("ram", 2100 << 20).expect("memory");
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let zone = format!("id=ram,size=2100M,shared=on,file={path}");
    let memory = ["--memory", "size=0", "--memory-zone", &zone];
    // Of the same platform the second layer would wait for the group behind the first one's.
    let script = small().layer(&trace(POOLING)).say("once\n").restart();
    let mut machine = Setup::cloud(script, "messages=msi", &memory, address(&server)).start();
    machine.wait_for("PASS");
    assert_eq!(machine.said, ["once", "once", "PASS"]);
}

#[test]
fn a_linux_guest_of_cloud_hypervisor_runs_a_layer_by_its_kernels_generic_driver() {
    let test = "a_linux_guest_of_cloud_hypervisor_runs_a_layer_by_its_kernels_generic_driver";
    let can_run = can_run_cloud_hypervisor(test) && runs_stock_kernels(test);
    if !can_run || !linux::is_here(Kind::Function, test) {
        return;
    }
    let server = Served::over_vfio_user("nv_small");
    let script = small().layer(&trace(FUSED)).layer(&trace(OTHER));
    let mut machine = Setup::linux_cloud(script, MEMORY, address(&server)).start();
    machine.wait_for("PASS");
    assert!(machine.said.contains(&"class 120000".to_owned()), "{:?}", machine.said);
    machine.passes();
}
