/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Types and data functions on both sides of messages of every task to every task. */
#include "types.h"

enum { DATA = 5, ROW = 6, TYPE = 7 };

/** Use of the data of a message. */
enum way { COPY, SUM, OWN, NOOP, MADE, WRONG_OFFSET, WRONG_OPERATION, WRONG_TYPE, WAYS };

static const size_t counts[] = {0, 1, 5, 40, 64, 1000, MOST};
enum { COUNTS = sizeof counts / sizeof *counts };

struct header {
  size_t source;
  size_t way;
  size_t count;
};

static size_t me, arrived, refused, local, remote, calls, types, rows;

static double before(size_t place) {
  return -3.0 * (double)place;
}

static void twice_and_source(void *target, void *source, size_t bytes, void *cookie) {
  double *to = target, *from = source;
  size_t place;
  CHECK(cookie == &calls && bytes > 0 && bytes % sizeof *to == 0);
  for (place = 0; place < bytes / sizeof *to; place++) to[place] = 2 * to[place] + from[place];
  calls++;
}

static void negated(void *target, void *source, size_t bytes, void *cookie) {
  double *to = target, *from = source;
  size_t place;
  CHECK(cookie == &me && bytes % sizeof *to == 0);
  for (place = 0; place < bytes / sizeof *to; place++) {
    CHECK(to[place] == 0);
    to[place] = -from[place];
  }
}

/** A message whose data is on its way. */
struct receive {
  struct header header;
  size_t room;
  double data[];
};

static double combined(const struct header *header, size_t place, double old) {
  double sent = value(header->source, place + 1, 2);
  switch (header->way) {
    case COPY: return sent;
    case SUM: return old + sent;
    case OWN: return 2 * old + sent;
    case MADE: return -sent;
    default: return old;
  }
}

static void received(pami_context_t context, void *cookie, pami_result_t result) {
  struct receive *receive = cookie;
  size_t place, next = 0, wrong;
  (void)context;
  /* No data needs no place. */
  wrong = receive->header.way >= WRONG_OFFSET && receive->header.count > 0;
  CHECK(result == (wrong ? PAMI_INVAL : PAMI_SUCCESS));
  for (place = 0; place < receive->room; place++) {
    double expected = before(place);
    /* Three doubles are skipped. */
    if (next < receive->header.count && place == in_pairs(next + 3)) {
      expected = combined(&receive->header, next, expected);
      next++;
    }
    if (receive->data[place] != expected) {
      printf("%zu doubles of task %zu, way %zu: double %zu is %f, expected %f\n", receive->header.count,
             receive->header.source, receive->header.way, place, receive->data[place], expected);
      exit(1);
    }
  }
  CHECK(next == receive->header.count);
  free(receive);
  if (wrong) refused++;
  arrived++;
}

/** Types of receives that have begun in this advance. */
static pami_type_t used[64];
static size_t used_count;

static void data_comes(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                       const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  struct receive *receive;
  struct header header;
  pami_type_t type = pairs();
  size_t place, room;
  (void)context, (void)cookie, (void)origin;
  CHECK(header_size == sizeof header && pipe_addr == NULL);
  memcpy(&header, header_addr, sizeof header);
  CHECK(data_size == header.count * sizeof(double));
  room = in_pairs(header.count + 3) + 20;
  receive = malloc(sizeof *receive + room * sizeof(double));
  receive->header = header;
  receive->room = room;
  for (place = 0; place < room; place++) receive->data[place] = before(place);
  recv->cookie = receive;
  recv->local_fn = received;
  recv->addr = receive->data;
  recv->type = type;
  recv->offset = 3 * sizeof(double);
  switch (header.way) {
    case SUM: recv->data_fn = PAMI_DATA_SUM; break;
    case OWN:
      recv->data_fn = twice_and_source;
      recv->data_cookie = &calls;
      break;
    case NOOP: recv->data_fn = PAMI_DATA_NOOP; break;
    case WRONG_OFFSET:
      recv->data_fn = PAMI_DATA_SUM;
      recv->offset = 4;
      break;
    case WRONG_OPERATION: recv->data_fn = PAMI_DATA_BXOR; break;
    case WRONG_TYPE: recv->type = (pami_type_t)data_comes; break;
    default: recv->data_fn = PAMI_DATA_COPY;
  }
  CHECK(used_count < sizeof used / sizeof *used);
  used[used_count++] = type;
}

/** Advances, and destroys the types of receives that have begun: they go on. */
static void advance(pami_context_t context) {
  PAMI_Context_advance(context, 1);
  while (used_count > 0) SUCCEEDS(PAMI_Type_destroy(&used[--used_count]));
}

static void row_done(pami_context_t context, void *cookie, pami_result_t result) {
  double *row = cookie;
  (void)context;
  CHECK(result == PAMI_SUCCESS);
  CHECK(row[0] == value(0, 4, 5) && row[1] == value(0, 5, 5) && row[2] == value(0, 6, 5));
  rows++;
}

/** Type, offset and function of the receive are not read, as the hints say. */
static void row_comes(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                      const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  static double row[3];
  (void)context, (void)cookie, (void)header_addr, (void)header_size, (void)origin;
  CHECK(pipe_addr == NULL && data_size == sizeof row);
  recv->cookie = row;
  recv->local_fn = row_done;
  recv->addr = row;
  recv->type = (pami_type_t)77;
  recv->offset = 1000;
  recv->data_fn = PAMI_DATA_MAXLOC;
}

