"""Graphs of whole networks of package `onnx`, which have shapes in place of weights, with weights drawn from a seed.

Weights have variance 2 / fan-in, and each BatchNormalization the mean and variance of what reaches it, so that numbers stay near one
through the whole depth.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

NAMES = ("squeezenet", "shufflenet", "inception_v1", "inception_v2", "densenet121", "resnet50", "bvlc_alexnet", "zfnet512", "vgg19")
ROUNDS = 24
"""So often numbers are computed at most to find out what reaches BatchNormalization."""


def computed(model: onnx.ModelProto, names: list[str], tensor: np.ndarray) -> list[np.ndarray]:
    """Values within a model."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    del probe.graph.output[:]
    probe.graph.output.extend(helper.make_value_info(name, onnx.TypeProto()) for name in names)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(probe.SerializeToString(), options)
    return session.run(names, {model.graph.input[0].name: tensor})


class Drawn:
    """A graph whose constants are drawn."""

    def __init__(self, name: str) -> None:
        folder = Path(onnx.__file__).parent / "backend/test/data/light"
        self.model, self.random = onnx.load(folder / f"light_{name}.onnx"), np.random.default_rng(54)
        self.model.ir_version = 8  # Initializers need not be inputs from here on.
        graph = self.model.graph
        self.shapes = {one.name: tuple(one.dims) for one in graph.initializer}
        self.roles = self.find_roles()
        made = {}
        for node in graph.node:
            if node.op_type == "ConstantOfShape":
                [sizes] = [one for one in graph.initializer if one.name == node.input[0]]
                made[node.output[0]] = self.draw(node.output[0], numpy_helper.to_array(sizes).tolist())
        for one in graph.initializer:
            if one.data_type == onnx.TensorProto.FLOAT:
                made[one.name] = self.draw(one.name, one.dims)
        kept = [node for node in graph.node if node.op_type != "ConstantOfShape"]
        del graph.node[:]
        graph.node.extend(kept)
        for key, value in made.items():
            self.store(key, value)
        inputs = [one for one in graph.input if one.name not in self.shapes and one.name not in made]
        del graph.input[:]
        graph.input.extend(inputs)
        read = {name for node in graph.node for name in node.input}
        initializers = [one for one in graph.initializer if one.name in read]
        del graph.initializer[:]
        graph.initializer.extend(initializers)

    def find_roles(self) -> dict[str, tuple[str, int]]:
        """Of each value an operator that takes it, through what changes its shape only, and the place there."""
        nodes = self.model.graph.node
        before = {node.output[0]: node.input[0] for node in nodes if node.op_type in ("Unsqueeze", "Reshape")}
        roles = {name: (node.op_type, at) for node in nodes for at, name in enumerate(node.input)}
        for name, source in before.items():
            if name in roles:
                roles[source] = roles[name]
        return roles

    def draw(self, name: str, shape: list[int]) -> np.ndarray:
        operator, place = self.roles.get(name, ("", 0))
        if operator in ("Conv", "Gemm") and place == 1:
            fan_in = np.prod(shape[1:]) if len(shape) == 4 else shape[-1]
            drawn = self.random.standard_normal(shape) * np.sqrt((2 if operator == "Conv" else 1) / fan_in)
        elif (operator, place) in (("BatchNormalization", 1), ("BatchNormalization", 4), ("Mul", 1)):
            drawn = self.random.uniform(0.5, 1.5, shape)
        else:
            drawn = 0.1 * self.random.standard_normal(shape)
        return drawn.astype(np.float32)

    def store(self, name: str, value: np.ndarray) -> None:
        for one in self.model.graph.initializer:
            if one.name == name:
                one.CopyFrom(numpy_helper.from_array(value, name))
                return
        self.model.graph.initializer.append(numpy_helper.from_array(value, name))

    def picture(self) -> np.ndarray:
        """Smooth patches with noise, between -1 and 1."""
        sizes = [one.dim_value for one in self.model.graph.input[0].type.tensor_type.shape.dim]
        patches = self.random.standard_normal((*sizes[:2], 14, 14))
        drawn = np.kron(patches, np.ones((1, 1, sizes[2] // 14, sizes[3] // 14))) + 0.3 * self.random.standard_normal(sizes)
        return np.clip(drawn / 2, -1, 1).astype(np.float32)

    def settle(self, tensor: np.ndarray) -> None:
        """Gives each BatchNormalization about the mean and the variance of what reaches it."""
        nodes = [node for node in self.model.graph.node if node.op_type == "BatchNormalization"]
        step = max(1, -(-len(nodes) // ROUNDS))
        for first in range(0, len(nodes), step):
            part = nodes[first : first + step]
            for node, value in zip(part, computed(self.model, [node.input[0] for node in part], tensor)):
                mean, variance = value.mean((0, 2, 3)), value.var((0, 2, 3)) + 1e-3
                mean += 0.1 * np.sqrt(variance) * self.random.standard_normal(mean.shape)
                self.store(node.input[3], mean.astype(np.float32))
                self.store(node.input[4], (variance * self.random.uniform(0.7, 1.4, variance.shape)).astype(np.float32))


def make(name: str, folder: Path) -> tuple[Path, np.ndarray, list[np.ndarray]]:
    """A network's file, an input, and other inputs to calibrate by."""
    drawn = Drawn(name)
    tensor = drawn.picture()
    drawn.settle(tensor)
    path = folder / f"{name}.onnx"
    onnx.save(drawn.model, path)
    return path, tensor, [drawn.picture() for _ in range(2)]
