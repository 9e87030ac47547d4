"""What every convolution kernel's launches are made of: parameters beside text, where results go, and the last pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from burn_wgpu.kernel.conv_text import flat_text
from burn_wgpu.kernel.correlation import Correlation
from burn_wgpu.kernel.map import copy_plan
from burn_wgpu.kernel.walk import Steps
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, fold
from burn_wgpu.shader.prelude import KINDS, Prelude, WordKind, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

MOST_STEPS = 50_000  # of a thread's loops, which must stay below 65,535 on Mesa 22
FINISH_THREADS = 256


class Head:
    """A prelude with the parameters' names and values side by side."""

    def __init__(self) -> None:
        self.prelude = Prelude()
        self.prelude.alias("V", "f32")
        self.numbers: dict[str, int] = {}

    def space(self, what: Correlation) -> None:
        """The numbers of images, channels and axes."""
        self.numbers |= {"x_image": what.x_image, "x_c": what.x_channel}
        for a, axis in enumerate(what.axes):
            self.prelude.const(f"TAPS{a}", axis.taps)
            if not axis.trivial:
                self.numbers |= {
                    f"size{a}": axis.size, f"out{a}": axis.out, f"step{a}": axis.step, f"first{a}": axis.first,
                    f"x{a}": axis.x, f"w{a}": axis.w, f"y{a}": axis.y,
                }  # fmt: skip

    def launch(
        self, file: str, operands: Sequence[int], groups: int, threads: int, workgroup_bytes: int, device: Capability
    ) -> Launch:
        prelude = self.prelude
        grid = fold(groups, device)
        prelude.params(groups_x="u32", groups="u32", **dict.fromkeys(self.numbers, "u32"))
        prelude.const("THREADS", threads)
        key = KernelKey(
            file, prelude.build(), tuple(prelude.uses), prelude.bindings, workgroup_bytes, threads,
            frozenset(prelude.features), trusted=True,
        )  # fmt: skip
        return Launch(key, tuple(operands), words(grid[0], groups, *self.numbers.values()), grid)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a kernel's results go: the output, with the bias if there is one, or f32 scratch without it."""

    operand: int
    kind: WordKind
    bias: bool

    def operands(self, *inputs: int) -> tuple[int, ...]:
        """The operands of a kernel that reads `inputs`."""
        return (*inputs, 2, self.operand) if self.bias else (*inputs, self.operand)


class Task:
    """A correlation that becomes launches of a plan. Operands 0, 1, 2 are x, w and the bias; `out` is the result."""

    def __init__(self, steps: Steps, what: Correlation, dtype: DType, bias: bool, device: Capability) -> None:
        self.steps = steps
        self.what = what
        self.dtype = dtype
        self.kind = KINDS[dtype]
        self.device = device
        self.out = Target(steps.output(0), self.kind, bias)

    def launch(
        self, head: Head, file: str, operands: Sequence[int], groups: int, threads: int, workgroup_bytes: int = 0
    ) -> None:
        self.steps.launch(head.launch(file, operands, groups, threads, workgroup_bytes, self.device))

    def sums(self, splits: int = 1) -> Target:
        """New scratch for the sums of all results, `splits` times; `finish` reads it."""
        return Target(self.steps.scratch(4 * splits * self.what.size), KINDS[dt.F32], False)

    def copied(self, layout: Layout) -> int:
        """A dense copy of w's elements in `layout`."""
        scratch = self.steps.scratch(-(-layout.size * self.dtype.size_bytes // 4) * 4)
        for launch in copy_plan(layout, self.dtype, self.device).launches:
            self.steps.launch(Launch(launch.key, (1, scratch), launch.params, launch.grid))
        return scratch

    def flat(self, head: Head) -> None:
        """The bias, and stores of whole chunks of the result."""
        if self.out.bias:
            head.prelude.storage("bias", self.kind)
        flat_text(head.prelude, self.kind, self.out.bias, self.what.points, self.what.groups * self.what.rows)

    def finish(self, sums: Target, splits: int = 1) -> None:
        """Adds up the splits and the bias, and rounds; nothing where the results went to the output."""
        if sums is self.out:
            return
        size = self.what.size
        head = Head()
        head.numbers |= {"size": size, "splits": splits, "n": size}
        whole = size % 4 == 0
        head.prelude.storage("partial", dt.F32, "chunk" if whole else "element")
        if whole:
            body = "return load4_partial((split * params.size + first) / 4u);"
        else:
            loads = ", ".join(f"load_partial(start + min(first + {e}u, params.size - 1u))" for e in range(4))
            body = f"let start = split * params.size; return array<f32, 4>({loads});"
        head.prelude.text(f"fn get4_partial(split: u32, first: u32) -> array<f32, 4> {{ {body} }}")
        self.flat(head)
        groups = -(-size // (4 * FINISH_THREADS))
        self.launch(head, "matmul/finish", self.out.operands(sums.operand), groups, FINISH_THREADS)
