/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages that task 1 cannot receive: its function gives no address or an invalid type, or its context has ended. Task 0 is told of
 * each, and of no other. */
#include "check.h"

enum { NO_ADDRESS = 1, BAD_TYPE, CONSUMED, LENGTHS = 3 };

/** In one packet, in several, and fetched by the receiver. */
static const size_t lengths[LENGTHS] = {8, 2000, 20000};
static char data[20000];
static volatile size_t ended, failed, arrived;

static void sent(pami_context_t context, void *cookie, pami_result_t result) {
  (void)context, (void)cookie;
  ended++;
  failed += result != PAMI_SUCCESS;
}

static void receive(pami_context_t context, void *cookie, const void *header, size_t header_size, const void *pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t *recv) {
  static char into[20000];
  (void)context, (void)header, (void)header_size, (void)size, (void)origin;
  arrived++;
  if (pipe != NULL) return;
  memset(recv, 0, sizeof *recv);
  recv->type = cookie == (void *)BAD_TYPE ? (pami_type_t)0x12345678 : PAMI_TYPE_BYTE;
  recv->addr = cookie == (void *)NO_ADDRESS ? NULL : into;
}

static void send(pami_client_t client, pami_context_t context, size_t dispatch, size_t length) {
  pami_send_t message;
  memset(&message, 0, sizeof message);
  message.send.dest = endpoint(client, 1, 0);
  message.send.dispatch = dispatch;
  message.send.data.iov_base = data;
  message.send.data.iov_len = length;
  message.events.remote_fn = sent;
  SUCCEEDS(PAMI_Send(context, &message));
}

static void set(pami_context_t context, size_t dispatch) {
  pami_dispatch_callback_function by;
  pami_dispatch_hint_t hints;
  by.p2p = receive;
  memset(&hints, 0, sizeof hints);
  /* Short messages have a place of their own, too. */
  hints.recv_immediate = PAMI_HINT_DISABLE;
  SUCCEEDS(PAMI_Dispatch_set(context, dispatch, by, (void *)dispatch, hints));
}

int main(void) {
  pami_client_t client;
  pami_context_t context;
  size_t me, place, dispatch;
  SUCCEEDS(PAMI_Client_create("dropped", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  for (dispatch = NO_ADDRESS; dispatch <= CONSUMED; dispatch++) set(context, dispatch);
  if (me == 0) {
    for (dispatch = NO_ADDRESS; dispatch <= CONSUMED; dispatch++) {
      ended = failed = 0;
      for (place = 0; place < LENGTHS; place++) send(client, context, dispatch, lengths[place]);
      while (ended < LENGTHS) PAMI_Context_advance(context, 1);
      printf("dispatch %zu: %zu of %d failed\n", dispatch, failed, LENGTHS);
    }
    /* Task 1 has ended its context, or will before it looks for these. */
    ended = failed = 0;
    for (place = 0; place < LENGTHS; place++) send(client, context, CONSUMED, lengths[place]);
    while (ended < LENGTHS) PAMI_Context_advance(context, 1);
    printf("context ended: %zu of %d failed\n", failed, LENGTHS);
  } else {
    while (arrived < CONSUMED * LENGTHS) PAMI_Context_advance(context, 1);
  }
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  return 0;
}
