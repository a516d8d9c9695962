"""Small float networks with weights from a seed, and the quantised models that onnxruntime makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx.version_converter
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

SYMMETRIC = {"ActivationSymmetric": True, "WeightSymmetric": True}
KINDS = {
    "qdq-s8s8-tensor": (QuantFormat.QDQ, QuantType.QInt8, QuantType.QInt8, False, SYMMETRIC),
    "qdq-s8s8-channel": (QuantFormat.QDQ, QuantType.QInt8, QuantType.QInt8, True, SYMMETRIC),
    "qdq-s8s8-asymmetric": (QuantFormat.QDQ, QuantType.QInt8, QuantType.QInt8, False, {}),
    "qdq-u8s8-channel": (QuantFormat.QDQ, QuantType.QUInt8, QuantType.QInt8, True, {}),
    "qdq-u8u8-tensor": (QuantFormat.QDQ, QuantType.QUInt8, QuantType.QUInt8, False, {"WeightSymmetric": False}),
    "qop-s8s8-tensor": (QuantFormat.QOperator, QuantType.QInt8, QuantType.QInt8, False, SYMMETRIC),
    "qop-u8s8-channel": (QuantFormat.QOperator, QuantType.QUInt8, QuantType.QInt8, True, {}),
    "qop-u8u8-tensor": (QuantFormat.QOperator, QuantType.QUInt8, QuantType.QUInt8, False, {"WeightSymmetric": False}),
}


class Net:
    """A network in the making."""

    def __init__(self, seed: int, shape: tuple[int, ...]) -> None:
        self.random, self.shape = np.random.default_rng(seed), shape
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: object, kind: type = np.float32) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def normal(self, *shape: int, scale: float = 1.0) -> str:
        return self.constant(scale * self.random.standard_normal(shape))

    def op(self, operator: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        at = len(self.nodes)
        names = [f"{operator.lower()}{at}" + (f"_{k}" if k else "") for k in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, f"{operator}_{at}", **attributes))
        return names[0]

    def conv(self, x: str, channels: int, kernels: int, size: int = 3, stride: int = 1, groups: int = 1, pad: int | None = None, **more: object) -> str:
        each = channels // groups
        weights = self.random.standard_normal((kernels, each, size, size)) * np.sqrt(2 / (each * size * size))
        weights *= self.random.uniform(0.4, 1.6, (kernels, 1, 1, 1))
        pads = [size // 2 if pad is None else pad] * 4
        inputs = (x, self.constant(weights), self.normal(kernels, scale=0.2))
        return self.op("Conv", *inputs, kernel_shape=[size] * 2, strides=[stride] * 2, pads=pads, group=groups, **more)

    def line(self, x: str, channels: int, kernels: int, size: int = 3, stride: int = 1, groups: int = 1, dilation: int = 1) -> str:
        """A convolution of columns alone."""
        each = channels // groups
        weights = self.random.standard_normal((kernels, each, size)) * np.sqrt(2 / (each * size))
        inputs = (x, self.constant(weights), self.normal(kernels, scale=0.2))
        pads = [dilation * (size // 2)] * 2
        return self.op("Conv", *inputs, kernel_shape=[size], strides=[stride], pads=pads, dilations=[dilation], group=groups)

    def save(self, output: str, path: Path) -> None:
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, path.stem, [value("image", TensorProto.FLOAT, self.shape)], [value(output, TensorProto.FLOAT, None)], self.constants
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model, strict_mode=True), path)


def one_layer(body: Callable[[Net, str], str]) -> Callable[[], tuple[Net, str]]:
    """A network of one operation."""

    def made() -> tuple[Net, str]:
        net = Net(5, (1, 8, 12, 12))
        return net, body(net, "image")

    return made


def branches() -> tuple[Net, str]:
    """Residual, branches that join, and a fully connected layer at the end."""
    net = Net(1, (1, 3, 32, 32))
    x = net.op("MaxPool", net.op("Relu", net.conv("image", 3, 16)), kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Relu", net.op("Add", net.conv(net.op("Relu", net.conv(x, 16, 16)), 16, 16), x))
    x = net.op("Concat", net.op("Relu", net.conv(x, 16, 24, 1)), net.op("Relu", net.conv(x, 16, 8)), axis=1)
    x = net.op("Flatten", net.op("GlobalAveragePool", net.op("Relu", net.conv(x, 32, 40, stride=2))))
    return net, net.op("Gemm", x, net.normal(10, 40, scale=0.3), net.normal(10, scale=0.1), transB=1)


def depthwise() -> tuple[Net, str]:
    """Inverted residuals with limits of 0 and 6."""
    net = Net(2, (1, 3, 32, 32))
    six = net.constant(0.0), net.constant(6.0)

    def limited(x: str) -> str:
        return net.op("Clip", x, *six)

    x = limited(net.conv("image", 3, 16, stride=2))
    x = net.conv(limited(net.conv(x, 16, 16, groups=16)), 16, 24, 1)
    y = limited(net.conv(limited(net.conv(x, 24, 72, 1)), 72, 72, 5, groups=72))
    x = net.op("Add", x, net.conv(y, 72, 24, 1))
    return net, net.conv(limited(net.conv(x, 24, 24, stride=2, groups=24)), 24, 12, 1)


def squeeze_excite() -> tuple[Net, str]:
    """Channels weighed by what is in all of the picture; x times Sigmoid(x)."""
    net = Net(3, (1, 3, 32, 32))
    x = net.op("HardSwish", net.conv("image", 3, 16, stride=2))
    gate = net.conv(net.op("Relu", net.conv(net.op("GlobalAveragePool", x), 16, 8, 1)), 8, 16, 1)
    x = net.conv(net.op("Mul", x, net.op("HardSigmoid", gate, alpha=1 / 6, beta=0.5)), 16, 24)
    return net, net.op("Sigmoid", net.conv(net.op("Mul", x, net.op("Sigmoid", x)), 24, 4, 1))


def series() -> tuple[Net, str]:
    """Columns without lines, as sound has them: dilated convolutions, a residual, branches that join."""
    net = Net(4, (1, 8, 160))
    x = net.op("MaxPool", net.op("Relu", net.line("image", 8, 24, 5, stride=2)), kernel_shape=[3], strides=[2], pads=[1, 1])
    y = net.line(net.op("Relu", net.line(x, 24, 24, groups=24, dilation=2)), 24, 24, 1)
    x = net.op("Relu", net.op("Add", x, y))
    x = net.op("AveragePool", net.op("Concat", x, net.line(x, 24, 16), axis=1), kernel_shape=[2], strides=[2])
    return net, net.op("Gemm", net.op("Flatten", net.op("GlobalAveragePool", x)), net.normal(10, 40, scale=0.3), net.normal(10), transB=1)


LAYERS = {
    "Conv": one_layer(lambda net, x: net.conv(x, 8, 16)),
    "Conv, Relu": one_layer(lambda net, x: net.op("Relu", net.conv(x, 8, 16))),
    "Conv, dilated": one_layer(lambda net, x: net.conv(x, 8, 8, pad=2, dilations=[2, 2])),
    "Conv, depthwise": one_layer(lambda net, x: net.conv(x, 8, 8, 5, groups=8)),
    "Conv, groups": one_layer(lambda net, x: net.conv(x, 8, 16, stride=2, groups=2)),
    "Conv, Add": one_layer(lambda net, x: net.op("Add", net.conv(x, 8, 8), x)),
    "Conv, Add, Relu": one_layer(lambda net, x: net.op("Relu", net.op("Add", net.conv(x, 8, 8), x))),
    "Conv, MaxPool": one_layer(lambda net, x: net.op("MaxPool", net.conv(x, 8, 8), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])),
    "Conv, AveragePool": one_layer(lambda net, x: net.op("AveragePool", net.conv(x, 8, 8), kernel_shape=[2, 2], strides=[2, 2])),
    "Conv, GlobalAveragePool": one_layer(lambda net, x: net.op("GlobalAveragePool", net.conv(x, 8, 8))),
    "Conv, Concat": one_layer(lambda net, x: net.op("Concat", net.conv(x, 8, 8), net.conv(x, 8, 8, 1), axis=1)),
    "Conv, Sigmoid": one_layer(lambda net, x: net.op("Sigmoid", net.conv(x, 8, 8))),
    "Conv, LeakyRelu": one_layer(lambda net, x: net.op("LeakyRelu", net.conv(x, 8, 8), alpha=0.1)),
    "Gemm": one_layer(lambda net, x: net.op("Gemm", net.op("Flatten", x), net.normal(10, 1152, scale=0.03), net.normal(10), transB=1)),
}
"""Operations, each a network of its own."""

NETWORKS = {"branches": branches, "depthwise": depthwise, "squeeze and excite": squeeze_excite, "series": series}


class Samples(CalibrationDataReader):
    """Samples for onnxruntime's calibration."""

    def __init__(self, tensors: list[np.ndarray], name: str = "image") -> None:
        self.left: Iterator[dict[str, np.ndarray]] = iter([{name: tensor} for tensor in tensors])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.left, None)


