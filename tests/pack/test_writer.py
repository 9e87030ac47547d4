"""The writer: layout, streaming, atomic publication, and what it refuses."""

from __future__ import annotations

import os
import stat
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from burn_wgpu.pack import (
    PackEntry,
    PackError,
    PackExistsError,
    PackFault,
    PackFileError,
    PackLimits,
    PackNotFoundError,
    PackPlan,
    PackReader,
    Scalar,
    pack_bytes,
    plan_pack,
    with_extension,
    write_pack,
)
from burn_wgpu.std.dtype import BF16, BOOL, BOOL_U32, F32, I64, U8, float32_to_bf16
from burn_wgpu.std.quant import BlockScale, QFloat, QuantScheme, QuantStore, QuantValue, ScaleDtype

MIB = 1 << 20
ONE = [PackEntry("w", U8, (3,), 7, b"abc")]
posix = pytest.mark.skipif(os.name != "posix", reason="permission bits and symbolic links are POSIX matters")


def content(path: Path) -> dict[str, bytes]:
    with PackReader.open(path) as reader:
        return {info.name: reader.read(info.name) for info in reader}


# Layout


def test_an_empty_container_is_256_bytes() -> None:
    raw = pack_bytes([])
    assert raw == bytes.fromhex("4e525542 0100 0a000000 a16774656e736f7273a0").ljust(256, b"\0")


def test_payloads_lie_in_the_order_given_and_names_are_sorted() -> None:
    plan = plan_pack([("z", U8, (3,), None, b"zzz"), ("a", U8, (1,), None, b"a"), ("é", U8, (256,), None, bytes(256))])
    assert [(i.name, i.start, i.end) for i in plan.tensors] == [("z", 0, 3), ("a", 256, 257), ("é", 512, 768)]
    raw = pack_bytes(zip_data(plan))
    assert len(raw) == plan.size_bytes
    assert raw.index(b"aa") < raw.index(b"az") < raw.index("bé".encode())
    assert list(PackReader.from_bytes(raw).tensors) == ["a", "z", "é"]


def zip_data(plan: PackPlan) -> list[PackEntry]:
    return [PackEntry(i.name, i.dtype, i.shape, i.param_id, d) for i, d in zip(plan.tensors, plan.data, strict=True)]


def test_a_zero_element_tensor_in_last_place_ends_with_padding() -> None:
    raw = pack_bytes([("w", U8, (1,), None, b"x"), ("z", F32, (0, 4), None, b"")])
    assert len(raw) % 256 == 0
    reader = PackReader.from_bytes(raw)
    assert (reader.info("z").start, reader.info("z").end) == (256, 256)
    assert reader.array("z").shape == (0, 4)


def test_arrays_of_every_kind_are_taken_as_their_bytes() -> None:
    values = np.array([[1.5, -2.0], [0.25, 8.0]], np.float32)
    raw = pack_bytes(
        [
            ("f32", F32, (2, 2), None, values),
            ("bf16", BF16, (2, 2), None, float32_to_bf16(values)),
            ("rank 0", I64, (), None, np.array(5, np.int64)),
            ("bool", BOOL, (2,), None, np.array([True, False])),
            ("bytearray", U8, (2,), None, bytearray(b"xy")),
        ]
    )
    reader = PackReader.from_bytes(raw)
    np.testing.assert_array_equal(reader.array("f32"), values)
    np.testing.assert_array_equal(reader.array("bf16"), float32_to_bf16(values))
    assert reader.array("rank 0").item() == 5
    assert reader.array("bool").tolist() == [True, False]
    assert reader.read("bytearray") == b"xy"


def test_deferred_and_resident_payloads_make_the_same_file() -> None:
    payload = bytes(range(250)) * 4

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(payload), 7):
            yield payload[start : start + 7]

    sources = [
        payload,
        lambda: payload,
        lambda: [payload[:10], b"", payload[10:]],
        chunks,
        lambda: np.frombuffer(payload, "<f4"),
    ]
    assert len({pack_bytes([("w", F32, (250,), 1, source)]) for source in sources}) == 1


# Streaming


