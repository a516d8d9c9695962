"""Platforms for asyncio: calls that wait do not hold up the event loop.

>>> async def main() -> None:
...     async with await vp.aio.connect("tcp:127.0.0.1:7700") as p:
...         await p.call(lambda p: p.regs.SDP.S_POINTER.write(1))
...         print(await p.call(lambda p: p.regs.SDP.S_POINTER.read()))
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from . import _native, _remote
from ._events import Stopped
from ._platform import BasePlatform, Platform
from ._remote import RemotePlatform
from ._time import Time, TimeLike

P = TypeVar("P", bound=BasePlatform)
T = TypeVar("T")


class AsyncPlatform(Generic[P]):
    """A platform that belongs to a thread of its own: what is awaited runs there, one call after the other."""

    def __init__(self, executor: ThreadPoolExecutor, platform: P, interrupter: _native.Interrupter) -> None:
        self._executor = executor
        self._platform = platform
        self._interrupter = interrupter

    async def call(self, call: Callable[[P], T]) -> T:
        """Calls a function with the platform, in the platform's thread; what it returns, or raises.

        If what awaits it is cancelled, as by Ctrl-C, the call ends, and the platform goes on with the next one.
        """
        begun = self._executor.submit(call, self._platform)
        done = asyncio.wrap_future(begun)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            if not begun.cancel():
                # Again and again: between two calls of the platform's there is none that could end.
                while not done.done():
                    self._interrupter.interrupt()
                    await asyncio.wait([done], timeout=0.05)
            raise

    async def read(self, address: int) -> int:
        """`BasePlatform.read`."""
        return await self.call(lambda p: p.read(address))

    async def write(self, address: int, value: int, *, acknowledged: bool = False) -> None:
        """`BasePlatform.write`."""
        await self.call(lambda p: p.write(address, value, acknowledged=acknowledged))

    async def wait_interrupt(self, *, limit: TimeLike | None = None) -> Time:
        """`BasePlatform.wait_interrupt`."""
        return await self.call(lambda p: p.wait_interrupt(limit=limit))

    async def run(self, until: TimeLike | None = None) -> Stopped:
        """`BasePlatform.run`."""
        return await self.call(lambda p: p.run(until))

    async def statistics(self) -> dict[str, int | str]:
        """`BasePlatform.statistics`."""
        return await self.call(lambda p: p.statistics())

    async def close(self) -> list[str]:
        """`BasePlatform.close`; the thread ends."""
        notes = await self.call(lambda p: p.close())
        self._executor.shutdown(wait=False)
        return notes

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def _in_a_thread(make: Callable[[], P]) -> AsyncPlatform[P]:
    executor = ThreadPoolExecutor(1, "vp")

    def begin() -> tuple[P, _native.Interrupter]:
        made = make()
        return made, made._host.interrupter()

    try:
        made, interrupter = await asyncio.get_running_loop().run_in_executor(executor, begin)
    except BaseException:
        executor.shutdown(wait=False)
        raise
    return AsyncPlatform(executor, made, interrupter)


async def connect(address: str, **options: Any) -> AsyncPlatform[RemotePlatform]:
    """`vp.connect`, for asyncio."""
    return await _in_a_thread(lambda: _remote.connect(address, **options))


async def platform(*arguments: Any, **options: Any) -> AsyncPlatform[Platform]:
    """`vp.Platform`, for asyncio."""
    return await _in_a_thread(lambda: Platform(*arguments, **options))
