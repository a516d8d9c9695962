"""What the tests share: the program `vp` of the repository, and servers of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import vp
from vp.pytest_plugin import Serve

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]

# A shell has what it starts in the background ignore Ctrl-C, and so would the programs that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def vp_program() -> Path:
    """The program `vp` of the repository."""
    path = Path(os.environ.get("VP", ROOT / "target/debug/vp"))
    if not path.exists():
        pytest.skip(f"no vp at {path}: cargo build")
    return path


@pytest.fixture
def platform(vp_platform: vp.Platform) -> vp.Platform:
    return vp_platform


@pytest.fixture
def serve(vp_serve: Serve) -> Serve:
    return vp_serve


@pytest.fixture
def program(vp_program: Path) -> Path:
    return vp_program
