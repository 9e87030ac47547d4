"""The generated head of a kernel: bindings with their accessors, the Params struct, constants, aliases.

Memory is 4-byte words. Storage of a dtype and the value type that kernels compute with:

| dtype | words | value |
|---|---|---|
| f32 flex32 | one word | f32 |
| f16 bf16 | two elements a word | f32 |
| f64 | two words | f32, by conversion |
| i32 u32 | one word | i32 u32 |
| i16 u16, i8 u8 | two, four elements a word | i32 u32; the low bits are stored |
| i64 u64 | two words | i64 u64 (needs shader-int64) |
| bool(u8) bool(u32) | four elements a word, one word | bool |

Kernels that only move elements use the raw kinds (`raw_kind`), which need no feature; so do those that compare f64 by
its bits (lib/f64.wgsl), where the conversion would make different numbers equal.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal

from burn_wgpu.shader.launch import KernelKey
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import KernelError


@dataclass(frozen=True, slots=True)
class WordKind:
    """How elements lie in words: the library file with pack_… and unpack_…, the value type, elements a word."""

    name: str
    value: str
    per_word: int  # 1, 2, 4; 0 means two words an element
    feature: str | None = None

    @property
    def scalar_type(self) -> str:
        """The array element of a binding that is read element by element or word by word."""
        return "vec2<u32>" if self.per_word == 0 else "u32"

    @property
    def chunk_type(self) -> str:
        """The array element of a binding that is read four elements at a time."""
        return {0: "vec4<u32>", 1: "vec4<u32>", 2: "vec2<u32>", 4: "u32"}[self.per_word]

    @property
    def lanes(self) -> int:
        """Elements that one invocation must own so that it owns whole words."""
        return max(self.per_word, 1)


KINDS = {
    dt.F32: WordKind("f32", "f32", 1),
    dt.FLEX32: WordKind("f32", "f32", 1),
    dt.F16: WordKind("f16", "f32", 2),
    dt.BF16: WordKind("bf16", "f32", 2),
    dt.F64: WordKind("f64", "f32", 0),
    dt.I64: WordKind("i64", "i64", 0, "shader-int64"),
    dt.I32: WordKind("i32", "i32", 1),
    dt.I16: WordKind("i16", "i32", 2),
    dt.I8: WordKind("i8", "i32", 4),
    dt.U64: WordKind("u64", "u64", 0, "shader-int64"),
    dt.U32: WordKind("u32", "u32", 1),
    dt.U16: WordKind("u16", "u32", 2),
    dt.U8: WordKind("u8", "u32", 4),
    dt.BOOL_U8: WordKind("bool_u8", "bool", 4),
    dt.BOOL_U32: WordKind("bool_u32", "bool", 1),
}
RAW64 = WordKind("raw64", "vec2<u32>", 0)


def raw_kind(size_bytes: int) -> WordKind:
    """The kind that moves elements of this size without looking at them."""
    return {1: KINDS[dt.U8], 2: KINDS[dt.U16], 4: KINDS[dt.U32], 8: RAW64}[size_bytes]


def through_f32(key: KernelKey) -> bool:
    """Whether a kernel computes f64 in f32: it converts elements, and does more than keep them, as a cast does."""
    return f"lib/dtype/{KINDS[dt.F64].name}" in key.uses and "lib/keep" not in key.uses


_LARGEST_F32 = 3.4028234663852886e38


def word_kind(kind: DType | WordKind) -> WordKind:
    return kind if isinstance(kind, WordKind) else KINDS[kind]


class Prelude:
    """Collects declarations in order and gives the text, the libraries and the features that they need.

    Storage bindings are numbered 1, 2 … in the order of the calls; binding 0 is the Params struct.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.uses: dict[str, None] = {}
        self.features: set[str] = set()
        self.bindings = 0

    def storage(self, name: str, kind: DType | WordKind, access: Literal["element", "chunk"] = "element") -> WordKind:
        """A tensor of a dtype and its accessors.

        element: `load_NAME(i) -> value` of element i; `store_NAME(w, …)` writes word w (64-bit: element w) from
        `lanes` values: store_x(i, v) for 4- and 8-byte elements, store_x(w, a, b) for 2-byte, (w, a, b, c, d) for
        1-byte.
        chunk: `load4_NAME(c) -> array<value, 4>` of elements 4c … 4c+3, `store4_NAME(c, array<value, 4>)`;
        `load_NAME(i)` too, more slowly.
        """
        kind = word_kind(kind)
        array = kind.scalar_type if access == "element" else kind.chunk_type
        self.raw_storage(name, f"array<{array}>")
        self.use(f"lib/dtype/{kind.name}")
        if kind.feature:
            self.features.add(kind.feature)
        v, un, pk = kind.value, f"unpack_{kind.name}", f"pack_{kind.name}"
        four = f"array<{v}, 4>"
        if access == "element":
            args = ", ".join(f"v{j}: {v}" for j in range(kind.lanes))
            vals = ", ".join(f"v{j}" for j in range(kind.lanes))
            self.text(f"fn store_{name}(w: u32, {args}) {{ {name}[w] = {pk}({vals}); }}")
            load = {
                0: f"{un}({name}[i])",
                1: f"{un}({name}[i])",
                2: f"{un}({name}[i >> 1u], i & 1u)",
                4: f"{un}({name}[i >> 2u], i & 3u)",
            }
            self.text(f"fn load_{name}(i: u32) -> {v} {{ return {load[kind.per_word]}; }}")
            return kind
        if kind.per_word == 0:
            self.text(
                f"fn load4_{name}(c: u32) -> {four} {{ let p = {name}[2u * c]; let q = {name}[2u * c + 1u]; "
                f"return {four}({un}(p.xy), {un}(p.zw), {un}(q.xy), {un}(q.zw)); }}\n"
                f"fn store4_{name}(c: u32, v: {four}) {{ {name}[2u * c] = vec4<u32>({pk}(v[0]), {pk}(v[1])); "
                f"{name}[2u * c + 1u] = vec4<u32>({pk}(v[2]), {pk}(v[3])); }}\n"
                f"fn load_{name}(i: u32) -> {v} {{ let p = {name}[i >> 1u]; "
                f"return {un}(select(p.xy, p.zw, (i & 1u) == 1u)); }}"
            )
        elif kind.per_word == 1:
            self.text(
                f"fn load4_{name}(c: u32) -> {four} {{ let p = {name}[c]; "
                f"return {four}({un}(p.x), {un}(p.y), {un}(p.z), {un}(p.w)); }}\n"
                f"fn store4_{name}(c: u32, v: {four}) {{ "
                f"{name}[c] = vec4<u32>({pk}(v[0]), {pk}(v[1]), {pk}(v[2]), {pk}(v[3])); }}\n"
                f"fn load_{name}(i: u32) -> {v} {{ return {un}({name}[i >> 2u][i & 3u]); }}"
            )
        elif kind.per_word == 2:
            self.text(
                f"fn load4_{name}(c: u32) -> {four} {{ let p = {name}[c]; "
                f"return {four}({un}(p.x, 0u), {un}(p.x, 1u), {un}(p.y, 0u), {un}(p.y, 1u)); }}\n"
                f"fn store4_{name}(c: u32, v: {four}) {{ "
                f"{name}[c] = vec2<u32>({pk}(v[0], v[1]), {pk}(v[2], v[3])); }}\n"
                f"fn load_{name}(i: u32) -> {v} {{ let p = {name}[i >> 2u]; "
                f"return {un}(select(p.x, p.y, (i & 2u) == 2u), i & 1u); }}"
            )
        else:
            self.text(
                f"fn load4_{name}(c: u32) -> {four} {{ let p = {name}[c]; "
                f"return {four}({un}(p, 0u), {un}(p, 1u), {un}(p, 2u), {un}(p, 3u)); }}\n"
                f"fn store4_{name}(c: u32, v: {four}) {{ {name}[c] = {pk}(v[0], v[1], v[2], v[3]); }}\n"
                f"fn load_{name}(i: u32) -> {v} {{ return {un}({name}[i >> 2u], i & 3u); }}"
            )
        return kind

    def raw_storage(self, name: str, array: str) -> None:
        """A storage binding of any WGSL array type, without accessors ("array<atomic<u32>>", "array<vec4<f32>>")."""
        self.bindings += 1
        self.text(f"@group(0) @binding({self.bindings}) var<storage, read_write> {name}: {array};")

    def params(self, **fields: str) -> None:
        """The uniform `params`: 4-byte scalars in this order, e.g. params(groups_x="u32", rows="u32", scale="f32")."""
        body = "".join(f" {name}: {kind}," for name, kind in fields.items())
        self.text(f"struct Params {{{body} }}\n@group(0) @binding(0) var<uniform> params: Params;")

    def const(self, name: str, value: int | float | bool, kind: str | None = None) -> None:
        """A typed constant; u32 for ints and f32 for floats unless said."""
        kind = kind or {bool: "bool", int: "u32", float: "f32"}[type(value)]
        if kind == "f32" and not abs(value) <= _LARGEST_F32:
            raise KernelError(
                f"prelude: constant {name} is {value}, which WGSL cannot write as a finite f32; pass it as a parameter"
            )
        text = str(value).lower() if isinstance(value, bool) else repr(value)
        self.text(f"const {name}: {kind} = {text if kind in ('bool', 'f32') else f'{kind}({text})'};")

    def alias(self, name: str, kind: str) -> None:
        self.text(f"alias {name} = {kind};")

    def use(self, *files: str) -> None:
        """Library files under shaders/, without ".wgsl"."""
        for file in files:
            self.uses[file] = None

    def text(self, wgsl: str) -> None:
        """Any top-level WGSL; a function must stand on one line or close with a brace at the start of a line."""
        self.lines.append(wgsl)

    def build(self) -> str:
        return "\n".join(self.lines)


def words(*values: int | float) -> bytes:
    """Params as little-endian words: ints modulo 2^32 (so a negative stride wraps), floats as f32 bits."""
    return b"".join(struct.pack("<f", v) if isinstance(v, float) else struct.pack("<I", v & 0xFFFFFFFF) for v in values)
