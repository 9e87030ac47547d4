"""CBOR as burnpack metadata needs it: a strict pull decoder and an encoder of the shortest forms.

The decoder builds no tree. A schema asks for what it expects (`text`, `integer`, `entries` …) and unknown values are
skipped by a loop, so neither nesting nor a claimed length can exhaust stack or memory: every length is compared with
the bytes that are left before anything is made of it, and nesting is counted against a limit.

Accepted although Burn never writes it: longer forms of integers and lengths, indefinite lengths, tags in front of a
value, bignums for integers. Floats are 64-bit patterns throughout, so that every NaN survives.
"""

from __future__ import annotations

import codecs
import re
import struct
from collections.abc import Iterator
from typing import NoReturn

from burn_wgpu.pack.errors import PackError, PackFault, shown

UINT64_MAX = 2**64 - 1

_UNSIGNED, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _OTHER = range(8)
_BREAK = 0xFF
_BIGNUM, _NEGATIVE_BIGNUM = 2, 3
_TEXT_WINDOW = 1 << 16

# Small integers, false to undefined, the empty string and text: items that are complete with their first byte.
_ONE_BYTE_ITEMS = re.compile(rb"[\x00-\x17\x20-\x37\x40\x60\xf4-\xf7]{1,65536}")


class Decoder:
    """A cursor over one metadata region.

    data     the region
    base     where it begins in the file; positions in messages count from there
    nesting  how many arrays, maps and tags may enclose a value, the root map included
    """

    __slots__ = ("base", "data", "depth", "end", "file", "name", "nesting", "place", "position")

    def __init__(self, data: bytes, *, file: str, base: int = 0, nesting: int = 128) -> None:
        self.data = data
        self.end = len(data)
        self.position = 0
        self.base = base
        self.file = file
        self.nesting = nesting
        self.depth = 0
        self.place: str | None = None
        self.name: str | None = None

    # Errors

    def fail(self, kind: PackFault, text: str, found: str | None = None, wanted: str | None = None) -> NoReturn:
        """Raises PackError for the entry that is being decoded."""
        place = self.place or "metadata"
        raise PackError(kind, text, file=self.file, place=place, name=self.name, found=found, wanted=wanted)

    def _malformed(self, text: str, position: int) -> NoReturn:
        self.fail(PackFault.CBOR, f"malformed CBOR at byte {self.base + position}: {text}")

    def _short(self, what: str, wanted: int, position: int) -> NoReturn:
        left = max(self.end - position, 0)
        self._malformed(
            f"{what} needs {wanted} more bytes, but only {left} follow before the end of the metadata", position
        )

    def mismatch(self, field: str, found: str, wanted: str, kind: PackFault = PackFault.SCHEMA) -> NoReturn:
        self.fail(kind, f"{field} in the metadata has the wrong type", found, wanted)

    # Items

    def _head(self) -> tuple[int, int, int | None]:
        """(major type, additional information, argument or None for an indefinite length); the cursor moves behind."""
        position = self.position
        if position >= self.end:
            self._short("an item", 1, position)
        initial = self.data[position]
        major, info = initial >> 5, initial & 31
        position += 1
        argument: int | None = info
        if info >= 24:
            if info < 28:
                width = 1 << (info - 24)
                if position + width > self.end:
                    self._short("the head of an item", width, position)
                argument = int.from_bytes(self.data[position : position + width], "big")
                position += width
            elif info == 31 and major not in (_UNSIGNED, _NEGATIVE, _TAG):
                argument = None
            else:
                self._malformed(f"initial byte {initial:#04x} is reserved", position - 1)
        self.position = position
        return major, info, argument

    def _value_head(self) -> tuple[int, int, int | None, int | None]:
        """The head of the next value, and the innermost of the tags in front of it."""
        major, info, argument = self._head()
        tag, tags = None, 0
        while major == _TAG:
            tag, tags = argument, tags + 1
            if self.depth + tags > self.nesting:
                self._too_deep()
            major, info, argument = self._head()
        return major, info, argument, tag

    def _too_deep(self) -> NoReturn:
        self.fail(
            PackFault.NESTING,
            f"metadata nesting is too deep at byte {self.base + self.position}",
            f"more than {self.nesting} levels",
            f"at most {self.nesting}",
        )

    def _describe(self, major: int, info: int, argument: int | None) -> str:
        match major:
            case 0:
                return f"the integer {argument}"
            case 1:
                return f"the negative integer {-1 - (argument or 0)}"
            case 2:
                return "a byte string"
            case 3:
                return "text"
            case 4:
                return "an array"
            case 5:
                return "a map"
        if info == 31:
            return "a break byte"
        names = {20: "false", 21: "true", 22: "null", 23: "undefined", 25: "a float", 26: "a float", 27: "a float"}
        return names.get(info, f"the simple value {argument}")

    def peek(self) -> int:
        """The major type of the next item, tags not skipped; -1 at the end."""
        return self.data[self.position] >> 5 if self.position < self.end else -1

    def optional_null(self) -> bool:
        """Takes a null or undefined if that is next."""
        if self.position < self.end and self.data[self.position] in (0xF6, 0xF7):
            self.position += 1
            return True
        return False

    def text(self, field: str) -> str:
        """Text, in one piece or in chunks."""
        data, position = self.data, self.position
        if position < self.end and 0x60 <= data[position] < 0x78:  # the short form that nearly all names have
            length, position = data[position] - 0x60, position + 1
            if position + length > self.end:
                self._short(f"the text of {field}", length, position)
            self.position = position + length
            return self._utf8(data[position : position + length], field)
        major, info, argument, _ = self._value_head()
        if major != _TEXT:
            self.mismatch(field, self._describe(major, info, argument), "text")
        if argument is not None:
            return self._utf8(self._take(argument, f"the text of {field}"), field)
        pieces = bytearray()
        for chunk in self._chunks(_TEXT):
            self._utf8(chunk, field)  # every chunk is text by itself
            pieces += chunk
        return pieces.decode()

    def _utf8(self, raw: bytes, field: str) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            found = f"bytes {raw[:16].hex(' ')} ({error.reason})"
            self.fail(PackFault.CBOR, f"{field} in the metadata is not valid UTF-8", found, "UTF-8 text")

    def _take(self, length: int, what: str) -> bytes:
        start = self.position
        if length > self.end - start:
            self._short(what, length, start)
        self.position = start + length
        return self.data[start : self.position]

    def _chunks(self, major: int) -> Iterator[bytes]:
        """The chunks of an indefinite-length string, up to and including its break."""
        while True:
            position = self.position
            found, _, argument = self._head()
            if found == _OTHER and argument is None:
                return
            if found != major or argument is None:
                self._malformed("a chunk of a string has another type than the string", position)
            yield self._take(argument, "a chunk of a string")

    def integer(self, field: str, kind: PackFault = PackFault.SCHEMA) -> int:
        """An integer from -2^64 to 2^64 - 1."""
        data, position = self.data, self.position
        if position < self.end and data[position] < 24:
            self.position = position + 1
            return data[position]
        major, info, argument, tag = self._value_head()
        if major == _UNSIGNED:
            assert argument is not None
            return argument
        if major == _NEGATIVE:
            assert argument is not None
            return -1 - argument
        if major == _BYTES and argument is not None and tag in (_BIGNUM, _NEGATIVE_BIGNUM):
            raw = self._take(argument, f"the bignum of {field}").lstrip(b"\0")
            if len(raw) > 8:
                self.fail(kind, f"{field} in the metadata is too large", f"a bignum of {len(raw)} bytes", "at most 8")
            magnitude = int.from_bytes(raw, "big")
            return magnitude if tag == _BIGNUM else -1 - magnitude
        self.mismatch(field, self._describe(major, info, argument), "an integer", kind)

    def unsigned(self, field: str, kind: PackFault = PackFault.SCHEMA) -> int:
        """An integer from 0 to 2^64 - 1."""
        value = self.integer(field, kind)
        if value < 0:
            self.mismatch(field, f"the negative integer {value}", "an unsigned integer", kind)
        return value

    def float_bits(self, field: str, kind: PackFault = PackFault.SCHEMA) -> int:
        """A float of any width, as the bits of the double."""
        major, info, argument, _ = self._value_head()
        if major == _OTHER and argument is not None and 25 <= info <= 27:
            return (_half_to_double, _single_to_double, int)[info - 25](argument)
        self.mismatch(field, self._describe(major, info, argument), "a float", kind)

    def boolean(self, field: str, kind: PackFault = PackFault.SCHEMA) -> bool:
        major, info, argument, _ = self._value_head()
        if major == _OTHER and info in (20, 21):
            return info == 21
        self.mismatch(field, self._describe(major, info, argument), "true or false", kind)

    # Containers

    def entries(self, field: str, kind: PackFault = PackFault.SCHEMA, most: int | None = None) -> Iterator[None]:
        """One step for each entry of a map; the caller takes key and value at each step.

        most  refuse a container of more entries, by its claim where it makes one: LIMIT for maps, SCHEMA for arrays
        """
        return self._container(_MAP, field, kind, most)

    def elements(self, field: str, kind: PackFault = PackFault.SCHEMA, most: int | None = None) -> Iterator[None]:
        """One step for each element of an array."""
        return self._container(_ARRAY, field, kind, most)

    def _container(self, wanted: int, field: str, kind: PackFault, most: int | None) -> Iterator[None]:
        major, info, count, _ = self._value_head()
        per_entry, name, excess = (2, "map", PackFault.LIMIT) if wanted == _MAP else (1, "array", PackFault.SCHEMA)
        if major != wanted:
            self.mismatch(field, self._describe(major, info, count), f"{'a' if wanted == _MAP else 'an'} {name}", kind)
        if self.depth >= self.nesting:
            self._too_deep()
        if count is not None:
            if count * per_entry > self.end - self.position:
                self._short(f"{field}, a claimed {name} of {count} entries,", count * per_entry, self.position)
            if most is not None and count > most:
                self.fail(excess, f"{field} has too many entries for its limit", str(count), f"at most {most}")
        self.depth += 1
        done = 0
        while done != count:
            if count is None and self.position < self.end and self.data[self.position] == _BREAK:
                self.position += 1
                break
            if most is not None and done >= most:
                self.fail(excess, f"{field} has too many entries for its limit", f"more than {most}", f"at most {most}")
            yield
            done += 1
        self.depth -= 1

    def skip(self) -> None:
        """Passes over one well-formed value of any kind."""
        open_items: list[list[int | None]] = []  # [items left or None, items seen, per entry]
        while True:
            if open_items and (run := _ONE_BYTE_ITEMS.match(self.data, self.position)) is not None:
                # Runs of one-byte items are counted at once: an array of millions of them must not take seconds. The
                # last one is left to the loop below, which closes what it completes.
                left, seen, _ = open_items[-1]
                assert seen is not None
                taken = len(run[0]) if left is None else min(len(run[0]), left - seen)
                self.position += taken - 1
                open_items[-1][1] = seen + taken - 1
            position = self.position
            major, info, argument = self._head()
            complete = True
            if major in (_BYTES, _TEXT):
                self._skip_string(major, argument)
            elif major == _OTHER:
                if argument is None:
                    if not open_items or open_items[-1][0] is not None:
                        self._malformed("a break byte stands where a value should", position)
                    _, seen, per_entry = open_items.pop()
                    assert seen is not None and per_entry is not None
                    if seen % per_entry:
                        self._malformed("a map ends after a key", position)
                elif not (20 <= info <= 23 or 25 <= info <= 27):
                    self._malformed(f"simple value {argument} has no meaning here", position)
            elif major in (_ARRAY, _MAP, _TAG):
                per_entry = 2 if major == _MAP else 1
                left = None if argument is None else 1 if major == _TAG else argument * per_entry
                if left is not None and left > self.end - self.position:
                    self._short(f"a container of {left} items", left, self.position)
                if self.depth + len(open_items) >= self.nesting:
                    self._too_deep()
                if left != 0:
                    open_items.append([left, 0, per_entry])
                    complete = False
            while complete and open_items:
                top = open_items[-1]
                assert top[1] is not None
                top[1] += 1
                if top[0] is None or top[1] < top[0]:
                    complete = False
                else:
                    open_items.pop()
            if complete and not open_items:
                return

    def _skip_string(self, major: int, length: int | None) -> None:
        if length is None:
            for chunk in self._chunks(major):
                if major == _TEXT:
                    self._utf8(chunk, "an unknown field")
            return
        if length > self.end - self.position:
            self._short("a string", length, self.position)
        start, self.position = self.position, self.position + length
        if major == _TEXT:
            decoder = codecs.getincrementaldecoder("utf-8")()
            try:
                for at in range(start, start + length, _TEXT_WINDOW):
                    decoder.decode(self.data[at : min(at + _TEXT_WINDOW, start + length)])
                decoder.decode(b"", final=True)
            except UnicodeDecodeError as error:
                self._malformed(f"text that is not valid UTF-8 ({error.reason})", start)

    def finish(self) -> None:
        """The one item must fill the region."""
        if self.position != self.end:
            self.fail(
                PackFault.TRAILING,
                "extra bytes after the root map inside the metadata",
                f"{self.end - self.position} trailing bytes",
                "none",
            )


