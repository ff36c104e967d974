/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One-sided transfers: every length at a limit, addresses of any alignment, every kind of synchronisation. */
#include "check.h"

static const MPI_Comm WORLD = MPI_COMM_WORLD;

/** A window over `bytes` bytes of every task, all 0xa5. */
static MPI_Win window(MPI_Aint bytes, unsigned char **base) {
  MPI_Win win;
  *base = malloc((size_t)bytes + GUARD);
  memset(*base, 0xa5, (size_t)bytes + GUARD);
  CHECK(MPI_Win_create(*base, bytes, 1, MPI_INFO_NULL, WORLD, &win) == MPI_SUCCESS);
  return win;
}

/** Puts of every length from and to addresses of every alignment; nothing beside them changes. */
static void puts_of_all_lengths(void) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int l = 0; l < LENGTHS_COUNT; l++) {
    int length = LENGTHS[l], shift = l % 7 + 1, skew = (l * 3) % 5;
    unsigned char *base, *out = malloc((size_t)length + 8);
    MPI_Win win = window(length + 16, &base);
    for (int i = 0; i < length; i++) out[skew + i] = byte_of(rank, l, i);
    MPI_Win_fence(0, win);
    MPI_Put(out + skew, length, MPI_BYTE, to, shift, length, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < shift; i++) CHECK_AT(base[i] == 0xa5, i);
    for (int i = 0; i < length; i++) CHECK_AT(base[shift + i] == byte_of(from, l, i), i);
    for (int i = shift + length; i < length + 16 + GUARD; i++) CHECK_AT(base[i] == 0xa5, i);
    MPI_Win_free(&win);
    free(base);
    free(out);
  }
}

/** Gets of every length from and to addresses of every alignment. */
static void gets_of_all_lengths(void) {
  int from = (rank + 1) % size;
  for (int l = 0; l < LENGTHS_COUNT; l++) {
    int length = LENGTHS[l], shift = l % 7 + 1, skew = (l * 3) % 5;
    unsigned char *base, *in = room(length + 8);
    MPI_Win win = window(length + 16, &base);
    for (int i = 0; i < length; i++) base[shift + i] = byte_of(rank, l, i);
    MPI_Win_fence(0, win);
    MPI_Get(in + skew, length, MPI_BYTE, from, shift, length, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < skew; i++) CHECK_AT(in[i] == 0xa5, i);
    for (int i = 0; i < length; i++) CHECK_AT(in[skew + i] == byte_of(from, l, i), i);
    for (int i = skew + length; i < length + 8 + GUARD; i++) CHECK_AT(in[i] == 0xa5, i);
    MPI_Win_free(&win);
    free(base);
    free(in);
  }
}

