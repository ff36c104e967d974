/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Puts and gets with a layout on each side, by address and by region. */
#include "check.h"

enum { DISPATCH = 1, ROWS = 24, COLUMNS = 20 };

static pami_client_t client;
static pami_context_t context;
static volatile size_t done, remote_done, received;
static pami_memregion_t next_region;
static int matrix[ROWS][COLUMNS], copy[ROWS][COLUMNS];

static void count(pami_context_t at, void *cookie, pami_result_t result) {
  CHECK(at == context && result == PAMI_SUCCESS);
  ++*(volatile size_t *)cookie;
}

static void count_remote(pami_context_t at, void *cookie, pami_result_t result) {
  CHECK(at == context && cookie == (void *)&done && result == PAMI_SUCCESS);
  remote_done++;
}

static void take(pami_context_t at, void *cookie, const void *header_addr, size_t header_size, const void *pipe_addr,
                 size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  (void)at, (void)cookie, (void)header_addr, (void)header_size, (void)origin, (void)recv;
  CHECK(pipe_addr != NULL);
  if (data_size != 0) {
    CHECK(data_size == sizeof next_region);
    memcpy(&next_region, pipe_addr, data_size);
  }
  received++;
}

static void tell(size_t task, const void *data, size_t bytes) {
  pami_send_immediate_t send;
  memset(&send, 0, sizeof send);
  send.data.iov_base = (void *)data;
  send.data.iov_len = bytes;
  send.dispatch = DISPATCH;
  send.dest = endpoint(client, task, 0);
  SUCCEEDS(PAMI_Send_immediate(context, &send));
}

static void wait_for(volatile size_t *counter, size_t value) {
  while (*counter < value) PAMI_Context_advance(context, 1);
}

/** Initial value of task `task` at a place. */
static int value(size_t task, size_t row, size_t column) { return (int)(task * 100000 + row * 100 + column); }

