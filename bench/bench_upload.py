"""Loading a .bpk onto a device: its host memory and its speed beside the fastest upload there is.

`python bench/bench_upload.py [DEVICE] [--megabytes N] [--tensor-megabytes N] [--folder DIR] [--json]`

A file of N megabytes of tensors is made, read once so that it is in the page cache, and loaded several times. The
ceiling is the way that wrote fastest in earlier measurements: one buffer that exists already, pieces of 16 MiB out of
the same memory map, a submission after each, and a wait for the end. Both are measured in turns.

Memory is the growth of the process's anonymous memory (RssAnon, sampled every 2 ms): during a load whose buffers exist
already, and during the first one, less the tensors' own bytes where the device's buffers are host memory. In the first,
wgpu's allocator on such a device also touches what is left of each block that it asks for: a few pieces a large tensor.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from burn_wgpu import Device
from burn_wgpu.pack import PackEntry, write_pack
from burn_wgpu.std.dtype import F32
from burn_wgpu.store import WeightFile, load_tensors

PIECE = 16 << 20
ROUNDS = 5


def anonymous_bytes() -> int:
    """The process's resident anonymous memory. Linux only."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise OSError("bench: /proc/self/status has no RssAnon")


class Peak:
    """The largest `anonymous_bytes` while the block runs, by a thread that looks every 2 ms."""

    def __enter__(self) -> Peak:
        self.bytes = anonymous_bytes()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.002):
            self.bytes = max(self.bytes, anonymous_bytes())

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        self.bytes = max(self.bytes, anonymous_bytes())


def write_file(path: Path, megabytes: int, tensor_megabytes: int) -> None:
    """Tensors of float32 with content that is not zero; written from one piece, so that it costs little memory."""
    piece = np.arange(1 << 18, dtype=np.float32)
    sizes = [tensor_megabytes] * (megabytes // tensor_megabytes)
    entries = [
        PackEntry(f"t{i:04}", F32, (n, 1 << 18), None, lambda n=n: (piece for _ in range(n)))
        for i, n in enumerate(sizes)
    ]
    write_pack(path, entries)


def load_once(path: Path, device: Device) -> tuple[float, dict[str, Any]]:
    """Seconds until every tensor is on the device, and the tensors."""
    start = time.perf_counter()
    tensors = load_tensors(path, device)
    device.sync()
    return time.perf_counter() - start, tensors


class Ceiling:
    """The file's tensors written into buffers that exist already, without tensors or a pool."""

    def __init__(self, file: WeightFile, device: Device) -> None:
        self.file, self.device = file, device
        gpu = device.handle.client.device
        self.queue = gpu.queue
        self.buffers = {n: gpu.create_buffer(size=t.size_bytes, usage=0x80 | 8) for n, t in file.tensors.items()}

    def seconds(self) -> float:
        start = time.perf_counter()
        staged = 0
        for name, buffer in self.buffers.items():
            view = self.file.view(name)
            for at in range(0, len(view), PIECE):
                piece = view[at : at + PIECE]
                self.queue.write_buffer(buffer, at, piece)
                staged += len(piece)
                if staged >= PIECE:
                    self.queue.submit([])
                    staged = 0
        self.device.sync()
        return time.perf_counter() - start


def measure(spec: str, megabytes: int, tensor_megabytes: int, folder: str | None = None) -> dict[str, Any]:
    """Everything that the command prints, as plain data."""
    device = Device(spec)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        path = Path(made) / "upload.bpk"
        write_file(path, megabytes, tensor_megabytes)
        with WeightFile(path) as file:
            size = file.size_bytes
            for name in file.tensors:
                np.add.reduce(file.array(name), axis=None)  # now the page cache has it
            device.sync()
            before = anonymous_bytes()
            with Peak() as peak:
                first, tensors = load_once(path, device)
            own = size if device.kind in ("cpu", "integrated") else 0
            first_extra = peak.bytes - before - own
            for name in (next(iter(tensors)), next(reversed(tensors))):
                assert np.array_equal(tensors[name].to_data().array, file.array(name)), f"{name} is not what was stored"
            del tensors
            best = Ceiling(file, device)
            best.seconds()  # touches the buffers' pages
            loads, ceilings = [], []
            for _ in range(ROUNDS):
                seconds, tensors = load_once(path, device)
                loads.append(seconds)
                del tensors
                ceilings.append(best.seconds())
            before = anonymous_bytes()
            with Peak() as peak:
                _, tensors = load_once(path, device)
            extra = peak.bytes - before
            del tensors
    return {
        "device": device.name,
        "megabytes": size / 1e6,
        "tensor_megabytes": tensor_megabytes,
        "first_gb_s": size / first / 1e9,
        "gb_s": size / median(loads) / 1e9,
        "ceiling_gb_s": size / median(ceilings) / 1e9,
        "share": median(ceilings) / median(loads),
        "extra_host_mib": extra / 2**20,
        "first_extra_host_mib": first_extra / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("device", nargs="?", default="wgpu")
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--tensor-megabytes", type=int, default=96)
    parser.add_argument("--folder", help="where the file is made; default: the system's")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = measure(args.device, args.megabytes, args.tensor_megabytes, args.folder)
    if args.json:
        print(json.dumps(found))
        return
    print(f"{found['device']}: {found['megabytes']:.0f} MB in tensors of {found['tensor_megabytes']} MB")
    print(f"load into new buffers   {found['first_gb_s']:6.2f} GB/s")
    print(f"load into pooled ones   {found['gb_s']:6.2f} GB/s, {100 * found['share']:.0f} % of the fastest upload")
    print(f"the fastest upload      {found['ceiling_gb_s']:6.2f} GB/s")
    extra, first = found["extra_host_mib"], found["first_extra_host_mib"]
    print(f"host memory besides     {extra:6.1f} MiB, and {first:.1f} the first time")


if __name__ == "__main__":
    main()