def unknown_key(decoder: Decoder, key: str, seen: set[str], where: str) -> None:
    """Skips the value of a field that we do not know; no key may stand twice."""
    if key in seen:
        decoder.fail(PackFault.DUPLICATE, f"duplicate key {shown(key)} in {where}", "it twice", "each key once")
    seen.add(key)
    decoder.skip()


# Floats as bit patterns


def _half_to_double(bits: int) -> int:
    return _widen(bits, exponent_bits=5, mantissa_bits=10)


def _single_to_double(bits: int) -> int:
    return _widen(bits, exponent_bits=8, mantissa_bits=23)


def _widen(bits: int, exponent_bits: int, mantissa_bits: int) -> int:
    """The bits of the double with the same value; a NaN keeps sign and payload."""
    sign = bits >> (exponent_bits + mantissa_bits) << 63
    exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = bits & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == (1 << exponent_bits) - 1:
        return sign | 0x7FF << 52 | mantissa << (52 - mantissa_bits)
    if exponent == 0:
        if mantissa == 0:
            return sign
        shift = mantissa_bits + 1 - mantissa.bit_length()  # a subnormal, normal as a double
        mantissa = (mantissa << shift) & ((1 << mantissa_bits) - 1)
        exponent = 1 - shift
    return sign | (exponent - bias + 1023) << 52 | mantissa << (52 - mantissa_bits)


