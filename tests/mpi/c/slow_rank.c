/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Each round the ranks pass a message around a ring and add up; rank 3 sleeps before: all others wait for it. */
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 10, BYTES = 8192, SLOW = 3, SLEEP_US = 50 };

int main(int argc, char **argv) {
  static char data[2][BYTES];
  double one = 1, sum = 0;
  int round;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (round = 0; round < ROUNDS; round++) {
    if (rank == SLOW) usleep(SLEEP_US);
    MPI_Sendrecv(data[0], BYTES, MPI_CHAR, (rank + 1) % size, 7, data[1], BYTES, MPI_CHAR, (rank + size - 1) % size, 7,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  CHECK(sum == size);
  MPI_Finalize();
  return 0;
}
