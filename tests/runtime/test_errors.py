"""Failures: each is an exception of ours that names operation and remedy, and other tensors are intact."""

from __future__ import annotations

import pickle
import signal
import threading
import time

import numpy as np
import pytest

from burn_wgpu.runtime import provider
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan
from burn_wgpu.shader.prelude import Prelude, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std import errors
from burn_wgpu.std.errors import (
    BurnError,
    DeviceLostError,
    KernelError,
    NotImplementedByBackend,
    OutOfMemoryError,
    UnsupportedError,
)

pytestmark = pytest.mark.gpu


def bad_plan(text: str, grid: tuple[int, int, int] = (1, 1, 1), **key: object) -> Plan:
    """One kernel of `text` with an output `out`, around which a test breaks a rule."""
    prelude = Prelude()
    prelude.storage("out", dt.F32)
    prelude.params(groups_x="u32")
    prelude.text(text)
    fields: dict[str, object] = {"uses": tuple(prelude.uses), "bindings": 1, **key}
    kernel = KernelKey("lib/keep", prelude.build() + "\nalias V = f32;", **fields)  # type: ignore[arg-type]
    return Plan("broken", 0, (Out.of((4,), dt.F32),), (Launch(kernel, (0,), words(1), grid),))


MAIN = "@compute @workgroup_size(1)\nfn main() { store_out(0u, keep(1.0)); }"


def test_a_refused_shader_names_operation_adapter_and_file(bench) -> None:
    adapter = bench.client.capability.adapter
    with pytest.raises(KernelError) as error:
        bench.client.task(bad_plan("@compute @workgroup_size(1)\nfn main() { store_out(0u, nothing); }"))
    assert str(error.value).startswith(f"broken: {adapter} refuses the kernel 'lib/keep': ")
    assert "nothing" in str(error.value)
    assert bench.read(bench.make([3]))[0] == 3


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ({"workgroup_bytes": 1 << 20}, "1048576 bytes of workgroup memory, but {} allows {}"),
        ({"invocations": 100_000}, "100000 invocations a workgroup, but {} allows {}"),
        ({"bindings": 5000}, "5000 storage bindings, but {} allows {}"),
    ],
)
def test_a_kernel_above_a_limit_is_refused_before_wgpu_sees_it(bench, key: dict[str, int], what: str) -> None:
    can: Capability = bench.client.capability
    limit = {
        "workgroup_bytes": can.max_workgroup_bytes,
        "invocations": can.max_invocations,
        "bindings": can.max_storage_buffers,
    }[next(iter(key))]
    with pytest.raises(UnsupportedError) as error:
        bench.client.task(bad_plan(MAIN, **key))
    assert str(error.value) == "broken: the kernel 'lib/keep' needs " + what.format(can.adapter, limit)


def test_more_workgroups_than_an_axis_holds_are_refused(bench) -> None:
    can = bench.client.capability
    with pytest.raises(UnsupportedError) as error:
        bench.client.task(bad_plan(MAIN, (70_000, 1, 1)))
    assert str(error.value) == (
        f"broken: the kernel 'lib/keep' needs 70000 workgroups along an axis, but {can.adapter} allows {can.max_groups}"
    )


def test_a_missing_feature_is_named(bench) -> None:
    with pytest.raises(UnsupportedError) as error:
        bench.client.task(bad_plan(MAIN, features=frozenset({"shader-telepathy"})))
    assert str(error.value) == (
        f"broken: the kernel 'lib/keep' needs the feature shader-telepathy, "
        f"which {bench.client.capability.adapter} does not offer"
    )


def test_invalid_commands_poison_their_batch_and_nothing_else(bench) -> None:
    b, stream = bench.b, bench.client.stream
    before = bench.make([1, 2])
    good = b.float_add(before, before)
    stream.flush()
    uploaded = bench.make([5, 6])
    lost = b.float_exp(good)
    stream.dispatch(stream.pass_handle, 100_000, 1, 1) if stream.native else stream.pass_handle.dispatch_workgroups(
        100_000, 1, 1
    )
    with pytest.raises(KernelError, match="^float_exp: .* refused the recorded commands: "):
        stream.flush()
    for _ in range(2):
        with pytest.raises(KernelError, match="^read: the tensor was never computed, because its batch failed: "):
            bench.read(lost)
    with pytest.raises(KernelError, match="never computed"):
        b.float_add(lost, good)
    np.testing.assert_array_equal(bench.read(good), np.float32([2, 4]))
    np.testing.assert_array_equal(bench.read(uploaded), np.float32([5, 6]))
    np.testing.assert_array_equal(bench.read(b.float_add(uploaded, good)), np.float32([7, 10]))


