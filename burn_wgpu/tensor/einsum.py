"""Einstein summation.

Labels are letters (case matters), `,` separates operands, `->` the output, `...` stands for any number of axes; spaces
do not count. Without `->` the output is `...` and then the labels that occur once, A–Z before a–z. A label that is left
out of the output is summed, one that occurs twice in an operand takes the diagonal, and sizes of 1 broadcast across
operands. Operands are contracted from left to right; everything is multiplication, sum and matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError
from burn_wgpu.tensor import check

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor

ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Equation:
    """A parsed equation: the labels of each input and of the output, with "..." as a label of its own."""

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]

    def input_rank(self, index: int) -> int | None:
        """The rank of an input, or None where it has an ellipsis."""
        labels = self.inputs[index]
        return None if ELLIPSIS in labels else len(labels)

    @property
    def output_rank(self) -> int | None:
        return None if ELLIPSIS in self.output else len(self.output)


def parse(equation: str) -> Equation:
    """The equation as labels. Raises ArgumentError that says what is wrong at which offset."""
    if not isinstance(equation, str):
        raise DTypeError(f"einsum: the equation is of type {type(equation).__name__}; it must be a str")
    left, arrow, right = equation.partition("->")
    inputs, at = [], 0
    for part in left.split(","):
        inputs.append(_labels(equation, part, at))
        at += len(part) + 1
    if not arrow:
        counts: dict[str, int] = {}
        for labels in inputs:
            for label in labels:
                counts[label] = counts.get(label, 0) + 1
        dots = (ELLIPSIS,) if ELLIPSIS in counts else ()
        return Equation(tuple(inputs), dots + tuple(sorted(k for k, n in counts.items() if n == 1 and k != ELLIPSIS)))
    output = _labels(equation, right, len(left) + 2)
    for label in output:
        if output.count(label) > 1:
            raise ArgumentError(
                f"einsum: the output of {equation!r} has the label {label!r} twice; each may occur once"
            )
        if not any(label in labels for labels in inputs):
            raise ArgumentError(f"einsum: the output label {label!r} of {equation!r} occurs in no input")
    return Equation(tuple(inputs), output)


def _labels(equation: str, text: str, offset: int) -> tuple[str, ...]:
    labels: list[str] = []
    i = 0
    while i < len(text):
        c = text[i]
        if c == ".":
            if text[i : i + 3] != ELLIPSIS:
                raise ArgumentError(f"einsum: a lone '.' at offset {offset + i} of {equation!r}; an ellipsis is '...'")
            if ELLIPSIS in labels:
                raise ArgumentError(f"einsum: a second '...' at offset {offset + i} of {equation!r}; one is allowed")
            labels.append(ELLIPSIS)
            i += 3
            continue
        if c.isascii() and c.isalpha():
            labels.append(c)
        elif c != " ":
            raise ArgumentError(
                f"einsum: the character {c!r} at offset {offset + i} of {equation!r} is no label; labels are letters"
            )
        i += 1
    return tuple(labels)


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """The Einstein sum of float or int tensors of one kind, dtype and device; a result without axes is [1].

    Raises ArgumentError for the equation, ShapeError for shapes that do not fit it.
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    parsed = parse(equation)
    if len(operands) != len(parsed.inputs):
        raise ArgumentError(
            f"einsum: {equation!r} has {len(parsed.inputs)} inputs, but {len(operands)} tensors are given"
        )
    first = operands[0]
    check.kind("einsum", first, "operand 0", "float", "int")
    for t in operands:
        check.operands("einsum", first, t)
        if t.dtype.kind == "qfloat":
            raise DTypeError(f"einsum: an operand is quantized ({t.dtype}); call .dequantize() first")

    terms = [_term(equation, i, labels, t) for i, (labels, t) in enumerate(zip(parsed.inputs, operands, strict=True))]
    dots = sorted({k for labels, _ in terms for k in labels if k.startswith(ELLIPSIS)}, key=lambda k: -int(k[3:]))
    output = [k for label in parsed.output for k in (dots if label == ELLIPSIS else [label])]
    sizes: dict[str, int] = {}
    for labels, t in terms:
        for label, n in zip(labels, t.shape, strict=True):
            known = sizes.get(label, 1)
            if n != known and n != 1 and known != 1:
                name = "an axis of '...'" if label.startswith(ELLIPSIS) else f"label {label!r}"
                raise ShapeError(
                    f"einsum: {name} of {equation!r} has the sizes {known} and {n}; they must be equal or 1"
                )
            sizes[label] = n if known == 1 else known

    labels, result = terms[0]
    for i in range(1, len(terms)):
        later = set(output).union(*(set(ls) for ls, _ in terms[i + 1 :]))
        labels, result = _contract(labels, result, *terms[i], later, sizes)
    labels, result = _summed(labels, result, set(output))
    result = result.permute([labels.index(k) for k in output]) if len(output) > 1 else result
    return result if output else result.reshape((1,))


