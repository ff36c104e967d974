/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two threads a task, each with a communicator of its own, call barriers and sums at once. Communicators are not freed.
 * Threads meet at a barrier of their own twice in a row: the second lets none through before all have come. */
#include <pthread.h>

#include "check.h"

enum { MEETING = 3, MEETINGS = 20 };

static MPI_Comm comms[2];
static pthread_barrier_t barrier;
static int turns[MEETING];

static void *calls(void *which) {
  MPI_Comm comm = *(MPI_Comm *)which;
  for (int i = 0; i < 10; i++) {
    int one = 1, sum = 0;
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size);
  }
  return NULL;
}

static void *meetings(void *which) {
  int *own = which, me = own - turns, got;
  for (int turn = 1; turn <= MEETINGS; turn++) {
    MPI_Request requests[2];
    pthread_barrier_wait(&barrier);
    MPI_Wtime();
    pthread_barrier_wait(&barrier);
    MPI_Isend(&me, 1, MPI_INT, (rank + me) % size, me, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&got, 1, MPI_INT, (rank + MEETING * size - me) % size, me, MPI_COMM_WORLD, &requests[1]);
    *own = turn;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < MEETING; i++) CHECK_AT(turns[i] == turn, i);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_AT(got == me, got);
  }
  return NULL;
}

int main(int argc, char **argv) {
  int level;
  pthread_t threads[MEETING];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  CHECK(level == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < 2; i++) CHECK(!pthread_create(&threads[i], NULL, calls, &comms[i]));
  for (int i = 0; i < 2; i++) CHECK(!pthread_join(threads[i], NULL));
  CHECK(!pthread_barrier_init(&barrier, NULL, MEETING));
  for (int i = 0; i < MEETING; i++) CHECK(!pthread_create(&threads[i], NULL, meetings, &turns[i]));
  for (int i = 0; i < MEETING; i++) CHECK(!pthread_join(threads[i], NULL));
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
