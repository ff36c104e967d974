/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Active-message collectives: how data is combined and taken in, what their callbacks may do, and what is refused, at the
 * root in words of the endpoint that refuses. */
#include "geometry.h"
#include <stdint.h>

enum { MOST = 3000, KINDS = 4, MOST_TASKS = 10, GOOD = 3, BAD = 4, CHAIN = 5, LARGEST = 219 };

static const pami_xfer_type_t kinds[KINDS] = {PAMI_XFER_AMBROADCAST, PAMI_XFER_AMSCATTER, PAMI_XFER_AMGATHER,
                                              PAMI_XFER_AMREDUCE};
static pami_client_t client;
static pami_context_t context;
static pami_geometry_t world;
static pami_algorithm_t algorithm[KINDS];
static size_t me, tasks;
static pami_type_t open_type;

static int32_t mine[MOST], result[MOST * MOST_TASKS];
static double real[MOST];
/** Answers of this task's functions in the next part, and the expected result of its callback. */
static pami_recv_t next;
static pami_data_function next_op;
static pami_result_t next_result;
/** Parts of this task, and calls, that have not ended. */
static int parts, calls;
/** Expected result of calls, and words of the text. */
static pami_result_t expected;
static const char *words;
static size_t applied;

static void says(const char *expected_words) {
  char text[256];
  PAMI_Error_text(text, sizeof text);
  if (strstr(text, expected_words) == NULL) {
    printf("task %zu: `%s` has not `%s`\n", me, text, expected_words);
    exit(1);
  }
}

static void part_done(pami_context_t at, void *cookie, pami_result_t outcome) {
  CHECK(at == context && cookie == &next && outcome == next_result && parts > 0);
  parts--;
}

static void call_done(pami_context_t at, void *cookie, pami_result_t outcome) {
  CHECK(at == context && cookie == &calls && calls > 0);
  if (outcome != expected) {
    char text[256];
    PAMI_Error_text(text, sizeof text);
    printf("task %zu: a call ends with %d, expected %d: %s\n", me, outcome, expected, text);
    exit(1);
  }
  if (words) says(words);
  calls--;
}

static void fill_in(pami_recv_t *recv) {
  *recv = next;
  recv->local_fn = part_done;
  recv->cookie = &next;
}

static void receives(pami_context_t at, void *cookie, const void *header, size_t length, const void *pipe, size_t bytes,
                     pami_endpoint_t origin, pami_geometry_t geometry, pami_recv_t *recv) {
  (void)header, (void)length, (void)bytes, (void)origin;
  CHECK(at == context && cookie == NULL && pipe == NULL && geometry == world);
  fill_in(recv);
}

static void gathers(pami_context_t at, void *cookie, const void *header, size_t length, size_t bytes,
                    pami_endpoint_t origin, pami_geometry_t geometry, pami_recv_t *send) {
  receives(at, cookie, header, length, NULL, bytes, origin, geometry, send);
}

static void reduces(pami_context_t at, void *cookie, const void *header, size_t length, size_t bytes,
                    pami_endpoint_t origin, pami_geometry_t geometry, pami_data_function *op, pami_recv_t *send) {
  receives(at, cookie, header, length, NULL, bytes, origin, geometry, send);
  *op = next_op;
}

static pami_result_t set_by(pami_algorithm_t by, size_t dispatch, int kind) {
  pami_collective_hint_t none;
  pami_dispatch_callback_function function;
  memset(&none, 0, sizeof none);
  if (kind == 0) function.ambroadcast = receives;
  if (kind == 1) function.amscatter = receives;
  if (kind == 2) function.amgather = gathers;
  if (kind == 3) function.amreduce = reduces;
  if (kind < 0) function.p2p = NULL;
  return PAMI_AMCollective_dispatch_set(context, by, dispatch, function, NULL, none);
}

/** Parameters of a collective of `count` integers, from or to `buffer`. */
static pami_xfer_t parameters(int kind, size_t dispatch, void *buffer, pami_type_t type, size_t count) {
  pami_xfer_t xfer;
  memset(&xfer, 0, sizeof xfer);
  xfer.cb_done = call_done;
  xfer.cookie = &calls;
  xfer.algorithm = algorithm[kind];
  /* The first six members of all kinds lie alike. */
  xfer.cmd.xfer_ambroadcast.dispatch = dispatch;
  xfer.cmd.xfer_ambroadcast.sndbuf = buffer;
  xfer.cmd.xfer_ambroadcast.stype = type;
  xfer.cmd.xfer_ambroadcast.stypecount = count;
  return xfer;
}

static void finish(void) {
  await(context, &parts);
  await(context, &calls);
  barrier(context, world);
}

