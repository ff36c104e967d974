#!/usr/bin/env bash
# GTKWave, a virtual screen for it and what they need of Debian's packages, into .tools/see/gtkwave, for
# tests/see/test_gtkwave.sh; nothing goes into the system. Where they cannot be had, .tools/see/gtkwave.missing says why.
#
# Packages are the newest that the system's sources have, which apt checks by signature and hash; only what the system
# lacks is unpacked, once.
set -uo pipefail
cd "$(dirname "$0")/.."

see=$PWD/.tools/see
tree=$see/gtkwave
packages="gtkwave xvfb x11-xkb-utils"

# missing REASON: says why they cannot be had.
missing() {
    echo "see: no gtkwave: $1" >&2
    mkdir -p "$see"
    echo "$1" >"$see/gtkwave.missing"
    exit 0
}

# apt COMMAND...: apt-get with lists and packages of its own below .tools/see/apt.
apt() {
    apt-get -qq -o "Dir::State::lists=$see/apt/lists" -o "Dir::Cache=$see/apt/cache" -o APT::Sandbox::User=root \
        -o Acquire::Retries=2 "$@"
}

gtkwave() {
    local key wanted package
    rm -f "$see/gtkwave.missing"
    for program in apt-get dpkg-deb; do
        command -v "$program" >/dev/null || missing "the system has no packages of Debian"
    done
    key="$packages $(dpkg --print-architecture) $(cksum <tools/see-gtkwave.sh)"
    if [ -f "$tree/.stamp" ] && [ "$(cat "$tree/.stamp")" = "$key" ]; then
        return
    fi
    echo "see: unpacking $packages into .tools/see/gtkwave"
    mkdir -p "$see/apt/lists/partial" "$see/apt/cache/archives/partial"
    if [ -z "$(find "$see/apt/lists" -name '*Packages*' -mmin -1440 -print -quit)" ]; then
        apt update >"$see/apt/log" 2>&1 || true
    fi
    # Names alone: there is nothing in them that a shell splits.
    # shellcheck disable=SC2086
    wanted=$(apt -s install --no-install-recommends $packages 2>"$see/apt/log" | awk '/^Inst/ { print $2 }') ||
        missing "apt-get finds no $packages: $(tail -n 1 "$see/apt/log")"
    rm -rf "$tree" "$see/apt/gtkwave"
    mkdir -p "$tree" "$see/apt/gtkwave"
    # shellcheck disable=SC2086
    (cd "$see/apt/gtkwave" && apt download $wanted >"$see/apt/log" 2>&1) ||
        missing "apt-get cannot download $packages: $(tail -n 1 "$see/apt/log")"
    for package in "$see/apt/gtkwave"/*.deb; do
        [ ! -f "$package" ] || dpkg-deb -x "$package" "$tree" || missing "$(basename "$package") cannot be unpacked"
    done
    rm -rf "$see/apt/gtkwave"
    schemas
    key_maps
    echo "$key" >"$tree/.stamp"
}

# The settings of GTKWave, for GSETTINGS_SCHEMA_DIR.
schemas() {
    local compiler
    compiler=$(PATH=$PATH:$(echo "$tree"/usr/lib/*/glib-2.0):$(echo /usr/lib/*/glib-2.0) command -v glib-compile-schemas) ||
        missing "the system has no glib-compile-schemas"
    if [ -d "$tree/usr/share/glib-2.0/schemas" ]; then
        "$compiler" "$tree/usr/share/glib-2.0/schemas" || missing "its settings cannot be compiled"
    fi
}

# The X server runs /usr/bin/xkbcomp, wherever it lies itself: a library sends it to the one beside it.
key_maps() {
    [ -f "$tree/usr/bin/xkbcomp" ] || return 0
    "${CC:-cc}" -shared -fPIC -O1 -o "$tree/xkbcomp.so" tools/see-xkbcomp.c || missing "no C compiler for tools/see-xkbcomp.c"
}

gtkwave
exit 0