def _narrow(bits: int, exponent_bits: int, mantissa_bits: int) -> int | None:
    """The narrower pattern that `_widen` turns into exactly these bits, or None.

    A signalling NaN has none: Burn's codec would make it quiet on the way, so it writes the double.
    """
    sign = bits >> 63 << (exponent_bits + mantissa_bits)
    exponent, mantissa = bits >> 52 & 0x7FF, bits & ((1 << 52) - 1)
    dropped = 52 - mantissa_bits
    top = (1 << exponent_bits) - 1
    if exponent == 0x7FF:
        if mantissa & ((1 << dropped) - 1) or (mantissa and not mantissa >> 51):
            return None
        return sign | top << mantissa_bits | mantissa >> dropped
    if exponent == 0:
        return None if mantissa else sign
    narrow_exponent = exponent - 1023 + (1 << (exponent_bits - 1)) - 1
    if narrow_exponent >= top:
        return None
    mantissa |= 1 << 52
    if narrow_exponent <= 0:
        dropped += 1 - narrow_exponent
        narrow_exponent = 0
    if dropped > 52 or mantissa & ((1 << dropped) - 1):
        return None
    return sign | narrow_exponent << mantissa_bits | (mantissa >> dropped & ((1 << mantissa_bits) - 1))


# Encoder: the shortest form of everything


