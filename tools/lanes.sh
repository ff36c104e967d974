#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs targets of make in lanes side by side, each lane one target after the other, all to the end whatever fails.
#
#   tools/lanes.sh "TARGET..." "TARGET..." ...   one argument a lane
#
# Closes with the seconds of each target and whether it passed. Exit status 1 if one failed.
set -uo pipefail
cd "$(dirname "$0")/.."

report=$(mktemp)
trap 'rm -f "$report"' EXIT

lane() {
    local target start result
    for target in $1; do
        start=$SECONDS
        # A lane is no job of the make that has started it. Lines of lanes do not mix.
        if env -u MAKEFLAGS -u MFLAGS make --no-print-directory "$target" 2>&1 | sed -u ''; then result=passed; else result=FAILED; fi
        printf 'make %-14s %5d s  %s\n' "$target" "$((SECONDS - start))" "$result" >>"$report"
    done
}

for targets in "$@"; do
    lane "$targets" &
done
wait
cat "$report"
[ "$(grep -c 'passed$' "$report")" -eq "$(wc -w <<<"$*")" ]
