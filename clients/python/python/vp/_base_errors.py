"""What all exceptions are, and those that times themselves raise: they know nothing of times."""

from __future__ import annotations


class Error(Exception):
    """Whatever the platform cannot do; every exception of this package is one."""


class TimeError(Error, ValueError):
    """No time: write a number of nanoseconds, or a text such as ``400 ns``."""