def test_large_payloads_are_streamed_one_piece_at_a_time(tmp_path: Path) -> None:
    made: list[str] = []

    def payload(name: str) -> Iterator[bytes]:
        for number in range(6):
            made.append(f"{name}{number}")
            yield bytes([number]) * MIB

    names = ["a", "b", "c"]
    entries = [(name, U8, (6 * MIB,), None, lambda name=name: payload(name)) for name in names]
    tracemalloc.start()
    path = write_pack(tmp_path / "large", entries)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert made == [f"{name}{number}" for name in names for number in range(6)]
    assert peak < 2.5 * MIB  # two pieces and small change, of 18 MiB
    tracemalloc.start()
    with PackReader.open(path) as reader:
        reader.verify()
        views = [reader.view(name) for name in names]
        assert [view[-1] for view in views] == [5, 5, 5]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 7 * MIB, "verify reads 8 MiB windows; a view copies nothing"


def test_a_resident_payload_is_not_copied_on_the_way_to_the_file(tmp_path: Path) -> None:
    payload = bytearray(6 * MIB)
    tracemalloc.start()
    write_pack(tmp_path / "m.bpk", [("w", F32, (MIB * 6 // 4,), None, payload)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MIB


def test_what_a_payload_function_gave_is_dropped_before_the_next_is_asked() -> None:
    alive = 0

    class Piece(bytearray):
        def __init__(self) -> None:
            nonlocal alive
            super().__init__(4)
            alive += 1

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def whole() -> Piece:
        assert alive == 0
        return Piece()

    def chunks() -> Iterator[Piece]:
        for _ in range(3):
            assert alive == 0
            yield Piece()

    pack_bytes([("a", U8, (4,), None, whole), ("b", U8, (4,), None, whole), ("c", U8, (12,), None, chunks)])


# Atomic publication


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failing_source_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = write_pack(tmp_path / "m.bpk", ONE)
    before = path.read_bytes()

    def source() -> Iterator[bytes]:
        yield bytes(100)
        raise error("the source broke")

    with pytest.raises(error, match="the source broke") as caught:
        write_pack(path, [("fine", U8, (1,), None, b"x"), ("broken", U8, (200,), None, source)])
    assert caught.value.__notes__ == ["while the payload of tensor 'broken' was produced"]
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.bpk"]


def test_a_failing_plan_touches_nothing(tmp_path: Path) -> None:
    for atomic in (True, False):
        with pytest.raises(PackError) as caught:
            write_pack(tmp_path / "m", [("w", U8, (2,), None, b"x")], atomic=atomic)
        assert str(caught.value) == (
            f"{tmp_path / 'm.bpk'}: tensor 'w': the payload has another length than dtype and shape say; "
            "found 1 bytes, wanted 2 bytes for U8 of shape [2]"
        )
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("data", "length"), [(lambda: b"abcd", 3), (lambda: b"ab", 3), (lambda: [b"ab", b"cd"], 3)])
def test_a_source_of_another_length_is_refused(tmp_path: Path, data: object, length: int) -> None:
    with pytest.raises(PackError, match=r"tensor 'w': the payload has another length .* wanted 3 bytes") as caught:
        write_pack(tmp_path / "m.bpk", [("w", U8, (length,), None, data)])
    assert (caught.value.kind, caught.value.name) == (PackFault.LENGTH, "w")
    assert caught.value.file == str(tmp_path / "m.bpk")
    assert os.listdir(tmp_path) == []


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_permission_bits_of_a_replaced_file_are_kept(tmp_path: Path, mode: int) -> None:
    path = write_pack(tmp_path / "m.bpk", ONE)
    path.chmod(mode)
    write_pack(path, [("new", U8, (1,), None, b"n")])
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert content(path) == {"new": b"n"}


@posix
def test_a_new_file_has_the_permissions_of_the_process(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    assert write_pack(tmp_path / "m.bpk", ONE).stat().st_mode == plain.stat().st_mode


@posix
def test_a_symbolic_link_at_the_destination_is_replaced_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"keep me")
    victim.chmod(0o600)
    (tmp_path / "m.bpk").symlink_to(victim)
    write_pack(tmp_path / "m.bpk", ONE)
    assert victim.read_bytes() == b"keep me"
    assert not (tmp_path / "m.bpk").is_symlink()
    plain = tmp_path / "plain"
    plain.touch()
    assert (tmp_path / "m.bpk").stat().st_mode == plain.stat().st_mode


def test_a_folder_at_the_destination_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "m.bpk").mkdir()
    with pytest.raises(PackFileError, match="cannot be put in place"):
        write_pack(tmp_path / "m.bpk", ONE)
    assert os.listdir(tmp_path) == ["m.bpk"]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PackNotFoundError) as caught:
        write_pack(tmp_path / "no" / "m.bpk", ONE)
    assert caught.value.kind is PackFault.IO
    assert isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize("path", ["..", "/", "."])
def test_a_path_without_a_file_name_is_refused(path: str) -> None:
    with pytest.raises(PackFileError):
        write_pack(path, ONE)


def test_a_path_with_a_zero_byte_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PackFileError, match=r"a\\x00b"):
        write_pack(str(tmp_path) + "/a\0b.bpk", ONE)


