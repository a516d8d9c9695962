//! The device's node in the guest's device tree.

use std::ops::Range;

use super::Handle;
use crate::options::Pool;
use crate::qemu::Qemu;

/// `GIC_SPI` of the bindings.
const SHARED: u32 = 0;
/// `IRQ_TYPE_LEVEL_HIGH` of the bindings.
const LEVEL_HIGH: u32 = 4;

/// Device-tree node by which the guest is told of the device.
pub(super) struct Node {
    pub(super) window: Range<u64>,
    pub(super) spi: u32,
    /// Names of drivers, with `+` between.
    pub(super) compatible: String,
    pub(super) pool: Option<Pool>,
}

impl Node {
    /// Adds it, and says where. `virt`'s root has two cells for an address and two for a size.
    pub(super) fn add(&self, qemu: &Qemu, tree: Handle) -> Result<String, String> {
        let path = format!("/accelerator@{:x}", self.window.start);
        if !qemu.add_node(tree, &path) {
            return Err(format!("the device tree takes no node {path}"));
        }
        let compatible: String = self.compatible.split('+').flat_map(|name| [name, "\0"]).collect();
        qemu.set_property(tree, &path, "compatible", compatible.as_bytes());
        qemu.set_property(tree, &path, "reg", &range(self.window.start, self.window.end - self.window.start));
        qemu.set_property(tree, &path, "interrupts", &cells(&[SHARED, self.spi, LEVEL_HIGH]));
        qemu.set_property(tree, &path, "dma-coherent", &[]);
        if let Some(pool) = self.pool {
            qemu.set_cell(tree, &path, "memory-region", reserve(qemu, tree, pool)?);
        }
        Ok(path)
    }
}

/// Reserves memory for a driver, and gives the number by which a node refers to it.
fn reserve(qemu: &Qemu, tree: Handle, pool: Pool) -> Result<u32, String> {
    const PARENT: &str = "/reserved-memory";
    if !qemu.has_node(tree, PARENT) {
        if !qemu.add_node(tree, PARENT) {
            return Err(format!("the device tree takes no node {PARENT}"));
        }
        qemu.set_cell(tree, PARENT, "#address-cells", 2);
        qemu.set_cell(tree, PARENT, "#size-cells", 2);
        qemu.set_property(tree, PARENT, "ranges", &[]);
    }
    let path = format!("{PARENT}/pool@{:x}", pool.base);
    if !qemu.add_node(tree, &path) {
        return Err(format!("the device tree takes no node {path}"));
    }
    let phandle = qemu.new_phandle(tree);
    qemu.set_property(tree, &path, "compatible", b"shared-dma-pool\0");
    qemu.set_property(tree, &path, "reg", &range(pool.base, pool.size));
    qemu.set_property(tree, &path, "no-map", &[]);
    qemu.set_cell(tree, &path, "phandle", phandle);
    Ok(phandle)
}

fn range(base: u64, size: u64) -> Vec<u8> {
    [base.to_be_bytes(), size.to_be_bytes()].concat()
}

fn cells(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_big_endian() {
        assert_eq!(cells(&[1, 0x0203]), [0, 0, 0, 1, 0, 0, 2, 3]);
        assert_eq!(range(1, 2), [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
    }
}
