"""Boxes (left, top, right, bottom): overlap, suppression, and how well two sets of them agree."""

from __future__ import annotations

import numpy as np


def area(boxes: np.ndarray) -> np.ndarray:
    return np.maximum(boxes[..., 2] - boxes[..., 0], 0) * np.maximum(boxes[..., 3] - boxes[..., 1], 0)


def overlap(a: np.ndarray, b: np.ndarray, of: str = "union") -> np.ndarray:
    """Intersection of each of `a` with each of `b`, over their union or over the smaller of the two."""
    a, b = np.asarray(a, float).reshape(-1, 1, 4), np.asarray(b, float).reshape(1, -1, 4)
    both = area(np.concatenate([np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])], -1))
    whole = area(a) + area(b) - both if of == "union" else np.minimum(area(a), area(b))
    return both / np.maximum(whole, 1e-9)


def suppressed(boxes: np.ndarray, scores: np.ndarray, limit: float, of: str = "union") -> np.ndarray:
    """Indices, best score first, of the boxes that no better one covers by more than `limit`."""
    order, kept = list(np.argsort(-scores, kind="stable")), []
    while order:
        best = order.pop(0)
        kept.append(best)
        if order:
            covered = overlap(boxes[best], boxes[order], of)[0] > limit
            order = [k for k, is_covered in zip(order, covered) if not is_covered]
    return np.array(kept, int)


def agreement(found: np.ndarray, right: np.ndarray) -> tuple[float, int, int]:
    """Smallest overlap among the pairs matched greedily, how many of `right` were missed, and how many `found` were too many.

    Pairs that overlap by less than a half do not count as matched.
    """
    table = overlap(found, right) if len(found) and len(right) else np.zeros((len(found), len(right)))
    worst, matched = 1.0, 0
    while table.size and table.max() >= 0.5:
        row, column = np.unravel_index(table.argmax(), table.shape)
        worst, matched = min(worst, float(table[row, column])), matched + 1
        table[row], table[:, column] = 0, 0
    return worst, len(right) - matched, len(found) - matched
