/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Active-message collectives of every kind from every root, one after the other and at once, with headers and data of every
 * length, in a row and with holes, in geometries of one and several endpoints a task and of a part of the tasks. */
#include "geometry.h"
#include <stdint.h>

enum { MOST_OWN = 2, MOST_ALL = 16, KINDS = 4, LONG = 900, STRIDE = 3, HOLE = 0x5a5a5a5a, DISPATCH = 11 };

static const pami_xfer_type_t kinds[KINDS] = {PAMI_XFER_AMBROADCAST, PAMI_XFER_AMSCATTER, PAMI_XFER_AMGATHER,
                                              PAMI_XFER_AMREDUCE};
static const int32_t counts[] = {0, 1, 40, 130, 1500, 6000};
static const size_t lengths[] = {0, 32, LONG};
enum { COUNTS = sizeof counts / sizeof *counts, LENGTHS = sizeof lengths / sizeof *lengths };

static pami_client_t client;
static pami_context_t contexts[MOST_OWN];
static size_t me, tasks, own, collectives;
/** An element with holes before and behind it. */
static pami_type_t holes;

/** A collective, as its header tells it. */
struct round {
  int32_t kind, root, count, spread, number, to;
  int32_t length;
};

/** A geometry, and what its endpoints of this task wait for. */
static struct place {
  pami_geometry_t geometry;
  size_t all, own, index[MOST_OWN];
  pami_algorithm_t algorithm[KINDS];
  /** The collective that is under way alone; told by its header where there is one. */
  struct round alone;
} place;

/** An endpoint of this task. */
static struct slot {
  size_t own;
  int parts, calls;
} slots[MOST_OWN];

/** A part or a call that has not ended. */
struct open {
  struct slot *slot;
  struct round round;
  size_t room;
  int32_t *data;
  char *headers;
  /** At the root, whose result is there at both of its callbacks. */
  int32_t *result;
};

static int32_t value(const struct round *round, size_t from, size_t to, size_t at) {
  return (int32_t)(round->kind * 1000003u + (size_t)round->root * 70001u + (size_t)round->number * 307u + from * 10007u +
                   to * 101u + at);
}

static char padding(const struct round *round, size_t at) { return (char)(round->root * 3 + round->number + at); }

/** Where element `at` lies in a buffer. */
static size_t lies(const struct round *round, size_t at) { return round->spread ? at * STRIDE + 1 : at; }

/** A buffer for elements, with or without holes. */
static int32_t *buffer(size_t count, size_t *room) {
  int32_t *data;
  size_t at;
  *room = (count + 2) * STRIDE;
  data = malloc(*room * sizeof *data);
  CHECK(data != NULL);
  for (at = 0; at < *room; at++) data[at] = HOLE;
  return data;
}

/** Ends the program unless a buffer has `count` elements and nothing else. */
static void has(const struct open *open, const int32_t *data, size_t room, size_t count, int gathered) {
  const struct round *round = &open->round;
  size_t at, next = 0, from, mine = place.index[open->slot->own];
  for (at = 0; at < room; at++) {
    int32_t expected = HOLE;
    if (next < count && at == lies(round, next)) {
      size_t part = round->count ? next / (size_t)round->count : 0, in = round->count ? next % (size_t)round->count : 0;
      if (round->kind == PAMI_XFER_AMBROADCAST) expected = value(round, (size_t)round->root, 0, next);
      if (round->kind == PAMI_XFER_AMSCATTER) expected = value(round, (size_t)round->root, mine, next);
      if (round->kind == PAMI_XFER_AMGATHER) expected = value(round, gathered ? part : mine, 0, in);
      if (round->kind == PAMI_XFER_AMREDUCE) {
        uint32_t sum = 0;
        for (from = 0; from < place.all; from++) sum += (uint32_t)value(round, from, 0, next);
        expected = (int32_t)(gathered ? sum : (uint32_t)value(round, mine, 0, next));
      }
      next++;
    }
    if (data[at] != expected) {
      printf("kind %d root %d count %d spread %d length %d: endpoint %zu has %d at %zu, expected %d\n", round->kind,
             round->root, round->count, round->spread, round->length, mine, data[at], at, expected);
      exit(1);
    }
  }
  CHECK(next == count);
}

