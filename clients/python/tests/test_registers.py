from __future__ import annotations

from pathlib import Path

import pytest

import vp
from vp import stubs


def test_a_register_is_written_and_read_by_name(platform: vp.Platform) -> None:
    platform.regs.SDP.S_POINTER = 1
    assert platform.regs.SDP.S_POINTER.read() == 1
    assert int(platform.regs.SDP.S_POINTER) == platform.read(platform.regs.SDP.S_POINTER.address)
    assert platform.regs["sdp.s_pointer"].value == 1


def test_looking_a_register_up_lets_no_time_pass(platform: vp.Platform) -> None:
    register = platform.regs.SDP.S_POINTER
    assert "producer" in repr(register).lower() or register.doc
    assert platform.now == vp.Time(0)


def test_a_field_is_read_and_written_and_the_others_stay(platform: vp.Platform) -> None:
    cube = platform.regs.PDP.D_POOLING_KERNEL_CFG
    cube.KERNEL_WIDTH = 2
    cube.KERNEL_HEIGHT = 1
    assert cube.decode()["KERNEL_WIDTH"] == 2 and cube.KERNEL_HEIGHT == 1
    platform.regs.SDP.S_POINTER.PRODUCER = "GROUP_1"
    assert platform.regs.SDP.S_POINTER.PRODUCER == 1


def test_completion_shows_units_registers_and_fields(platform: vp.Platform) -> None:
    assert {"GLB", "SDP", "CDMA"} <= set(dir(platform.regs))
    assert "D_OP_ENABLE" in dir(platform.regs.SDP)
    assert "PRODUCER" in dir(platform.regs.SDP.S_POINTER)
    assert len(list(platform.regs.SDP)) > 20


def test_what_looks_for_hidden_names_finds_none(platform: vp.Platform) -> None:
    for named in (platform.regs, platform.regs.SDP, platform.regs.SDP.S_POINTER):
        assert not hasattr(named, "_repr_html_") and not hasattr(type(named).__new__(type(named)), "_names")


def test_a_wrong_name_is_refused_with_the_nearest_one(platform: vp.Platform) -> None:
    with pytest.raises(vp.RegisterError, match="nearest: SDP.S_POINTER"):
        platform.regs.SDP.S_POINTR = 1  # type: ignore[attr-defined]
    with pytest.raises(vp.RegisterError, match="it has PRODUCER, CONSUMER"):
        platform.regs.SDP.S_POINTER.PRODUCR  # type: ignore[attr-defined]
    with pytest.raises(vp.RegisterError, match="no register `BDMA.CFG_OP` in the nv_small map"):
        platform.regs["BDMA.CFG_OP"]
    assert not hasattr(platform.regs, "NOTHING")


@pytest.mark.parametrize("value", [2, -1, "maybe", 1.5])
def test_a_value_that_does_not_fit_a_field_is_refused(platform: vp.Platform, value: object) -> None:
    with pytest.raises(vp.FieldError):
        platform.regs.SDP.S_POINTER.PRODUCER = value  # type: ignore[assignment]
    assert platform.regs.SDP.S_POINTER.read() == 0


@pytest.mark.parametrize("value", [1 << 32, -1, "1", None])
def test_what_is_no_word_is_refused(platform: vp.Platform, value: object) -> None:
    with pytest.raises(vp.FieldError, match="SDP.S_POINTER"):
        platform.regs.SDP.S_POINTER = value  # type: ignore[assignment]
    with pytest.raises(vp.FieldError):
        platform.write(0x9004, value)  # type: ignore[arg-type]


@pytest.mark.parametrize("address", [2, -4, 1 << 32, 1 << 70, "x"])
def test_what_is_no_register_address_is_refused(platform: vp.Platform, address: object) -> None:
    with pytest.raises(vp.RefusedError):
        platform.read(address)  # type: ignore[arg-type]


def test_the_stub_is_up_to_date() -> None:
    stub = Path(__file__).parents[1] / "python/vp/registers.pyi"
    assert stub.read_text(encoding="utf-8") == stubs.stub(), "python -m vp.stubs clients/python/python/vp/registers.pyi"