def test_a_name_near_the_limit_of_the_system_can_be_written(tmp_path: Path) -> None:
    name = "é" * 120 + ".bpk"
    write_pack(tmp_path / name, ONE)
    assert os.listdir(tmp_path) == [name]


def test_overwrite_false_writes_a_new_file(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "m", ONE, overwrite=False)
    assert content(path) == {"w": b"abc"}
    assert os.listdir(tmp_path) == ["m.bpk"]


@pytest.mark.parametrize("atomic", [True, False])
def test_overwrite_false_keeps_what_is_there(tmp_path: Path, atomic: bool) -> None:
    path = write_pack(tmp_path / "m.bpk", ONE)
    with pytest.raises(PackExistsError, match="exists already") as caught:
        write_pack(path, [("new", U8, (1,), None, b"n")], overwrite=False, atomic=atomic)
    assert caught.value.kind is PackFault.EXISTS
    assert isinstance(caught.value, FileExistsError)
    assert content(path) == {"w": b"abc"}
    assert os.listdir(tmp_path) == ["m.bpk"]


def test_overwrite_false_is_decided_at_publishing(tmp_path: Path) -> None:
    path = tmp_path / "m.bpk"

    def appears_meanwhile() -> bytes:
        path.write_bytes(b"somebody else")
        return b"abc"

    with pytest.raises(PackExistsError):
        write_pack(path, [("w", U8, (3,), None, appears_meanwhile)], overwrite=False)
    assert path.read_bytes() == b"somebody else"

    def vanishes_meanwhile() -> bytes:
        path.unlink()
        return b"abc"

    write_pack(path, [("w", U8, (3,), None, vanishes_meanwhile)], overwrite=False)
    assert content(path) == {"w": b"abc"}
    assert os.listdir(tmp_path) == ["m.bpk"]


@posix
def test_overwrite_false_does_not_replace_a_dangling_link(tmp_path: Path) -> None:
    (tmp_path / "m.bpk").symlink_to(tmp_path / "nowhere")
    with pytest.raises(PackExistsError):
        write_pack(tmp_path / "m.bpk", ONE, overwrite=False)
    assert (tmp_path / "m.bpk").is_symlink()


def test_overwrite_false_works_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    path = write_pack(tmp_path / "m.bpk", ONE, overwrite=False)
    with pytest.raises(PackExistsError):
        write_pack(path, ONE, overwrite=False)
    assert os.listdir(tmp_path) == ["m.bpk"]


def test_a_scratch_name_that_is_taken_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burn_wgpu.pack.writer._counter", iter(range(100)))
    taken = tmp_path / f"m.bpk.{os.getpid()}-0.tmp"
    taken.write_bytes(b"not ours")
    write_pack(tmp_path / "m.bpk", ONE)
    assert taken.read_bytes() == b"not ours"
    assert content(tmp_path / "m.bpk") == {"w": b"abc"}


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_pack(tmp_path / "m.bpk", ONE)

    def full(descriptor: int, data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(PackFileError, match="No space left") as caught:
        write_pack(path, ONE)
    monkeypatch.undo()
    assert caught.value.errno == 28
    assert content(path) == {"w": b"abc"}
    assert os.listdir(tmp_path) == ["m.bpk"]


def test_partial_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:5])))
    path = write_pack(tmp_path / "m.bpk", ONE)
    monkeypatch.undo()
    assert path.read_bytes() == pack_bytes(ONE)


