from __future__ import annotations

import numpy as np
import pytest

import vp


def test_arrays_go_into_memory_and_come_back(platform: vp.Platform) -> None:
    base = platform.dram.base
    data = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    platform.dram.load(base + 64, data)
    assert np.array_equal(platform.dram.fetch(base + 64, (2, 3, 4), np.int16), data)
    into = np.zeros((2, 3, 4), np.int16)
    platform.dram.fetch_into(base + 64, into)
    assert np.array_equal(into, data)
    assert platform.now == vp.Time(0)


def test_slices_are_bytes(platform: vp.Platform) -> None:
    base = platform.dram.base
    platform.dram[base : base + 4] = b"abcd"
    platform.dram[base + 4 : base + 8] = 7
    platform.dram[base + 8] = 255
    assert bytes(platform.dram[base : base + 10]) == b"abcd\7\7\7\7\xff\0"
    assert platform.dram[base] == ord("a")


def test_an_array_of_any_layout_is_stored_in_c_order(platform: vp.Platform) -> None:
    data = np.arange(12, dtype=np.uint8).reshape(3, 4)
    platform.dram.load(platform.dram.base, data.T)
    assert np.array_equal(platform.dram.fetch(platform.dram.base, 12), np.ascontiguousarray(data.T).reshape(-1))


@pytest.mark.parametrize("address", [0, -1, 1 << 64, (1 << 64) - 1])
def test_bytes_outside_the_memory_are_refused(platform: vp.Platform, address: int) -> None:
    with pytest.raises(vp.MemoryRangeError) as refused:
        platform.dram.load(address, b"1234")
    assert isinstance(refused.value, IndexError)
    with pytest.raises(vp.MemoryRangeError):
        platform.dram.fetch(address, 4)


def test_a_range_beyond_the_end_says_what_there_is(platform: vp.Platform) -> None:
    end = platform.dram.base + platform.dram.size
    with pytest.raises(vp.MemoryRangeError, match=f"{end - 1:x}") as refused:
        platform.dram[end - 2 : end + 2]
    assert (refused.value.memory, refused.value.address, refused.value.size) == ("dbb0", end - 2, 4)


def test_a_size_that_no_memory_has_takes_none_of_this_hosts(platform: vp.Platform) -> None:
    with pytest.raises(vp.MemoryRangeError):
        platform.dram.fetch(platform.dram.base, 1 << 60)
    with pytest.raises(vp.MemoryRangeError):
        platform.dram.fetch(platform.dram.base, (1 << 40, 1 << 40), np.float64)


def test_bytes_that_do_not_fill_a_slice_are_refused(platform: vp.Platform) -> None:
    base = platform.dram.base
    with pytest.raises(ValueError, match="3 bytes for the 4"):
        platform.dram[base : base + 4] = b"abc"
    with pytest.raises(ValueError, match="without a step"):
        platform.dram[base : base + 4 : 2]


def test_a_memory_limit_of_this_host_is_kept() -> None:
    with vp.Platform("nv_small", memory_limit=1 << 20) as small:
        with pytest.raises(vp.RefusedError):
            small.dram.load(small.dram.base, np.ones(2 << 20, np.uint8))


def test_a_memory_is_no_sequence_from_zero_on(platform: vp.Platform) -> None:
    with pytest.raises(TypeError):
        list(platform.dram)  # type: ignore[call-overload]


def test_many_bytes_come_back_as_they_went(platform: vp.Platform) -> None:
    data = np.random.default_rng(1).integers(0, 256, 3_000_001, np.uint8)
    platform.dram.load(platform.dram.base + 12345, data)
    assert np.array_equal(platform.dram.fetch(platform.dram.base + 12345, data.size), data)
