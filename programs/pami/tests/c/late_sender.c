/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Task 1 sends messages to task 0, each after a sleep: task 0 waits for a late sender. */
#include <unistd.h>

#include "check.h"

enum { MESSAGES = 10, BYTES = 256, DISPATCH = 5, SLEEP_US = 50 };

static size_t arrived;

static void received(pami_context_t context, void *cookie, const void *header, size_t header_size, const void *data,
                     size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  (void)context, (void)header, (void)origin, (void)recv;
  CHECK(cookie == &arrived && header_size == 0 && data != NULL && data_size == BYTES);
  arrived++;
}

int main(void) {
  pami_client_t client;
  pami_context_t context;
  pami_endpoint_t target;
  pami_send_immediate_t send;
  char data[BYTES];
  size_t me, number;

  SUCCEEDS(PAMI_Client_create("late", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  receive_by(context, DISPATCH, received, &arrived);
  memset(data, 1, sizeof data);
  memset(&send, 0, sizeof send);
  send.dispatch = DISPATCH;
  send.data.iov_base = data;
  send.data.iov_len = BYTES;
  SUCCEEDS(PAMI_Endpoint_create(client, 0, 0, &target));
  send.dest = target;
  for (number = 0; number < MESSAGES; number++) {
    if (me == 1) {
      usleep(SLEEP_US);
      SUCCEEDS(PAMI_Send_immediate(context, &send));
    }
    while (me == 0 && arrived <= number) PAMI_Context_advance(context, 100);
  }
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  return 0;
}