def test_two_writers_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "m.bpk"
    barrier = threading.Barrier(4)
    errors: list[BaseException] = []

    def run(letter: bytes) -> None:
        def chunks() -> Iterator[bytes]:
            barrier.wait(timeout=10)  # all of them are in the middle of a file now
            for _ in range(64):
                yield letter * 1024

        try:
            write_pack(path, [("w", U8, (64 * 1024,), None, chunks)])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(letter,)) for letter in (b"a", b"b", b"c", b"d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    payload = content(path)["w"]
    assert payload == payload[:1] * (64 * 1024)
    assert os.listdir(tmp_path) == ["m.bpk"]


def test_of_several_writers_without_overwrite_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "m.bpk"
    barrier = threading.Barrier(6)
    results: list[str] = []

    def run(number: int) -> None:
        def payload() -> bytes:
            barrier.wait(timeout=10)
            return bytes([number])

        try:
            write_pack(path, [("w", U8, (1,), None, payload)], overwrite=False)
            results.append("won")
        except PackExistsError:
            results.append("lost")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["lost"] * 5 + ["won"]
    assert os.listdir(tmp_path) == ["m.bpk"]


def test_a_file_can_be_written_over_itself_from_its_own_views(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "m.bpk", [("w", U8, (5000,), None, bytes(5000)), ("v", U8, (3,), None, b"abc")])
    with PackReader.open(path) as reader:
        entries = [(i.name, i.dtype, i.shape, i.param_id, reader.view(i.name)) for i in reader.in_file_order()]
        write_pack(path, entries, metadata={"again": "yes"})
        assert reader.view("v") == b"abc"
    assert content(path) == {"v": b"abc", "w": bytes(5000)}


def test_in_place_keeps_the_file_itself(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "m.bpk", ONE)
    inode = path.stat().st_ino
    write_pack(path, [("new", U8, (1,), None, b"n")], atomic=False)
    assert path.stat().st_ino == inode
    assert path.read_bytes() == pack_bytes([("new", U8, (1,), None, b"n")])


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("model", "model.bpk"),
        ("model.v1", "model.v1"),
        (".hidden", ".hidden.bpk"),
        ("model.", "model."),
        ("a.b/model", "a.b/model.bpk"),
        ("..", ".."),
        ("/", "/"),
    ],
)
def test_the_extension_rule(path: str, wanted: str) -> None:
    assert with_extension(path).as_posix() == wanted


def test_the_extension_rule_can_be_switched_off(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "model", ONE, auto_extension=False)
    assert path.name == "model"
    with PackReader.open(tmp_path / "model") as reader, PackReader.open(path, exact=True) as again:
        assert reader.file == again.file == str(path)


# What it refuses


def block(extents: tuple[int, ...], tensor: ScaleDtype | None = None) -> QFloat:
    return QFloat(QuantScheme(QuantValue.Q8S, QuantStore.native(), tensor=tensor, block=BlockScale(extents)))


@pytest.mark.parametrize(
    ("entry", "kind", "text"),
    [
        (("w", U8, (2,), None, b"x"), PackFault.LENGTH, "another length"),
        (("w", U8, (2**64,), None, b""), PackFault.SOURCE, "out of range"),
        (("w", U8, (-1,), None, b""), PackFault.SOURCE, "out of range"),
        (("w", U8, (True,), None, b"x"), PackFault.SOURCE, "not an integer"),
        (("w", U8, (1.0,), None, b"x"), PackFault.SOURCE, "not an integer"),
        (("w", F32, (2**62,), None, b""), PackFault.LENGTH, "overflows"),
        (("w", U8, (11 << 30,), None, lambda: b""), PackFault.LIMIT, "exceeds its limit"),
        (("w", U8, (1,), 2**64, b"x"), PackFault.SOURCE, "param_id is out of range"),
        (("w", U8, (1,), -1, b"x"), PackFault.SOURCE, "param_id is out of range"),
        (("w", U8, (1,), "7", b"x"), PackFault.SOURCE, "param_id is not an integer"),
        (("w", "f64", (1,), None, b"x"), PackFault.LENGTH, "8 bytes for F64"),
        (("w", "no such", (1,), None, b"x"), PackFault.DTYPE, "is not a dtype"),
        (("w", U8, (1,), None, "x"), PackFault.SOURCE, "no contiguous buffer"),
        (("w", U8, (1,), None, None), PackFault.SOURCE, "no contiguous buffer"),
        (("w", F32, (1,), None, np.zeros(1, ">f4")), PackFault.SOURCE, "little-endian"),
        (("w", F32, (2,), None, np.zeros(4, "<f4")[::2]), PackFault.SOURCE, "contiguous"),
        (("w", U8, (1,), None, lambda: 5), PackFault.SOURCE, "neither a buffer nor"),
        (("w", U8, (1,), None, lambda: "x"), PackFault.SOURCE, "neither a buffer nor"),
        (("w", U8, (1,), None, lambda: [5]), PackFault.SOURCE, "no contiguous buffer"),
        (("w", BOOL, (3,), None, b"\0\1\2"), PackFault.BOOL, "element 2 "),
        (("w", BOOL_U32, (2,), None, lambda: [b"\1\0\0", b"\0\1\1", b"\0\0"]), PackFault.BOOL, "element 1 "),
        ((5, U8, (1,), None, b"x"), PackFault.SOURCE, "not text"),
        (("\ud800", U8, (1,), None, b"x"), PackFault.SOURCE, "surrogate"),
        (("w", QFloat(QuantScheme(store=QuantStore.packed_u32(1))), (4,), None, b""), PackFault.SCHEME, "packed dim"),
        (("w", block((2, 2)), (4,), None, b""), PackFault.SCHEME, "more extents"),
        (("w", block((0,)), (4,), None, b""), PackFault.SCHEME, "1 or more"),
        (("w", block((2,), ScaleDtype.F16), (4,), None, b""), PackFault.SCHEME, "must be F32"),
        (("w", block((2,)), (4,), None, bytes(11)), PackFault.LENGTH, "12 bytes"),
    ],
)  # fmt: skip
def test_an_entry_that_could_not_be_read_back_is_refused(entry: tuple[object, ...], kind: PackFault, text: str) -> None:
    with pytest.raises(PackError, match=text) as caught:
        pack_bytes([entry])
    assert caught.value.kind is kind


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(PackError, match="duplicate tensor name") as caught:
        plan_pack([*ONE, *ONE])
    assert (caught.value.kind, caught.value.name) == (PackFault.DUPLICATE, "w")


