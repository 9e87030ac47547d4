"""Named extensions: Fourier transforms, linear algebra, vision; replacing one for a backend."""

import numpy as np
import pytest

from burn_wgpu.backends.reference import ReferenceBackend
from burn_wgpu.contract import extension
from burn_wgpu.contract.extension import EXTENSIONS, MorphOptions, NmsOptions, register_extension
from burn_wgpu.contract.options import PadMode
from burn_wgpu.std.dtype import F16, F32, F64, I32, I64
from burn_wgpu.std.errors import ArgumentError, NotImplementedByBackend
from tests.backends.reference.tools import BOTH, B, bools, floats, ints, near, read, same

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
RNG = np.random.default_rng(8)


def test_fourteen_extensions_are_known():
    assert len(EXTENSIONS) == 14
    assert [name for name, e in EXTENSIONS.items() if e.composed] == ["signal::rfft", "signal::irfft"]


# --------------------------------------------------------------------------------------------------------- signal


@both
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 16, 63, 64, 65, 97, 100, 128, 262, 1000, 4096])
def test_rfft_and_irfft_agree_with_numpy(b, n):
    x = RNG.normal(size=(2, n, 3))
    expected = np.fft.rfft(x, axis=1)
    re, im = extension.rfft(b, floats(x, F64), 1)
    near(re, expected.real, 1e-9, 1e-9)
    near(im, expected.imag, 1e-9, 1e-9)
    near(extension.irfft(b, re, im, 1, n), x, 1e-9, 1e-10)


@pytest.mark.parametrize("n", [5, 12, 30])
def test_a_length_cuts_or_pads(n):
    x = RNG.normal(size=(3, 12))
    re, im = extension.rfft(B, floats(x, F64), 1, n)
    expected = np.fft.rfft(x, n, axis=1)
    near(re, expected.real, 1e-9, 1e-9)
    near(im, expected.imag, 1e-9, 1e-9)
    spectrum = RNG.normal(size=(3, 7)) + 1j * RNG.normal(size=(3, 7))
    back = extension.irfft(B, floats(spectrum.real, F64), floats(spectrum.imag, F64), 1, n)
    near(back, np.fft.irfft(spectrum, n, axis=1), 1e-9, 1e-9)


def test_irfft_gives_an_even_number_of_samples_by_default():
    x = RNG.normal(size=(10,))
    re, im = extension.rfft(B, floats(x), 0)
    near(extension.irfft(B, re, im, 0), x, 1e-4, 1e-6)


@both
def test_a_transform_of_halves_is_rounded_once(b):
    x = read(floats(RNG.normal(size=(1, 512)), F16)).astype(np.float64)
    re, im = extension.rfft(b, floats(x, F16), 1)
    assert re.dtype is F16
    near(re, np.fft.rfft(x).real, 1e-3, 1e-2)
    near(im, np.fft.rfft(x).imag, 1e-3, 1e-2)


# --------------------------------------------------------------------------------------------------------- linalg


@pytest.mark.parametrize("swap", [False, True])
def test_svd_factors_multiply_back(swap):
    wide = RNG.normal(size=(2, 3, 5, 4))
    wanted = wide.swapaxes(2, 3) if swap else wide
    u, s, vt = (read(t) for t in extension.svd(B, floats(wide, F64), 30, swap))
    assert (u.shape[2:], s.shape[2:], vt.shape[2:]) == (((4, 4), (4,), (4, 5)) if swap else ((5, 4), (4,), (4, 4)))
    np.testing.assert_allclose(u * s[..., None, :] @ vt, wanted, atol=1e-12)
    assert (np.diff(s) <= 0).all()


def test_svd_of_a_nan_is_an_error():
    with pytest.raises(ArgumentError) as caught:
        extension.svd(B, floats([[np.nan, 1.0], [0.0, 1.0]]), 30, False)
    assert str(caught.value) == (
        "svd: the iteration does not converge for a matrix of shape [2, 2]; its elements must be finite"
    )


