"""Wrong calls: each is an exception of a documented type, and the platform goes on."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vp
from test_remote import OUTSIDE
from vp.pytest_plugin import Serve

#: What nobody asks for.
WRONG: list[Any] = [None, -1, 2**33, 2**64, 2**80, 0.5, float("nan"), "", "nothing", "\0", "§" * 300, b"\xff", [], [1, [2]], {}, {"x": object()}, object(), np.zeros((2, 2)), np.array(["a"]), True]

#: Every exception of the package is a `vp.Error`; wrong types and shapes are Python's own, and so are files that cannot be read.
DOCUMENTED = (vp.Error, TypeError, ValueError, OSError)


def wrongly(call: Callable[..., object], /, *arguments: object, **options: object) -> None:
    try:
        call(*arguments, **options)
    except DOCUMENTED as error:
        assert not isinstance(error, vp.InternalError), error
        assert str(error)


@pytest.mark.parametrize(
    "name", [name for name, of in inspect.getmembers(vp.Platform, callable) if not name.startswith("_") and name not in ("close", "run", "run_for", "step")]
)
def test_methods_of_platforms_take_wrong_arguments_with_a_sentence(platform: vp.Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    method = getattr(platform, name)
    for one in WRONG:
        wrongly(method, one)
        wrongly(method, one, 1)
        wrongly(method, 0, one)
        for option in inspect.signature(method).parameters:
            wrongly(method, **{option: one})
    platform.reset()
    assert platform.regs.GLB.S_INTR_MASK.read() == 0


@pytest.mark.parametrize("name", ["run", "run_for", "step"])
def test_times_that_are_none_are_refused(platform: vp.Platform, name: str) -> None:
    for one in (-1, 2**80, float("nan"), "", "nothing", "\0", b"\xff", [], {}, object(), np.zeros((2, 2))):
        with pytest.raises((vp.TimeError, vp.RefusedError, TypeError)):
            getattr(platform, name)(one)
    assert platform.now == vp.Time(0)


def test_memories_and_registers_take_wrong_arguments_with_a_sentence(platform: vp.Platform) -> None:
    memory = platform.dram
    for one in WRONG:
        for call in (
            lambda: memory.load(one, b"x"),
            lambda: memory.load(memory.base, one),
            lambda: memory.fetch(one, 4),
            lambda: memory.fetch(memory.base, one),
            lambda: memory.fetch(memory.base, (4, one)),
            lambda: memory.fetch(memory.base, 4, one),
            lambda: memory.fetch_into(memory.base, one),
            lambda: memory[one],
            lambda: memory[one:],
            lambda: memory[memory.base :: one],
            lambda: memory.__setitem__(memory.base, one),
            lambda: memory.__setitem__(slice(memory.base, memory.base + 4), one),
            lambda: platform.regs[one],
            lambda: platform.regs.SDP.S_POINTER.write(one),
            lambda: setattr(platform.regs.SDP, "S_POINTER", one),
            lambda: setattr(platform.regs.SDP.S_POINTER, "PRODUCER", one),
            lambda: setattr(platform.regs, "SDP", one),
            lambda: vp.Time(one),
        ):
            wrongly(call)
    assert platform.regs.GLB.S_INTR_MASK.read() == 0


@pytest.mark.parametrize(
    "call", [vp.Platform, vp.run_network, vp.run_trace, vp.run_loadable, vp.replay, vp.connect, vp.serve_memory, vp.serve_device, vp.study], ids=lambda call: call.__name__
)
def test_functions_take_wrong_arguments_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., object]) -> None:
    monkeypatch.chdir(tmp_path)
    right: dict[str, object] = {"network": "digits", "address": "nowhere", "memory": np.zeros(16, np.uint8), "device": object(), "sweep": {"network": "digits", "platform": "nv_small"}}
    signature = inspect.signature(call).parameters
    for one in WRONG:
        for name, parameter in signature.items():
            if parameter.kind is parameter.VAR_KEYWORD or (one is True and name in ("frames", "batch", "jobs")):
                continue
            given = {known: value for known, value in right.items() if known in signature} | {name: one}
            if "path" in signature:
                given = {"path": "none.cfg"} | given
            wrongly(call, **given)


def test_a_memory_behind_a_port_that_is_not_there_is_refused(serve: Serve) -> None:
    address = serve("--platform", "nv_small")
    for port in ("dbb1", "csb0", "sram0"):
        with pytest.raises(vp.ConnectError, match=f"no memory port `{port}`, it has `dbb0`"):
            vp.connect(address, own_memory={port: np.zeros(16, np.uint8)})


def test_what_a_device_or_memory_gives_is_checked(serve: Serve, tmp_path: Path) -> None:
    address = serve("--platform", "nv_small")
    for gives in (None, "text", b"", b"too much of it", 5):
        with vp.connect(address, own_memory={"dbb0": lambda address, size, data: gives}) as remote:  # type: ignore[dict-item, return-value]
            wrongly(remote.dram.fetch, remote.dram.base, 4)
            with pytest.raises(DOCUMENTED):
                remote.dram.fetch(remote.dram.base, 4)
            assert remote.regs.GLB.S_INTR_MASK.read() == 0


#: What waits until it is interrupted: `address` is a server's with its device outside, `recording` that of a long run.
WAITING = {
    "replay": "vp.replay(recording)",
    "study": "vp.study({'network': 'resnet50', 'dbb0.read_latency': range(1, 2000)})",
    "a memory": "vp.serve_memory(address, np.zeros(16, np.uint8), platform='it')",
    "a memory with a clock": "vp.serve_memory(address, np.zeros(16, np.uint8), platform='it', latency=9)",
    "a device": "vp.serve_device(address, Words(), platform='it')",
    "asyncio": "asyncio.run(networks())",
}

# pandas is here already when `vp.study` asks for it: an interrupt in the middle of its import, which calls `exec`, ends CPython by the signal
# however the program takes it.
PROGRAM = """
import asyncio, sys, time
import numpy as np
import pandas
import vp

address, recording = sys.argv[1:3]

class Words:
    def read(self, address):
        return 0
    def write(self, address, value):
        pass

async def networks():
    async with await vp.aio.platform("nv_small") as p:
        await p.call(lambda p: vp.run_network("digits", p, frames=100_000))

try:
    print("runs", flush=True)
    WAITS
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of some seconds, by its work: by the clock, a busy machine records what an idle one replays before the interrupt."""
    path = tmp_path_factory.mktemp("recording") / "run.vprec"
    with vp.Platform("nv_small", record=path) as platform:
        vp.run_network("digits", platform, frames=800)
    return path


@pytest.mark.parametrize("what", WAITING)
def test_a_keyboard_interrupt_ends_whatever_waits(serve: Serve, tmp_path: Path, recording: Path, what: str) -> None:
    (tmp_path / "outside.toml").write_text(OUTSIDE)
    address = serve("--platform", str(tmp_path / "outside.toml")) if "device" in what or "memory" in what else "-"
    child = subprocess.Popen([sys.executable, "-c", PROGRAM.replace("WAITS", WAITING[what]), address, recording], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "runs\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted\n"
    child.stdout.close()
    assert child.wait(60) == 0
