#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Generates everything that comes from the register description rtl/csr/gyre.rdl:
#   rtl/csr/generated/        the register block of the node block
#   firmware/layout/src/registers.rs   all registers and fields in Rust
#   docs/registers/           the reference, to open in a browser
#
#   tools/csr.sh           writes them
#   tools/csr.sh --check   fails if the committed files are not what the description gives
set -euo pipefail
cd "$(dirname "$0")/.."

rdl=rtl/csr/gyre.rdl
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

peakrdl() {
    PYTHONPATH=.tools/python "${PYTHON:-python3}" -m peakrdl "$@" >"$new/log" 2>&1 || {
        cat "$new/log" >&2
        exit 1
    }
}

[ -d .tools/python ] || {
    echo "csr: PeakRDL is not set up; run 'make setup'" >&2
    exit 2
}

peakrdl regblock "$rdl" -o "$new/sv" --top node_regs --module-name gyre_csr --package-name gyre_csr_pkg \
    --cpuif passthrough --default-reset arst_n --err-if-bad-addr --err-if-bad-rw --type-style hier
sed -i '1i // SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1' "$new"/sv/*.sv
PYTHONPATH=.tools/python "${PYTHON:-python3}" tools/csr_rust.py "$rdl" gyre "$new/registers.rs"
rustfmt --edition 2024 "$new/registers.rs"
# From a copy outside git, since the pages would else link to wherever this was cloned from.
cp "$rdl" "$new/gyre.rdl"
peakrdl html "$new/gyre.rdl" --top gyre -o "$new/html" --title "Gyre registers"
# No time of generation, and nothing loaded over the network.
sed -i -E '/MathJax\.js/d; s/(BUILD_TS = |\?ts=)[0-9]+/\10/' "$new/html/index.html"
# Of the fonts only the icons are needed, and a browser opens the pages without the launchers.
find "$new/html/fonts" -type f ! -name 'fa-solid-900.woff2' -delete
find "$new/html/fonts" -type d -empty -delete
rm -rf "$new/html/.launcher_data" "$new/html"/launcher-*

if [ "${1:-}" = --check ]; then
    same=true
    diff -ur rtl/csr/generated "$new/sv" || same=false
    diff -u firmware/layout/src/registers.rs "$new/registers.rs" || same=false
    diff -urq docs/registers "$new/html" || same=false
    if ! $same; then
        echo "csr: the files above are not what $rdl gives; run 'make csr' and commit the result" >&2
        exit 1
    fi
    echo "csr: generated files match $rdl"
else
    rm -rf rtl/csr/generated docs/registers
    mkdir -p docs
    cp -r "$new/sv" rtl/csr/generated
    cp "$new/registers.rs" firmware/layout/src/registers.rs
    cp -r "$new/html" docs/registers
    echo "csr: generated from $rdl"
fi