int main(void) {
  pami_put_typed_t put;
  pami_get_typed_t get;
  pami_rput_typed_t rput;
  pami_rget_typed_t rget;
  pami_type_t column, rows, hole;
  pami_memregion_t region;
  size_t me, tasks, next, before, row, place, bytes, meetings = 0;
  int expected;

  SUCCEEDS(PAMI_Client_create("typed rma", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  next = (me + 1) % tasks;
  before = (me + tasks - 1) % tasks;
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  receive_by(context, DISPATCH, take, NULL);
  for (row = 0; row < ROWS; row++)
    for (place = 0; place < COLUMNS; place++) matrix[row][place] = copy[row][place] = value(me, row, place);
  SUCCEEDS(PAMI_Memregion_create(context, copy, sizeof copy, &bytes, &region));
  tell(before, &region, sizeof region);
  wait_for(&received, ++meetings);

  /* A column: an element of each row. */
  SUCCEEDS(PAMI_Type_create(&column));
  SUCCEEDS(PAMI_Type_add_simple(column, sizeof(int), 0, ROWS, sizeof *matrix));
  SUCCEEDS(PAMI_Type_complete(column, sizeof(int)));
  /* Pairs of elements with one between them. */
  SUCCEEDS(PAMI_Type_create(&rows));
  SUCCEEDS(PAMI_Type_add_simple(rows, 2 * sizeof(int), 0, 6, 3 * sizeof(int)));
  SUCCEEDS(PAMI_Type_complete(rows, sizeof(int)));

  /* Column 3 here to column 5 there. */
  memset(&put, 0, sizeof put);
  put.rma.dest = endpoint(client, next, 0);
  put.rma.bytes = ROWS * sizeof(int);
  put.rma.cookie = (void *)&done;
  put.rma.done_fn = count;
  put.addr.local = &matrix[0][3];
  put.addr.remote = &copy[0][5];
  put.type.local = column;
  put.type.remote = column;
  put.put.rdone_fn = count_remote;
  SUCCEEDS(PAMI_Put_typed(context, &put));
  /* Column 4 here to the first pairs of row 0 there, two rows of them: 24 numbers in 12 pairs. */
  put.addr.local = &matrix[0][4];
  put.addr.remote = &copy[20][0];
  put.type.remote = rows;
  SUCCEEDS(PAMI_Put_typed(context, &put));
  wait_for(&done, 2);
  wait_for(&remote_done, 2);
  tell(next, "", 0);
  tell(before, "", 0);
  wait_for(&received, meetings += 2);
  for (row = 0; row < ROWS; row++) {
    CHECK(((volatile int *)copy[row])[5] == value(before, row, 3) || row >= 20);
    if (row < 20) {
      for (place = 0; place < COLUMNS; place++) {
        expected = place == 5 ? value(before, row, 3) : value(me, row, place);
        CHECK(copy[row][place] == expected);
      }
    }
  }
  for (place = 0; place < 12; place++) {
    /* A repetition of the pairs is 18 elements long. */
    size_t at = place / 6 * 18 + place % 6 * 3;
    CHECK((&copy[20][0])[at] == value(before, 2 * place, 4) && (&copy[20][0])[at + 1] == value(before, 2 * place + 1, 4));
  }
  tell(next, "", 0);
  tell(before, "", 0);
  wait_for(&received, meetings += 2);

  /* Column 5 of the other task back, to contiguous memory. */
  static int back[ROWS + 1];
  memset(&get, 0, sizeof get);
  get.rma = put.rma;
  get.addr.local = back;
  get.addr.remote = &matrix[0][7];
  get.type.local = PAMI_TYPE_SIGNED_INT;
  get.type.remote = column;
  SUCCEEDS(PAMI_Get_typed(context, &get));
  wait_for(&done, 3);
  for (row = 0; row < ROWS; row++) CHECK(((volatile int *)back)[row] == value(next, row, 7));
  CHECK(back[ROWS] == 0);

  /* The same by region. */
  memset(&rput, 0, sizeof rput);
  rput.rma = put.rma;
  rput.rdma.local.mr = &region;
  rput.rdma.local.offset = 6 * sizeof(int);
  rput.rdma.remote.mr = &next_region;
  rput.rdma.remote.offset = 9 * sizeof(int);
  rput.type.local = column;
  rput.type.remote = column;
  rput.rma.bytes = 20 * sizeof(int);
  rput.put.rdone_fn = count_remote;
  SUCCEEDS(PAMI_Rput_typed(context, &rput));
  wait_for(&remote_done, 3);
  memset(&rget, 0, sizeof rget);
  rget.rma = rput.rma;
  rget.rdma = rput.rdma;
  rget.rdma.local.offset = 10 * sizeof(int);
  rget.type = rput.type;
  SUCCEEDS(PAMI_Rget_typed(context, &rget));
  wait_for(&done, 5);
  for (row = 0; row < 20; row++) CHECK(((volatile int *)copy[row])[10] == value(me, row, 6));
  /* One more row than the region has. */
  rput.rma.bytes = (ROWS + 1) * sizeof(int);
  RETURNS(PAMI_INVAL, PAMI_Rput_typed(context, &rput));
  rget.rma.bytes = rput.rma.bytes;
  RETURNS(PAMI_INVAL, PAMI_Rget_typed(context, &rget));
  SUCCEEDS(PAMI_Type_create(&hole));
  put.type.local = hole;
  RETURNS(PAMI_INVAL, PAMI_Put_typed(context, &put));
  SUCCEEDS(PAMI_Type_complete(hole, 1));
  RETURNS(PAMI_INVAL, PAMI_Put_typed(context, &put));
  put.type.local = (pami_type_t)0x77777777;
  RETURNS(PAMI_INVAL, PAMI_Put_typed(context, &put));
  tell(next, "", 0);
  tell(before, "", 0);
  wait_for(&received, meetings += 2);
  SUCCEEDS(PAMI_Type_destroy(&column));
  SUCCEEDS(PAMI_Type_destroy(&rows));
  SUCCEEDS(PAMI_Type_destroy(&hole));
  SUCCEEDS(PAMI_Memregion_destroy(context, &region));
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("task %zu: typed\n", me);
  return 0;
}
