#!/usr/bin/env bash
# Lints the RTL with every Verilator warning on; each waiver with its reason is in
# rtl/lint/waivers.vlt.
#
#   tools/lint.sh                        the node in 1 to 5 dimensions and the flat fabric
#   tools/lint.sh MODULE [NAME=VALUE...] one module, with parameters
set -euo pipefail
cd "$(dirname "$0")/.."

verilator() {
    cargo run --quiet --locked --release -p gyre-verilate --bin verilator -- "$@"
}

lint() {
    local top=$1 file
    shift
    file=$(find rtl -name "$top.sv")
    if [ -z "$file" ]; then
        echo "lint: no module $top: no file $top.sv under rtl/" >&2
        exit 2
    fi
    echo "lint: $top $*"
    verilator --lint-only -Wall --assert --no-timing --quiet \
        rtl/lint/waivers.vlt -F rtl/gyre.f "$file" --top-module "$top" "${@/#/-G}"
}

if [ $# -gt 0 ]; then
    lint "$@"
else
    # Values that a concurrent assertion looks at are copied in each evaluation, whether it holds or not; the
    # machine evaluates once a cycle, after which its copies of what depends on inputs would be a cycle old.
    if grep -rn 'assert property' rtl; then
        echo "lint: concurrent assertion: expected an immediate one in always_ff, under the condition it is about" >&2
        exit 1
    fi
    # Of IEEE 1800-2023 alone: other tools refuse it.
    if grep -nE '(^|[^$.[:alnum:]_])[a-z_][a-z0-9_]*\([^()]*(\([^()]*\)[^()]*)*\)\[' -r rtl --include='*.sv' |
        grep -vE ':[0-9]+: *(\.|//)|[^a-z_](if|for) \('; then
        echo "lint: bits selected from a function's result: expected a variable of their own" >&2
        exit 1
    fi
    # A static one keeps its value from edge to edge; some tools make a register of it.
    if awk '
        { match($0, /^ */) }
        inside && NF && RLENGTH <= depth { inside = 0 }
        inside && /^ *(static +)?(logic|bit|byte|int|integer|shortint|longint|[a-z0-9_]+_[te])( +(un)?signed)?( *\[[^]]*\])* +[a-z0-9_]+( *\[[^]]*\])*( *[,;]| = )/ {
            print FILENAME ":" FNR ":" $0
            found = 1
        }
        /^ *always(_ff|_comb|_latch)?[ @]/ { inside = 1; depth = RLENGTH }
        FNR == 1 { inside = 0 }
        END { exit !found }' rtl/*/*.sv; then
        echo "lint: static local of an always block: expected an automatic one" >&2
        exit 1
    fi
    for ndim in 1 2 3 4 5; do
        lint gyre_node NDim=$ndim
    done
    lint gyre_fabric
fi
