"""Platforms beside designs in Icarus Verilog, in benches of cocotb."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import vp
from conftest import ROOT
from test_remote import OUTSIDE
from vp.pytest_plugin import Serve

pytest.importorskip("cocotb")
pytestmark = pytest.mark.skipif(shutil.which("iverilog") is None, reason="no Icarus Verilog")

HERE = Path(__file__).parent / "rtl"
LAYER = ROOT / "traces/nv_small/sdp_prelu_5x7x13"

BENCH = """
import sys
from pathlib import Path
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

here, folder, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
runner = get_runner("icarus")
runner.build(sources=[here / "wires.sv"], hdl_toplevel="wires", build_dir=folder, build_args=["-g2012"])
results = runner.test(test_module="benches", hdl_toplevel="wires", build_dir=folder, test_dir=here, test_filter=name, results_xml=folder / "results.xml")
tests, failed = get_results(results)
sys.exit(failed or tests != 1)
"""


def bench(name: str, folder: Path) -> list[str]:
    """The command that runs a bench."""
    return [sys.executable, "-c", BENCH, str(HERE), str(folder), name]


def run(name: str, folder: Path) -> None:
    done = subprocess.run(bench(name, folder), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def quoted(command: list[str], folder: Path) -> str:
    script = folder / "simulation"
    words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in command)
    script.write_text(f"#!/bin/sh\nexec {words}\n")
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize("latency", [1, 50, 400])
def test_a_memory_in_rtl_takes_the_cycles_of_the_model(program: Path, tmp_path: Path, latency: int) -> None:
    example = [sys.executable, str(ROOT / "examples/cocotb/bench.py"), "--latency", str(latency), "--build", str(tmp_path)]
    compared = subprocess.run(
        [program, "compare", LAYER, "--cycles", "--dbb-latency", str(latency), "--memory-command", f"dbb0={quoted(example, tmp_path)}"],
        capture_output=True,
        text=True,
    )
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert "times      each at the same clock edge" in compared.stdout and "EQUAL" in compared.stdout, compared.stdout


def test_a_ram_of_cocotbext_axi_is_the_memory(program: Path, tmp_path: Path) -> None:
    command = quoted(bench("an_axi_ram_is_the_memory", tmp_path), tmp_path)
    done = subprocess.run([program, "run", LAYER, "--memory-command", f"dbb0={command}"], capture_output=True, text=True)
    assert done.returncode == 0 and "PASS" in done.stdout, done.stdout + done.stderr


def test_the_bench_is_the_cpu_of_a_platform_in_the_simulator(tmp_path: Path) -> None:
    run("the_bench_is_the_cpu", tmp_path)


def test_what_is_wrong_at_the_pins_says_so(tmp_path: Path) -> None:
    run("what_is_wrong_says_so", tmp_path)


def test_a_design_with_axi_lite_a_master_and_an_interrupt_is_the_device(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "outside.toml").write_text(OUTSIDE)
    address = serve("--platform", str(tmp_path / "outside.toml"))
    with vp.connect(address) as remote:
        command = bench("the_design_is_the_device", tmp_path)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "VP_CONNECT": address}) as simulation:
            while simulation.poll() is None:
                try:
                    remote.write(0x10, 77, acknowledged=True)
                    break
                except vp.RefusedError:
                    # The device is not there yet.
                    continue
            assert remote.read(0x10) == 77
            remote.write(0x20, 21)
            remote.wait_interrupt()
            assert remote.read(0x24) == 42
            assert remote.dram.fetch(0x8000_0100, 4, "<u8").tolist() == [42] * 4
            # The design is put back, too, and goes on.
            remote.reset()
            assert remote.read(0x10) == 77
            serve.stop()
            said, _ = simulation.communicate()
            assert simulation.returncode == 0, said
