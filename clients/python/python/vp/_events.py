"""What observers are told, and what runs have come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ._time import Time


@dataclass(frozen=True, slots=True)
class RegisterAccess:
    """A register was read or written over the bus.

    Attributes:
        time: when it took effect.
        write: whether it was written.
        address: byte address in the device's window.
        value: the word.
    """

    time: Time
    write: bool
    address: int
    value: int


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The interrupt line has changed.

    Attributes:
        time: when.
        level: whether it is high.
    """

    time: Time
    level: bool


@dataclass(frozen=True, slots=True)
class Transfer:
    """A burst on a memory interface is at one of its stages.

    Attributes:
        time: when.
        source: the interface, such as `dbb0`.
        stage: its request is on the bus, its first data is there, or it is over.
        write: whether it writes.
        id: the client or identifier on the bus that it belongs to.
        address: of its first byte.
        bytes: its length.
        requested: when its request was on the bus.
    """

    time: Time
    source: str
    stage: Literal["request", "data", "response"]
    write: bool
    id: int
    address: int
    bytes: int
    requested: Time


@dataclass(frozen=True, slots=True)
class Work:
    """A unit begins a piece of work, such as a layer, or has come to its end.

    Attributes:
        time: when.
        source: the unit, such as `nvdla.sdp`.
        begins: whether it begins.
        label: what kind of work.
        id: which one: of an NVDLA the register group.
    """

    time: Time
    source: str
    begins: bool
    label: str
    id: int


@dataclass(frozen=True, slots=True)
class Warning:
    """Something that a person should know, such as a layer that the device refuses.

    Attributes:
        time: when.
        text: who says it, and what.
    """

    time: Time
    text: str


@dataclass(frozen=True, slots=True)
class LayerRecord:
    """A hardware layer that ran.

    Attributes:
        unit: such as `sdp`.
        group: the register group.
        shape: width, height and channels of its input.
        begin: when it began.
        end: when its interrupt came; `None` while it runs.
    """

    unit: str
    group: int
    shape: str
    begin: Time
    end: Time | None


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why a run stopped.

    Attributes:
        why: ``time``: the time asked for is reached. ``interrupt``: the line is high. ``idle``: nothing is left to do. ``deadlock``: nothing can
            happen any more, though work is unfinished.
        time: when.
        report: of a deadlock, who waits for what.
    """

    why: Literal["time", "interrupt", "idle", "deadlock"]
    time: Time
    report: str | None = None
