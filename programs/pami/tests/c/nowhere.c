/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One-sided transfers to and from memory that the other task does not have: they fail, and nothing else does. */
#include "check.h"

static pami_context_t context;
static volatile size_t ended;
static pami_result_t last;

static void end(pami_context_t at, void *cookie, pami_result_t result) {
  CHECK(at == context && cookie == NULL);
  last = result;
  ended++;
}

int main(void) {
  static const char constant[8] = "constant";
  /* An unmapped page. */
  char *const nobodys = (char *)0x10000;
  pami_client_t client;
  pami_put_simple_t put;
  pami_get_simple_t get;
  char data[8] = "changed";
  size_t me;
  SUCCEEDS(PAMI_Client_create("nowhere", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  if (me == 0) {
    memset(&put, 0, sizeof put);
    put.rma.dest = endpoint(client, 1, 0);
    put.rma.bytes = sizeof data;
    put.addr.local = data;
    put.addr.remote = nobodys;
    put.put.rdone_fn = end;
    SUCCEEDS(PAMI_Put(context, &put));
    while (ended < 1) PAMI_Context_advance(context, 1);
    CHECK(last == PAMI_ERROR);
    put.addr.remote = (void *)constant;
    SUCCEEDS(PAMI_Put(context, &put));
    while (ended < 2) PAMI_Context_advance(context, 1);
    CHECK(last == PAMI_ERROR);
    /* Transfers of mapped memory continue. */
    memset(&get, 0, sizeof get);
    get.rma = put.rma;
    get.rma.done_fn = end;
    get.addr.local = data;
    get.addr.remote = (void *)constant;
    SUCCEEDS(PAMI_Get(context, &get));
    while (ended < 3) PAMI_Context_advance(context, 1);
    CHECK(last == PAMI_SUCCESS && memcmp(data, constant, sizeof data) == 0);
  }
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  CHECK(memcmp(constant, "constant", sizeof constant) == 0);
  printf("task %zu: nowhere\n", me);
  return 0;
}
