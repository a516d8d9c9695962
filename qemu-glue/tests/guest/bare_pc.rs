//! Guests of a PC without an operating system, in TCG, and on the host's processor where its KVM runs them.

use std::sync::OnceLock;

use crate::machine::{Accelerator, Kind, Setup, can_run_on, can_run_vfio_user, say};
use crate::script::Script;
use crate::served::Served;
use crate::{FUSED, OTHER, POOLING, small, trace};

/// The accelerators that run the guest program here. Says which.
pub(crate) fn accelerators() -> &'static [Accelerator] {
    static FOUND: OnceLock<&[Accelerator]> = OnceLock::new();
    FOUND.get_or_init(|| match Accelerator::Kvm.runs_bare_guests() {
        Ok(()) => {
            say("bare guests of a PC run by TCG and by KVM");
            &[Accelerator::Tcg, Accelerator::Kvm]
        }
        Err(why) => {
            say(&format!("skipped: bare guests of a PC by KVM, by TCG alone: {why}"));
            &[Accelerator::Tcg]
        }
    })
}

/// A PC with these options for the guest, and the device by QEMU's own client.
fn by_vfio_user(server: &Served, script: Script, options: &str) -> Setup {
    let address = server.vfio_user.as_ref().expect("a socket for hypervisors");
    Setup::pc(script, options).vfio_user(2100, address)
}

#[test]
fn a_bare_guest_runs_layers_with_each_kind_of_interrupts() {
    let test = "a_bare_guest_runs_layers_with_each_kind_of_interrupts";
    if !can_run_vfio_user(Kind::Function, test) {
        return;
    }
    for accelerator in accelerators() {
        for (options, of_kvm) in [
            ("", "KVM INTx accel enabled"),
            ("messages=msi", "kvm_irqchip_add_msi_route dev vfio-user-pci"),
            ("messages=msi-x", "kvm_irqchip_add_msi_route dev vfio-user-pci"),
        ] {
            let server = Served::over_vfio_user("nv_small");
            let script = small().layer(&trace(FUSED)).layer(&trace(OTHER));
            let setup = by_vfio_user(&server, script, options).args(accelerator.args());
            let traced = ["-trace", "vfio_intx_enable_kvm", "-trace", "kvm_irqchip_add_msi_route"];
            let told = setup.args(&traced).start().passes();
            // KVM itself takes the eventfds of interrupts, and QEMU has no part in them.
            assert_eq!(told.contains(of_kvm), *accelerator == Accelerator::Kvm, "{options}: {told}");
        }
    }
}

#[test]
fn a_reset_of_a_pc_resets_the_function() {
    let test = "a_reset_of_a_pc_resets_the_function";
    if !can_run_vfio_user(Kind::Function, test) {
        return;
    }
    for accelerator in accelerators() {
        let server = Served::over_vfio_user("nv_small");
        // Without the reset the second layer would wait for the group behind the first one's.
        let script = small().layer(&trace(POOLING)).say("once\n").restart();
        let mut machine = by_vfio_user(&server, script, "messages=msi-x").args(accelerator.args()).start();
        machine.wait_for("PASS");
        assert_eq!(machine.said, ["once", "once", "PASS"]);
    }
}

#[test]
fn a_bare_guest_runs_layers_of_the_plug_ins_function() {
    let test = "a_bare_guest_runs_layers_of_the_plug_ins_function";
    if !can_run_on(Kind::Function, test) {
        return;
    }
    for accelerator in accelerators() {
        let server = Served::named("nv_small");
        let script = small().layer(&trace(FUSED)).layer(&trace(OTHER));
        Setup::pc(script, "").connect(&server.address).args(accelerator.args()).start().passes();
    }
}
