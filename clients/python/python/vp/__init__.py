"""A virtual platform for NVDLA: registers, memory, time and networks.

>>> import vp
>>> with vp.Platform("nv_small") as p:
...     p.regs.SDP.S_POINTER = 1
...     print(p.regs.SDP.S_POINTER.PRODUCER, p.now)
1 26 ns
"""

import os as _os

from . import _native, aio
from ._errors import (
    BusyError,
    ClosedError,
    ConnectError,
    DescriptionError,
    Error,
    FieldError,
    ForkedError,
    IdleError,
    InternalError,
    LimitError,
    LivelockError,
    MemoryRangeError,
    ProgramError,
    RecordingError,
    RefusedError,
    RegisterError,
    TimeError,
    TransportError,
    WrongThreadError,
)
from ._events import Interrupt, LayerRecord, RegisterAccess, Stopped, Transfer, Warning, Work
from ._memory import Memory
from ._models import Detection, Distance
from ._native import network_names, platform_names
from ._platform import BasePlatform, Platform, Subscription
from ._programs import Layers, NetworkRun, Replayed, TraceRun, digits, replay, run_loadable, run_network, run_trace
from ._remote import Device, Line, OwnMemory, RemotePlatform, connect, serve_device, serve_memory
from ._study import study
from ._time import Time, TimeLike
from .registers import Field, Register, Registers, Unit

__all__ = [
    "BasePlatform",
    "BusyError",
    "ClosedError",
    "ConnectError",
    "DescriptionError",
    "Detection",
    "Device",
    "Distance",
    "Error",
    "Field",
    "FieldError",
    "ForkedError",
    "IdleError",
    "InternalError",
    "Interrupt",
    "LayerRecord",
    "Layers",
    "LimitError",
    "Line",
    "LivelockError",
    "Memory",
    "MemoryRangeError",
    "NetworkRun",
    "OwnMemory",
    "Platform",
    "ProgramError",
    "RecordingError",
    "RefusedError",
    "Register",
    "RegisterAccess",
    "RegisterError",
    "Registers",
    "RemotePlatform",
    "Replayed",
    "Stopped",
    "Subscription",
    "Time",
    "TimeError",
    "TimeLike",
    "TraceRun",
    "Transfer",
    "TransportError",
    "Unit",
    "Warning",
    "Work",
    "WrongThreadError",
    "aio",
    "connect",
    "digits",
    "network_names",
    "platform_names",
    "replay",
    "run_loadable",
    "run_network",
    "run_trace",
    "serve_device",
    "serve_memory",
    "study",
]

# A child of a fork must touch neither its parent's sockets nor its files.
_os.register_at_fork(after_in_child=_native.forked)
