/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Task 1 waits for what task 0 puts into its memory, without a call. */
#include "check.h"

static volatile size_t written;

static void end(pami_context_t context, void *cookie, pami_result_t result) {
  (void)context;
  CHECK(result == PAMI_SUCCESS);
  *(volatile size_t *)cookie = 1;
}

int main(void) {
  static size_t value = 77;
  pami_client_t client;
  pami_context_t context;
  pami_put_simple_t put;
  volatile size_t ended = 0;
  SUCCEEDS(PAMI_Client_create("spin", &client, NULL, 0));
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  if (client_number(client, PAMI_CLIENT_TASK_ID) == 0) {
    memset(&put, 0, sizeof put);
    put.rma.dest = endpoint(client, 1, 0);
    put.rma.bytes = sizeof value;
    put.rma.cookie = (void *)&ended;
    put.rma.done_fn = end;
    put.addr.local = &value;
    put.addr.remote = (void *)&written;
    SUCCEEDS(PAMI_Put(context, &put));
    while (!ended) PAMI_Context_advance(context, 1);
  } else {
    while (written != 77) continue;
  }
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("spun\n");
  return 0;
}
