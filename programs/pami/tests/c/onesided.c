/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Put, get, read-modify-write and memory regions, to and from memory of every kind. */
#include "check.h"

enum { DISPATCH = 1, LARGEST = 40000, KINDS = 3 };

static const size_t sizes[] = {1, 7, 32, 63, 64, 512, 513, 4096, LARGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static size_t me, tasks;
static pami_client_t client;
static pami_context_t context;
static volatile size_t done, remote_done, received;
static char in_static[LARGEST + 128];

/** Addresses that each task sends to the one before it. */
struct places {
  char *kinds[KINDS];
  int *counter;
  long *wide;
  pami_memregion_t region;
};
static struct places next_places;

static void count(pami_context_t at, void *cookie, pami_result_t result) {
  CHECK(at == context && result == PAMI_SUCCESS);
  ++*(volatile size_t *)cookie;
}

static void count_done(pami_context_t at, void *cookie, pami_result_t result) {
  CHECK(at == context && cookie == &next_places && result == PAMI_SUCCESS);
  done++;
}

static void count_remote(pami_context_t at, void *cookie, pami_result_t result) {
  CHECK(at == context && cookie == &next_places && result == PAMI_SUCCESS);
  remote_done++;
}

static void take_places(pami_context_t at, void *cookie, const void *header_addr, size_t header_size,
                        const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  (void)at, (void)cookie, (void)origin, (void)recv;
  CHECK(header_size == 1 && pipe_addr != NULL);
  if (*(const char *)header_addr == 'p') {
    CHECK(data_size == sizeof next_places);
    memcpy(&next_places, pipe_addr, data_size);
  }
  received++;
}

static void tell(size_t task, char what, const void *data, size_t bytes) {
  pami_send_immediate_t send;
  memset(&send, 0, sizeof send);
  send.header.iov_base = &what;
  send.header.iov_len = 1;
  send.data.iov_base = (void *)data;
  send.data.iov_len = bytes;
  send.dispatch = DISPATCH;
  send.dest = endpoint(client, task, 0);
  SUCCEEDS(PAMI_Send_immediate(context, &send));
}

static void wait_for(volatile size_t *counter, size_t value) {
  while (*counter < value) PAMI_Context_advance(context, 1);
}

/** Waits until the task before and the task behind have come here, too. */
static void meet(void) {
  static size_t meetings = 1;
  tell((me + 1) % tasks, 'm', "", 0);
  tell((me + tasks - 1) % tasks, 'm', "", 0);
  meetings += 2;
  wait_for(&received, meetings);
}

static void put_and_get(char *const kinds[KINDS], size_t next) {
  static char local[LARGEST + 128];
  static char back[LARGEST + 128];
  size_t size, from, to, number = 0, place;
  size_t before = (me + tasks - 1) % tasks;
  for (size = 0; size < SIZES; size++) {
    for (to = 0; to < KINDS; to++, number++) {
      pami_put_simple_t put;
      pami_get_simple_t get;
      char *target = next_places.kinds[to] + number % 61;
      for (place = 0; place < sizes[size]; place++) local[place + 5] = byte_of(me, number, place);
      memset(&put, 0, sizeof put);
      put.rma.dest = endpoint(client, next, 0);
      put.rma.bytes = sizes[size];
      put.rma.cookie = &next_places;
      put.rma.done_fn = count_done;
      put.addr.local = local + 5;
      put.addr.remote = target;
      put.put.rdone_fn = count_remote;
      from = done;
      SUCCEEDS(PAMI_Put(context, &put));
      wait_for(&done, from + 1);
      wait_for(&remote_done, number + 1);
      memset(back, 0, sizeof back);
      memset(&get, 0, sizeof get);
      get.rma = put.rma;
      get.addr.local = back + 9;
      get.addr.remote = target;
      from = done;
      SUCCEEDS(PAMI_Get(context, &get));
      wait_for(&done, from + 1);
      CHECK(memcmp(back + 9, local + 5, sizes[size]) == 0 && back[8] == 0 && back[9 + sizes[size]] == 0);
      /* Data from the previous task. */
      meet();
      for (place = 0; place < sizes[size]; place++) {
        CHECK(((volatile char *)kinds[to])[number % 61 + place] == byte_of(before, number, place));
      }
      meet();
    }
  }
}

static void regions(char *kind, size_t next) {
  pami_memregion_t local, wrong;
  pami_rput_simple_t put;
  pami_rget_simple_t get;
  size_t bytes, from;
  static char data[256];
  SUCCEEDS(PAMI_Memregion_create(context, data, sizeof data, &bytes, &local));
  CHECK(bytes == sizeof data);
  RETURNS(PAMI_INVAL, PAMI_Memregion_create(context, data, 0, &bytes, &wrong));
  RETURNS(PAMI_ERROR, PAMI_Memregion_create(context, (void *)0x123456789000, 100, &bytes, &wrong));
  memset(data, (char)me + 1, 100);
  memset(&put, 0, sizeof put);
  put.rma.dest = endpoint(client, next, 0);
  put.rma.bytes = 100;
  put.rma.cookie = &next_places;
  put.rma.done_fn = count_done;
  put.put.rdone_fn = count_remote;
  put.rdma.local.mr = &local;
  put.rdma.remote.mr = &next_places.region;
  put.rdma.remote.offset = LARGEST - 100;
  from = remote_done;
  SUCCEEDS(PAMI_Rput(context, &put));
  wait_for(&remote_done, from + 1);
  memset(&get, 0, sizeof get);
  get.rma = put.rma;
  get.rdma = put.rdma;
  get.rdma.local.offset = 100;
  get.rdma.remote.offset = LARGEST - 50;
  get.rma.bytes = 50;
  from = done;
  SUCCEEDS(PAMI_Rget(context, &get));
  wait_for(&done, from + 1);
  CHECK(memcmp(data, data + 100, 50) == 0 && data[150] == 0);
  meet();
  CHECK(kind[LARGEST - 1] == (char)((me + tasks - 1) % tasks + 1));
  put.rdma.remote.offset = LARGEST - 99;
  RETURNS(PAMI_INVAL, PAMI_Rput(context, &put));
  put.rdma.remote.mr = tasks > 1 ? &local : &wrong;
  RETURNS(PAMI_INVAL, PAMI_Rput(context, &put));
  SUCCEEDS(PAMI_Memregion_destroy(context, &local));
  RETURNS(PAMI_INVAL, PAMI_Memregion_destroy(context, &local));
}

/** All tasks change two words of task 0. */
static void modify(int *narrow, long *wide) {
  pami_rmw_t rmw;
  size_t turn, total = 0;
  int value = 3, before = 0, test;
  long wide_value, wide_before = 0;
  volatile size_t ended = 0;
  *narrow = 0;
  *wide = 0;
  meet();
  for (turn = 0; turn < 20; turn++) {
    memset(&rmw, 0, sizeof rmw);
    rmw.dest = endpoint(client, (me + 1) % tasks, 0);
    rmw.cookie = (void *)&ended;
    rmw.done_fn = count;
    rmw.local = &before;
    rmw.remote = next_places.counter;
    rmw.value = &value;
    rmw.operation = PAMI_ATOMIC_FETCH_ADD;
    rmw.type = PAMI_TYPE_SIGNED_INT;
    SUCCEEDS(PAMI_Rmw(context, &rmw));
    wait_for(&ended, ++total);
    CHECK(before == (int)turn * 3);
  }
  test = 61;
  rmw.test = &test;
  rmw.operation = PAMI_ATOMIC_FETCH_COMPARE_SET;
  SUCCEEDS(PAMI_Rmw(context, &rmw));
  wait_for(&ended, ++total);
  CHECK(before == 60);
  test = 60;
  SUCCEEDS(PAMI_Rmw(context, &rmw));
  wait_for(&ended, ++total);
  rmw.operation = PAMI_ATOMIC_FETCH;
  SUCCEEDS(PAMI_Rmw(context, &rmw));
  wait_for(&ended, ++total);
  CHECK(before == 3);
  wide_value = 0x0ff0123456789abcL;
  rmw.type = PAMI_TYPE_UNSIGNED_LONG;
  rmw.remote = next_places.wide;
  rmw.value = &wide_value;
  rmw.local = &wide_before;
  rmw.operation = PAMI_ATOMIC_XOR;
  SUCCEEDS(PAMI_Rmw(context, &rmw));
  wait_for(&ended, ++total);
  wide_value = 0x00ffL;
  rmw.operation = PAMI_ATOMIC_FETCH_AND;
  SUCCEEDS(PAMI_Rmw(context, &rmw));
  wait_for(&ended, ++total);
  CHECK(wide_before == 0x0ff0123456789abcL);
  rmw.operation = PAMI_ATOMIC_FETCH_OR;
  wide_value = 0x100;
  SUCCEEDS(PAMI_Rmw(context, &rmw));
  wait_for(&ended, ++total);
  CHECK(wide_before == 0xbc);
  rmw.operation = PAMI_ATOMIC_COMPARE;
  RETURNS(PAMI_INVAL, PAMI_Rmw(context, &rmw));
  rmw.operation = PAMI_ATOMIC_FETCH;
  rmw.type = PAMI_TYPE_DOUBLE;
  RETURNS(PAMI_INVAL, PAMI_Rmw(context, &rmw));
  rmw.type = PAMI_TYPE_SIGNED_INT;
  rmw.remote = (char *)next_places.counter + 1;
  RETURNS(PAMI_INVAL, PAMI_Rmw(context, &rmw));
  meet();
  CHECK(*(volatile int *)narrow == 3 && *(volatile long *)wide == 0x1bc);
}

int main(void) {
  struct places mine;
  pami_put_simple_t put;
  char on_stack[LARGEST + 128];
  int narrow;
  long wide;
  size_t bytes, next;

  SUCCEEDS(PAMI_Client_create("onesided", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  next = (me + 1) % tasks;
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  receive_by(context, DISPATCH, take_places, NULL);
  memset(&mine, 0, sizeof mine);
  mine.kinds[0] = in_static;
  mine.kinds[1] = on_stack;
  mine.kinds[2] = malloc(LARGEST + 128);
  mine.counter = &narrow;
  mine.wide = &wide;
  SUCCEEDS(PAMI_Memregion_create(context, in_static, LARGEST, &bytes, &mine.region));
  CHECK(bytes == LARGEST);
  tell((me + tasks - 1) % tasks, 'p', &mine, sizeof mine);
  wait_for(&received, 1);
  /* The other one's stack is not at the same place. */
  put_and_get(mine.kinds, next);
  regions(in_static, next);
  modify(&narrow, &wide);

  memset(&put, 0, sizeof put);
  put.rma.dest = endpoint(client, next, 0);
  put.addr.local = in_static;
  put.addr.remote = in_static;
  RETURNS(PAMI_INVAL, PAMI_Put(context, &put));
  put.rma.bytes = 8;
  put.addr.remote = (void *)0x123456789000;
  RETURNS(PAMI_INVAL, PAMI_Put(context, &put));
  put.addr.remote = NULL;
  RETURNS(PAMI_INVAL, PAMI_Put(context, &put));
  meet();
  free(mine.kinds[2]);
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("task %zu of %zu: one-sided\n", me, tasks);
  return 0;
}
