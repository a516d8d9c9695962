"""The plug-in for pytest: fixtures for tests of what runs on a platform.

pytest finds it by itself. ``vp_platform`` is a platform in this process, ``vp_serve`` starts servers on free ports, ``vp_golden`` compares what went over the
register bus with what a file has kept of a run before.

>>> def test_the_pointer_selects_a_group(vp_platform, vp_golden):
...     vp_platform.regs.SDP.S_POINTER.PRODUCER = "GROUP_1"
...     assert vp_platform.regs.SDP.S_POINTER.PRODUCER == 1
...     vp_golden()
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

try:
    import pytest
except ImportError as error:
    raise ImportError("the fixtures take pytest: pip install 'nvdla-vp[pytest]'") from error

from ._events import Interrupt, RegisterAccess
from ._platform import Platform


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("vp", "virtual platforms for NVDLA")
    group.addoption("--vp-platform", default="nv_small", metavar="NAME", help="what `vp_platform` is where a test does not say: a name, or a TOML file")
    group.addoption("--vp-update-golden", action="store_true", help="keep what runs do now as what is right")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "vp_platform(name, changes, **more): what `vp_platform` is in this test; arguments of vp.Platform")


@pytest.fixture
def vp_platform(request: pytest.FixtureRequest) -> Iterator[Platform]:
    """A platform at power-on, in this process; closed at the test's end.

    ``@pytest.mark.vp_platform("nv_large", {"dbb0.read_latency": 100})`` says which; without, it is that of ``--vp-platform``, an ``nv_small``.
    """
    marker = request.node.get_closest_marker("vp_platform")
    arguments, more = (marker.args, marker.kwargs) if marker is not None else ((), {})
    if not arguments and "name" not in more:
        arguments = (request.config.getoption("--vp-platform"),)
    with Platform(*arguments, **more) as platform:
        yield platform


@pytest.fixture(scope="session")
def vp_program() -> Path:
    """The program `vp`: the variable ``VP`` names it, or it is on the path. A project may have a fixture of this name of its own."""
    path = os.environ.get("VP") or shutil.which("vp")
    if path is None or not Path(path).exists():
        pytest.fail("no program `vp`: put it on the path, or name it in the variable VP", pytrace=False)
    return Path(path)


class Serve:
    """Starts servers on free ports: ``address = vp_serve("--platform", "nv_small")``. They end with the test."""

    def __init__(self, program: Path, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._servers: list[tuple[subprocess.Popen[str], IO[str]]] = []

    def __call__(self, *arguments: str | os.PathLike[str], listen: str = "tcp:127.0.0.1:0", environment: dict[str, str] | None = None) -> str:
        """Starts one, and gives its address, once it listens.

        Args:
            arguments: of ``vp serve``.
            listen: where it listens.
            environment: variables that it has besides those of this process.
        """
        log = self._folder / f"vp-serve-{len(self._servers)}.log"
        command = [self._program, "serve", "--listen", listen, *arguments]
        with log.open("w") as file:
            server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True, env={**os.environ, **(environment or {})})
        assert server.stdout is not None
        self._servers.append((server, server.stdout))
        for line in server.stdout:
            found = re.search(r"\b(?:tcp|tls|unix):\S+", line)
            if found:
                return found.group().rstrip(",.;")
        pytest.fail(f"vp serve: {log.read_text().strip()}", pytrace=False)

    def stop(self) -> None:
        """Ends all of them, as a signal does: sessions are told."""
        for server, _ in self._servers:
            server.terminate()
            server.wait()

    def end(self) -> None:
        """Ends all of them, as if their host had failed."""
        for server, output in self._servers:
            server.kill()
            server.wait()
            output.close()


@pytest.fixture
def vp_serve(vp_program: Path, tmp_path: Path) -> Iterator[Serve]:
    """Starts servers; see `Serve`."""
    servers = Serve(vp_program, tmp_path)
    yield servers
    servers.end()


class Golden:
    """What goes over the register bus and the interrupt line, in the order of simulated time."""

    def __init__(self, platform: Platform, path: Path, is_updated: bool) -> None:
        self._path = path
        self._is_updated = is_updated
        self._seen: list[RegisterAccess | Interrupt] = []
        self._platform = platform
        self._told = (platform.on_register(self._seen.append), platform.on_interrupt(self._seen.append))

    def __call__(self, *, times: bool = True) -> None:
        """Compares what has happened since the test began with the golden trace, which is kept beside the test: ``golden/MODULE/TEST.txt``.

        ``--vp-update-golden`` keeps what happens now.

        Args:
            times: compare when it happened, to the cycle. Without, the order only.
        """
        __tracebackhide__ = True
        for told in self._told:
            told.cancel()
        lines = self._lines(times)
        if self._is_updated:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(lines)
            return
        if not self._path.exists():
            pytest.fail(f"there is no golden trace {self._path}: keep one with --vp-update-golden", pytrace=False)
        kept = self._path.read_text()
        if kept != lines:
            difference = difflib.unified_diff(kept.splitlines(), lines.splitlines(), "golden", "now", lineterm="")
            pytest.fail(f"not as in {self._path}:\n" + "\n".join(difference), pytrace=False)

    def _lines(self, times: bool) -> str:
        names = {register.address: register.name for unit in self._platform.regs for register in unit}
        lines = []
        for seen in self._seen:
            if isinstance(seen, Interrupt):
                what = f"interrupt {'high' if seen.level else 'low'}"
            else:
                what = f"{'write' if seen.write else 'read'} {names.get(seen.address, hex(seen.address))} {seen.value:#x}"
            lines.append(f"{seen.time}: {what}\n" if times else f"{what}\n")
        return "".join(lines)


@pytest.fixture
def vp_golden(request: pytest.FixtureRequest, vp_platform: Platform) -> Golden:
    """Compares the accesses to ``vp_platform``, and its interrupts, with a golden trace; see `Golden`."""
    test = re.sub(r"[^\w.-]+", "-", request.node.name)
    path = request.path.parent / "golden" / request.path.stem / f"{test}.txt"
    return Golden(vp_platform, path, request.config.getoption("--vp-update-golden"))
