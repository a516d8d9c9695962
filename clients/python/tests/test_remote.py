from __future__ import annotations

import asyncio
import json
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import vp
from vp.pytest_plugin import Serve
from test_programs import LAYER


def run_of(platform: vp.BasePlatform) -> tuple[str, vp.Time]:
    assert vp.run_trace(LAYER, platform).passed
    return platform.event_hash, platform.now


def test_the_same_program_gives_the_same_run_behind_a_socket(platform: vp.Platform, serve: Serve) -> None:
    here = run_of(platform)
    address = serve("--platform", "nv_small")
    for share in (True, False):
        with vp.connect(address, share=share) as remote:
            assert (remote.name, remote.device, remote.period) == ("nv_small", "nvdla", platform.period)
            assert run_of(remote) == here
            assert remote.statistics()["time.mode"] == "lockstep"


def test_registers_memory_and_time_are_those_of_a_platform_in_process(serve: Serve) -> None:
    with vp.connect(serve("--platform", "nv_small")) as remote:
        remote.regs.SDP.S_POINTER.PRODUCER = "GROUP_1"
        assert remote.regs.SDP.S_POINTER.read() == 1
        data = np.arange(100_000, dtype=np.int32)
        remote.dram.load(remote.dram.base + 3, data)
        assert np.array_equal(remote.dram.fetch(remote.dram.base + 3, data.shape, np.int32), data)
        assert remote.run("10 us").why == "time" and remote.now == vp.Time("10 us")
        assert not remote.interrupt
        with pytest.raises(vp.IdleError):
            remote.wait_interrupt()
        with pytest.raises(vp.MemoryRangeError):
            remote.dram[0:4]
        with pytest.raises(vp.RefusedError, match="multiples of 4"):
            remote.read(2)


def test_a_network_runs_behind_a_socket(serve: Serve) -> None:
    images, labels = vp.digits()
    with vp.connect(serve("--platform", "nv_small")) as remote:
        run = vp.run_network("digits", remote, input=images[:2])
    assert run.output is not None
    assert list(run.output.reshape(2, 10).argmax(axis=1)) == list(labels[:2])
    with vp.Platform("nv_small") as here:
        assert vp.run_network("digits", here, input=images[:2]).event_hash == run.event_hash


def test_a_python_memory_behind_dbb0_gives_the_same_run(platform: vp.Platform, serve: Serve) -> None:
    here = run_of(platform)
    address = serve("--platform", "nv_small")
    array = np.zeros(1 << 24, np.uint8)
    calls: list[int] = []

    def access(address: int, size: int, data: bytes | None) -> bytes | None:
        calls.append(size)
        at = address - 0x8000_0000
        if data is None:
            return array[at : at + size].tobytes()
        array[at : at + size] = np.frombuffer(data, np.uint8)
        return None

    for memory in (True, {"dbb0": array}, {"dbb0": access}):
        array[:] = 0
        with vp.connect(address, own_memory=memory) as remote:
            assert run_of(remote) == here
    assert calls and array.any()


def test_a_memory_that_raises_ends_the_run_with_its_traceback(serve: Serve) -> None:
    def access(address: int, size: int, data: bytes | None) -> bytes | None:
        if data is None:
            raise LookupError(f"nothing at {address:#x}")
        return None

    with vp.connect(serve("--platform", "nv_small"), own_memory={"dbb0": access}) as remote:
        with pytest.raises(LookupError, match="nothing at 0x"):
            vp.run_trace(LAYER, remote)
        assert remote.regs.GLB.S_INTR_MASK.read() == 0


