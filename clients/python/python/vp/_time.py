"""Simulated time."""

from __future__ import annotations

import functools
import math
import re
from typing import TypeAlias

from ._base_errors import TimeError

_UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "ms": 10**9, "s": 10**12}
_TEXT = re.compile(r"\s*([0-9][0-9_]*)(?:\.([0-9]+))?\s*(ps|ns|us|µs|ms|s)\s*")

#: What calls take for a time: a `Time`, a number of nanoseconds, or a text such as ``"400 ns"``.
TimeLike: TypeAlias = "Time | int | float | str"


def picoseconds(time: TimeLike) -> int:
    """The picoseconds of what is taken for a time.

    Raises:
        TimeError: it is none.
    """
    if isinstance(time, Time):
        return time.ps
    if isinstance(time, str):
        found = _TEXT.fullmatch(time)
        if found is None:
            raise TimeError(f"`{time}` is no time: write a number and a unit (ps, ns, us, ms, s), such as 400 ns")
        whole, fraction, unit = found.groups()
        size = _UNITS[unit]
        digits = fraction or ""
        if len(whole) + len(digits) > 40:
            raise TimeError(f"a text of {len(time)} characters is no time: times are 0 to 2^64 ps")
        value, scale = int((whole + digits).replace("_", "")) * size, int("1" + "0" * len(digits))
        ps = value // scale
        if value % scale:
            raise TimeError(f"`{time}`: finer than a picosecond")
    elif isinstance(time, bool) or not isinstance(time, (int, float)):
        raise TimeError(f"{time!r} is no time: a number of nanoseconds, or a text such as 400 ns")
    elif not math.isfinite(time):
        raise TimeError(f"{time} is no time: it has to be finite")
    else:
        ps = round(time * 1000) if isinstance(time, float) else time * 1000
    return _checked(ps)


def _checked(ps: int) -> int:
    if not 0 <= ps < 2**64:
        raise TimeError(f"{ps} ps is no time: times are 0 to 2^64 ps")
    return ps


@functools.total_ordering
class Time:
    """A simulated time, or a span of it, to the picosecond.

    ``Time("1.5 us")``, ``Time(400)``; times add up, with texts and numbers of nanoseconds too: ``p.now + "400 ns"``.

    Args:
        time: nanoseconds, a text such as ``"400 ns"``, or another time.

    Raises:
        TimeError: it is none.
    """

    __slots__ = ("ps",)

    #: Picoseconds.
    ps: int

    def __init__(self, time: TimeLike) -> None:
        self.ps = picoseconds(time)

    @classmethod
    def from_ps(cls, ps: int) -> "Time":
        """So many picoseconds."""
        time = cls(0)
        time.ps = ps
        return time

    @property
    def ns(self) -> float:
        """Nanoseconds."""
        return self.ps / 1e3

    @property
    def us(self) -> float:
        """Microseconds."""
        return self.ps / 1e6

    @property
    def seconds(self) -> float:
        """Seconds."""
        return self.ps / 1e12

    def cycles(self, period: TimeLike) -> int:
        """How many whole cycles of that period it is."""
        return self.ps // max(picoseconds(period), 1)

    def __add__(self, other: TimeLike) -> "Time":
        return Time.from_ps(_checked(self.ps + picoseconds(other)))

    __radd__ = __add__

    def __sub__(self, other: TimeLike) -> "Time":
        return Time.from_ps(_checked(self.ps - picoseconds(other)))

    def __mul__(self, times: int) -> "Time":
        return Time.from_ps(_checked(self.ps * times))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Time):
            return NotImplemented
        return self.ps == other.ps

    def __lt__(self, other: "Time") -> bool:
        if not isinstance(other, Time):
            return NotImplemented
        return self.ps < other.ps

    def __hash__(self) -> int:
        return hash(self.ps)

    def __str__(self) -> str:
        for unit in ("s", "ms", "us", "ns"):
            if self.ps and self.ps % _UNITS[unit] == 0:
                return f"{self.ps // _UNITS[unit]} {unit}"
        return f"{self.ps} ps"

    def __repr__(self) -> str:
        return f"Time('{self}')"
