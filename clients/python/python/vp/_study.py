"""Studies: a question about a platform at many points."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._errors import DescriptionError
from ._time import Time
from ._types import expect, whole

if TYPE_CHECKING:
    import pandas


def study(
    sweep: str | os.PathLike[str] | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    fixed: Mapping[str, Any] | None = None,
    frames: int = 1,
    seed: int = 1,
    limit: str | Time | None = None,
    jobs: int | None = None,
    layers: bool = False,
) -> "pandas.DataFrame":
    """Runs a network at many points of a platform, on all cores, and gives a table with a row for each point.

    >>> vp.study({"network": "digits", "platform": "nv_small", "dbb0.read_latency": [50, 100, 200, 400]})

    Cycles and times only: points skip the arithmetic. Ctrl-C ends a study; points that run at that moment come to their end in the background.

    Args:
        sweep: what varies: names as in a study's file (docs/study.md), with one value or several each; all combinations are points. Several of these
            follow each other. A path is a study's file, which says all the rest but `jobs` and `layers` itself.
        fixed: what all points have.
        frames: inferences at each point.
        seed: where inputs and drawn latencies start.
        limit: simulated time after which a point has failed.
        jobs: points that run at the same time; without, as many as there are cores.
        layers: a row for each layer of each point in place of one for each point.

    Returns:
        The columns of a study's ``results.csv``, or ``layers.csv``: what varied, what was measured, with units in their names, and of points everything
        else that the platform is. A point that did not run has ``failed`` in ``status``, and why in ``failure``.

    Raises:
        ImportError: pandas is not installed.
        DescriptionError: the study is written wrongly, or none of its points can run.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("a study takes pandas: pip install 'nvdla-vp[pandas]'") from error
    if isinstance(sweep, (str, os.PathLike)):
        text, path = None, os.fspath(sweep)
    else:
        products = [sweep] if isinstance(sweep, Mapping) else list(sweep)
        text, path = _written(products, {} if fixed is None else fixed, frames, seed, limit), "study.toml"
    jobs = None if jobs is None else whole(jobs, "jobs", 1, 1024)
    of_points, of_layers = _native.study(text, path, jobs)
    return pandas.DataFrame(dict(of_layers if layers else of_points))


def _written(
    products: Iterable[Mapping[str, Any]], fixed: Mapping[str, Any], frames: int, seed: int, limit: str | Time | None
) -> str:
    """The study's file."""
    lines = ['name = "a study of a program in Python"', f"seed = {_value(seed)}", f"frames = {_value(frames)}"]
    if limit is not None:
        lines.append(f"limit = {_value(limit)}")
    for head, table in [("[fixed]", fixed), *(("[[sweep]]", product) for product in products)]:
        expect(table, Mapping, "table of names and values")
        lines.append(head)
        lines += [f"{json.dumps(name)} = {_value(value)}" for name, value in table.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_value(one)}" for name, one in value.items()) + " }"
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return f"[{', '.join(_value(one) for one in value)}]"
    if isinstance(value, np.generic):
        return _value(value.item())
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, Time, os.PathLike)):
        # Escapes of JSON are TOML's, but for those of halves of characters.
        text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    raise DescriptionError(f"{value!r} is no value of a study: numbers, texts, booleans, lists and tables are")