/** A part whose data lies in `mine`. */
static void say(void *buffer, pami_type_t type, pami_data_function op) {
  memset(&next, 0, sizeof next);
  next.addr = buffer;
  next.type = type;
  next_op = op;
  next_result = PAMI_SUCCESS;
}

/** Begins a collective at `root`, which all take part in, and waits for its end. */
static void from(size_t root, pami_xfer_t *xfer, pami_result_t ends_with, const char *in_words) {
  int is_broadcast = xfer->algorithm == algorithm[0];
  parts += me != root || !is_broadcast;
  expected = ends_with;
  words = in_words;
  barrier(context, world);
  if (me == root) {
    calls++;
    SUCCEEDS(PAMI_Collective(context, xfer));
  }
  finish();
}

/** Combines in an order: digits of a number, whose order tells that of the calls. */
static void digits(void *target, void *source, size_t bytes, void *cookie) {
  int32_t *to = target, *with = source;
  size_t at;
  CHECK(cookie == &applied && bytes % sizeof *to == 0);
  for (at = 0; at < bytes / sizeof *to; at++) to[at] = 10 * to[at] + with[at];
  applied++;
}

static void negated(void *target, void *source, size_t bytes, void *cookie) {
  int32_t *to = target, *with = source;
  size_t at;
  CHECK(cookie == &applied && bytes % sizeof *to == 0);
  for (at = 0; at < bytes / sizeof *to; at++) to[at] = -with[at];
}

/** Every way to combine. */
static void operations(void) {
  size_t root, at, task;
  for (root = 0; root < tasks; root++) {
    pami_xfer_t xfer = parameters(3, GOOD, result, PAMI_TYPE_SIGNED_INT, MOST);
    int32_t in_order = 0, largest = 0;
    for (task = 0; task < tasks; task++) {
      int32_t digit = (int32_t)((task * 7 + root) % 10);
      in_order = 10 * in_order + digit;
      if (digit > largest) largest = digit;
    }
    for (at = 0; at < MOST; at++) mine[at] = (int32_t)((me * 7 + root) % 10), real[at] = (double)at + (double)me / 4;

    /* A function of the program is called at the root, in the order of the endpoints, with what the root has given. */
    say(mine, PAMI_TYPE_SIGNED_INT, digits);
    xfer.cmd.xfer_amreduce.data_cookie = &applied;
    applied = 0;
    from(root, &xfer, PAMI_SUCCESS, NULL);
    CHECK(applied == (me == root ? tasks - 1 : 0));
    for (at = 0; at < MOST && me == root; at++) CHECK(result[at] == in_order);

    say(mine, PAMI_TYPE_SIGNED_INT, PAMI_DATA_MAX);
    from(root, &xfer, PAMI_SUCCESS, NULL);
    for (at = 0; at < MOST && me == root; at++) CHECK(result[at] == largest);

    /* The last one's. */
    say(mine, PAMI_TYPE_SIGNED_INT, PAMI_DATA_COPY);
    from(root, &xfer, PAMI_SUCCESS, NULL);
    for (at = 0; at < MOST && me == root; at++) CHECK(result[at] == (int32_t)(((tasks - 1) * 7 + root) % 10));

    /* The result is bytes to the root, whose own part says what they are. */
    say(real, PAMI_TYPE_DOUBLE, PAMI_DATA_SUM);
    xfer = parameters(3, GOOD, result, PAMI_TYPE_BYTE, MOST * sizeof(double));
    from(root, &xfer, PAMI_SUCCESS, NULL);
    for (at = 0; at < MOST && me == root; at++)
      CHECK(((double *)result)[at] == (double)(at * tasks) + (double)(tasks * (tasks - 1) / 2) / 4);

    /* Nothing. */
    say(NULL, PAMI_TYPE_NULL, NULL);
    xfer = parameters(3, GOOD, NULL, PAMI_TYPE_SIGNED_INT, 0);
    from(root, &xfer, PAMI_SUCCESS, NULL);
  }
}

/** Data functions where data is taken in, and where it is given; and data from the middle of a type on. */
static void functions(void) {
  size_t at, task;
  pami_xfer_t xfer = parameters(0, GOOD, result, PAMI_TYPE_SIGNED_INT, MOST - 1);
  for (at = 0; at < MOST; at++) mine[at] = 5, result[at] = (int32_t)at;
  say(mine, PAMI_TYPE_SIGNED_INT, NULL);
  next.data_fn = PAMI_DATA_SUM;
  next.offset = sizeof(int32_t);
  from(tasks - 1, &xfer, PAMI_SUCCESS, NULL);
  for (at = 1; at < MOST && me != tasks - 1; at++) CHECK(mine[0] == 5 && mine[at] == (int32_t)at + 4);

  xfer = parameters(2, GOOD, result, PAMI_TYPE_SIGNED_INT, MOST);
  for (at = 0; at < MOST; at++) mine[at] = (int32_t)(me * 100 + at);
  say(mine, PAMI_TYPE_SIGNED_INT, NULL);
  next.data_fn = negated;
  next.data_cookie = &applied;
  from(0, &xfer, PAMI_SUCCESS, NULL);
  for (task = 0; task < tasks && me == 0; task++)
    for (at = 0; at < MOST; at++) CHECK(result[task * MOST + at] == -(int32_t)(task * 100 + at));
}

