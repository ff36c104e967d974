/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs for traces, with computation between their calls: each section is one. */
#include <time.h>

#include "check.h"

enum { ROUNDS = 10, MOST = 65536 };

static char out[4][MOST], in[4][MOST];

/* Sleeps, which takes simulated time as computation does. */
static void compute(long ns) {
  struct timespec time = {0, ns};
  nanosleep(&time, NULL);
}

/* Neighbours send to and fro, with messages that are copied, eager, and by rendezvous. */
static void pairs(void) {
  static const int lengths[] = {8, 400, 2000, 20000};
  int round, peer = rank ^ 1;
  if (peer >= size) return;
  for (round = 0; round < ROUNDS; round++) {
    int length = lengths[round % 4];
    compute(700 + 100 * rank);
    if (rank < peer) {
      MPI_Send(out[0], length, MPI_CHAR, peer, round, MPI_COMM_WORLD);
      MPI_Recv(in[0], MOST, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(in[0], MOST, MPI_CHAR, peer, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      compute(300);
      MPI_Ssend(out[0], length, MPI_CHAR, peer, round, MPI_COMM_WORLD);
    }
  }
}

/* Sums, broadcasts and exchanges of all. */
static void collectives(void) {
  int round;
  double one = 1, sum = 0;
  for (round = 0; round < ROUNDS; round++) {
    compute(500 * (1 + (rank + round) % 3));
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size);
    MPI_Bcast(in[0], 3000, MPI_CHAR, round % size, MPI_COMM_WORLD);
    MPI_Alltoall(out[0], 256, MPI_CHAR, in[0], 256, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* A ring of neighbours on either side, with computation while the messages are under way. */
static void halo(void) {
  int round, side, bytes = 3000, left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Request all[4];
  for (round = 0; round < ROUNDS; round++) {
    for (side = 0; side < 2; side++)
      MPI_Irecv(in[side], bytes, MPI_CHAR, side ? right : left, side, MPI_COMM_WORLD, &all[side]);
    for (side = 0; side < 2; side++)
      MPI_Isend(out[side], bytes, MPI_CHAR, side ? left : right, side, MPI_COMM_WORLD, &all[2 + side]);
    compute(2000);
    MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
    compute(4000 + 500 * (rank % 3));
  }
}

/* A task gives out work as it is asked for. */
static void farm(void) {
  int jobs = 4 * (size - 1), ended = 0, job = 0, number;
  MPI_Status status;
  if (rank == 0) {
    while (ended < size - 1) {
      MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
      MPI_Recv(&number, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD, &status);
      number = job < jobs ? job++ : -1;
      ended += number < 0;
      MPI_Send(&number, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
    }
    return;
  }
  for (number = 0; number >= 0;) {
    MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute(3000 + 1000 * (number % 4));
  }
}

/* Writes into the memory of a neighbour: no trace can say so. */
static void window(void) {
  MPI_Win win;
  MPI_Win_create(in[0], MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(out[0], 1000, MPI_CHAR, (rank + 1) % size, 0, 1000, MPI_CHAR, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

int main(int argc, char **argv) {
  static const struct section SECTIONS[] = {
      {"pairs", pairs}, {"collectives", collectives}, {"halo", halo}, {"farm", farm}, {"window", window}};
  return run_sections(argc, argv, SECTIONS, sizeof SECTIONS / sizeof *SECTIONS);
}