/** The result at the root is there at each of its callbacks. */
static void result_is_there(const struct open *open) {
  size_t count = (size_t)open->round.count * (open->round.kind == PAMI_XFER_AMGATHER ? place.all : 1);
  if (open->result) has(open, open->result, (count + 2) * STRIDE, count, 1);
}

/** State of the root's part; each endpoint has one pending collective of each kind and root. */
static int32_t *results[MOST_ALL][KINDS];

static void part_done(pami_context_t context, void *cookie, pami_result_t result) {
  struct open *open = cookie;
  CHECK(context == contexts[open->slot->own] && result == PAMI_SUCCESS && open->slot->parts > 0);
  has(open, open->data, open->room, (size_t)open->round.count, 0);
  if ((size_t)open->round.root == place.index[open->slot->own]) {
    open->result = results[open->round.root][open->round.kind - PAMI_XFER_AMBROADCAST];
    if (open->round.kind >= PAMI_XFER_AMGATHER) result_is_there(open);
  }
  open->slot->parts--;
  free(open->data);
  free(open);
}

static void call_done(pami_context_t context, void *cookie, pami_result_t result) {
  struct open *open = cookie;
  CHECK(context == contexts[open->slot->own] && result == PAMI_SUCCESS && open->slot->calls > 0);
  result_is_there(open);
  open->slot->calls--;
  free(open->data);
  free(open->headers);
  free(open);
}

/** A part of an endpoint begins. */
static struct open *part(pami_context_t context, void *cookie, const void *header, size_t length, size_t bytes,
                         pami_endpoint_t origin, pami_geometry_t geometry, pami_recv_t *recv) {
  struct slot *slot = cookie;
  struct open *open = calloc(1, sizeof *open);
  pami_task_t task;
  size_t offset, at;
  CHECK(open != NULL && context == contexts[slot->own] && geometry == place.geometry && recv != NULL);
  open->slot = slot;
  open->round = place.alone;
  if (length > 0) {
    memcpy(&open->round, header, sizeof open->round);
    CHECK(length == (size_t)open->round.length);
    for (at = sizeof open->round; at < length; at++)
      CHECK(((const char *)header)[at] == padding(&open->round, at));
    if (open->round.kind == PAMI_XFER_AMSCATTER || open->round.kind == PAMI_XFER_AMGATHER)
      CHECK((size_t)open->round.to == place.index[slot->own]);
  } else {
    CHECK(open->round.length == 0);
  }
  CHECK(bytes == (size_t)open->round.count * sizeof(int32_t));
  SUCCEEDS(PAMI_Endpoint_query(origin, &task, &offset));
  CHECK(task * place.own + offset == (size_t)open->round.root || place.all < tasks * place.own);
  open->data = buffer((size_t)open->round.count, &open->room);
  recv->cookie = open;
  recv->local_fn = part_done;
  recv->addr = open->data;
  recv->type = open->round.spread ? holes : PAMI_TYPE_SIGNED_INT;
  recv->data_fn = PAMI_DATA_COPY;
  return open;
}

static void receives(pami_context_t context, void *cookie, const void *header, size_t length, const void *pipe,
                     size_t bytes, pami_endpoint_t origin, pami_geometry_t geometry, pami_recv_t *recv) {
  CHECK(pipe == NULL);
  part(context, cookie, header, length, bytes, origin, geometry, recv);
}

static void gathers(pami_context_t context, void *cookie, const void *header, size_t length, size_t bytes,
                    pami_endpoint_t origin, pami_geometry_t geometry, pami_recv_t *send) {
  struct open *open = part(context, cookie, header, length, bytes, origin, geometry, send);
  int32_t at;
  for (at = 0; at < open->round.count; at++)
    open->data[lies(&open->round, (size_t)at)] = value(&open->round, place.index[open->slot->own], 0, (size_t)at);
}