def test_solve_broadcasts_the_batch():
    a, x = RNG.normal(size=(2, 1, 4, 4)), RNG.normal(size=(2, 3, 4, 2))
    near(extension.solve(B, floats(a, F64), floats(a @ x, F64)), x, 1e-8, 1e-9)
    with pytest.raises(ArgumentError) as caught:
        extension.solve(B, floats(np.zeros((2, 2))), floats(np.ones((2, 1))))
    assert str(caught.value) == "solve: lhs [2, 2] is singular, a pivot is 0; the matrix must be invertible"


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_reads_one_triangle_and_names_the_bad_pivot(upper):
    a = RNG.normal(size=(3, 4, 4))
    a = a @ a.swapaxes(1, 2) + np.eye(4)
    a[1, 2, 2] = -1.0
    other = np.tril_indices(4, -1) if upper else np.triu_indices(4, 1)
    dirty = a.copy()
    dirty[:, other[0], other[1]] = np.nan
    factor, status = extension.cholesky(B, floats(dirty, F64), upper)
    same(status, [0, 3, 0])
    assert status.dtype is I32
    expected = np.linalg.cholesky(a[[0, 2]])
    np.testing.assert_allclose(read(factor)[[0, 2]], expected.swapaxes(1, 2) if upper else expected, atol=1e-12)


# --------------------------------------------------------------------------------------------------------- vision

IMAGE = np.array(
    [
        [1, 1, 0, 0, 1],
        [0, 0, 1, 0, 1],
        [1, 0, 0, 0, 0],
        [1, 1, 0, 1, 1],
    ],
    bool,
)


def test_components_are_numbered_by_their_first_pixel():
    four = [[1, 1, 0, 0, 2], [0, 0, 3, 0, 2], [4, 0, 0, 0, 0], [4, 4, 0, 5, 5]]
    eight = [[1, 1, 0, 0, 2], [0, 0, 1, 0, 2], [3, 0, 0, 0, 0], [3, 3, 0, 4, 4]]
    same(extension.connected_components(B, bools(IMAGE), 4, I32), four)
    found = extension.connected_components(B, bools(IMAGE), 8, I64)
    same(found, eight)
    assert found.dtype is I64


def flooded(image, connectivity):
    """One flood at a time, from each pixel that no earlier flood reached."""
    steps = [(0, 1), (1, 0), (0, -1), (-1, 0)] + ([(1, 1), (1, -1), (-1, 1), (-1, -1)] if connectivity == 8 else [])
    labels, count = np.zeros(image.shape, int), 0
    for start in zip(*np.nonzero(image), strict=True):
        if labels[start]:
            continue
        count += 1
        queue = [start]
        while queue:
            y, x = queue.pop()
            if 0 <= y < image.shape[0] and 0 <= x < image.shape[1] and image[y, x] and not labels[y, x]:
                labels[y, x] = count
                queue += [(y + dy, x + dx) for dy, dx in steps]
    return labels


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("density", [0.0, 0.3, 0.55, 0.7, 1.0])
def test_components_equal_floods(connectivity, density):
    image = RNG.random((31, 23)) < density
    labels, stats = extension.connected_components_with_stats(B, bools(image), connectivity, I32)
    expected = flooded(image, connectivity)
    same(labels, expected)
    same(stats.max_label, [expected.max()])
    for label in range(expected.max() + 1):
        rows, columns = np.nonzero(expected == label)
        box = [read(part)[label] for part in (stats.left, stats.top, stats.right, stats.bottom)]
        assert read(stats.area)[label] == rows.size
        assert box == ([columns.min(), rows.min(), columns.max(), rows.max()] if rows.size else [0, 0, -1, -1])


def test_connectivity_is_four_or_eight():
    with pytest.raises(ArgumentError) as caught:
        extension.connected_components(B, bools(IMAGE), 6, I32)
    assert str(caught.value) == "connected_components: connectivity is 6; it must be 4 or 8"


CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)


@pytest.mark.parametrize("make", [floats, ints, lambda v: bools(np.asarray(v) > 4)])
@pytest.mark.parametrize("name", ["erode", "dilate"])
@pytest.mark.parametrize("border", [None, PadMode.edge(), PadMode.constant(5)])
def test_morphology_equals_a_loop_over_pixels(make, name, border):
    image = make(RNG.integers(0, 9, size=(5, 6, 2)))
    values, best = read(image), min if name == "erode" else max
    fill = None if border is None else values.dtype.type(border.value)

    def at(y, x, c):
        inside = 0 <= y < 5 and 0 <= x < 6
        if border is None or inside:
            return values[y, x, c] if inside else None
        return fill if border.kind == "constant" else values[min(max(y, 0), 4), min(max(x, 0), 5), c]

    expected = np.empty_like(values)
    for y, x, c in np.ndindex(values.shape):
        taps = [at(y + i - 1, x + j, c) for i, j in np.argwhere(CROSS)]
        expected[y, x, c] = best(t for t in taps if t is not None)
    options = MorphOptions(anchor=(1, 0), border=border)
    same(getattr(extension, name)(B, image, bools(CROSS), options), expected)


