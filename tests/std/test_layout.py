"""Layouts against NumPy's strides: any chain of views addresses the same elements."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burn_wgpu.std.errors import ArgumentError, ShapeError
from burn_wgpu.std.layout import Layout, broadcast_shapes, collapse_together, contiguous_strides
from burn_wgpu.std.slice import Slice

shapes = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)


def elements(layout: Layout, base: np.ndarray) -> np.ndarray:
    """The view's elements, addressed one by one from the flat base."""
    index = np.full(layout.shape, layout.offset)
    for axis, (n, s) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        index = index + (np.arange(n) * s).reshape([-1 if a == axis else 1 for a in range(layout.rank)])
    return base[index]


@st.composite
def views(draw: st.DrawFn) -> tuple[Layout, np.ndarray, np.ndarray]:
    """(layout, NumPy's view, flat base) after a few random view operations."""
    shape = draw(shapes)
    base = np.arange(int(np.prod(shape)))
    array, layout = base.reshape(shape), Layout.dense(shape)
    for _ in range(draw(st.integers(0, 5))):
        rank = layout.rank
        kind = draw(st.sampled_from(["permute", "flip", "slice", "expand", "unfold", "reshape"]))
        if kind == "permute":
            axes = draw(st.permutations(range(rank)))
            array, layout = array.transpose(axes), layout.permute(axes)
        elif kind == "flip" and rank:
            axes = draw(st.lists(st.integers(0, rank - 1), unique=True))
            array, layout = np.flip(array, axes), layout.flip(axes)
        elif kind == "slice":
            cut = [draw(slices(n)) for n in layout.shape[: draw(st.integers(0, rank))]]
            layout = layout.slice(cut)
            for axis, item in enumerate(cut):
                array = array.take(burn_indices(item, array.shape[axis]), axis)
        elif kind == "expand" and rank < 5:
            grown = [n if n != 1 else draw(st.sampled_from([1, 3])) for n in layout.shape]
            grown = [*draw(st.lists(st.integers(1, 2), max_size=1)), *grown]
            array, layout = np.broadcast_to(array, grown), layout.expand(grown)
        elif kind == "unfold" and rank and rank < 5:
            dim = draw(st.integers(0, rank - 1))
            size, step = draw(st.integers(1, 3)), draw(st.integers(1, 3))
            if layout.shape[dim] >= size:
                layout = layout.unfold(dim, size, step)
                array = np.lib.stride_tricks.sliding_window_view(array, size, dim)
                array = array[(slice(None),) * dim + (slice(None, None, step),)]
        elif kind == "reshape" and array.size:
            target = draw(reshapes(array.size))
            new = layout.reshape(target)
            if new is not None:
                array, layout = array.reshape(target), new
    return layout, array, base


def slices(size: int) -> st.SearchStrategy[Slice]:
    return st.builds(
        Slice,
        st.integers(-size, size),
        st.none() | st.integers(-size, size + 2),
        st.sampled_from([1, 2, 3, -1, -2, -3]),
    )


def burn_indices(item: Slice, size: int) -> list[int]:
    """Burn's rule, by its words: the forward range, walked backwards from its end when the step is negative."""
    start = item.start + size if item.start < 0 else item.start
    end = size if item.end is None else item.end + size if item.end < 0 else item.end
    forward = list(range(max(start, 0), min(max(end, 0), size)))
    return forward[:: item.step] if item.step > 0 else forward[::-1][:: -item.step]


