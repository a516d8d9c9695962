"""The cases of package `onnx`, run by the example `evaluate` of crate vp-onnx and compared with the package's answers.

    python tests/onnx/node_cases.py target/debug/examples/evaluate [--docs FILE] [--only PART]

Cases whose operators are all read count: each must give the package's answer, or be refused for a reason that `REFUSED` has.
Inputs but the first are bound to their values where a model needs them as constants (shapes, scales, axes).
Tolerances are the package's; integers and truth values are compared exactly.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

# Reasons for which a case may be refused; others are failures.
REFUSED = (
    "are not read",
    "is not read",
    "is not computed",
    "is quantised to",
    "only 0 is computed",
    "only the first is made",
    "it drops elements at random",
    "quantise it to int8 or uint8",
    "it is no tensor",
    "known only when",
    "one element would be right",
    "int8 or uint8 would be right",
    "float would be right",
    "int8, uint8 or int32 would be right",
    "float or int32 would be right",
)
TYPES = {np.dtype(name) for name in ("float32", "int64", "int32", "int8", "uint8", "bool")}
WIDER = {"float16": "float32", "float64": "float32", "bfloat16": "float32", "uint16": "int32", "int16": "int32",
         "uint32": "int64", "uint64": "int64"}


# Cases whose answers the reference and onnxruntime disagree on: here it is as in onnxruntime.
DIFFERENT = {
    "test_resize_downsample_scales_linear_align_corners": "coordinates by the output's size, not by scale times the input's",
    "test_resize_downsample_scales_cubic_align_corners": "coordinates by the output's size, not by scale times the input's",
}


def array(value):
    """An array of one of the types that are computed, or None."""
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        return None
    value = np.asarray(value)
    if value.dtype in TYPES:
        return value
    wider = WIDER.get(value.dtype.name)
    return None if wider is None else value.astype(wider)


def cases(kinds):
    """Models with their inputs, answers and tolerances."""
    for kind in kinds:
        for case in load_model_tests(kind=kind):
            if kind == "node":
                for inputs, outputs in case.data_sets:
                    yield kind, case.name, case.model, inputs, outputs, case.rtol, case.atol
            else:
                folder = pathlib.Path(case.model_dir)
                model = onnx.load(folder / "model.onnx")
                for data in sorted(folder.glob("test_data_set_*")):
                    def read(prefix):
                        names = sorted(data.glob(f"{prefix}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
                        return [tensor(path) for path in names]
                    yield kind, case.name, model, read("input"), read("output"), case.rtol, case.atol


def tensor(path):
    value = onnx.TensorProto()
    try:
        value.ParseFromString(path.read_bytes())
        return numpy_helper.to_array(value)
    except Exception:
        return None


def operators(model):
    """Names of the operators of a model's graph and the graphs within."""
    def of_nodes(nodes):
        for node in nodes:
            yield node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
            for attribute in node.attribute:
                for graph in [attribute.g, *attribute.graphs]:
                    yield from of_nodes(graph.node)
    return list(of_nodes(model.graph.node))


