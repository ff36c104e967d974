/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Transfers from and to memory that this task does not have: each is refused, or fails in its callback. (Short data is copied by
 * the caller, which a signal ends, as on any machine.) */
#include "check.h"

static pami_context_t context;
static volatile size_t ended;
static pami_result_t last;

static void end(pami_context_t at, void *cookie, pami_result_t result) {
  CHECK(at == context && cookie == NULL);
  last = result;
  ended++;
}

static void nothing(pami_context_t at, void *cookie, const void *header, size_t header_size, const void *pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t *recv) {
  (void)at, (void)cookie, (void)header, (void)header_size, (void)pipe, (void)size, (void)origin, (void)recv;
}

/** Whether a transfer that was begun with this result fails, at once or in its callback. */
static int fails(pami_result_t begun) {
  if (begun != PAMI_SUCCESS) return 1;
  last = PAMI_SUCCESS;
  ended = 0;
  while (!ended) PAMI_Context_advance(context, 1);
  return last != PAMI_SUCCESS;
}

int main(void) {
  static const int constant = 1;
  static int variable, one = 1;
  static char data[20000];
  void *const nowhere[2] = {(void *)0x10000, (void *)&constant};
  pami_client_t client;
  pami_rmw_t rmw;
  pami_put_simple_t put;
  pami_get_simple_t get;
  pami_get_typed_t typed;
  pami_send_t send;
  size_t place;
  SUCCEEDS(PAMI_Client_create("bad_local", &client, NULL, 0));
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  receive_by(context, 1, nothing, NULL);
  if (client_number(client, PAMI_CLIENT_TASK_ID) == 0) {
    memset(&rmw, 0, sizeof rmw);
    rmw.dest = endpoint(client, 1, 0);
    rmw.operation = PAMI_ATOMIC_FETCH_ADD;
    rmw.type = PAMI_TYPE_SIGNED_INT;
    rmw.remote = &variable;
    rmw.value = &one;
    for (place = 0; place < 2; place++) {
      rmw.local = nowhere[place];
      rmw.done_fn = NULL;
      RETURNS(PAMI_INVAL, PAMI_Rmw(context, &rmw));
      rmw.done_fn = end;
      RETURNS(PAMI_INVAL, PAMI_Rmw(context, &rmw));
    }
    memset(&get, 0, sizeof get);
    get.rma.dest = rmw.dest;
    get.rma.bytes = sizeof data;
    get.rma.done_fn = end;
    get.addr.local = nowhere[0];
    get.addr.remote = data;
    CHECK(fails(PAMI_Get(context, &get)));
    memset(&put, 0, sizeof put);
    put.rma = get.rma;
    put.addr = get.addr;
    put.rma.bytes = 20000;
    CHECK(fails(PAMI_Put(context, &put)));
    memset(&send, 0, sizeof send);
    send.send.dest = rmw.dest;
    send.send.dispatch = 1;
    send.send.data.iov_base = nowhere[0];
    send.events.remote_fn = end;
    send.send.data.iov_len = 20000;
    CHECK(fails(PAMI_Send(context, &send)));
    /* More than a task has. */
    memset(&typed, 0, sizeof typed);
    typed.rma = get.rma;
    typed.rma.bytes = (size_t)1 << 62;
    typed.addr.local = data;
    typed.addr.remote = data;
    typed.type.local = typed.type.remote = PAMI_TYPE_BYTE;
    RETURNS(PAMI_INVAL, PAMI_Get_typed(context, &typed));
    get.rma.bytes = put.rma.bytes = (size_t)1 << 62;
    get.addr.local = put.addr.local = data;
    RETURNS(PAMI_INVAL, PAMI_Get(context, &get));
    RETURNS(PAMI_INVAL, PAMI_Put(context, &put));
    get.rma.bytes = 8;
    get.addr.local = &one;
    get.addr.remote = &variable;
    CHECK(!fails(PAMI_Get(context, &get)));
    CHECK(one == 0);
  }
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("bad_local\n");
  return 0;
}
