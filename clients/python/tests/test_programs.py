from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import vp

ROOT = Path(__file__).parents[3]
LAYER = ROOT / "traces/nv_small/sdp_pdp_batchnorm_relu_maxpool_16x16x16/sdp_pdp_batchnorm_relu_maxpool_16x16x16.cfg"


def test_the_digits_network_reads_digits() -> None:
    images, labels = vp.digits()
    with vp.Platform("nv_small") as platform:
        run = vp.run_network("digits", platform, input=images[:8])
    assert run.output is not None and run.output.shape == (8, 1, 1, 10)
    assert list(run.output.reshape(8, 10).argmax(axis=1)) == list(labels[:8])
    assert run.frames == 8 and run.cycles == run.time.cycles(run.period)


def test_layers_share_the_whole_time(platform: vp.Platform) -> None:
    run = vp.run_network("digits", platform)
    assert sum(layer["cycles"] for layer in run.layers) == run.cycles
    assert [layer["name"] for layer in run.layers if layer["bytes_read"]][:1] == ["conv1"]
    units = ("mac_array", "idle_macs", "sdp", "pdp", "cdp", "rubik")
    parts = (*units, "read_latency", "read_bandwidth", "write", "csb")
    for layer in run.layers:
        if layer["bound_by"] is not None:
            assert sum(layer[f"{part}_cycles"] for part in parts) == layer["cycles"]


def test_cycles_alone_are_those_of_the_whole_run(platform: vp.Platform) -> None:
    computed = vp.run_network("digits", platform)
    with vp.Platform("nv_small", arithmetic="skipped") as other:
        timed = vp.run_network("digits", other, timed=True)
    assert timed.output is None
    assert (timed.cycles, timed.event_hash) == (computed.cycles, computed.event_hash)
    with pytest.raises(vp.ProgramError, match="skipped"):
        vp.run_network("digits", platform, timed=True)


def test_a_wrong_network_or_input_says_what_would_be_right(platform: vp.Platform) -> None:
    with pytest.raises(vp.DescriptionError, match="resnet50"):
        vp.run_network("resnet", platform)
    with pytest.raises(vp.ProgramError, match="takes 64"):
        vp.run_network("digits", platform, input=np.zeros(63, np.int8))
    with pytest.raises(vp.ProgramError, match="float64"):
        vp.run_network("digits", platform, input=np.zeros(64))
    with vp.Platform("nv_small") as fresh:
        assert vp.run_network("digits", fresh).cycles > 0


def test_without_pandas_a_table_of_layers_says_how_to_get_it(
    platform: vp.Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match=r"nvdla-vp\[pandas\]"):
        vp.Layers().to_frame()


def test_a_trace_is_played_and_judged(platform: vp.Platform) -> None:
    run = vp.run_trace(LAYER, platform)
    assert run.passed and not run.failures and run.checks_passed > 0 and run.interrupts
    assert run.time > vp.Time(0) and run.register_writes > 50
    assert [layer.unit for layer in platform.layers()]


def test_a_trace_without_a_platform_runs_on_its_own(tmp_path: Path) -> None:
    large = LAYER.parents[2] / "nv_large" / "conv_3x3_bias_relu_6x5x70x40"
    assert vp.run_trace(large).passed
    assert vp.run_trace(large / "conv_3x3_bias_relu_6x5x70x40.cfg").passed
    assert vp.run_trace(LAYER).passed
    with pytest.raises(vp.DescriptionError, match="traces are there, and one is played"):
        vp.run_trace(LAYER.parents[1])


