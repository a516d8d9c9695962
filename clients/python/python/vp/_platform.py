"""A platform, as a CPU's program sees it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from . import _native
from ._errors import MemoryRangeError
from ._events import Interrupt, LayerRecord, RegisterAccess, Stopped, Transfer, Warning, Work
from ._memory import Memory
from ._time import Time, TimeLike, picoseconds
from ._types import expect, whole
from .registers import Registers


class Subscription:
    """A callback that is told of what happens, until it is cancelled. Also a context: it is cancelled at its end."""

    def __init__(self, host: _native.Host, number: int) -> None:
        self._host = host
        self._number = number

    def cancel(self) -> None:
        """Nothing more is told."""
        self._host.unobserve(self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()


class BasePlatform:
    """What platforms in this process and those of a server have in common.

    Simulated time moves only while a call waits: for a register's answer, for the interrupt, or in `run`. Register writes are posted, and no
    read overtakes them. A platform belongs to the thread that made it. As a context it is closed at its end.

    Attributes:
        sram: the memory behind SRAMIF, `sram0`; `None` where there is none.
        name: what the platform is called.
        device: what device it carries, such as ``nvdla``.
    """

    def __init__(self, host: _native.Host) -> None:
        self._host = host
        memories = {name: Memory(host, name, base, size) for name, base, size in host.memories()}
        self._dram = memories.get("dbb0")
        self.sram = memories.get("sram0")
        self.name, self.device = host.identity()

    @cached_property
    def regs(self) -> Registers:
        """The device's registers by name: ``p.regs.SDP.D_OP_ENABLE = 1``."""
        return Registers(self._host)

    @cached_property
    def period(self) -> Time:
        """One cycle of the device's clock."""
        return Time.from_ps(self._host.period())

    @property
    def dram(self) -> Memory:
        """The memory behind DBBIF, `dbb0`."""
        if self._dram is None:
            raise MemoryRangeError("the platform has no dbb0", memory="dbb0", address=0, size=0, holds="none")
        return self._dram

    # Registers and lines.

    def read(self, address: int) -> int:
        """Reads a register by its byte address in the device's window. `regs` has them by name."""
        return self._host.read(address)

    def write(self, address: int, value: int, *, acknowledged: bool = False) -> None:
        """Writes a register by its byte address; posted, unless it is to be acknowledged."""
        if acknowledged:
            self._host.write_acknowledged(address, value)
        else:
            self._host.write(address, value)

    @property
    def interrupt(self) -> bool:
        """Whether the interrupt line is high."""
        return self._host.interrupt()

    def wait_interrupt(self, *, limit: TimeLike | None = None) -> Time:
        """Lets time pass until the interrupt line is high, at once if it is; the time then.

        Args:
            limit: the simulated time at which the wait ends with `LimitError`, for this call.

        Raises:
            IdleError: nothing is left to simulate, so it never comes.
            LimitError: the limit is reached.
        """
        if limit is None:
            return Time.from_ps(self._host.wait_interrupt())
        self._host.set_limit(picoseconds(limit))
        try:
            return Time.from_ps(self._host.wait_interrupt())
        finally:
            self._host.set_limit(None)

    # Time.

    @property
    def now(self) -> Time:
        """The simulated time."""
        return Time.from_ps(self._host.now())

    def run(self, until: TimeLike | None = None) -> Stopped:
        """Lets time pass, and says why it stopped.

        Args:
            until: the simulated time to run to; without, until nothing is left to do. A number is nanoseconds.
        """
        why, report = self._host.run_idle() if until is None else self._host.run_until(picoseconds(until))
        return Stopped(why, self.now, report)

    def run_for(self, span: TimeLike) -> Stopped:
        """Lets so much time pass, and says why it stopped."""
        return self.run(self.now + span)

    def step(self, cycles: int = 1) -> Stopped:
        """Lets so many cycles of the device's clock pass."""
        return self.run(self.now + self.period * whole(cycles, "cycles"))

    # What it has done.

    def statistics(self) -> dict[str, int | str]:
        """The counters by name, such as ``dbb0.read.bytes``; docs/counters.md says what each counts."""
        return self._host.statistics()[0]

    def units(self) -> dict[str, str]:
        """The units of the counters that have one: ``bytes``, ``cycles``, ``ps``, …"""
        return self._host.statistics()[1]

    def warnings(self) -> list[Warning]:
        """What the platform had to say since the last call: refused layers, accesses that hit no memory."""
        return [Warning(Time.from_ps(time), text) for time, text in self._host.warnings()]

    @property
    def event_hash(self) -> str:
        """The hash of everything that has happened so far: equal for two runs that went the same way."""
        return self._host.event_hash()

    @property
    def description(self) -> str:
        """What the platform is, as a TOML text, from which another one like it can be made."""
        return self._host.description()

    # What is done to it.

    def reset(self) -> None:
        """Puts registers, models and memories back to power-on. Time goes on."""
        self._host.reset()

    def inject_faults(self, faults: str) -> None:
        """Arms faults, from a TOML text (docs/inside.md)."""
        self._host.inject_faults(faults)

    def stream(self, data: bytes) -> None:
        """Sends bytes into the device's input stream: all of them, or none. Takes no time."""
        self._host.stream(data)

    # Its end.

    def close(self) -> list[str]:
        """Ends the platform, or the session: files about the run get their names. What a person should know of them, a line each."""
        return self._host.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Platform(BasePlatform):
    """A platform in this process.

    ``vp.Platform("nv_small", dbb0={"read_latency": 100}, period="2 ns")``

    Args:
        name: a built-in platform (`platform_names`), or a TOML file, whose name ends in ``.toml`` or has a ``/``.
        changes: values of the platform by their names in the TOML file, with dots, as in ``{"dbb0.read_latency": 100}``.
        memory_limit: bytes of this host's memory that its RAM takes at most.
        record: a file in which the run is recorded, for `replay` and ``vp replay``.
        trace: a waveform, ``.fst`` or ``.vcd``; `trace_start` and `trace_stop` say from when to when, as ``vp run --trace-start`` does.
        timeline: a timeline for Perfetto.
        registers: a log of register accesses, ``.jsonl``, ``.txt`` or ``.log``.
        dram_commands: a log of the commands of its DRAM, as CSV.
        memory_requests: a trace of the bursts at DBBIF's memory, for ``vp memory replay``.
        more: further changes: a section as a `dict`, and names of values without dots.

    Raises:
        DescriptionError: there is no such platform, or a change does not fit it.
    """

    def __init__(
        self,
        name: str | os.PathLike[str] = "nv_small",
        changes: Mapping[str, Any] | None = None,
        *,
        memory_limit: int | None = None,
        record: str | os.PathLike[str] | None = None,
        trace: str | os.PathLike[str] | None = None,
        trace_start: str | None = None,
        trace_stop: str | None = None,
        timeline: str | os.PathLike[str] | None = None,
        registers: str | os.PathLike[str] | None = None,
        dram_commands: str | os.PathLike[str] | None = None,
        memory_requests: str | os.PathLike[str] | None = None,
        **more: Any,
    ) -> None:
        changes = {} if changes is None else changes
        expect(changes, Mapping, "mapping of changes by their names")
        memory_limit = None if memory_limit is None else whole(memory_limit, "memory_limit")
        settings = [*_settings(changes), *_settings(more)]
        logs = (_path(timeline), _path(registers), _path(dram_commands), _path(memory_requests))
        files = (_path(trace), trace_start, trace_stop, *logs)
        super().__init__(_native.build(os.fspath(name), settings, memory_limit, _path(record), files))

    @property
    def next_time(self) -> Time | None:
        """When something happens next by itself; `None`: nothing does."""
        time = self._host.next_time()
        return None if time is None else Time.from_ps(time)

    def layers(self) -> list[LayerRecord]:
        """The hardware layers that ran, oldest first; the last 4096."""
        return [
            LayerRecord(unit, group, shape, Time.from_ps(begin), None if end is None else Time.from_ps(end))
            for unit, group, shape, begin, end in self._host.layers()
        ]

    def save(self, path: str | os.PathLike[str]) -> Time:
        """Saves the platform where it next comes to rest, for ``vp serve --restore``; the time then."""
        return Time.from_ps(self._host.save(os.fspath(path)))

    # Observers. A callback that raises ends the run with what it has raised, and the platform goes on with the next call.

    def on_register(self, call: Callable[[RegisterAccess], object]) -> Subscription:
        """Has a callback told of each register access over the bus."""

        def told(time: int, _: str, write: bool, address: int, value: int) -> None:
            call(RegisterAccess(Time.from_ps(time), write, address, value))

        return self._subscribed("register", call, told)

    def on_interrupt(self, call: Callable[[Interrupt], object]) -> Subscription:
        """Has a callback told of each change of the interrupt line."""

        def told(time: int, _: str, level: int) -> None:
            call(Interrupt(Time.from_ps(time), level != 0))

        return self._subscribed("level", call, told, "irq0")

    def on_transfer(self, call: Callable[[Transfer], object]) -> Subscription:
        """Has a callback told of each stage of each burst on the memory interfaces."""

        def told(
            time: int, source: str, stage: Any, write: bool, id: int, address: int, bytes: int, requested: int
        ) -> None:
            at = Time.from_ps(requested)
            call(Transfer(Time.from_ps(time), source, stage, write, id, address, bytes, at))

        return self._subscribed("transfer", call, told)

    def on_work(self, call: Callable[[Work], object]) -> Subscription:
        """Has a callback told when units begin and end layers."""

        def told(time: int, source: str, begins: bool, label: str, id: int) -> None:
            call(Work(Time.from_ps(time), source, begins, label, id))

        return self._subscribed("work", call, told)

    def on_warning(self, call: Callable[[Warning], object]) -> Subscription:
        """Has a callback told of each warning, as models report it; `warnings` has what is for people."""

        def told(time: int, source: str, text: str) -> None:
            call(Warning(Time.from_ps(time), f"{source}: {text}"))

        return self._subscribed("warning", call, told)

    def _subscribed(
        self, kind: str, call: Callable[..., object], told: Callable[..., None], source: str | None = None
    ) -> Subscription:
        if not callable(call):
            raise TypeError(f"{call!r} cannot be called: a callback is a function, or the like")
        return Subscription(self._host, self._host.observe(kind, told, source))

    def __repr__(self) -> str:
        return f"<platform {self.name}>"


def _path(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)


def _settings(changes: Mapping[str, Any], section: str = "") -> list[str]:
    """Changes as `vp --set` takes them."""
    settings: list[str] = []
    for name, value in changes.items():
        if isinstance(value, Mapping):
            settings += _settings(value, f"{section}{name}.")
        else:
            settings.append(f"{section}{name}={_toml(value)}")
    return settings


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Time):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(one) for one in value)}]"
    if isinstance(value, str):
        # As the command line has it: what is no TOML is text.
        return value
    return str(value)
