"""TLS, tokens and roles, against a server with the certificates that it makes itself."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import vp
from test_remote import OUTSIDE, Adder
from vp.pytest_plugin import Serve

TOKENS = """
[[token]]
name = "cpu"
secret = "cpu-0123456789abcdef"
roles = ["cpu"]
platforms = ["lab"]

[[token]]
name = "memory"
secret = "memory-0123456789abcdef"
roles = ["memory"]
platforms = ["lab"]

[[token]]
name = "device"
secret = "device-0123456789abcdef"
roles = ["device"]
rights = ["statistics"]     # the clock's period is one of them
platforms = ["lab"]
"""


@pytest.fixture
def lab(vp_program: Path, tmp_path: Path) -> Path:
    """The folder of `vp serve --make-certificates`."""
    folder = tmp_path / "lab"
    command = [str(vp_program), "serve", "--listen", "tls:127.0.0.1:7700", "--make-certificates", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def serve_tls(vp_serve: Serve, lab: Path, *arguments: str | Path) -> str:
    certificate = ("--certificate", lab / "server.pem", "--key", lab / "server.key")
    environment = {"VP_TOKEN_FILE": str(lab / "token")}
    return vp_serve("--platform", "nv_small", *certificate, *arguments, listen="tls:127.0.0.1:0", environment=environment)


def test_a_server_with_tls_and_a_token_lets_in_who_has_both(vp_serve: Serve, lab: Path) -> None:
    address = serve_tls(vp_serve, lab)
    assert address.startswith("tls:")
    with vp.connect(address, ca=lab / "ca.pem", token_file=lab / "token") as remote:
        remote.regs.SDP.S_POINTER = 1
        assert remote.regs.SDP.S_POINTER.read() == 1
    with pytest.raises(vp.ConnectError, match="(?i)certificate"):
        vp.connect(address, token_file=lab / "token")
    with pytest.raises(vp.ConnectError, match="(?i)token"):
        vp.connect(address, ca=lab / "ca.pem")
    with pytest.raises(vp.ConnectError):
        vp.connect(address.replace("tls:", "tcp:"), timeout=5)


def test_the_environment_has_what_is_shown_as_for_other_clients(vp_serve: Serve, lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = serve_tls(vp_serve, lab)
    monkeypatch.setenv("VP_CA", str(lab / "ca.pem"))
    monkeypatch.setenv("VP_TOKEN_FILE", str(lab / "token"))
    with vp.connect(address) as remote:
        assert remote.name == "nv_small"


def test_a_certificate_of_the_clients_own_takes_the_tokens_place(vp_serve: Serve, lab: Path) -> None:
    certificate = ("--certificate", lab / "server.pem", "--key", lab / "server.key", "--client-ca", lab / "ca.pem")
    address = vp_serve("--platform", "nv_small", *certificate, listen="tls:127.0.0.1:0")
    with vp.connect(address, ca=lab / "ca.pem", certificate=lab / "client.pem", key=lab / "client.key") as remote:
        assert remote.read(0) >= 0
    with pytest.raises(vp.ConnectError):
        vp.connect(address, ca=lab / "ca.pem")


def test_each_role_may_do_what_its_token_says(vp_serve: Serve, lab: Path, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(TOKENS)
    tokens.chmod(0o600)
    certificate = ("--certificate", lab / "server.pem", "--key", lab / "server.key")
    address = vp_serve("--platform", "nv_small", *certificate, "--tokens", tokens, listen="tls:127.0.0.1:0")
    array, stop, ends = np.zeros(1 << 20, np.uint8), threading.Event(), list[object]()

    def be_memory() -> None:
        try:
            ends.append(vp.serve_memory(address, array, platform="lab", stop=stop, ca=lab / "ca.pem", token="memory-0123456789abcdef"))
        except vp.Error as error:
            ends.append(error)

    thread = threading.Thread(target=be_memory)
    thread.start()
    try:
        with vp.connect(address, platform="lab", ca=lab / "ca.pem", token="cpu-0123456789abcdef") as remote:
            while not array[:4].any() and not ends:
                # Until the memory is there, what is stored goes inside.
                remote.dram.load(remote.dram.base, b"here")
            assert bytes(array[:4]) == b"here", ends
            assert remote.read(0) >= 0
    finally:
        stop.set()
        thread.join()
    assert not isinstance(ends[0], Exception), ends
    # The CPU's token is not the memory's, nor the other way round.
    with pytest.raises(vp.Error, match="(?i)may not|not allowed|right"):
        vp.serve_memory(address, array, platform="lab", ca=lab / "ca.pem", token="cpu-0123456789abcdef")
    with pytest.raises(vp.Error, match="(?i)may not|not allowed|right"):
        with vp.connect(address, platform="lab", ca=lab / "ca.pem", token="memory-0123456789abcdef") as other:
            other.read(0)


def test_a_python_device_shows_the_token_of_its_role(vp_serve: Serve, lab: Path, tmp_path: Path) -> None:
    tokens, outside = tmp_path / "tokens.toml", tmp_path / "outside.toml"
    tokens.write_text(TOKENS)
    tokens.chmod(0o600)
    outside.write_text(OUTSIDE)
    certificate = ("--certificate", lab / "server.pem", "--key", lab / "server.key")
    address = vp_serve("--platform", outside, *certificate, "--tokens", tokens, listen="tls:127.0.0.1:0")
    stop, ends = threading.Event(), list[object]()

    def be_device() -> None:
        try:
            ends.append(vp.serve_device(address, Adder(), platform="lab", stop=stop, ca=lab / "ca.pem", token="device-0123456789abcdef"))
        except vp.Error as error:
            ends.append(error)

    thread = threading.Thread(target=be_device)
    thread.start()
    try:
        with vp.connect(address, platform="lab", ca=lab / "ca.pem", token="cpu-0123456789abcdef") as remote:
            while not ends:
                try:
                    remote.write(0, 40, acknowledged=True)
                    break
                except vp.RefusedError:
                    # The device is not there yet.
                    continue
            assert not ends, ends
            remote.write(4, 2, acknowledged=True)
            remote.wait_interrupt()
            assert remote.read(8) == 42
    finally:
        stop.set()
        thread.join()
    assert ends == [None]
    with pytest.raises(vp.Error, match="(?i)may not|not allowed|right"):
        vp.serve_device(address, Adder(), platform="lab", ca=lab / "ca.pem", token="cpu-0123456789abcdef")
