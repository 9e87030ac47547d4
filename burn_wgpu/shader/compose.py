"""A kernel's text from its key: directives, prelude, main file and libraries, without what `main` cannot reach.

A shader file is WGSL as it stands. Comment lines tell the composer what it leaves open:

    //! use lib/math            brings a library file
    //! needs V, WORKGROUP      names that the prelude must define

Of two library files that declare a name, the one that is named last gives it.

Unreachable functions are left out, so a library may be large and a kernel stays short (naga is linear in lines).
That needs one layout rule: a top-level declaration starts in column 0 and ends with `;`, with `}` in column 0, or on
its own line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

from burn_wgpu.shader.launch import KernelKey
from burn_wgpu.std.errors import KernelError

Implementation = Literal["naga", "tint"]

_DECLARES = re.compile(r"^(?:@\w+(?:\([^)]*\))?\s*)*(?:fn|const|struct|alias|override|var(?:<[^>]*>)?)\s+(\w+)")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


@lru_cache(maxsize=1)
def shader_root() -> Path:
    """The folder of the .wgsl files: inside the installed package, or the checkout's top-level shaders/."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "shaders", package.parent / "shaders"):
        if (folder / "lib").is_dir():
            return folder
    raise KernelError(f"shaders: no folder 'shaders' in {package} or beside it; the installation is incomplete")


@lru_cache(maxsize=512)
def _file(name: str) -> str:
    path = shader_root() / f"{name}.wgsl"
    if not path.is_file():
        raise KernelError(f"shader '{name}': there is no file {path}")
    return path.read_text()


@lru_cache(maxsize=512)
def _header(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(files used, names needed) as the file's `//!` lines say."""
    uses: list[str] = []
    needs: list[str] = []
    for line in _file(name).splitlines():
        if line.startswith("//! use "):
            uses += line[8:].replace(",", " ").split()
        elif line.startswith("//! needs "):
            needs += line[10:].replace(",", " ").split()
    return tuple(uses), tuple(needs)


def _declarations(text: str) -> list[tuple[str | None, str]]:
    """(declared name, text) of every top-level declaration, comments removed."""
    text = re.sub(r"//[^\n]*", "", text)
    found: list[tuple[str | None, str]] = []
    block: list[str] = []
    depth = 0
    for line in text.splitlines():
        if not line.strip():
            continue
        block.append(line.rstrip())
        depth += line.count("{") - line.count("}")
        if depth == 0 and line.rstrip().endswith((";", "}")):
            whole = "\n".join(block)
            name = _DECLARES.search(whole)
            found.append((name.group(1) if name else None, whole))
            block = []
            if "{" not in whole and whole.count(";") > 1:
                raise KernelError(f"shader: one declaration a line, but found: {whole}")
    if block:
        raise KernelError(f"shader: a declaration is never closed: {block[0]}")
    return found


@lru_cache(maxsize=512)
def _parsed(name: str) -> tuple[tuple[str | None, str, frozenset[str]], ...]:
    return tuple((n, t, frozenset(_WORD.findall(t))) for n, t in _declarations(_file(name)))


@lru_cache(maxsize=32)
def functions(name: str) -> frozenset[str]:
    """The names that a shader file declares, without what it uses."""
    return frozenset(declared for declared, _, _ in _parsed(name) if declared)


def compose(key: KernelKey, implementation: Implementation = "naga", replace: Mapping[str, str] | None = None) -> str:
    """The WGSL of a kernel. Raises KernelError that names the file and what is missing.

    replace: library files to take instead of others, for adapters that were shown to allow it.
    """
    files: dict[str, None] = {key.file: None}
    queue = [key.file, *((replace or {}).get(name, name) for name in key.uses)]
    while queue:
        name = queue.pop()
        files[name] = None
        queue += [used for used in _header(name)[0] if used not in files]

    table: dict[str, tuple[str, frozenset[str]]] = {}
    origin: dict[str, str] = {}
    order: list[str] = []
    for declared, text in _declarations(key.prelude):
        if declared:
            table[declared] = (text, frozenset(_WORD.findall(text)))
            order.append(declared)
    given = set(table)
    for file in files:
        for needed in _header(file)[1]:
            if file == key.file and needed not in given:
                raise _unfilled(file, needed, given)
        for declared, text, names in _parsed(file):
            if declared and declared not in table:  # the prelude overrides a library
                table[declared] = (text, names)
                origin[declared] = file
                order.append(declared)
    if "main" not in table:
        raise KernelError(f"shader '{key.file}' has no entry point 'main'")

    reached: set[str] = set()
    todo = ["main"]
    while todo:
        name = todo.pop()
        if name in reached:
            continue
        reached.add(name)
        for needed in _header(origin[name])[1] if name in origin else ():
            if needed in table[name][1] and needed not in table:
                raise _unfilled(origin[name], needed, given)
        todo += [n for n in table[name][1] if n in table and n not in reached]
    body = "\n".join(table[n][0] for n in order if n in reached)
    return _directives(key, implementation) + body + "\n"


def _unfilled(file: str, needed: str, given: set[str]) -> KernelError:
    filled = ", ".join(sorted(n for n in given if not n.startswith(("load", "store"))))
    return KernelError(f"shader '{file}' needs '{needed}', but the key fills only {filled or 'nothing'}")


def _directives(key: KernelKey, implementation: Implementation) -> str:
    lines = []
    if "shader-f16" in key.features:
        lines.append("enable f16;")
    if "subgroup" in key.features and implementation == "tint":
        lines.append("enable subgroups;")  # naga knows the functions without it and rejects the word
    return "".join(line + "\n" for line in lines)