/** Refusals of a part and a call at the root, before any endpoint is called. */
static void refused_at_the_root(void) {
  static char header[4];
  pami_algorithm_t all[ALGORITHMS];
  pami_metadata_t data[ALGORITHMS];
  pami_xfer_t xfer;
  int kind;
  CHECK(algorithms(world, PAMI_XFER_BROADCAST, all, data) > 0);
  RETURNS(PAMI_INVAL, set_by(all[0], GOOD, 0));
  says("not of an active-message collective");
  RETURNS(PAMI_INVAL, set_by(algorithm[0] + 1, GOOD, 0));
  says("is not an algorithm");
  RETURNS(PAMI_INVAL, set_by(algorithm[0], LARGEST + 1, 0));
  says("dispatch 220, expected 0 to 219");
  RETURNS(PAMI_INVAL, set_by(algorithm[0], GOOD, -1));
  says("the function is null");
  for (kind = 0; kind < KINDS; kind++) {
    static const char *const names[] = {"AMBROADCAST", "AMSCATTER", "AMGATHER", "AMREDUCE"};
    xfer = parameters(kind, BAD + 77, result, PAMI_TYPE_SIGNED_INT, 1);
    CHECK(data[0].check_fn(&xfer).bitmask == 0);
    RETURNS(PAMI_INVAL, PAMI_Collective(context, &xfer));
    says("dispatch 81 of ");
    says(names[kind]);
    xfer = parameters(kind, GOOD, result, PAMI_TYPE_SIGNED_INT, 1);
    xfer.cmd.xfer_ambroadcast.headerlen = sizeof header;
    RETURNS(PAMI_INVAL, PAMI_Collective(context, &xfer));
    says("the header has no address");
    xfer = parameters(kind, GOOD, NULL, PAMI_TYPE_SIGNED_INT, 1);
    RETURNS(PAMI_INVAL, PAMI_Collective(context, &xfer));
    says("the data has no address");
    xfer = parameters(kind, GOOD, result, open_type, 1);
    RETURNS(PAMI_INVAL, PAMI_Collective(context, &xfer));
    says("the type is not complete");
    xfer = parameters(kind, GOOD, result, PAMI_TYPE_SIGNED_INT, SIZE_MAX / 4);
    RETURNS(PAMI_INVAL, PAMI_Collective(context, &xfer));
    says("are too many");
    if (kind == 0) continue;
    /* Its own part. */
    say(NULL, PAMI_TYPE_SIGNED_INT, PAMI_DATA_SUM);
    xfer = parameters(kind, GOOD, result, PAMI_TYPE_SIGNED_INT, 1);
    RETURNS(PAMI_INVAL, PAMI_Collective(context, &xfer));
    says("the data has no address");
  }
  say(real, PAMI_TYPE_DOUBLE, PAMI_DATA_SUM);
  xfer = parameters(3, GOOD, result, PAMI_TYPE_SIGNED_INT, 3);
  RETURNS(PAMI_INVAL, PAMI_Collective(context, &xfer));
  says("12 bytes are combined that are no multiple of the type's 8");
  say(real, PAMI_TYPE_DOUBLE, NULL);
  RETURNS(PAMI_INVAL, PAMI_Collective(context, &xfer));
  says("the operation is null");
}