def head(major: int, argument: int) -> bytes:
    """The initial byte with its argument."""
    if argument < 24:
        return bytes((major << 5 | argument,))
    for info, width in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if argument < 1 << 8 * width:
            return bytes((major << 5 | info,)) + argument.to_bytes(width, "big")
    raise OverflowError(f"{argument} does not fit a CBOR argument")


def encode_integer(value: int) -> bytes:
    return head(_UNSIGNED, value) if value >= 0 else head(_NEGATIVE, -1 - value)


def encode_text(value: str) -> bytes:
    raw = value.encode()
    return head(_TEXT, len(raw)) + raw


def encode_boolean(value: bool) -> bytes:
    return b"\xf5" if value else b"\xf4"


def encode_float_bits(bits: int) -> bytes:
    """A double, in the shortest width that gives the same 64 bits back."""
    if (half := _narrow(bits, 5, 10)) is not None:
        return b"\xf9" + half.to_bytes(2, "big")
    if (single := _narrow(bits, 8, 23)) is not None:
        return b"\xfa" + single.to_bytes(4, "big")
    return b"\xfb" + bits.to_bytes(8, "big")


def encode_array_head(count: int) -> bytes:
    return head(_ARRAY, count)


def encode_map_head(count: int) -> bytes:
    return head(_MAP, count)


NULL = b"\xf6"


def float_to_bits(value: float) -> int:
    return int.from_bytes(struct.pack(">d", value), "big")


def bits_to_float(bits: int) -> float:
    value: float = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    return value