@pytest.mark.parametrize("latency", [None, 60])
def test_another_session_is_the_memory(serve: Serve, latency: int | None) -> None:
    address = serve("--platform", "nv_small")
    array, stop = np.zeros(1 << 24, np.uint8), threading.Event()
    ends: list[object] = []

    def be_memory() -> None:
        try:
            ends.append(vp.serve_memory(address, array, latency=latency, stop=stop, platform="it"))
        except vp.Error as error:
            ends.append(error)

    thread = threading.Thread(target=be_memory)
    thread.start()
    try:
        with vp.connect(address, platform="it") as remote:
            # Until the memory is there, what is stored goes inside.
            while not array[:4].any() and not ends:
                remote.dram.load(remote.dram.base, b"here")
            assert bytes(array[:4]) == b"here"
            assert vp.run_trace(LAYER, remote).passed
    finally:
        stop.set()
        thread.join()
    assert len(ends) == 1 and not isinstance(ends[0], Exception), ends


class Adder:
    """A device that adds: operands at 0 and 4, the sum at 8, and an interrupt 100 cycles after the second operand. A write to 12 lowers it."""

    def __init__(self) -> None:
        self.words = [0, 0]

    def attach(self, line: vp.Line) -> None:
        self.line = line

    def read(self, address: int) -> int:
        return sum(self.words) & 0xFFFF_FFFF if address == 8 else self.words[address // 4 % 2]

    def write(self, address: int, value: int) -> None:
        if address == 12:
            self.line.set(False)
            return
        self.words[address // 4 % 2] = value
        if address == 4:
            self.line.set(True, after=100)


OUTSIDE = """
name = "adder"

[outside_device]
window = 4096
compatible = ["example,adder"]
dbb0 = { width_bits = 64, longest_burst = 16 }
"""


def test_a_python_class_is_the_device_of_another_session(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "adder.toml").write_text(OUTSIDE)
    address = serve("--platform", str(tmp_path / "adder.toml"))
    stop, ends = threading.Event(), list[object]()

    def be_device() -> None:
        try:
            ends.append(vp.serve_device(address, Adder(), platform="it", stop=stop))
        except vp.Error as error:
            ends.append(error)

    thread = threading.Thread(target=be_device)
    thread.start()
    try:
        with vp.connect(address, platform="it") as remote:
            while not ends:
                try:
                    remote.read(0)
                    break
                except vp.RefusedError:
                    # The device is not there yet.
                    continue
            assert not ends, ends
            remote.write(0, 30, acknowledged=True)
            remote.write(4, 12, acknowledged=True)
            asked = remote.now
            raised = remote.wait_interrupt()
            assert (raised - asked).cycles(remote.period) in range(90, 110)
            assert remote.read(8) == 42
            remote.write(12, 0, acknowledged=True)
            assert remote.run_for("1 us") and not remote.interrupt
    finally:
        stop.set()
        thread.join()
    assert len(ends) == 1 and not isinstance(ends[0], Exception), ends


def test_asyncio_waits_without_holding_others_up(serve: Serve) -> None:
    address = serve("--platform", "nv_small")

    async def main() -> tuple[int, int]:
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(others())
        async with await vp.aio.connect(address) as remote, await vp.aio.platform("nv_small") as local:
            await remote.call(lambda p: p.regs.SDP.S_POINTER.write(1))
            value = await remote.call(lambda p: p.regs.SDP.S_POINTER.read())
            await asyncio.gather(remote.run("10 us"), local.run("10 us"))
            with pytest.raises(vp.IdleError):
                await local.wait_interrupt()
        beside.cancel()
        return value, turns

    value, turns = asyncio.run(main())
    assert value == 1 and turns > 0


def test_a_call_whose_task_is_cancelled_ends_and_the_platform_goes_on(serve: Serve) -> None:
    address = serve("--platform", "nv_small")

    async def main() -> None:
        async with await vp.aio.connect(address) as remote, await vp.aio.platform("nv_small") as local:
            for platform in (remote, local):
                begun = threading.Event()

                def endless(p: vp.BasePlatform, begun: threading.Event = begun) -> None:
                    begun.set()
                    vp.run_network("digits", p, frames=100_000)

                task = asyncio.create_task(platform.call(endless))
                await asyncio.to_thread(begun.wait)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await platform.read(0) >= 0

    asyncio.run(main())


def test_a_server_that_is_not_there_or_none_says_so(tmp_path: Path) -> None:
    with pytest.raises(vp.ConnectError, match="cannot connect"):
        vp.connect(f"unix:{tmp_path}/none")
    with pytest.raises(vp.ConnectError):
        vp.connect("nowhere")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(vp.ConnectError):
            vp.connect(f"tcp:127.0.0.1:{port}", timeout=0.2)
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(vp.ConnectError, match="seconds"):
            vp.connect("tcp:127.0.0.1:1", timeout=wrong)


def test_a_server_that_asks_who_comes_is_told(serve: Serve, tmp_path: Path) -> None:
    tokens = tmp_path / "token"
    tokens.write_text("open-sesame-0123456789")
    tokens.chmod(0o600)
    address = serve("--platform", "nv_small", environment={"VP_TOKEN_FILE": str(tokens)})
    with pytest.raises(vp.ConnectError):
        vp.connect(address)
    with pytest.raises(vp.ConnectError):
        vp.connect(address, token="wrong")
    for shown in ({"token": "open-sesame-0123456789"}, {"token_file": str(tokens)}):
        with vp.connect(address, **shown) as remote:  # type: ignore[arg-type]
            assert remote.read(0) >= 0


def test_what_only_a_platform_in_process_has_is_refused(serve: Serve) -> None:
    with vp.connect(serve("--platform", "nv_small")) as remote:
        assert not hasattr(remote, "on_register")
        with pytest.raises(vp.RefusedError, match="in this process"):
            remote._host.observe("register", print)


def test_a_server_that_goes_away_is_a_lost_connection(serve: Serve) -> None:
    remote = vp.connect(serve("--platform", "nv_small"))
    serve.end()
    with pytest.raises(vp.TransportError):
        for _ in range(100):
            remote.read(0)
    with pytest.raises(vp.TransportError):
        remote.read(0)


@pytest.mark.parametrize("role", ["cpu", "memory"])
def test_the_package_keeps_the_rules_of_the_protocol(program: Path, tmp_path: Path, role: str) -> None:
    address = f"unix:{tmp_path}/check.sock"
    command = [str(program), "check-peer", address, "--protocol", "native", "--as", role, "--json", "-", "--timeout", "20"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as check:
        while True:
            try:
                remote = vp.connect(address, own_memory=role == "memory")
                break
            except vp.ConnectError:
                # It does not listen yet.
                assert check.poll() is None, check.communicate()
        with remote:
            if role == "memory":
                remote.dram.load(remote.dram.base, np.arange(4096, dtype=np.uint8))
            for value in range(20):
                remote.write(0x1004, value, acknowledged=True)
                assert remote.read(0x1004) == value
        said, _ = check.communicate()
    assert judged(said) > 5


def judged(said: str) -> int:
    """How many rules were kept, and none was broken."""
    found = json.loads(said)
    assert found["passed"], said
    verdicts = [rule["verdict"] for rule in found["rules"]]
    assert "broken" not in verdicts
    return verdicts.count("kept")


def test_a_memory_beside_another_cpu_keeps_the_rules_of_the_protocol(program: Path, tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/check.sock"
    command = [str(program), "check-peer", address, "--protocol", "native", "--as", "memory", "--json", "-", "--timeout", "5"]
    array = np.zeros(1 << 20, np.uint8)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as check:
        while True:
            try:
                # It goes when it is asked for nothing more, and no ping comes.
                vp.serve_memory(address, array, heartbeat=0)
            except vp.ConnectError:
                # It does not listen yet.
                assert check.poll() is None
            except vp.TransportError:
                break
        said, _ = check.communicate()
    assert judged(said) > 10


def test_a_python_device_keeps_the_rules_of_the_protocol(program: Path, serve: Serve, tmp_path: Path) -> None:
    class Counted(Adder):
        reads = 0

        def read(self, address: int) -> int:
            self.reads += 1
            return super().read(address)

    (tmp_path / "adder.toml").write_text(OUTSIDE)
    address = serve("--platform", str(tmp_path / "adder.toml"))
    device, stop = Counted(), threading.Event()
    thread = threading.Thread(target=vp.serve_device, args=(address, device), kwargs={"stop": stop})
    thread.start()
    try:
        with vp.connect(address) as remote:
            while thread.is_alive():
                try:
                    remote.read(0)
                    break
                except vp.RefusedError:
                    # The device is not there yet.
                    continue
        before = device.reads
        command = [str(program), "check-peer", address, "--protocol", "native", "--as", "device", "--json", "-", "--timeout", "20"]
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    finally:
        stop.set()
        thread.join()
    assert judged(said) > 15 and device.reads > before


INTERRUPTED = """
import sys, vp
with vp.connect(sys.argv[1]) as p:
    try:
        vp.run_network("digits", p)
        print("runs", flush=True)
        vp.run_network("digits", p, frames=100_000)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(p.regs.GLB.S_INTR_MASK.read(), flush=True)
"""

WAITING = """
import sys, vp
print("runs", flush=True)
try:
    vp.connect(sys.argv[1], timeout=1000)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(0, flush=True)
"""


def interrupted(program: str, address: str, ready: Callable[[], object]) -> None:
    child = subprocess.Popen([sys.executable, "-c", program, address], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "runs\n"
    _kept = ready()
    child.send_signal(signal.SIGINT)
    assert [child.stdout.readline() for _ in range(2)] == ["interrupted\n", "0\n"]
    child.stdout.close()
    assert child.wait() == 0


def test_a_keyboard_interrupt_ends_a_run_behind_a_socket_and_the_session_goes_on(serve: Serve) -> None:
    address = serve("--platform", "nv_small")
    interrupted(INTERRUPTED, address, lambda: None)


STOPPED = """
import signal, sys, vp

def tell(*_):
    print("signal", flush=True)
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, tell)
p = vp.connect(sys.argv[1])
print("runs", flush=True)
try:
    sys.stdin.readline()
    print("calls", flush=True)
    p.run_for("1 s")
except KeyboardInterrupt:
    print("interrupted", flush=True)
try:
    p.regs.GLB.S_INTR_MASK.read()
except vp.TransportError:
    print("over", flush=True)
"""


def until(state: str, tasks: str) -> None:
    """Waits until all of these threads, by their folders in /proc, are in a state: on a loaded host that may take long."""

    def now(thread: Path) -> str:
        # It follows the program's name in brackets (proc_pid_stat(5)).
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]

    patience = time.monotonic() + 60
    while not all(now(thread) == state for thread in Path("/proc").glob(tasks)):
        assert time.monotonic() < patience
        time.sleep(0.01)


def test_a_second_keyboard_interrupt_does_not_wait_for_the_answer(program: Path, tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'vp.sock'}"
    server = subprocess.Popen([program, "serve", "--platform", "nv_small", "--listen", address], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None and address in server.stdout.readline()
    child = subprocess.Popen([sys.executable, "-c", STOPPED, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None and child.stdout is not None
    try:
        assert child.stdout.readline() == "runs\n"
        # It will not answer, once the last of its threads has seen the signal.
        server.send_signal(signal.SIGSTOP)
        until("T", f"{server.pid}/task/*")
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "calls\n"
        # It waits in the call, as it has nothing else to wait for.
        until("S", str(child.pid))
        child.send_signal(signal.SIGINT)
        first = time.monotonic()
        assert child.stdout.readline() == "signal\n"
        assert not select.select([child.stdout], [], [], 0.5)[0], "the first one waits for the answer"
        child.send_signal(signal.SIGINT)
        assert [child.stdout.readline() for _ in range(3)] == ["signal\n", "interrupted\n", "over\n"]
        # As long as one alone waits.
        assert time.monotonic() - first < 5
    finally:
        for process in (child, server):
            process.kill()
            process.wait()
        for stream in (child.stdin, child.stdout, server.stdout):
            stream.close()


def test_a_keyboard_interrupt_ends_a_wait_for_a_silent_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        interrupted(WAITING, f"tcp:127.0.0.1:{silent.getsockname()[1]}", silent.accept)
