/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Task 1 fails as the argument says while the others wait for it. */
#include <signal.h>
#include <unistd.h>

#include "check.h"

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *how = argc == 2 ? argv[1] : "";
  int word = 0;
  volatile int nothing = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(how, "deadlock")) MPI_Recv(&word, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!strcmp(how, "late")) {
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
  }
  if (rank == 1) {
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "divide")) {
      volatile int quotient = size / nothing;
      (void)quotient;
    }
    if (!strcmp(how, "exit")) _exit(3);
    if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "spin"))
      while (!nothing) continue;
    if (!strcmp(how, "truncate")) MPI_Recv(&word, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0 && !strcmp(how, "truncate")) MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
