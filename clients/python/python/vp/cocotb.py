"""A platform beside a design in a simulator that cocotb drives: its ports at the pins of the design, in the buses of cocotbext-axi.

>>> @cocotb.test()
... async def memory(dut):
...     Clock(dut.clk, 2, unit="step").start()
...     platform = vp.cocotb.Partner(dut.clk, dut.rst_n)
...     platform.axi_subordinate(AxiBus.from_prefix(dut, ""), "dbb0")
...     await platform.run()

Both compute the same clock edges. As the blocks for Verilator do (docs/rtl.md), it takes the design's outputs at the falling edge before the rising one that
counts, and drives the design's inputs then: a part that behaves as the model's takes the model's cycles.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

try:
    from cocotb.handle import Immediate
    from cocotb.triggers import Event, FallingEdge, ReadOnly, RisingEdge
except ImportError as error:
    raise ImportError("ports at the pins of a design take cocotb: pip install 'nvdla-vp[cocotb]'") from error

from . import _native
from ._errors import ClosedError, RefusedError
from ._remote import _BASES, OwnMemory, _callable
from ._time import Time
from ._types import whole

#: What the platform warns of.
_LOG = logging.getLogger("cocotb.vp")

#: What `array_memory` gives, and a memory in Python is: of an address and a size the bytes, or with bytes their storing.
Bytes: TypeAlias = Callable[[int, int, "bytes | None"], "bytes | None"]


class _Pins:
    """Signals of a design: those that it drives are read, and those that the platform drives are written where they change."""

    def __init__(self, partner: Partner, port: str, signals: Any) -> None:
        self._partner = partner
        self._port = port
        self._signals = signals
        self._driven: dict[str, int] = {}

    def has(self, name: str) -> bool:
        return getattr(self._signals, name, None) is not None

    def get(self, name: str) -> int:
        """What the design drives there."""
        value = getattr(self._signals, name).value
        try:
            return int(value)
        except ValueError:
            raise RefusedError(
                f"{self._port}, at {self._partner.now}: {name.upper()} has to be 0 or 1 in each bit, and is {value}"
            ) from None

    def data(self, name: str, width: int) -> bytes:
        """Data: what is X or Z is 0."""
        value = getattr(self._signals, name).value
        number = int(value) if value.is_resolvable else int(value.resolve("zeros"))
        return number.to_bytes(width, "little")

    def width(self, name: str) -> int:
        return len(getattr(self._signals, name))

    def drive(self, name: str, value: int) -> None:
        if self._driven.get(name) != value and self.has(name):
            self._driven[name] = value
            getattr(self._signals, name).value = value


class _Port:
    """A port: what happens there at an edge."""

    kind: str

    def __init__(self, partner: Partner, name: str) -> None:
        self._partner = partner
        self._name = name
        self._number = 0

    def attach(self, native: _native.Partner) -> None:
        self._native = native
        self._number, self._bytes = native.attach(self.kind, self._name)

    def sample(self) -> None:
        """The pins that the design drives are taken."""

    def see(self) -> None:
        """The pins that the platform drives are given."""

    def clocked(self, is_in_reset: bool) -> None:
        """What is made of registers takes its next values."""

    def _check_width(self, pins: _Pins, data: str) -> None:
        if pins.width(data) != 8 * self._bytes:
            raise RefusedError(f"port {self._name} is {8 * self._bytes} bits wide: {data} of its bus has {pins.width(data)}")


class _AxiSubordinate(_Port):
    """The design is the memory."""

    kind = "axi subordinate"

    def __init__(self, partner: Partner, name: str, bus: Any, memory: Bytes | None) -> None:
        super().__init__(partner, name)
        self._ar, self._r = (_Pins(partner, name, channel) for channel in (bus.read.ar, bus.read.r))
        self._aw, self._w, self._b = (_Pins(partner, name, channel) for channel in (bus.write.aw, bus.write.w, bus.write.b))
        self._memory = memory
        for pins, pin in ((self._ar, "arvalid"), (self._aw, "awvalid"), (self._w, "wvalid"), (self._r, "rready"), (self._b, "bready")):
            pins.drive(pin, 0)

    def attach(self, native: _native.Partner) -> None:
        super().attach(native)
        self._check_width(self._r, "rdata")
        self._check_width(self._w, "wdata")
        # Whole beats of incrementing addresses.
        for pins, size, burst in ((self._ar, "arsize", "arburst"), (self._aw, "awsize", "awburst")):
            pins.drive(size, self._bytes.bit_length() - 1)
            pins.drive(burst, 1)
        if self._memory is not None:
            native.keep_bytes(self._number, self._memory)

    def sample(self) -> None:
        r, b = self._r, self._b
        beat = response = None
        if r.get("rvalid"):
            is_error = r.has("rresp") and r.get("rresp") >= 2
            beat = (r.get("rid"), r.data("rdata", self._bytes), bool(r.get("rlast")), is_error)
        if b.get("bvalid"):
            response = (b.get("bid"), b.has("bresp") and b.get("bresp") >= 2)
        ready = (bool(self._ar.get("arready")), bool(self._aw.get("awready")), bool(self._w.get("wready")))
        self._native.sample_subordinate(self._number, ready, beat, response)

    def see(self) -> None:
        ar, aw, w, r_ready, b_ready = self._native.see_subordinate(self._number)
        for pins, prefix, seen in ((self._ar, "ar", ar), (self._aw, "aw", aw)):
            pins.drive(f"{prefix}valid", seen is not None)
            if seen is not None:
                pins.drive(f"{prefix}id", seen[0])
                pins.drive(f"{prefix}addr", seen[1])
                pins.drive(f"{prefix}len", seen[2] - 1)
        self._w.drive("wvalid", w is not None)
        if w is not None:
            self._w.drive("wdata", int.from_bytes(w[0], "little"))
            self._w.drive("wstrb", w[1])
            self._w.drive("wlast", w[2])
        self._r.drive("rready", r_ready)
        self._b.drive("bready", b_ready)


class _AxiManager(_Port):
    """The design is a master."""

    kind = "axi manager"

    def __init__(self, partner: Partner, name: str, bus: Any) -> None:
        super().__init__(partner, name)
        self._ar, self._r = (_Pins(partner, name, channel) for channel in (bus.read.ar, bus.read.r))
        self._aw, self._w, self._b = (_Pins(partner, name, channel) for channel in (bus.write.aw, bus.write.w, bus.write.b))
        for pins, pin in ((self._ar, "arready"), (self._aw, "awready"), (self._w, "wready"), (self._r, "rvalid"), (self._b, "bvalid")):
            pins.drive(pin, 0)

    def attach(self, native: _native.Partner) -> None:
        super().attach(native)
        self._check_width(self._r, "rdata")
        self._check_width(self._w, "wdata")

    def _address(self, pins: _Pins, prefix: str) -> tuple[int, int, int] | None:
        if not pins.get(f"{prefix}valid"):
            return None
        beats = pins.get(f"{prefix}len") + 1
        where = f"{self._name}, {prefix.upper()}, at {self._partner.now}"
        # A burst of one beat increments nothing.
        if beats > 1 and pins.get(f"{prefix}burst") != 1:
            raise RefusedError(f"{where}: a burst of type {pins.get(f'{prefix}burst')}: a platform takes incrementing ones (1)")
        if 1 << pins.get(f"{prefix}size") != self._bytes:
            raise RefusedError(f"{where}: beats of {8 << pins.get(f'{prefix}size')} bits: a platform takes whole ones, of {8 * self._bytes}")
        return pins.get(f"{prefix}id"), pins.get(f"{prefix}addr"), beats

    def sample(self) -> None:
        w = self._w
        beat = None
        if w.get("wvalid"):
            strobes = w.get("wstrb") if w.has("wstrb") else (1 << self._bytes) - 1
            beat = (w.data("wdata", self._bytes), strobes, bool(w.get("wlast")))
        ready = (bool(self._r.get("rready")), bool(self._b.get("bready")))
        self._native.sample_manager(self._number, self._address(self._ar, "ar"), self._address(self._aw, "aw"), beat, ready)

    def see(self) -> None:
        (ar_ready, aw_ready, w_ready), r, b = self._native.see_manager(self._number)
        self._ar.drive("arready", ar_ready)
        self._aw.drive("awready", aw_ready)
        self._w.drive("wready", w_ready)
        self._r.drive("rvalid", r is not None)
        if r is not None:
            self._r.drive("rid", r[0])
            self._r.drive("rdata", int.from_bytes(r[1], "little"))
            self._r.drive("rlast", r[2])
            # SLVERR.
            self._r.drive("rresp", 2 * r[3])
        self._b.drive("bvalid", b is not None)
        if b is not None:
            self._b.drive("bid", b[0])
            self._b.drive("bresp", 2 * b[1])


class _AxiLiteTarget(_Port):
    """The design is the device, with AXI4-Lite for its registers: as `vp_axi4lite_target_port.sv`, register for register."""

    kind = "register target"

    def __init__(self, partner: Partner, name: str, bus: Any) -> None:
        super().__init__(partner, name)
        self._ar, self._r = (_Pins(partner, name, channel) for channel in (bus.read.ar, bus.read.r))
        self._aw, self._w, self._b = (_Pins(partner, name, channel) for channel in (bus.write.aw, bus.write.w, bus.write.b))
        self._access: tuple[int, int | None, bool] | None = None
        self._ready = self._is_open = self._is_answered = self._completes = False
        self._read: int | None = None
        self._valid = {"ar": False, "aw": False, "w": False}
        self._give()
        for pins, pin in ((self._ar, "arprot"), (self._aw, "awprot")):
            pins.drive(pin, 0)
        self._w.drive("wstrb", 0xF)

    def _give(self) -> None:
        for pins, channel in ((self._ar, "ar"), (self._aw, "aw"), (self._w, "w")):
            pins.drive(f"{channel}valid", self._valid[channel])

    def clocked(self, is_in_reset: bool) -> None:
        ready, self._read, self._completes = self._ready, None, False
        for pins, channel in ((self._ar, "ar"), (self._aw, "aw"), (self._w, "w")):
            if self._valid[channel] and pins.get(f"{channel}ready"):
                self._valid[channel] = False
        read, written = self._r.get("rvalid"), self._b.get("bvalid")
        if self._access is not None and ready:
            address, value, posted = self._access
            self._ready, self._is_open = False, True
            self._is_answered = value is None or not posted
            for pins, channel in ((self._ar, "ar"), (self._aw, "aw")):
                pins.drive(f"{channel}addr", address)
            self._w.drive("wdata", value or 0)
            self._valid = {"ar": value is None, "aw": value is not None, "w": value is not None}
        elif self._is_open and (read or written):
            self._is_open, self._ready = False, True
            if read:
                # An error has no place in a platform's answers, and reads 0 then.
                is_error = self._r.has("rresp") and self._r.get("rresp") >= 2
                self._read = 0 if is_error else int.from_bytes(self._r.data("rdata", 4), "little")
            self._completes = bool(written) and self._is_answered
        elif not self._is_open:
            self._ready = True
        if is_in_reset:
            self._ready = self._is_open = False
            self._valid = {"ar": False, "aw": False, "w": False}
        self._give()
        self._r.drive("rready", not is_in_reset)
        self._b.drive("bready", not is_in_reset)

    def sample(self) -> None:
        self._native.sample_target(self._number, self._ready, self._read, self._completes)

    def see(self) -> None:
        self._access = self._native.see_target(self._number)


class _InterruptSource(_Port):
    """The design drives the line."""

    kind = "line source"

    def __init__(self, partner: Partner, name: str, signal: Any) -> None:
        super().__init__(partner, name)
        self._pins = _Pins(partner, name, _Named({name: signal}))

    def sample(self) -> None:
        self._native.sample_source(self._number, bool(self._pins.get(self._name)))

    def see(self) -> None:
        self._native.see_source(self._number)


class _Named:
    """Signals by names of our own."""

    def __init__(self, signals: dict[str, Any]) -> None:
        self.__dict__.update(signals)


class _Access:
    """A register access of the bench's: what it is, and when it is over."""

    def __init__(self, address: int, value: int | None, is_posted: bool) -> None:
        self.row = (address, value, is_posted)
        self.done = Event()
        self.read = 0


