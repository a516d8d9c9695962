"""A platform of a server, and parts of one in Python."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _native
from ._errors import MemoryRangeError, ProgramError
from ._platform import BasePlatform
from ._types import expect, whole


class RemotePlatform(BasePlatform):
    """A platform of a server, over the native protocol: `connect` makes one. In lockstep the same program gives the same run as in
    process, to the event hash."""

    def __repr__(self) -> str:
        return f"<platform {self.name} of a server>"


def connect(
    address: str,
    *,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    ca: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    platform: str | None = None,
    time_mode: Literal["lockstep", "free"] = "lockstep",
    own_memory: bool | Mapping[str, OwnMemory] = False,
    memory_limit: int | None = None,
    timeout: float = 10.0,
    heartbeat: float | None = None,
    share: bool = True,
) -> RemotePlatform:
    """Opens a session with ``vp serve`` as the CPU of a platform: registers, the interrupt and the memories.

    What is not given of token, ca, certificate and key is taken from the environment, as by the other clients: ``VP_TOKEN``,
    ``VP_TOKEN_FILE``, ``VP_CA``, ``VP_CERTIFICATE``, ``VP_KEY``.

    Args:
        address: ``tcp:HOST:PORT``, ``tls:HOST:PORT`` or ``unix:PATH``.
        token: for a server that wants to know who comes.
        token_file: a file that has it, which only its owner may read.
        ca: a PEM file with the certificate of the authority whose servers are trusted.
        certificate: a PEM file with this side's own certificate.
        key: the PEM file of its key.
        platform: the server's shared platform of that name; without, a fresh one, at power-on also where the server goes on from a saved platform.
        time_mode: how simulated time moves: ``lockstep`` is reproducible, ``free`` is not.
        own_memory: keep the memory on this side: the device's bursts come over the session, while a call waits. `True`: RAM. A `dict` of ports, such as
            ``{"dbb0": memory}``: what is behind them, see `OwnMemory`.
        memory_limit: bytes of this host's memory that it takes at most, as RAM that is not shared. Without, half of what this process can have.
        timeout: seconds to wait for the connection.
        heartbeat: seconds that the server may be silent while it is waited for; 0: for ever. Without, as ``VP_HEARTBEAT`` or the protocol says.
        share: share memory and registers with a server of the same host, over a Unix socket.

    Raises:
        ConnectError: there is no session; the message says why.
    """
    shown = _shown(token, token_file, ca, certificate, key)
    wanted = _wanted(platform, time_mode, memory_limit, timeout, heartbeat, share)
    own: list[tuple[str, Callable[[int, int, bytes | None], bytes | None]]] | None = None
    if isinstance(own_memory, Mapping):
        own = [(port, _callable(memory, _BASES.get(port, 0))) for port, memory in own_memory.items()]
    else:
        expect(own_memory, bool, "boolean, and no mapping of ports")
        own = [] if own_memory else None
    return RemotePlatform(_native.connect(address, shown, wanted, own))


#: The first addresses of the built-in platforms' memories.
_BASES = {"dbb0": 0x8000_0000, "sram0": 0x5000_0000}


class Line:
    """The interrupt line of a device in Python, for the device to drive."""

    def __init__(self) -> None:
        self._asked: list[tuple[int, bool]] = []

    def set(self, level: bool, *, after: int = 1) -> None:
        """The line is at that level so many cycles from now: from the access, or the reset, that is under way."""
        self._asked.append((after, level))

    def _take(self) -> list[tuple[int, bool]]:
        asked, self._asked = self._asked, []
        return asked


class Device(Protocol):
    """A device that is a Python class. Addresses are bytes in its register window, and words have 32 bits.

    What it raises ends `serve_device` with its traceback. ``reset(self)`` and ``attach(self, line: Line)`` are called if there are such
    methods: when the platform is put back to power-on, and once, before anything else, with the interrupt line.
    """

    def read(self, address: int) -> int:
        """The word at that address."""
        ...

    def write(self, address: int, value: int) -> None:
        """A word is written to that address."""
        ...


#: The memory behind a port: an array of bytes, from the first address of the built-in platforms' port on; or a callable, of which ``memory(address, size, None)``
#: gives so many bytes, and ``memory(address, size, data)`` stores them.
OwnMemory: TypeAlias = "npt.NDArray[np.uint8] | Callable[[int, int, bytes | None], bytes | None]"


def serve_memory(
    address: str,
    memory: OwnMemory,
    *,
    port: str = "dbb0",
    base: int | None = None,
    latency: int | None = None,
    stop: threading.Event | None = None,
    platform: str | None = None,
    time_mode: Literal["lockstep", "free"] = "lockstep",
    timeout: float = 10.0,
    heartbeat: float | None = None,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    ca: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
) -> str | None:
    """Is the memory behind a port of a server's platform, beside a CPU in another session, until the platform ends.

    Args:
        address: the server, as of `connect`; so are the arguments that are not named here.
        memory: an array of `numpy.uint8`, or a callable.
        port: `dbb0` or `sram0`.
        base: the address of an array's first byte; without, the first one of that port of the built-in platforms.
        latency: cycles from a read's address to its first data; the memory is then a part of the hardware, at its pins. Without, the platform's own
            latencies are in force, and no simulated time passes for this side.
        stop: ends this when it is set.

    Returns:
        Why the platform has ended; `None` if `stop` was set.

    Raises:
        ConnectError: there is no session.
        RefusedError: there is no such port, or another session has it.
    """
    shown = _shown(token, token_file, ca, certificate, key)
    wanted = _wanted(platform, time_mode, None, timeout, heartbeat, False)
    call = _callable(memory, _BASES.get(port, 0) if base is None else whole(base, "base"))
    latency = None if latency is None else whole(latency, "latency", 1, 2**32)
    return _native.serve_memory(address, shown, wanted, port, call, latency, _asked(stop))


def serve_device(
    address: str,
    device: Device,
    *,
    latency: int = 1,
    stop: threading.Event | None = None,
    platform: str | None = None,
    time_mode: Literal["lockstep", "free"] = "lockstep",
    timeout: float = 10.0,
    heartbeat: float | None = None,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    ca: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
) -> str | None:
    """Is the device of a server's platform whose description has a section ``[outside_device]``, until the platform ends.

    Whoever is the platform's CPU, such as a driver in a guest of QEMU, then talks to `device`.

    Args:
        address: the server, as of `connect`; so are the arguments that are not named here.
        device: what answers; see `Device`.
        latency: cycles from the edge at which the device takes an access to its answer, at least 1.
        stop: ends this when it is set.

    Returns:
        Why the platform has ended; `None` if `stop` was set.

    Raises:
        ConnectError: there is no session.
        RefusedError: the platform has its device inside, or another session is it.
    """
    if not (callable(getattr(device, "read", None)) and callable(getattr(device, "write", None))):
        raise TypeError(f"{device!r:.80} is no device: it has no methods read and write")
    latency = whole(latency, "latency", 1, 2**32)
    line = Line()
    attach, reset = getattr(device, "attach", None), getattr(device, "reset", lambda: None)
    if attach is not None:
        attach(line)
    shown = _shown(token, token_file, ca, certificate, key)
    wanted = _wanted(platform, time_mode, None, timeout, heartbeat, False)
    calls = (device.read, device.write, reset, line._take)
    return _native.serve_device(address, shown, wanted, calls, latency, _asked(stop))


def _asked(stop: threading.Event | None) -> Callable[[], bool] | None:
    if stop is None:
        return None
    expect(stop, threading.Event, "event")
    return stop.is_set


def _callable(memory: OwnMemory, base: int) -> Callable[[int, int, bytes | None], bytes | None]:
    if callable(memory):
        return memory
    expect(memory, np.ndarray, "memory: an array of uint8, or a callable")
    if memory.dtype != np.uint8 or memory.ndim != 1:
        raise ProgramError(f"an array of {memory.dtype} in {memory.ndim} dimensions: a memory is an array of uint8 in one")
    array = memory

    def access(address: int, size: int, data: bytes | None) -> bytes | None:
        at = address - base
        if at < 0 or at + size > array.size:
            raise MemoryRangeError(
                f"{size:#x} bytes at {address:#x} are not in the array: it spans {base:#x} to {base + array.size - 1:#x}",
                memory="array",
                address=address,
                size=size,
                holds=f"it spans {base:#x} to {base + array.size - 1:#x}",
            )
        if data is None:
            return array[at : at + size].tobytes()
        array[at : at + size] = np.frombuffer(data, np.uint8)
        return None

    return access


def _shown(
    token: str | None,
    token_file: str | os.PathLike[str] | None,
    ca: str | os.PathLike[str] | None,
    certificate: str | os.PathLike[str] | None,
    key: str | os.PathLike[str] | None,
) -> dict[str, str | None]:
    files = {"token_file": token_file, "ca": ca, "certificate": certificate, "key": key}
    return {"token": token, **{name: None if path is None else os.fspath(path) for name, path in files.items()}}


def _wanted(
    platform: str | None,
    time_mode: str,
    memory_limit: int | None,
    timeout: float,
    heartbeat: float | None,
    share: bool,
) -> dict[str, object]:
    memory_limit = None if memory_limit is None else whole(memory_limit, "memory_limit")
    return {
        "platform": platform,
        "time_mode": time_mode,
        "memory_limit": memory_limit,
        "timeout": timeout,
        "heartbeat": heartbeat,
        "share": share,
    }
