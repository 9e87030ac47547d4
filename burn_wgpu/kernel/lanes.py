"""What kernels over lanes share: a lane held in registers, and elementwise passes that know the lane of an element.

A lane is the line of elements along one axis: shape [outer, length, inner] with one lane per (outer, inner).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from burn_wgpu.kernel.reduce import WORKGROUP, Domain, Fields, power
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Grid, KernelKey, fold
from burn_wgpu.shader.prelude import Prelude, word_kind
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

# Elements of a row that one invocation may hold; more would spill.
HELD = 32


@dataclass(frozen=True, slots=True)
class Lanes:
    """The axis `dim` of a shape as [outer, length, inner]."""

    outer: int
    length: int
    inner: int

    @staticmethod
    def of(layout: Layout, dim: int) -> Lanes:
        return Lanes(prod(layout.shape[:dim]), layout.shape[dim], prod(layout.shape[dim + 1 :]))

    @property
    def count(self) -> int:
        return self.outer * self.inner


class Register:
    """The head of a kernel that holds rows in registers: `raw`, `put`, `keep_at`, the constants; one row a team.

    Made by `register_row`; the caller adds its own declarations to `prelude` and `fields`, then calls `key`.
    """

    def __init__(self, dtype: DType, domain: Domain, chunked: bool, device: Capability) -> None:
        self.chunked = chunked
        self.units = domain.length
        self.outputs = domain.outputs
        self.team = min(_largest(device), power(-(-self.units // 4)))
        self.per = -(-self.units // self.team)
        self.workgroup = max(WORKGROUP, self.team)
        self.groups = -(-self.outputs // (self.workgroup // self.team))
        self.fields = Fields()
        self.fields.add("units", self.units)
        self.fields.add("outputs", self.outputs)
        self.prelude = Prelude()
        self.prelude.alias("V", "f32")
        self.prelude.storage("x", dtype, "chunk" if chunked else "element")
        self.body = [
            self.fields.index("keep_at", *domain.keep, domain.offset),
            self.fields.index("red_at", *domain.reduced),
        ]
        if chunked:
            self.body += [
                "alias R = vec4<f32>;",
                "fn raw(base: u32, u: u32) -> R { let p = load4_x(base + red_at(u)); "
                "return R(p[0], p[1], p[2], p[3]); }",
                "fn put(o: u32, u: u32, r: R) { store4_out(o * params.units + u, array<f32, 4>(r.x, r.y, r.z, r.w)); }",
                "fn peak(r: R) -> u32 { return peak4(r); }",
                "fn total(r: R) -> f32 { return total4(r); }",
            ]
        else:
            self.body += [
                "alias R = f32;",
                "fn raw(base: u32, u: u32) -> R { return load_x(base + red_at(u)); }",
                "fn put(o: u32, u: u32, r: R) { store_out(o * params.units + u, r); }",
                "fn peak(r: R) -> u32 { return peak1(r); }",
                "fn total(r: R) -> f32 { return total1(r); }",
            ]

    def key(self, file: str, out: DType, invocation_bytes: int) -> KernelKey:
        """Closes the prelude; the output is the last binding. invocation_bytes: of workgroup memory."""
        self.prelude.storage("out", out, "chunk" if self.chunked else "element")
        self.prelude.params(**self.fields.kinds)
        for text in self.body:
            self.prelude.text(text)
        self.prelude.const("WORKGROUP", self.workgroup)
        self.prelude.const("TEAM", self.team)
        self.prelude.const("PER", self.per)
        return KernelKey(
            file, self.prelude.build(), tuple(self.prelude.uses), self.prelude.bindings,
            invocation_bytes * self.workgroup, self.workgroup,
            frozenset(self.prelude.features), trusted=True,
        )  # fmt: skip

    def grid(self, device: Capability) -> Grid:
        return fold(self.groups, device)


def _largest(device: Capability) -> int:
    """Invocations of a team at most: as many as the device allows, so that long rows fit too."""
    return min(device.max_invocations, 1024)


def register_row(layout: Layout, dim: int, dtype: DType, device: Capability) -> Register | None:
    """For lanes that are rows of the output and fit in registers; None otherwise."""
    lanes = Lanes.of(layout, dim)
    if lanes.inner != 1:
        return None
    domain = Domain.of(layout, (dim,), ordered=True)
    chunks = domain.chunked("rows")
    per_invocation = HELD // 4 if chunks else HELD // 2
    if (chunks or domain).length > _largest(device) * per_invocation:
        return None
    if chunks is None and word_kind(dtype).lanes > 1:
        return None  # rows would share words
    return Register(dtype, chunks or domain, chunks is not None, device)


class Apply:
    """The head of an elementwise pass over chunks of four: `get4`, the output, the constants."""

    def __init__(self, layout: Layout, dtype: DType) -> None:
        self.size = layout.size
        self.chunks = -(-self.size // 4)
        self.fields = Fields()
        self.fields.add("chunks", self.chunks)
        self.fields.add("last", self.size - 1)
        self.prelude = Prelude()
        self.prelude.alias("V", "f32")
        self.body: list[str] = []
        four = "array<f32, 4>"
        if layout.contiguous and layout.offset % 4 == 0:
            self.fields.add("x_at", layout.offset // 4)
            self.prelude.storage("x", dtype, "chunk")
            self.body.append(f"fn get4(c: u32) -> {four} {{ return load4_x(params.x_at + c); }}")
        else:
            flat = layout.collapse()
            self.prelude.storage("x", dtype)
            self.body.append(self.fields.index("x_place", flat.shape, flat.strides, flat.offset))
            reads = ", ".join(f"load_x(x_place(min(4u * c + {k}u, params.last)))" for k in range(4))
            self.body.append(f"fn get4(c: u32) -> {four} {{ return {four}({reads}); }}")

    def indices(self, name: str, value: str, step: int | None) -> None:
        """`fn NAME(i: u32) -> array<u32, 4>`: `value` (of i) for four neighbours from i on.

        step: the difference between neighbours of one chunk when it is always the same, else None.
        """
        if step is not None:
            made = ", ".join(f"v + {k * step}u" for k in range(4))
            text = f"let v = {value}; return array<u32, 4>({made});"
            self.body.append(f"fn {name}(i: u32) -> array<u32, 4> {{ {text} }}")
            return
        self.body.append(f"fn {name}_of(i: u32) -> u32 {{ return {value}; }}")
        made = ", ".join(f"{name}_of(min(i + {k}u, params.last))" for k in range(4))
        self.body.append(f"fn {name}(i: u32) -> array<u32, 4> {{ return array<u32, 4>({made}); }}")

    def owner(self, lanes: Lanes) -> None:
        """`owner4`: the lanes (row-major over outer and inner) of four elements."""
        self.fields.add("length", lanes.length)
        if lanes.inner == 1:
            self.indices("owner4", "i / params.length", 0 if lanes.length % 4 == 0 else None)
            return
        self.fields.add("inner", lanes.inner)
        value = "(i / (params.length * params.inner)) * params.inner + (i - i / params.inner * params.inner)"
        self.indices("owner4", value, 1 if lanes.inner % 4 == 0 else None)

    def owner_of_channels(self, layout: Layout) -> None:
        """`owner4`: the channels (axis 1) of four elements."""
        channels, inner = layout.shape[1], prod(layout.shape[2:])
        self.fields.add("channels", channels)
        if inner == 1:
            self.indices("owner4", "i - i / params.channels * params.channels", 1 if channels % 4 == 0 else None)
            return
        self.fields.add("inner", inner)
        value = "i / params.inner - i / params.inner / params.channels * params.channels"
        self.indices("owner4", value, 0 if inner % 4 == 0 else None)

    def key(self, file: str, out: DType) -> KernelKey:
        """Closes the prelude; the output is the last binding."""
        self.prelude.storage("out", out, "chunk")
        self.prelude.params(**self.fields.kinds)
        for text in self.body:
            self.prelude.text(text)
        self.prelude.const("WORKGROUP", WORKGROUP)
        self.prelude.const("CHUNKS", self.per_thread)
        return KernelKey(
            file, self.prelude.build(), tuple(self.prelude.uses), self.prelude.bindings, 0, WORKGROUP,
            frozenset(self.prelude.features), trusted=True,
        )  # fmt: skip

    @property
    def per_thread(self) -> int:
        return 4 if self.chunks >= 1 << 16 else 1

    def grid(self, device: Capability) -> Grid:
        return fold(-(-self.chunks // (WORKGROUP * self.per_thread)), device)
