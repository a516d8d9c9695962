//! Performance and status registers hold what they hold on the vendor's RTL, behind sequences of layers in both groups.
//!
//! Drawn here, run on the RTL of nv_small (branch `nv_small`) with `vp run --device-command`, and read there: registers that were not 0. A
//! change of what a seed draws needs new figures.

use vp_host::trace::cfg::CfgCommand;
use vp_host::trace::player::{self, PlayOptions};
use vp_host::trace::{Body, Trace};
use vp_host::{Host, LocalHost};
use vp_models::bus::axi::Latency;
use vp_models::nvdla::registers::RegisterMap;
use vp_models::platform::{Description, Platform};
use vp_tests::random::{Draw, Leaves};

/// Units that count, in the order in which they were told to.
const COUNTING: [&str; 7] = ["SDP", "CDMA", "PDP", "CDP", "SDP_RDMA", "PDP_RDMA", "CDP_RDMA"];

/// Seed of a sequence; cycles of a read and reads outstanding; registers with their group and what the RTL holds.
type Row = (u64, [u32; 2], &'static [(&'static str, u32, u32)]);

const ROWS: [Row; 4] = [
    (
        770_002,
        [50, 256],
        &[
            ("CDMA.D_PERF_DAT_READ_STALL", 0, 303),
            ("CDMA.D_PERF_WT_READ_STALL", 0, 472),
            ("CDMA.D_PERF_DAT_READ_LATENCY", 0, 496),
            ("CDMA.D_PERF_DAT_READ_STALL", 1, 70),
            ("CDMA.D_PERF_DAT_READ_LATENCY", 1, 226),
            ("SDP.D_STATUS", 0, 1),
            ("SDP.D_STATUS", 1, 1),
            ("SDP_RDMA.D_PERF_MRDMA_READ_STALL", 0, 10),
            ("SDP_RDMA.D_PERF_BRDMA_READ_STALL", 0, 53),
        ],
    ),
    (
        770_028,
        [50, 256],
        &[
            ("CDMA.D_PERF_WT_READ_STALL", 0, 62),
            ("CDMA.D_PERF_DAT_READ_LATENCY", 0, 108),
            ("CDMA.D_PERF_DAT_READ_STALL", 1, 104),
            ("CDMA.D_PERF_WT_READ_STALL", 1, 1101),
            ("CDMA.D_PERF_DAT_READ_LATENCY", 1, 305),
            ("SDP.D_STATUS", 0, 1),
            ("SDP_RDMA.D_PERF_MRDMA_READ_STALL", 0, 73),
            ("SDP_RDMA.D_PERF_BRDMA_READ_STALL", 0, 154),
            ("SDP_RDMA.D_PERF_NRDMA_READ_STALL", 0, 1),
            ("SDP_RDMA.D_PERF_MRDMA_READ_STALL", 1, 54),
            ("SDP_RDMA.D_PERF_BRDMA_READ_STALL", 1, 154),
            ("SDP_RDMA.D_PERF_NRDMA_READ_STALL", 1, 1),
        ],
    ),
    (
        770_030,
        [200, 64],
        &[
            ("CDMA.D_PERF_DAT_READ_STALL", 1, 1336),
            ("CDMA.D_PERF_WT_READ_STALL", 1, 3371),
            ("CDMA.D_PERF_DAT_READ_LATENCY", 1, 1677),
            ("CDP.D_PERF_LUT_HYBRID", 0, 1200),
            ("CDP_RDMA.D_PERF_READ_STALL", 0, 599),
            ("SDP.D_STATUS", 1, 1),
        ],
    ),
    (
        770_040,
        [200, 64],
        &[
            ("CDMA.D_PERF_DAT_READ_STALL", 0, 1950),
            ("CDMA.D_PERF_DAT_READ_LATENCY", 0, 2446),
            ("PDP_RDMA.D_PERF_READ_STALL", 0, 514),
            ("PDP_RDMA.D_PERF_READ_STALL", 1, 514),
            ("SDP.D_STATUS", 0, 1),
            ("SDP.D_STATUS", 1, 1),
        ],
    ),
];

fn address(map: RegisterMap, name: &str) -> u32 {
    let mut registers = map.registers();
    let found = registers.find(|it| format!("{}.{}", it.unit.name(), it.register.name) == name);
    found.unwrap_or_else(|| panic!("no register {name}")).address
}

/// Returns true if a trace enables layers of a unit.
fn enables(trace: &Trace, unit: &str) -> bool {
    let Body::Cfg(lines) = trace.body() else { return false };
    let name = format!("{unit}.D_OP_ENABLE");
    lines.iter().any(
        |line| matches!(&line.command, CfgCommand::RegWrite { register, .. } if register.as_str() == name),
    )
}

#[test]
fn performance_registers_hold_what_the_rtl_counts() {
    for (seed, [latency, outstanding], expected) in ROWS {
        let mut description = Description::named("nv_small").unwrap();
        description.dbb0.read_latency = Some(Latency::Fixed(latency));
        description.dbb0.read_outstanding = outstanding;
        let mut host = LocalHost::new(Platform::build(&description).unwrap());
        let map = host.map();
        let layers = 4 + (seed % 3) as usize;
        let sequence = Draw::new("nv_small", seed).sequence("drawn", layers, Leaves::WhatIsTaken);
        for unit in COUNTING.into_iter().filter(|unit| enables(&sequence.trace, unit)) {
            let pointer = address(map, &format!("{unit}.S_POINTER"));
            for group in [0, 1] {
                host.write(pointer, group).unwrap();
                host.write(address(map, &format!("{unit}.D_PERF_ENABLE")), 0xf).unwrap();
            }
            host.write(pointer, 0).unwrap();
        }
        let outcome = player::play(&sequence.trace, &mut host, &map, &PlayOptions::default()).unwrap();
        assert!(outcome.passed(), "{seed}: {:?}", outcome.failures);
        for &(register, group, value) in expected {
            let unit = register.split('.').next().unwrap();
            host.write(address(map, &format!("{unit}.S_POINTER")), group).unwrap();
            let read = host.read(address(map, register)).unwrap();
            assert_eq!(read, value, "{register} of group {group} behind sequence {seed}");
        }
    }
}
