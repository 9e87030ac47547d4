"""Writes every shader variant to a folder, and compiles the folder with naga on this machine's adapter.

    compile_shaders.py dump FOLDER       FOLDER/naga and FOLDER/tint: one .wgsl a distinct text, and manifest.json
    compile_shaders.py compile FOLDER    each text of FOLDER/naga through create_shader_module

The manifest is a list of {"file", "names", "features"}: all variants that share one text share one file. The variants
come from `burn_wgpu.testing.variants.all_variants(implementation)`, which yields (name, text, required features);
implementations differ in the directives that they want, so each gets its own texts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

IMPLEMENTATIONS = ("naga", "tint")
SHOWN_FAILURES = 10


def dump(folder: Path) -> int:
    from burn_wgpu.testing.variants import all_variants

    for implementation in IMPLEMENTATIONS:
        count, texts = write_variants(all_variants(implementation=implementation), folder / implementation)
        print(f"{implementation}: {count} variants, {texts} distinct texts")
        if count == 0:
            print(f"error: all_variants({implementation!r}) yields nothing, so nothing would be checked")
            return 1
    return 0


def write_variants(variants: Iterable[tuple[str, str, Iterable[str]]], folder: Path) -> tuple[int, int]:
    """Write one file a distinct text, and the manifest; the numbers of variants and of texts."""
    folder.mkdir(parents=True)
    entries: dict[str, dict] = {}
    seen: set[str] = set()
    for name, text, features in variants:
        if name in seen:
            raise SystemExit(f"error: two variants are named {name!r}")
        seen.add(name)
        entry = entries.get(text)
        if entry is None:
            entry = {"file": f"{len(entries):06d}.wgsl", "names": [], "features": []}
            entries[text] = entry
            (folder / entry["file"]).write_text(text, encoding="utf-8")
        entry["names"].append(name)
        entry["features"] = sorted({*entry["features"], *map(str, features)})
    (folder / "manifest.json").write_text(json.dumps(list(entries.values()), indent=0), encoding="utf-8")
    return len(seen), len(entries)


def compile_all(folder: Path) -> int:
    import wgpu

    source = folder / "naga"
    entries = json.loads((source / "manifest.json").read_text(encoding="utf-8"))
    adapters = [a for a in wgpu.gpu.enumerate_adapters_sync() if a.info["backend_type"] != "OpenGL"]
    if not adapters:
        print("error: no adapter to compile on")
        return 1
    # The software adapter where there is one: it is what every machine that runs this check has.
    adapter = next((a for a in adapters if a.info["adapter_type"] == "CPU"), adapters[0])
    wanted = {feature for entry in entries for feature in entry["features"]}
    device = adapter.request_device_sync(required_features=sorted(wanted & set(adapter.features)))

    started = time.perf_counter()
    lacking: dict[str, int] = {}
    failures = compiled = 0
    for entry in entries:
        missing = sorted(set(entry["features"]) - set(adapter.features))
        if missing:
            lacking[", ".join(missing)] = lacking.get(", ".join(missing), 0) + 1
            continue
        try:
            device.create_shader_module(code=(source / entry["file"]).read_text(encoding="utf-8"))
            compiled += 1
        except Exception as error:  # every kind of refusal is the finding; none may end the check early
            failures += 1
            if failures <= SHOWN_FAILURES:
                print(f"error: {entry['names'][0]}: naga refuses this text:\n{error}\n")
    for features, count in sorted(lacking.items()):
        print(f"note: {count} texts need {features}, which {adapter.info['device']} lacks: left to the translation")
    seconds = time.perf_counter() - started
    print(f"naga on {adapter.info['device']}: {compiled} texts compiled, {failures} refused, {seconds:.1f} s")
    if compiled == 0:
        print("error: nothing was compiled")
        return 1
    return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile every shader variant with naga.")
    parser.add_argument("command", choices=("dump", "compile"))
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    return {"dump": dump, "compile": compile_all}[arguments.command](arguments.folder)


if __name__ == "__main__":
    sys.exit(main())
