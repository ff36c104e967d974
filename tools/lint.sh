#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Lints the RTL with every Verilator warning on; each waiver with its reason is in
# rtl/lint/waivers.vlt.
#
#   tools/lint.sh                        the node in 1 to 5 dimensions, the flat fabric, and tools/lint_rtl.py
#   tools/lint.sh MODULE [NAME=VALUE...] one module, with parameters
set -euo pipefail
cd "$(dirname "$0")/.."

# The packages of the tests, so that no third-party crate is compiled for this program alone.
cargo build --quiet --locked --release --workspace --bin verilator
verilator=${CARGO_TARGET_DIR:-target}/release/verilator

lint() {
    local top=$1 file
    shift
    file=$(find rtl -name "$top.sv")
    if [ -z "$file" ]; then
        echo "lint: no module $top: no file $top.sv under rtl/" >&2
        exit 2
    fi
    echo "lint: $top $*"
    "$verilator" --lint-only -Wall --assert --no-timing --quiet \
        rtl/lint/waivers.vlt -F rtl/gyre.f "$file" --top-module "$top" "${@/#/-G}"
}

if [ $# -gt 0 ]; then
    lint "$@"
else
    PYTHONPATH=.tools/python "${PYTHON:-python3}" tools/lint_rtl.py
    for ndim in 1 2 3 4 5; do
        lint gyre_node NDim=$ndim
    done
    lint gyre_fabric
fi
