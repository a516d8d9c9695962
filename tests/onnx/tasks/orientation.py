"""Orientation of a page (PP-LCNet x1.0): by how many quarter turns it was turned.

Input 1x3x224x224: shorter side scaled to 256, the middle 224x224 cut out, blue first, x / 255, then less the mean
(0.485, 0.456, 0.406) and over the deviation (0.229, 0.224, 0.225), in that order of channels. Output 1x4, probabilities of
the labels 0, 90, 180, 270.
"""

from __future__ import annotations

import numpy as np
from PIL import Image

LABELS = ("0", "90", "180", "270")
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


def normalised(picture: Image.Image) -> np.ndarray:
    """1x3xHxW, blue first, with ImageNet's mean and deviation."""
    plane = np.asarray(picture.convert("RGB"), np.float32)[:, :, ::-1]
    return ((plane / 255 - MEAN) / DEVIATION).transpose(2, 0, 1)[None].astype(np.float32)


def prepare(picture: Image.Image) -> np.ndarray:
    scale = 256 / min(picture.size)
    scaled = picture.resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.LANCZOS)
    left, top = (scaled.width - 224) // 2, (scaled.height - 224) // 2
    return normalised(scaled.crop((left, top, left + 224, top + 224)))


def answer(probabilities: np.ndarray) -> tuple[str, float]:
    best = int(np.argmax(probabilities))
    return LABELS[best], float(np.ravel(probabilities)[best])
