"""Every snippet of docs/python.md runs, one after the other: those marked `server` with `address` and `outside`, servers' addresses, those marked `test` in pytest."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import vp
from conftest import ROOT
from vp.pytest_plugin import Serve
from test_remote import OUTSIDE

SNIPPET = re.compile(r"^```python(?P<kind> \w+)?\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def run_snippets(kind: str | None, names: dict[str, object]) -> int:
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    count = 0
    for found in SNIPPET.finditer(page):
        if found["kind"] == kind:
            line = page[: found.start("code")].count("\n")
            code = compile("\n" * line + found["code"], "docs/python.md", "exec")
            exec(code, names)
            count += 1
    return count


def test_the_page_in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_snippets(None, {"vp": vp}) >= 9


def test_the_page_with_servers(tmp_path: Path, serve: Serve) -> None:
    (tmp_path / "outside.toml").write_text(OUTSIDE)
    address = serve("--platform", "nv_small")
    outside = serve("--platform", str(tmp_path / "outside.toml"))
    assert run_snippets(" server", {"vp": vp, "address": address, "outside": outside}) >= 4


RECIPES = (ROOT / "docs/python-recipes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("title", re.findall(r"^## (.*)$", RECIPES, re.MULTILINE))
def test_each_recipe_stands_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve, title: str) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = RECIPES.split(f"## {title}\n")[1].split("\n## ")[0]
    found = SNIPPET.search(recipe)
    assert found is not None
    names: dict[str, object] = {"address": serve("--platform", "nv_small")} if found["kind"] else {}
    exec(compile(found["code"], title, "exec"), names)


def test_the_page_in_pytest(pytester: pytest.Pytester) -> None:
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    tests = [found["code"] for found in SNIPPET.finditer(page) if found["kind"] == " test"]
    pytester.makepyfile("\n".join(tests))
    pytester.runpytest("--vp-update-golden").assert_outcomes(passed=1)
    pytester.runpytest().assert_outcomes(passed=1)


def test_the_digits_example_reads_digits_in_process_and_behind_a_socket(serve: Serve) -> None:
    example = [sys.executable, str(ROOT / "examples/python/digits.py")]
    here = subprocess.run(example, check=True, capture_output=True, text=True).stdout
    there = subprocess.run([*example, serve("--platform", "nv_small")], check=True, capture_output=True, text=True).stdout
    right = re.search(r"^(\d+) of 100 right", here)
    assert right is not None and int(right.group(1)) >= 95
    assert here.splitlines()[0] == there.splitlines()[0] and here.splitlines()[-1] == there.splitlines()[-1]


def test_the_readmes_lines_run() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert found is not None and len(found.group(1).strip().splitlines()) == 5
    exec(compile(found.group(1), "README.md", "exec"), {})


def test_docstrings_say_what_every_name_is() -> None:
    for name in vp.__all__:
        assert getattr(getattr(vp, name), "__doc__", None) or name in ("OwnMemory", "TimeLike"), name