@st.composite
def reshapes(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    """A shape of this many elements."""
    out = []
    while size > 1 and len(out) < 4:
        divisor = draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
        out.append(divisor)
        size //= divisor
    return (*out, size) if size > 1 or draw(st.booleans()) else tuple(out)


@settings(max_examples=400, deadline=None)
@given(views())
def test_any_chain_of_views_addresses_numpys_elements(case) -> None:
    layout, array, base = case
    assert layout.shape == array.shape and layout.size == array.size and layout.rank == array.ndim
    np.testing.assert_array_equal(elements(layout, base), array)
    if layout.size:
        run = np.arange(layout.offset, layout.offset + layout.size).reshape(layout.shape)
        strides_say = bool((elements(layout, np.arange(max(base.size, 1))) == run).all())
        assert layout.contiguous == (strides_say and layout.strides == contiguous_strides(layout.shape))
        assert layout.packed == (layout.contiguous and layout.offset == 0)


@settings(max_examples=400, deadline=None)
@given(views(), st.data())
def test_a_reshape_is_a_view_exactly_when_the_elements_allow_it(case, data) -> None:
    layout, array, base = case
    if array.size == 0:
        assert layout.reshape((0, 7)).shape == (0, 7)
        return
    target = data.draw(reshapes(array.size))
    new = layout.reshape(target)
    if new is not None:
        np.testing.assert_array_equal(elements(new, base), array.reshape(target))
    else:  # then no strides can do it: NumPy must copy, too
        view = np.lib.stride_tricks.as_strided(
            base[layout.offset :], array.shape, [s * base.itemsize for s in layout.strides]
        )
        with pytest.raises((ValueError, AttributeError)):
            view.view().shape = target


@settings(max_examples=300, deadline=None)
@given(views())
def test_a_collapsed_layout_walks_the_same_elements(case) -> None:
    layout, array, base = case
    flat = layout.collapse()
    if layout.size:
        np.testing.assert_array_equal(elements(flat, base).reshape(-1), array.reshape(-1))
        assert flat.rank <= layout.rank and 1 not in flat.shape


@settings(max_examples=300, deadline=None)
@given(views(), st.data())
def test_layouts_collapsed_together_keep_their_pairs(case, data) -> None:
    layout, array, base = case
    other = Layout.dense(layout.shape)
    if layout.rank and data.draw(st.booleans()):
        axis = data.draw(st.integers(0, layout.rank - 1))
        one = Layout.dense([1 if a == axis else n for a, n in enumerate(layout.shape)])
        other = one.expand(layout.shape)
    shape, (mine, theirs) = collapse_together([layout, other])
    assert len(shape) <= layout.rank
    if layout.size:
        for found, start in ((mine, layout), (theirs, other)):
            joined = Layout.of(shape, found, start.offset)
            wide = np.arange(1000)
            np.testing.assert_array_equal(elements(joined, wide).reshape(-1), elements(start, wide).reshape(-1))


@given(views())
def test_equal_layouts_are_one_object_also_after_pickling(case) -> None:
    layout = case[0]
    assert Layout.of(layout.shape, layout.strides, layout.offset) is layout
    assert pickle.loads(pickle.dumps(layout)) is layout


def test_expanding_a_size_that_is_not_1_is_refused() -> None:
    with pytest.raises(ShapeError) as error:
        Layout.dense((2, 3)).expand((2, 4))
    assert str(error.value) == (
        "expand: axis 1 of shape [2, 3] has size 3, which cannot become 4; only axes of size 1 grow (wanted [2, 4])"
    )


def test_shapes_broadcast_axis_by_axis() -> None:
    assert broadcast_shapes("add", (2, 1, 3), (1, 5, 3)) == (2, 5, 3)
    assert broadcast_shapes("add", (0, 1), (1, 4)) == (0, 4)
    with pytest.raises(ShapeError) as error:
        broadcast_shapes("add", (2, 3), (2, 4))
    assert str(error.value) == "add: shapes [2, 3] and [2, 4] disagree on axis 1 (3 and 4); sizes must be equal or 1"


@given(st.integers(0, 6), st.data())
def test_burns_slices_follow_their_rule(size: int, data) -> None:
    item = data.draw(slices(size))
    first, count, step = item.walk(size)
    expected = burn_indices(item, size)
    assert [first + i * step for i in range(count)] == expected
    assert item.output_size(size) == len(expected)


@given(
    st.integers(0, 6),
    st.none() | st.integers(-8, 8),
    st.none() | st.integers(-8, 8),
    st.sampled_from([None, 1, 2, -1, -2, -3]),
)
def test_pythons_slices_are_translated(size: int, start, stop, step) -> None:
    item = slice(start, stop, step)
    first, count, stride = Slice.from_python(item, size).walk(size)
    assert [first + i * stride for i in range(count)] == list(range(size))[item]


def test_slices_are_made_from_many_things() -> None:
    assert Slice.of(-1) == Slice(-1, None) and Slice.of(2) == Slice(2, 3)
    assert Slice.of(range(1, 9, 2)) == Slice(1, 9, 2)
    assert Slice.of((1, 4)) == Slice(1, 4) and Slice.of(slice(None, None, -1)) == Slice(0, None, -1)
    assert Slice.of(Slice.full()) is Slice.full()
    assert [str(Slice(2, 3)), str(Slice(1, 5, -2)), str(Slice.full())] == ["2", "1..5;-2", ".."]
    with pytest.raises(ValueError, match="^slice: the step is 0; it must be positive or negative$"):
        Slice(0, 1, 0)
    with pytest.raises(TypeError):
        Slice.of("a")


def test_a_slice_is_read_from_its_text() -> None:
    wanted = {
        "1..5": Slice(1, 5), "1..=5": Slice(1, 6), "..": Slice.full(), "..3": Slice(0, 3), "2..": Slice(2, None),
        "0..10;-1": Slice(0, 10, -1), "..;2": Slice(0, None, 2), "-3..=-1": Slice(-3, None), "-3..=-2": Slice(-3, -1),
        "4": Slice(4, 5), "-1": Slice(-1, None), " 1 .. 5 ; 2 ": Slice(1, 5, 2),
    }  # fmt: skip
    for text, item in wanted.items():
        assert Slice.parse(text) == item
    for wrong in ("", "1:5", "1..=", "..;", "a..b", "1...5", "1..5;;2", "1;2"):
        with pytest.raises(ArgumentError, match="is no slice|no end after"):
            Slice.parse(wrong)
    with pytest.raises(ArgumentError, match="step is 0"):
        Slice.parse("..;0")


@given(slices(9), st.integers(0, 9))
def test_the_forms_of_a_slice_agree(item: Slice, size: int) -> None:
    assert Slice.parse(str(item)) == item
    indices = burn_indices(item, size)
    assert list(item.to_range(size)) == indices
    bound = item.bound_to(size)
    assert list(bound) == list(bound.to_range(size)) == indices and bound.step == item.step
    assert item.is_reversed == (item.step < 0) and item.with_step(5) == Slice(item.start, item.end, 5)


def test_an_open_slice_has_no_indices_of_its_own() -> None:
    assert list(Slice(2, 8, -2)) == [7, 5, 3]
    for item in (Slice(1, None), Slice(-3, 5), Slice(0, -1)):
        with pytest.raises(ArgumentError, match="to_range"):
            iter(item)
