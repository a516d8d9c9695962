"""What the tests share: the program `vp` of the repository, and servers of it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import vp

ROOT = Path(__file__).parents[3]


@pytest.fixture
def platform() -> Iterator[vp.Platform]:
    with vp.Platform("nv_small") as made:
        yield made


@pytest.fixture(scope="session")
def program() -> Path:
    """The program `vp`."""
    path = Path(os.environ.get("VP", ROOT / "target/debug/vp"))
    if not path.exists():
        pytest.skip(f"no vp at {path}: cargo build")
    return path


Serve = Callable[..., str]


@pytest.fixture
def serve(program: Path, tmp_path: Path) -> Iterator[Serve]:
    """Starts a server with these arguments on a free port; its address."""
    servers: list[subprocess.Popen[str]] = []

    def start(*arguments: str, listen: str = "tcp:127.0.0.1:0", said: str = "") -> str:
        log = tmp_path / f"server-{len(servers)}.log"
        with log.open("w") as file:
            command = [str(program), "serve", "--listen", listen, *arguments]
            server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)
        servers.append(server)
        assert server.stdout is not None
        for line in server.stdout:
            found = re.search(r"\b((?:tcp|tls|unix):\S+)", line)
            if found:
                return found.group(1).rstrip(",.;")
        raise AssertionError(log.read_text())

    yield start
    for server in servers:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