static void reduces(pami_context_t context, void *cookie, const void *header, size_t length, size_t bytes,
                    pami_endpoint_t origin, pami_geometry_t geometry, pami_data_function *op, pami_recv_t *send) {
  gathers(context, cookie, header, length, bytes, origin, geometry, send);
  *op = PAMI_DATA_SUM;
}

/** Begins a collective at its root. */
static void call(struct slot *slot, const struct round *round) {
  struct open *open = calloc(1, sizeof *open);
  size_t each = (size_t)round->count, to, at, from_all, headers;
  int kind = round->kind - PAMI_XFER_AMBROADCAST;
  pami_xfer_t xfer;
  pami_type_t type = round->spread ? holes : PAMI_TYPE_SIGNED_INT;
  CHECK(open != NULL);
  open->slot = slot;
  open->round = *round;
  from_all = each * (kind == 1 || kind == 2 ? place.all : 1);
  headers = kind == 1 || kind == 2 ? place.all : 1;
  open->data = buffer(from_all, &open->room);
  open->headers = round->length ? malloc((size_t)round->length * headers) : NULL;
  for (to = 0; to < headers && round->length; to++) {
    struct round told = *round;
    told.to = (int32_t)to;
    for (at = 0; at < (size_t)round->length; at++) open->headers[to * (size_t)round->length + at] = padding(round, at);
    memcpy(open->headers + to * (size_t)round->length, &told, sizeof told);
  }
  memset(&xfer, 0, sizeof xfer);
  xfer.cb_done = call_done;
  xfer.cookie = open;
  xfer.algorithm = place.algorithm[kind];
#define PARAMETERS(member, its_headers, buf, its_type, its_count)                                            \
  xfer.cmd.member.dispatch = DISPATCH, xfer.cmd.member.its_headers = open->headers,                          \
  xfer.cmd.member.headerlen = (size_t)round->length, xfer.cmd.member.buf = each ? open->data : NULL,         \
  xfer.cmd.member.its_type = type, xfer.cmd.member.its_count = each
  switch (round->kind) {
  case PAMI_XFER_AMBROADCAST:
    PARAMETERS(xfer_ambroadcast, user_header, sndbuf, stype, stypecount);
    break;
  case PAMI_XFER_AMSCATTER: PARAMETERS(xfer_amscatter, headers, sndbuf, stype, stypecount); break;
  case PAMI_XFER_AMGATHER: PARAMETERS(xfer_amgather, headers, rcvbuf, rtype, rtypecount); break;
  default: PARAMETERS(xfer_amreduce, user_header, rcvbuf, rtype, rtypecount);
  }
  if (kind < 2) {
    for (at = 0; at < from_all; at++) {
      to = kind == 1 && each ? at / each : 0;
      open->data[lies(round, at)] = value(round, (size_t)round->root, to, each ? at % each : 0);
    }
  } else {
    open->result = open->data;
  }
  results[round->root][kind] = open->result;
  slot->calls++;
  SUCCEEDS(PAMI_Collective(contexts[slot->own], &xfer));
  CHECK(slot->calls > 0);
  collectives++;
}

/** Advances the contexts of the geometry until nothing is left. */
static void wait(const int *left) {
  while (*(volatile const int *)left) PAMI_Context_advancev(contexts, place.own, 1);
}

/** Waits until all of the geometry have come, with all contexts advanced. */
static void meet(void) {
  pami_algorithm_t all[ALGORITHMS];
  pami_metadata_t data[ALGORITHMS];
  int left = (int)place.own;
  size_t i;
  pami_xfer_t xfer;
  CHECK(algorithms(place.geometry, PAMI_XFER_BARRIER, all, data) > 0);
  memset(&xfer, 0, sizeof xfer);
  xfer.algorithm = all[0];
  xfer.cb_done = ended;
  xfer.cookie = &left;
  for (i = 0; i < place.own; i++) SUCCEEDS(PAMI_Collective(contexts[i], &xfer));
  wait(&left);
}