def _term(equation: str, index: int, labels: tuple[str, ...], tensor: Tensor) -> tuple[list[str], Tensor]:
    """Axis labels and tensor: '...' spelt out (its axes numbered from the right), diagonals taken."""
    rank = tensor.rank
    if not labels and tensor.shape == (1,):
        tensor, rank = tensor.reshape(()), 0
    named = len(labels) - (ELLIPSIS in labels)
    extra = rank - named
    if extra < 0 or extra and ELLIPSIS not in labels:
        raise ShapeError(
            f"einsum: operand {index} of {equation!r} has shape {list(tensor.shape)}, and its subscript names "
            f"{named} axes{'' if ELLIPSIS not in labels else ' besides the ellipsis'}"
        )
    spelt: list[str] = []
    for label in labels:
        spelt += [f"...{k}" for k in range(extra - 1, -1, -1)] if label == ELLIPSIS else [label]
    while len(set(spelt)) < len(spelt):
        label = next(k for k in spelt if spelt.count(k) > 1)
        i = spelt.index(label)
        j = spelt.index(label, i + 1)
        n, m = tensor.shape[i], tensor.shape[j]
        if n != m:
            raise ShapeError(
                f"einsum: the repeated label {label!r} of operand {index} has the sizes {n} and {m}; they must be equal"
            )
        rest = [a for a in range(tensor.rank) if a not in (i, j)]
        square = tensor.permute([*rest, i, j])
        flat = square.reshape((*square.shape[:-2], n * n))
        tensor = flat.slice_dim(-1, (0, n * n, n + 1)) if n else flat.reshape((*flat.shape[:-1], 0))
        spelt = [spelt[a] for a in rest] + [label]
    return spelt, tensor


def _summed(labels: list[str], tensor: Tensor, keep: set[str]) -> tuple[list[str], Tensor]:
    gone = [i for i, k in enumerate(labels) if k not in keep]
    return ([k for k in labels if k in keep], tensor.sum_dims_squeeze(gone)) if gone else (labels, tensor)


def _contract(
    a_labels: list[str], a: Tensor, b_labels: list[str], b: Tensor, later: set[str], sizes: dict[str, int]
) -> tuple[list[str], Tensor]:
    """Both operands in one: a product over the labels that are needed later, a sum over the others."""
    a_labels, a = _summed(a_labels, a, later | set(b_labels))
    b_labels, b = _summed(b_labels, b, later | set(a_labels))
    both = [k for k in a_labels if k in b_labels]
    batch, inner = [k for k in both if k in later], [k for k in both if k not in later]
    left, right = [k for k in a_labels if k not in both], [k for k in b_labels if k not in both]
    labels = batch + left + right
    if not inner:
        wide_a = a.permute([a_labels.index(k) for k in batch + left]) if a.rank > 1 else a
        wide_b = b.permute([b_labels.index(k) for k in batch + right]) if b.rank > 1 else b
        n = len(batch)
        wide_a = wide_a.reshape((*wide_a.shape, *(1 for _ in right)))
        wide_b = wide_b.reshape((*wide_b.shape[:n], *(1 for _ in left), *wide_b.shape[n:]))
        return labels, wide_a * wide_b

    def matrix(labels: list[str], t: Tensor, order: list[str], split: int) -> Tensor:
        t = t.permute([labels.index(k) for k in order]) if t.rank > 1 else t
        shape = [sizes[k] if k in inner else n for k, n in zip(order, t.shape, strict=True)]
        t = t.expand(tuple(shape))
        n = len(batch)
        return t.reshape((*shape[:n], prod(shape[n:split]), prod(shape[split:])))

    n = len(batch)
    rows = matrix(a_labels, a, batch + left + inner, n + len(left))
    columns = matrix(b_labels, b, batch + inner + right, n + len(inner))
    product = rows.matmul(columns)
    outer = [a.shape[a_labels.index(k)] for k in left] + [b.shape[b_labels.index(k)] for k in right]
    return labels, product.reshape((*product.shape[:-2], *outer))
