//! Places at which devices are put, and what is said where something else is.

use crate::linux;
use crate::machine::{Kind, Setup, can_run};
use crate::served::Served;
use crate::{FUSED, POOLING, small, trace};

#[test]
fn devices_of_one_guest_may_have_a_pool_each() {
    if !can_run("devices_of_one_guest_may_have_a_pool_each") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Served::at(folder.path(), "nv_small");
    let device = |pool| format!("vp-device,connect={},pool={pool}", server.address);
    let (one, other) = (device("0x80000000:0x1000000"), device("0x82000000:0x1000000"));
    let setup = |script| Setup::new(script).plugin("").args(&["-device", &one, "-device", &other]);
    setup(small().layer(&trace(POOLING))).start().passes();
    let tree = folder.path().join("tree").display().to_string();
    setup(small()).args(&["-M", &format!("dumpdtb={tree}")]).start().ends();
    let tree = std::fs::read(tree).unwrap();
    for pool in ["pool@80000000\0", "pool@82000000\0"] {
        assert!(tree.windows(pool.len()).any(|part| part == pool.as_bytes()), "{pool}");
    }
}

#[test]
fn places_that_something_else_has_are_refused_with_a_free_one() {
    if !can_run("places_that_something_else_has_are_refused_with_a_free_one") {
        return;
    }
    let server = Served::named("nv_small");
    let cases = [
        ("address=0x40000000", "the guest's memory is there, 0x40000000 to 0x84bfffff; address=0xb000000 is"),
        ("address=0x84bff000", "the guest's memory is there, 0x40000000 to 0x84bfffff; address=0xb000000 is"),
        ("address=0x08ff0000", "pl011 is there, from 0x9000000 on; address=0xb000000 is free"),
        ("address=0x0a000000", "virtio-mmio is there, from 0xa000000 on; address=0xb000000 is free"),
        ("address=0x08000000", "gic_dist is there, from 0x8000000 on; address=0xb000000 is free"),
        ("address=0x0", "virt.flash0 is there, from 0x0 on; address=0xb000000 is free"),
        ("address=0x10200000", "gpex_mmio_window is there, from 0x10200000 on; address=0xb000000 is free"),
        ("address=0xffffffffffff0000", "no CPU reaches 0xffffffffffff0000 to"),
        ("spi=1", "vp: spi=1: pl011 has it; spi=176 is free"),
        ("spi=2", "vp: spi=2: pl031 has it; spi=176 is free"),
        ("spi=16", "vp: spi=16: virtio-mmio has it; spi=176 is free"),
        ("spi=3", "vp: spi=3: gpex-pcihost has it; spi=176 is free"),
        ("spi=900", "vp: spi=900: the interrupt controller has 256; spi=176 is free"),
        (
            "pool=0xc0000000:0x1000",
            "the guest's memory is 0x40000000 to 0x84bfffff; pool=0x84b00000:0x1000 is",
        ),
        (
            "pool=0x84bff000:0x2000",
            "the guest's memory is 0x40000000 to 0x84bfffff; pool=0x84b00000:0x2000 is",
        ),
        ("pool=0x1000:0x1000", "the guest's memory is 0x40000000 to 0x84bfffff; pool=0x84b00000:0x1000 is"),
        ("pool=0x47ff0000:0x20000", "script is loaded there, 0x48000000 to 0x"),
        ("pool=0x40000000:0x1000", "vp: pool=0x40000000:0x1000: dtb is loaded there, 0x40000000 to 0x"),
    ];
    for (option, sentence) in cases {
        let options = format!(",connect={},{option}", server.address);
        let told = Setup::new(small()).plugin(&options).start().refuses();
        assert!(
            told.contains(&format!("{option}: ")) || option.starts_with("address=0x0"),
            "{option}: {told}"
        );
        assert!(told.contains(sentence), "{option}: {told}");
    }
}

#[test]
fn places_of_another_device_are_refused() {
    if !can_run("places_of_another_device_are_refused") {
        return;
    }
    let server = Served::named("nv_small");
    let device = |options| format!("vp-device,connect={}{options}", server.address);
    let first = device(",pool=0x80000000:0x1000000");
    let cases = [
        (
            ",address=0xb03f000",
            "another vp-device is there, 0xb000000 to 0xb03ffff; address=0xb040000 is free",
        ),
        (",spi=176", "spi=176: another vp-device has it; spi=177 is free"),
        (
            ",pool=0x80fff000:0x2000",
            "another vp-device has 0x80000000 to 0x80ffffff; pool=0x84b00000:0x2000 is",
        ),
    ];
    for (options, sentence) in cases {
        let second = device(options);
        let setup = Setup::new(small()).plugin("").args(&["-device", &first, "-device", &second]);
        let told = setup.start().refuses();
        assert!(told.contains(sentence), "{options}: {told}");
    }
}

#[test]
fn a_pool_where_the_kernel_or_its_initrd_is_is_refused() {
    if !linux::can_run(Kind::Node, "a_pool_where_the_kernel_or_its_initrd_is_is_refused") {
        return;
    }
    let server = Served::named("nv_small");
    // The last page that the image says it needs, behind what the file has (Documentation/arch/arm64/booting.rst).
    let kernel = std::fs::read(Kind::Node.kernel()).unwrap();
    let size = u64::from_le_bytes(kernel[16..24].try_into().unwrap());
    let last = 0x4020_0000 + size - 0x1000;
    assert!(size > kernel.len() as u64 + 0x1000);
    for (pool, sentence) in [
        ("0x40300000:0x1000", "vmlinuz is loaded there, 0x40200000 to 0x"),
        (&format!("0x{last:x}:0x1000"), "vmlinuz is loaded there, 0x40200000 to 0x"),
        ("0x48000000:0x1000", "initramfs is loaded there, 0x48000000 to 0x"),
        // QEMU puts it behind the initrd, at a multiple of 2 MiB (hw/arm/boot.c).
        ("0x48200000:0x1000", "dtb is loaded there, 0x48"),
    ] {
        let options = format!(",connect={},pool={pool}", server.address);
        let told = Setup::linux(Kind::Node, small().layer(&trace(FUSED))).plugin(&options).start().refuses();
        assert!(told.contains(sentence), "{pool}: {told}");
    }
}

#[test]
fn a_mistyped_option_is_refused_with_those_that_there_are() {
    if !can_run("a_mistyped_option_is_refused_with_those_that_there_are") {
        return;
    }
    let list = "nearest: spi; there are connect, address, spi, compatible, platform, pool, timeout, share";
    let told = Setup::new(small()).plugin(",connect=unix:/nowhere,spii=180").start().refuses();
    assert!(told.contains(&format!("vp: no option `spii`; {list}")), "{told}");
    let device = "vp-device,id=vp,connect=unix:/nowhere,spii=180";
    let told = Setup::new(small()).plugin("").args(&["-device", device]).start().refuses();
    assert!(told.contains(&format!("vp: -device vp-device: no option `spii`; {list}")), "{told}");
}