class Cpu(_Port):
    """The bench is the platform's CPU: `Partner.cpu` gives one. Accesses are taken in the order of the calls."""

    kind = "register initiator"

    def __init__(self, partner: Partner, name: str, line: str) -> None:
        super().__init__(partner, name)
        self._line = line
        self._waiting: deque[_Access] = deque()
        self._open: deque[_Access] = deque()
        self._raised = Event()

    def attach(self, native: _native.Partner) -> None:
        super().attach(native)
        self._sink, _ = native.attach("line sink", self._line)

    def sample(self) -> None:
        self._offered = self._waiting[0] if self._waiting else None
        self._native.sample_initiator(self._number, None if self._offered is None else self._offered.row)
        self._native.sample_sink(self._sink)

    def see(self) -> None:
        ready, read, is_complete = self._native.see_initiator(self._number)
        if read is not None or is_complete:
            answered = self._open.popleft()
            answered.read = read or 0
            answered.done.set()
        if ready and self._offered is not None:
            taken = self._waiting.popleft()
            if taken.row[2]:
                taken.done.set()
            else:
                self._open.append(taken)
        if self._native.see_sink(self._sink):
            self._raised.set()
        else:
            self._raised.clear()

    async def read(self, address: int) -> int:
        """Reads a register by its byte address."""
        return await self._do(_Access(address, None, False))

    async def write(self, address: int, value: int, *, acknowledged: bool = False) -> None:
        """Writes a register; posted, unless it is to be acknowledged: then it is over when the device has taken it."""
        await self._do(_Access(address, value, not acknowledged))

    async def wait_interrupt(self) -> None:
        """Waits until the interrupt line is high."""
        await self._raised.wait()

    async def _do(self, access: _Access) -> int:
        self._waiting.append(access)
        await access.done.wait()
        return access.read


