#!/usr/bin/env bash
# Proves that CI's own checks can fail: a good shader passes each of the three compilers, a bad one stops each of them,
# and a failing step stops a script that uses step.sh. Wants .venv, node and .ci/node_modules.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python="$here/../.venv/bin/python"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# variants FOLDER TEXT: a dumped folder that holds the one text for both implementations.
variants() {
    local implementation
    for implementation in naga tint; do
        mkdir -p "$1/$implementation"
        printf '%s\n' "$2" >"$1/$implementation/000000.wgsl"
        echo '[{"file": "000000.wgsl", "names": ["selftest"], "features": []}]' >"$1/$implementation/manifest.json"
    done
}

expect() { # expect pass|fail COMMAND...
    local wanted=$1 got=pass
    shift
    "$@" >"$work/log" 2>&1 || got=fail
    if [ "$got" != "$wanted" ]; then
        echo "selftest: this should $wanted: $*"
        cat "$work/log"
        exit 1
    fi
}

head='@group(0) @binding(0) var<storage, read_write> x: array<f32>;'
main='@compute @workgroup_size(64) fn main(@builtin(local_invocation_id) id: vec3<u32>)'
variants "$work/good" "$head $main { x[id.x] = x[id.x] + 1.0; }"
variants "$work/syntax" "$head $main { x[id.x] = ; }"
variants "$work/type" "$head $main { x[id.x] = 1u; }"
# Tint alone refuses a barrier that not every invocation reaches.
variants "$work/barrier" "$head $main { if (id.x > 3u) { return; } workgroupBarrier(); x[id.x] = 1.0; }"
mkdir -p "$work/empty/naga" "$work/empty/tint"
echo '[]' | tee "$work/empty/naga/manifest.json" >"$work/empty/tint/manifest.json"

for case in good:pass syntax:fail type:fail empty:fail; do
    folder="$work/${case%:*}"
    expect "${case#*:}" "$python" "$here/compile_shaders.py" compile "$folder"
    expect "${case#*:}" node "$here/tint_check.mjs" "$folder"
    # Without the program this check is left out with status 0, which a later step says aloud.
    if [ "$("$here/naga_translate.sh" "$work/good" | grep -c 'NOT CHECKED')" = 0 ]; then
        expect "${case#*:}" "$here/naga_translate.sh" "$folder"
    fi
done
expect fail node "$here/tint_check.mjs" "$work/barrier"
expect fail env NAGA=/nonexistent "$here/naga_translate.sh" "$work/good"

cat >"$work/steps" <<STEPS
set -euo pipefail
source "$here/step.sh"
step "first" true
step "second" bash -c 'exit 3'
step "third" touch "$work/reached"
STEPS
expect fail bash "$work/steps"
[ ! -e "$work/reached" ] || { echo "selftest: a step ran after one that failed"; exit 1; }
grep -q 'FAILED.*second' "$work/log" || { echo "selftest: the failed step was not named"; exit 1; }
sed -i '/second/d' "$work/steps"
expect pass bash "$work/steps"
[ -e "$work/reached" ] || { echo "selftest: the last step did not run"; exit 1; }
echo "selftest: a bad shader and a failing step stop the run"
