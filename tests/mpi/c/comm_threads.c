/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two threads a task, each with a communicator of its own, call barriers and sums at once. Communicators are not freed. */
#include <pthread.h>

#include "check.h"

static MPI_Comm comms[2];

static void *calls(void *which) {
  MPI_Comm comm = *(MPI_Comm *)which;
  for (int i = 0; i < 10; i++) {
    int one = 1, sum = 0;
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size);
  }
  return NULL;
}

int main(int argc, char **argv) {
  int level;
  pthread_t threads[2];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  CHECK(level == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < 2; i++) CHECK(!pthread_create(&threads[i], NULL, calls, &comms[i]));
  for (int i = 0; i < 2; i++) CHECK(!pthread_join(threads[i], NULL));
  /* Both names of a function are one. */
  int sum = 0;
  if (rank == 0)
    PMPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  else
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_AT(sum == size * (size - 1) / 2, sum);
  if (rank == 0) printf("whole\n");
  MPI_Finalize();
  return 0;
}
