"""The correlation as a value: extents, strides and offsets of the sum that kernel/conv.py writes down, and its phases.

Where an axis has a `divide` above 1, an output sees only the taps whose place it divides. Outputs of one remainder see
the same taps: a phase, a correlation of its own without `divide` and without gaps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, prod

from burn_wgpu.kernel.conv_text import Axis
from burn_wgpu.std.layout import Layout

MOST_PHASES = 16  # that are launched one by one
LEAST_COLUMNS = 32  # pointwise products with fewer positions an image join the images

ONE = Axis(1, 1, 1, 1, 1, 0, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Correlation:
    """See kernel/conv.py. Strides and offsets are in elements; the result is dense, [images, groups, rows, ..] or, with
    rows_first, [groups, rows, images, ..].

    skips  places outside x have no product; else that of zero and the weight, which for an infinite weight is NaN
    """

    images: int
    groups: int
    rows: int
    channels: int
    axes: tuple[Axis, Axis, Axis]
    x_at: int
    x_image: int
    x_group: int
    x_channel: int
    w_at: int
    w_group: int
    w_row: int
    w_channel: int
    y_at: int
    y_image: int
    y_group: int
    y_row: int
    rows_first: bool = False
    skips: bool = False

    @property
    def points(self) -> int:
        """Results of an image and row."""
        return prod(axis.out for axis in self.axes)

    @property
    def taps(self) -> int:
        return prod(axis.taps for axis in self.axes)

    @property
    def terms(self) -> int:
        """The length of a sum."""
        return self.channels * self.taps

    @property
    def columns(self) -> int:
        return self.images * self.points

    @property
    def size(self) -> int:
        return self.columns * self.groups * self.rows

    @property
    def together(self) -> bool:
        """Whether four neighbours of the flat result lie in one line of positions."""
        return self.axes[2].out % 4 == 0

    @property
    def run(self) -> bool:
        """Whether the positions of an image and row are one run of the result."""
        return Layout.of([axis.out for axis in self.axes], [axis.y for axis in self.axes]).contiguous

    @property
    def chunked(self) -> bool:
        """Whether four neighbouring columns are a chunk of the result."""
        return self.run and self.points % 4 == 0

    @property
    def inside(self) -> bool:
        """Whether no output looks outside x."""
        return all(axis.inside for axis in self.axes)

    @property
    def pointwise(self) -> bool:
        """Whether it is a plain product for each image, whose columns are the positions as they lie."""
        one, two, last = self.axes
        enough = self.points >= LEAST_COLUMNS or self.images == 1
        return one == two == ONE and last.identity and enough and not self.rows_first

    @property
    def remainders(self) -> int:
        """Remainders of outputs by `divide`: the most phases there can be."""
        return prod(axis.divide for axis in self.axes)

    @property
    def phase_count(self) -> int:
        """Phases there are outputs for, those without a tap included."""
        return prod(min(axis.divide, axis.out) for axis in self.axes)


def phases(what: Correlation) -> list[Correlation]:
    """The parts of the outputs that see one subset of the taps; those that see no tap are left out."""
    found = []
    for parts in product(*(_axis_phases(axis) for axis in what.axes)):
        (first, second, third), w_steps, y_steps = zip(*parts, strict=True)
        axes = (first, second, third)
        found.append(replace(what, axes=axes, w_at=what.w_at + sum(w_steps), y_at=what.y_at + sum(y_steps)))
    return found


def _axis_phases(axis: Axis) -> Iterator[tuple[Axis, int, int]]:
    """Each phase of an axis, and how far from w's and the result's start it begins."""
    s, d = axis.divide, -axis.tap_step
    if s == 1:
        yield axis, 0, 0
        return
    period = s // gcd(s, d)
    for f in range(min(s, axis.out)):
        start = next((t for t in range(min(period, axis.taps)) if (f + axis.first - d * t) % s == 0), None)
        if start is not None:
            part = Axis(
                axis.size, -(-(axis.out - f) // s), -(-(axis.taps - start) // period), 1, -(d * period // s),
                (f + axis.first - d * start) // s, 1, axis.x, axis.w * period, axis.y * s,
            )  # fmt: skip
            yield part, start * axis.w, f * axis.y


def alike(parts: Sequence[Correlation]) -> bool:
    """Whether phases (at least two) differ only in where they begin, so that one launch computes them."""
    shapes = {
        replace(p, w_at=0, y_at=0, axes=tuple(replace(axis, first=0) for axis in p.axes))  # type: ignore[arg-type]
        for p in parts
    }
    trivial = {tuple(axis.trivial for axis in p.axes) for p in parts}
    return len(parts) > 1 and len(shapes) == 1 and len(trivial) == 1
