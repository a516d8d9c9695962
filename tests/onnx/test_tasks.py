"""Real models with real weights: a picture in, the answer out, as onnxruntime gives it for the same numbers, by the task's own measure.

In int8 they are calibrated on other pictures than those that are judged.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import boxes
import faces
import layout
import orientation
import pictures
import text_detection
import text_direction
import text_recognition
import vp
from conftest import EFFORT, TARGET, Table, Where, expected, found, model, more, run, session

SMALL, LARGE, FULL, HALF = ("nv_small", "int8"), ("nv_large", "int8"), ("nv_full", "int8"), ("nv_full", "fp16")
ALL = (SMALL, LARGE, FULL, HALF)
PROGRAM = TARGET / "debug/vp"
OTHER_LINES = ("Where the time goes", "memory bandwidth 12", "ROUTE 66 EAST", "page 19 of 240")


def at(*default: Where) -> pytest.MarkDecorator:
    """Platforms: these, and with more effort the others."""
    chosen = [pytest.param(where, marks=[] if where in default else more, id="-".join(where)) for where in ALL]
    return pytest.mark.parametrize("where", chosen)


@at(*ALL)
def test_the_orientation_of_a_page(where: Where, table: Table) -> None:
    path, turned = model("orientation"), [0, 90, 180, 270]
    page = pictures.page_of_text()
    judged = turned if EFFORT > 1 else [turned[ALL.index(where)]]
    others = [pictures.page_of_text((640 + 40 * k, 760)).rotate(-90 * k, expand=True) for k in range(4)]
    calibrate = [orientation.prepare(other) for other in others] if where[1] == "int8" else None
    shares = []
    for angle in judged:
        tensor = orientation.prepare(page.rotate(-angle, expand=True))
        label, share = orientation.answer(found(path, tensor, where, calibrate=calibrate)[0])
        right, right_share = orientation.answer(expected(path, tensor)[0])
        assert label == right == str(angle)
        shares.append(f"{share:.3f} ({right_share:.3f})")
    table.add("orientation of a page", where, f"angle, of {len(judged)}", f"{len(judged)} right, share {', '.join(shares)}")


@at(*ALL)
def test_the_direction_of_a_line(where: Where, table: Table) -> None:
    path, count = model("text_dir"), len(pictures.LINES) if EFFORT > 1 else 1
    others = [pictures.text_line(text, 26 + 4 * k) for k, text in enumerate(OTHER_LINES)]
    samples = [text_direction.prepare(line.rotate(180 * (k % 2), expand=True)) for k, line in enumerate(others)]
    calibrate = samples if where[1] == "int8" else None
    for text in pictures.LINES[:count]:
        for angle in (0, 180):
            tensor = text_direction.prepare(pictures.text_line(text).rotate(angle, expand=True))
            label, _ = text_direction.answer(found(path, tensor, where, calibrate=calibrate)[0])
            assert label == text_direction.answer(expected(path, tensor)[0])[0] == str(angle)
    table.add("direction of a line", where, f"angle, of {2 * count}", f"{2 * count} right")


@at(LARGE, HALF)
def test_the_text_of_a_line(where: Where, table: Table) -> None:
    path = model("text_rec")
    alphabet = text_recognition.alphabet(session(path).get_modelmeta().custom_metadata_map["character"])
    samples = [text_recognition.prepare(pictures.text_line(text, 26 + 4 * k), 320) for k, text in enumerate(OTHER_LINES)]
    calibrate = samples if where[1] == "int8" else None
    judged = pictures.LINES if EFFORT > 1 else pictures.LINES[3:4]
    edits = []
    for text in judged:
        tensor = text_recognition.prepare(pictures.text_line(text))
        [output] = found(path, tensor, where, calibrate=calibrate, ranges="percentile=99.99" if calibrate else None)
        read, _ = text_recognition.answer(output, alphabet)
        assert text_recognition.answer(expected(path, tensor)[0], alphabet)[0] == text
        edits.append(text_recognition.distance(read, text))
        assert edits[-1] <= (1 if calibrate else 0), read
    characters = sum(map(len, judged))
    table.add("text of a line", where, "characters to change", f"{sum(edits)} of {characters}")


def lines_of_text(size: int, texts: list[tuple[str, int, int, int]]) -> Image.Image:
    picture = Image.new("RGB", (size, size), (236, 240, 244))
    draw = pictures.ImageDraw.Draw(picture)
    for text, x, y, points in texts:
        draw.text((x, y), text, (30, 30, 60), pictures.ImageFont.load_default(points))
    return picture


@at(LARGE, HALF)
def test_where_text_is(where: Where, table: Table) -> None:
    path = model("text_det")
    if EFFORT > 1:
        picture, others = pictures.scattered_text()[0], [pictures.page_of_text((640, 640))]
    else:
        picture = lines_of_text(256, [(pictures.LINES[3], 12, 24, 26), (pictures.LINES[4], 20, 110, 18), (pictures.LINES[5], 30, 190, 28)])
        others = [lines_of_text(256, [(OTHER_LINES[2], 18, 50, 30), (OTHER_LINES[3], 30, 150, 22)]), pictures.page_of_text((256, 256))]
    tensor = text_detection.prepare(picture, picture.width)
    samples = [text_detection.prepare(other, picture.width) for other in others]
    calibrate = samples if where[1] == "int8" else None
    right, _ = text_detection.answer(expected(path, tensor)[0], picture.size)
    assert len(right) == (6 if EFFORT > 1 else 3)
    seen, _ = text_detection.answer(found(path, tensor, where, calibrate=calibrate)[0], picture.size)
    worst, missed, extra = boxes.agreement(seen, right)
    assert (missed, extra) == (0, 0) and worst >= (0.8 if calibrate else 0.95)
    table.add("places of text", where, f"boxes, of {len(right)}", f"all, overlap {worst:.2f} at least")


def numbers(detections: list[vp.Detection] | None) -> np.ndarray:
    """Edges and scores, a row a box."""
    assert detections is not None
    return np.array([[box.left, box.top, box.right, box.bottom, box.score] for box in detections])


def test_the_boxes_of_a_run_are_those_of_the_task(tmp_path: Path) -> None:
    """A picture's file in and boxes in its pixels out, by `vp run` and from Python, beside this folder's own way from tensors to boxes."""
    picture = lines_of_text(240, [(pictures.LINES[3], 12, 24, 26), (pictures.LINES[4], 20, 110, 18), (pictures.LINES[5], 30, 190, 28)])
    picture.save(tmp_path / "lines.png")
    path = tmp_path / "text.onnx"
    path.write_bytes(model("text_det").read_bytes())
    (tmp_path / "text.preprocess.toml").write_text('channels = "bgr"\nscale = "1/127.5"\nmean = 1\n')
    (tmp_path / "text.boxes.toml").write_text('form = "mask"\n')
    with vp.Platform("nv_large") as fresh:
        done = vp.run_network(path, tmp_path / "lines.png", platform=fresh, shape=(1, 3, 256, 256), precision="int8")
    assert done.outputs is not None
    [output] = done.outputs.values()
    right, scores = text_detection.answer(output, picture.size)
    order = np.argsort(-scores)
    assert len(right) == 3
    np.testing.assert_allclose(numbers(done.boxes), np.column_stack([right, scores])[order], atol=1e-3)
    words = [PROGRAM, "run", path, "--input", tmp_path / "lines.png", "--shape", "1x3x256x256", "--json"]
    told = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    by_command = [[box[key] for key in ("left", "top", "right", "bottom", "score")] for box in told["model_boxes"]]
    np.testing.assert_allclose(by_command, numbers(done.boxes), atol=1e-6)


def other_pages() -> list[Image.Image]:
    """Pages whose regions lie elsewhere."""
    page, _ = pictures.document()
    rolled = Image.fromarray(np.roll(np.asarray(page), 400, 0))
    return [page.transpose(Image.Transpose.FLIP_LEFT_RIGHT), page.transpose(Image.Transpose.ROTATE_180), rolled, pictures.page_of_text(page.size)]


@at()
def test_the_layout_of_a_page(where: Where, table: Table) -> None:
    path, (page, _) = model("layout"), pictures.document()
    tensor = layout.prepare(page)
    calibrate = [layout.prepare(other) for other in other_pages()] if where[1] == "int8" else None
    right = layout.answer(expected(path, tensor), page.size)
    done = run(path, tensor, where, calibrate=calibrate, boxes="picodet")
    assert done.outputs is not None
    outputs = list(done.outputs.values())
    seen = layout.answer(outputs, page.size)
    in_input = sorted(layout.answer(outputs, (layout.WIDTH, layout.HEIGHT)), key=lambda region: -region[1])
    np.testing.assert_allclose(numbers(done.boxes), [[*box, score] for _, score, box in in_input], atol=1e-2)
    overlaps = []
    for kind, _, box in right:
        same = [float(boxes.overlap(of, box)[0, 0]) for other, _, of in seen if other == kind]
        overlaps.append(max(same, default=0.0))
    kept = sum(overlap >= 0.6 for overlap in overlaps)
    assert kept >= len(right) - (2 if calibrate else 0) and len(seen) <= len(right) + 1
    assert calibrate or min(overlaps) >= 0.95
    table.add("layout of a page", where, f"regions with their kinds, of {len(right)}", f"{kept}, overlap {min(o for o in overlaps if o >= 0.6):.2f} at least")


@at(LARGE, HALF)
def test_faces(where: Where, table: Table) -> None:
    one, wall = pictures.portraits()
    picture, least = (wall, 24) if EFFORT > 1 else (one.resize((256, 256)), 60)
    seen: dict[str, list[np.ndarray]] = {"pnet": [], "rnet": [], "onet": []}

    def right_run(name: str, tensor: np.ndarray) -> list[np.ndarray]:
        seen[name].append(tensor)
        return expected(model(name), tensor)

    def calibrating(name: str) -> list[np.ndarray]:
        """What the network sees of the mirrored picture: of one size, one at a time."""
        tensors = seen[name]
        if name == "pnet":
            return []
        return [tensor[k : k + 1] for tensor in tensors for k in range(min(len(tensor), 16))]

    faces.faces(picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT), right_run, least)
    mirrored = {name: calibrating(name) for name in seen}
    right, right_points = faces.faces(picture, right_run, least)
    assert len(right) == (3 if EFFORT > 1 else 1)

    def platform_run(name: str, tensor: np.ndarray) -> list[np.ndarray]:
        calibrate = (mirrored[name] or None) if where[1] == "int8" else None
        runs = [found(model(name), tensor[k : k + 1], where, calibrate=calibrate) for k in range(len(tensor))]
        return [np.concatenate(parts) for parts in zip(*runs, strict=True)]

    found_faces, points = faces.faces(picture, platform_run, least)
    worst, missed, extra = boxes.agreement(found_faces[:, :4], right[:, :4])
    assert (missed, extra) == (0, 0) and worst >= (0.8 if where[1] == "int8" else 0.95)
    apart = ""
    if len(right) == 1:
        side = right[0, 2] - right[0, 0]
        apart = f", points {100 * np.abs(points - right_points).max() / side:.1f} % of its width away at most"
    table.add("faces", where, f"faces, of {len(right)}", f"all, overlap {worst:.2f} at least{apart}")
