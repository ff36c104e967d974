/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waits end when their event comes, in simulated time; polls in vain and clocks take what they execute, however often. */
#include <dlfcn.h>

#include "check.h"

/** Lets the task compute, nanoseconds of simulated time. */
static void compute(unsigned long ns) {
  void (*gyre_compute)(unsigned long) = (void (*)(unsigned long))dlsym(RTLD_DEFAULT, "gyre_compute");
  CHECK(gyre_compute);
  gyre_compute(ns);
}

/** Microseconds of `count` probes in vain, with `work` ns of computation behind each. */
static double probes(int count, unsigned long work) {
  double begin = MPI_Wtime();
  for (int i = 0; i < count; i++) {
    int there = 0;
    MPI_Iprobe(rank ^ 1, 77, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    CHECK(!there);
    if (work > 0) compute(work);
  }
  return (MPI_Wtime() - begin) * 1e6;
}

/** A hundred thousand probes take as long each as a hundred do. */
static void probes_in_vain(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    double few = probes(100, 0) / 100, many = probes(100000, 0) / 100000;
    CHECK_AT(few > 0.05 && few < 0.5, few * 1000);
    CHECK_AT(many > few * 0.9 && many < few * 1.1, many * 1000);
    double steps = probes(1000, 1000) / 1000;
    CHECK_AT(steps > 1.05 && steps < 1.5, steps * 1000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/** Work in steps of 1 us with a probe, or a test, behind each goes on until the message comes, and no longer. */
static void steps_between(void) {
  for (int tests = 0; tests < 2; tests++) {
    int there = 0, steps = 0, word = 0;
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    if (rank == 1) {
      compute(500000);
      MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      continue;
    }
    if (tests) MPI_Irecv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    for (; !there; steps++) {
      compute(1000);
      if (tests)
        MPI_Test(&request, &there, MPI_STATUS_IGNORE);
      else
        MPI_Iprobe(1, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
    double took = (MPI_Wtime() - begin) * 1e6;
    if (!tests) MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_AT(steps >= 380 && steps < 500, steps);
    CHECK_AT(took > 500 && took < 508, took);
  }
}

/** A clock takes 10 to 50 ns. */
static void clocks(void) {
  long calls = 0;
  for (double begin = MPI_Wtime(); MPI_Wtime() - begin < 0.001;) calls++;
  CHECK_AT(calls >= 20000 && calls <= 100000, calls);
}

/** Microseconds of an accumulate and of a put, each with its flush, to a task that waits in a barrier. */
static void transfers_to_a_barrier(void) {
  long *base, one = 1;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  base[0] = base[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    double begin = MPI_Wtime();
    for (int i = 0; i < 10; i++) {
      MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win);
      MPI_Win_flush(1, win);
    }
    double each = (MPI_Wtime() - begin) * 1e5;
    CHECK_AT(each > 1 && each < 3, each * 1000);
    begin = MPI_Wtime();
    for (long i = 1; i <= 10; i++) {
      MPI_Put(&i, 1, MPI_LONG, 1, 1, 1, MPI_LONG, win);
      MPI_Win_flush(1, win);
    }
    each = (MPI_Wtime() - begin) * 1e5;
    CHECK_AT(each > 1 && each < 3, each * 1000);
    MPI_Win_unlock(1, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(rank != 1 || (base[0] == 10 && base[1] == 10));
  MPI_Win_free(&win);
}

int main(int argc, char **argv) {
  static const struct section SECTIONS[] = {{"probes", probes_in_vain},
                                            {"steps", steps_between},
                                            {"clocks", clocks},
                                            {"barrier", transfers_to_a_barrier}};
  return run_sections(argc, argv, SECTIONS, sizeof SECTIONS / sizeof *SECTIONS);
}
