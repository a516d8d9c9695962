from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import vp
from test_programs import LAYER


def in_a_thread(call: object) -> BaseException | None:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()  # type: ignore[operator]
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return raised[0] if raised else None


def test_another_thread_is_refused_with_a_sentence(platform: vp.Platform) -> None:
    for call in (lambda: platform.now, lambda: platform.run("1 us"), platform.close, lambda: platform.regs.GLB):
        error = in_a_thread(call)
        assert isinstance(error, vp.WrongThreadError) and "thread" in str(error)
    assert platform.run("1 us").time == vp.Time(1000)


def test_a_platform_that_another_thread_drops_harms_nobody() -> None:
    held = [vp.Platform("nv_small")]

    def drop() -> None:
        held.clear()
        gc.collect()

    assert in_a_thread(drop) is None


def test_threads_have_platforms_of_their_own() -> None:
    hashes: list[str] = []

    def run() -> None:
        with vp.Platform("nv_small") as platform:
            vp.run_trace(LAYER, platform)
            hashes.append(platform.event_hash)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(hashes) == 3 and len(set(hashes)) == 1


def test_other_threads_run_while_the_platform_does(platform: vp.Platform) -> None:
    done, turns = threading.Event(), 0

    def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    before = turns
    vp.run_network("digits", platform, frames=4)
    during = turns - before
    done.set()
    thread.join()
    assert during > 0


def test_a_fork_is_refused_with_a_sentence(platform: vp.Platform) -> None:
    child = os.fork()
    if child == 0:
        try:
            platform.read(0)
        except vp.ForkedError as error:
            ok = "forked" in str(error)
        else:
            ok = False
        with vp.Platform("nv_small") as own:
            ok = ok and own.read(0) >= 0
        os._exit(0 if ok else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert platform.run("1 us").time == vp.Time(1000)


def test_a_closed_platform_says_so(platform: vp.Platform) -> None:
    platform.close()
    platform.close()
    with pytest.raises(vp.ClosedError):
        platform.read(0)


ENDLESS = """
import vp
with vp.Platform("nv_small") as p:
    seen = []
    told = p.on_interrupt(lambda _: seen or (seen.append(1), print("runs", flush=True)))
    try:
        vp.run_network("digits", p, frames=100_000)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(p.read(0) >= 0, flush=True)
"""


def test_a_keyboard_interrupt_ends_a_run_and_the_platform_goes_on() -> None:
    child = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "runs\n"
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted\n"
    assert child.stdout.readline() == "True\n"
    child.stdout.close()
    assert child.wait() == 0
