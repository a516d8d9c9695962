"""How fast the package is, beside what it is compared with, in one run.

    cargo build --release -p vp-bridge && cargo build --release -p vp-client --example reads
    python clients/python/benchmarks/compare.py target/release/vp target/release/examples/reads

Each pair is measured in turns, and of each the fastest turn counts: others use the machine, too. The package is to be a release build.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import vp

TURNS = 7


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def in_turns(*calls: Callable[[], float]) -> list[float]:
    """The fastest of each."""
    best = [float("inf")] * len(calls)
    for _ in range(TURNS):
        best = [min(least, call()) for least, call in zip(best, calls)]
    return best


def told(name: str, value: float, unit: str, limit: str, is_kept: bool) -> None:
    print(f"{name:46} {value:8.3f} {unit:4} {limit:28} {'ok' if is_kept else 'MISSED'}")


def registers() -> None:
    with vp.Platform("nv_small") as p:
        register, count = p.regs.GLB.S_INTR_MASK, 20_000

        def by_name() -> None:
            for _ in range(count):
                p.regs.GLB.S_INTR_MASK.read()

        def by_handle() -> None:
            for _ in range(count):
                register.read()

        named, handle = in_turns(
            lambda: seconds(by_name) / count * 1e6, lambda: seconds(by_handle) / count * 1e6
        )
    told("register read by its whole name, in process", named, "us", "at most 2 us", named <= 2)
    told("register read, in process", handle, "us", "at most 2 us", handle <= 2)


def memory() -> None:
    size = 128 << 20
    data, target = np.random.default_rng(1).integers(0, 255, size, np.uint8), np.zeros(size, np.uint8)
    with vp.Platform("nv_large") as p:
        # Pages that are there, on both sides.
        p.dram.load(p.dram.base, data)
        copy, load, fetch = in_turns(
            lambda: seconds(lambda: np.copyto(target, data)),
            lambda: seconds(lambda: p.dram.load(p.dram.base, data)),
            lambda: seconds(lambda: p.dram.fetch_into(p.dram.base, target)),
        )
        assert np.array_equal(target, data)
    told("numpy's copy of 128 MiB", size / copy / 1e9, "GB/s", "", True)
    told("load of 128 MiB", size / load / 1e9, "GB/s", f"{load / copy:.2f} times a copy", load <= 2 * copy)
    told("fetch of 128 MiB", size / fetch / 1e9, "GB/s", f"{fetch / copy:.2f} times a copy", fetch <= 2 * copy)


def network(program: str) -> None:
    command = [program, "run", "resnet50", "--timed"]
    hashes: set[str] = set()

    def native() -> float:
        began = time.perf_counter()
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        took = time.perf_counter() - began
        found = re.search(r"event hash +(\w+)", out)
        assert found is not None
        hashes.add(found.group(1))
        return took

    def python() -> float:
        began = time.perf_counter()
        hashes.add(vp.run_network("resnet50", timed=True).event_hash)
        return time.perf_counter() - began

    there, here = in_turns(native, python)
    assert len(hashes) == 1, hashes
    told("vp run resnet50 --timed, the whole program", there * 1e3, "ms", "", True)
    told('vp.run_network("resnet50", timed=True)', here * 1e3, "ms", f"{(here / there - 1) * 100:+.1f} %: at most 3 %", here <= 1.03 * there)


def socket(program: str, reads: str) -> None:
    with subprocess.Popen([program, "serve", "--platform", "nv_small", "--listen", "tcp:127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"tcp:\S+", server.stdout.readline())
        assert found is not None
        address, count = found.group(), 5_000

        def rust() -> float:
            out = subprocess.run([reads, address, str(count)], check=True, capture_output=True, text=True).stdout
            return float(out.split()[0])

        def python() -> float:
            with vp.connect(address) as p:
                register = p.regs.GLB.S_INTR_MASK

                def all_reads() -> None:
                    for _ in range(count):
                        register.read()

                return seconds(all_reads) / count * 1e6

        there, here = in_turns(rust, python)
        server.kill()
    told("register read over TCP, Rust", there, "us", "", True)
    told("register read over TCP, Python", here, "us", f"{here / there:.2f} times: at most 1.5", here <= 1.5 * there)


if __name__ == "__main__":
    registers()
    memory()
    network(sys.argv[1])
    socket(sys.argv[1], sys.argv[2])