/** A type of another task. */
static void type_comes(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                       const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  double from[40], to[6] = {0};
  pami_type_t type;
  size_t place;
  (void)context, (void)cookie, (void)header_addr, (void)header_size, (void)origin, (void)recv;
  CHECK(pipe_addr != NULL);
  SUCCEEDS(PAMI_Type_deserialize(&type, (void *)pipe_addr, data_size));
  attributes(type, 48, 128, 8);
  for (place = 0; place < 40; place++) from[place] = (double)place;
  SUCCEEDS(PAMI_Type_transform_data(from, type, 8, to, PAMI_TYPE_DOUBLE, 0, sizeof to, PAMI_DATA_SUM, NULL));
  for (place = 0; place < 6; place++) CHECK(to[place] == (double)in_pairs(place + 1));
  RETURNS(PAMI_INVAL, PAMI_Type_add_simple(type, 8, 0, 1, 8));
  SUCCEEDS(PAMI_Type_destroy(&type));
  types++;
}

/* The data of a message that will be refused may have been sent before, or stay where it is. */
static void local_done(pami_context_t context, void *cookie, pami_result_t result) {
  (void)context;
  CHECK(cookie == &refused || (cookie == &local && result == PAMI_SUCCESS));
  local++;
}

static void remote_done(pami_context_t context, void *cookie, pami_result_t result) {
  (void)context;
  CHECK(cookie == &refused ? result == PAMI_ERROR : cookie == &local && result == PAMI_SUCCESS);
  remote++;
}

static pami_send_typed_t column_of(struct header *header, pami_endpoint_t to, pami_type_t type) {
  pami_send_typed_t send;
  memset(&send, 0, sizeof send);
  send.send.header.iov_base = header;
  send.send.header.iov_len = sizeof *header;
  send.send.data.iov_base = &matrix[0][2];
  send.send.data.iov_len = header->count * sizeof(double);
  send.send.dispatch = DATA;
  send.send.dest = to;
  send.events.cookie = header->way >= WRONG_OFFSET && header->count > 0 ? &refused : &local;
  send.events.local_fn = local_done;
  send.events.remote_fn = remote_done;
  send.typed.type = type;
  send.typed.offset = sizeof(double);
  send.typed.data_fn = header->way == MADE ? negated : PAMI_DATA_COPY;
  send.typed.data_cookie = &me;
  return send;
}

/** Sends and receives columns; how many of each. */
static size_t messages(pami_client_t client, pami_context_t context, size_t tasks) {
  size_t way, which, task, sent = 0;
  for (way = 0; way < WAYS; way++) {
    for (which = 0; which < COUNTS; which++) {
      for (task = 0; task < tasks; task++) {
        struct header header = {me, way, counts[which]};
        pami_type_t type = column();
        pami_send_typed_t send = column_of(&header, endpoint(client, task, 0), type);
        SUCCEEDS(PAMI_Send_typed(context, &send));
        /* The send goes on, and what it needs of a column is in it. */
        SUCCEEDS(PAMI_Type_destroy(&type));
        sent++;
      }
      while (arrived < sent || local < sent || remote < sent) advance(context);
    }
  }
  CHECK(refused == 3 * (COUNTS - 1) * tasks);
  CHECK(calls >= (COUNTS - 1) * tasks);
  return sent;
}

int main(void) {
  pami_client_t client;
  pami_context_t context;
  pami_dispatch_callback_function by;
  pami_dispatch_hint_t hints;
  pami_type_t type;
  pami_send_t bytes;
  struct header header = {0, COPY, 3};
  pami_send_typed_t row;
  size_t tasks, columns;

  SUCCEEDS(PAMI_Client_create("typed", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  fill(me);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  memset(&hints, 0, sizeof hints);
  hints.recv_immediate = PAMI_HINT_DISABLE;
  by.p2p = data_comes;
  SUCCEEDS(PAMI_Dispatch_set(context, DATA, by, NULL, hints));
  hints.recv_contiguous = PAMI_HINT_ENABLE;
  hints.recv_copy = PAMI_HINT_ENABLE;
  by.p2p = row_comes;
  SUCCEEDS(PAMI_Dispatch_set(context, ROW, by, NULL, hints));
  receive_by(context, TYPE, type_comes, NULL);

  columns = messages(client, context, tasks);

  /* Task 0 has a row of all, and a type too. */
  if (me == 0) {
    size_t task;
    void *address;
    type = pairs();
    attributes(type, 48, 128, 8);
    memset(&bytes, 0, sizeof bytes);
    SUCCEEDS(PAMI_Type_serialize(type, &address, &bytes.send.data.iov_len));
    bytes.send.data.iov_base = address;
    bytes.send.dispatch = TYPE;
    for (task = 0; task < tasks; task++) {
      pami_type_t over = column();
      bytes.send.dest = endpoint(client, task, 0);
      SUCCEEDS(PAMI_Send_immediate(context, &bytes.send));
      row = column_of(&header, bytes.send.dest, over);
      row.send.dispatch = ROW;
      row.send.data.iov_base = &matrix[0][5];
      row.typed.offset = 4 * sizeof(double);
      SUCCEEDS(PAMI_Send_typed(context, &row));
      SUCCEEDS(PAMI_Type_destroy(&over));
    }
    SUCCEEDS(PAMI_Type_destroy(&type));
  }
  while (rows < 1 || types < 1) advance(context);
  printf("task %zu of %zu: %zu columns\n", me, tasks, columns);
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  return 0;
}