def test_an_error_that_wgpu_only_logs_is_raised_at_the_next_flush(bench) -> None:
    if bench.client.stream.native is None:
        pytest.skip("the portable path makes no raw calls")
    native = bench.client.stream.native
    x = bench.make([1])
    y = bench.b.float_exp(x)
    staging = bench.client.stream.staging.get(64)
    native.lib.wgpuBufferUnmap(x.lease.block.gpu._internal)  # of a buffer that is not mapped
    del staging
    with pytest.raises(KernelError) as error:
        bench.client.stream.flush()
    assert str(error.value).startswith("float_exp: ") and "map" in str(error.value).lower()
    with pytest.raises(KernelError, match="never computed"):
        bench.read(y)
    assert bench.read(x)[0] == 1


@pytest.mark.parametrize("where", ["pass", "finish", "submit", "record"])
def test_an_interruption_anywhere_leaves_the_stream_usable(bench, monkeypatch, where: str) -> None:
    b, stream = bench.b, bench.client.stream
    kept = bench.make([1, 2])
    y = b.float_exp(kept)
    stream.open_pass("test") if stream.pass_ is None else None

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if where == "pass":
            patch.setattr(stream.pass_, "end", interrupt)
        elif where == "finish":
            patch.setattr(stream.encoder, "finish", interrupt)
        elif where == "submit":
            patch.setattr(stream.queue, "submit", interrupt)
        elif stream.native is not None:
            patch.setattr(stream, "dispatch", interrupt)
        else:
            patch.setattr(stream.pass_, "dispatch_workgroups", interrupt)
        with pytest.raises(KeyboardInterrupt):
            if where == "record":
                b.float_add(y, y)
            else:
                stream.flush()
    if where == "record":
        np.testing.assert_allclose(bench.read(y), np.exp(np.float32([1, 2])), rtol=1e-6)
    else:
        with pytest.raises(KernelError, match="never computed, because its batch failed: KeyboardInterrupt"):
            bench.read(y)
    np.testing.assert_array_equal(bench.read(b.float_add(kept, kept)), np.float32([2, 4]))


def test_a_pipeline_half_set_by_an_interruption_is_set_again(bench, monkeypatch) -> None:
    b, stream = bench.b, bench.client.stream
    if stream.native is None:
        pytest.skip("only raw recording remembers the pipeline by itself")
    x = bench.make([4, 9])
    b.float_exp(x), b.float_sqrt(x)  # both compiled
    real = stream.set_pipeline
    first = b.float_exp(x)

    def half(handle: object, pipeline: object) -> None:
        real(handle, pipeline)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stream, "set_pipeline", half)
        with pytest.raises(KeyboardInterrupt):
            b.float_sqrt(x)
    second = b.float_exp(x)
    np.testing.assert_array_equal(bench.read(first), bench.read(second))


def test_ctrl_c_ends_a_wait_and_the_device_goes_on(bench, monkeypatch, request) -> None:
    stream = bench.client.stream
    if stream.native is None:
        pytest.skip("wgpu-py's own wait")
    x = bench.make(np.arange(8))
    y = bench.b.float_add(x, x)
    native = stream.native
    # A process that a script put into the background ignores Ctrl-C until it says otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    with monkeypatch.context() as patch:  # a device that never answers
        patch.setattr(provider, "raw", lambda: native._replace(lib=_Deaf(native.lib)))
        timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
        timer.start()
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            bench.read(y)
        assert 0.2 < time.perf_counter() - start < 5
        timer.join()
    assert len(stream.staging.pending) == 1  # its callback must outlive the mapping
    for _ in range(3):
        np.testing.assert_array_equal(bench.read(y), np.arange(8) * 2)
    assert stream.staging.pending == []


class _Deaf:
    """The native library, whose polls do nothing."""

    def __init__(self, lib: object) -> None:
        self._lib = lib

    def __getattr__(self, name: str) -> object:
        return (lambda *_: 1) if name == "wgpuDevicePoll" else getattr(self._lib, name)


