"""One exception family for everything that can be wrong with a burnpack file, and its machine-readable kinds.

`PackError` is a `FormatError`. `error.kind` says which rule broke; `error.file`, `error.place` and `error.name` say
where; `error.found` and `error.wanted` say what stood there and what the format asks for. Texts out of a file are
shown escaped and shortened, so that a hostile name can neither steer a terminal nor fill a log; `error.name` is the
raw name.
"""

from __future__ import annotations

from enum import StrEnum

from burn_wgpu.std.errors import FormatError

SHOWN_CHARACTERS = 160
"""How much of a text out of a file a message shows."""


class PackFault(StrEnum):
    """What is wrong. The value is stable; programs may compare it."""

    IO = "io"
    """the operating system refused: no such file, no permission, not a regular file, disk full …"""
    EXISTS = "exists"
    """writing with overwrite=False, and something stands at the destination"""
    CLOSED = "closed"
    """the reader was used after close()"""
    NOT_FOUND = "not_found"
    """no tensor or scalar of that name in the container"""
    HEADER = "header"
    """fewer than the ten header bytes"""
    MAGIC = "magic"
    """the first four bytes are not those of a burnpack file"""
    VERSION = "version"
    """another format version than 1"""
    LIMIT = "limit"
    """a limit of the reader or writer is exceeded: metadata, tensors, bytes of a tensor or of the file"""
    TRUNCATED = "truncated"
    """metadata or payload are claimed beyond the end of the file"""
    CBOR = "cbor"
    """the metadata is not well-formed CBOR"""
    NESTING = "nesting"
    """the metadata nests deeper than the limit"""
    TRAILING = "trailing"
    """bytes after the one CBOR item inside the metadata region"""
    DUPLICATE = "duplicate"
    """a key stands twice in a map, or a name is written twice"""
    SCHEMA = "schema"
    """a field is missing or of another type than the format asks for"""
    DTYPE = "dtype"
    """an unknown dtype or an enum value that does not exist"""
    SCALAR = "scalar"
    """a scalar whose value does not fit its kind, or a conversion that is not allowed"""
    OFFSETS = "offsets"
    """data_offsets that run backwards or overflow"""
    LENGTH = "length"
    """a payload length that disagrees with dtype and shape, or a shape whose size overflows"""
    OVERLAP = "overlap"
    """two tensors claim the same bytes"""
    SCHEME = "scheme"
    """a quantization scheme that makes no sense for its tensor"""
    BOOL = "bool"
    """a boolean that is neither 0 nor 1"""
    LEGACY = "legacy"
    """a layout of an older Burn that cannot be read without guessing"""
    SOURCE = "source"
    """what the writer was given: a name, an id, a buffer or a chunk that it cannot write"""


def shown(text: str) -> str:
    """The text in quotes, control and direction characters escaped, shortened to SHOWN_CHARACTERS."""
    if len(text) <= SHOWN_CHARACTERS:
        return repr(text)
    return f"{text[:SHOWN_CHARACTERS]!r}… ({len(text)} characters)"


def shown_path(path: str) -> str:
    """The path as it is if every character prints, else quoted and escaped."""
    return path if path.isprintable() else repr(path)


class PackError(FormatError):
    """A burnpack container that breaks its format, or cannot be read or written.

    kind    the rule (PackFault)
    file    the path, "<bytes>" for memory, or None where no file is involved
    place   "tensor", "scalar", "metadata key" …, the sort of entry concerned, or None
    name    the raw name of that entry, or None
    found   what stood there, as text, or None
    wanted  what the format asks for, as text, or None
    """

    def __init__(
        self,
        kind: PackFault,
        text: str,
        *,
        file: str | None = None,
        place: str | None = None,
        name: str | None = None,
        found: str | None = None,
        wanted: str | None = None,
    ) -> None:
        parts = [] if file is None else [shown_path(file)]
        if place is not None:
            parts.append(place if name is None else f"{place} {shown(name)}")
        message = ": ".join([*parts, text])
        if found is not None:
            message += f"; found {found}"
        if wanted is not None:
            message += f"{';' if found is None else ','} wanted {wanted}"
        super().__init__(message)
        self.kind = kind
        self.text = text
        self.file = file
        self.place = place
        self.name = name
        self.found = found
        self.wanted = wanted

    def in_file(self, file: str) -> PackError:
        """The same error with the file named, for what was found before a file was involved."""
        return type(self)(
            self.kind, self.text, file=file, place=self.place, name=self.name, found=self.found, wanted=self.wanted
        )

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[object, ...]:
        places = {key: getattr(self, key) for key in ("file", "place", "name", "found", "wanted")}
        return _rebuild, (type(self), self.kind, self.text, places, getattr(self, "errno", None))


class PackLookupError(PackError, LookupError):
    """No entry of that name in the container (kind "not_found")."""


class PackFileError(PackError, OSError):
    """The operating system refused a file operation (kind "io"); `errno` is its number where it gave one."""


class PackNotFoundError(PackFileError, FileNotFoundError):
    """The file, or the folder to write into, does not exist (kind "io")."""


class PackExistsError(PackFileError, FileExistsError):
    """overwrite=False, and the destination exists (kind "exists")."""


def _rebuild(
    cls: type[PackError], kind: PackFault, text: str, places: dict[str, str | None], number: int | None
) -> PackError:
    error = cls(kind, text, **places)
    if isinstance(error, PackFileError):
        error.errno = number
    return error


def file_error(error: OSError | ValueError, text: str, file: str) -> PackFileError:
    """The family's error for an OSError (or the ValueError of a path with a zero byte), with its errno."""
    reason = getattr(error, "strerror", None) or str(error)
    cls = PackNotFoundError if isinstance(error, FileNotFoundError) else PackFileError
    wrapped = cls(PackFault.IO, f"{text}: {reason}", file=file)
    wrapped.errno = getattr(error, "errno", None)
    return wrapped
