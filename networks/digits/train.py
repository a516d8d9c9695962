#!/usr/bin/env python3
"""Trains the digits network, quantises it to int8 as NVDLA computes, and writes the files beside this script.

    pip install -r requirements.txt
    python3 train.py            writes network.toml, *.i8, *.i16 and samples.*
    python3 train.py --check    says whether the files that are there are the ones it would write

Everything is seeded, and gradients are rounded to a grid much coarser than what the order of a sum can change: the
files come out the same, bit for bit, whatever way numpy's linear algebra takes on a machine.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

FOLDER = Path(__file__).resolve().parent
SEED = 7
HELD_OUT = 360
EPOCHS = 45
BATCH = 48
RATE = 0.04
MOMENTUM = 0.9
DECAY = 5e-4
GRID = 2.0**-20

# name, kernels, kernel size, padding, ReLU, whether 2x2 max pooling follows
LAYERS = [
    ("conv1", 16, 3, 1, True, None),
    ("conv2", 16, 3, 1, True, "pool2"),
    ("conv3", 32, 3, 1, True, "pool3"),
    ("fc", 10, 2, 0, False, None),
]


def windows(x, size, padding):
    """[n, y, x, row, column, channel]: what each output position of a kernel sees."""
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    return np.moveaxis(np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(1, 2)), 3, 5)


def convolve(x, weights, padding):
    seen = windows(x, weights.shape[1], padding)
    return seen.reshape(*seen.shape[:3], -1) @ weights.reshape(len(weights), -1).T


def quarters(x):
    """[n, y, x, channel, 4]: the four pixels of each 2x2 window."""
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 5, 2, 4).reshape(n, h // 2, w // 2, c, 4)


def unquarter(q):
    n, h, w, c, _ = q.shape
    return q.reshape(n, h, w, c, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(n, 2 * h, 2 * w, c)


def forward(x, parameters):
    """The logits, and what going back needs of each layer: its input and its output before pooling."""
    seen = []
    for (_, _, _, padding, relu, pool), (weights, bias) in zip(LAYERS, parameters):
        y = convolve(x, weights, padding) + bias
        if relu:
            y = np.maximum(y, 0)
        seen.append((x, y))
        x = quarters(y).max(axis=4) if pool else y
    return x.reshape(len(x), -1), seen


def backward(slope, seen, parameters):
    """Gradients of weights and bias of each layer, from the slope of the logits."""
    slope = slope[:, None, None, :]
    gradients = []
    for (_, _, size, padding, relu, pool), (weights, _), (x, y) in reversed(list(zip(LAYERS, parameters, seen))):
        if pool:
            parts = quarters(y)
            first = parts.argmax(axis=4)
            slope = unquarter(np.where(np.arange(4) == first[..., None], slope[..., None], 0.0))
        if relu:
            slope = slope * (y > 0)
        inputs = windows(x, size, padding)
        flat = slope.reshape(-1, len(weights))
        gradients.append(((flat.T @ inputs.reshape(len(flat), -1)).reshape(weights.shape), flat.sum(axis=0)))
        turned = np.flip(weights, axis=(1, 2)).transpose(3, 1, 2, 0)
        slope = convolve(slope, np.ascontiguousarray(turned), size - 1 - padding)
    return gradients[::-1]


def train(images, labels, rng):
    parameters, channels = [], 1
    for _, kernels, size, _, _, _ in LAYERS:
        spread = np.sqrt(2 / (size * size * channels))
        parameters.append([rng.standard_normal((kernels, size, size, channels)) * spread, np.zeros(kernels)])
        channels = kernels
    speed = [[np.zeros_like(p) for p in pair] for pair in parameters]
    for epoch in range(EPOCHS):
        order = rng.permutation(len(images))
        rate = RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            # Each image moves by up to one pixel, so that there is more to learn from.
            moved = np.pad(images[chosen], ((0, 0), (1, 1), (1, 1), (0, 0)))
            moves = rng.integers(0, 3, (len(chosen), 2))
            moved = np.stack([image[y : y + 8, x : x + 8] for image, (y, x) in zip(moved, moves)])
            logits, seen = forward(moved, parameters)
            chance = np.exp(logits - logits.max(axis=1, keepdims=True))
            chance /= chance.sum(axis=1, keepdims=True)
            chance[np.arange(len(chosen)), labels[chosen]] -= 1
            for pair, speeds, gradient in zip(parameters, speed, backward(chance / len(chosen), seen, parameters)):
                for which in (0, 1):
                    step = MOMENTUM * speeds[which] - rate * (gradient[which] + DECAY * pair[which])
                    speeds[which] = np.round(step / GRID) * GRID
                    pair[which] = pair[which] + speeds[which]
    return parameters


def quantise(images, parameters):
    """int8 weights, int16 biases and output converters: for each layer its name and those."""
    layers, x, scale_in = [], images, 1 / 16
    for (name, _, _, padding, relu, pool), (weights, bias) in zip(LAYERS, parameters):
        y = convolve(x, weights, padding) + bias
        if relu:
            y = np.maximum(y, 0)
        scale_out = np.abs(y).max() / 127
        scale_weights = np.abs(weights).max() / 127
        # One step of the sums, which the bias is added to: SDP's BS stage shifts a 16-bit operand left.
        step = scale_in * scale_weights
        shift_left = 0
        while np.abs(bias / step).max() > 32767 * 2**shift_left:
            shift_left += 1
        # Sums become outputs by a 15-bit factor and a right shift.
        factor = step / scale_out
        shift = int(np.floor(np.log2(32767 / factor)))
        layers.append(
            {
                "name": name,
                "weights": np.round(weights / scale_weights).astype("i1"),
                "bias": np.round(bias / step / 2**shift_left).astype("<i2"),
                "bias_shift": shift_left,
                "scale": int(np.round(factor * 2**shift)),
                "shift": shift,
            }
        )
        x, scale_in = (quarters(y).max(axis=4) if pool else y), scale_out
    return layers


def round_shift(value, shift):
    """NVDLA's rounding: to nearest, ties away from zero."""
    half = (1 << shift) >> 1
    return np.sign(value) * ((np.abs(value) + half) >> shift)


