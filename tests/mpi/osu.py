# SPDX-License-Identifier: MIT OR Apache-2.0
"""The OSU benchmarks among mpi4py's demos, with few iterations: osu.py KIND [LARGEST MESSAGE].

Kinds: latency, bandwidth (two tasks), barrier, allreduce (any number). Lines hold a size and a figure, microseconds or MB/s."""

import contextlib
import importlib.util
import io
import pathlib
import sys

from mpi4py import MPI

LOOP = 10
SKIP = 2
DEMOS = pathlib.Path(__file__).resolve().parents[2] / ".tools/mpi/src/mpi4py-4.1.2/demo"


def demo(name, **options):
    """Runs a demo's function and prints its lines with single spaces."""
    spec = importlib.util.spec_from_file_location(name, DEMOS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        getattr(module, name)(**options)
    for line in text.getvalue().splitlines():
        print(" ".join(line.split()))


def allreduce():
    """Mean time of a sum of a double, in microseconds."""
    comm = MPI.COMM_WORLD
    mine = bytearray(MPI.DOUBLE.Get_size())
    total = bytearray(len(mine))
    comm.Barrier()
    for i in range(LOOP + SKIP):
        if i == SKIP:
            start = MPI.Wtime()
        comm.Allreduce([mine, 1, MPI.DOUBLE], [total, 1, MPI.DOUBLE], MPI.SUM)
    mean = comm.reduce((MPI.Wtime() - start) * 1e6 / LOOP)
    if comm.rank == 0:
        print(f"{len(mine)} {mean / comm.size:.2f}")


kind = sys.argv[1]
largest = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 20
large = {"skip_large": SKIP, "loop_large": LOOP, "MAX_MSG_SIZE": largest}
if kind == "latency":
    demo("osu_latency", skip=SKIP, loop=LOOP, **large)
elif kind == "bandwidth":
    demo("osu_bw", skip=SKIP, loop=LOOP, window_size_large=8, **large)
elif kind == "barrier":
    demo("osu_barrier", skip_large=SKIP, loop_large=LOOP)
elif kind == "allreduce":
    allreduce()
else:
    sys.exit(f"no benchmark {kind}")
