"""Attention: forward, gradient and one query of long sequences; each result checked first.

    python bench/bench_attention.py [--json FILE] [--markdown FILE] [--label NAME] [--alone] [--small]

Compares with the kernels of PyTorch's scaled_dot_product_attention on CUDA (TF32 off) where there is one. `--label`
names the rows of this project, so that runs of two versions can be put together; `--small` is for software adapters.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from bench_matmul import CUDA, measure

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import AttentionModuleOptions
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import UnsupportedError

if CUDA:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

Row = dict[str, Any]
LIMIT = {dt.F32: 2e-5, dt.F16: 4e-3}
"""Of the largest value: how far a result may be from float64's."""


@dataclass(frozen=True)
class Case:
    name: str
    batch: int
    heads: int
    shared: int
    queries: int
    keys: int
    width: int
    causal: bool
    dtype: DType = dt.F32

    @property
    def flops(self) -> float:
        """Of the forward pass; a causal mask leaves half."""
        seen = 0.5 if self.causal else 1.0
        return 4.0 * self.batch * self.heads * self.queries * self.keys * self.width * seen

    @property
    def bytes(self) -> float:
        """What the forward pass reads and writes at least."""
        lines = 2 * self.heads * self.queries + 2 * self.shared * self.keys
        return float(self.batch * lines * self.width * self.dtype.size_bytes)

    def arrays(self) -> list[np.ndarray]:
        """Query, key, value and the output's gradient, the same in each sequence: numbers that both dtypes hold."""
        query, key = (self.batch, self.heads, self.queries), (self.batch, self.shared, self.keys)
        random = np.random.default_rng(0)
        found = [random.standard_normal((*s[1:], self.width), dtype=np.float32) for s in (query, key, key, query)]
        return [np.repeat(x.astype(np.float16).astype(np.float32)[None], self.batch, 0) for x in found]

    def row(self, who: str, what: str, seconds: float) -> Row:
        flops = self.flops * (2.5 if what == "backward" else 1.0)
        sizes = {k: getattr(self, k) for k in ("batch", "heads", "shared", "queries", "keys", "width", "causal")}
        row: Row = {"who": who, "what": what, "case": self.name, "dtype": self.dtype.name, **sizes}
        row |= {"us": round(seconds * 1e6, 1), "tflops": round(flops / seconds / 1e12, 2)}
        return row | ({"gbs": round(self.bytes / seconds / 1e9)} if self.queries == 1 else {})


def exact(case: Case, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Output and the gradients of the first group of heads, in float64."""
    group = case.heads // case.shared
    q, k, v, grad = (x[0, :n].astype(np.float64) for x, n in zip(arrays, (group, 1, 1, group), strict=True))
    scores = q @ k.swapaxes(1, 2) / np.sqrt(case.width)
    if case.causal:
        seen = np.arange(case.keys) <= np.arange(case.queries)[:, None] + case.keys - case.queries
        scores[:, ~seen] = -np.inf
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    out = p @ v
    ds = p * (grad @ v.swapaxes(1, 2) - (grad * out).sum(-1, keepdims=True)) / np.sqrt(case.width)
    sums = (ds.swapaxes(1, 2) @ q).sum(0, keepdims=True), (p.swapaxes(1, 2) @ grad).sum(0, keepdims=True)
    return [out, ds @ k, *sums]


def verify(case: Case, want: list[np.ndarray], got: list[np.ndarray]) -> None:
    """Raises AssertionError where the first group's results are off; fewer results than `want` are fine."""
    for name, w, g in zip(("output", "dq", "dk", "dv"), want, got, strict=False):
        error = np.abs(g[0, : len(w)] - w).max() / np.abs(w).max()
        assert error <= LIMIT[case.dtype], f"{case}: {name} is off by {error:.2g} of the largest value"


def cases(small: bool) -> list[Case]:
    if small:
        return [Case("small", 1, 4, 2, 96, 96, 64, False), Case("decode", 1, 4, 2, 1, 2048, 64, False)]
    return [
        Case("2048, head 64", 8, 16, 16, 2048, 2048, 64, False),
        Case("2048, head 64, causal", 8, 16, 16, 2048, 2048, 64, True),
        Case("2048, head 128", 4, 16, 16, 2048, 2048, 128, False),
        Case("512, head 64", 16, 16, 16, 512, 512, 64, False),
        Case("8192, head 64", 1, 8, 8, 8192, 8192, 64, False),
        Case("decode 8192, one sequence", 1, 32, 32, 1, 8192, 128, False),
        Case("decode 8192, 4 sequences", 4, 32, 32, 1, 8192, 128, False),
        Case("decode 8192, shared heads", 4, 32, 8, 1, 8192, 128, False),
    ]


def run_ours(case: Case, arrays: list[np.ndarray], want: list[np.ndarray], device: WgpuDevice, who: str) -> list[Row]:
    b: Any = WgpuBackend()
    options = AttentionModuleOptions(is_causal=case.causal)
    q, k, v, grad = (b.float_from_data(TensorData.of(x, case.dtype), device) for x in arrays)
    out, logsumexp = b.attention_with_logsumexp(q, k, v, options)
    found = [out]
    try:
        found += b.attention_backward(q, k, v, out, logsumexp, grad, options)
    except UnsupportedError as error:  # versions with scores in memory, which can be too large
        print(f"{who}: {error}")
    verify(case, want, [b.float_into_data(x).numpy().astype(np.float64) for x in found])

    def time(function: Callable[[], object]) -> float:
        return measure(function, device.client.stream.wait)

    rows = [case.row(who, "forward", time(lambda: b.attention(q, k, v, None, None, options)))]
    if case.queries > 1 and len(found) > 1:
        seconds = time(lambda: b.attention_backward(q, k, v, out, logsumexp, grad, options))
        rows.append(case.row(who, "backward", seconds))
    return rows


def run_torch(case: Case, arrays: list[np.ndarray], want: list[np.ndarray]) -> list[Row]:
    kind = torch.float32 if case.dtype is dt.F32 else torch.float16
    q, k, v, grad = (torch.from_numpy(x).cuda().to(kind) for x in arrays)
    group = case.heads // case.shared
    k, v = (
        x.repeat_interleave(group, 1) for x in (k, v)
    )  # not every kernel has shared heads: here they lie there twice
    rows = []
    backends = [("efficient", SDPBackend.EFFICIENT_ATTENTION), ("math", SDPBackend.MATH)]
    if kind is torch.float16:
        backends.append(("flash", SDPBackend.FLASH_ATTENTION))
    for name, backend in backends:
        with sdpa_kernel(backend):

            def forward() -> Any:
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=case.causal)

            try:
                with torch.no_grad():
                    verify(case, want, [forward().double().cpu().numpy()])
                    rows.append(case.row(f"torch {name}", "forward", measure(forward, torch.cuda.synchronize)))
                if case.queries > 1:
                    leaves = [x.requires_grad_() for x in (q, k, v)]
                    out = forward()
                    seconds = measure(
                        lambda o=out, l=leaves: torch.autograd.grad(o, l, grad, retain_graph=True),  # type: ignore[misc]
                        torch.cuda.synchronize,
                    )
                    rows.append(case.row(f"torch {name}", "backward", seconds))
            except RuntimeError as error:
                print(f"torch {name}: {str(error).splitlines()[0]}")
    return rows


