/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every kind of collective by every algorithm, on the world, on a part of it and on both at once; every operation on every
 * type; sizes from nothing to tens of KiB. Elements of what is moved say where they come from. */
#include "geometry.h"

enum { MOST_TASKS = 16, MOST = 6000 };

static pami_client_t client;
static pami_context_t context;
static size_t collectives;
/** Most algorithms that a collective is done by. */
static size_t most_algorithms = ALGORITHMS;

/** A geometry, and what this task is there. */
typedef struct {
  pami_geometry_t geometry;
  size_t size;
  size_t rank;
  pami_endpoint_t members[MOST_TASKS];
} group_t;

static uint32_t from[MOST_TASKS * MOST + 1], to[MOST_TASKS * MOST + 1];

/** Element `place` of what task `of` has for task `for_`. */
static uint32_t element(size_t of, size_t for_, size_t place) {
  return (uint32_t)(of * 1000003 + for_ * 10007 + place);
}

static void clear(void) { memset(to, 0xee, sizeof to); }

/** Length of the vector form's block of a task. */
static size_t length_of(size_t rank, size_t count) { return rank % 3 == 1 ? 0 : count + rank; }

/** Begins a collective by each of its algorithms in turn and checks its result. */
#define BY_EACH(group, kind, fill, check)                                        \
  do {                                                                           \
    pami_algorithm_t all_[ALGORITHMS];                                           \
    pami_metadata_t data_[ALGORITHMS];                                           \
    size_t count_ = algorithms((group)->geometry, kind, all_, data_), by_;       \
    CHECK(count_ > 0);                                                           \
    for (by_ = 0; by_ < count_ && by_ < most_algorithms; by_++) {                                         \
      pami_xfer_t xfer;                                                          \
      int left_ = 1;                                                             \
      memset(&xfer, 0, sizeof xfer);                                             \
      xfer.algorithm = all_[by_];                                                \
      xfer.cb_done = ended;                                                      \
      xfer.cookie = &left_;                                                      \
      clear();                                                                   \
      fill;                                                                      \
      CHECK(data_[by_].check_fn(&xfer).bitmask == 0);                            \
      SUCCEEDS(PAMI_Collective(context, &xfer));                                 \
      await(context, &left_);                                                    \
      check;                                                                     \
      collectives++;                                                             \
    }                                                                            \
  } while (0)

/** Parameters that all forms with one block length share. */
#define BLOCKS(member)                                         \
  xfer.cmd.member.sndbuf = (char *)from;                       \
  xfer.cmd.member.rcvbuf = (char *)to;                         \
  xfer.cmd.member.stype = PAMI_TYPE_UNSIGNED_INT;              \
  xfer.cmd.member.rtype = PAMI_TYPE_UNSIGNED_INT