def test_the_writer_keeps_the_limits_of_the_reader() -> None:
    many = [(str(number), U8, (1,), None, b"x") for number in range(3)]
    for limits, text in [
        (PackLimits(max_tensors=2), "too many tensors"),
        (PackLimits(max_tensor_bytes=0), "tensor exceeds"),
        (PackLimits(max_file_bytes=700), "file exceeds"),
        (PackLimits(max_metadata_bytes=20), "metadata exceeds"),
    ]:
        with pytest.raises(PackError, match=text) as caught:
            plan_pack(many, limits=limits)
        assert caught.value.kind is PackFault.LIMIT
    too_many = ((str(number), U8, (0,), None, b"") for number in range(100_001))
    with pytest.raises(PackError, match="wanted 100000"):
        plan_pack(too_many)


def test_scalars_take_the_kind_of_their_type() -> None:
    raw = pack_bytes(
        [],
        scalars={
            "a": np.int8(-1), "b": np.uint64(2**64 - 1), "c": 0.1, "d": np.float32(0.1), "e": True,
            "f": np.bool_(False), "g": Scalar.of_uint(0), "h": Scalar.of_int(-(2**63)),
            "i": Scalar.from_bits(0x7FF8000000000001),
        },
    )  # fmt: skip
    scalars = PackReader.from_bytes(raw).scalars
    assert scalars == {
        "a": Scalar.of_int(-1), "b": Scalar.of_uint(2**64 - 1), "c": Scalar.of_float(0.1),
        "d": Scalar.of_float(0.10000000149011612), "e": Scalar.of_bool(True), "f": Scalar.of_bool(False),
        "g": Scalar.of_uint(0), "h": Scalar.of_int(-(2**63)), "i": Scalar.from_bits(0x7FF8000000000001),
    }  # fmt: skip
    assert scalars["g"] != Scalar.of_int(0)
    assert Scalar.of_float(0.0) != Scalar.of_float(-0.0)
    with pytest.raises(PackError, match=r"scalar 'step': .* wanted Scalar.of_int"):
        pack_bytes([], scalars={"step": 3})
    with pytest.raises(PackError, match="out of range"):
        Scalar.of_uint(-1)


def test_scalars_convert_as_burn_converts_them() -> None:
    assert Scalar.of_int(3).as_int(0, 255) == 3
    assert Scalar.of_uint(3).as_float() == 3.0
    assert Scalar.of_bool(True).as_bool() is True
    for convert in [
        lambda: Scalar.of_int(256).as_int(0, 255),
        lambda: Scalar.of_float(3.0).as_int(),
        lambda: Scalar.of_bool(True).as_int(),
        lambda: Scalar.of_bool(True).as_float(),
        lambda: Scalar.of_uint(1).as_bool(),
    ]:
        with pytest.raises(PackError, match="does not convert") as caught:
            convert()
        assert caught.value.kind is PackFault.SCALAR


def test_metadata_must_be_text() -> None:
    with pytest.raises(PackError, match="'epoch' is not text"):
        pack_bytes([], metadata={"epoch": 3})
