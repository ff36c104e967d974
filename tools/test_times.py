#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells where the time of the checks goes: seconds by target of make, by crate that is compiled and by test binary.

    tools/test_times.py                  compiles and runs the workspace's tests
    tools/test_times.py TARGET...        runs these targets of make besides (`csr-check`, `clippy`, ...), each timed
    tools/test_times.py --no-run ...     compiles only

Compiling and running are measured apart. Cargo's own report (`--timings`) gives the seconds of each crate, which overlap; what
is compiled already counts nothing. Each binary runs alone, as `cargo test` runs it. Processor seconds stand beside the seconds
that passed: their ratio says how many cores were busy. Exit status 1 if a target or a binary fails.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
PROFILE = ["--release", "--locked"]
# Rows of the longest: crates, tests.
MOST = 25
UNITS = re.compile(r"^const UNIT_DATA = (\[.*?\]);$", re.M | re.S)
TEST = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. \w+ <([0-9.]+)s>$", re.M)
RESULT = re.compile(r"^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored", re.M)


def timed(command, **options):
    """Runs a command. Gives its result, the seconds that passed, and those of processors."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run = subprocess.run(command, check=False, text=True, **options)
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return run, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(title, heads, rows):
    """Prints a table: the first column to the left, numbers to the right."""
    rows = [[f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *rows)]
    print(f"\n{title}")
    for row in [heads, *rows]:
        print("  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))))


def compile_tests():
    """Compiles all tests. Gives whether that succeeded, the seconds, and each binary with its package's folder."""
    command = [CARGO, "test", *PROFILE, "--workspace", "--no-run", "--timings", "--message-format=json-render-diagnostics"]
    run, seconds, processor = timed(command, cwd=ROOT, stdout=subprocess.PIPE)
    binaries = {}
    for line in run.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message.get("executable"):
            folder = Path(message["manifest_path"]).parent
            kind = message["target"]["kind"][0]
            name = folder.relative_to(ROOT).as_posix() + (" (unit)" if kind in ("lib", "cdylib") else f" {message['target']['name']}")
            binaries[name.removeprefix(". ")] = (message["executable"], folder)
    return run.returncode == 0, seconds, processor, binaries


def crates():
    """Seconds of each unit that cargo compiled last."""
    report = ROOT / "target/cargo-timings/cargo-timing.html"
    found = UNITS.search(report.read_text(encoding="utf-8"))
    units = json.loads(found[1]) if found else []
    return sorted(((unit["name"] + unit["target"], float(unit["duration"])) for unit in units), key=lambda row: -row[1])


def run_binary(executable, folder):
    """Runs a test binary. Gives its row and the seconds of its tests."""
    # The harness measures single tests only when it takes itself for an unstable one.
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1", "CARGO_MANIFEST_DIR": str(folder)}
    command = [executable, "-Zunstable-options", "--report-time"]
    run, seconds, processor = timed(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    result = RESULT.search(run.stdout)
    passed, failed = (int(result[1]), int(result[2])) if result else (0, 1)
    return (seconds, processor, passed, failed), [(name, float(took)) for name, took in TEST.findall(run.stdout)]


def main():
    """Measures and prints. Gives the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-run", action="store_true", help="compile only")
    parser.add_argument("targets", nargs="*", help="targets of make that are timed besides")
    arguments = parser.parse_args()
    good, rows = True, []
    for target in arguments.targets:
        run, seconds, processor = timed(["make", "--silent", target], cwd=ROOT, stdout=subprocess.DEVNULL)
        rows.append((f"make {target}", seconds, processor, "" if run.returncode == 0 else "FAILED"))
        good = good and run.returncode == 0
    built, seconds, processor, binaries = compile_tests()
    rows.append((f"compile {len(binaries)} test binaries", seconds, processor, "" if built else "FAILED"))
    slowest, tests = crates(), []
    runs = []
    if built and not arguments.no_run:
        for name, (executable, folder) in sorted(binaries.items()):
            row, of_binary = run_binary(executable, folder)
            runs.append((name, *row))
            tests.extend((f"{name}: {test}", took) for test, took in of_binary)
            good = good and row[3] == 0
        rows.append(("run them, one after the other", sum(r[1] for r in runs), sum(r[2] for r in runs), ""))
        command = [CARGO, "test", *PROFILE, "--workspace", "--doc"]
        run, seconds, processor = timed(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        rows.append(("examples in documentation", seconds, processor, "" if run.returncode == 0 else "FAILED"))
        good = good and run.returncode == 0
    table("Targets", ["what", "seconds", "processor", ""], rows)
    table(f"Compiled, the {MOST} longest of {len(slowest)}", ["crate", "seconds"], slowest[:MOST])
    if runs:
        table("Test binaries", ["binary", "seconds", "processor", "passed", "failed"], sorted(runs, key=lambda r: -r[1]))
        tests.sort(key=lambda row: -row[1])
        table(f"Tests, the {MOST} longest of {len(tests)}", ["test", "seconds"], tests[:MOST])
    return 0 if good and built else 1


if __name__ == "__main__":
    sys.exit(main())
