/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Task 1 ends with its client open, while task 0 waits for it to take a long message: at the end of its client, or with "wait" for
 * the message's callback. */
#include "check.h"

static volatile size_t ended;

static void end(pami_context_t context, void *cookie, pami_result_t result) {
  (void)context, (void)cookie, (void)result;
  ended++;
}

static void receive(pami_context_t context, void *cookie, const void *header, size_t header_size, const void *pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t *recv) {
  (void)context, (void)cookie, (void)header, (void)header_size, (void)pipe, (void)size, (void)origin, (void)recv;
}

int main(int count, char **arguments) {
  static char data[20000];
  pami_client_t client;
  pami_context_t context;
  pami_send_t send;
  (void)arguments;
  SUCCEEDS(PAMI_Client_create("peer_ended", &client, NULL, 0));
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  receive_by(context, 1, receive, NULL);
  if (client_number(client, PAMI_CLIENT_TASK_ID) == 1) return 0;
  memset(&send, 0, sizeof send);
  send.send.dest = endpoint(client, 1, 0);
  send.send.dispatch = 1;
  send.send.data.iov_base = data;
  send.send.data.iov_len = sizeof data;
  if (count > 1) send.events.remote_fn = end;
  SUCCEEDS(PAMI_Send(context, &send));
  while (count > 1 && !ended) PAMI_Context_advance(context, 1);
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  return 0;
}
