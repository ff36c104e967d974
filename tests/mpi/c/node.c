/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tasks of one node find each other, and share memory: four tasks, two a node. */
#include "check.h"

static MPI_Comm node;
static int local, locals;

/** Splits the tasks. */
static void find_node(void) {
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local);
  MPI_Comm_size(node, &locals);
}

static void tasks_of_a_node(void) {
  find_node();
  CHECK_AT(locals == 2, locals);
  int other = rank;
  MPI_Sendrecv_replace(&other, 1, MPI_INT, 1 - local, 0, 1 - local, 0, node, MPI_STATUS_IGNORE);
  CHECK_AT(other == (rank ^ 1), other);
  MPI_Comm_free(&node);
}

/** Each writes its part of a shared window, which the other reads in place. */
static void shared_windows(void) {
  long *own, *other;
  MPI_Win win;
  MPI_Aint bytes;
  find_node();
  int unit, *flavor, there;
  CHECK(MPI_Win_allocate_shared(4 * (local + 1) * (MPI_Aint)sizeof *own, sizeof *own, MPI_INFO_NULL, node, &own, &win) ==
        MPI_SUCCESS);
  MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &there);
  CHECK(there && *flavor == MPI_WIN_FLAVOR_SHARED);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 4; i++) own[i] = 10 * rank + i;
  MPI_Win_sync(win);
  MPI_Barrier(node);
  CHECK(MPI_Win_shared_query(win, 1 - local, &bytes, &unit, &other) == MPI_SUCCESS);
  CHECK_AT(bytes == 4 * (2 - local) * (MPI_Aint)sizeof *own && unit == sizeof *own, bytes);
  /* Parts are contiguous. */
  CHECK(local == 0 ? other == own + 4 : own == other + 4);
  int peer = 0;
  MPI_Sendrecv(&rank, 1, MPI_INT, 1 - local, 0, &peer, 1, MPI_INT, 1 - local, 0, node, MPI_STATUS_IGNORE);
  for (int i = 0; i < 4; i++) CHECK_AT(other[i] == 10 * peer + i, i);
  MPI_Barrier(node);
  /* Transfers find the same memory. */
  long word = 100 + rank;
  MPI_Put(&word, 1, MPI_LONG, 1 - local, 1, 1, MPI_LONG, win);
  MPI_Win_flush(1 - local, win);
  MPI_Barrier(node);
  CHECK_AT(own[1] == 100 + peer, own[1]);
  MPI_Barrier(node);
  /* One waits for what the other stores. */
  volatile long *seen = local == 0 ? own : other;
  if (local == 0) {
    seen[0] = 7777;
    MPI_Win_sync(win);
  }
  for (int found; seen[0] != 7777;) MPI_Iprobe(MPI_ANY_SOURCE, 0, node, &found, MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Comm_free(&node);
}

int main(int argc, char **argv) {
  static const struct section SECTIONS[] = {{"tasks", tasks_of_a_node}, {"windows", shared_windows}};
  return run_sections(argc, argv, SECTIONS, sizeof SECTIONS / sizeof *SECTIONS);
}
