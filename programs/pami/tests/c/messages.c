/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every task sends messages of every kind to every task, itself too, from memory of every kind. */
#include "check.h"

enum { DISPATCH = 5, LATE = 6, LARGEST = 70000, MOST_TASKS = 16 };

static const size_t sizes[] = {0, 1, 31, 63, 64, 65, 448, 511, 512, 513, 4096, LARGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

/** Header of a message: which it is. */
struct header {
  size_t source;
  size_t number;
  size_t bytes;
};

static size_t me;
static size_t arrived, local, remote;
/** Where data goes: beginnings at every place of a beat. */
static char targets[MOST_TASKS][LARGEST + 64];
static char from_static[LARGEST + 64];

static void check_data(const struct header *header, const char *data) {
  size_t place;
  for (place = 0; place < header->bytes; place++) {
    if (data[place] != byte_of(header->source, header->number, place)) {
      printf("message %zu of task %zu: byte %zu of %zu is wrong\n", header->number, header->source, place,
             header->bytes);
      exit(1);
    }
  }
}

/** A message whose data is on its way. */
struct receive {
  struct header header;
  char *data;
};

static void received(pami_context_t context, void *cookie, pami_result_t result) {
  struct receive *receive = cookie;
  (void)context;
  CHECK(result == PAMI_SUCCESS);
  check_data(&receive->header, receive->data);
  free(receive);
  arrived++;
}

static void dispatched(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                       const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  struct header header;
  pami_task_t source;
  size_t offset;
  CHECK(context != PAMI_CONTEXT_NULL && cookie == (void *)&me);
  CHECK(header_size == sizeof header);
  memcpy(&header, header_addr, sizeof header);
  CHECK(header.bytes == data_size);
  SUCCEEDS(PAMI_Endpoint_query(origin, &source, &offset));
  CHECK(source == header.source && offset == 0);
  if (pipe_addr != NULL) {
    CHECK(recv == NULL);
    check_data(&header, pipe_addr);
    arrived++;
    return;
  }
  struct receive *receive = malloc(sizeof *receive);
  receive->header = header;
  receive->data = targets[source] + header.number % 64;
  recv->cookie = receive;
  recv->local_fn = received;
  recv->addr = receive->data - 3;
  recv->type = PAMI_TYPE_BYTE;
  recv->offset = 3;
  recv->data_fn = PAMI_DATA_COPY;
  recv->data_cookie = NULL;
}

static void local_done(pami_context_t context, void *cookie, pami_result_t result) {
  (void)context;
  CHECK(cookie == &local && result == PAMI_SUCCESS);
  local++;
}

static void remote_done(pami_context_t context, void *cookie, pami_result_t result) {
  (void)context;
  CHECK(cookie == &local && result == PAMI_SUCCESS);
  remote++;
}

int main(void) {
  pami_client_t client;
  pami_context_t context;
  pami_dispatch_callback_function late;
  pami_dispatch_hint_t hints;
  char from_stack[LARGEST + 64];
  char *from_heap = malloc(LARGEST + 64);
  size_t tasks, task, size, kind, number = 0, sent = 0, expected = 0;

  SUCCEEDS(PAMI_Client_create("messages", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  CHECK(tasks <= MOST_TASKS);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  receive_by(context, DISPATCH, dispatched, &me);
  /* Data never comes with the call. */
  memset(&hints, 0, sizeof hints);
  hints.recv_immediate = PAMI_HINT_DISABLE;
  late.p2p = dispatched;
  SUCCEEDS(PAMI_Dispatch_set(context, LATE, late, &me, hints));

  for (size = 0; size < SIZES; size++) {
    for (kind = 0; kind < 3; kind++) {
      char *bases[3] = {from_static, from_stack, from_heap};
      char *data = bases[kind] + number % 64;
      size_t place;
      for (place = 0; place < sizes[size]; place++) data[place] = byte_of(me, number, place);
      for (task = 0; task < tasks; task++) {
        struct header header = {me, number, sizes[size]};
        pami_send_t send;
        memset(&send, 0, sizeof send);
        send.send.header.iov_base = &header;
        send.send.header.iov_len = sizeof header;
        send.send.data.iov_base = data;
        send.send.data.iov_len = sizes[size];
        send.send.dispatch = number % 2 ? DISPATCH : LATE;
        send.send.dest = endpoint(client, task, 0);
        send.events.cookie = &local;
        send.events.local_fn = local_done;
        send.events.remote_fn = remote_done;
        SUCCEEDS(PAMI_Send(context, &send));
        sent++;
        expected++;
        if (sizeof header + sizes[size] <= 256) {
          SUCCEEDS(PAMI_Send_immediate(context, &send.send));
          expected++;
        }
      }
      /* As many come as go. Others may be ahead. */
      while (arrived < expected || local < sent || remote < sent) PAMI_Context_advance(context, 1);
      number++;
    }
  }
  CHECK(arrived == expected && local == sent && remote == sent);
  printf("task %zu of %zu: %zu messages\n", me, tasks, sent);
  free(from_heap);
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  CHECK(context == PAMI_CONTEXT_NULL);
  SUCCEEDS(PAMI_Client_destroy(&client));
  CHECK(client == PAMI_CLIENT_NULL);
  return 0;
}