def test_ctrl_c_inside_the_callback_is_raised_by_the_wait(bench) -> None:
    staging = bench.client.stream.staging.get(64)
    staging.done = False
    staging._interrupted(KeyboardInterrupt, KeyboardInterrupt(), None)
    if bench.client.stream.native is None:
        pytest.skip("wgpu-py's own wait")
    with pytest.raises(KeyboardInterrupt):
        bench.client.stream.staging.wait(staging, lambda: None)


def test_a_lost_device_raises_everywhere_and_a_new_handle_works(script) -> None:
    run = script("""
        x = make([1, 2]); y = b.float_add(x, x); assert read(y)[1] == 4
        z = b.float_exp(x)
        d.client.device.destroy()  # what a crashed driver does
        import logging; logging.disable(logging.CRITICAL)
        for act in (lambda: read(z), lambda: read(y), lambda: make([1]), lambda: read(b.float_add(x, x)),
                    lambda: d.client.stream.wait(), lambda: b.float_zeros((70000,), d, y.dtype),
                    lambda: b.float_sinh(x) and d.client.stream.flush()):
            try:
                act()
            except DeviceLostError as error:
                text = str(error)
                assert "was lost" in text and "new device handle" in text or "never computed" in text, text
            else:
                raise SystemExit("not raised")
        d = WgpuDevice()
        assert read(b.float_add(make([1]), make([2])))[0] == 3
        print("alive")
    """)
    assert (run.returncode, run.stdout) == (0, "alive\n"), run.stderr


def test_a_device_lost_during_a_wait_ends_it(bench, monkeypatch) -> None:
    stream = bench.client.stream
    if stream.native is None:
        pytest.skip("wgpu-py's own wait")
    native = stream.native
    y = bench.b.float_exp(bench.make([1]))
    with monkeypatch.context() as patch:
        patch.setattr(provider, "raw", lambda: native._replace(lib=_Deaf(native.lib)))
        timer = threading.Timer(0.1, provider.unraised.append, ["The WGPU device was lost (unknown):\nGPU hang"])
        timer.start()
        with pytest.raises(DeviceLostError) as error:
            bench.read(y)
        timer.join()
    assert str(error.value) == (
        f"wait: {bench.client.capability.adapter} was lost (The WGPU device was lost (unknown):; GPU hang); "
        "its tensors are gone, and work can go on with a new device handle"
    )


def test_out_of_memory_is_an_exception_and_other_tensors_live(script) -> None:
    run = script("""
        x = make([1, 2])
        device = d.client.device
        real = device.create_buffer
        def full(**fields):
            if fields["size"] > 1 << 20:
                import wgpu
                raise wgpu.GPUValidationError("Validation Error\\n\\nCaused by:\\n  Not enough memory left.")
            return real(**fields)
        device.create_buffer = full
        for act in (lambda: b.float_zeros((1 << 19,), d, x.dtype), lambda: make(np.zeros(1 << 19))):
            try:
                act()
            except OutOfMemoryError as error:
                assert str(error).startswith("allocate: 2097152 bytes do not fit into the device of "), error
                assert "free tensors, or make batches smaller" in str(error)
            else:
                raise SystemExit("not raised")
        print(read(b.float_add(x, x)).tolist())
    """)
    assert (run.returncode, run.stdout) == (0, "[2.0, 4.0]\n"), run.stderr


def test_a_forked_child_is_told_instead_of_hanging(script) -> None:
    run = script("""
        import os, sys, warnings
        warnings.simplefilter("ignore")
        x = make([1, 2]); y = b.float_add(x, x)
        child = os.fork()
        if child == 0:
            seen = []
            for act in (lambda: b.float_exp(x), lambda: read(y), lambda: make([1]), lambda: WgpuDevice().client,
                        lambda: d.client.stream.wait()):
                try:
                    act()
                except DeviceError as error:
                    seen.append(str(error))
            wanted = ("device: this process was forked after the GPU was opened, where every wait would hang; "
                      "start workers with multiprocessing's 'spawn'")
            os._exit(0 if seen == [wanted] * 5 else 3)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), read(y).tolist())
    """)
    assert (run.returncode, run.stdout) == (0, "0 [2.0, 4.0]\n"), run.stderr


