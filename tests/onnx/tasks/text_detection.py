"""Text detection (PP-OCRv4, differentiable binarisation): where on a picture the lines of text are.

Input 1x3xHxW, H and W multiples of 32, blue first, x / 127.5 - 1. Output 1x1xHxW, the probability of each pixel to lie in the
shrunken core of a line. Boxes here are upright: lines of slanted text get the box around them.
"""

from __future__ import annotations

import numpy as np
from PIL import Image

LEAST_SIDE, CORE, LINE, GROW = 736, 0.3, 0.5, 1.6


def prepare(picture: Image.Image, least_side: int = LEAST_SIDE) -> np.ndarray:
    """Scaled up until the shorter side has `least_side`, never down, then each side to the nearest multiple of 32."""
    scale = max(1.0, least_side / min(picture.size))
    width, height = (max(32, round(int(side * scale) / 32) * 32) for side in picture.size)
    scaled = picture.convert("RGB").resize((width, height), Image.Resampling.BILINEAR)
    return (np.asarray(scaled, np.float32)[:, :, ::-1].transpose(2, 0, 1)[None] / 127.5 - 1).astype(np.float32)


def islands(mask: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Boxes around the connected parts of `mask` (eight neighbours)."""
    parent: list[int] = []
    runs: list[tuple[int, int, int]] = []
    above: list[int] = []

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = k = parent[parent[k]]
        return k

    for y, row in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
        here = []
        for start, end in zip(edges[::2], edges[1::2]):
            here.append(len(runs))
            parent.append(len(runs))
            runs.append((y, int(start), int(end)))
            for other in above:
                if runs[other][1] <= end and runs[other][2] >= start:
                    parent[root(other)] = root(here[-1])
        above = here
    found: dict[int, tuple[int, int, int, int]] = {}
    for k, (y, start, end) in enumerate(runs):
        left, top, right, bottom = found.get(root(k), (start, y, end, y + 1))
        found[root(k)] = (min(left, start), min(top, y), max(right, end), max(bottom, y + 1))
    return sorted(found.values(), key=lambda box: (box[1], box[0]))


def answer(probability: np.ndarray, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Boxes in pixels of a picture of `size`, top to bottom, and the score of each.

    A box is the core grown on every side by area x 1.6 / perimeter; its score is the mean probability within the core.
    """
    plane = np.asarray(probability).reshape(probability.shape[-2:])
    scale = np.array([size[0] / plane.shape[1], size[1] / plane.shape[0]] * 2)
    boxes, scores = [], []
    for left, top, right, bottom in islands(plane > CORE):
        width, height, score = right - left, bottom - top, float(plane[top:bottom, left:right].mean())
        if min(width, height) >= 3 and score >= LINE:
            grown = width * height * GROW / (2 * (width + height))
            box = np.array([left - grown, top - grown, right + grown, bottom + grown]) * scale
            boxes.append(np.clip(box, 0, [*size, *size]))
            scores.append(score)
    return np.array(boxes).reshape(-1, 4), np.array(scores)
