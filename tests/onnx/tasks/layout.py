"""Page layout (PicoDet, CDLA classes): regions of a page with their kinds.

Input 1x3x800x608 (H x W): scaled without keeping proportions, bilinear, normalised as for orientation. Eight outputs: for the
strides 8, 16, 32, 64 the probabilities of ten kinds at each cell, then for the same strides 4 x 8 numbers a cell: a distribution
over the distances 0..7 (in strides) from the cell's middle to the left, top, right and bottom edge.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image

from boxes import suppressed
from orientation import normalised

HEIGHT, WIDTH, STRIDES = 800, 608, (8, 16, 32, 64)
KINDS = ("text", "title", "figure", "figure_caption", "table", "table_caption", "header", "footer", "reference", "equation")


def prepare(picture: Image.Image) -> np.ndarray:
    return normalised(picture.convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.BILINEAR))


def decoded(distances: np.ndarray, stride: int) -> np.ndarray:
    """Boxes of all cells of one stride, in pixels of the input."""
    rows, columns = -(-HEIGHT // stride), -(-WIDTH // stride)
    weights = np.exp(distances.reshape(rows * columns, 4, -1) - distances.reshape(rows * columns, 4, -1).max(2, keepdims=True))
    reach = (weights / weights.sum(2, keepdims=True)) @ np.arange(weights.shape[2]) * stride
    y, x = ((np.indices((rows, columns)).reshape(2, -1) + 0.5) * stride)
    return np.stack([x - reach[:, 0], y - reach[:, 1], x + reach[:, 2], y + reach[:, 3]], 1)


def answer(outputs: Sequence[np.ndarray], size: tuple[int, int], least: float = 0.5) -> list[tuple[str, float, np.ndarray]]:
    """Kind, score and box of each region in pixels of a picture of `size`, best first within a kind."""
    scores = np.concatenate([np.asarray(output)[0] for output in outputs[:4]])
    boxes = np.concatenate([decoded(np.asarray(output)[0], stride) for output, stride in zip(outputs[4:], STRIDES)])
    boxes = np.clip(boxes, 0, [WIDTH, HEIGHT, WIDTH, HEIGHT]) * np.array([size[0] / WIDTH, size[1] / HEIGHT] * 2)
    found = []
    for kind, name in enumerate(KINDS):
        cells = np.flatnonzero(scores[:, kind] > least)
        for k in suppressed(boxes[cells], scores[cells, kind], 0.5):
            found.append((name, float(scores[cells[k], kind]), boxes[cells[k]]))
    return found
