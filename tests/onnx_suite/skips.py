"""What of the suite does not run, or not to the last digit, and why. A reason that no longer holds fails the tests."""

from __future__ import annotations

_SMALL = "neither NumPy nor Burn's tensors have this type"
_RANDOM = "the expected numbers come out of NumPy's generator"

NOT_INTERPRETED: dict[str, str] = {
    # Element types.
    "element type STRING": "tensors hold numbers",
    "element type FLOAT8E4M3FN": _SMALL,
    "element type FLOAT8E4M3FNUZ": _SMALL,
    "element type FLOAT8E5M2": _SMALL,
    "element type FLOAT8E5M2FNUZ": _SMALL,
    "element type FLOAT8E8M0": _SMALL,
    "element type FLOAT4E2M1": _SMALL,
    "element type UINT4": _SMALL,
    "element type INT4": _SMALL,
    "element type UINT2": _SMALL,
    "element type INT2": _SMALL,
    # Operators.
    "Bernoulli": _RANDOM,
    "RandomUniformLike": _RANDOM,
    "BitCast": "the Tensor API reinterprets no bits",
    "ImageDecoder": "files of images are not tensors' business",
    "MelWeightMatrix": "a table made of five numbers on the host: no operation on tensors",
    "RoiAlign": "the Tensor API has no pooling of regions",
    "TfIdfVectorizer": "counts sequences of tokens by tables on the host",
    "ai.onnx.ml.TreeEnsemble": "walks trees that are tables on the host",
    # Variants of operators that run otherwise.
    "Dropout with random zeros": _RANDOM,
    "GridSample of volumes": "Burn samples images, not volumes",
    "Resize with antialias": "Burn's interpolation widens no kernel",
}
"""What `NotInterpreted` says → why that is so."""

DIFFERENT: dict[str, str] = {
    "test_resize_downsample_scales_linear_align_corners": "Burn aligns corners of whole sizes, ONNX of size · scale",
    "test_resize_downsample_scales_cubic_align_corners": "Burn aligns corners of whole sizes, ONNX of size · scale",
}
"""Cases whose results differ in meaning."""

ROUNDED: dict[str, str] = {
    "test_averagepool_2d_ceil_last_window_starts_on_pad": "the expected values are written with four digits",
    "test_gridsample_bicubic": "the expected values are written with four digits",
}
"""Cases that are compared with the tolerance that onnx's own runner has."""
