"""Writes digits.onnx: the network of network.toml as a quantised ONNX model, of the same integers.

    pip install onnx numpy
    python networks/digits/onnx_model.py

A step of the input and of each output is 1; that of weights is the factor of the layer's converter.
"""

import pathlib
import tomllib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

here = pathlib.Path(__file__).parent
description = tomllib.loads((here / "network.toml").read_text())
nodes, constants = [], []


def constant(name, array):
    constants.append(numpy_helper.from_array(np.asarray(array), name))
    return name


def quantised(value, name, scale):
    """A value rounded to int8 and taken back."""
    parameters = [constant(f"{name}_scale", np.float32(scale)), constant(f"{name}_zero", np.int8(0))]
    nodes.append(helper.make_node("QuantizeLinear", [value, *parameters], [f"{name}_codes"], name=f"{name}_quantize"))
    nodes.append(helper.make_node("DequantizeLinear", [f"{name}_codes", *parameters], [f"{name}_numbers"], name=f"{name}_dequantize"))
    return f"{name}_numbers"


def integers(name, array, scale):
    """A constant of integers taken back."""
    parameters = [constant(f"{name}_codes", array), constant(f"{name}_scale", np.float32(scale))]
    nodes.append(helper.make_node("DequantizeLinear", parameters, [name], name=f"{name}_dequantize"))
    return name


value = quantised("image", "input", 1.0)
channels = description["input"]["channels"]
for layer in description["layer"]:
    name = layer["name"]
    if layer["kind"] == "pooling":
        nodes.append(helper.make_node("MaxPool", [value], [name], name=name, kernel_shape=layer["kernel"], strides=layer["stride"]))
        value = name
        continue
    columns, rows = layer["kernel"]
    kernels = layer["kernels"]
    weights = np.fromfile(here / layer["weights"], np.int8).reshape(kernels, rows, columns, channels)
    bias = np.fromfile(here / layer["bias"]["values"], "<i2").astype(np.int32) << layer["bias"]["shift"]
    factor = layer["converter"]["scale"] / 2.0 ** layer["converter"]["shift"]
    weights = integers(f"{name}_weights", weights.transpose(0, 3, 1, 2).copy(), factor)
    inputs = [value, weights, integers(f"{name}_bias", bias, factor)]
    right, down = layer["padding"]
    nodes.append(helper.make_node("Conv", inputs, [f"{name}_sums"], name=name, pads=[down, right, down, right]))
    value, channels = f"{name}_sums", kernels
    if layer["relu"]:
        nodes.append(helper.make_node("Relu", [value], [f"{name}_positive"], name=f"{name}_relu"))
        value = f"{name}_positive"
    value = quantised(value, name, 1.0)
nodes.append(helper.make_node("Flatten", [value], ["scores"], name="scores"))
size = description["input"]
graph = helper.make_graph(
    nodes,
    description["name"],
    [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, size["channels"], size["height"], size["width"]])],
    [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, channels])],
    constants,
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, here / "digits.onnx")
