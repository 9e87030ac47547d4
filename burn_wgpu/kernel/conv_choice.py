"""Which kernel computes a correlation: by its shape and the device's limits only, so that results do not vary."""

from __future__ import annotations

from burn_wgpu.kernel.conv_strip import strip_parts
from burn_wgpu.kernel.conv_window import WINDOWS, window_fits
from burn_wgpu.kernel.correlation import MOST_PHASES, Correlation, alike, phases
from burn_wgpu.kernel.matmul import TILES
from burn_wgpu.shader.capability import Capability

KERNELS = (*TILES, *WINDOWS, "strip", "direct", "dots")
BUSY = 256  # workgroups that keep a big GPU busy
DIRECT_TERMS = 20_000  # longest sum of direct: loops of an invocation must stay below 65,535 steps on Mesa 22
LEAST_WINDOWS = 160  # workgroups from which windows are faster than smaller tiles
LEAST_STRIPS = 1 << 13  # threads from which a strip's long sums are worth it
LONG_TERMS = 4096  # of a weight gradient, from which lines are faster than tiles


def able(kernel: str, what: Correlation, device: Capability) -> str:
    """The kernel, or the simpler one that takes over what it cannot compute."""
    if kernel in WINDOWS and not window_fits(what, WINDOWS[kernel], device):
        kernel = "tile_64x64" if what.remainders <= MOST_PHASES else "direct"
    if what.terms == 0 or (kernel == "strip" and not strip_parts(what)):
        return "direct"
    return kernel


def choose(what: Correlation, device: Capability) -> tuple[str, int]:
    """The kernel and over how many workgroups its sums are split; see kernel/conv.py."""
    m, n, k = what.rows, what.columns, what.terms
    few = m < 8 or n < 4
    if what.rows_first and k >= LONG_TERMS and not device.software and m > 1 and n >= 16:
        lines, wanted = ("lines_8x64", 8 * BUSY) if m <= 8 else ("lines_64x64", 2 * BUSY)
        if window_fits(what, WINDOWS[lines], device):
            return lines, _splits(_groups(what, n, lines), k, 256, wanted)
    if few and k >= 512 and what.size <= 1 << 16:
        return "dots", _splits(-(-what.size // 4), k, 4096)
    shared = few or (m == 8 and what.groups > 1)
    if shared and strip_parts(what) and (k <= 128 or what.size // (4 * m) >= LEAST_STRIPS):
        return "strip", 1
    remainders = what.remainders
    if k <= DIRECT_TERMS and (few or k < 8 or remainders > MOST_PHASES):
        return "direct", 1
    if remainders > MOST_PHASES:
        return "dots", 1
    if device.software or min(m, n) <= 32 or m * n * what.groups <= 1 << 16:
        n, k = n // remainders, max(k // remainders, 1)
        return "tile_32x32", _splits(_groups(what, n, "tile_32x32"), k, 128)
    if what.pointwise:
        return _choose_pointwise(what, device)
    if window_fits(what, WINDOWS["window_64x128"], device):
        live = phases(what)
        together = len(live) if alike(live) else 1
        count = together * max(_groups(what, phase.columns, "window_64x128") for phase in live)
        if count >= LEAST_WINDOWS:
            return ("window_64x64" if count < BUSY and len(live) > 1 else "window_64x128"), 1
        if 4 * count >= BUSY and k >= 1024:
            return "window_64x128", _splits(count, k, 512)
    n, k = n // remainders, max(k // remainders, 1)
    for kernel in ("tile_64x128_deep", "tile_64x128"):
        fits = TILES[kernel].workgroup_bytes <= device.max_workgroup_bytes
        if fits and _groups(what, n, kernel) >= BUSY:
            return kernel, 1
    return "tile_64x64", _splits(_groups(what, n, "tile_64x64"), k, 128)


def _choose_pointwise(what: Correlation, device: Capability) -> tuple[str, int]:
    """As kernel/matmul.py chooses for a batch of images, and of two tiles the one that covers less."""
    counts = {
        name: what.images * what.groups * -(-what.rows // tile.rows) * -(-what.points // tile.columns)
        for name, tile in TILES.items()
    }
    if what.rows <= 64 and counts["tile_64x64"] >= 2 * BUSY:
        return "tile_64x64", 1
    big = min(("tile_64x128", "tile_128x64"), key=lambda name: counts[name])
    for name, least in ((big, 2 * BUSY), ("tile_64x128_deep", BUSY)):
        if counts[name] >= least and TILES[name].workgroup_bytes <= device.max_workgroup_bytes:
            return name, 1
    return "tile_64x64", _splits(counts["tile_64x64"], what.terms, 128)


def _groups(what: Correlation, columns: int, kernel: str) -> int:
    """Workgroups of a tiled product over so many columns."""
    tile = TILES[kernel] if kernel in TILES else WINDOWS[kernel]
    return what.groups * -(-what.rows // tile.rows) * -(-columns // tile.columns)


def _splits(groups: int, k: int, least: int, wanted: int = BUSY) -> int:
    """Splits of k that make about `wanted` workgroups, each with at least `least` of k."""
    return max(1, min(wanted // groups, k // least))
