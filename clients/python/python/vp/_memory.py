"""The platform's memories as arrays of bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._errors import MemoryRangeError
from ._types import expect

if TYPE_CHECKING:
    from ._native import Host


class Memory:
    """A memory of the platform, seen as a debugger sees it: bytes go round the simulated bus, and no time passes.

    ``memory[a:b]`` is a copy of the bytes at addresses *a* to *b*, as an array of `numpy.uint8`; ``memory[a:b] = data`` stores bytes.
    Bytes that nobody has written are zero.

    Attributes:
        name: `dbb0` or `sram0`.
        base: its first address.
        size: how many bytes it has.
    """

    def __init__(self, host: Host, name: str, base: int, size: int) -> None:
        self._host = host
        self.name = name
        self.base = base
        self.size = size

    def load(self, address: int, data: npt.ArrayLike) -> None:
        """Stores an array's bytes, at the speed of a copy.

        Args:
            address: of the first byte.
            data: an array of any type and shape, stored in C order as it lies in this host's memory, or `bytes`.

        Raises:
            MemoryRangeError: the bytes do not lie in the memory; nothing is stored.
        """
        self._host.load(self.name, _address(self, address), _bytes_of(data))

    def fetch(
        self, address: int, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.uint8
    ) -> npt.NDArray[Any]:
        """Takes bytes out of the memory, as an array.

        Args:
            address: of the first byte.
            shape: of the array.
            dtype: of its elements: bytes, unless said otherwise.

        Raises:
            MemoryRangeError: the bytes do not lie in the memory.
        """
        # The range first: a wrong size is not to take this host's memory.
        elements = int(np.prod(shape, dtype=object)) if isinstance(shape, tuple) else int(shape)
        size = elements * np.dtype(dtype).itemsize
        if size < 0 or size > self.size:
            raise MemoryRangeError(
                f"{size:#x} bytes at {address:#x} are not in {self.name}: it has {self.size:#x} bytes",
                memory=self.name,
                address=address,
                size=size,
                holds=f"it has {self.size:#x} bytes",
            )
        into = np.empty(size, np.uint8)
        self._host.fetch(self.name, _address(self, address), into)
        return into.view(dtype).reshape(shape)

    def fetch_into(self, address: int, into: npt.NDArray[Any]) -> None:
        """Fills an array, contiguous in C order, with bytes of the memory.

        Raises:
            MemoryRangeError: the bytes do not lie in the memory.
        """
        expect(into, np.ndarray, "array of numpy")
        if not into.flags.c_contiguous:
            raise ValueError("an array that is filled has to be contiguous in C order")
        self._host.fetch(self.name, _address(self, address), into.reshape(-1).view(np.uint8))

    def __getitem__(self, place: slice | int) -> Any:
        if isinstance(place, slice):
            start, stop = self._range(place)
            return self.fetch(start, stop - start)
        return int(self.fetch(place, 1)[0])

    def __setitem__(self, place: slice | int, data: npt.ArrayLike) -> None:
        if not isinstance(place, slice):
            self.load(place, _filled(1, data))
            return
        start, stop = self._range(place)
        # A number fills the bytes, as in numpy.
        stored = _filled(stop - start, data) if np.ndim(data) == 0 and not isinstance(data, (bytes, bytearray)) else _bytes_of(data)
        if len(stored) != stop - start:
            raise ValueError(f"{len(stored)} bytes for the {stop - start} of {start:#x} to {stop:#x}")
        self.load(start, stored)

    def _range(self, place: slice) -> tuple[int, int]:
        if place.step not in (None, 1):
            raise ValueError("bytes of a memory are taken one after the other: a slice without a step")
        start = self.base if place.start is None else place.start
        stop = self.base + self.size if place.stop is None else place.stop
        return start, max(start, stop)

    # An index is an address: counted from 0 there is nothing.
    __iter__ = None

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<memory {self.name}: {self.base:#x} to {self.base + self.size - 1:#x}>"


def _filled(size: int, byte: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    try:
        return np.full(size, byte, np.uint8)
    except OverflowError as error:
        raise ValueError(f"a byte is 0 to 255: {error}") from None


def _bytes_of(data: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    if isinstance(data, (bytes, bytearray, memoryview)):
        return np.frombuffer(data, np.uint8)
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


def _address(memory: Memory, address: int) -> int:
    if not 0 <= address < 2**64:
        raise MemoryRangeError(
            f"{address:#x} is no address in {memory.name}: {memory!r}",
            memory=memory.name,
            address=address,
            size=0,
            holds=repr(memory),
        )
    return address
