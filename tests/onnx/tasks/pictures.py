"""Sample pictures with their right answers, drawn with Pillow's built-in font.

    python pictures.py FOLDER

writes PNG files and `truth.json`. A photograph for faces is not drawn: `astronaut()` reads the one inside package
`scikit-image` (NASA, public domain).
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

Box = tuple[float, float, float, float]

LINES = [
    "NVDLA virtual platform",
    "The quick brown fox 1234",
    "weights in, answers out",
    "Chapter 7: Memory",
    "SERIAL NO 50-8841",
    "total 317.25 kB",
]

PROSE = (
    "A convolution reads a block of the picture, multiplies it with a block of weights and adds up what it finds. "
    "The adder keeps its sum until every channel has been read, and only then is a row of results written back. "
    "Between two layers the data wait in memory, where other units can read them as soon as the first rows are there. "
    "Whoever measures such a machine counts bytes before operations, since the arithmetic is seldom what it waits for. "
    "The figure shows a small network of this kind, and the table lists how long each of its layers took. "
).split()


def text_line(text: str, size: int = 32, margin: int = 8) -> Image.Image:
    """One line of dark text, cut out closely as a text detector would."""
    font = ImageFont.load_default(size)
    left, top, right, bottom = font.getbbox(text)
    picture = Image.new("RGB", (int(right - left) + 2 * margin, int(bottom - top) + 2 * margin), (248, 246, 240))
    ImageDraw.Draw(picture).text((margin - left, margin - top), text, (20, 24, 40), font)
    return picture


def paragraph(draw: ImageDraw.ImageDraw, box: Box, size: int, first: int = 0) -> Box:
    """Prose set into `box`, ragged right; returns the box of what was drawn."""
    font, (x, y, right, bottom) = ImageFont.load_default(size), box
    word, widest, step = first, x, round(size * 1.35)
    while y + size <= bottom:
        line = ""
        while font.getlength(f"{line} {PROSE[word % len(PROSE)]}") <= right - x:
            line, word = f"{line} {PROSE[word % len(PROSE)]}".strip(), word + 1
        draw.text((x, y), line, (15, 15, 15), font)
        widest, y = max(widest, x + font.getlength(line)), y + step
    return (x, box[1], widest, y - step + size)


def page_of_text(size: tuple[int, int] = (620, 820)) -> Image.Image:
    """A page of prose under a heading."""
    picture = Image.new("RGB", size, "white")
    draw, (w, h) = ImageDraw.Draw(picture), size
    draw.text((50, 40), "Where the time goes", "black", ImageFont.load_default(30))
    paragraph(draw, (50, 100, w - 50, h - 60), 18)
    return picture


def scattered_text(size: int = 640) -> tuple[Image.Image, list[Box]]:
    """Lines of several sizes on one picture, and the box of each."""
    picture = Image.new("RGB", (size, size), (236, 240, 244))
    draw, boxes = ImageDraw.Draw(picture), []
    places = [(40, 50, 36), (60, 140, 28), (180, 215, 24), (30, 300, 44), (240, 410, 32), (90, 520, 40)]
    for text, (x, y, points) in zip(LINES, places):
        font = ImageFont.load_default(points)
        draw.text((x, y), text, (30, 30, 60), font)
        boxes.append(tuple(float(v) for v in draw.textbbox((x, y), text, font)))
    return picture, boxes


def document(size: tuple[int, int] = (912, 1200)) -> tuple[Image.Image, list[tuple[str, Box]]]:
    """A page with title, text, figure, table and captions, and the box of each region."""
    picture = Image.new("RGB", size, "white")
    draw, truth = ImageDraw.Draw(picture), []

    def words(kind: str, place: tuple[float, float], text: str, points: int) -> None:
        font = ImageFont.load_default(points)
        draw.text(place, text, "black", font)
        truth.append((kind, draw.textbbox(place, text, font)))

    words("title", (80, 60), "Where the Time of a Network Goes", 36)
    truth.append(("text", paragraph(draw, (80, 130, 832, 300), 18)))
    shade = np.add.outer(np.linspace(40, 120, 280), np.linspace(0, 110, 480))
    ripple = 25 * np.sin(np.add.outer(np.arange(280) / 17, np.arange(480) / 29))
    plane = np.clip(shade + ripple, 0, 255).astype(np.uint8)
    picture.paste(Image.fromarray(np.stack([plane, 255 - plane, plane // 2 + 90], 2)), (216, 330))
    for k, tall in enumerate((60, 130, 95, 200, 170, 40)):
        draw.rectangle((250 + 70 * k, 590 - tall, 295 + 70 * k, 590), (250, 220 - 25 * k, 60))
    truth.append(("figure", (216.0, 330.0, 696.0, 610.0)))
    words("figure_caption", (270, 625), "Figure 1: cycles of the six layers of the network", 16)
    truth.append(("text", paragraph(draw, (80, 670, 832, 800), 18, 40)))
    words("table_caption", (290, 820), "Table 1: layers, bytes and cycles", 16)
    rows = [["layer", "kernels", "bytes", "cycles"]] + [[f"conv{k}", str(16 << k), f"{3171 * k}", f"{48 * k}.{k} k"] for k in range(1, 6)]
    for r, row in enumerate(rows):
        draw.line((120, 850 + 34 * r, 792, 850 + 34 * r), "black", 2)
        for c, cell in enumerate(row):
            draw.text((140 + 168 * c, 856 + 34 * r), cell, "black", ImageFont.load_default(18))
    draw.line((120, 850 + 34 * 6, 792, 850 + 34 * 6), "black", 2)
    for c in range(5):
        draw.line((120 + 168 * c, 850, 120 + 168 * c, 1054), "black", 2)
    truth.append(("table", (120.0, 850.0, 792.0, 1054.0)))
    truth.append(("text", paragraph(draw, (80, 1080, 832, 1160), 18, 20)))
    return picture, truth


def astronaut() -> Image.Image:
    """The portrait inside package `scikit-image`."""
    found = importlib.util.find_spec("skimage")
    if found is None or found.origin is None:
        raise FileNotFoundError("no package scikit-image: pip install --no-deps scikit-image")
    return Image.open(Path(found.origin).parent / "data" / "astronaut.png").convert("RGB")


def portraits() -> tuple[Image.Image, Image.Image]:
    """One portrait, and three of them side by side in different sizes, the middle one mirrored."""
    one = astronaut()
    wall = Image.new("RGB", (640, 320), (90, 100, 110))
    wall.paste(one.resize((280, 280)), (10, 20))
    wall.paste(one.transpose(Image.Transpose.FLIP_LEFT_RIGHT).resize((200, 200)), (300, 60))
    wall.paste(one.resize((130, 130)), (505, 100))
    return one, wall


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    truth: dict[str, Any] = {}
    for k, text in enumerate(LINES):
        line = text_line(text)
        line.save(folder / f"line{k}.png")
        line.transpose(Image.Transpose.ROTATE_180).save(folder / f"line{k}-turned.png")
        truth[f"line{k}.png"], truth[f"line{k}-turned.png"] = {"text": text, "turned": "0"}, {"text": text, "turned": "180"}
    page = page_of_text()
    for quarter in range(4):
        page.rotate(-90 * quarter, expand=True).save(folder / f"page{90 * quarter}.png")
        truth[f"page{90 * quarter}.png"] = {"clockwise": 90 * quarter}
    scattered, boxes = scattered_text()
    scattered.save(folder / "scattered.png")
    truth["scattered.png"] = {"lines": [{"text": t, "box": b} for t, b in zip(LINES, boxes)]}
    paper, regions = document()
    paper.save(folder / "document.png")
    truth["document.png"] = {"regions": [{"kind": k, "box": b} for k, b in regions]}
    one, wall = portraits()
    one.save(folder / "portrait.png")
    wall.save(folder / "portraits.png")
    truth["portrait.png"], truth["portraits.png"] = {"faces": 1}, {"faces": 3}
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
