"""Sorting along an axis, stably, by radix: digits of order-preserving keys, least significant first.

Three ways, one launch where a row fits a workgroup:

tile    a workgroup sorts whole rows in its memory, any number of short ones: up to 2048 elements a row with the default
        limits, up to 8192 where there are more threads and memory
passes  longer rows: for each byte of the key a histogram of every block, the sums of the histograms along the row, and
        a move of every element to its new place; three launches a byte, and a byte that the dtype lacks costs none
select  top-k of a long row for small k: each block gives its own first k by radix selection, which are a row of their
        own again, until one block is left

Elements travel as their stored bits, from which keys are made when digits are wanted: values come out with every bit (a
NaN's payload, the sign of a zero) that keys forget, and need no second look at the source. A position travels beside,
in the same word where both fit, and only when it is asked for. Nothing depends on the order of workgroups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from burn_wgpu.kernel.walk import Numbers, Steps, narrow_launch, walk
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, raw_kind
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import BF16, F16, DType
from burn_wgpu.std.layout import Layout

WORKGROUP = 256
WIDEST = 1024
"""Threads that sort one run together, where the device has so many."""
PER = 8
"""Elements that a thread sorts, in registers …"""
LONG_PER = 16
"""… or twice as many, where two words an element would make a workgroup of twice as many threads slower."""
SELECTED = 256
"""The largest k of the way select: a workgroup ranks so many elements."""
SELECT_FROM = 1024
SELECT_SHARE = 16
"""Select is faster from rows of SELECT_FROM bytes on, of whose elements it takes at most one in SELECT_SHARE."""
SELECT_PER = 16
"""Elements that a thread selects from at most."""
CHUNK = 64
"""Blocks whose counts are summed up one after the other, at least."""
WAYS = ("tile", "passes", "select")


@dataclass(frozen=True, slots=True)
class Items:
    """How an element's bits and its position lie in one to three words while they are sorted.

    packed  bits in the lower half of a word, the position in the upper one
    """

    dtype: DType
    places: bool
    packed: bool

    @staticmethod
    def of(dtype: DType, n: int, places: bool) -> Items:
        return Items(dtype, places, places and dtype.size_bytes <= 2 and n <= 1 << 16)

    @property
    def value_words(self) -> int:
        return 2 if self.dtype.size_bytes == 8 else 1

    @property
    def words(self) -> int:
        return self.value_words + (1 if self.places and not self.packed else 0)

    @property
    def type(self) -> str:
        return ("u32", "vec2<u32>", "vec3<u32>")[self.words - 1]

    @property
    def key_bytes(self) -> int:
        return self.dtype.size_bytes

    def declare(self, prelude: Prelude, descending_flip: str) -> None:
        """Item and what is asked of one: item_of, value_of, place_of, word_of, with_word, key_of, bits_of."""
        wide = self.value_words == 2
        prelude.alias("Item", self.type)
        prelude.alias("K", "vec2<u32>" if wide else "u32")
        raw = "vec2<u32>" if wide else "u32"
        parts = [f"item.{c}" for c in "xyz"[: self.words]] if self.words > 1 else ["item"]
        if self.packed:
            value, place, made = "item & 0xffffu", "item >> 16u", "value | (place << 16u)"
        else:
            value = "item.xy" if wide else parts[0]
            place = parts[-1] if self.places else "0u"
            made = f"{self.type}(value, place)" if self.places else "value"
        prelude.text(f"fn item_of(value: {raw}, place: u32) -> Item {{ return {made}; }}")
        prelude.text(f"fn value_of(item: Item) -> {raw} {{ return {value}; }}")
        prelude.text(f"fn place_of(item: Item) -> u32 {{ return {place}; }}")
        chosen, changed = parts[0], "w"
        if self.words > 1:
            for c in range(1, self.words):
                chosen = f"select({chosen}, {parts[c]}, c == {c}u)"
            changed = f"Item({', '.join(f'select({p}, w, c == {c}u)' for c, p in enumerate(parts))})"
        prelude.text(f"fn word_of(item: Item, c: u32) -> u32 {{ return {chosen}; }}")
        prelude.text(f"fn with_word(item: Item, c: u32, w: u32) -> Item {{ return {changed}; }}")
        prelude.use("sort/key")
        key = f"{_key_function(self.dtype)}(value_of(item))"
        if self.dtype in (F16, BF16):
            key += " >> 16u"
        prelude.text(f"fn key_of(item: Item) -> K {{ return ({key}) ^ K({descending_flip}); }}")
        if wide:
            prelude.text(
                "fn bits_of(item: Item, shift: u32) -> u32 { let key = key_of(item); "
                "return select(key.x, key.y, shift >= 32u) >> (shift & 31u); }"
            )
        else:
            prelude.text("fn bits_of(item: Item, shift: u32) -> u32 { return key_of(item) >> shift; }")

    def flip(self, descending: bool) -> int:
        return (1 << min(32, 8 * self.key_bytes)) - 1 if descending else 0


def _key_function(dtype: DType) -> str:
    if dtype in (F16, BF16) or dtype.kind == "int" or dtype.size_bytes == 8:
        return f"key_{dtype.name}"
    return "key_f32" if dtype.is_float else "key_u32"


@dataclass(frozen=True, slots=True)
class Tensor:
    """Elements as a tensor stores them: the start of row r by a layout, and the distance between a row's elements."""

    operand: int
    rows: Layout
    stride: int

    @property
    def operands(self) -> tuple[int, ...]:
        return (self.operand,)

    def declare(self, items: Items, numbers: Numbers) -> None:
        numbers.prelude.storage("src", raw_kind(items.dtype.size_bytes))
        stride = numbers.add("stride_in", self.stride)
        walk(numbers, "row_at", [self.rows])
        numbers.prelude.text(
            f"fn load_item(row: u32, i: u32) -> Item {{ return item_of(load_src(row_at(row) + i * {stride}), i); }}"
        )


