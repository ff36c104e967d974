/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Time of the machine: it never goes back, sleeping takes it, and a message takes some. */
#include <unistd.h>

#include "check.h"

static void clock_of_the_machine(void) {
  CHECK(MPI_Wtick() > 0 && MPI_Wtick() <= 1e-6);
  double last = MPI_Wtime();
  for (int i = 0; i < 1000; i++) {
    double now = MPI_Wtime();
    CHECK(now >= last);
    last = now;
  }
}

static void sleeping(void) {
  double before = MPI_Wtime();
  usleep(20000);
  double slept = MPI_Wtime() - before;
  CHECK_AT(slept > 0.0199999 && slept < 0.0201, slept * 1e6);
}

static void messages_take_time(void) {
  char word = 0;
  double before = MPI_Wtime();
  for (int n = 0; n < 10; n++)
    for (int turn = 0; turn < 2; turn++) {
      if (turn == (rank & 1))
        MPI_Send(&word, 1, MPI_CHAR, rank ^ 1, 0, MPI_COMM_WORLD);
      else
        MPI_Recv(&word, 1, MPI_CHAR, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  double each = (MPI_Wtime() - before) / 20;
  CHECK_AT(each > 0.1e-6 && each < 20e-6, each * 1e9);
}

/** A program that looks at the clock until some time has passed gets there. */
static void waiting(void) {
  double until = MPI_Wtime() + 50e-6;
  while (MPI_Wtime() < until) continue;
}

int main(int argc, char **argv) {
  static const struct section SECTIONS[] = {
      {"clock", clock_of_the_machine}, {"sleeping", sleeping}, {"messages", messages_take_time}, {"waiting", waiting}};
  return run_sections(argc, argv, SECTIONS, sizeof SECTIONS / sizeof *SECTIONS);
}
