"""ONNX models: what they take, and what they tell beside what every network does."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._errors import ProgramError
from ._types import whole

Sample = npt.ArrayLike | Mapping[str, npt.ArrayLike] | str | os.PathLike[str]
"""An array in a model's own numbers, arrays by the names of its inputs, or a picture's or an array's file."""


@dataclass(frozen=True)
class Distance:
    """How far numbers are from those that the model itself gives: a float model in 32 bits, a quantised one in its integers.

    Attributes:
        range: largest magnitude of the model's numbers.
        largest: largest difference.
        signal_to_noise: power of the model's numbers over that of the differences, in dB; infinite if there are none.
    """

    range: float
    largest: float
    signal_to_noise: float


@dataclass(frozen=True)
class Detection:
    """A box that a detector has found, in pixels of the picture, or of the network's input if that was an array.

    Attributes:
        class_index: place of its class among those of the output, from 0.
        score: score, as a rule from 0 to 1.
        left: left edge.
        top: top edge.
        right: right edge.
        bottom: bottom edge.
    """

    class_index: int
    score: float
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class ModelChoices:
    """Choices for an ONNX model, as `run_network` takes them."""

    precision: str | None = None
    calibrate: str | os.PathLike[str] | Sequence[Sample] | None = None
    ranges: str | None = None
    scales: str | None = None
    shape: Sequence[int] | Mapping[str, Sequence[int]] | None = None
    preprocess: str | os.PathLike[str] | None = None
    boxes: str | os.PathLike[str] | None = None
    distance: bool = False

    def given(self) -> list[str]:
        """Names of those that are not left out."""
        return [name for name, left_out in vars(ModelChoices()).items() if getattr(self, name) is not left_out]

    def passed(self) -> dict[str, Any]:
        """The choices as the native part takes them."""
        shapes: list[tuple[str | None, list[int]]] = []
        if isinstance(self.shape, Mapping):
            shapes = [(name, _sizes(sizes)) for name, sizes in self.shape.items()]
        elif self.shape is not None:
            shapes = [(None, _sizes(self.shape))]
        calibrate: str | list[bytes] | None = None
        if isinstance(self.calibrate, (str, os.PathLike)):
            calibrate = os.fspath(self.calibrate)
        elif self.calibrate is not None:
            samples = [self.calibrate] if isinstance(self.calibrate, (np.ndarray, Mapping)) else self.calibrate
            calibrate = [_file(sample) for sample in samples]
        return {
            "precision": self.precision,
            "calibrate": calibrate,
            "ranges": self.ranges,
            "scales": self.scales,
            "shapes": shapes,
            "preprocess": None if self.preprocess is None else os.fspath(self.preprocess),
            "boxes": None if self.boxes is None else os.fspath(self.boxes),
            "distance": bool(self.distance),
        }


def is_model(network: str | os.PathLike[str]) -> bool:
    """Returns true of the path of an ONNX model."""
    return os.fspath(network).lower().endswith(".onnx")


def run_model(
    host: _native.Host,
    path: str | os.PathLike[str],
    sample: Sample | None,
    choices: ModelChoices,
    options: tuple[int, int, str, int | None, str | None],
) -> dict[str, Any]:
    """Runs a model, and tells what the native part does."""
    given: str | list[bytes] | None
    if sample is None:
        given = None
    elif isinstance(sample, (str, os.PathLike)):
        given = os.fspath(sample)
    else:
        given = [_file(sample)]
    array = None if sample is None or isinstance(sample, (str, os.PathLike, Mapping)) else list(np.shape(sample))
    return _native.run_model(host, os.fspath(path), given, {**choices.passed(), "array_shape": array}, *options)


def _sizes(sizes: Sequence[int]) -> list[int]:
    return [whole(size, "a size of shape", 1, 2**31 - 1) for size in sizes]


def _file(sample: Sample) -> bytes:
    """A sample as NPY, or of several inputs as NPZ."""
    if isinstance(sample, (str, os.PathLike)):
        with open(sample, "rb") as file:
            return file.read()
    out = io.BytesIO()
    if isinstance(sample, Mapping):
        arrays: dict[str, Any] = {name: _array(array) for name, array in sample.items()}
        np.savez(out, **arrays)
    else:
        np.save(out, _array(sample))
    return out.getvalue()


def _array(data: npt.ArrayLike) -> npt.NDArray[Any]:
    array = np.asarray(data)
    if array.dtype.kind not in "fiub":
        raise ProgramError(f"the input has elements of {array.dtype}: models take numbers")
    if array.dtype.kind == "f":
        array = array.astype(np.float32)
    return np.ascontiguousarray(array)
