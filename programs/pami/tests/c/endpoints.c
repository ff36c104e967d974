/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Collectives whose endpoints are all contexts of all tasks, each with data of its own, and whose elements lie in a row or
 * with holes between them. Elements say where they come from, and holes are left alone. */
#include "geometry.h"

enum { MOST_OWN = 3, MOST_ALL = 12, MOST = 300, STRIDE = 3, HOLE = 0x5a5a5a5a };

static pami_client_t client;
static pami_context_t contexts[MOST_OWN];
/** Endpoints of this task, of all tasks, and the first of this task. */
static size_t own, all, first;
static pami_geometry_t geometry;
static pami_endpoint_t members[MOST_ALL];
static size_t collectives;
/** An element with holes before and behind it. */
static pami_type_t holes;

/** An endpoint's buffers. */
static int32_t from[MOST_OWN][MOST_ALL * MOST * STRIDE], to[MOST_OWN][MOST_ALL * MOST * STRIDE];

/** Where element `place` lies in a buffer. */
static size_t at(size_t place, int spread) { return spread ? place * STRIDE + 1 : place; }

static int32_t element(size_t of, size_t for_, size_t place) {
  return (int32_t)(of * 1000003 + for_ * 10007 + place);
}

static void fill(size_t own_, size_t count, int spread) {
  size_t i, j;
  for (j = 0; j < all; j++)
    for (i = 0; i < count; i++) from[own_][at(j * count + i, spread)] = element(first + own_, j, i);
  for (i = 0; i < MOST_ALL * MOST * STRIDE; i++) to[own_][i] = HOLE;
}

/** Expected element `place` at an endpoint of the geometry; -1: none. */
typedef int64_t expected_t(size_t me, size_t root, size_t count, size_t place);

static int64_t scattered(size_t me, size_t root, size_t count, size_t place) {
  return place < count ? element(root, me, place) : -1;
}

static int64_t gathered(size_t me, size_t root, size_t count, size_t place) {
  return me == root && place < all * count ? element(place / count, 0, place % count) : -1;
}

static int64_t all_gathered(size_t me, size_t root, size_t count, size_t place) {
  (void)me, (void)root;
  return place < all * count ? element(place / count, 0, place % count) : -1;
}

static int64_t exchanged(size_t me, size_t root, size_t count, size_t place) {
  (void)root;
  return place < all * count ? element(place / count, me, place % count) : -1;
}

static int64_t sum(size_t until, size_t for_, size_t place) {
  int64_t found = 0;
  size_t of;
  for (of = 0; of < until; of++) found += element(of, for_, place);
  return found;
}

static int64_t reduced(size_t me, size_t root, size_t count, size_t place) {
  return me == root && place < count ? sum(all, 0, place) : -1;
}

static int64_t all_reduced(size_t me, size_t root, size_t count, size_t place) {
  (void)me, (void)root;
  return place < count ? sum(all, 0, place) : -1;
}

static int64_t scanned(size_t me, size_t root, size_t count, size_t place) {
  (void)root;
  return place < count ? sum(me + 1, 0, place) : -1;
}

static int64_t reduce_scattered(size_t me, size_t root, size_t count, size_t place) {
  (void)root;
  return place < count ? sum(all, me, place) : -1;
}

