/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads beside MPI: regions of OpenMP between collectives, a thread that polls for messages until it is told to end. */
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

static void regions(void) {
  double all;
  omp_set_num_threads(4);
  for (int region = 0; region < 40; region++) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int term = 0; term < 1000; term++) sum += term;
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK_AT(all == size * 499500.0, region);
  }
}

static atomic_int stop;
static MPI_Comm side;

static void *poll(void *unused) {
  int flag;
  while (!stop) MPI_Iprobe(MPI_ANY_SOURCE, 77, side, &flag, MPI_STATUS_IGNORE);
  return unused;
}

static void progress(void) {
  pthread_t thread;
  int next = (rank + 1) % size, last = (rank + size - 1) % size, got = -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &side);
  CHECK(pthread_create(&thread, NULL, poll, NULL) == 0);
  for (int turn = 0; turn < 10; turn++)
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 0, &got, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  stop = 1;
  pthread_join(thread, NULL);
  CHECK(got == last);
  MPI_Comm_free(&side);
}

int main(int argc, char **argv) {
  static const struct section SECTIONS[] = {{"regions", regions}, {"progress", progress}};
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  CHECK(level == MPI_THREAD_MULTIPLE);
  return run_initialized(argc, argv, SECTIONS, sizeof SECTIONS / sizeof *SECTIONS);
}
