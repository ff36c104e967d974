#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Elaborates the RTL in the synthesis front end (yosys with slang) and refuses constructs that are not hardware.

    tools/syn.py                         the node in 3 dimensions
    tools/syn.py --all                   the node in 1, 3 and 5 dimensions and a small flat fabric
    tools/syn.py MODULE [NAME=VALUE...]  one module, with parameters

For each top: read_slang, hierarchy -check, proc, check -assert; no latch and no black box may be
left. Prints the number of cells, flip-flop bits and memory bits. Exit status 1 if one fails.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / ".tools/python"

# The top that `make syn` checks, and those of `make syn-all`.
TOP = ("gyre_node", ["NDim=3"])
TOPS = [("gyre_node", ["NDim=1"]), TOP, ("gyre_node", ["NDim=5"]), ("gyre_fabric", [])]

# Runs in a process of its own, since a yosys error ends the process.
SCRIPT = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for line in sys.stdin:
    design.run_pass(line.strip())
"""

LATCHES = "t:$dlatch t:$adlatch t:$dlatchsr t:$sr"


def fail(message):
    """Reports a usage error and ends."""
    print(f"syn: {message}", file=sys.stderr)
    sys.exit(2)


def elaborate(top, parameters):
    """Elaborates one top; returns yosys's statistics, or None after printing its error."""
    files = sorted((ROOT / "rtl").rglob(f"{top}.sv"))
    if not files:
        fail(f"no module {top}: no file {top}.sv under rtl/")
    with tempfile.TemporaryDirectory() as scratch:
        statistics = Path(scratch) / "stat.json"
        overrides = " ".join(f"-G {parameter}" for parameter in parameters)
        commands = [
            f"read_slang -F rtl/gyre.f --top {top} {overrides} {files[0].relative_to(ROOT)}",
            f"hierarchy -check -top {top}",
            "proc",
            "check -assert",
            f"select -assert-none {LATCHES}",
            "select -assert-none =A:blackbox",
            f"tee -q -o {statistics} stat -json",
        ]
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            input="\n".join(commands),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(PACKAGES)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if run.returncode != 0 or not statistics.exists():
            print("\n".join(run.stdout.splitlines()[-40:]))
            return None
        return json.loads(statistics.read_text())["design"]


def main():
    """Elaborates the tops of the command line."""
    if not (PACKAGES / "pyosys").is_dir():
        fail("pyosys is not set up; run `make setup`")
    arguments = sys.argv[1:]
    if not arguments:
        tops = [TOP]
    elif arguments == ["--all"]:
        tops = TOPS
    else:
        tops = [(arguments[0], arguments[1:])]
    failed = False
    for top, parameters in tops:
        name = " ".join([top, *parameters])
        design = elaborate(top, parameters)
        if design is None:
            print(f"syn: {name}: FAILED")
            failed = True
            continue
        print(f"syn: {name}: {design['num_cells']} cells, {design['num_memory_bits']} memory bits")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