/** Waits until parts and calls of all endpoints have ended. */
static void finish(void) {
  size_t i;
  for (i = 0; i < place.own; i++) {
    wait(&slots[i].parts);
    wait(&slots[i].calls);
  }
}

/** Has a function receive the collectives of a kind at an endpoint of this task. */
static void set(size_t i, int kind, pami_dispatch_callback_function by) {
  pami_collective_hint_t none;
  memset(&none, 0, sizeof none);
  SUCCEEDS(PAMI_AMCollective_dispatch_set(contexts[i], place.algorithm[kind], DISPATCH, by, &slots[i], none));
}

/** Has this task's endpoints take part in a geometry, at these places of its list. */
static void prepare(pami_geometry_t geometry, size_t all, size_t own_, const size_t *index) {
  size_t i;
  int kind;
  memset(&place, 0, sizeof place);
  place.geometry = geometry;
  place.all = all;
  place.own = own_;
  for (i = 0; i < own_; i++) place.index[i] = index[i];
  for (kind = 0; kind < KINDS; kind++) {
    pami_algorithm_t list[ALGORITHMS];
    pami_metadata_t data[ALGORITHMS];
    size_t numbers[2];
    SUCCEEDS(PAMI_Geometry_algorithms_num(geometry, kinds[kind], numbers));
    CHECK(numbers[0] > 0 && algorithms(geometry, kinds[kind], list, data) > 0);
    CHECK(strcmp(data[0].name, "binomial") == 0 && !data[0].check_correct.values.checkrequired);
    place.algorithm[kind] = list[0];
  }
  for (i = 0; i < own_; i++) {
    pami_dispatch_callback_function by;
    by.ambroadcast = receives;
    set(i, 0, by);
    by.amscatter = receives;
    set(i, 1, by);
    by.amgather = gathers;
    set(i, 2, by);
    by.amreduce = reduces;
    set(i, 3, by);
  }
}

/** The same, when all have. */
static void use(pami_geometry_t geometry, size_t all, size_t own_, const size_t *index) {
  prepare(geometry, all, own_, index);
  meet();
}

/** Whether the root's own function is called: all kinds but the broadcast. */
static int is_called(const struct round *round, size_t i) {
  return round->kind != PAMI_XFER_AMBROADCAST || (size_t)round->root != place.index[i];
}

/** Every kind with every count from every so many roots, one after the other. */
static void one_after_the_other(size_t every) {
  size_t root, count, i, number = 0;
  int kind;
  for (kind = 0; kind < KINDS; kind++) {
    for (count = 0; count < COUNTS; count++) {
      for (root = number % every; root < place.all; root += every) {
        struct round round = {(int32_t)kinds[kind], (int32_t)root, counts[count], number / 2 % 2 == 1, 0, 0, 0};
        round.number = (int32_t)number;
        round.length = (int32_t)lengths[number % LENGTHS];
        number++;
        place.alone = round;
        for (i = 0; i < place.own; i++) slots[i].parts = is_called(&round, i);
        meet();
        for (i = 0; i < place.own; i++)
          if (place.index[i] == root) call(&slots[i], &round);
        finish();
      }
    }
  }
}

/** Collectives of all kinds from all roots at once: each endpoint is the root of one of each, and takes part in all. */
static void at_once(void) {
  size_t i;
  int kind;
  for (i = 0; i < place.own; i++) slots[i].parts = (int)(place.all * KINDS) - 1;
  meet();
  for (kind = KINDS - 1; kind >= 0; kind--) {
    for (i = 0; i < place.own; i++) {
      size_t root = place.index[i];
      struct round round = {(int32_t)kinds[kind], (int32_t)root, 0, (kind + (int)root) % 2, 0, 0, 0};
      round.count = counts[(root + (size_t)kind) % COUNTS];
      round.length = root % 2 ? LONG : 32;
      call(&slots[i], &round);
    }
  }
  finish();
  meet();
}

static pami_geometry_t fresh;
static struct round first;

