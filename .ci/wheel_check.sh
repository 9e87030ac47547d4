#!/usr/bin/env bash
# Builds the source distribution, the wheel from that, installs the wheel alone in an empty environment, and uses it from
# a folder outside the checkout: what a user gets from `pip install`.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/.venv/bin/python" -m build --outdir "$work/dist" "$root" >"$work/build.log" 2>&1 ||
    { tail -n 40 "$work/build.log"; echo "error: the wheel could not be built"; exit 1; }
ls -l "$work/dist"

"$root/.venv/bin/python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$work"/dist/*.whl
cp "$root/.ci/wheel_use.py" "$work/wheel_use.py"
cd "$work"
unset PYTHONPATH
"$work/venv/bin/python" "$work/wheel_use.py" "$root"
"$work/venv/bin/burn-wgpu" --help >/dev/null
"$work/venv/bin/python" -m burn_wgpu info
