"""What the tests share: the program `vp` of the repository, and servers of it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
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


class Serve:
    """Starts servers with arguments of ``vp serve``, on free ports; calling it gives an address."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.folder = folder
        self.servers: list[subprocess.Popen[str]] = []

    def __call__(self, *arguments: str, listen: str = "tcp:127.0.0.1:0", environment: dict[str, str] | None = None) -> str:
        log = self.folder / f"server-{len(self.servers)}.log"
        command = [str(self.program), "serve", "--listen", listen, *arguments]
        with log.open("w") as file:
            server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True, env={**os.environ, **(environment or {})})
        self.servers.append(server)
        assert server.stdout is not None
        for line in server.stdout:
            found = re.search(r"\b(?:tcp|tls|unix):\S+", line)
            if found:
                return found.group().rstrip(",.;")
        raise AssertionError(log.read_text())

    def end(self) -> None:
        for server in self.servers:
            server.kill()
            server.wait()
            if server.stdout is not None:
                server.stdout.close()


@pytest.fixture
def serve(program: Path, tmp_path: Path) -> Iterator[Serve]:
    servers = Serve(program, tmp_path)
    yield servers
    servers.end()