/** A geometry has been created: its root calls at once, while others do not know it yet. */
static void created(pami_context_t context, void *cookie, pami_result_t result) {
  prepare(fresh, tasks, 1, &me);
  place.alone = first;
  if ((size_t)first.root == me) call(&slots[0], &first);
  ended(context, cookie, result);
}

/** Collectives of geometries that not all tasks know yet: the others hear of the creation in another context, which they do
 * not advance at first. */
static void at_creation(void) {
  pami_geometry_range_t range = {0, (pami_task_t)(tasks - 1)};
  size_t root;
  int i;
  for (root = 0; root < tasks; root++) {
    int left = 1;
    memset(&first, 0, sizeof first);
    first.kind = PAMI_XFER_AMGATHER;
    first.root = (int32_t)root;
    first.count = 3;
    slots[0].parts = 1;
    SUCCEEDS(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &fresh, PAMI_GEOMETRY_NULL, 9, &range, 1, contexts[1],
                                            created, &left));
    for (i = 0; i < 40 && me != root; i++) PAMI_Context_advance(contexts[0], 1);
    CHECK(me == root || left == 1);
    while (*(volatile int *)&left) PAMI_Context_advancev(contexts, own, 1);
    finish();
    left = 1;
    SUCCEEDS(PAMI_Geometry_destroy(client, &fresh, contexts[0], ended, &left));
    await(contexts[0], &left);
  }
}

int main(void) {
  pami_geometry_t world, geometry;
  pami_endpoint_t endpoints[MOST_ALL];
  pami_task_t list[MOST_ALL];
  size_t i, task, index[MOST_OWN], count = 0;
  int left = 1;

  SUCCEEDS(PAMI_Client_create("am_collectives", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  own = client_number(client, PAMI_CLIENT_NUM_CONTEXTS);
  if (own > MOST_OWN) own = MOST_OWN;
  CHECK(tasks * own <= MOST_ALL && own == MOST_OWN);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, contexts, own));
  for (i = 0; i < own; i++) slots[i].own = i;
  SUCCEEDS(PAMI_Type_create(&holes));
  SUCCEEDS(PAMI_Type_add_typed(holes, PAMI_TYPE_SIGNED_INT, 4, 1, 8));
  SUCCEEDS(PAMI_Type_complete(holes, 4));
  SUCCEEDS(PAMI_Geometry_world(client, &world));

  index[0] = me;
  use(world, tasks, 1, index);
  one_after_the_other(2);
  at_once();

  /* All endpoints of all tasks. */
  for (task = 0; task < tasks; task++)
    for (i = 0; i < own; i++) endpoints[count++] = endpoint(client, task, i);
  SUCCEEDS(PAMI_Geometry_create_endpointlist(client, NULL, 0, &geometry, 7, endpoints, count, contexts[0], ended, &left));
  await(contexts[0], &left);
  for (i = 0; i < own; i++) index[i] = me * own + i;
  use(geometry, count, own, index);
  one_after_the_other(5);
  at_once();
  left = 1;
  SUCCEEDS(PAMI_Geometry_destroy(client, &geometry, contexts[0], ended, &left));
  wait(&left);

  /* A part of the tasks, the last first. */
  if (me > 0) {
    for (count = 0; count < tasks - 1; count++) list[count] = (pami_task_t)(tasks - 1 - count);
    left = 1;
    SUCCEEDS(PAMI_Geometry_create_tasklist(client, 0, NULL, 0, &geometry, PAMI_GEOMETRY_NULL, 8, list, count, contexts[0],
                                           ended, &left));
    await(contexts[0], &left);
    index[0] = tasks - 1 - me;
    use(geometry, count, 1, index);
    one_after_the_other(3);
    at_once();
    left = 1;
    SUCCEEDS(PAMI_Geometry_destroy(client, &geometry, contexts[0], ended, &left));
    await(contexts[0], &left);
  }

  at_creation();
  SUCCEEDS(PAMI_Context_destroyv(contexts, own));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("task %zu of %zu: root of %zu collectives\n", me, tasks, collectives);
  return 0;
}
