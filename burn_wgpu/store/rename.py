"""Other names for a file's tensors, by ordered rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from burn_wgpu.std.errors import ArgumentError

Rules = Sequence[tuple[str, str]]


def rename(names: Iterable[str], rules: Rules) -> dict[str, str]:
    r"""The file's name → the new name. Each rule (pattern, replacement) is applied everywhere it matches, to the result
    of the one before; `\1` stands for a group, as in `re.sub`.

    Raises ArgumentError for a pattern that does not compile, and for names that become equal, all of them.
    """
    compiled = []
    for pattern, replacement in rules:
        try:
            compiled.append((re.compile(pattern), replacement))
        except re.error as error:
            raise ArgumentError(f"rename: the pattern {pattern!r} is no regular expression ({error})") from None
    result: dict[str, str] = {}
    owners: dict[str, list[str]] = {}
    for name in names:
        new = name
        for expression, replacement in compiled:
            try:
                new = expression.sub(replacement, new)
            except (re.error, IndexError) as error:
                raise ArgumentError(f"rename: the replacement {replacement!r} is unsound ({error})") from None
        result[name] = new
        owners.setdefault(new, []).append(name)
    equal = [f"{' and '.join(old)} become {new}" for new, old in owners.items() if len(old) > 1]
    if equal:
        raise ArgumentError(f"rename: {'; '.join(equal)}; names must stay different")
    return result
