"""Arguments that are wrong, at run time: what the types say, and numbers within bounds."""

from __future__ import annotations

import operator
from typing import Any

from ._errors import RefusedError


def expect(value: object, kind: Any, what: str) -> None:
    """Raises TypeError unless it is of that type."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r:.80} is no {what}")


def whole(value: Any, what: str, least: int = 0, most: int = 2**64 - 1) -> int:
    """The number that it is; RefusedError unless it lies within these bounds."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} = {value!r:.80}: that is no whole number")
    number = operator.index(value)
    if not least <= number <= most:
        raise RefusedError(f"{what} = {number}: from {least} to {most}")
    return number
