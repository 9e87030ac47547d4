"""Burn's slice: a forward range [start, end) walked with a step; a negative step walks it backwards from end − 1.

`0..10;-1` reverses, `2..8;-2` visits 7, 5, 3. Python's rule for negative steps is another one: `Slice.from_python`
translates, and `t[...]` uses it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass

from burn_wgpu.std.errors import ArgumentError, DTypeError


@dataclass(frozen=True, slots=True)
class Slice:
    """start inclusive, end exclusive (None: the end of the axis), negatives count from the end; step is not 0."""

    start: int = 0
    end: int | None = None
    step: int = 1

    def __post_init__(self) -> None:
        for name in ("start", "end", "step"):
            value = getattr(self, name)
            if type(value) is not int and not (value is None and name == "end"):
                try:
                    object.__setattr__(self, name, operator.index(value))
                except TypeError:
                    raise DTypeError(f"slice: {name} is {value!r}; it must be an int") from None
        if self.step == 0:
            raise ArgumentError("slice: the step is 0; it must be positive or negative")

    @staticmethod
    def full() -> Slice:
        return _FULL

    @staticmethod
    def index(i: int) -> Slice:
        """One element; −1 is the last."""
        return Slice(i, None if i == -1 else i + 1)

    @staticmethod
    def of(value: object) -> Slice:
        """From a Slice, an int, a range, a pair (start, end) or a Python slice read in Burn's sense."""
        if isinstance(value, Slice):
            return value
        if isinstance(value, range):
            return Slice(value.start, value.stop, value.step)
        if isinstance(value, slice):
            step = 1 if value.step is None else operator.index(value.step)
            start = 0 if value.start is None else operator.index(value.start)
            return Slice(start, None if value.stop is None else operator.index(value.stop), step)
        if isinstance(value, tuple) and len(value) in (2, 3):
            return Slice(*value)
        return Slice.index(operator.index(value))  # type: ignore[arg-type]  # operator.index raises TypeError itself

    @staticmethod
    def from_python(item: slice, size: int) -> Slice:
        """Python's slice of an axis of `size` elements as Burn's."""
        start, stop, step = item.indices(size)
        count = len(range(start, stop, step))
        if count == 0:
            return Slice(0, 0, step)
        if step > 0:
            return Slice(start, stop, step)
        return Slice(start + (count - 1) * step, start + 1, step)

    @staticmethod
    def parse(text: str) -> Slice:
        """From Burn's text: "start..end;step", where each part may be left out, "start..=end" or an index.

        Raises ArgumentError for any other text.
        """
        found = _TEXT.fullmatch(text)
        if found is None:
            raise ArgumentError(f"slice: the text {text!r} is no slice; write start..end;step, start..=end or an index")
        index, start, inclusive, end, step = found.groups()
        if index is not None:
            return Slice.index(int(index))
        stop = None if end is None else int(end)
        if inclusive:
            if stop is None:
                raise ArgumentError(f"slice: the text {text!r} has no end after ..=; write the last index, or ..")
            stop = None if stop == -1 else stop + 1
        return Slice(int(start or 0), stop, int(step or 1))

    def with_step(self, step: int) -> Slice:
        """The same range with another step."""
        return Slice(self.start, self.end, step)

    @property
    def is_reversed(self) -> bool:
        """Whether the range is walked backwards."""
        return self.step < 0

    def to_range(self, size: int) -> range:
        """The indices that it visits on an axis of `size` elements, in its order."""
        first, count, step = self.walk(size)
        return range(first, first + count * step, step)

    def bound_to(self, size: int) -> Slice:
        """The same elements of an axis of `size` elements, without negatives, an open end, or an end beyond it."""
        start, end = self.bounds(size)
        return Slice(start, end, self.step)

    def __iter__(self) -> Iterator[int]:
        """The indices of a slice that needs no axis to know them. Raises ArgumentError for an open or negative end."""
        if self.end is None or self.end < 0 or self.start < 0:
            raise ArgumentError(f"slice: {self} counts from the end of an axis; use to_range(size) to list its indices")
        return iter(self.to_range(self.end))

    def bounds(self, size: int) -> tuple[int, int]:
        """The forward range [start, end) on an axis of `size` elements, clamped."""
        start = max(self.start + size, 0) if self.start < 0 else min(self.start, size)
        if self.end is None:
            return start, size
        end = max(self.end + size, 0) if self.end < 0 else min(self.end, size)
        return start, end

    def walk(self, size: int) -> tuple[int, int, int]:
        """(first index, count, step) on an axis of `size` elements; first is 0 when count is 0."""
        start, end = self.bounds(size)
        if start >= end:
            return 0, 0, self.step
        count = -(-(end - start) // abs(self.step))
        return (start if self.step > 0 else end - 1), count, self.step

    def output_size(self, size: int) -> int:
        return self.walk(size)[1]

    def __str__(self) -> str:
        if self.end is not None and self.end == self.start + 1 != 0 and self.step == 1:
            return str(self.start)
        text = f"{self.start or ''}..{'' if self.end is None else self.end}"
        return text if self.step == 1 else f"{text};{self.step}"


_FULL = Slice()
_TEXT = re.compile(r"\s*(?:(-?\d+)|(-?\d+)?\s*\.\.(=)?\s*(-?\d+)?\s*(?:;\s*(-?\d+))?)\s*")
