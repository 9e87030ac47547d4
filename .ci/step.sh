# shellcheck shell=bash
# step NAME COMMAND...: runs one external command under a heading; a failure names the step and ends the script.
#
# COMMAND must be a program, not a shell function: `set -e` is off inside a function whose status is tested.

step() {
    local name=$1 began=$SECONDS status=0
    shift
    printf '\n==== %s  [at %d s]\n' "$name" "$SECONDS"
    "$@" </dev/null || status=$?
    if [ "$status" != 0 ]; then
        printf '\n==== FAILED (status %d): %s, after %d s\n' "$status" "$name" "$((SECONDS - began))"
        exit "$status"
    fi
}