static void moves(const group_t *g, size_t root, size_t count) {
  size_t i, j, n = g->size, me = g->rank;

  BY_EACH(g, PAMI_XFER_BROADCAST,
          {
            for (i = 0; i < count; i++) to[i] = me == root ? element(root, 0, i) : 0;
            xfer.cmd.xfer_broadcast.root = g->members[root];
            xfer.cmd.xfer_broadcast.buf = (char *)to;
            xfer.cmd.xfer_broadcast.type = PAMI_TYPE_UNSIGNED_INT;
            xfer.cmd.xfer_broadcast.typecount = count;
          },
          {
            for (i = 0; i < count; i++) CHECK(to[i] == element(root, 0, i));
            CHECK(to[count] == 0xeeeeeeee);
          });

  for (j = 0; j < n; j++)
    for (i = 0; i < count; i++) from[j * count + i] = element(me, j, i);
  BY_EACH(g, PAMI_XFER_SCATTER,
          {
            BLOCKS(xfer_scatter);
            xfer.cmd.xfer_scatter.root = g->members[root];
            xfer.cmd.xfer_scatter.stypecount = xfer.cmd.xfer_scatter.rtypecount = count;
          },
          {
            for (i = 0; i < count; i++) CHECK(to[i] == element(root, me, i));
            CHECK(to[count] == 0xeeeeeeee);
          });
  BY_EACH(g, PAMI_XFER_ALLTOALL,
          {
            BLOCKS(xfer_alltoall);
            xfer.cmd.xfer_alltoall.stypecount = xfer.cmd.xfer_alltoall.rtypecount = count;
          },
          {
            for (j = 0; j < n; j++)
              for (i = 0; i < count; i++) CHECK(to[j * count + i] == element(j, me, i));
            CHECK(to[n * count] == 0xeeeeeeee);
          });
  BY_EACH(g, PAMI_XFER_GATHER,
          {
            BLOCKS(xfer_gather);
            xfer.cmd.xfer_gather.root = g->members[root];
            xfer.cmd.xfer_gather.stypecount = xfer.cmd.xfer_gather.rtypecount = count;
          },
          {
            for (j = 0; j < n && me == root; j++)
              for (i = 0; i < count; i++) CHECK(to[j * count + i] == element(j, 0, i));
            CHECK(to[me == root ? n * count : 0] == 0xeeeeeeee);
          });
  BY_EACH(g, PAMI_XFER_ALLGATHER,
          {
            BLOCKS(xfer_allgather);
            xfer.cmd.xfer_allgather.stypecount = xfer.cmd.xfer_allgather.rtypecount = count;
          },
          {
            for (j = 0; j < n; j++)
              for (i = 0; i < count; i++) CHECK(to[j * count + i] == element(j, 0, i));
            CHECK(to[n * count] == 0xeeeeeeee);
          });
}