def make(net: Callable[[], tuple[Net, str]], kind: str, folder: Path) -> tuple[Path, np.ndarray]:
    """A quantised model's file, and a sample."""
    made, output = net()
    made.save(output, folder / "float.onnx")
    quant_pre_process(folder / "float.onnx", folder / "prepared.onnx", skip_symbolic_shape=True)
    draw = np.random.default_rng(77)
    samples = [np.clip(draw.standard_normal(made.shape) + 0.2, -2, 2.5).astype(np.float32) for _ in range(8)]
    form, activations, weights, per_channel, options = KINDS[kind]
    path = folder / f"{kind}.onnx"
    quantize_static(
        folder / "prepared.onnx",
        path,
        Samples(samples),
        quant_format=form,
        activation_type=activations,
        weight_type=weights,
        per_channel=per_channel,
        extra_options=options,
    )
    return path, samples[0]


def quantise(path: Path, samples: list[np.ndarray], folder: Path) -> Path:
    """A float model quantised by onnxruntime: codes without a sign, weights by kernels."""
    model, prepared, made = onnx.load(path), folder / f"{path.stem}-prepared.onnx", folder / f"{path.stem}-qdq-u8s8.onnx"
    # Scales by kernels have an axis, which version 13 brought.
    onnx.save(onnx.version_converter.convert_version(model, 13), prepared)
    quant_pre_process(prepared, prepared, skip_symbolic_shape=True)
    reader = Samples(samples, model.graph.input[0].name)
    quantize_static(prepared, made, reader, quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True)
    return made


def steps(path: Path) -> tuple[float, float]:
    """The largest step of codes between a model's input and its output, and that of its output or the last codes before it."""
    model = onnx.load(path)
    constants = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    codes = {"QuantizeLinear": 1, "DequantizeLinear": 1, "QLinearConv": 6, "QGemm": 7, "QLinearAdd": 6, "QLinearSigmoid": 3}
    codes |= {"QLinearLeakyRelu": 3, "QLinearConcat": 0, "QLinearAveragePool": 3, "QLinearGlobalAveragePool": 3}
    found = []
    for node in model.graph.node:
        is_of_weights = node.op_type == "DequantizeLinear" and node.input[0] in constants
        if node.op_type in codes and not is_of_weights:
            found.append((node.op_type, float(constants[node.input[codes[node.op_type]]])))
    last = [step for operator, step in found if operator == "DequantizeLinear"][-1]
    # The first is the input's, which is as exact as can be.
    between = [step for operator, step in found if operator != "DequantizeLinear"][1:-1]
    return max(between, default=0.0), last
