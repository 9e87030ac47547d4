#!/usr/bin/env bash
# Has naga write what Metal, DX12 and Vulkan would be given for each text of FOLDER/naga: Metal 2.4, HLSL for shader
# model 6.0, SPIR-V. Nobody's CI has those devices, so this stands in for them.
#
#   naga_translate.sh FOLDER
#
# The program is $NAGA, or `naga` from PATH, or ../shared/tools/naga beside the checkout. Without one the check is left
# out, loudly, and the exit status is 0: the same texts were compiled on an adapter before.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Indices are kept inside their arrays, as wgpu has it done on each of the three.
flags=(--metal-version 2.4 --shader-model 60 --index-bounds-check-policy Restrict)

if [ "${1:-}" = --batch ]; then # one of the parallel workers: --batch OUTPUT FILE...
    output=$(mktemp -d "$2/worker.XXXXXX")
    failed=0
    for file in "${@:3}"; do
        rm -f "$output"/out.*
        if ! "$NAGA" "$file" "$output/out.metal" "$output/out.hlsl" "$output/out.spv" "${flags[@]}" >"$output/log" 2>&1 ||
            ! [ -s "$output/out.metal" ] || ! [ -s "$output/out.hlsl" ] || ! [ -s "$output/out.spv" ]; then
            { printf '%s\n' "$(basename "$file")"; head -n 30 "$output/log"; } >"$2/failed.$(basename "$file")"
            failed=1
        fi
    done
    exit "$failed"
fi

folder=$1
if [ -z "${NAGA:-}" ]; then
    NAGA=$(command -v naga || true)
    if [ -z "$NAGA" ] && [ -x "$here/../../shared/tools/naga" ]; then NAGA="$here/../../shared/tools/naga"; fi
fi
if [ -z "$NAGA" ]; then
    echo "**********************************************************************************************************"
    echo "* NOT CHECKED: the translation to Metal, HLSL and SPIR-V needs the program naga (cargo install naga-cli). *"
    echo "**********************************************************************************************************"
    exit 0
fi
export NAGA
"$NAGA" --version >/dev/null # a program that cannot start fails here; it also unpacks itself once, before the workers

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
started=$SECONDS
total=$(find "$folder/naga" -name '*.wgsl' | wc -l)
if [ "$total" = 0 ]; then
    echo "error: there is no text in $folder/naga"
    exit 1
fi
status=0
find "$folder/naga" -name '*.wgsl' -print0 | sort -z |
    xargs -0 -P 2 -n 100 bash "$here/naga_translate.sh" --batch "$work" || status=$?

failures=0
for report in "$work"/failed.*; do
    [ -e "$report" ] || continue
    failures=$((failures + 1))
    [ "$failures" -le 10 ] || continue
    file=$(head -n 1 "$report")
    name=$(python3 - "$folder/naga/manifest.json" "$file" <<'PY'
import json, sys
print(next((e["names"][0] for e in json.load(open(sys.argv[1])) if e["file"] == sys.argv[2]), sys.argv[2]))
PY
)
    echo "error: $name: naga cannot translate this text:"
    tail -n +2 "$report"
    echo
done
echo "naga: $((total - failures)) texts translated to Metal 2.4, HLSL 6.0 and SPIR-V, $failures refused, $((SECONDS - started)) s"
[ "$failures" = 0 ] && [ "$status" = 0 ]
