"""The plug-in, in a pytest of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

DRIVER = """
    def test_the_pointer_selects_a_group(vp_platform, vp_golden):
        sdp = vp_platform.regs.SDP
        sdp.S_POINTER.PRODUCER = {group}
        assert sdp.S_POINTER.PRODUCER == 1
        vp_golden({arguments})
"""

GOLDEN = "golden/test_driver/test_the_pointer_selects_a_group.txt"


def driver(pytester: pytest.Pytester, *, group: str = '"GROUP_1"', arguments: str = "") -> None:
    pytester.makepyfile(test_driver=DRIVER.format(group=group, arguments=arguments))


def test_a_drivers_register_sequence_is_a_five_line_test(pytester: pytest.Pytester) -> None:
    driver(pytester)
    pytester.runpytest("--vp-update-golden").assert_outcomes(passed=1)
    kept = (pytester.path / GOLDEN).read_text().splitlines()
    assert [line.partition(": ")[2] for line in kept] == ["read SDP.S_POINTER 0x0", "write SDP.S_POINTER 0x1", "read SDP.S_POINTER 0x1"]
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_golden_trace_that_is_not_met_is_shown_as_a_difference(pytester: pytest.Pytester) -> None:
    driver(pytester)
    pytester.runpytest("--vp-update-golden").assert_outcomes(passed=1)
    driver(pytester, group="0x1; sdp.S_POINTER.read()")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*not as in *golden*", "*+*: read SDP.S_POINTER 0x1"])


def test_a_golden_trace_without_times_keeps_the_order_only(pytester: pytest.Pytester) -> None:
    driver(pytester, arguments="times=False")
    pytester.runpytest("--vp-update-golden").assert_outcomes(passed=1)
    assert (pytester.path / GOLDEN).read_text().startswith("read SDP.S_POINTER 0x0\n")
    driver(pytester, group="1; vp_platform.run_for(400)", arguments="times=False")
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_golden_trace_has_interrupts_and_one_that_is_not_there_says_what_to_do(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_raises(vp_platform, vp_golden):
            vp_platform.regs.GLB.S_INTR_SET.SDP_DONE_SET0 = 1
            vp_platform.wait_interrupt()
            vp_golden()
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*there is no golden trace*--vp-update-golden*"])
    pytester.runpytest("--vp-update-golden").assert_outcomes(passed=1)
    [kept] = pytester.path.rglob("test_raises.txt")
    assert kept.read_text().endswith(": interrupt high\n")


def test_which_platform_it_is_says_a_marker_or_the_command_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_the_one_of_the_command_line(vp_platform):
            assert vp_platform.name == "nv_large"

        @pytest.mark.vp_platform("nv_small", {"dbb0.read_latency": 99}, period="2 ns")
        def test_its_own(vp_platform):
            assert vp_platform.name == "nv_small" and vp_platform.period.ns == 2
            assert "read_latency = 99" in vp_platform.description

        @pytest.mark.vp_platform(period="3 ns")
        def test_changes_of_the_one_of_the_command_line(vp_platform):
            assert vp_platform.name == "nv_large" and vp_platform.period.ns == 3
        """
    )
    pytester.runpytest("--vp-platform", "nv_large", "--strict-markers").assert_outcomes(passed=3)


def test_servers_are_on_free_ports_and_a_wrong_one_says_why(pytester: pytest.Pytester, vp_program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VP", str(vp_program))
    pytester.makepyfile(
        """
        import vp

        def test_two_servers(vp_serve):
            first, second = vp_serve("--platform", "nv_small"), vp_serve("--platform", "nv_large")
            assert first != second
            with vp.connect(first) as one, vp.connect(second) as other:
                assert (one.name, other.name) == ("nv_small", "nv_large")

        def test_none(vp_serve):
            vp_serve("--platform", "nv_smal")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*vp serve: *nv_small*"])


def test_without_the_program_servers_say_how_to_name_it(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VP", "/nowhere/vp")
    pytester.makepyfile("def test_none(vp_serve): vp_serve()")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no program `vp`*variable VP*"])


def test_junit_is_pytests_own(pytester: pytest.Pytester) -> None:
    driver(pytester)
    pytester.runpytest("--vp-update-golden", "--junit-xml=results.xml").assert_outcomes(passed=1)
    assert 'name="test_the_pointer_selects_a_group"' in (pytester.path / "results.xml").read_text()