@dataclass(frozen=True, slots=True)
class Words:
    """Elements between two launches: a buffer a word, rows of one length."""

    operands: tuple[int, ...]
    length: int

    @staticmethod
    def scratch(steps: Steps, items: Items, rows: int, length: int) -> Words:
        return Words(tuple(steps.scratch(4 * rows * length) for _ in range(items.words)), length)

    def declare(self, items: Items, numbers: Numbers) -> None:
        for c in range(items.words):
            numbers.prelude.raw_storage(f"in{c}", "array<u32>")
        length = numbers.add("length_in", self.length)
        loads = ", ".join(f"in{c}[at]" for c in range(items.words))
        numbers.prelude.text(
            f"fn load_item(row: u32, i: u32) -> Item {{ let at = row * {length} + i; return Item({loads}); }}"
        )

    def declare_stores(self, items: Items, prelude: Prelude) -> int:
        for c in range(items.words):
            prelude.raw_storage(f"out{c}", "array<u32>")
        stores = " ".join(f"out{c}[base + at] = word_of(a, {c}u);" for c in range(items.words))
        _finish(prelude, stores)
        return 1


@dataclass(frozen=True, slots=True)
class Results:
    """Where sorted elements end: operands of the values and of the positions, either of which may be missing, and how
    many bytes an element has there. Less than a word only if a row's results fill whole words."""

    values: tuple[int, int] | None
    places: tuple[int, int] | None

    @property
    def operands(self) -> tuple[int, ...]:
        return tuple(x[0] for x in (self.values, self.places) if x)

    def declare_stores(self, items: Items, prelude: Prelude) -> int:
        """Declares finish; gives how many neighbours it takes at once."""
        lanes = max(4 // min(4, x[1]) for x in (self.values, self.places) if x)
        stores = []
        for name, target in (("value", self.values), ("place", self.places)):
            if target is None:
                continue
            size = target[1]
            wide = size == 8
            prelude.raw_storage(f"out_{name}s", f"array<{'vec2<u32>' if wide else 'u32'}>")
            per_word = 4 // min(4, size)
            for first in range(0, lanes, per_word):
                if per_word == 1:
                    element = f"{name}_of({'abcd'[first]})"
                    if wide and name == "place":
                        element = f"vec2<u32>({element}, 0u)"
                    at = "base + at"
                else:
                    mask = (1 << 8 * size) - 1
                    element = " | ".join(
                        f"(({name}_of({'abcd'[first + j]}) & {mask}u) << {8 * size * j}u)" for j in range(per_word)
                    )
                    at = f"(base + at) / {per_word}u"
                ahead = f" + {first // per_word}u" if first else ""
                store = f"out_{name}s[{at}{ahead}] = {element};"
                stores.append(f"if (at + {first}u < params.keep) {{ {store} }}" if first else store)
        _finish(prelude, " ".join(stores))
        return lanes


def _finish(prelude: Prelude, stores: str) -> None:
    prelude.text(f"fn finish(base: u32, at: u32, a: Item, b: Item, c: Item, d: Item) {{ {stores} }}")


Source = Tensor | Words
Target = Words | Results


def way_of(n: int, k: int, size_bytes: int, device: Capability) -> str:
    """The fastest of WAYS for rows of n elements of a size."""
    fits = n <= PER * widest(device)
    if k <= SELECTED and (SELECT_SHARE * k <= n if fits else k < n) and n * size_bytes >= SELECT_FROM:
        return "select"
    return "tile" if fits else "passes"


def widest(device: Capability) -> int:
    """The most threads that sort one run: a power of two, as far as invocations and workgroup memory allow."""
    threads = WIDEST
    while threads > device.max_invocations or _radix_bytes(threads, PER) > device.max_workgroup_bytes:
        threads //= 2
    return threads


def tile_shape(n: int, words: int, device: Capability) -> tuple[int, int]:
    """(threads, elements of each) that sort a row of n elements, each of so many words, in workgroup memory."""
    threads = 1
    while threads * PER < n:
        threads *= 2
    longer = words > 1 and threads == 2 * WORKGROUP
    if longer and _radix_bytes(WORKGROUP, LONG_PER) <= device.max_workgroup_bytes:
        return WORKGROUP, LONG_PER
    return threads, PER


def _radix_bytes(workgroup: int, per: int) -> int:
    """Workgroup memory of sort/radix: elements with a gap after every 32, sums, and offsets."""
    words = per * workgroup
    return 4 * (words + words // 32 + 2 * workgroup + 256)


def sort_plan(
    operation: str,
    layout: Layout,
    dtype: DType,
    dim: int,
    k: int,
    descending: bool,
    device: Capability,
    values: bool,
    indices: DType | None,
    way: str | None = None,
) -> Plan:
    """The first k of each sorted row along dim. Outputs: values if asked for, then indices of a dtype if given.

    Outputs are [.., k] with the sorted axis last, whatever dim is: the caller moves it back as a view.
    way: one of WAYS that can do it, instead of the fastest one.
    """
    rest = [a for a in range(layout.rank) if a != dim]
    shape = (*[layout.shape[a] for a in rest], k)
    outputs = ([Out.of(shape, dtype)] if values else []) + ([Out.of(shape, indices)] if indices else [])
    steps = Steps(1, outputs)
    count = Layout.dense(shape).size
    if count == 0:
        return steps.plan(operation)
    n = layout.shape[dim]
    way = way or way_of(n, k, dtype.size_bytes, device)
    # A result of less than a word an element is written directly only where no two workgroups meet in a word.
    late = []

    def target(index: int, kind: DType) -> tuple[int, int]:
        size = kind.size_bytes
        if size >= 4 or (way != "passes" and (count == k or k * size % 4 == 0)):
            return steps.output(index), size
        late.append((kind, steps.scratch(4 * count), steps.output(index)))
        return late[-1][1], 4

    results = Results(
        target(0, dtype) if values else None, target(len(outputs) - 1, indices) if indices is not None else None
    )
    _launches(steps, layout, dtype, dim, k, descending, 0, results, way, device)
    for kind, source, to in late:
        steps.launch(narrow_launch(count, kind, source, to, device))
    return steps.plan(operation)


def sort_launches(
    steps: Steps,
    layout: Layout,
    dtype: DType,
    dim: int,
    k: int,
    descending: bool,
    source: int,
    places: int,
    values: int | None,
    device: Capability,
) -> None:
    """Adds the launches that write the positions [rows, k] as u32 into operand `places`, and, when `values` is an
    operand, the sorted elements of 4 or 8 bytes into that."""
    way = way_of(layout.shape[dim], k, dtype.size_bytes, device)
    results = Results((values, dtype.size_bytes) if values is not None else None, (places, 4))
    _launches(steps, layout, dtype, dim, k, descending, source, results, way, device)


def _launches(
    steps: Steps,
    layout: Layout,
    dtype: DType,
    dim: int,
    k: int,
    descending: bool,
    source: int,
    results: Results,
    way: str,
    device: Capability,
) -> None:
    n = layout.shape[dim]
    rest = [a for a in range(layout.rank) if a != dim]
    rows = Layout.of([layout.shape[a] for a in rest], [layout.strides[a] for a in rest], layout.offset)
    items = Items.of(dtype, n, results.places is not None)
    sort = _Sort(steps, items, rows.size, items.flip(descending), device)
    tensor = Tensor(source, rows, layout.strides[dim])
    if way == "tile":
        sort.tile(tensor, n, k, results)
    elif way == "select":
        sort.select(tensor, n, k, results)
    else:
        sort.passes(tensor, n, k, results)


@dataclass(frozen=True, slots=True)
class _Level:
    """A region of tables of 256 counts, `tables` a row from word `first` on, summed up in groups of `chunk`."""

    first: int
    tables: int
    chunk: int

    @property
    def groups(self) -> int:
        return -(-self.tables // self.chunk)

    def next(self, rows: int) -> int:
        """Where the sums of its groups go."""
        return self.first + 256 * rows * self.tables


def chunk_of(blocks: int) -> int:
    """A power of two near the root of a number of blocks, so that blocks of a chunk and chunks of a row are few."""
    chunk = CHUNK
    while chunk * chunk < blocks:
        chunk *= 2
    return chunk


@dataclass(frozen=True, slots=True)
class _Sort:
    """Adds launches to a plan."""

    steps: Steps
    items: Items
    rows: int
    flip: int
    device: Capability

    def tile(self, source: Source, n: int, k: int, results: Results) -> None:
        """Whole rows in workgroup memory."""
        threads, per = tile_shape(n, self.items.words, self.device)
        workgroup = max(threads, WORKGROUP)
        grid = fold(-(-self.rows * threads // workgroup), self.device)
        self._radix(source, results, workgroup, threads, per, grid, {
            "runs": self.rows, "blocks": 1, "size": n, "keep": k, "shift": 0, "passes": 2 * self.items.key_bytes,
        })  # fmt: skip

    def passes(self, source: Source, n: int, k: int, results: Results) -> None:
        """Rows of any length, a byte at a time."""
        blocks = -(-n // (WORKGROUP * PER))
        levels = [_Level(0, blocks, chunk_of(blocks))]
        while levels[-1].groups > 1:
            levels.append(_Level(levels[-1].next(self.rows), levels[-1].groups, levels[-1].groups))
        totals = levels[-1].next(self.rows)
        counts = self.steps.scratch(4 * (totals + 256 * self.rows))
        runs = self.rows * blocks
        count = self.items.key_bytes
        turns = [Words.scratch(self.steps, self.items, self.rows, n) for _ in range(min(2, count - 1))]
        grid = fold(runs, self.device)
        for byte in range(count):
            last = byte == count - 1
            target: Target = results if last else turns[byte % 2]
            numbers = {
                "runs": runs, "blocks": blocks, "size": n, "keep": k if last else n, "shift": 8 * byte, "passes": 2,
            }  # fmt: skip
            self._histogram(source, grid, counts, numbers)
            for level in levels:
                self._offsets(level, counts)
            self._radix(source, target, WORKGROUP, WORKGROUP, PER, grid, numbers, (counts, levels, totals))
            if not last:
                source = turns[byte % 2]

    def select(self, source: Source, n: int, k: int, results: Results) -> None:
        """The first k of each block, then of those, until one block is left."""
        while True:
            per = 1
            while per < SELECT_PER and WORKGROUP * per < n:
                per *= 2
            span = WORKGROUP * per
            blocks = -(-n // span)
            left = (blocks - 1) * k + min(k, n - (blocks - 1) * span)
            last = blocks == 1
            target = results if last else Words.scratch(self.steps, self.items, self.rows, left)
            self._select(source, target, per, {
                "runs": self.rows * blocks, "blocks": blocks, "size": n, "keep": k, "stride": left,
            })  # fmt: skip
            if isinstance(target, Results):
                return
            source, n = target, left

    def _start(
        self, numbers: dict[str, int], grid: tuple[int, int, int], source: Source, workgroup: int = WORKGROUP
    ) -> tuple[Prelude, Numbers]:
        prelude = Prelude()
        prelude.const("WORKGROUP", workgroup)
        made = Numbers(prelude, grid[0])
        for name, value in numbers.items():
            made.add(name, value)
        self.items.declare(prelude, made.add("flip", self.flip))
        source.declare(self.items, made)
        return prelude, made

    def _add(
        self,
        file: str,
        prelude: Prelude,
        numbers: Numbers,
        memory: int,
        operands: Sequence[int],
        grid: tuple[int, int, int],
        workgroup: int = WORKGROUP,
    ) -> None:
        params = numbers.declare()
        key = KernelKey(
            file, prelude.build(), tuple(prelude.uses), prelude.bindings, memory, workgroup, frozenset(), trusted=True
        )
        self.steps.launch(Launch(key, tuple(operands), params, grid))

    def _radix(
        self,
        source: Source,
        target: Target,
        workgroup: int,
        threads: int,
        per: int,
        grid: tuple[int, int, int],
        numbers: dict[str, int],
        sums: tuple[int, list[_Level], int] | None = None,
    ) -> None:
        prelude, made = self._start(numbers, grid, source, workgroup)
        lanes = target.declare_stores(self.items, prelude)
        # What lies before a block's elements of a byte: the sums of every level, and smaller bytes by the totals.
        before, total = "0u", "0u"
        operands = [*source.operands, *target.operands]
        if sums:
            counts, levels, totals = sums
            operands.append(counts)
            prelude.raw_storage("counts", "array<u32>")
            before = "counts[256u * (row * params.blocks + block) + byte]"
            if len(levels) > 1:
                first, chunk = made.add("level_first", levels[1].first), made.add("level_chunk", levels[0].chunk)
                groups = made.add("level_groups", levels[0].groups)
                before += f" + counts[{first} + 256u * (row * {groups} + block / {chunk}) + byte]"
            total = f"counts[{made.add('totals', totals)} + 256u * row + byte]"
        prelude.text(f"fn before_at(row: u32, block: u32, byte: u32) -> u32 {{ return {before}; }}")
        prelude.text(f"fn total_at(row: u32, byte: u32) -> u32 {{ return {total}; }}")
        for name, value in {"THREADS": threads, "PER": per, "LANES": lanes, "WORDS": self.items.words}.items():
            prelude.const(name, value)
        prelude.const("SCATTERED", sums is not None)
        self._add("sort/radix", prelude, made, _radix_bytes(workgroup, per), operands, grid, workgroup)

    def _histogram(self, source: Source, grid: tuple[int, int, int], counts: int, numbers: dict[str, int]) -> None:
        prelude, made = self._start({n: numbers[n] for n in ("runs", "blocks", "size", "shift")}, grid, source)
        prelude.raw_storage("counts", "array<u32>")
        prelude.const("SPAN", WORKGROUP * PER)
        self._add("sort/histogram", prelude, made, 1024, (*source.operands, counts), grid)

    def _offsets(self, level: _Level, counts: int) -> None:
        count = self.rows * level.groups
        grid = fold(count, self.device)
        prelude = Prelude()
        prelude.const("WORKGROUP", WORKGROUP)
        prelude.raw_storage("counts", "array<u32>")
        made = Numbers(prelude, grid[0])
        for name, value in {
            "count": count, "groups": level.groups, "chunk": level.chunk, "tables": level.tables,
            "first": level.first, "next": level.next(self.rows),
        }.items():  # fmt: skip
            made.add(name, value)
        self._add("sort/offsets", prelude, made, 0, (counts,), grid)

    def _select(self, source: Source, target: Target, per: int, numbers: dict[str, int]) -> None:
        grid = fold(numbers["runs"], self.device)
        prelude, made = self._start(numbers, grid, source)
        lanes = target.declare_stores(self.items, prelude)
        key_words = self.items.value_words
        prelude.use("sort/less32" if key_words == 1 else "sort/less64")
        for name, value in {"PER": per, "LANES": lanes, "BYTES": self.items.key_bytes, "MOST": SELECTED}.items():
            prelude.const(name, value)
        item_words = 4 if self.items.words == 3 else self.items.words  # vec3<u32> takes as much as vec4<u32>
        memory = 4 * (256 + 2 * WORKGROUP + 5 + SELECTED * (2 * item_words + key_words + 1))
        self._add("sort/select", prelude, made, memory + 16, (*source.operands, *target.operands), grid)


def variants(device: Capability) -> Iterator[Plan]:
    """Every dtype in every way, with and without positions; every number of threads a row; every index dtype."""
    for dtype in (*dt.FLOATS, *dt.INTS):
        for n in (100, 9000, 70_000):
            layout = Layout.dense((3, n))
            yield sort_plan("sort_with_indices", layout, dtype, 1, n, True, device, True, dt.I32)
            yield sort_plan("sort", layout, dtype, 1, n, True, device, True, None)
            for k in (5, 8):
                yield sort_plan("topk", layout, dtype, 1, k, True, device, True, None)
                yield sort_plan("topk_with_indices", layout, dtype, 1, k, True, device, True, dt.I64)
    n = PER
    while n <= PER * widest(device):
        yield sort_plan("argsort", Layout.dense((n, 2, 3)), dt.F32, 0, n, False, device, False, dt.I64)
        n *= 2
    for index_dtype in dt.INTS:
        for n in (50, 52):
            yield sort_plan("argsort", Layout.dense((3, n)), dt.F32, 1, n, False, device, False, index_dtype)
    for n in (1 << 15, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24):
        yield sort_plan("argsort", Layout.dense((n,)), dt.F32, 0, n, False, device, False, dt.I32)
