//! Machines of QEMU that the documentation lists: a Linux guest of each runs a layer of the plug-in's device.

use vp_models::platform::Description;
use vp_transport::Address;

use crate::linux;
use crate::machine::{Kind, Setup, say};
use crate::riscv::WIDE;
use crate::served::Served;
use crate::{FUSED, POOL, small, trace};

/// A machine, and its row in the documentation's table.
struct Case {
    kind: Kind,
    /// Arguments that choose it, behind those of its kind.
    args: &'static [&'static str],
    row: &'static str,
}

const CASES: [Case; 9] = [
    Case { kind: Kind::Node, args: &[], row: "| `aarch64`, `virt` | node | GICv2 | device tree |" },
    Case {
        kind: Kind::Node,
        args: &["-M", "gic-version=3"],
        row: "| `aarch64`, `virt,gic-version=3` | node | GICv3 | device tree |",
    },
    Case { kind: Kind::Arm, args: &[], row: "| `aarch64`, `virt` | PCI function | GICv2 | device tree |" },
    Case { kind: Kind::Function, args: &[], row: "| `x86_64`, `q35` | PCI function | I/O APIC | ACPI |" },
    Case {
        kind: Kind::Function,
        args: &["-M", "q35,acpi=off"],
        row: "| `x86_64`, `q35,acpi=off` | PCI function | 8259A | BIOS |",
    },
    Case {
        kind: Kind::Function,
        args: &["-M", "pc"],
        row: "| `x86_64`, `pc` | PCI function | I/O APIC | ACPI |",
    },
    Case { kind: Kind::RiscV, args: &[], row: "| `riscv64`, `virt` | PCI function | PLIC | device tree |" },
    Case {
        kind: Kind::RiscV,
        args: &["-M", "aia=aplic"],
        row: "| `riscv64`, `virt,aia=aplic` | PCI function | APLIC | device tree |",
    },
    Case {
        kind: Kind::RiscV,
        args: &["-M", "aia=aplic-imsic"],
        row: "| `riscv64`, `virt,aia=aplic-imsic` | PCI function | APLIC and IMSIC | device tree |",
    },
];

/// Runs a layer in each machine of a kind.
fn run(kind: Kind, test: &str) {
    if !linux::can_run(kind, test) {
        return;
    }
    for Case { args, row, .. } in CASES.iter().filter(|case| case.kind == kind) {
        if args.contains(&"aia=aplic-imsic") && kind.version() < 8 {
            say(&format!(
                "skipped: {test}: {row}: with QEMU 7.2 Debian's kernel hangs there without a device, too"
            ));
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let is_wide = kind == Kind::RiscV;
        let description = if is_wide { Description::parse(WIDE) } else { Description::named("nv_small") };
        let address = Address::Unix(folder.path().join("vp.sock"));
        let server = Served::with(address, description.expect("a platform"));
        let layer = small().layer_at(&trace(FUSED), u32::from(is_wide));
        let setup = Setup::linux(kind, layer).args(args);
        let device = format!("vp-pci,connect={}", server.address);
        let setup = match kind {
            Kind::Node => setup.plugin(&format!(",connect={},{POOL}", server.address)),
            Kind::Arm => setup.plugin("").args(&["-device", &device]),
            _ => setup.connect(&server.address),
        };
        let told = setup.start().passes();
        assert!(!told.contains("warning"), "{row}: {told}");
    }
}

#[test]
fn a_node_works_in_each_arm_machine_of_the_documentation() {
    run(Kind::Node, "a_node_works_in_each_arm_machine_of_the_documentation");
}

#[test]
fn a_pci_function_works_in_each_arm_machine_of_the_documentation() {
    run(Kind::Arm, "a_pci_function_works_in_each_arm_machine_of_the_documentation");
}

#[test]
fn a_pci_function_works_in_each_pc_of_the_documentation() {
    run(Kind::Function, "a_pci_function_works_in_each_pc_of_the_documentation");
}

#[test]
fn a_pci_function_works_in_each_riscv_machine_of_the_documentation() {
    run(Kind::RiscV, "a_pci_function_works_in_each_riscv_machine_of_the_documentation");
}

#[test]
fn the_documentation_lists_the_machines_that_are_tried() {
    let page = include_str!("../../../docs/qemu.md");
    let table = page.split("| machine | the device is | interrupt controller | found by |\n").nth(1);
    let rows = table.expect("the table").lines().skip(1).take_while(|line| line.starts_with('|'));
    let tried = CASES.iter().map(|case| case.row);
    assert!(rows.eq(tried), "docs/qemu.md");
}
