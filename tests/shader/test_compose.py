"""The composer on small files of its own: what it keeps, and what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burn_wgpu.shader import compose as module
from burn_wgpu.shader.compose import compose
from burn_wgpu.shader.launch import KernelKey
from burn_wgpu.std.errors import KernelError


class Files:
    """Shader files in a folder of the test."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.root / f"{name}.wgsl").write_text(text)
        for cache in (module._file, module._header, module._parsed):
            cache.cache_clear()


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "shader_root", lambda: tmp_path)
    yield Files(tmp_path)
    for cache in (module._file, module._header, module._parsed):
        cache.cache_clear()


def names(text: str) -> list[str]:
    return re.findall(r"^(?:@\w+(?:\([^)]*\))?\s*)*(?:fn|const|struct|alias|var(?:<[^>]*>)?)\s+(\w+)", text, re.M)


def test_only_what_main_reaches_is_kept(files) -> None:
    files(
        main="//! use lib\n// a comment\n@compute @workgroup_size(W)\nfn main() { a(); }\n",
        lib="fn a() { b(K); } // why\nfn b(x: u32) {\n    // deep\n    return;\n}\nfn unused() { b(2u); }\n"
        "struct Lost {\n    x: u32,\n}\nconst LOST = array<u32, 2>(\n    1u,\n    2u,\n);\n",
    )
    text = compose(KernelKey("main", "const W: u32 = 8u;\nconst K: u32 = 3u;\nconst L: u32 = 3u;"))
    assert sorted(names(text)) == ["K", "W", "a", "b", "main"]
    assert "//" not in text


def test_files_are_found_through_files_and_cycles_end(files) -> None:
    files(main="//! use one\nfn main() { one(); }\n", one="//! use two, three\nfn one() { two(); three(); }\n",
          two="//! use one\nfn two() {}\n", three="fn three() {}\n")  # fmt: skip
    assert sorted(names(compose(KernelKey("main", "")))) == ["main", "one", "three", "two"]


def test_the_prelude_overrides_a_library_and_a_replacement_its_file(files) -> None:
    files(main="fn main() { f(); g(); }\n", lib="fn f() { old(); }\nfn g() { slow(); }\nfn old() {}\nfn slow() {}\n",
          fast="fn f() {}\nfn g() { quick(); }\nfn quick() {}\n")  # fmt: skip
    text = compose(KernelKey("main", "fn f() { own(); }\nfn own() {}", uses=("lib",)))
    assert sorted(names(text)) == ["f", "g", "main", "own", "slow"]
    text = compose(KernelKey("main", "", uses=("lib",)), replace={"lib": "fast"})
    assert sorted(names(text)) == ["f", "g", "main", "quick"]


def test_a_name_that_the_main_file_needs_is_asked_for(files) -> None:
    files(main="//! needs WORKGROUP, apply\nfn main() {}\n")
    with pytest.raises(KernelError) as error:
        compose(KernelKey("main", "const WORKGROUP: u32 = 1u;\nfn load_x() {}"))
    assert str(error.value) == "shader 'main' needs 'apply', but the key fills only WORKGROUP"


def test_a_name_that_a_library_needs_is_asked_for_only_where_it_is_reached(files) -> None:
    files(main="//! use lib\nfn main() { a(); }\n", lib="//! needs V\nfn a() {}\nfn b(x: V) {}\n")
    assert names(compose(KernelKey("main", ""))) == ["main", "a"]
    files(main="//! use lib\nfn main() { b(); }\n")
    with pytest.raises(KernelError) as error:
        compose(KernelKey("main", ""))
    assert str(error.value) == "shader 'lib' needs 'V', but the key fills only nothing"


def test_faults_of_files_are_named(files) -> None:
    with pytest.raises(KernelError) as error:
        compose(KernelKey("absent", ""))
    assert str(error.value) == f"shader 'absent': there is no file {files.root / 'absent.wgsl'}"
    files(main="fn other() {}\n")
    with pytest.raises(KernelError) as error:
        compose(KernelKey("main", ""))
    assert str(error.value) == "shader 'main' has no entry point 'main'"
    files(main="fn main() {\n")
    with pytest.raises(KernelError) as error:
        compose(KernelKey("main", ""))
    assert str(error.value) == "shader: a declaration is never closed: fn main() {"
    files(main="const A: u32 = 1u; const B: u32 = 2u;\nfn main() {}\n")
    with pytest.raises(KernelError) as error:
        compose(KernelKey("main", ""))
    assert str(error.value) == "shader: one declaration a line, but found: const A: u32 = 1u; const B: u32 = 2u;"


def test_directives_depend_on_the_implementation(files) -> None:
    files(main="fn main() {}\n")
    key = KernelKey("main", "", features=frozenset({"shader-f16", "subgroup"}))
    assert compose(key, "naga").startswith("enable f16;\nfn main")
    assert compose(key, "tint").startswith("enable f16;\nenable subgroups;\nfn main")


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12).flatmap(lambda n: st.tuples(
    st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30), st.randoms(),
)))  # fmt: skip
def test_any_graph_of_functions_keeps_exactly_what_is_reachable(case) -> None:
    n, edges, random = case
    calls: dict[int, set[int]] = {i: set() for i in range(n)}
    for i, j in edges:
        calls[i].add(j)
    body = [f"fn f{i}() {{\n" + "".join(f"    f{j}();\n" for j in sorted(calls[i])) + "}" for i in range(n)]
    reach, todo = set(), [0]
    while todo:
        i = todo.pop()
        if i not in reach:
            reach.add(i)
            todo += calls[i]
    random.shuffle(body)
    prelude = "\n".join([*body, "fn main() { f0(); }"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_file", lambda name: "")
        module._header.cache_clear(), module._parsed.cache_clear()
        text = compose(KernelKey("empty", prelude))
        module._header.cache_clear(), module._parsed.cache_clear()
    assert sorted(names(text)) == sorted(["main", *(f"f{i}" for i in reach)])
