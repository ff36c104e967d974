/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Collectives over all tasks, over parts of them in any order and between two groups; every result is computed again. */
#include <limits.h>
#include <unistd.h>

#include "check.h"

static const int COUNTS[] = {1, 2, 3, 8, 63, 64, 65, 127, 128, 512, 1000, 4097, 10000};
#define COUNTS_COUNT ((int)(sizeof COUNTS / sizeof *COUNTS))

/** This task in a communicator, and its size. */
static int me(MPI_Comm comm) {
  int found;
  MPI_Comm_rank(comm, &found);
  return found;
}
static int all(MPI_Comm comm) {
  int found;
  MPI_Comm_size(comm, &found);
  return found;
}

/** Communicators of tasks with the same remainder by `parts`, the last of all first. */
static MPI_Comm reversed(int parts) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, rank % parts, size - rank, &comm);
  return comm;
}

/** Contribution of a task of a communicator as element `i`; doubles and floats add up exactly. */
static long element(int from, int i) { return (from * 37L + i * 11L) % 509 - 100; }

/** For a type: fills, folds by each operation that it has, and compares. */
#define TYPE(name, type, mpi_type, bits)                                                            \
  static void fill_##name(void *into, int count, int from) {                                        \
    for (int i = 0; i < count; i++) ((type *)into)[i] = (type)element(from, i);                     \
  }                                                                                                 \
  static void check_##name(const void *got, int count, int members, int op) {                       \
    for (int i = 0; i < count; i++) {                                                               \
      type value = (type)element(0, i);                                                             \
      for (int from = 1; from < members; from++) {                                                  \
        type other = (type)element(from, i);                                                        \
        if (op == 0) value = (type)(value + other);                                                 \
        if (op == 1 && other > value) value = other;                                                \
        if (op == 2 && other < value) value = other;                                                \
        bits                                                                                        \
      }                                                                                             \
      CHECK_AT(((const type *)got)[i] == value, i);                                                 \
    }                                                                                               \
  }
#define BITS if (op == 3) value &= other; if (op == 4) value |= other; if (op == 5) value ^= other;
TYPE(int, int, MPI_INT, BITS)
TYPE(unsigned, unsigned, MPI_UNSIGNED, BITS)
TYPE(long, long, MPI_LONG, BITS)
TYPE(unsigned_long, unsigned long, MPI_UNSIGNED_LONG, BITS)
TYPE(short, short, MPI_SHORT, BITS)
TYPE(float, float, MPI_FLOAT, )
TYPE(double, double, MPI_DOUBLE, )

static struct {
  MPI_Datatype type;
  size_t bytes;
  int ops;
  void (*fill)(void *, int, int);
  void (*check)(const void *, int, int, int);
} types[] = {{MPI_INT, sizeof(int), 6, fill_int, check_int},
             {MPI_UNSIGNED, sizeof(unsigned), 6, fill_unsigned, check_unsigned},
             {MPI_LONG, sizeof(long), 6, fill_long, check_long},
             {MPI_UNSIGNED_LONG, sizeof(long), 6, fill_unsigned_long, check_unsigned_long},
             {MPI_SHORT, sizeof(short), 6, fill_short, check_short},
             {MPI_FLOAT, sizeof(float), 3, fill_float, check_float},
             {MPI_DOUBLE, sizeof(double), 3, fill_double, check_double}};
#define TYPES_COUNT ((int)(sizeof types / sizeof *types))

static MPI_Op op_of(int op) {
  const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_BAND, MPI_BOR, MPI_BXOR};
  return ops[op];
}

/** Allreduce and reduce of a type, operation and count, in place and not. */
static void reduction(MPI_Comm comm, int t, int op, int count) {
  size_t bytes = types[t].bytes * (size_t)count;
  int members = all(comm), mine = me(comm), root = (count + op) % members;
  void *out = malloc(bytes), *in = room((int)bytes);
  types[t].fill(out, count, mine);
  CHECK(MPI_Allreduce(out, in, count, types[t].type, op_of(op), comm) == MPI_SUCCESS);
  types[t].check(in, count, members, op);
  CHECK(((unsigned char *)in)[bytes] == 0xa5);
  types[t].fill(in, count, mine);
  CHECK(MPI_Allreduce(MPI_IN_PLACE, in, count, types[t].type, op_of(op), comm) == MPI_SUCCESS);
  types[t].check(in, count, members, op);
  memset(in, 0xa5, bytes);
  CHECK(MPI_Reduce(out, in, count, types[t].type, op_of(op), root, comm) == MPI_SUCCESS);
  if (mine == root) types[t].check(in, count, members, op);
  for (size_t i = 0; mine != root && i < bytes; i++) CHECK_AT(((unsigned char *)in)[i] == 0xa5, i);
  types[t].fill(in, count, mine);
  if (mine == root) {
    MPI_Reduce(MPI_IN_PLACE, in, count, types[t].type, op_of(op), root, comm);
    types[t].check(in, count, members, op);
  } else {
    MPI_Reduce(in, NULL, count, types[t].type, op_of(op), root, comm);
  }
  free(in);
  free(out);
}

