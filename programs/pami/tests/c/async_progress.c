/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The extension of asynchronous progress: contexts advance while their tasks do something else. */
#include "check.h"
#include <pami_ext_async_progress.h>
#include <unistd.h>

enum { DISPATCH = 1, MESSAGES = 4, LENGTH = 20000 };

static pami_client_t client;
static pami_context_t context;
static pamix_async_progress_register_fn set_functions;
static pamix_async_progress_enable_fn enable;
static pamix_async_progress_disable_fn disable;
static char data[MESSAGES][LENGTH], received[MESSAGES][LENGTH];
static volatile size_t come, sent, worked, progressed, suspended, resumed;

static double now(void) { return PAMI_Wtime(client) * 1e6; }

static void counts(pami_context_t by, void *cookie, pami_result_t result) {
  CHECK(by == context && result == PAMI_SUCCESS);
  ++*(volatile size_t *)cookie;
}

static void dispatched(pami_context_t by, void *cookie, const void *header_addr, size_t header_size,
                       const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  (void)cookie, (void)origin;
  CHECK(by == context && header_size == sizeof(size_t) && data_size == LENGTH && pipe_addr == NULL);
  memset(recv, 0, sizeof *recv);
  recv->addr = received[*(const size_t *)header_addr];
  recv->type = PAMI_TYPE_BYTE;
  recv->local_fn = counts;
  recv->cookie = (void *)&come;
}

static pami_result_t work(pami_context_t by, void *cookie) {
  CHECK(by == context && cookie == NULL);
  worked++;
  return PAMI_SUCCESS;
}

static void progress(pami_context_t by, void *cookie) {
  CHECK(by == context && cookie == &progressed);
  progressed++;
  SUCCEEDS(PAMI_Context_lock(by));
  PAMI_Context_advance(by, 1);
  SUCCEEDS(PAMI_Context_unlock(by));
}

static void suspends(pami_context_t by, void *cookie) {
  CHECK(by == context && cookie == &progressed && suspended == resumed);
  suspended++;
}

static void resumes(pami_context_t by, void *cookie) {
  CHECK(by == context && cookie == &progressed && suspended == resumed + 1);
  resumed++;
}

/* Every task sends to the next one, and none advances: all data arrives while they sleep. */
static void exchange(size_t me, size_t tasks, size_t round) {
  size_t number, place;
  double begin = now();
  come = sent = worked = 0;
  SUCCEEDS(PAMI_Context_lock(context));
  for (number = 0; number < MESSAGES; number++) {
    pami_send_t send;
    for (place = 0; place < LENGTH; place++) data[number][place] = byte_of(me + round, number, place);
    memset(&send, 0, sizeof send);
    send.send.dispatch = DISPATCH;
    send.send.dest = endpoint(client, (me + 1) % tasks, 0);
    send.send.header.iov_base = &number;
    send.send.header.iov_len = sizeof number;
    send.send.data.iov_base = data[number];
    send.send.data.iov_len = LENGTH;
    send.events.cookie = (void *)&sent;
    send.events.remote_fn = counts;
    SUCCEEDS(PAMI_Send(context, &send));
  }
  SUCCEEDS(PAMI_Context_unlock(context));
  SUCCEEDS(PAMI_Context_post(context, NULL, work, NULL));
  while (come < MESSAGES || sent < MESSAGES || worked < 1) {
    usleep(10);
    CHECK(now() - begin < 1000);
  }
  for (number = 0; number < MESSAGES; number++) {
    for (place = 0; place < LENGTH; place++) {
      CHECK(received[number][place] == byte_of((me + tasks - 1) % tasks + round, number, place));
    }
  }
}

int main(void) {
  pami_extension_t extension;
  pami_configuration_t guarantee;
  size_t me, tasks;

  SUCCEEDS(PAMI_Extension_open(NULL, "EXT_async_progress", &extension));
  set_functions = (pamix_async_progress_register_fn)PAMI_Extension_symbol(extension, "register");
  enable = (pamix_async_progress_enable_fn)PAMI_Extension_symbol(extension, "enable");
  disable = (pamix_async_progress_disable_fn)PAMI_Extension_symbol(extension, "disable");
  CHECK(set_functions != NULL && enable != NULL && disable != NULL);
  CHECK(PAMI_Extension_symbol(extension, "information") == NULL);
  SUCCEEDS(PAMI_Client_create("progress", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  guarantee.name = PAMIX_CLIENT_ASYNC_GUARANTEE;
  SUCCEEDS(PAMI_Client_query(client, &guarantee, 1));
  CHECK(guarantee.value.intval == 1);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  receive_by(context, DISPATCH, dispatched, NULL);
  RETURNS(PAMI_INVAL, enable(NULL, PAMIX_ASYNC_ALL));
  RETURNS(PAMI_INVAL, enable(context, (pamix_async_t)3));
  SUCCEEDS(disable(context, PAMIX_ASYNC_ALL));

  SUCCEEDS(enable(context, PAMIX_ASYNC_ALL));
  SUCCEEDS(enable(context, PAMIX_ASYNC_RECV_INTERRUPT));
  RETURNS(PAMI_INVAL, set_functions(context, progress, suspends, resumes, (void *)&progressed));
  exchange(me, tasks, 0);
  SUCCEEDS(disable(context, PAMIX_ASYNC_ALL));

  /* By functions of the program. */
  SUCCEEDS(set_functions(context, progress, suspends, resumes, (void *)&progressed));
  SUCCEEDS(enable(context, PAMIX_ASYNC_ALL));
  exchange(me, tasks, 1);
  CHECK(progressed > 0 && suspended > 0);
  SUCCEEDS(disable(context, PAMIX_ASYNC_ALL));
  CHECK(suspended - resumed <= 1);
  SUCCEEDS(set_functions(context, NULL, NULL, NULL, NULL));

  /* Nobody makes progress now but the program. */
  worked = 0;
  SUCCEEDS(PAMI_Context_post(context, NULL, work, NULL));
  usleep(100);
  CHECK(worked == 0);
  while (!worked) PAMI_Context_advance(context, 1);

  /* A context may end with its progress. */
  SUCCEEDS(enable(context, PAMIX_ASYNC_ALL));
  usleep(10);
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Extension_close(extension));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("task %zu: progress without an advance\n", me);
  return 0;
}
