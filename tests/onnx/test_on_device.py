"""The cases of package `onnx` on a device: each of which a unit does a part gives the package's answer, as near as its numbers are."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import node_cases
import vp
from conftest import TARGET, Table, Where, run

MOST = {"fp16": 2.0**-8, "int8": 0.06}
"""Distances from the answers at most, in shares of their range: a few of fp16's 11 bits, and steps of int8's 127 where a case is a row of several layers."""

LOST = {
    "fp16": ("test_dynamicquantizelinear", "test_reduce_log_sum_exp"),
    "int8": ("test_thresholdedrelu", "test_round", "test_ceil", "test_floor", "test_sign", "test_reduce_log_sum"),
}
"""Cases whose answers a precision loses: functions that jump give a number that was moved a little another answer, exponents of 20 are
beyond fp16, and in int8 logarithms undo exponents whose sums have one scale, and no code is infinite."""


def bound(model: onnx.ModelProto, values: list[np.ndarray]) -> onnx.ModelProto:
    """The model with all inputs but the first as constants, as weights are in models that people have."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    made.ir_version = max(made.ir_version, 8)
    given = {one.name for one in made.graph.initializer}
    open_ones = [one for one in made.graph.input if one.name not in given]
    for one, value in list(zip(open_ones, values))[1:]:
        made.graph.initializer.append(numpy_helper.from_array(value, one.name))
    del made.graph.input[:]
    made.graph.input.extend(open_ones[:1])
    return made


def cases() -> Iterator[tuple[str, onnx.ModelProto, np.ndarray, list[np.ndarray | None]]]:
    """Cases whose operators are read and whose first input is of floats."""
    evaluate = TARGET / "debug/examples/evaluate"
    listed = subprocess.run([evaluate, "--operators"], capture_output=True, text=True, check=True).stdout
    read = {line.split("\t")[0] for line in listed.splitlines()}
    for _, name, model, inputs, outputs, _, _ in node_cases.cases(["node", "simple"]):
        values = [node_cases.array(value) for value in inputs]
        is_read = all(operator in read for operator in node_cases.operators(model))
        if is_read and values and all(value is not None for value in values) and values[0].dtype == np.float32:
            yield name, bound(model, values), values[0], [node_cases.array(value) for value in outputs]


def away(found: np.ndarray, right: np.ndarray) -> float:
    """Largest difference in shares of the range; infinite where one is no number or infinite and the other not the same."""
    found, right = found.astype(float).ravel(), right.astype(float).ravel()
    finite = np.isfinite(right)
    if not np.array_equal(found[~finite], right[~finite], equal_nan=True):
        return np.inf
    range_of_answer = float(np.abs(right[finite]).max(initial=0))
    return float(np.abs(found[finite] - right[finite]).max(initial=0)) / max(range_of_answer, 1e-9)


@pytest.mark.parametrize("where", [("nv_full", "fp16"), ("nv_large", "int8"), ("nv_small", "int8")], ids="-".join)
def test_node_cases_on_a_device(where: Where, tmp_path: Path, table: Table) -> None:
    path, wrong, worst, count = tmp_path / "case.onnx", [], 0.0, 0
    for name, model, tensor, outputs in cases():
        onnx.save(model, path)
        try:
            done = run(path, tensor, where)
        except vp.DescriptionError:
            continue  # Nothing in it is a unit's, or its shapes are none of a frame.
        assert done.hardware_layers > 0 and done.outputs is not None
        count += 1
        for found, right in zip(done.outputs.values(), outputs):
            if right is None:
                continue
            if found.shape != right.shape:
                wrong.append(f"{name}: {found.shape}, not {right.shape}")
                continue
            if name.startswith(LOST[where[1]]):
                continue
            distance = away(found, right)
            worst = max(worst, distance)
            if not distance <= MOST[where[1]]:
                wrong.append(f"{name}: {distance:.4f} of the range")
    assert not wrong, "\n".join(wrong)
    assert count >= 90
    table.add("cases of package onnx", where, "cases of which a unit does a part, distance in shares of the range", f"{count}, {worst:.4f} at most")
