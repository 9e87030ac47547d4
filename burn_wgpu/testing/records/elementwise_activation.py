"""Records of the activations. Gradients are products with a derivative that may underflow in f32 where the float64
oracle keeps it, so their domains end where that would show.
"""

from __future__ import annotations

from burn_wgpu.testing.records.elementwise_float import FLOATS, ONE, ROUNDED, TWO
from burn_wgpu.testing.records.record import Record, between, mixed, normal

_ENDS = (0.0, -0.0, 1e-8, -1e-8, 10.0, -10.0, float("inf"), float("-inf"), float("nan"))

ACTIVATION = (
    Record("relu", ONE, FLOATS),
    Record("relu_backward", TWO, FLOATS),
    Record("leaky_relu", ONE, FLOATS, ((0.01,), (0.0,)), ulp=ROUNDED),
    Record("prelu", TWO, FLOATS, ulp=ROUNDED),
    Record("gelu", ONE, FLOATS, ulp=16),
    # The derivative has a root near −0.75, where only the absolute error can be small.
    Record("gelu_backward", (normal(3.0, *_ENDS), normal(2.0)), FLOATS, ulp=32, absolute=4e-6),
    Record("sigmoid", ONE, FLOATS, ulp=16),
    Record("sigmoid_backward", (between(0.0, 1.0), normal(3.0, *_ENDS)), FLOATS, ulp=4),
    Record("log_sigmoid", ONE, FLOATS, ulp=16),
    Record("log_sigmoid_backward", (mixed(between(-80, 80), normal(3.0, *_ENDS)), normal(2.0)), FLOATS, ulp=16),
    Record("silu", ONE, FLOATS, ulp=16),
    Record("glu", (normal(10.0, *_ENDS), normal(10.0, *_ENDS)), FLOATS, ulp=16),
    # Below, the rounding of the exponent is as many units as it is large.
    Record("gelu_approximate", (between(-3.0, 100.0),), FLOATS, ulp=32),
    Record("softplus", ONE, FLOATS, ((1.0, 20.0), (2.0, 1.0), (-0.5, 88.0)), ulp=16),
    Record("mish", ONE, FLOATS, ulp=16),
    Record(
        "elu",
        ONE,
        FLOATS,
        ((1.0, 1.0, 1.0), (1.5, 1.0, 1.0), (1.6732632423543772, 1.0507009873554805, 1.0), (2.0, 1.0, 2.0)),
        ulp=16,
    ),
    Record("hard_swish", ONE, FLOATS, ulp=4),
    Record("tanhshrink", ONE, FLOATS, ulp=32),
    Record("softsign", ONE, FLOATS, ulp=4),
    Record("threshold", ONE, FLOATS, ((0.5, 7.0), (0.0, -0.0), (float("nan"), 1.0))),
    Record("hard_shrink", ONE, FLOATS, ((0.5,), (0.0,))),
    Record("shrink", ONE, FLOATS, ((0.5, 0.25), (0.75, 0.75), (1.0, -2.5)), ulp=ROUNDED),
    Record("hard_sigmoid", (normal(5.0, *_ENDS),), FLOATS, ((0.2, 0.5), (-1.5, 0.25)), ulp=2, absolute=2e-6),
)
