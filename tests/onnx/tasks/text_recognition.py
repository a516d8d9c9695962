"""Text recognition (PP-OCRv4): one line of text as a picture to its string.

Input 1x3x48xW, W a multiple of 8 and at least 320: height 48 with the proportions kept, bilinear, blue first,
x / 127.5 - 1, filled up on the right with zeros. Output 1x(W/8)x6625, probabilities: class 0 is the blank of CTC,
then the characters in the model's metadata entry `character` (one a line), last the space.
"""

from __future__ import annotations

import math

import numpy as np
from PIL import Image

HEIGHT, LEAST_WIDTH = 48, 320


def prepare(picture: Image.Image, width: int | None = None) -> np.ndarray:
    own = math.ceil(HEIGHT * picture.width / picture.height)
    width = width or max(LEAST_WIDTH, -(-own // 8) * 8)
    scaled = picture.convert("RGB").resize((min(own, width), HEIGHT), Image.Resampling.BILINEAR)
    filled = np.zeros((1, 3, HEIGHT, width), np.float32)
    filled[0, :, :, : scaled.width] = np.asarray(scaled, np.float32)[:, :, ::-1].transpose(2, 0, 1) / 127.5 - 1
    return filled


def alphabet(character: str) -> list[str]:
    """The model's classes, out of its metadata."""
    return ["", *character.splitlines(), " "]


def answer(probabilities: np.ndarray, classes: list[str]) -> tuple[str, float]:
    """The text and the mean probability of its characters: the best class a step, repeats merged, blanks dropped.

    Spaces at the ends are dropped too: the model makes them of the picture's margins.
    """
    steps = np.asarray(probabilities).reshape(-1, len(classes))
    best = steps.argmax(1)
    taken = (best != 0) & (best != np.concatenate([[-1], best[:-1]]))
    return "".join(classes[k] for k in best[taken]).strip(), float(steps.max(1)[taken].mean()) if taken.any() else 0.0


def distance(a: str, b: str) -> int:
    """Characters to insert, delete or replace to turn one text into the other (Levenshtein)."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]
