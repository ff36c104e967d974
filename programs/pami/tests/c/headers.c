/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages with headers of any length, with data and without, from every task to every task: they come whole and in the
 * order of the sends, and a dispatch without long headers refuses them. */
#include "check.h"

enum { DISPATCH = 4, SHORT = 5, ROUNDS = 3, MOST_TASKS = 8, LARGEST = 9000 };

static const size_t headers[] = {0, 448, 449, 500, 501, 960, 961, 8000};
static const size_t lengths[] = {0, 8, 9000};
enum { HEADERS = sizeof headers / sizeof *headers, LENGTHS = sizeof lengths / sizeof *lengths };

static size_t me, arrived, ended;
/** Messages that have come from each task. */
static size_t come[MOST_TASKS];
static char targets[MOST_TASKS][ROUNDS * HEADERS * LENGTHS][LARGEST];

static void received(pami_context_t context, void *cookie, pami_result_t result) {
  size_t source = (size_t)cookie >> 16, number = (size_t)cookie & 0xffff, place;
  (void)context;
  CHECK(result == PAMI_SUCCESS);
  for (place = 0; place < lengths[number % LENGTHS]; place++)
    CHECK(targets[source][number][place] == byte_of(source, number, place));
  arrived++;
}

static void dispatched(pami_context_t context, void *cookie, const void *header, size_t header_size, const void *data,
                       size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  pami_task_t source;
  size_t offset, number, place;
  SUCCEEDS(PAMI_Endpoint_query(origin, &source, &offset));
  CHECK(cookie == &me && source < MOST_TASKS);
  number = come[source]++;
  CHECK(header_size == headers[number / LENGTHS % HEADERS] && data_size == lengths[number % LENGTHS]);
  for (place = 0; place < header_size; place++) CHECK(((const char *)header)[place] == byte_of(number, source, place));
  CHECK(data == NULL || header_size + data_size <= 500);
  cookie = (void *)((size_t)source << 16 | number);
  if (data != NULL) {
    memcpy(targets[source][number], data, data_size);
    received(context, cookie, PAMI_SUCCESS);
    return;
  }
  recv->cookie = cookie;
  recv->local_fn = received;
  recv->addr = targets[source][number];
  recv->type = PAMI_TYPE_BYTE;
  recv->offset = 0;
  recv->data_fn = PAMI_DATA_COPY;
  recv->data_cookie = NULL;
}

static void done(pami_context_t context, void *cookie, pami_result_t result) {
  CHECK(context != NULL && cookie == &ended && result == PAMI_SUCCESS);
  ended++;
}

int main(void) {
  pami_client_t client;
  pami_context_t context;
  pami_dispatch_callback_function by;
  pami_dispatch_hint_t hints;
  pami_configuration_t attribute;
  pami_send_t send;
  char text[256];
  static char header[LARGEST], data[LARGEST];
  size_t tasks, task, number, place, all = ROUNDS * HEADERS * LENGTHS;

  SUCCEEDS(PAMI_Client_create("headers", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  CHECK(tasks <= MOST_TASKS);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  receive_by(context, DISPATCH, dispatched, &me);
  memset(&hints, 0, sizeof hints);
  hints.long_header = PAMI_HINT_DISABLE;
  by.p2p = dispatched;
  SUCCEEDS(PAMI_Dispatch_set(context, SHORT, by, &me, hints));

  memset(&send, 0, sizeof send);
  send.send.dispatch = DISPATCH;
  send.send.header.iov_base = header;
  send.send.data.iov_base = data;
  send.events.cookie = &ended;
  send.events.local_fn = done;
  send.events.remote_fn = done;
  for (number = 0; number < all; number++) {
    size_t before = ended;
    send.send.header.iov_len = headers[number / LENGTHS % HEADERS];
    send.send.data.iov_len = lengths[number % LENGTHS];
    for (place = 0; place < send.send.header.iov_len; place++) header[place] = byte_of(number, me, place);
    for (place = 0; place < send.send.data.iov_len; place++) data[place] = byte_of(me, number, place);
    for (task = 0; task < tasks; task++) {
      send.send.dest = endpoint(client, task, 0);
      SUCCEEDS(PAMI_Send(context, &send));
    }
    while (ended < before + 2 * tasks) PAMI_Context_advance(context, 10);
  }
  while (arrived < all * tasks) PAMI_Context_advance(context, 10);

  send.send.header.iov_len = (size_t)1 << 40;
  RETURNS(PAMI_INVAL, PAMI_Send(context, &send));
  PAMI_Error_text(text, sizeof text);
  CHECK(strstr(text, "expected at most 1048576") != NULL);

  attribute.name = PAMI_DISPATCH_RECV_IMMEDIATE_MAX;
  SUCCEEDS(PAMI_Dispatch_query(context, SHORT, &attribute, 1));
  send.send.dispatch = SHORT;
  send.send.header.iov_len = attribute.value.intval + 1;
  RETURNS(PAMI_INVAL, PAMI_Send(context, &send));
  PAMI_Error_text(text, sizeof text);
  CHECK(strstr(text, "which has no long headers") != NULL);

  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("task %zu of %zu: %zu messages\n", me, tasks, arrived);
  return 0;
}