def test_a_trace_that_is_not_there_is_pythons_own_error(platform: vp.Platform, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        vp.run_trace(tmp_path / "none.cfg", platform)
    (tmp_path / "wrong.nvdla").write_bytes(b"no loadable")
    with pytest.raises(vp.DescriptionError):
        vp.run_loadable(tmp_path / "wrong.nvdla", platform)


def test_statistics_and_layers_tell_what_was_done(platform: vp.Platform) -> None:
    vp.run_trace(LAYER, platform)
    statistics, units = platform.statistics(), platform.units()
    assert statistics["platform"] == "nv_small" and units["dbb0.read.bytes"] == "bytes"
    assert isinstance(statistics["dbb0.read.bytes"], int) and statistics["dbb0.read.bytes"] > 0
    assert statistics["events.hash"] == platform.event_hash


def test_the_same_program_gives_the_same_run() -> None:
    hashes = set()
    for _ in range(2):
        with vp.Platform("nv_small") as platform:
            vp.run_trace(LAYER, platform)
            hashes.add(platform.event_hash)
    assert len(hashes) == 1


def test_a_recorded_run_runs_again(tmp_path: Path) -> None:
    file = tmp_path / "run.vprec"
    with vp.Platform("nv_small", record=file) as platform:
        vp.run_trace(LAYER, platform)
        event_hash, now = platform.event_hash, platform.now
    again = vp.replay(file)
    assert (again.event_hash, again.time, again.end) == (event_hash, now, "whole")
    assert vp.replay(file, until="1 us").end == "stopped"
    (tmp_path / "wrong.vprec").write_bytes(file.read_bytes()[:40] + b"x" * 40)
    with pytest.raises(vp.RecordingError):
        vp.replay(tmp_path / "wrong.vprec")


def test_files_about_a_run_are_there_when_it_is_closed(tmp_path: Path) -> None:
    wave, timeline, log = tmp_path / "run.vcd", tmp_path / "run.pftrace", tmp_path / "run.txt"
    with vp.Platform("nv_small", trace=wave, trace_start="interrupt", timeline=timeline, registers=log) as platform:
        vp.run_trace(LAYER, platform)
    assert "$timescale" in wave.read_text() and timeline.stat().st_size > 1000
    assert "D_OP_ENABLE" in log.read_text()


def test_changes_are_made_as_on_the_command_line(tmp_path: Path) -> None:
    with vp.Platform("nv_small", {"dbb0.read_latency": 100}, period="2 ns", dbb0={"write_latency": 7}) as changed:
        assert changed.period == vp.Time(2)
        assert "read_latency = 100" in changed.description and "write_latency = 7" in changed.description
        (tmp_path / "mine.toml").write_text(changed.description)
    with vp.Platform(tmp_path / "mine.toml") as same:
        assert "read_latency = 100" in same.description


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("nv_tiny", {}, "nv_small"),
        ("nv_small", {"dbb0.dramm": 1}, "dramm"),
        ("nv_small", {"dbb0.dram.standard": "DDR9"}, "DDR4-1600K"),
        ("nv_small", {"dbb0": 1}, "found 1, expected a table"),
        ("nv_small", {"": 1}, "NAME=VALUE"),
    ],
)
def test_a_wrong_platform_says_what_would_be_right(name: str, changes: dict[str, object], said: str) -> None:
    with pytest.raises(vp.DescriptionError, match=said) as refused:
        vp.Platform(name, changes)
    assert isinstance(refused.value, ValueError)


def test_a_platforms_file_that_is_not_there_is_pythons_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        vp.Platform(tmp_path / "none.toml")


def test_a_loadable_runs_and_its_output_is_an_array(platform: vp.Platform) -> None:
    shared = Path(os.environ.get("VP_SHARED", ROOT.parent / "shared"))
    loadable = shared / "nvdla/loadables/nv_small/CDP_L0_0_small/CDP_L0_0_small_fbuf"
    if not loadable.exists():
        pytest.skip(f"{loadable.name}: no conformance data")
    run = vp.run_loadable(loadable, platform)
    assert run.passed and run.outputs[0].ndim == 3
    with pytest.raises(vp.ProgramError, match="the loadable takes 0"):
        vp.run_loadable(loadable, platform, inputs=np.zeros(1, np.int8))


def test_wrong_models_and_inputs_are_told(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    with pytest.raises(FileNotFoundError):
        vp.run_network(model)
    model.write_bytes(b"no model")
    with pytest.raises(vp.DescriptionError, match="model.onnx"):
        vp.run_network(model, np.zeros(3))
    with pytest.raises(vp.ProgramError, match="precision: for ONNX models"):
        vp.run_network("digits", precision="int8")
    with pytest.raises(vp.ProgramError, match="is an array"):
        vp.run_network("digits", "picture.png")
    with vp.Platform("nv_small") as p, pytest.raises(vp.ProgramError, match="two platforms"):
        vp.run_network("digits", p, platform=p)
    digits = ROOT / "networks/digits/digits.onnx"
    with pytest.raises(vp.DescriptionError, match="2 samples of 1x1x8x8; a run takes one"):
        vp.run_network(digits, np.zeros((2, 1, 8, 8), np.float32))
