"""Benches of cocotb, which test_cocotb.py runs in a simulator."""

from __future__ import annotations

from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteRam, AxiMaster, AxiRam

import vp
import vp.cocotb


def clocked(dut: Any) -> None:
    dut.irq.value = 0
    Clock(dut.clk, 2, unit="step").start()


@cocotb.test()
async def an_axi_ram_is_the_memory(dut: Any) -> None:
    clocked(dut)
    ram = AxiRam(AxiBus.from_prefix(dut, ""), dut.clk, dut.rst_n, reset_active_level=False, size=1 << 24)
    platform = vp.cocotb.Partner(dut.clk, dut.rst_n)
    platform.axi_subordinate(AxiBus.from_prefix(dut, ""), "dbb0", memory=ram)
    await platform.run()


@cocotb.test()
async def the_bench_is_the_cpu(dut: Any) -> None:
    clocked(dut)
    ram = AxiRam(AxiBus.from_prefix(dut, ""), dut.clk, dut.rst_n, reset_active_level=False, size=1 << 24)
    platform = vp.cocotb.Partner(dut.clk, dut.rst_n, address="inproc:nv_small")
    platform.axi_subordinate(AxiBus.from_prefix(dut, ""), "dbb0", memory=ram)
    cpu = platform.cpu()
    running = cocotb.start_soon(platform.run())
    with vp.Platform("nv_small") as model:
        set_interrupt, pointer = model.regs.GLB.S_INTR_SET, model.regs.SDP.S_POINTER
        await cpu.write(pointer.address, 1)
        assert await cpu.read(pointer.address) == 1
        await cpu.write(pointer.address, 0, acknowledged=True)
        assert await cpu.read(pointer.address) == 0
        before = platform.now
        await cpu.write(set_interrupt.address, 1)
        await cpu.wait_interrupt()
        assert 0 < (platform.now - before).cycles(model.period) < 100
    assert platform.counter("period") == 1000
    with pytest.raises(vp.RefusedError, match="no counter `nothing`"):
        platform.counter("nothing")
    running.cancel()


@cocotb.test()
async def the_design_is_the_device(dut: Any) -> None:
    """Its registers are words of an AxiLiteRam. A word at 0x20 has it write its double to the platform's memory, and interrupt; then the platform is put back."""
    clocked(dut)
    registers = AxiLiteRam(AxiLiteBus.from_prefix(dut, "csb"), dut.clk, dut.rst_n, reset_active_level=False, size=4096)
    master = AxiMaster(AxiBus.from_prefix(dut, ""), dut.clk, dut.rst_n, reset_active_level=False)
    platform = vp.cocotb.Partner(dut.clk, dut.rst_n)
    platform.axi_lite_target(AxiLiteBus.from_prefix(dut, "csb"))
    platform.axi_manager(AxiBus.from_prefix(dut, ""))
    platform.interrupt_source(dut.irq)

    async def work() -> None:
        while not (word := registers.read_dword(0x20)):
            await RisingEdge(dut.clk)
        await master.write(0x8000_0100, (2 * word).to_bytes(8, "little") * 4)
        read = await master.read(0x8000_0100, 32)
        registers.write_dword(0x24, int.from_bytes(read.data[24:28], "little"))
        dut.irq.value = 1

    resets: list[vp.Time] = []

    async def watch() -> None:
        while True:
            await FallingEdge(dut.rst_n)
            resets.append(platform.now)

    cocotb.start_soon(work())
    cocotb.start_soon(watch())
    await platform.run()
    assert any(time > vp.Time(0) for time in resets)


@cocotb.test()
async def what_is_wrong_says_so(dut: Any) -> None:
    clocked(dut)
    bus = AxiBus.from_prefix(dut, "")
    none = vp.cocotb.Partner(dut.clk, dut.rst_n, address="inproc:nv_small")
    with pytest.raises(vp.RefusedError, match="takes no port"):
        await none.run()
    wide = vp.cocotb.Partner(dut.clk, dut.rst_n, address="inproc:nv_large")
    wide.axi_subordinate(bus)
    with pytest.raises(vp.RefusedError, match="port dbb0 is 512 bits wide: rdata of its bus has 64"):
        await wide.run()
    unknown = vp.cocotb.Partner(dut.clk, dut.rst_n, address="inproc:nv_small")
    unknown.axi_subordinate(bus, "dbb9")
    with pytest.raises(vp.RefusedError, match="no port `dbb9`"):
        await unknown.run()
    nowhere = vp.cocotb.Partner(dut.clk, dut.rst_n, address="nowhere")
    nowhere.axi_subordinate(bus)
    with pytest.raises(vp.ConnectError, match="is no address"):
        await nowhere.run()
    undriven = vp.cocotb.Partner(dut.clk, dut.rst_n, address="inproc:nv_small")
    undriven.axi_subordinate(bus)
    with pytest.raises(vp.RefusedError, match=r"dbb0, at .*: \w+ has to be 0 or 1 in each bit"):
        await undriven.run()