def test_iterations_repeat_the_step():
    image = floats(RNG.normal(size=(6, 6, 1)))
    twice = extension.erode(B, extension.erode(B, image, bools(CROSS), MorphOptions()), bools(CROSS), MorphOptions())
    same(extension.erode(B, image, bools(CROSS), MorphOptions(iterations=2)), read(twice))


@pytest.mark.parametrize(
    ("kernel", "options", "message"),
    [
        (
            np.zeros((2, 2), bool),
            MorphOptions(),
            "morphology: the kernel [2, 2] has no true element; it needs at least one",
        ),
        (
            CROSS,
            MorphOptions(anchor=(3, 0)),
            "morphology: the anchor [3, 0] is outside the kernel [3, 3]; it must be inside",
        ),
    ],
)
def test_morphology_refuses_an_unusable_kernel(kernel, options, message):
    with pytest.raises(ArgumentError) as caught:
        extension.erode(B, floats(np.zeros((3, 3, 1))), bools(kernel), options)
    assert str(caught.value) == message


def test_nms_keeps_the_best_of_overlapping_boxes():
    boxes = floats([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 10, 5], [0, 0, 1, 1]])
    scores = floats([0.8, 0.9, 0.7, 0.95, 0.1])
    same(extension.nms(B, boxes, scores, NmsOptions(0.5, 0.2)), [3, 1, 2])
    same(extension.nms(B, boxes, scores, NmsOptions(0.9)), [3, 1, 0, 2, 4])
    same(extension.nms(B, boxes, scores, NmsOptions(0.5, 0.2, max_output_boxes=1)), [3])
    same(extension.nms(B, boxes, scores, NmsOptions(0.5, 2.0)), np.zeros(0, int))


def test_nms_removes_nothing_because_of_a_box_that_is_no_box():
    """An overlap with NaN or infinities is not above any threshold."""
    nan, inf = np.nan, np.inf
    boxes = floats([[nan, 0, 10, 10], [0, 0, 10, 10], [-inf, -inf, inf, inf], [20, 20, 30, 30], [0, 0, 10, 9]])
    scores = floats([0.9, 0.8, 0.95, 0.7, nan])
    same(extension.nms(B, boxes, scores, NmsOptions()), [2, 0, 1, 3])
    with pytest.raises(ArgumentError, match="max_output_boxes is -1"):
        NmsOptions(max_output_boxes=-1)


# ---------------------------------------------------------------------------------------------------- replacement


def test_a_backend_may_replace_an_extension():
    class Own(ReferenceBackend):
        pass

    class Derived(Own):
        pass

    register_extension(Own, "linalg::solve", lambda b, lhs, rhs: "own")
    assert extension.solve(Derived(), floats([[1.0]]), floats([[1.0]])) == "own"
    same(extension.solve(B, floats([[2.0]]), floats([[1.0]])), [[0.5]])
    with pytest.raises(ArgumentError) as caught:
        register_extension(Own, "linalg::lu", lambda b: None)
    assert str(caught.value).startswith("register_extension: 'linalg::lu' is no extension; known: signal::rfft, ")


def test_a_host_default_refuses_a_backend_that_tracks():
    class Tracking(ReferenceBackend):
        def name(self, device=None):
            return "tracking"

        def ad_enabled(self, device):
            return True

    with pytest.raises(NotImplementedByBackend) as caught:
        extension.solve(Tracking(), floats([[2.0]]), floats([[1.0]]))
    assert str(caught.value) == "linalg::solve: the backend 'tracking' does not implement it"
    re, _ = extension.rfft(Tracking(), floats([1.0, 2.0]), 0)  # composed: differentiable as its parts are
    same(re, [3.0, -1.0])
    assert re.dtype is F32