/** A fence ends many puts and gets to and from all tasks. */
static void many_in_one_fence(void) {
  enum { EACH = 24, SLOT = 700 };
  unsigned char *base, *out[EACH];
  unsigned char *in = malloc((size_t)size * EACH * SLOT);
  MPI_Win win = window((MPI_Aint)size * EACH * SLOT, &base);
  for (int n = 0; n < EACH; n++) out[n] = message(rank, n, SLOT);
  MPI_Win_fence(0, win);
  for (int n = 0; n < EACH; n++)
    for (int to = 0; to < size; to++)
      MPI_Put(out[n], SLOT - n, MPI_BYTE, to, (rank * EACH + n) * SLOT, SLOT - n, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  for (int from = 0; from < size; from++)
    for (int n = 0; n < EACH; n++)
      for (int i = 0; i < SLOT; i++)
        CHECK_AT(base[(from * EACH + n) * SLOT + i] == (i < SLOT - n ? byte_of(from, n, i) : 0xa5), i);
  for (int from = 0; from < size; from++)
    for (int n = 0; n < EACH; n++)
      MPI_Get(in + (from * EACH + n) * SLOT, SLOT - n, MPI_BYTE, from, (rank * EACH + n) * SLOT, SLOT - n, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  for (int from = 0; from < size; from++)
    for (int n = 0; n < EACH; n++)
      for (int i = 0; i < SLOT - n; i++) CHECK_AT(in[(from * EACH + n) * SLOT + i] == byte_of(rank, n, i), i);
  MPI_Win_free(&win);
  for (int n = 0; n < EACH; n++) free(out[n]);
  free(in);
  free(base);
}

/** All tasks add to the same elements at the same time, several lengths and types; nothing is lost. */
static void accumulates(void) {
  static const int COUNTS[] = {1, 7, 61, 121, 122, 128, 1023, 1025, 9000};
  for (int c = 0; c < 9; c++) {
    int count = COUNTS[c], target = c % size;
    long *base = calloc((size_t)count, sizeof *base), *out = malloc(sizeof *out * (size_t)count);
    MPI_Win win;
    MPI_Win_create(base, count * (MPI_Aint)sizeof *base, sizeof *base, MPI_INFO_NULL, WORLD, &win);
    for (int i = 0; i < count; i++) out[i] = 1000L * rank + i;
    MPI_Win_fence(0, win);
    MPI_Accumulate(out, count, MPI_LONG, target, 0, count, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    if (rank == target)
      for (int i = 0; i < count; i++) CHECK_AT(base[i] == 1000L * size * (size - 1) / 2 + (long)size * i, i);
    MPI_Win_fence(0, win);
    for (int i = 0; i < count; i++) out[i] = (i * 31 + rank * 17) % 1009;
    MPI_Accumulate(out, count, MPI_LONG, target, 0, count, MPI_LONG, MPI_MAX, win);
    MPI_Win_fence(0, win);
    if (rank == target)
      for (int i = 0; i < count; i++) {
        long most = 1000L * size * (size - 1) / 2 + (long)size * i;
        for (int from = 0; from < size; from++)
          if ((i * 31 + from * 17) % 1009 > most) most = (i * 31 + from * 17) % 1009;
        CHECK_AT(base[i] == most, i);
      }
    MPI_Win_free(&win);
    free(base);
    free(out);
  }
}

/** Doubles are added, replaced and fetched before they are. */
static void fetched_accumulates(void) {
  enum { COUNT = 700 };
  static double base[COUNT], out[COUNT], before[COUNT];
  MPI_Win win;
  for (int i = 0; i < COUNT; i++) base[i] = rank + i * 0.5, out[i] = i * 0.25;
  MPI_Win_create(base, sizeof base, sizeof *base, MPI_INFO_NULL, WORLD, &win);
  int to = (rank + 1) % size;
  MPI_Win_lock_all(0, win);
  MPI_Get_accumulate(out, COUNT, MPI_DOUBLE, before, COUNT, MPI_DOUBLE, to, 0, COUNT, MPI_DOUBLE, MPI_SUM, win);
  MPI_Win_flush(to, win);
  for (int i = 0; i < COUNT; i++) CHECK_AT(before[i] == to + i * 0.5, i);
  MPI_Get_accumulate(NULL, 0, MPI_DOUBLE, before, COUNT, MPI_DOUBLE, to, 0, COUNT, MPI_DOUBLE, MPI_NO_OP, win);
  MPI_Win_flush_all(win);
  for (int i = 0; i < COUNT; i++) CHECK_AT(before[i] == to + i * 0.75, i);
  MPI_Accumulate(out, COUNT, MPI_DOUBLE, to, 0, COUNT, MPI_DOUBLE, MPI_REPLACE, win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(WORLD);
  for (int i = 0; i < COUNT; i++) CHECK_AT(base[i] == i * 0.25, i);
  MPI_Win_free(&win);
}

/** Under an exclusive lock, reading, adding and writing is one step. */
static void locks(void) {
  enum { ROUNDS = 6 };
  long *counter;
  MPI_Win win;
  MPI_Win_allocate(sizeof *counter, sizeof *counter, MPI_INFO_NULL, WORLD, &counter, &win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  *counter = 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(WORLD);
  for (int n = 0; n < ROUNDS; n++) {
    long value;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
    MPI_Win_flush(0, win);
    value += rank + 1;
    MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(WORLD);
  long value = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
  MPI_Win_unlock(0, win);
  CHECK_AT(value == (long)ROUNDS * size * (size + 1) / 2, value);
  MPI_Win_free(&win);
}

/** Tickets drawn by fetch-and-op are all different; one task wins each compare-and-swap. */
static void tickets(void) {
  enum { EACH = 10 };
  int *base, mine[EACH], *all = malloc(sizeof *all * (size_t)size * EACH), one = 1;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof *base, sizeof *base, MPI_INFO_NULL, WORLD, &base, &win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  base[0] = 0, base[1] = -1;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(WORLD);
  MPI_Win_lock_all(0, win);
  for (int n = 0; n < EACH; n++) {
    MPI_Fetch_and_op(&one, &mine[n], MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win);
    CHECK(n == 0 || mine[n] > mine[n - 1]);
  }
  int nobody = -1, winner;
  MPI_Compare_and_swap(&rank, &nobody, &winner, MPI_INT, size - 1, 1, win);
  MPI_Win_unlock_all(win);
  MPI_Gather(mine, EACH, MPI_INT, all, EACH, MPI_INT, 0, WORLD);
  if (rank == 0) {
    char *drawn = calloc((size_t)size * EACH, 1);
    for (int i = 0; i < size * EACH; i++) {
      CHECK_AT(all[i] >= 0 && all[i] < size * EACH && !drawn[all[i]], all[i]);
      drawn[all[i]] = 1;
    }
    free(drawn);
  }
  int won = winner == -1, winners;
  MPI_Allreduce(&won, &winners, 1, MPI_INT, MPI_SUM, WORLD);
  CHECK(winners == 1);
  MPI_Win_free(&win);
  free(all);
}

/** Tasks that expose memory and tasks that access it, by groups: post, start, complete, wait. */
static void groups(void) {
  int peer = rank ^ 1;
  unsigned char *base;
  MPI_Group all, partner;
  MPI_Win win = window(5000, &base);
  MPI_Comm_group(WORLD, &all);
  MPI_Group_incl(all, 1, &peer, &partner);
  for (int n = 0; n < 4; n++) {
    unsigned char *out = message(rank, n, 5000);
    MPI_Win_post(partner, 0, win);
    MPI_Win_start(partner, 0, win);
    MPI_Put(out, 5000, MPI_BYTE, peer, 0, 5000, MPI_BYTE, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    for (int i = 0; i < 5000; i++) CHECK_AT(base[i] == byte_of(peer, n, i), i);
    free(out);
  }
  MPI_Group_free(&partner);
  MPI_Group_free(&all);
  MPI_Win_free(&win);
  free(base);
}

/** Data with holes on both sides, the holes unlike each other. */
static void holes(void) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  unsigned char *base, *out = malloc(6000);
  MPI_Datatype here, there;
  MPI_Win win = window(9000, &base);
  MPI_Type_vector(500, 4, 12, MPI_BYTE, &here);
  MPI_Type_vector(250, 8, 36, MPI_BYTE, &there);
  MPI_Type_commit(&here);
  MPI_Type_commit(&there);
  for (int i = 0; i < 2000; i++) out[i / 4 * 12 + i % 4] = byte_of(rank, 1, i);
  MPI_Win_fence(0, win);
  MPI_Put(out, 1, here, to, 0, 1, there, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 9000; i++)
    CHECK_AT(base[i] == (i % 36 < 8 ? byte_of(from, 1, i / 36 * 8 + i % 36) : 0xa5), i);
  MPI_Type_free(&here);
  MPI_Type_free(&there);
  MPI_Win_free(&win);
  free(base);
  free(out);
}

/** Requests of single transfers end by themselves; memory may be attached to a window later. */
static void requests(void) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  unsigned char *memory = room(70000), *out = message(rank, 1, 70000), *in = room(70000);
  MPI_Win win;
  MPI_Aint address, theirs;
  MPI_Request request;
  MPI_Win_create_dynamic(MPI_INFO_NULL, WORLD, &win);
  MPI_Win_attach(win, memory, 70000);
  MPI_Get_address(memory, &address);
  MPI_Sendrecv(&address, 1, MPI_AINT, from, 0, &theirs, 1, MPI_AINT, to, 0, WORLD, MPI_STATUS_IGNORE);
  MPI_Win_lock_all(0, win);
  MPI_Rput(out, 70000, MPI_BYTE, to, theirs, 70000, MPI_BYTE, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush(to, win);
  MPI_Barrier(WORLD);
  MPI_Rget(in, 70000, MPI_BYTE, to, theirs, 70000, MPI_BYTE, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(win);
  MPI_Barrier(WORLD);
  holds(in, 70000, rank, 1, 70000);
  MPI_Win_detach(win, memory);
  holds(memory, 70000, from, 1, 70000);
  MPI_Win_free(&win);
  free(out);
}

int main(int argc, char **argv) {
  static const struct section SECTIONS[] = {{"puts", puts_of_all_lengths}, {"gets", gets_of_all_lengths},
                                            {"fence", many_in_one_fence},  {"accumulates", accumulates},
                                            {"fetches", fetched_accumulates}, {"locks", locks},
                                            {"tickets", tickets},          {"groups", groups},
                                            {"holes", holes},              {"requests", requests}};
  return run_sections(argc, argv, SECTIONS, sizeof SECTIONS / sizeof *SECTIONS);
}
