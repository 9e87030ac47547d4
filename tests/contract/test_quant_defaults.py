"""The generic bodies of quantized operations over a backend that has only the required ones."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest

from burn_wgpu.backends.reference import ReferenceBackend
from burn_wgpu.contract.defaults import quant
from burn_wgpu.contract.options import Calibration
from burn_wgpu.contract.quant_ops import QuantOps
from burn_wgpu.std.dtype import BOOL_U8, F32, F64, I32
from burn_wgpu.std.errors import ArgumentError, ShapeError
from burn_wgpu.std.quant import QFloat, QuantPropagation, QuantScheme, QuantValue, ScaleDtype
from tests.backends.reference.tools import CPU, floats, ints, near, read, same

RNG = np.random.default_rng(9)
TENSOR = QuantScheme(QuantValue.Q8S)
BLOCKS = TENSOR.per_block((4,), ScaleDtype.F32)


class QTensor:
    """Codes and one scale per element."""

    def __init__(self, codes, scales, scheme, device=CPU):
        self.codes, self.scales, self.dtype, self.device = codes, scales, QFloat(scheme), device
        self.shape = codes.shape


class Quantizing(ReferenceBackend):
    def quantize(self, tensor, scheme, qparams):
        scales = read(qparams.scales).astype(np.float64)
        if scheme.block is None:
            scales = np.broadcast_to(scales.reshape(()), tensor.shape)
        else:
            scales = np.repeat(scales, scheme.block.extents[-1], -1)
        low, high = scheme.value.range
        safe = np.where(scales == 0, 1, scales)
        return QTensor(np.clip(np.round(read(tensor) / safe), low, high), scales, scheme, tensor.device)

    def dequantize(self, tensor, dtype):
        return floats(tensor.codes * tensor.scales, dtype)

    def q_reshape(self, tensor, shape):
        return QTensor(tensor.codes.reshape(shape), tensor.scales.reshape(shape), tensor.dtype.scheme)


Q = Quantizing()


def quantized(values, scheme=TENSOR):
    return Q.quantize_dynamic(floats(values), scheme)


def values(tensor):
    return read(Q.dequantize(tensor, F64) if tensor.dtype.kind == "qfloat" else tensor)


def test_the_group_has_eighty_functions_and_nine_are_required_of_a_backend():
    functions = [f for _, f in inspect.getmembers(QuantOps, inspect.isfunction) if not f.__name__.startswith("_")]
    assert len(functions) == 80
    assert sorted(f.__name__ for f in functions if hasattr(f, "required")) == [
        "dequantize", "q_flip", "q_from_data", "q_into_data", "q_permute", "q_reshape", "q_swap_dims", "q_to_device",
        "quantize",
    ]  # fmt: skip


def test_dynamic_scales_come_from_the_largest_magnitude():
    x = np.array([[1.0, -2.0, 0.5, 0.0, 8.0, 4.0, -1.0, 2.0]])
    one = quant.compute_q_params(Q, TENSOR, *quant.compute_range(Q, TENSOR, floats(x), Calibration.MIN_MAX))
    near(one.scales, [2 * 8.0 / 254], 1e-6)
    assert one.global_scale is None
    each = quant.compute_q_params(Q, BLOCKS, *quant.compute_range(Q, BLOCKS, floats(x), Calibration.MIN_MAX))
    near(each.scales, [[2 * 2.0 / 254, 2 * 8.0 / 254]], 1e-6)
    low, high = quant.compute_range(Q, BLOCKS, floats(x), Calibration.ABS_MEAN)
    near(high, [[3.5 / 4, 15.0 / 4]], 1e-6)
    near(low, [[-3.5 / 4, -15.0 / 4]], 1e-6)


def test_blocks_are_rectangles():
    scheme = TENSOR.per_block((2, 2), ScaleDtype.F32)
    x = np.arange(16.0).reshape(4, 4)
    low, high = quant.compute_range(Q, scheme, floats(x), Calibration.MIN_MAX)
    same(low, [[0.0, 2.0], [8.0, 10.0]])
    same(high, [[5.0, 7.0], [13.0, 15.0]])


def test_two_levels_share_a_global_scale():
    scheme = TENSOR.per_block((2,), ScaleDtype.UE4M3).per_tensor(ScaleDtype.F32)
    x = floats([[1.0, -2.0, 127.0, 3.0]])
    found = quant.compute_q_params(Q, scheme, *quant.compute_range(Q, scheme, x, Calibration.MIN_MAX))
    near(found.global_scale, [1.0 / 448], 1e-6)
    near(found.scales, [[448 * 4.0 / 254, 448.0]], 1e-6)
    zero = quant.compute_q_params(
        Q, scheme, *quant.compute_range(Q, scheme, floats(np.zeros((1, 4))), Calibration.MIN_MAX)
    )
    same(zero.scales, [[0.0, 0.0]])
    with pytest.raises(ArgumentError) as caught:
        quant.compute_range(Q, scheme, x, Calibration.ABS_MEAN)
    assert str(caught.value) == (
        "compute_range: AbsMean calibration and a two-level scheme were given; it works with one level of scales"
    )


def test_an_axis_that_does_not_divide_into_blocks_is_an_error():
    with pytest.raises(ShapeError) as caught:
        quantized(np.zeros((2, 6)), BLOCKS)
    assert str(caught.value) == (
        "quantize: axis 1 of shape [2, 6] does not divide into blocks of [1, 4]; "
        "every axis must be a multiple of its block's extent"
    )


X, Y = RNG.uniform(0.5, 2, size=(3, 4)), RNG.uniform(0.5, 2, size=(3, 4))
FLOW = {
    "q_add": (lambda x, y: x + y, (X, Y)),
    "q_sub": (lambda x, y: x - y, (X, Y)),
    "q_mul": (lambda x, y: x * y, (X, Y)),
    "q_div": (lambda x, y: x / y, (X, Y)),
    "q_powf": (lambda x, y: x**y, (X, Y)),
    "q_neg": (lambda x: -x, (X,)),
    "q_recip": (lambda x: 1 / x, (X,)),
    "q_exp": (np.exp, (X,)),
    "q_log": (np.log, (X,)),
    "q_log1p": (np.log1p, (X,)),
    "q_sqrt": (np.sqrt, (X,)),
    "q_tanh": (np.tanh, (X,)),
    "q_sin": (np.sin, (X,)),
    "q_cos": (np.cos, (X,)),
    "q_tan": (np.tan, (X,)),
    "q_sinh": (np.sinh, (X,)),
    "q_cosh": (np.cosh, (X,)),
    "q_sum": (lambda x: x.sum().reshape(1), (X,)),
    "q_prod": (lambda x: x.prod().reshape(1), (X,)),
    "q_mean": (lambda x: x.mean().reshape(1), (X,)),
}
WITH_NUMBER = {
    "q_add_scalar": (1.5, lambda x, s: x + s),
    "q_sub_scalar": (1.5, lambda x, s: x - s),
    "q_mul_scalar": (1.5, lambda x, s: x * s),
    "q_div_scalar": (1.5, lambda x, s: x / s),
    "q_powi_scalar": (3, lambda x, s: x**s),
    "q_powf_scalar": (0.5, lambda x, s: x**s),
    "q_clamp_min": (1.0, np.maximum),
    "q_clamp_max": (1.0, np.minimum),
    "q_sum_dim": (1, lambda x, d: x.sum(d, keepdims=True)),
    "q_mean_dim": (1, lambda x, d: x.mean(d, keepdims=True)),
    "q_prod_dim": (1, lambda x, d: x.prod(d, keepdims=True)),
    "q_cumsum": (1, np.cumsum),
    "q_cumprod": (1, np.cumprod),
    "q_cummax": (1, np.maximum.accumulate),
    "q_cummin": (1, np.minimum.accumulate),
}


@pytest.mark.parametrize("name", FLOW)
def test_operations_give_the_float_result_of_the_stored_values(name):
    formula, arrays = FLOW[name]
    operands = [quantized(a) for a in arrays]
    found = getattr(Q, name)(*operands)
    assert found.dtype is F32
    near(found, formula(*(values(t).astype(np.float32).astype(np.float64) for t in operands)), 1e-5, 1e-6)


@pytest.mark.parametrize("name", WITH_NUMBER)
def test_operations_with_a_number_give_the_float_result(name):
    number, formula = WITH_NUMBER[name]
    x = quantized(X)
    near(getattr(Q, name)(x, number), formula(values(x), number), 1e-5, 1e-6)


def test_clamp_and_powers_by_integers():
    x = quantized(X)
    near(Q.q_clamp(x, 0.8, 1.2), np.clip(values(x), 0.8, 1.2), 1e-6)
    near(Q.q_powi(x, ints(np.full((3, 4), 2))), values(x) ** 2, 1e-5)
    near(Q.q_erf(quantized([0.0, 1.0])), [0.0, 0.8427007929], 1e-5)


def test_movement_stays_quantized():
    x = quantized(X)
    for found, expected in (
        (Q.q_select(x, 0, ints([2, 0])), values(x)[[2, 0]]),
        (Q.q_repeat_dim(x, 1, 2), np.tile(values(x), (1, 2))),
        (Q.q_cat([x, x], 0), np.concatenate([values(x)] * 2)),
        (Q.q_abs(quantized(-X)), values(x)),
        (Q.q_sort(x, 1, False), np.sort(values(x), 1)),
        (Q.q_topk(x, 1, 2), -np.sort(-values(x), 1)[:, :2]),
    ):
        assert found.dtype is QFloat(TENSOR)
        # Quantized anew, with another scale: at most half a step off.
        np.testing.assert_allclose(values(found), expected, atol=found.scales.max())


def test_extrema_and_their_places():
    x = quantized([[0.5, -2.0, 1.0], [0.25, 1.5, -0.75]])
    step = 2 * 2.0 / 254
    same(Q.q_argmax(x, 1, I32), [[2], [1]])
    same(Q.q_argmin(x, 1, I32), [[1], [2]])
    np.testing.assert_allclose(values(Q.q_max(x)), [1.5], atol=step)
    np.testing.assert_allclose(values(Q.q_min_dim(x, 1)), [[-2.0], [-0.75]], atol=step)
    np.testing.assert_allclose(values(Q.q_max_abs(x)), [-2.0], atol=step)  # keeps its sign
    best, places = Q.q_max_dim_with_indices(x, 0, I32)
    same(places, [[0, 1, 0]])
    np.testing.assert_allclose(values(best), [[0.5, 1.5, 1.0]], atol=step)
    order = Q.q_argsort(x, 1, True, I32)
    same(order, [[2, 0, 1], [1, 0, 2]])
    same(Q.q_argtopk(x, 1, 1, I32), [[2], [1]])
    same(Q.q_any(quantized([0.0, 1.0]), BOOL_U8), [True])
    same(Q.q_all_dim(quantized([[0.0, 1.0]]), 1, BOOL_U8), [[False]])


def test_matmul_mixes_floats_and_quantized():
    x, y = quantized(X), quantized(Y.T.copy())
    near(Q.q_matmul(x, y), values(x) @ values(y), 1e-5)
    near(Q.q_matmul(floats(X), y), X @ values(y), 1e-5)
    mixed = Q.q_matmul(x, floats(Y.T, F64))
    assert mixed.dtype is F64
    near(mixed, values(x) @ Y.T, 1e-12)


def test_results_stay_quantized_where_the_device_propagates(monkeypatch):
    x = quantized(X)
    monkeypatch.setattr(quant, "propagates", lambda device: True)
    found = Q.q_add(x, quantized(Y, BLOCKS))
    assert found.dtype is QFloat(TENSOR)  # the first operand's
    assert Q.q_matmul(x, quantized(Y.T.copy())).dtype is QFloat(TENSOR)
    monkeypatch.undo()
    for propagation in QuantPropagation:
        settings = SimpleNamespace(quantization=SimpleNamespace(propagation=propagation))
        expected = propagation is QuantPropagation.PROPAGATE
        assert quant.propagates(SimpleNamespace(settings=settings)) is expected
    assert quant.propagates(CPU) is False


def test_quantized_tensors_carry_no_gradient():
    x = quantized(X)
    assert Q.q_detach(x) is x and Q.q_set_require_grad(x, True) is x and Q.q_is_require_grad(x) is False
