"""Face detection (MTCNN): P-net proposes on a pyramid of sizes, R-net sifts, O-net gives box and five points.

Every network takes NxWxHx3 (the picture is transposed: x before y), red first, (x - 127.5) / 128. Outputs: corrections of the box in
shares of its size, (for O-net) five points, and the probabilities of no face and face. P-net looks at 12x12 cells with stride 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image

from boxes import suppressed

Run = Callable[[str, np.ndarray], Sequence[np.ndarray]]
"""A network's name (`pnet`, `rnet`, `onet`) and its input to its outputs, in the order of the file."""

SHRINK, PROPOSE, SIFT, KEEP = 0.709, 0.6, 0.7, 0.7


def tensor(picture: Image.Image) -> np.ndarray:
    return ((np.asarray(picture, np.float32).transpose(1, 0, 2)[None] - 127.5) / 128).astype(np.float32)


def scaled(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """The mean of the pixels that fall together where it shrinks, bilinear where it grows."""
    return picture.resize(size, Image.Resampling.BOX if picture.width > size[0] else Image.Resampling.BILINEAR)


def pyramid(size: tuple[int, int], least_face: int) -> list[float]:
    """Scales at which a face of `least_face` pixels and larger ones fill a cell of P-net."""
    scale, scales = 12 / least_face, []
    while min(size) * scale >= 12:
        scales.append(scale)
        scale *= SHRINK
    return scales


def proposals(corrections: np.ndarray, probabilities: np.ndarray, scale: float) -> np.ndarray:
    """Rows of left, top, right, bottom, score and four corrections, of P-net's outputs at one scale."""
    x, y = np.nonzero(probabilities[0, :, :, 1] >= PROPOSE)
    corner = np.stack([x, y], 1) * 2
    edges = np.concatenate([np.fix((corner + 1) / scale), np.fix((corner + 12) / scale)], 1)
    rows = np.concatenate([edges, probabilities[0, x, y, 1:], corrections[0, x, y]], 1)
    return rows[suppressed(rows[:, :4], rows[:, 4], 0.5)]


def corrected(boxes: np.ndarray, corrections: np.ndarray, end: int = 0) -> np.ndarray:
    """Boxes moved by their corrections; `end` is 1 where the right and bottom edge are pixels that belong to the box."""
    extent = boxes[:, 2:4] - boxes[:, :2] + end
    return boxes[:, :4] + corrections * np.concatenate([extent, extent], 1)


def squared(boxes: np.ndarray) -> np.ndarray:
    """Boxes of the same middle whose sides are the longer one."""
    middle, half = (boxes[:, :2] + boxes[:, 2:4]) / 2, (boxes[:, 2:4] - boxes[:, :2]).max(1, keepdims=True) / 2
    return np.fix(np.concatenate([middle - half, middle + half], 1))


def cut(picture: Image.Image, boxes: np.ndarray, side: int) -> np.ndarray:
    """The boxes' contents at `side` x `side`, pixels counted from one; outside the picture they are black."""
    parts = [picture.crop((int(left) - 1, int(top) - 1, int(right), int(bottom))) for left, top, right, bottom in boxes]
    return np.concatenate([tensor(scaled(part, (side, side))) for part in parts])


def faces(picture: Image.Image, run: Run, least_face: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Rows of left, top, right, bottom and score, best first, and of each five points (eyes, nose, corners of the mouth)."""
    picture, rows = picture.convert("RGB"), [np.zeros((0, 9))]
    for scale in pyramid(picture.size, least_face):
        size = tuple(math.ceil(side * scale) for side in picture.size)
        rows.append(proposals(*run("pnet", tensor(scaled(picture, size))), scale))
    found = np.concatenate(rows)
    found = found[suppressed(found[:, :4], found[:, 4], 0.7)]
    boxes = squared(corrected(found, found[:, 5:]))
    nothing = np.zeros((0, 5)), np.zeros((0, 5, 2))
    if not len(boxes):
        return nothing
    corrections, probabilities = run("rnet", cut(picture, boxes, 24))
    sure = probabilities[:, 1] > SIFT
    boxes, corrections, score = boxes[sure], corrections[sure], probabilities[sure, 1]
    kept = suppressed(boxes, score, 0.7)
    boxes = squared(corrected(boxes[kept], corrections[kept], 1))
    if not len(boxes):
        return nothing
    corrections, points, probabilities = run("onet", cut(picture, boxes, 48))
    sure = probabilities[:, 1] > KEEP
    boxes, corrections, points, score = boxes[sure], corrections[sure], points[sure], probabilities[sure, 1]
    extent = boxes[:, 2:] - boxes[:, :2] + 1
    points = points.reshape(-1, 2, 5).transpose(0, 2, 1) * extent[:, None] + boxes[:, None, :2]
    boxes = corrected(boxes, corrections, 1)
    kept = suppressed(boxes, score, 0.7, "smaller")
    return np.concatenate([boxes[kept], score[kept, None]], 1), points[kept]