def markdown(record: dict[str, Any]) -> str:
    rows = record["rows"]
    whos = list(dict.fromkeys(row["who"] for row in rows))

    def order(line: tuple[str, str, str]) -> tuple[bool, bool, int]:
        return line[0] == "backward", line[1] == "f16", [row["case"] for row in rows].index(line[2])

    lines = [
        f"# Attention, {record['adapter']}", "",
        "Milliseconds, and TFLOP/s of the products that the result needs (two forward, five backward; half of them "
        "with a causal mask). PyTorch without TF32. With shared heads PyTorch reads keys and values that were repeated "
        "beforehand. By bench/bench_attention.py.", "",
        "| | dtype | case | " + " | ".join(whos) + " |", "|---|---|---|" + "---|" * len(whos),
    ]  # fmt: skip
    for what, dtype, case in sorted(dict.fromkeys((r["what"], r["dtype"], r["case"]) for r in rows), key=order):
        cells = []
        for who in whos:
            found = [r for r in rows if (r["who"], r["what"], r["dtype"], r["case"]) == (who, what, dtype, case)]
            rate = f"{found[0]['gbs']} GB/s" if found and "gbs" in found[0] else ""
            cells.append(f"{found[0]['us'] / 1e3:.3f} ({rate or found[0]['tflops']})" if found else "")
        lines.append(f"| {what} | {dtype} | {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="where to write the rows; rows of other labels that the file has are kept")
    parser.add_argument("--markdown", help="where to write the table; the file's notes are kept")
    parser.add_argument("--label", default="burn_wgpu")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--alone", action="store_true", help="without PyTorch")
    options = parser.parse_args()
    if CUDA:
        torch.backends.cuda.matmul.allow_tf32 = False
    device = WgpuDevice(options.device)
    print(device.capability.adapter, flush=True)
    rows: list[Row] = []
    for plain in cases(options.small):
        arrays = plain.arrays()
        want = exact(plain, arrays)
        found = []
        for case in (replace(plain, dtype=dtype) for dtype in (dt.F32, dt.F16)):
            found += run_ours(case, arrays, want, device, options.label)
            found += run_torch(case, arrays, want) if CUDA and not options.alone else []
        for row in found:
            print(
                f"{row['who']:18}{row['what']:9}{row['dtype']:4}{row['case']:28}{row['us']:10.1f} µs "
                f"{row['tflops']:8.2f} TFLOP/s {row.get('gbs', '')}",
                flush=True,
            )
        rows += found
    record = {"adapter": device.capability.adapter, "rows": rows}
    if options.json and os.path.exists(options.json):
        with open(options.json) as file:
            record["rows"] = [
                row for row in json.load(file)["rows"] if row["who"] not in {r["who"] for r in rows}
            ] + rows
    if options.json:
        with open(options.json, "w") as file:
            json.dump(record, file, indent=1)
    if options.markdown:
        notes = ""
        if os.path.exists(options.markdown):
            with open(options.markdown) as file:
                notes = "".join(file.read().partition("\n## Notes")[1:])
        with open(options.markdown, "w") as file:
            file.write(markdown(record) + notes)


if __name__ == "__main__":
    main()