static void reductions(void) {
  MPI_Comm comms[] = {MPI_COMM_WORLD, reversed(1), reversed(2)};
  for (int t = 0; t < TYPES_COUNT; t++)
    for (int op = 0; op < types[t].ops; op++) {
      reduction(comms[0], t, op, COUNTS[(t * 5 + op * 3) % (COUNTS_COUNT - 2)]);
      reduction(comms[(t + op) % 2 + 1], t, op, COUNTS[(t + op) % 8]);
    }
  for (int c = 0; c < COUNTS_COUNT; c++) reduction(comms[c % 3], c % 2 ? 6 : 2, 0, COUNTS[c]);
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
}

/** Extremes of doubles and integers, and places of the greatest. */
static void extremes(void) {
  struct {
    double value;
    int place;
  } pair = {rank == size / 2 ? 1e300 : -1e300, rank}, most;
  MPI_Allreduce(&pair, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  CHECK(most.value == 1e300 && most.place == size / 2);
  int values[2] = {rank == 0 ? INT_MIN : -1, rank == size - 1 ? INT_MAX : 1}, got[2];
  MPI_Allreduce(values, got, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  CHECK(got[0] == INT_MIN && got[1] == (size > 1 ? 1 : INT_MAX));
  MPI_Allreduce(values, got, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK(got[0] == (size > 1 ? -1 : INT_MIN) && got[1] == INT_MAX);
  unsigned long high = rank == 0 ? ULONG_MAX : 5, found;
  MPI_Allreduce(&high, &found, 1, MPI_UNSIGNED_LONG, MPI_MAX, MPI_COMM_WORLD);
  CHECK(found == ULONG_MAX);
  int truth = rank != 1, both;
  MPI_Allreduce(&truth, &both, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  CHECK(both == (size < 2));
}

/** No task leaves a barrier before the last has entered. */
static void barriers(void) {
  MPI_Comm comms[] = {MPI_COMM_WORLD, reversed(1), reversed(2)};
  for (int c = 0; c < 3; c++) {
    int members = all(comms[c]), mine = me(comms[c]);
    for (int late = 0; late < members; late++) {
      double before = MPI_Wtime(), last;
      if (mine == late) {
        usleep(50);
        before = MPI_Wtime();
      }
      MPI_Barrier(comms[c]);
      double after = MPI_Wtime();
      MPI_Bcast(&before, 1, MPI_DOUBLE, late, comms[c]);
      MPI_Allreduce(&after, &last, 1, MPI_DOUBLE, MPI_MIN, comms[c]);
      CHECK_AT(last >= before, late);
    }
  }
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
}

/** Broadcasts of every length, from every root of the small ones. */
static void broadcasts(void) {
  MPI_Comm comms[] = {MPI_COMM_WORLD, reversed(1), reversed(2)};
  for (int c = 0; c < 3; c++)
    for (int l = 0; l < LENGTHS_COUNT; l++) {
      if (c > 0 && LENGTHS[l] > 4096) continue;
      int length = LENGTHS[l], members = all(comms[c]), roots = length > 4096 ? 1 : length > 500 ? 2 : members;
      for (int k = 0; k < roots && k < members; k++) {
        int root = (l + k) % members;
        unsigned char *buffer = me(comms[c]) == root ? message(root, l, length) : room(length);
        if (me(comms[c]) == root) memset(buffer + length, 0xa5, GUARD);
        CHECK(MPI_Bcast(buffer, length, MPI_BYTE, root, comms[c]) == MPI_SUCCESS);
        holds(buffer, length, root, l, length);
      }
    }
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
}

/** Blocks to and from all others: alltoall, alltoallv, allgather, gather, scatter, reduce_scatter. */
static void exchanges(void) {
  static const int SIZES[] = {1, 9, 485, 512, 4097, 20000};
  MPI_Comm comms[] = {MPI_COMM_WORLD, reversed(2)};
  for (int c = 0; c < 2; c++)
    for (int s = 0; s < 6; s++) {
      int n = SIZES[s], members = all(comms[c]), mine = me(comms[c]), root = s % members;
      unsigned char *out = malloc((size_t)n * members), *in = malloc((size_t)n * members);
      int *counts = malloc(sizeof(int) * members), *from = malloc(sizeof(int) * members), *zero = malloc(sizeof(int) * members);
      for (int to = 0; to < members; to++)
        for (int i = 0; i < n; i++) out[to * n + i] = byte_of(mine, to, i);
      MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, comms[c]);
      for (int k = 0; k < n * members; k++) CHECK_AT(in[k] == byte_of(k / n, mine, k % n), k);
      memset(in, 0xa5, (size_t)n * members);
      for (int k = 0; k < members; k++) counts[k] = n - (mine + k) % 2, from[k] = n - (mine + k) % 2, zero[k] = k * n;
      MPI_Alltoallv(out, counts, zero, MPI_BYTE, in, from, zero, MPI_BYTE, comms[c]);
      for (int k = 0; k < n * members; k++)
        CHECK_AT(in[k] == (k % n < from[k / n] ? byte_of(k / n, mine, k % n) : 0xa5), k);
      MPI_Allgather(out, n, MPI_BYTE, in, n, MPI_BYTE, comms[c]);
      for (int k = 0; k < n * members; k++) CHECK_AT(in[k] == byte_of(k / n, 0, k % n), k);
      memset(in, 0xa5, (size_t)n * members);
      MPI_Gather(out, n, MPI_BYTE, in, n, MPI_BYTE, root, comms[c]);
      for (int k = 0; k < n * members; k++) CHECK_AT(in[k] == (mine == root ? byte_of(k / n, 0, k % n) : 0xa5), k);
      MPI_Scatter(out, n, MPI_BYTE, in, n, MPI_BYTE, root, comms[c]);
      for (int i = 0; i < n; i++) CHECK_AT(in[i] == byte_of(root, mine, i), i);
      free(out), free(in), free(counts), free(from), free(zero);
    }
  MPI_Comm_free(&comms[1]);
}

/** Prefixes of sums, with and without the own element, and sums of which each task gets a part. */
static void prefixes(void) {
  static const int SOME[] = {1, 65, 4097};
  for (int c = 0; c < 3; c++) {
    int n = SOME[c];
    long *out = malloc(sizeof *out * n * size), *in = malloc(sizeof *in * n);
    for (int i = 0; i < n * size; i++) out[i] = element(rank, i);
    MPI_Scan(out, in, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
      long sum = 0;
      for (int from = 0; from <= rank; from++) sum += element(from, i);
      CHECK_AT(in[i] == sum, i);
    }
    MPI_Exscan(out, in, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; rank > 0 && i < n; i++) {
      long sum = 0;
      for (int from = 0; from < rank; from++) sum += element(from, i);
      CHECK_AT(in[i] == sum, i);
    }
    MPI_Reduce_scatter_block(out, in, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
      long sum = 0;
      for (int from = 0; from < size; from++) sum += element(from, rank * n + i);
      CHECK_AT(in[i] == sum, i);
    }
    free(out), free(in);
  }
}

/** An operation of the program's own that does not commute: products of 2x2 matrices in the order of the tasks. */
static void multiply(void *in, void *both, int *count, MPI_Datatype *type) {
  long *a = in, *b = both;
  (void)type;
  for (int n = 0; n < *count; n++, a += 4, b += 4) {
    long c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
    memcpy(b, c, sizeof c);
  }
}

static void own_operation(void) {
  MPI_Datatype matrix;
  MPI_Op op;
  int count = 3, one = 1;
  long mine[12], got[12], wanted[12] = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1};
  MPI_Type_contiguous(4, MPI_LONG, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Op_create(multiply, 0, &op);
  for (int from = 0; from < size; from++)
    for (int n = 0; n < 3; n++) {
      long factor[4] = {1, from % 5 + n, from % 3, 1}, *into = wanted + 4 * n;
      if (from == rank) memcpy(mine + 4 * n, factor, sizeof factor);
      long before[4];
      memcpy(before, into, sizeof before);
      memcpy(into, factor, sizeof factor);
      multiply(before, into, &one, NULL);
    }
  MPI_Allreduce(mine, got, count, matrix, op, MPI_COMM_WORLD);
  for (int i = 0; i < 12; i++) CHECK_AT(got[i] == wanted[i], i);
  MPI_Op_free(&op);
  MPI_Type_free(&matrix);
}

/** Communicators come and go 100 times; messages of one are not received in another. */
static void communicators(void) {
  for (int n = 0; n < 100; n++) {
    MPI_Comm dup, part;
    int sum, value = rank + n;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(dup, (rank + n) % 3, n % 2 ? -rank : rank, &part);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, dup);
    CHECK_AT(sum == size * (size - 1) / 2 + size * n, n);
    int wanted = 0;
    for (int from = 0; from < size; from++)
      if ((from + n) % 3 == (rank + n) % 3) wanted += from + n;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, part);
    CHECK_AT(sum == wanted, n);
    int root = n % all(part), word = me(part) == root ? n : -1;
    MPI_Bcast(&word, 1, MPI_INT, root, part);
    CHECK_AT(word == n, n);
    if (n % 10 == 0) {
      int in_world = -1, in_dup = -1, one = 1, two = 2;
      MPI_Request requests[2];
      MPI_Isend(&one, 1, MPI_INT, rank ^ 1, 3, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(&two, 1, MPI_INT, rank ^ 1, 3, dup, &requests[1]);
      MPI_Recv(&in_dup, 1, MPI_INT, rank ^ 1, 3, dup, MPI_STATUS_IGNORE);
      MPI_Recv(&in_world, 1, MPI_INT, rank ^ 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      CHECK(in_world == 1 && in_dup == 2);
    }
    MPI_Comm_free(&part);
    MPI_Comm_free(&dup);
  }
}

/** Several communicators that last, used in turn: more than the machine has classes for. */
static void many_at_once(void) {
  enum { COUNT = 40 };
  MPI_Comm comms[COUNT];
  for (int n = 0; n < COUNT; n++) comms[n] = reversed(n % 4 + 1);
  for (int round = 0; round < 2; round++)
    for (int n = 0; n < COUNT; n++) {
      int value = rank, sum, wanted = 0;
      for (int from = 0; from < size; from++)
        if (from % (n % 4 + 1) == rank % (n % 4 + 1)) wanted += from;
      MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comms[n]);
      CHECK_AT(sum == wanted, n);
      MPI_Barrier(comms[n]);
    }
  for (int n = 0; n < COUNT; n++) MPI_Comm_free(&comms[n]);
}

/** Two groups: broadcast, reduction and exchange between them. */
static void intercommunicators(void) {
  MPI_Comm half, inter, merged;
  int upper = rank >= size / 2, value, sum = 0, wanted = 0;
  MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 5, &inter);
  value = upper ? -1 : 77;
  MPI_Bcast(&value, 1, MPI_INT, upper ? 0 : me(half) == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
  CHECK(value == 77 || !upper);
  MPI_Barrier(inter);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
  for (int from = 0; from < size; from++)
    if ((from >= size / 2) != upper) wanted += from;
  CHECK_AT(sum == wanted, sum);
  int theirs[256];
  MPI_Allgather(&rank, 1, MPI_INT, theirs, 1, MPI_INT, inter);
  int others;
  MPI_Comm_remote_size(inter, &others);
  for (int i = 0; i < others; i++) CHECK_AT(theirs[i] == (upper ? 0 : size / 2) + i, i);
  MPI_Intercomm_merge(inter, upper, &merged);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
  CHECK(all(merged) == size && me(merged) == rank && sum == size * (size - 1) / 2);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

/** Nonblocking collectives of several kinds under way at once, blocking ones between them. */
static void nonblocking(void) {
  enum { COUNT = 8 };
  MPI_Request requests[2 * COUNT];
  double in[COUNT], out[COUNT];
  int words[COUNT], sum;
  for (int n = 0; n < COUNT; n++) {
    out[n] = rank + n;
    words[n] = n % size == rank ? n : -1;
    MPI_Iallreduce(&out[n], &in[n], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[2 * n]);
    MPI_Ibcast(&words[n], 1, MPI_INT, n % size, MPI_COMM_WORLD, &requests[2 * n + 1]);
    MPI_Allreduce(&n, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == n * size);
  }
  MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE);
  for (int n = 0; n < COUNT; n++) CHECK_AT(in[n] == size * (size - 1) / 2 + size * n && words[n] == n, n);
}

/** A task that waits in a collective serves others meanwhile: a message above every limit, and a lock on its window. */
static void progress(void) {
  enum { LENGTH = 100000 };
  int peer = rank ^ 1, first = rank % 2 == 0;
  unsigned char *out = message(rank, 1, LENGTH), *in = room(LENGTH);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win win;
  long *base, value = rank;
  MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  if (first) MPI_Isend(out, LENGTH, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
  if (!first) {
    MPI_Recv(in, LENGTH, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    holds(in, LENGTH, peer, 1, LENGTH);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, win);
    MPI_Put(&value, 1, MPI_LONG, peer, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(peer, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (first) {
    CHECK(*base == peer);
    free(in);
  }
  MPI_Win_free(&win);
  free(out);
}

int main(int argc, char **argv) {
  static const struct section SECTIONS[] = {{"barriers", barriers},     {"broadcasts", broadcasts},
                                            {"reductions", reductions}, {"extremes", extremes},
                                            {"exchanges", exchanges},   {"prefixes", prefixes},
                                            {"own_operation", own_operation}, {"communicators", communicators},
                                            {"many_at_once", many_at_once}, {"intercommunicators", intercommunicators},
                                            {"nonblocking", nonblocking}, {"progress", progress}};
  return run_sections(argc, argv, SECTIONS, sizeof SECTIONS / sizeof *SECTIONS);
}
