"""Text direction (PP-OCR mobile v2.0 classifier): whether a line of text stands on its head.

Input 1x3x48x192, prepared as for text recognition at that fixed width. Output 1x2, probabilities of 0 and 180 degrees.
"""

from __future__ import annotations

import numpy as np
from PIL import Image

import text_recognition

LABELS = ("0", "180")


def prepare(picture: Image.Image) -> np.ndarray:
    return text_recognition.prepare(picture, width=192)


def answer(probabilities: np.ndarray) -> tuple[str, float]:
    best = int(np.argmax(probabilities))
    return LABELS[best], float(np.ravel(probabilities)[best])