/** The vector forms, with lengths of type size_t or int: blocks of lengths of their own, with gaps and from last to first. */
#define VECTORS(name, count_type, suffix, SUFFIX)                                                     \
  static void name(const group_t *g, size_t root, size_t count) {                                     \
    size_t i, j, n = g->size, me = g->rank, most = count + n + 1;                                     \
    static count_type counts[MOST_TASKS], places[MOST_TASKS], same[MOST_TASKS];                       \
    for (j = 0; j < n; j++) {                                                                         \
      counts[j] = (count_type)length_of(j, count);                                                    \
      places[j] = (count_type)((n - 1 - j) * most);                                                   \
      same[j] = (count_type)length_of(me, count);                                                     \
      for (i = 0; i < most; i++) from[(n - 1 - j) * most + i] = element(me, j, i);                    \
    }                                                                                                 \
    BY_EACH(g, PAMI_XFER_SCATTERV##SUFFIX,                                                            \
            {                                                                                         \
              BLOCKS(xfer_scatterv##suffix);                                                          \
              xfer.cmd.xfer_scatterv##suffix.root = g->members[root];                                 \
              xfer.cmd.xfer_scatterv##suffix.stypecounts = me == root ? counts : NULL;                \
              xfer.cmd.xfer_scatterv##suffix.sdispls = me == root ? places : NULL;                    \
              xfer.cmd.xfer_scatterv##suffix.rtypecount = counts[me];                                 \
            },                                                                                        \
            {                                                                                         \
              for (i = 0; i < (size_t)counts[me]; i++) CHECK(to[i] == element(root, me, i));          \
              CHECK(to[counts[me]] == 0xeeeeeeee);                                                    \
            });                                                                                       \
    BY_EACH(g, PAMI_XFER_ALLTOALLV##SUFFIX,                                                           \
            {                                                                                         \
              BLOCKS(xfer_alltoallv##suffix);                                                         \
              xfer.cmd.xfer_alltoallv##suffix.stypecounts = counts;                                   \
              xfer.cmd.xfer_alltoallv##suffix.sdispls = places;                                       \
              xfer.cmd.xfer_alltoallv##suffix.rtypecounts = same;                                     \
              xfer.cmd.xfer_alltoallv##suffix.rdispls = places;                                       \
            },                                                                                        \
            {                                                                                         \
              for (j = 0; j < n; j++) {                                                               \
                const uint32_t *block = to + places[j];                                               \
                for (i = 0; i < (size_t)same[j]; i++) CHECK(block[i] == element(j, me, i));           \
                CHECK(block[same[j]] == 0xeeeeeeee);                                                  \
              }                                                                                       \
            });                                                                                       \
    for (i = 0; i < most; i++) from[i] = element(me, 0, i);                                           \
    BY_EACH(g, PAMI_XFER_GATHERV##SUFFIX,                                                             \
            {                                                                                         \
              BLOCKS(xfer_gatherv##suffix);                                                           \
              xfer.cmd.xfer_gatherv##suffix.root = g->members[root];                                  \
              xfer.cmd.xfer_gatherv##suffix.stypecount = counts[me];                                  \
              xfer.cmd.xfer_gatherv##suffix.rtypecounts = me == root ? counts : NULL;                 \
              xfer.cmd.xfer_gatherv##suffix.rdispls = me == root ? places : NULL;                     \
            },                                                                                        \
            {                                                                                         \
              for (j = 0; j < n; j++) {                                                               \
                const uint32_t *block = to + places[j];                                               \
                for (i = 0; i < (size_t)counts[j] && me == root; i++)                                 \
                  CHECK(block[i] == element(j, 0, i));                                                \
                CHECK(block[me == root ? counts[j] : 0] == 0xeeeeeeee);                               \
              }                                                                                       \
            });                                                                                       \
    BY_EACH(g, PAMI_XFER_ALLGATHERV##SUFFIX,                                                          \
            {                                                                                         \
              BLOCKS(xfer_allgatherv##suffix);                                                        \
              xfer.cmd.xfer_allgatherv##suffix.stypecount = counts[me];                               \
              xfer.cmd.xfer_allgatherv##suffix.rtypecounts = counts;                                  \
              xfer.cmd.xfer_allgatherv##suffix.rdispls = places;                                      \
            },                                                                                        \
            {                                                                                         \
              for (j = 0; j < n; j++) {                                                               \
                const uint32_t *block = to + places[j];                                               \
                for (i = 0; i < (size_t)counts[j]; i++) CHECK(block[i] == element(j, 0, i));          \
                CHECK(block[counts[j]] == 0xeeeeeeee);                                                \
              }                                                                                       \
            });                                                                                       \
  }

VECTORS(vectors, size_t, , )
VECTORS(int_vectors, int, _int, _INT)

/** The kinds that combine, on sums: with a receive buffer of their own and in place. */
static void sums(const group_t *g, size_t root, size_t count) {
  size_t i, j, n = g->size, me = g->rank, before = me * (me - 1) / 2, all = n * (n - 1) / 2;
  static size_t counts[MOST_TASKS];
  int in_place;

  for (in_place = 0; in_place < 2; in_place++) {
#define COMBINE(member)                                                \
  for (i = 0; i < n * (count + 1); i++) from[i] = (uint32_t)(me + i);  \
  BLOCKS(member);                                                      \
  xfer.cmd.member.op = PAMI_DATA_SUM;                                  \
  if (in_place) xfer.cmd.member.rcvbuf = xfer.cmd.member.sndbuf
    uint32_t *result = in_place ? from : to;

    BY_EACH(g, PAMI_XFER_REDUCE,
            {
              COMBINE(xfer_reduce);
              xfer.cmd.xfer_reduce.root = g->members[root];
              xfer.cmd.xfer_reduce.stypecount = xfer.cmd.xfer_reduce.rtypecount = count;
            },
            {
              for (i = 0; i < count; i++) CHECK(me != root || result[i] == all + n * i);
              CHECK(to[me == root && !in_place ? count : 0] == 0xeeeeeeee);
            });
    BY_EACH(g, PAMI_XFER_ALLREDUCE,
            {
              COMBINE(xfer_allreduce);
              xfer.cmd.xfer_allreduce.stypecount = xfer.cmd.xfer_allreduce.rtypecount = count;
            },
            for (i = 0; i < count; i++) CHECK(result[i] == all + n * i));
    BY_EACH(g, PAMI_XFER_SCAN,
            {
              COMBINE(xfer_scan);
              xfer.cmd.xfer_scan.stypecount = xfer.cmd.xfer_scan.rtypecount = count;
            },
            for (i = 0; i < count; i++) CHECK(result[i] == before + me + (me + 1) * i));
    BY_EACH(g, PAMI_XFER_SCAN,
            {
              COMBINE(xfer_scan);
              xfer.cmd.xfer_scan.exclusive = 1;
              xfer.cmd.xfer_scan.stypecount = xfer.cmd.xfer_scan.rtypecount = count;
            },
            for (i = 0; i < count && me > 0; i++) CHECK(result[i] == before + me * i));
    for (j = 0; j < n; j++) counts[j] = count;
    for (j = 0; j < 2; j++) {
      size_t start = 0;
      /* Equal parts, then parts of which the first and the last differ. */
      if (j == 1) counts[0]++, counts[n - 1] -= n > 1 && count > 0;
      for (i = 0; i < me; i++) start += counts[i];
      BY_EACH(g, PAMI_XFER_REDUCE_SCATTER,
              {
                COMBINE(xfer_reduce_scatter);
                xfer.cmd.xfer_reduce_scatter.stypecount = 0;
                for (i = 0; i < n; i++) xfer.cmd.xfer_reduce_scatter.stypecount += counts[i];
                xfer.cmd.xfer_reduce_scatter.rcounts = counts;
              },
              for (i = 0; i < counts[me]; i++) CHECK(result[i] == all + n * (start + i)));
    }
  }
}

/** In place where a block of the receive buffer is what is sent. */
static void in_place(const group_t *g, size_t root, size_t count) {
  size_t i, j, n = g->size, me = g->rank;
  BY_EACH(g, PAMI_XFER_ALLGATHER,
          {
            BLOCKS(xfer_allgather);
            xfer.cmd.xfer_allgather.sndbuf = (char *)(to + me * count);
            for (i = 0; i < count; i++) to[me * count + i] = element(me, 0, i);
            xfer.cmd.xfer_allgather.stypecount = xfer.cmd.xfer_allgather.rtypecount = count;
          },
          for (j = 0; j < n; j++) for (i = 0; i < count; i++) CHECK(to[j * count + i] == element(j, 0, i)));
  BY_EACH(g, PAMI_XFER_GATHER,
          {
            BLOCKS(xfer_gather);
            xfer.cmd.xfer_gather.root = g->members[root];
            xfer.cmd.xfer_gather.sndbuf = (char *)(to + me * count);
            for (i = 0; i < count; i++) to[me * count + i] = element(me, 0, i);
            xfer.cmd.xfer_gather.stypecount = xfer.cmd.xfer_gather.rtypecount = count;
          },
          for (j = 0; j < n && me == root; j++) for (i = 0; i < count; i++)
              CHECK(to[j * count + i] == element(j, 0, i)));
  BY_EACH(g, PAMI_XFER_SCATTER,
          {
            BLOCKS(xfer_scatter);
            xfer.cmd.xfer_scatter.root = g->members[root];
            for (i = 0; i < n * count; i++) from[i] = element(me, 0, i);
            if (me == root) xfer.cmd.xfer_scatter.rcvbuf = (char *)(from + me * count);
            xfer.cmd.xfer_scatter.stypecount = xfer.cmd.xfer_scatter.rtypecount = count;
          },
          for (i = 0; i < count; i++) CHECK((me == root ? from + me * count : to)[i] == element(root, 0, me * count + i)));
  BY_EACH(g, PAMI_XFER_ALLTOALL,
          {
            BLOCKS(xfer_alltoall);
            xfer.cmd.xfer_alltoall.sndbuf = (char *)to;
            for (j = 0; j < n; j++) for (i = 0; i < count; i++) to[j * count + i] = element(me, j, i);
            xfer.cmd.xfer_alltoall.stypecount = xfer.cmd.xfer_alltoall.rtypecount = count;
          },
          for (j = 0; j < n; j++) for (i = 0; i < count; i++) CHECK(to[j * count + i] == element(j, me, i)));
}

/** One value of task `i` for the reductions of a type: small, so that products are exact, and 0 at some. */
#define VALUE(i, e) ((((i) * 3 + (e)) % 5) * (((i) + (e)) % 4 != 3))
enum { ELEMENTS = 37 };

/** An allreduce on ELEMENTS elements. */
static void allreduce(const group_t *g, pami_type_t type, pami_data_function op, void *send, void *receive) {
  BY_EACH(g, PAMI_XFER_ALLREDUCE,
          {
            xfer.cmd.xfer_allreduce.sndbuf = send;
            xfer.cmd.xfer_allreduce.rcvbuf = receive;
            xfer.cmd.xfer_allreduce.stype = xfer.cmd.xfer_allreduce.rtype = type;
            xfer.cmd.xfer_allreduce.stypecount = xfer.cmd.xfer_allreduce.rtypecount = ELEMENTS;
            xfer.cmd.xfer_allreduce.op = op;
            if (data_[by_].check_fn(&xfer).check.datatype_op) {
              CHECK(data_[by_].check_correct.values.checkrequired);
              CHECK(op == PAMI_DATA_COPY || op == PAMI_DATA_NOOP);
              continue;
            }
          },
          );
}

/** An operation on a type, against the same in C: `a` from `b`, the next task's. */
#define ON(type, ctype, op, combine)                                          \
  do {                                                                        \
    static ctype send_[ELEMENTS], receive_[ELEMENTS];                         \
    size_t e_, i_;                                                            \
    memset(send_, 0, sizeof send_);                                           \
    for (e_ = 0; e_ < ELEMENTS; e_++) send_[e_] = (ctype)VALUE(g->rank, e_);  \
    allreduce(g, type, op, send_, receive_);                                  \
    for (e_ = 0; e_ < ELEMENTS; e_++) {                                       \
      ctype a = (ctype)VALUE(0, e_);                                          \
      for (i_ = 1; i_ < g->size; i_++) {                                      \
        ctype b = (ctype)VALUE(i_, e_);                                       \
        combine;                                                              \
      }                                                                       \
      CHECK(receive_[e_] == a);                                               \
    }                                                                         \
  } while (0)

#define ON_ANY(type, ctype)                      \
  ON(type, ctype, PAMI_DATA_COPY, a = b);        \
  ON(type, ctype, PAMI_DATA_NOOP, a = a; (void)b)
#define ON_COMPLEX(type, ctype)                  \
  ON_ANY(type, ctype);                           \
  ON(type, ctype, PAMI_DATA_SUM, a = a + b);     \
  ON(type, ctype, PAMI_DATA_PROD, a = a * b)
#define ON_FLOAT(type, ctype)                          \
  ON_COMPLEX(type, ctype);                             \
  ON(type, ctype, PAMI_DATA_MAX, a = a > b ? a : b);   \
  ON(type, ctype, PAMI_DATA_MIN, a = a < b ? a : b)
#define ON_LOGICAL(type, ctype)                        \
  ON_ANY(type, ctype);                                 \
  ON(type, ctype, PAMI_DATA_LAND, a = a && b);         \
  ON(type, ctype, PAMI_DATA_LOR, a = a || b);          \
  ON(type, ctype, PAMI_DATA_LXOR, a = !a != !b)
#define ON_INTEGER(type, ctype)                               \
  ON_FLOAT(type, ctype);                                      \
  ON_LOGICAL(type, ctype);                                    \
  ON(type, ctype, PAMI_DATA_BAND, a = (ctype)(a & b));        \
  ON(type, ctype, PAMI_DATA_BOR, a = (ctype)(a | b));         \
  ON(type, ctype, PAMI_DATA_BXOR, a = (ctype)(a ^ b))

/** The place of the greatest and of the least value. */
#define ON_PAIR(type, value, index)                                                         \
  do {                                                                                      \
    typedef struct { value v; index i; } pair_t;                                            \
    static pair_t send_[ELEMENTS], receive_[ELEMENTS];                                      \
    size_t e_, i_, least_;                                                                  \
    for (e_ = 0; e_ < ELEMENTS; e_++) {                                                     \
      send_[e_].v = (value)VALUE(g->rank, e_);                                              \
      send_[e_].i = (index)(100 - g->rank);                                                 \
    }                                                                                       \
    for (least_ = 0; least_ < 2; least_++) {                                                \
      allreduce(g, type, least_ ? PAMI_DATA_MINLOC : PAMI_DATA_MAXLOC, send_, receive_);    \
      for (e_ = 0; e_ < ELEMENTS; e_++) {                                                   \
        size_t best_ = 0;                                                                   \
        for (i_ = 1; i_ < g->size; i_++) {                                                  \
          value a_ = (value)VALUE(best_, e_), b_ = (value)VALUE(i_, e_);                    \
          /* Of equal values the last one has the smaller index. */                         \
          if (least_ ? b_ <= a_ : b_ >= a_) best_ = i_;                                     \
        }                                                                                   \
        CHECK(receive_[e_].v == (value)VALUE(best_, e_));                                   \
        CHECK(receive_[e_].i == (index)(100 - best_));                                      \
      }                                                                                     \
    }                                                                                       \
  } while (0)

static void operations(const group_t *g) {
  ON_INTEGER(PAMI_TYPE_SIGNED_INT, int);
  most_algorithms = 1;
  ON_INTEGER(PAMI_TYPE_BYTE, unsigned char);
  ON_INTEGER(PAMI_TYPE_SIGNED_CHAR, signed char);
  ON_INTEGER(PAMI_TYPE_UNSIGNED_CHAR, unsigned char);
  ON_INTEGER(PAMI_TYPE_SIGNED_SHORT, short);
  ON_INTEGER(PAMI_TYPE_UNSIGNED_SHORT, unsigned short);
  ON_INTEGER(PAMI_TYPE_UNSIGNED_INT, unsigned);
  ON_INTEGER(PAMI_TYPE_SIGNED_LONG, long);
  ON_INTEGER(PAMI_TYPE_UNSIGNED_LONG, unsigned long);
  ON_INTEGER(PAMI_TYPE_SIGNED_LONG_LONG, long long);
  ON_INTEGER(PAMI_TYPE_UNSIGNED_LONG_LONG, unsigned long long);
  ON_FLOAT(PAMI_TYPE_FLOAT, float);
  ON_FLOAT(PAMI_TYPE_DOUBLE, double);
  ON_FLOAT(PAMI_TYPE_LONG_DOUBLE, long double);
  ON_LOGICAL(PAMI_TYPE_LOGICAL1, uint8_t);
  ON_LOGICAL(PAMI_TYPE_LOGICAL2, uint16_t);
  ON_LOGICAL(PAMI_TYPE_LOGICAL4, uint32_t);
  ON_LOGICAL(PAMI_TYPE_LOGICAL8, uint64_t);
  ON_COMPLEX(PAMI_TYPE_SINGLE_COMPLEX, float _Complex);
  ON_COMPLEX(PAMI_TYPE_DOUBLE_COMPLEX, double _Complex);
  ON_PAIR(PAMI_TYPE_LOC_2INT, int, int);
  ON_PAIR(PAMI_TYPE_LOC_2FLOAT, float, float);
  ON_PAIR(PAMI_TYPE_LOC_2DOUBLE, double, double);
  ON_PAIR(PAMI_TYPE_LOC_SHORT_INT, short, int);
  ON_PAIR(PAMI_TYPE_LOC_FLOAT_INT, float, int);
  ON_PAIR(PAMI_TYPE_LOC_DOUBLE_INT, double, int);
  ON_PAIR(PAMI_TYPE_LOC_LONG_INT, long, int);
  ON_PAIR(PAMI_TYPE_LOC_LONGDOUBLE_INT, long double, int);
  most_algorithms = ALGORITHMS;
}

/** A function of the program: matrices of 2 by 2, whose product is not commutative. */
static void multiply(void *target, void *source, size_t bytes, void *cookie) {
  long *a = target, *b = source;
  size_t i;
  ++*(size_t *)cookie;
  CHECK(bytes % (4 * sizeof *a) == 0);
  for (i = 0; i < bytes / sizeof *a; i += 4) {
    long p = a[i] * b[i] + a[i + 1] * b[i + 2], q = a[i] * b[i + 1] + a[i + 1] * b[i + 3];
    long r = a[i + 2] * b[i] + a[i + 3] * b[i + 2], s = a[i + 2] * b[i + 1] + a[i + 3] * b[i + 3];
    a[i] = p, a[i + 1] = q, a[i + 2] = r, a[i + 3] = s;
  }
}

static void functions(const group_t *g) {
  static long send[4 * ELEMENTS], receive[4 * ELEMENTS], expected[4 * ELEMENTS];
  size_t calls = 0, i, task, expected_calls = 0;
  int exclusive;
  pami_type_t matrix;
  SUCCEEDS(PAMI_Type_create(&matrix));
  SUCCEEDS(PAMI_Type_add_simple(matrix, 4 * sizeof(long), 0, 1, 4 * sizeof(long)));
  SUCCEEDS(PAMI_Type_complete(matrix, 4 * sizeof(long)));
  for (exclusive = 0; exclusive < 2; exclusive++) {
    for (task = g->rank + 1; task-- > 0;) {
      for (i = 0; i < 4 * ELEMENTS; i++) send[i] = (long)(VALUE(task, i) + i % 3);
      if (task == g->rank && exclusive) memset(expected, 0, sizeof expected);
      if (task == g->rank && exclusive) for (i = 0; i < 4 * ELEMENTS; i += 4) expected[i] = expected[i + 3] = 1;
      if (task == g->rank && !exclusive) memcpy(expected, send, sizeof send);
      if (task < g->rank) {
        multiply(send, expected, sizeof send, &expected_calls);
        memcpy(expected, send, sizeof send);
      }
    }
    BY_EACH(g, PAMI_XFER_SCAN,
            {
              for (i = 0; i < 4 * ELEMENTS; i++) send[i] = (long)(VALUE(g->rank, i) + i % 3);
              xfer.cmd.xfer_scan.sndbuf = (char *)send;
              xfer.cmd.xfer_scan.rcvbuf = (char *)receive;
              xfer.cmd.xfer_scan.stype = xfer.cmd.xfer_scan.rtype = matrix;
              xfer.cmd.xfer_scan.stypecount = xfer.cmd.xfer_scan.rtypecount = ELEMENTS;
              xfer.cmd.xfer_scan.op = multiply;
              xfer.cmd.xfer_scan.data_cookie = &calls;
              xfer.cmd.xfer_scan.exclusive = exclusive;
            },
            CHECK((exclusive && g->rank == 0) || memcmp(receive, expected, sizeof expected) == 0));
  }
  CHECK(calls > 0 || g->rank == 0);
  SUCCEEDS(PAMI_Type_destroy(&matrix));
}

/** Collectives of two geometries under way at once, several of each. */
static void interleaved(const group_t *world, const group_t *part) {
  enum { ROUNDS = 6, COUNT = 1500 };
  static uint32_t of_world[ROUNDS][COUNT], of_part[ROUNDS][COUNT], one[COUNT];
  pami_algorithm_t all[2][ALGORITHMS];
  pami_metadata_t data[ALGORITHMS];
  int left = 0;
  size_t round, i;
  for (i = 0; i < COUNT; i++) one[i] = (uint32_t)(i + 1);
  algorithms(world->geometry, PAMI_XFER_ALLREDUCE, all[0], data);
  if (part->geometry != NULL) algorithms(part->geometry, PAMI_XFER_ALLREDUCE, all[1], data);
  for (round = 0; round < ROUNDS; round++) {
    pami_xfer_t xfer;
    int both;
    for (both = 0; both < 1 + (part->geometry != NULL); both++) {
      /* Tasks begin with the one or with the other. */
      int second = (both + world->rank + round) % 2 && part->geometry != NULL;
      if (part->geometry != NULL && both == 1) second = !((world->rank + round) % 2);
      memset(&xfer, 0, sizeof xfer);
      xfer.cb_done = ended;
      xfer.cookie = &left;
      xfer.algorithm = all[second][0];
      xfer.cmd.xfer_allreduce.sndbuf = (char *)one;
      xfer.cmd.xfer_allreduce.rcvbuf = (char *)(second ? of_part[round] : of_world[round]);
      xfer.cmd.xfer_allreduce.stype = xfer.cmd.xfer_allreduce.rtype = PAMI_TYPE_UNSIGNED_INT;
      xfer.cmd.xfer_allreduce.stypecount = xfer.cmd.xfer_allreduce.rtypecount = COUNT - 200 * round;
      xfer.cmd.xfer_allreduce.op = PAMI_DATA_SUM;
      left++;
      SUCCEEDS(PAMI_Collective(context, &xfer));
      collectives++;
    }
  }
  await(context, &left);
  for (round = 0; round < ROUNDS; round++) {
    for (i = 0; i < COUNT; i++) {
      uint32_t there = i < COUNT - 200 * round;
      CHECK(of_world[round][i] == there * world->size * (i + 1));
      CHECK(part->geometry == NULL || of_part[round][i] == there * part->size * (i + 1));
    }
  }
}

/** All kinds on one geometry, with blocks of each of these lengths. */
static void kinds(const group_t *g, const size_t *counts, size_t lengths) {
  size_t i;
  for (i = 0; i < lengths; i++) {
    size_t root = i % g->size;
    moves(g, root, counts[i]);
    vectors(g, root, counts[i]);
    int_vectors(g, g->size - 1 - root, counts[i]);
    sums(g, root, counts[i]);
    in_place(g, root, counts[i]);
    BY_EACH(g, PAMI_XFER_BARRIER, , );
  }
  functions(g);
}

int main(void) {
  static const size_t counts[] = {0, 1, 60, 5000};
  group_t world, part;
  pami_task_t list[MOST_TASKS];
  size_t task;
  int left = 1;

  SUCCEEDS(PAMI_Client_create("collectives", &client, NULL, 0));
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  memset(&world, 0, sizeof world);
  memset(&part, 0, sizeof part);
  world.rank = client_number(client, PAMI_CLIENT_TASK_ID);
  world.size = client_number(client, PAMI_CLIENT_NUM_TASKS);
  CHECK(world.size <= MOST_TASKS);
  for (task = 0; task < world.size; task++) world.members[task] = endpoint(client, task, 0);
  SUCCEEDS(PAMI_Geometry_world(client, &world.geometry));

  /* All but task 1, from last to first. */
  for (task = world.size; task-- > 0;) {
    if (task == 1) continue;
    if (task == world.rank) part.rank = part.size;
    list[part.size] = (pami_task_t)task;
    part.members[part.size++] = endpoint(client, task, 0);
  }
  SUCCEEDS(PAMI_Geometry_create_tasklist(client, 0, NULL, 0, &part.geometry, world.geometry, 77, list, part.size,
                                         context, ended, &left));
  await(context, &left);
  CHECK((part.geometry == NULL) == (world.rank == 1));

  kinds(&world, counts, 4);
  operations(&world);
  if (part.geometry != NULL) kinds(&part, counts + 1, 2);
  interleaved(&world, &part);
  barrier(context, world.geometry);

  if (part.geometry != NULL) {
    left = 1;
    SUCCEEDS(PAMI_Geometry_destroy(client, &part.geometry, context, ended, &left));
    await(context, &left);
  }
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("task %zu of %zu: %zu collectives\n", world.rank, world.size, collectives);
  return 0;
}