def infer(pixels, layers):
    """The logits in NVDLA's arithmetic."""
    x = pixels.astype("i8")[..., None]
    for (_, _, _, padding, relu, pool), layer in zip(LAYERS, layers):
        y = convolve(x, layer["weights"].astype("i8"), padding)
        y = y + (layer["bias"].astype("i8") << layer["bias_shift"])
        if relu:
            y = np.maximum(y, 0)
        y = np.clip(round_shift(y * layer["scale"], layer["shift"]), -128, 127)
        x = quarters(y).max(axis=4) if pool else y
    return x.reshape(len(x), -1)


def description(layers):
    text = '# Written by train.py.\nname = "digits"\n\n[input]\nwidth = 8\nheight = 8\nchannels = 1\n'
    for (name, kernels, size, padding, relu, pool), layer in zip(LAYERS, layers):
        text += f"""
[[layer]]
name = "{name}"
kind = "convolution"
kernels = {kernels}
kernel = [{size}, {size}]
padding = [{padding}, {padding}]
weights = "{name}.weights.i8"
bias = {{ values = "{name}.bias.i16", shift = {layer["bias_shift"]} }}
relu = {str(relu).lower()}
converter = {{ scale = {layer["scale"]}, shift = {layer["shift"]} }}
"""
        if pool:
            text += f"""
[[layer]]
name = "{pool}"
kind = "pooling"
method = "max"
kernel = [2, 2]
stride = [2, 2]
"""
    return text


def main():
    digits = load_digits()
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(digits.target))
    pixels, labels = digits.images.astype("i1")[order], digits.target.astype("u1")[order]
    images = (pixels / 16.0)[..., None]
    train_images, train_labels = images[HELD_OUT:], labels[HELD_OUT:]
    parameters = train(train_images, train_labels, rng)
    layers = quantise(train_images, parameters)

    right = (forward(images[:HELD_OUT], parameters)[0].argmax(axis=1) == labels[:HELD_OUT]).sum()
    print(f"float  {right} of {HELD_OUT} held-out samples right")
    answers = infer(pixels, layers).argmax(axis=1)
    print(f"int8   {(answers == labels)[:HELD_OUT].sum()} of {HELD_OUT} held-out samples right")
    print(f"       {(answers == labels)[HELD_OUT:].sum()} of {len(answers) - HELD_OUT} trained ones")

    files = {"network.toml": description(layers).encode()}
    for layer in layers:
        files[f"{layer['name']}.weights.i8"] = layer["weights"].tobytes()
        files[f"{layer['name']}.bias.i16"] = layer["bias"].tobytes()
    files["samples.i8"] = pixels[:HELD_OUT].tobytes()
    files["samples.labels.u8"] = labels[:HELD_OUT].tobytes()
    if "--check" in sys.argv[1:]:
        differ = [name for name, data in files.items() if (FOLDER / name).read_bytes() != data]
        print(f"differ: {', '.join(differ)}" if differ else "the files are the same, bit for bit")
        return 1 if differ else 0
    for name, data in files.items():
        (FOLDER / name).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
