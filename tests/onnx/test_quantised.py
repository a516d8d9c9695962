"""Models that onnxruntime has quantised, beside onnxruntime in exact integers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import quantised
from conftest import Table, Where, expected, run

LARGE: Where = ("nv_large", "int8")


def steps(net: object, kind: str, where: Where, folder: Path) -> tuple[np.ndarray, bool, float]:
    """Differences in steps of the output's codes, whether the best answer is the same one, and how many of those steps are one of the codes within."""
    path, tensor = quantised.make(net, kind, folder)
    [right] = expected(path, tensor, is_exact=True)
    outputs = run(path, tensor, where).outputs
    assert outputs is not None
    [seen] = outputs.values()
    within, last = quantised.steps(path)
    return np.abs(seen - right) / last, int(seen.argmax()) == int(right.argmax()), within / last


@pytest.mark.parametrize("kind", quantised.KINDS)
def test_operations(kind: str, tmp_path: Path, table: Table) -> None:
    """Within one step, and where the operation reads codes that a convolution has made, one step of these more."""
    worst, within_one = 0.0, 0
    for name, layer in quantised.LAYERS.items():
        folder = tmp_path / name.replace(", ", "-")
        folder.mkdir()
        apart, _, gain = steps(layer, kind, LARGE, folder)
        assert apart.max() <= 1.01 + gain, name
        # Weights of uint8 with a zero point take nine bits, and are rounded to eight. Means of four often lie in the middle of two codes.
        is_rounded = kind.endswith("u8u8-tensor") or "AveragePool" in name
        assert is_rounded or (apart > 0.6).mean() <= 0.02, name
        worst, within_one = max(worst, float(apart.max())), within_one + int(apart.max() <= 1.01)
    count = len(quantised.LAYERS)
    table.add(f"{count} operations, {kind}", LARGE, "steps of the last place", f"{within_one} within one, {worst:.1f} at most")


@pytest.mark.parametrize("kind", quantised.KINDS)
@pytest.mark.parametrize("name", quantised.NETWORKS)
def test_networks(name: str, kind: str, tmp_path: Path, table: Table) -> None:
    apart, is_same, _ = steps(quantised.NETWORKS[name], kind, LARGE, tmp_path)
    assert is_same and apart.mean() <= 1
    table.add(f"{name}, {kind}", LARGE, "steps of the last place", f"{apart.mean():.2f} in the mean, {apart.max():.0f} at most")