/** The root gets the refusal of one endpoint, and the others have done their parts. */
static void refused_by_one(void) {
  char in_words[64];
  size_t one = tasks - 1;
  int kind, count;
  if (tasks == 1) return;
  for (kind = 0; kind < KINDS; kind++) {
    for (count = 1; count <= MOST; count += MOST - 1) {
      pami_xfer_t xfer = parameters(kind, GOOD, result, PAMI_TYPE_SIGNED_INT, (size_t)count);
      memset(result, 0, sizeof result);
      /* No place for its data. */
      say(me == one ? NULL : mine, PAMI_TYPE_SIGNED_INT, PAMI_DATA_SUM);
      if (me == one || (me == 0 && kind > 0)) next_result = PAMI_INVAL;
      sprintf(in_words, "%zu, context 0: the data has no address", one);
      from(0, &xfer, PAMI_INVAL, in_words);
      if (kind > 1) CHECK(result[0] == 0);

      /* A dispatch that it has not set. */
      xfer = parameters(kind, BAD, result, PAMI_TYPE_SIGNED_INT, (size_t)count);
      if (me != one) SUCCEEDS(set_by(algorithm[kind], BAD, kind));
      say(mine, PAMI_TYPE_SIGNED_INT, PAMI_DATA_SUM);
      if (me == 0 && kind > 0) next_result = PAMI_INVAL;
      sprintf(in_words, "%zu, context 0: dispatch 4 of AM", one);
      if (me == one) parts--;
      from(0, &xfer, PAMI_INVAL, in_words);
    }
  }
  /* Another operation, another type. */
  for (count = 0; count < 2; count++) {
    pami_xfer_t xfer = parameters(3, GOOD, result, PAMI_TYPE_SIGNED_INT, MOST);
    say(mine, me == one && count ? PAMI_TYPE_UNSIGNED_INT : PAMI_TYPE_SIGNED_INT,
        me == one && !count ? PAMI_DATA_MAX : PAMI_DATA_SUM);
    if (me == one || me == 0) next_result = PAMI_INVAL;
    from(0, &xfer, PAMI_INVAL, "operation or type are not those of the root");
  }
}

/* Callbacks that begin collectives. */

enum { ROUNDS = 3 };

/** The numbers as they are sent, and as they come. */
static int32_t sent[ROUNDS * MOST_TASKS], come[ROUNDS * MOST_TASKS];

static void tell(size_t number) {
  pami_xfer_t xfer = parameters(0, CHAIN, &sent[number], PAMI_TYPE_SIGNED_INT, 1);
  sent[number] = (int32_t)number;
  xfer.cmd.xfer_ambroadcast.user_header = &sent[number];
  xfer.cmd.xfer_ambroadcast.headerlen = sizeof sent[number];
  calls++;
  SUCCEEDS(PAMI_Collective(context, &xfer));
}

/** The next number is told by the task whose turn it is. */
static void has_come(pami_context_t at, void *cookie, pami_result_t outcome) {
  size_t number = (size_t)*(int32_t *)cookie;
  CHECK(at == context && outcome == PAMI_SUCCESS && cookie == &come[number]);
  if ((number + 1) % tasks == me && number + 1 < ROUNDS * tasks) tell(number + 1);
  parts--;
}

static void takes_the_number(pami_context_t at, void *cookie, const void *header, size_t length, const void *pipe,
                             size_t bytes, pami_endpoint_t origin, pami_geometry_t geometry, pami_recv_t *recv) {
  CHECK(at == context && pipe == NULL && geometry == world && cookie == &parts);
  CHECK(length == sizeof *come && bytes == sizeof *come);
  CHECK(origin == endpoint(client, (size_t)*(const int32_t *)header % tasks, 0));
  recv->addr = recv->cookie = &come[*(const int32_t *)header];
  recv->type = PAMI_TYPE_SIGNED_INT;
  recv->local_fn = has_come;
}

/** Numbers, each of which a task tells all others from the callback of the one before. */
static void chain(void) {
  pami_collective_hint_t none;
  pami_dispatch_callback_function function;
  memset(&none, 0, sizeof none);
  function.ambroadcast = takes_the_number;
  SUCCEEDS(PAMI_AMCollective_dispatch_set(context, algorithm[0], CHAIN, function, &parts, none));
  expected = PAMI_SUCCESS;
  words = NULL;
  if (tasks == 1) return;
  parts = (int)(ROUNDS * (tasks - 1));
  barrier(context, world);
  if (me == 0) tell(0);
  finish();
}

int main(void) {
  int kind;
  SUCCEEDS(PAMI_Client_create("am_operations", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  CHECK(tasks <= MOST_TASKS);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  SUCCEEDS(PAMI_Geometry_world(client, &world));
  SUCCEEDS(PAMI_Type_create(&open_type));
  for (kind = 0; kind < KINDS; kind++) {
    pami_algorithm_t all[ALGORITHMS];
    pami_metadata_t data[ALGORITHMS];
    CHECK(algorithms(world, kinds[kind], all, data) == 1);
    algorithm[kind] = all[0];
    /* The last one holds. */
    SUCCEEDS(set_by(all[0], GOOD, kind));
    SUCCEEDS(set_by(all[0], GOOD, kind));
  }
  operations();
  functions();
  refused_at_the_root();
  refused_by_one();
  chain();
  operations();
  SUCCEEDS(PAMI_Type_destroy(&open_type));
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("task %zu of %zu: operations\n", me, tasks);
  return 0;
}
