from __future__ import annotations

import traceback

import pytest

import vp
from test_programs import LAYER


def test_callbacks_are_told_of_what_happens(platform: vp.Platform) -> None:
    accesses: list[vp.RegisterAccess] = []
    levels: list[vp.Interrupt] = []
    transfers: list[vp.Transfer] = []
    work: list[vp.Work] = []
    platform.on_register(accesses.append)
    platform.on_interrupt(levels.append)
    platform.on_transfer(transfers.append)
    platform.on_work(work.append)
    run = vp.run_trace(LAYER, platform)
    assert sum(access.write for access in accesses) == run.register_writes
    assert [level.level for level in levels][:2] == [True, False]
    read = sum(one.bytes for one in transfers if one.stage == "response" and not one.write and one.source == "dbb0")
    assert read == platform.statistics()["dbb0.read.bytes"]
    assert {one.source for one in work if one.begins} >= {"nvdla.sdp", "nvdla.pdp"}


def test_who_looks_on_changes_nothing(platform: vp.Platform) -> None:
    platform.on_transfer(lambda _: None)
    vp.run_trace(LAYER, platform)
    with vp.Platform("nv_small") as other:
        vp.run_trace(LAYER, other)
        assert platform.event_hash == other.event_hash


def test_a_cancelled_callback_is_told_nothing_more(platform: vp.Platform) -> None:
    accesses: list[vp.RegisterAccess] = []
    with platform.on_register(accesses.append):
        platform.read(0)
    platform.read(0)
    assert len(accesses) == 1


def test_a_callback_that_raises_ends_the_run_and_the_platform_goes_on(platform: vp.Platform) -> None:
    def refuse(transfer: vp.Transfer) -> None:
        raise LookupError(f"no burst at {transfer.address:#x}")

    subscription = platform.on_transfer(refuse)
    with pytest.raises(LookupError, match="no burst at 0x") as raised:
        vp.run_trace(LAYER, platform)
    assert any(frame.name == "refuse" for frame in traceback.extract_tb(raised.value.__traceback__))
    stopped = platform.now
    subscription.cancel()
    # Nothing waits in front of these, and what had begun goes on.
    assert platform.regs.GLB.S_INTR_MASK.read() == 0
    assert platform.now < stopped + "1 us"
    assert platform.run().why in ("idle", "deadlock")
    platform.reset()
    assert vp.run_trace(LAYER, platform).passed


def test_a_callback_that_raises_is_told_nothing_more_in_that_run(platform: vp.Platform) -> None:
    told = []

    def once(_: vp.RegisterAccess) -> None:
        told.append(1)
        raise ValueError

    platform.on_register(once)
    with pytest.raises(ValueError):
        platform.read(0)
    with pytest.raises(ValueError):
        platform.read(0)
    assert len(told) == 2


def test_a_callback_that_calls_the_platform_is_refused(platform: vp.Platform) -> None:
    platform.on_register(lambda _: platform.read(0))
    with pytest.raises(vp.BusyError):
        platform.read(0)
    with pytest.raises(vp.BusyError):
        platform.read(0)


def test_warnings_are_told(platform: vp.Platform) -> None:
    seen: list[vp.Warning] = []
    platform.on_warning(seen.append)
    platform.regs.SDP.D_OP_ENABLE = 1
    platform.regs.SDP_RDMA.D_OP_ENABLE = 1
    platform.run()
    texts = [warning.text for warning in platform.warnings()]
    assert texts and seen and platform.warnings() == []
