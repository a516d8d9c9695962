"""Exceptions. Messages are the platform's own sentences: what was wrong, where, and what would be right."""

from __future__ import annotations

from ._base_errors import Error as Error
from ._base_errors import TimeError as TimeError
from ._time import Time



class RefusedError(Error):
    """The platform understood and declined; the message says why."""


class IdleError(Error):
    """Nothing is left to simulate, and what the call waits for has not happened: it never will.

    Attributes:
        time: simulated time at which everything stood still.
        report: who waits for what.
    """

    def __init__(self, message: str, *, time: int, report: str) -> None:
        super().__init__(message)
        self.time = Time.from_ps(time)
        self.report = report


class LivelockError(Error):
    """Simulated time stands still, however much is done: a fault of a model. A reset helps.

    Attributes:
        report: since when time has stood, and who runs again and again.
    """

    def __init__(self, message: str, *, report: str) -> None:
        super().__init__(message)
        self.report = report


class LimitError(Error):
    """The limit of simulated time that was set ended the wait.

    Attributes:
        time: simulated time at which the run was stopped.
        limit: the limit, with its unit.
    """

    def __init__(self, message: str, *, time: int, limit: str) -> None:
        super().__init__(message)
        self.time = Time.from_ps(time)
        self.limit = limit


class TransportError(Error):
    """The connection to the platform is broken; no later call will succeed."""


class ConnectError(TransportError):
    """There is no session: the server cannot be reached, or turned us away."""


class MemoryRangeError(Error, IndexError):
    """The bytes asked for do not lie in the memory.

    Attributes:
        memory: `dbb0` or `sram0`.
        address: first byte asked for.
        size: how many bytes were asked for.
        holds: what the memory does hold.
    """

    def __init__(self, message: str, *, memory: str, address: int, size: int, holds: str) -> None:
        super().__init__(message)
        self.memory = memory
        self.address = address
        self.size = size
        self.holds = holds


class DescriptionError(Error, ValueError):
    """A platform, a network or a trace that is described wrongly, or that does not fit the platform."""


class RegisterError(Error, AttributeError):
    """There is no such register or field; the nearest one is named."""


class FieldError(Error, ValueError):
    """A value that a register or a field does not take."""


class ProgramError(Error):
    """A network, trace or loadable that did not run to its end."""


class RecordingError(Error):
    """A recording, or another file about a run, that cannot be written, or that does not run again."""


class BusyError(Error):
    """A call in the midst of another one, such as of a callback to the platform that runs."""


class ClosedError(Error):
    """The platform was closed."""


class WrongThreadError(Error):
    """A platform belongs to the thread that made it."""


class ForkedError(Error):
    """A platform belongs to the process that made it, and this one was forked from it."""


class InternalError(Error):
    """A fault of this package: please report it."""
