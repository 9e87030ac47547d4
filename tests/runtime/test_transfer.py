"""Uploads and downloads: every size and byte offset, pieces, and their order among recorded work."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu.runtime import stream as stream_module
from burn_wgpu.runtime.memory import Lease
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.slice import Slice

pytestmark = pytest.mark.gpu


def fetch(bench, requests: list[tuple[Lease, int, int]]) -> list[bytes]:
    return [a.tobytes() for a in bench.client.stream.download(requests)]


@pytest.mark.parametrize("size", [*range(10), 255, 256, 257, 4093, 70_001])
def test_bytes_come_back_as_they_went(bench, size: int) -> None:
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    lease = bench.client.upload(data, size)
    assert fetch(bench, [(lease, 0, size)]) == [data.tobytes()]


def test_large_transfers_go_in_pieces(bench, monkeypatch) -> None:
    monkeypatch.setattr(stream_module, "PIECE", 1 << 14)
    monkeypatch.setattr(stream_module, "LARGEST", 1 << 13)
    size = (1 << 17) + 7
    data = np.random.default_rng(0).integers(0, 256, size, np.uint8)
    seen: list[int] = []
    lease = bench.client.lease(size)
    bench.client.stream.upload(lease.block, data, seen.append)
    assert sum(seen) == size and max(seen) == 1 << 14 and len(seen) == 9
    assert fetch(bench, [(lease, 0, size), (lease, 4, 9), (lease, size - 11, 11)]) == [
        data.tobytes(), data[4:13].tobytes(), data[-11:].tobytes(),
    ]  # fmt: skip
    assert max(bench.client.stream.staging.free) <= 1 << 13


def test_more_than_one_piece_of_the_real_size(bench) -> None:
    size = stream_module.PIECE + 5
    data = np.arange(size, dtype=np.uint32).astype(np.uint8)
    lease = bench.client.upload(data, size)
    assert fetch(bench, [(lease, 0, size)]) == [data.tobytes()]


def test_a_read_may_reach_the_end_of_the_buffer(bench) -> None:
    data = np.arange(256, dtype=np.uint8)
    lease = bench.client.upload(data, 256)
    assert lease.block.size == 256
    for start in (0, 4, 252):
        assert fetch(bench, [(lease, start, 256 - start)]) == [data[start:].tobytes()]
    assert fetch(bench, [(lease, 252, 1), (lease, 248, 7)]) == [data[252:253].tobytes(), data[248:255].tobytes()]


@pytest.mark.parametrize("dtype", [dt.U8, dt.F16, dt.BF16, dt.F32, dt.F64, dt.I64, dt.BOOL_U8], ids=str)
def test_slices_are_read_at_every_offset(bench, dtype: DType) -> None:
    values = np.arange(40) % 2 if dtype.is_bool else np.arange(40)
    data = TensorData(values.astype(dtype.numpy), dtype)
    kind = "float" if dtype.is_float else "bool" if dtype.is_bool else "int"
    tensor = getattr(bench.b, f"{kind}_from_data")(data, bench.d)
    for start in range(9):
        for stop in (start, start + 1, start + 3, 39, 40):
            view = getattr(bench.b, f"{kind}_slice")(tensor, [Slice(start, stop)])
            result = getattr(bench.b, f"{kind}_into_data")(view)
            assert result.dtype is dtype
            np.testing.assert_array_equal(result.array, data.array[start:stop])


def test_no_tensor_and_empty_tensors(bench) -> None:
    assert fetch(bench, []) == []
    lease = bench.client.upload(np.zeros(0, np.uint8), 0)
    assert fetch(bench, [(lease, 0, 0), (lease, 0, 0)]) == [b"", b""]


def test_early_tensors_stay_right_while_thousands_are_made(bench) -> None:
    early = [bench.make([i, i + 0.5]) for i in range(20)]
    sums = []
    for i in range(3000):
        new = bench.make([i, 2 * i])
        if i % 7 == 0:
            sums.append((i, bench.b.float_add(new, early[i % 20])))
        del new
    for i, total in sums[::40]:
        np.testing.assert_array_equal(bench.read(total), np.float32([i + i % 20, 2 * i + i % 20 + 0.5]))
    for i, tensor in enumerate(early):
        np.testing.assert_array_equal(bench.read(tensor), np.float32([i, i + 0.5]))


def test_an_upload_never_overwrites_what_waiting_commands_read(bench) -> None:
    b = bench.b
    results = []
    for i in range(200):
        x = bench.make(np.full(64, i))
        results.append(b.float_exp(b.float_mul_scalar(x, 0.01)))
        del x  # its buffer is free while the two commands wait
    for i in (0, 1, 7, 8, 9, 100, 199):
        np.testing.assert_allclose(
            bench.read(results[i]), np.exp(np.full(64, np.float32(i) * np.float32(0.01))), rtol=1e-5
        )


def test_a_loop_of_uploads_reuses_its_buffers(bench) -> None:
    for _ in range(100):
        bench.make(np.zeros(64))
    assert bench.client.pool.created <= 2
    x = bench.make(np.ones(64))
    for _ in range(300):
        y = bench.b.float_add(bench.make(np.zeros(64)), x)
    assert bench.client.pool.created <= 16
    np.testing.assert_array_equal(bench.read(y), np.ones(64, np.float32))


def test_staging_buffers_are_reused_and_bounded(bench) -> None:
    tensor = bench.make(np.arange(1000))
    bench.read(tensor)
    ring = bench.client.stream.staging
    before = ring.created
    for _ in range(50):
        bench.read(tensor)
    assert ring.created == before
    for size in range(4000, 400_000, 4000):
        bench.read(bench.make(np.zeros(size)))
    assert ring.created <= before + 10
    assert ring.kept_bytes == sum(size * len(free) for size, free in ring.free.items())


def test_views_are_copied_on_the_device_and_many_are_read_at_once(bench) -> None:
    from burn_wgpu.backends.wgpu.movement_ops import read_many

    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    tensor = bench.make(x)
    before = bench.client.stream.submissions
    parts = read_many([tensor, bench.b.float_swap_dims(tensor, 0, 1), bench.b.float_flip(tensor, [1])])
    assert bench.client.stream.submissions == before + 1
    for part, expected in zip(parts, (x, x.T, x[:, ::-1]), strict=True):
        np.testing.assert_array_equal(part.array, expected)