class Partner:
    """The partner of a platform that a simulation is. Ports are named before `run`; all of them take part from the same edge on.

    Args:
        clock: the design's clock, which somebody else drives.
        reset: the design's reset, driven here: at the beginning, and when the platform is put back to power-on.
        address: the platform: ``unix:PATH``, ``tcp:HOST:PORT`` or ``tls:HOST:PORT`` of a server, or ``inproc:NAME`` for one in this process, a
            built-in one or a file's. Without, what the variable ``VP_CONNECT`` says, which ``vp run --memory-command`` sets.
        reset_active_level: the level of `reset` at which the design is in reset.
        same_edge: outputs of the design depend on its inputs of the same edge.
        quantum: edges by which what crosses is seen later, each way, for fewer messages. 0 is exact.
        reset_edges: for how many edges the design is in reset. Those at the beginning are before the platform's first.
        settle_edges: edges behind those for which the pins stay idle.
        memory_limit: bytes of this host's memory that is taken at most for what programs load beside the pins, where `axi_subordinate` is given no
            memory. Without, half of what this process can have.
    """

    def __init__(
        self,
        clock: Any,
        reset: Any = None,
        *,
        address: str | None = None,
        reset_active_level: bool = False,
        same_edge: bool = False,
        quantum: int = 0,
        reset_edges: int = 16,
        settle_edges: int = 0,
        memory_limit: int | None = None,
    ) -> None:
        self._clock = clock
        self._reset = reset
        self._reset_active_level = reset_active_level
        self._address = address
        self._same_edge = same_edge
        self._quantum = quantum
        self._reset_edges = reset_edges
        self._settle_edges = settle_edges
        self._memory_limit = None if memory_limit is None else whole(memory_limit, "memory_limit")
        self._ports: list[_Port] = []
        self._native: _native.Partner | None = None
        self._is_in_reset = True
        self._drive_reset()

    def axi_subordinate(self, bus: Any, name: str = "dbb0", *, memory: OwnMemory | Any = None) -> None:
        """The design is the memory behind a port: the platform's bursts come to a `cocotbext.axi.AxiBus`.

        Args:
            bus: of 32 to 512 bits, as many as the port has.
            name: the port's.
            memory: where the memory has its bytes, for what programs load and checks read beside the pins: a callable or an array of `numpy.uint8` as of
                `vp.connect`, `array_memory` of an array of the design's, or a `cocotbext.axi.AxiRam`. Without, programs load what the design does not see.
        """
        bytes_of: Bytes | None = None
        if callable(memory) or isinstance(memory, np.ndarray):
            bytes_of = _callable(memory, _BASES.get(name, 0))
        elif memory is not None:

            def bytes_of(address: int, size: int, data: bytes | None) -> bytes | None:
                # As it takes the addresses of bursts.
                at = address % memory.size
                if data is None:
                    return bytes(memory.read(at, size))
                memory.write(at, data)
                return None

        self._ports.append(_AxiSubordinate(self, name, bus, bytes_of))

    def axi_manager(self, bus: Any, name: str = "dbb0") -> None:
        """The design is a master at a port, such as the device: its bursts come from a `cocotbext.axi.AxiBus`, in whole beats of incrementing addresses."""
        self._ports.append(_AxiManager(self, name, bus))

    def axi_lite_target(self, bus: Any, name: str = "csb0") -> None:
        """The design is the device at a register port: the CPU's accesses come to a `cocotbext.axi.AxiLiteBus`, one at a time."""
        self._ports.append(_AxiLiteTarget(self, name, bus))

    def interrupt_source(self, signal: Any, name: str = "irq0") -> None:
        """The design drives an interrupt line."""
        self._ports.append(_InterruptSource(self, name, signal))

    def cpu(self, name: str = "csb0", line: str = "irq0") -> Cpu:
        """The bench is the CPU at a register port, and sees an interrupt line."""
        cpu = Cpu(self, name, line)
        self._ports.append(cpu)
        return cpu

    async def run(self) -> str:
        """Takes part, edge after edge, until the platform ends: why it has.

        Raises:
            ConnectError: there is no platform at the address.
            RefusedError: it has no such port, another width, or the design's pins break a rule of theirs.
        """
        # As vp_clock.sv: edges of the reset so far, the next one included.
        passed = 1
        try:
            while True:
                await RisingEdge(self._clock)
                for port in self._ports:
                    port.clocked(self._is_in_reset)
                if self._native is not None and not self._native.is_in_reset():
                    passed, self._is_in_reset = 0, False
                else:
                    self._is_in_reset = passed < self._reset_edges
                    if self._native is None and passed >= self._reset_edges + self._settle_edges:
                        self._start()
                        passed = 0
                    else:
                        passed += 1
                self._drive_reset()
                await FallingEdge(self._clock)
                if self._native is not None:
                    await self._edge()
                    for time, text in self._native.warnings():
                        _LOG.warning("at %s: %s", Time.from_ps(time), text)
        except ClosedError as over:
            return str(over)
        finally:
            if self._native is not None:
                self._native.close()

    def _start(self) -> None:
        if not self._ports:
            raise RefusedError("the simulation takes no port of the platform: name one before it runs")
        reset_edges = self._reset_edges + self._settle_edges
        self._native = _native.Partner(self._address, self._same_edge, self._quantum, reset_edges, self._memory_limit)
        for port in self._ports:
            port.attach(self._native)

    async def _edge(self) -> None:
        if not self._same_edge:
            for port in self._ports:
                port.sample()
        for port in self._ports:
            port.see()
        if self._same_edge:
            # What depends on the pins that were driven settles first.
            await ReadOnly()
            for port in self._ports:
                port.sample()

    def _drive_reset(self) -> None:
        if self._reset is not None:
            self._reset.value = int(self._is_in_reset == self._reset_active_level)

    @property
    def now(self) -> Time:
        """The platform's time at the edge that was seen last."""
        return Time(0) if self._native is None else Time.from_ps(self._native.times()[1])

    def counter(self, name: str) -> int:
        """One of the platform's counters, such as ``nvdla.cycles`` (docs/counters.md).

        Raises:
            RefusedError: there is none of that name, or the platform has not begun.
        """
        value = None if self._native is None else self._native.counter(name)
        if value is None:
            raise RefusedError(f"the platform has no counter `{name}`")
        return value


def array_memory(words: Any, base: int = _BASES["dbb0"]) -> Bytes:
    """The bytes of an array of vectors of a design, such as ``reg [63:0] words [N]``: the first one's lowest byte is at `base`. Bits that are X are 0."""
    first, width = min(words.range.left, words.range.right), len(words[words.range.left]) // 8

    def access(address: int, size: int, data: bytes | None) -> bytes | None:
        begin, at = divmod(address - base, width)
        count = -(-(at + size) // width)
        if begin < 0 or begin + count > len(words):
            raise RefusedError(f"{size:#x} bytes at {address:#x} are not in the array: it has {len(words) * width:#x} from {base:#x} on")
        handles = [words[first + begin + number] for number in range(count)]
        held = bytearray()
        for handle in handles:
            held += int(handle.value.resolve("zeros")).to_bytes(width, "little")
        if data is None:
            return bytes(held[at : at + size])
        held[at : at + size] = data
        for number, handle in enumerate(handles):
            # At once: what is read next has it.
            handle.set(Immediate(int.from_bytes(held[number * width : (number + 1) * width], "little")))
        return None

    return access
