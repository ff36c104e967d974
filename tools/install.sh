#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs the results of `make build`, and the parts from which models of the machine are compiled, below $DESTDIR$PREFIX:
#
#   bin/gyre                     the command
#   include/, lib/libpami.so     for C programs
#   lib/gyre/libfabric/          the provider for programs of MPI
#   lib/gyre/verilator/          Verilator, with its C++ runtime
#   share/gyre/                  the RTL
#   share/                       completions of bash, zsh and fish; manual pages; licences (doc/gyre)
#
# PREFIX is an absolute path, /usr/local if it is not set. BUILD names another folder than target/release.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    printf 'install: %s\n' "$@" >&2
    exit 2
}

prefix=${PREFIX:-/usr/local}
build=${BUILD:-target/release}
[[ $prefix == /* ]] || fail "PREFIX=$prefix: expected an absolute path"
to=${DESTDIR:-}$prefix

verilator=${VERILATOR_ROOT:-.tools/verilator/verilator}
provider=$build/libgyre_fi.so
for file in "$build/gyre" "$build/libpami.so" "$provider" "$verilator/include/verilated.h"; do
    [ -e "$file" ] || fail "$file does not exist; \`make build\` makes it"
done

# copy FOLDER TO: makes TO a copy of the folder.
copy() {
    rm -rf "$2"
    mkdir -p "$2"
    cp -R "$1/." "$2"
}

install -D -m 755 "$build/gyre" "$to/bin/gyre"
install -D -m 755 "$build/libpami.so" "$to/lib/libpami.so"
install -D -m 755 "$provider" "$to/lib/gyre/libfabric/libgyre-fi.so"
install -D -m 644 -t "$to/include" programs/pami/include/*.h
copy rtl "$to/share/gyre/rtl"
install -D -m 644 -t "$to/share/doc/gyre" LICENSE-MIT LICENSE-APACHE
install -D -m 644 -t "$to/share/gyre/sim-harness/sim/sv" sim-harness/sim/sv/*.sv
copy "$verilator/bin" "$to/lib/gyre/verilator/bin"
copy "$verilator/include" "$to/lib/gyre/verilator/include"

# completions SHELL FILE: writes the completions.
completions() {
    mkdir -p "$(dirname "$2")"
    "$build/gyre" completions "$1" >"$2"
}

completions bash "$to/share/bash-completion/completions/gyre"
completions zsh "$to/share/zsh/site-functions/_gyre"
completions fish "$to/share/fish/vendor_completions.d/gyre.fish"
mkdir -p "$to/share/man/man1"
"$build/gyre" man "$to/share/man/man1"
echo "installed into $to"
