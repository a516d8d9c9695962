from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

import vp
from conftest import ROOT

NOTEBOOK = ROOT / "examples/python/latency.ipynb"


def test_each_combination_is_a_row_with_the_cycles_of_a_run_of_its_own() -> None:
    table = vp.study({"network": "digits", "platform": "nv_small", "dbb0.read_latency": [50, 400], "dbb0.read_outstanding": np.array([4, 64])})
    assert isinstance(table, pandas.DataFrame) and len(table) == 4
    assert table["status"].tolist() == ["ran"] * 4
    for row in table.to_dict("records"):
        changes = {name: row[name] for name in ("dbb0.read_latency", "dbb0.read_outstanding")}
        with vp.Platform("nv_small", changes, arithmetic="skipped") as platform:
            assert vp.run_network("digits", platform, timed=True).cycles == row["cycles"]
    slow = table[table["dbb0.read_latency"] == 400]
    assert slow["cycles"].is_monotonic_decreasing and slow["cycles"].nunique() == 2


def test_the_table_is_that_of_the_program(vp_program: Path, tmp_path: Path) -> None:
    file = tmp_path / "latency.toml"
    file.write_text('name = "latency"\n[fixed]\nplatform = "nv_small"\n[sweep]\nnetwork = "digits"\n"dbb0.read_latency" = { from = 50, to = 200, step = 50 }\n')
    subprocess.run([vp_program, "study", file], check=True, capture_output=True)
    for layers, kept in ((False, "results.csv"), (True, "layers.csv")):
        here, there = vp.study(file, layers=layers), pandas.read_csv(tmp_path / "latency.results" / kept)
        assert list(here.columns) == list(there.columns)
        for column in here.columns.drop("command", errors="ignore"):
            assert here[column].dropna().tolist() == pytest.approx(there[column].dropna().tolist()) or here[column].astype(str).tolist() == there[column].astype(str).tolist(), column


def test_values_are_whatever_a_studys_file_has() -> None:
    products: list[dict[str, object]] = [
        {"network": "digits", "dbb0.read_latency": range(50, 151, 50)},
        {"network": "digits", "dbb0": {"read_latency": [200]}},
        {"network": "digits", "dbb0.read_latency": {"from": 300, "to": 400, "step": 100}},
    ]
    table = vp.study(products, fixed={"platform": "nv_small", "period": vp.Time("2 ns")}, frames=2, seed=3, limit="1 s", jobs=1)
    assert table["dbb0.read_latency"].tolist() == [50, 100, 150, 200, 300, 400]
    assert set(table["frames"]) == {2} and set(table["period"]) == {"2 ns"}


def test_a_point_that_does_not_run_says_why_and_holds_up_no_other() -> None:
    table = vp.study({"network": "digits", "platform": ["nv_small", "nv_smal"]})
    assert table["status"].tolist() == ["ran", "failed"]
    assert "nv_small" in table["failure"][1]


def test_a_study_that_cannot_be_says_what_would_be_right(tmp_path: Path) -> None:
    with pytest.raises(vp.DescriptionError, match="no point can run.*nv_small"):
        vp.study({"network": "digits", "platform": "nv_smal"})
    with pytest.raises(vp.DescriptionError, match="no `network` is named"):
        vp.study({})
    with pytest.raises(vp.DescriptionError, match="is no value of a study"):
        vp.study({"network": object()})
    with pytest.raises(vp.DescriptionError, match="none.toml"):
        vp.study(tmp_path / "none.toml")
    with pytest.raises(vp.RefusedError, match="jobs = 0: from 1 to 1024"):
        vp.study({"network": "digits"}, jobs=0)


def test_extras_that_are_missing_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'nvdla-vp\[pandas\]'"):
        vp.study({"network": "digits"})
    with pytest.raises(ImportError, match=r"pip install 'nvdla-vp\[pandas\]'"):
        vp.Layers([]).to_frame()
    for module, extra in (("pytest", "pytest"), ("cocotb", "cocotb")):
        code = f"import sys; sys.modules['{module}'] = None; import vp.{'pytest_plugin' if module == 'pytest' else 'cocotb'}"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
        assert f"ImportError: " in said and f"pip install 'nvdla-vp[{extra}]'" in said


def test_the_notebook_goes_from_a_question_to_a_plot() -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert any("text/html" in output.get("data", {}) for output in outputs)
