/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Task 1 does not hear the signal by which it is asked for bytes of its memory, while task 0 puts some there. */
#include <signal.h>

#include "check.h"

static size_t written;
static volatile size_t ended;

static void end(pami_context_t context, void *cookie, pami_result_t result) {
  (void)context;
  (void)cookie;
  CHECK(result == PAMI_SUCCESS);
  ended = 1;
}

int main(void) {
  static size_t value = 77;
  pami_client_t client;
  pami_context_t context;
  pami_put_simple_t put;
  sigset_t urgent;
  SUCCEEDS(PAMI_Client_create("deaf", &client, NULL, 0));
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  if (client_number(client, PAMI_CLIENT_TASK_ID) == 0) {
    memset(&put, 0, sizeof put);
    put.rma.dest = endpoint(client, 1, 0);
    put.rma.bytes = sizeof value;
    put.rma.done_fn = end;
    put.addr.local = &value;
    put.addr.remote = &written;
    SUCCEEDS(PAMI_Put(context, &put));
    while (!ended) PAMI_Context_advance(context, 1);
  } else {
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    CHECK(sigprocmask(SIG_BLOCK, &urgent, NULL) == 0);
  }
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("deaf\n");
  return 0;
}
