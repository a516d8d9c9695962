//! Ports by which what is outside reaches a platform.

/// Kind of a port's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortKind {
    /// A register bus: the outside is the CPU.
    Registers,
    /// The interrupt line: the outside listens.
    Irq,
    /// A memory interface: the outside owns the memory, or looks into the one inside.
    Axi,
    /// An input stream: the outside sends.
    Stream,
}

/// A named port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// `csb0` or `csr0` (registers), `irq0`, `dbb0`, `sram0`, `stream0`.
    pub name: &'static str,
    /// Kind of its interface.
    pub kind: PortKind,
    /// First address.
    pub base: u64,
    /// Size of its address range in bytes; zero for a line. What a stream keeps at most.
    pub size: u64,
    /// Width of its data in bits; one for a line.
    pub width: u32,
}