def run(evaluate, model, inputs, outputs, rtol, atol):
    """`passed`, or `refused` or `wrong` with the reason."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        onnx.save(model, folder / "model.onnx")
        arrays = [array(value) for value in inputs]
        for at, value in enumerate(arrays):
            if value is None:
                return "refused", "type of an input that is not read"
            np.save(folder / f"input_{at}.npy", value)
        for flags in ([], ["--bind", "1"], ["--bind", "0"]):
            done = subprocess.run([evaluate, folder / "model.onnx", folder, *flags], capture_output=True, text=True, timeout=600)
            if done.returncode != 2:
                break
        if done.returncode == 2:
            reason = done.stdout.strip().splitlines()
            good = all(any(part in line for part in REFUSED) for line in reason)
            return ("refused" if good else "wrong"), "; ".join(reason)
        if done.returncode != 0:
            return "wrong", done.stderr.strip()
        for at, expected in enumerate(outputs):
            path = folder / f"output_{at}.npy"
            if not path.exists():
                continue
            found, wider = np.load(path), array(expected)
            if wider is None:
                return "refused", "type of an output that is not read"
            if isinstance(expected, onnx.TensorProto):
                expected = numpy_helper.to_array(expected)
            if isinstance(expected, np.ndarray) and expected.dtype.name in WIDER:
                found = found.astype(expected.dtype).astype(wider.dtype)
                # Numbers between the nodes of a function are not rounded to 8 bits here: its answers may be a step away.
                if expected.dtype.name == "bfloat16" and len(model.graph.node) > 1:
                    rtol, atol = max(rtol, 2**-7), max(atol, 2**-8)
            if found.dtype != wider.dtype or found.shape != wider.shape:
                return "wrong", f"output {at} is {found.dtype} {found.shape}, not {wider.dtype} {wider.shape}"
            if wider.dtype.kind == "f":
                good = np.allclose(found, wider, rtol=rtol, atol=max(atol, 1e-5), equal_nan=True)
            else:
                good = np.array_equal(found, wider)
            if not good:
                distance = np.max(np.abs(found.astype("f8") - wider.astype("f8"))) if found.size else 0
                return "wrong", f"output {at} is off by up to {distance}"
        return "passed", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("evaluate")
    parser.add_argument("--docs")
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds", default="node,simple,pytorch-converted,pytorch-operator")
    options = parser.parse_args()
    listed = subprocess.run([options.evaluate, "--operators"], capture_output=True, text=True, check=True).stdout
    read = {line.split("\t")[0]: line.split("\t")[1:] for line in listed.splitlines()}
    jobs, outside = [], collections.Counter()
    for kind, name, model, inputs, outputs, rtol, atol in cases(options.kinds.split(",")):
        names = operators(model)
        if options.only not in name:
            continue
        missing = sorted({name for name in names if name not in read})
        if missing:
            outside.update(missing)
            continue
        # The name of a node case begins with its operator; those of others have several.
        row = "(expanded functions)" if name.endswith("_expanded") else names[0] if kind == "node" and len(set(names)) == 1 else f"({kind})"
        jobs.append((row, name, (options.evaluate, model, inputs, outputs, rtol, atol)))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda job: run(*job[2]), jobs))
    rows = collections.defaultdict(lambda: [0, 0, 0, 0, collections.Counter()])
    for (row, name, _), (result, reason) in zip(jobs, results):
        if name in DIFFERENT and result == "wrong":
            result, reason = "refused", f"answer as onnxruntime's: {DIFFERENT[name]}"
        rows[row][0] += 1
        rows[row][{"passed": 1, "refused": 2, "wrong": 3}[result]] += 1
        if result == "refused":
            first = reason.split("; ")[0]
            rows[row][4][first.split("`: ")[-1]] += 1
        if result == "wrong":
            print(f"{name}: {reason}")
    lines = ["| operator | from version | limits | cases | passed | refused |", "| --- | --- | --- | --- | --- | --- |"]
    for name in [*read, *sorted(name for name in rows if name not in read)]:
        since, limits = read.get(name, ("", ""))
        count, passed, refused, _, reasons = rows.get(name, (0, 0, 0, 0, {}))
        why = "; ".join(f"{reason} ({number})" for reason, number in sorted(reasons.items()))
        lines.append(f"| {name} | {since} | {limits} | {count or ''} | {passed or ''} | {why} |")
    total = [sum(row[at] for row in rows.values()) for at in range(4)]
    lines.append(f"| all | | | {total[0]} | {total[1]} | {total[2]} |")
    if options.docs:
        path = pathlib.Path(options.docs)
        before, _, rest = path.read_text().partition("<!-- cases -->\n")
        after = rest.partition("<!-- end of cases -->")[2]
        path.write_text(before + "<!-- cases -->\n" + "\n".join(lines) + "\n<!-- end of cases -->" + after)
    print(f"{total[0]} cases: {total[1]} passed, {total[2]} refused, {total[3]} failed; "
          f"{sum(outside.values())} cases have operators that are not read")
    sys.exit(total[3] != 0 or total[1] == 0)


if __name__ == "__main__":
    main()