@pytest.mark.parametrize("portable", ["0", "1"])
def test_a_forked_child_exits_with_its_own_status(script, portable: str) -> None:
    """Neither wgpu's destructors nor the driver's exit handlers may wait for threads that the child lacks."""
    run = script(
        """
        import atexit, os, sys, warnings
        warnings.simplefilter("ignore")
        x = make([1, 2]); y = b.float_add(x, x); z = read(b.float_exp(y)); w = b.float_exp(x)
        child = os.fork()
        if child == 0:
            atexit.register(print, "bye", end=" ")
            del y
            sys.exit(7)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), read(y).tolist(), "%.3f" % read(w)[0])
        """,
        BURN_WGPU_PORTABLE=portable,
    )
    assert (run.returncode, run.stdout) == (0, "bye 7 [2.0, 4.0] 2.718\n"), run.stderr


def test_the_environment_is_as_before_after_the_adapters_were_listed(script) -> None:
    run = script("""
        import os
        os.environ.pop("XDG_RUNTIME_DIR", None)
        before = dict(os.environ)
        read(make([1]))
        print(dict(os.environ) == before)
    """)
    assert (run.returncode, run.stdout) == (0, "True\n"), run.stderr


@pytest.mark.parametrize("portable", ["0", "1"])
def test_the_interpreter_ends_cleanly_with_work_pending(script, portable: str) -> None:
    run = script(
        """
        x = make([1, 2])
        ys = [b.float_exp(x) for _ in range(300)]
        cycle = [ys[0]]; cycle.append(cycle)
        print(read(ys[0]).shape)
        z = b.float_add(x, x)
        """,
        BURN_WGPU_PORTABLE=portable,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "(2,)\n", "")


def test_every_exception_can_be_pickled() -> None:
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, BurnError):
            one = kind("add", "wgpu") if kind is NotImplementedByBackend else kind(f"{name}: a message")
            copy = pickle.loads(pickle.dumps(one))
            assert type(copy) is kind and str(copy) == str(one)


def test_messages_of_wgpu_become_our_kinds() -> None:
    def kind(text: str) -> type:
        return type(provider.told(text, "matmul", "card"))

    assert kind("Validation Error\n\nCaused by:\n  In finish\n    Parent device is lost") is DeviceLostError
    assert kind("Not enough memory left.") is OutOfMemoryError
    assert str(provider.told("Validation Error\n\nCaused by:\n  In x\n    bad", "matmul", "card")) == (
        "matmul: card refused the recorded commands: In x; bad"
    )
    own = KernelError("own")
    assert provider.explain(own, "matmul", "card") is own


def test_ctrl_c_from_outside_ends_a_real_wait(script) -> None:
    run = script("""
        import os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a script started the tests behind it
        x = make(np.full((1 << 18,), 0.5))
        def work():
            y = x
            for _ in range(60):
                y = b.float_sinh(y)
            return y
        read(work())  # compiles
        start = time.perf_counter(); read(work()); whole = time.perf_counter() - start
        y = work()
        threading.Timer(min(whole / 3, 0.2), os.kill, [os.getpid(), signal.SIGINT]).start()
        try:
            read(y)
            while time.perf_counter() - start < 30:  # it may have been faster than the signal
                read(work())
        except KeyboardInterrupt:
            print("interrupted")
        assert np.isfinite(read(b.float_add(x, x))).all()
        try:
            read(y)  # computed, or cut off with its batch: never a wrong value
        except KernelError as error:
            assert "never computed" in str(error)
        print("alive")
    """)
    assert (run.returncode, run.stdout) == (0, "interrupted\nalive\n"), run.stderr


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends a signal")
def test_ctrl_c_arrives_during_a_long_wait(bench) -> None:
    """Three seconds of work (as far as the adapter goes) are under way in a submission before that of the read."""
    if bench.client.stream.native is None:
        pytest.skip("wgpu-py's own wait")
    big = bench.make(np.ones((512, 512)))
    bench.read(bench.b.float_matmul(big, big))
    start = time.perf_counter()
    bench.read(bench.b.float_matmul(big, big))
    rounds = min(int(3 / (time.perf_counter() - start)) + 1, 240)
    result = big
    for _ in range(rounds):
        result = bench.b.float_matmul(result, big)
    bench.client.stream.flush()

    def interrupt(*_: object) -> None:
        raised.append(time.perf_counter())
        raise KeyboardInterrupt

    raised: list[float] = []
    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        begun = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            bench.read(result)
            while not raised:  # a fast device: the signal comes later
                time.sleep(0.01)
        except KeyboardInterrupt:
            pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert raised[0] - begun < 0.1 + 1.0  # a few milliseconds, with room for a busy machine
    assert bench.read(result).shape == (512, 512)  # nothing is lost
