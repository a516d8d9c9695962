"""A memory in RTL, in a bench of cocotb, behind a platform: `vp run TRACE --memory-command "dbb0=python examples/cocotb/bench.py"`.

`--latency CYCLES` is the memory's. It takes `pip install 'nvdla-vp[cocotb]'` and Icarus Verilog.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotbext.axi import AxiBus

import vp.cocotb


@cocotb.test()
async def memory(dut: Any) -> None:
    dut.latency.value = int(os.environ["LATENCY"])
    Clock(dut.clk, 2, unit="step").start()
    platform = vp.cocotb.Partner(dut.clk, dut.rst_n)
    platform.axi_subordinate(AxiBus.from_prefix(dut, ""), "dbb0", memory=vp.cocotb.array_memory(dut.memory.words))
    await platform.run()


def main() -> None:
    from cocotb_tools.runner import get_runner

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=int, default=50, metavar="CYCLES", help="from a read's address to its first data")
    parser.add_argument("--build", type=Path, default=Path("cocotb-memory"), metavar="FOLDER", help="where the simulation is built")
    given = parser.parse_args()
    examples = Path(__file__).parents[1]
    sources = [examples / "layer/crc32_pkg.sv", examples / "rtl-soc/axi_memory.sv", examples / "cocotb/memory.sv"]
    runner = get_runner("icarus")
    runner.build(sources=sources, hdl_toplevel="memory", build_dir=given.build, build_args=["-g2012"])
    runner.test(
        test_module="bench",
        hdl_toplevel="memory",
        build_dir=given.build,
        test_dir=examples / "cocotb",
        results_xml=given.build.resolve() / "results.xml",
        extra_env={"LATENCY": str(given.latency)},
    )


if __name__ == "__main__":
    main()