/** Begins a collective at all endpoints of this task, by each of its algorithms in turn, and checks what has come. */
static void each(pami_xfer_type_t kind, size_t root, size_t count, int spread, expected_t *expected) {
  pami_algorithm_t list[ALGORITHMS];
  pami_metadata_t data[ALGORITHMS];
  size_t lists[4][MOST_ALL], algorithm, number = algorithms(geometry, kind, list, data), i, me;
  int counts[2][MOST_ALL];
  pami_type_t type = spread ? holes : PAMI_TYPE_SIGNED_INT;
  CHECK(number > 0);
  for (i = 0; i < all; i++) {
    lists[0][i] = count;
    lists[1][i] = i * count;
    counts[0][i] = (int)count;
    counts[1][i] = (int)(i * count);
  }
  for (algorithm = 0; algorithm < number; algorithm++) {
    int left = (int)own;
    for (me = 0; me < own; me++) {
      pami_xfer_t xfer;
      char *send = (char *)from[me], *receive = (char *)to[me];
      fill(me, count, spread);
      memset(&xfer, 0, sizeof xfer);
      xfer.algorithm = list[algorithm];
      xfer.cb_done = ended;
      xfer.cookie = &left;
      switch (kind) {
/** Parameters that kinds share. */
#define BOTH(member) \
  xfer.cmd.member.sndbuf = send, xfer.cmd.member.rcvbuf = receive, xfer.cmd.member.stype = xfer.cmd.member.rtype = type
#define COUNTS(member) BOTH(member), xfer.cmd.member.stypecount = xfer.cmd.member.rtypecount = count
#define SUM(member) xfer.cmd.member.op = PAMI_DATA_SUM, xfer.cmd.member.commutative = 1
      case PAMI_XFER_SCATTER:
        COUNTS(xfer_scatter);
        xfer.cmd.xfer_scatter.root = members[root];
        break;
      case PAMI_XFER_SCATTERV:
        BOTH(xfer_scatterv);
        xfer.cmd.xfer_scatterv.root = members[root];
        xfer.cmd.xfer_scatterv.stypecounts = lists[0];
        xfer.cmd.xfer_scatterv.sdispls = lists[1];
        xfer.cmd.xfer_scatterv.rtypecount = count;
        break;
      case PAMI_XFER_GATHER:
        COUNTS(xfer_gather);
        xfer.cmd.xfer_gather.root = members[root];
        break;
      case PAMI_XFER_GATHERV_INT:
        BOTH(xfer_gatherv_int);
        xfer.cmd.xfer_gatherv_int.root = members[root];
        xfer.cmd.xfer_gatherv_int.stypecount = (int)count;
        xfer.cmd.xfer_gatherv_int.rtypecounts = counts[0];
        xfer.cmd.xfer_gatherv_int.rdispls = counts[1];
        break;
      case PAMI_XFER_ALLGATHER:
        COUNTS(xfer_allgather);
        break;
      case PAMI_XFER_ALLGATHERV:
        BOTH(xfer_allgatherv);
        xfer.cmd.xfer_allgatherv.stypecount = count;
        xfer.cmd.xfer_allgatherv.rtypecounts = lists[0];
        xfer.cmd.xfer_allgatherv.rdispls = lists[1];
        break;
      case PAMI_XFER_ALLTOALL:
        COUNTS(xfer_alltoall);
        break;
      case PAMI_XFER_ALLTOALLV_INT:
        BOTH(xfer_alltoallv_int);
        xfer.cmd.xfer_alltoallv_int.stypecounts = xfer.cmd.xfer_alltoallv_int.rtypecounts = counts[0];
        xfer.cmd.xfer_alltoallv_int.sdispls = xfer.cmd.xfer_alltoallv_int.rdispls = counts[1];
        break;
      case PAMI_XFER_REDUCE:
        COUNTS(xfer_reduce);
        SUM(xfer_reduce);
        xfer.cmd.xfer_reduce.root = members[root];
        break;
      case PAMI_XFER_ALLREDUCE:
        COUNTS(xfer_allreduce);
        SUM(xfer_allreduce);
        break;
      case PAMI_XFER_SCAN:
        COUNTS(xfer_scan);
        xfer.cmd.xfer_scan.op = PAMI_DATA_SUM;
        break;
      case PAMI_XFER_REDUCE_SCATTER:
        BOTH(xfer_reduce_scatter);
        SUM(xfer_reduce_scatter);
        xfer.cmd.xfer_reduce_scatter.stypecount = all * count;
        xfer.cmd.xfer_reduce_scatter.rcounts = lists[0];
        break;
      default: /* A broadcast comes to where it is sent from. */
        CHECK(kind == PAMI_XFER_BROADCAST);
        for (i = 0; i < count && first + me == root; i++) to[me][at(i, spread)] = element(root, first + me, i);
        xfer.cmd.xfer_broadcast.root = members[root];
        xfer.cmd.xfer_broadcast.buf = receive;
        xfer.cmd.xfer_broadcast.type = type;
        xfer.cmd.xfer_broadcast.typecount = count;
      }
      CHECK(data[algorithm].check_fn(&xfer).bitmask == 0);
      SUCCEEDS(PAMI_Collective(contexts[me], &xfer));
    }
    while (*(volatile int *)&left > 0) PAMI_Context_advancev(contexts, own, 1);
    for (me = 0; me < own; me++)
      for (i = 0; i < MOST_ALL * MOST * STRIDE; i++) {
        size_t place = spread ? i / STRIDE : i;
        int64_t wanted = spread && i % STRIDE != 1 ? -1 : expected(first + me, root, count, place);
        CHECK(to[me][i] == (wanted < 0 ? HOLE : (int32_t)wanted));
      }
    collectives++;
  }
}

