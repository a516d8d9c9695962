from __future__ import annotations

import math

import pytest

import vp


def test_times_are_said_in_texts_numbers_and_times() -> None:
    assert vp.Time("400 ns") == vp.Time(400) == vp.Time("0.4us") == vp.Time.from_ps(400_000)
    assert vp.Time(1.5).ps == 1500
    assert str(vp.Time("1_000 ns")) == "1 us" and repr(vp.Time(3)) == "Time('3 ns')"
    assert vp.Time(1) + "1 us" == vp.Time(1001) and vp.Time(5) - 2 == vp.Time(3)
    assert vp.Time("10 us").cycles("2 ns") == 5000
    assert vp.Time(1) < vp.Time(2) and max(vp.Time(1), vp.Time(2)) == vp.Time(2)


@pytest.mark.parametrize("time", ["soon", "400", "-1 ns", "0.0001 ps", -1, math.nan, math.inf, 1 << 64, None, True, "9" * 5000 + " s"])
def test_what_is_no_time_is_refused(platform: vp.Platform, time: object) -> None:
    with pytest.raises(vp.TimeError):
        platform.run(time if time is not None else b"")  # type: ignore[arg-type]


def test_no_time_is_before_the_beginning() -> None:
    with pytest.raises(vp.TimeError, match="-1000 ps"):
        vp.Time(1) - 2


def test_time_moves_as_far_as_it_is_let(platform: vp.Platform) -> None:
    assert platform.run("400 ns") == vp.Stopped("time", vp.Time(400))
    assert platform.run_for(100).time == vp.Time(500)
    assert platform.step(3).time == vp.Time(500) + platform.period * 3
    assert platform.now.ns == 503.0


def test_a_run_ends_where_nothing_is_left_to_do(platform: vp.Platform) -> None:
    assert platform.run().why == "idle"


def test_an_interrupt_that_never_comes_says_so(platform: vp.Platform) -> None:
    with pytest.raises(vp.IdleError, match="nothing left to simulate") as idle:
        platform.wait_interrupt()
    assert idle.value.time == platform.now and idle.value.report


def test_a_time_beyond_the_end_of_all_time_is_refused(platform: vp.Platform) -> None:
    with pytest.raises(vp.RefusedError, match="2\\^62"):
        platform.run("10_000_000 s")


def test_a_reset_puts_registers_back(platform: vp.Platform) -> None:
    platform.regs.SDP.S_POINTER = 1
    assert platform.regs.SDP.S_POINTER.read() == 1
    platform.reset()
    assert platform.regs.SDP.S_POINTER.read() == 0
    assert platform.now > vp.Time(0)