/** A broadcast is a scatter of the same to all. */
static int64_t sent(size_t me, size_t root, size_t count, size_t place) {
  (void)me;
  return place < count ? element(root, root, place) : -1;
}

static void kinds(size_t root, size_t count, int spread) {
  each(PAMI_XFER_BROADCAST, root, count, spread, sent);
  each(PAMI_XFER_SCATTER, root, count, spread, scattered);
  each(PAMI_XFER_SCATTERV, root, count, spread, scattered);
  each(PAMI_XFER_GATHER, root, count, spread, gathered);
  each(PAMI_XFER_GATHERV_INT, root, count, spread, gathered);
  each(PAMI_XFER_ALLGATHER, root, count, spread, all_gathered);
  each(PAMI_XFER_ALLGATHERV, root, count, spread, all_gathered);
  each(PAMI_XFER_ALLTOALL, root, count, spread, exchanged);
  each(PAMI_XFER_ALLTOALLV_INT, root, count, spread, exchanged);
  each(PAMI_XFER_REDUCE, root, count, spread, reduced);
  each(PAMI_XFER_ALLREDUCE, root, count, spread, all_reduced);
  each(PAMI_XFER_SCAN, root, count, spread, scanned);
  each(PAMI_XFER_REDUCE_SCATTER, root, count, spread, reduce_scattered);
}

int main(void) {
  size_t task, tasks, offset;
  pami_geometry_range_t range;
  pami_configuration_t optimize;
  int left = 1;

  SUCCEEDS(PAMI_Client_create("endpoints", &client, NULL, 0));
  own = client_number(client, PAMI_CLIENT_NUM_CONTEXTS);
  task = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  CHECK(own > 1 && tasks <= MOST_ALL);
  /* All contexts of the client take part. */
  CHECK(own >= MOST_OWN || tasks * own <= MOST_ALL);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, contexts, own = own < MOST_OWN ? own : MOST_OWN));
  CHECK(tasks * own <= MOST_ALL);
  all = tasks * own;
  first = task * own;
  for (offset = 0; offset < all; offset++) members[offset] = endpoint(client, offset / own, offset % own);
  SUCCEEDS(PAMI_Type_create(&holes));
  SUCCEEDS(PAMI_Type_add_typed(holes, PAMI_TYPE_SIGNED_INT, 4, 1, 8));
  SUCCEEDS(PAMI_Type_complete(holes, 4));

  /* On the collective network where it can be had. */
  optimize.name = PAMI_GEOMETRY_OPTIMIZE;
  optimize.value.intval = 1;
  SUCCEEDS(PAMI_Geometry_create_endpointlist(client, &optimize, 1, &geometry, 7, members, all, contexts[0], ended, &left));
  while (*(volatile int *)&left > 0) PAMI_Context_advancev(contexts, own, 1);
  kinds(0, 1, 0);
  kinds(all - 1, 60, 0);
  kinds(all / 2, MOST, 0);
  kinds(all - 1, 5, 1);
  kinds(0, MOST, 1);

  left = 1;
  SUCCEEDS(PAMI_Geometry_destroy(client, &geometry, contexts[0], ended, &left));
  while (*(volatile int *)&left > 0) PAMI_Context_advancev(contexts, own, 1);

  /* The same by ranges of tasks: all contexts of a client. */
  range.lo = 0;
  range.hi = (pami_task_t)(tasks - 1);
  left = 1;
  SUCCEEDS(PAMI_Geometry_create_taskrange(client, PAMI_ALL_CONTEXTS, NULL, 0, &geometry, PAMI_GEOMETRY_NULL, 8, &range,
                                          1, contexts[0], ended, &left));
  while (*(volatile int *)&left > 0) PAMI_Context_advancev(contexts, own, 1);
  SUCCEEDS(PAMI_Type_destroy(&holes));
  left = 1;
  SUCCEEDS(PAMI_Geometry_destroy(client, &geometry, contexts[0], ended, &left));
  while (*(volatile int *)&left > 0) PAMI_Context_advancev(contexts, own, 1);
  SUCCEEDS(PAMI_Context_destroyv(contexts, own));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("task %zu of %zu: %zu collectives\n", task, tasks, collectives);
  return 0;
}
