/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Posted work, locks, several contexts, fences, time. */
#include "check.h"

enum { DISPATCH = 1 };

static size_t calls, arrived, fences;

static pami_result_t work(pami_context_t context, void *cookie) {
  (void)context;
  CHECK(cookie == &calls);
  return ++calls % 3 ? PAMI_EAGAIN : PAMI_SUCCESS;
}

static void dispatched(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                       const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  (void)context, (void)header_addr, (void)header_size, (void)pipe_addr, (void)data_size, (void)origin, (void)recv;
  ++*(size_t *)cookie;
  arrived++;
}

static void fenced(pami_context_t context, void *cookie, pami_result_t result) {
  (void)context;
  CHECK(cookie == NULL && result == PAMI_SUCCESS);
  fences++;
}

int main(void) {
  pami_client_t client;
  pami_context_t contexts[64];
  pami_work_t room[2];
  size_t by_context[64] = {0};
  size_t me, tasks, most, from, to;
  double begin;
  unsigned long long cycles;

  SUCCEEDS(PAMI_Client_create("progress", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  most = client_number(client, PAMI_CLIENT_NUM_CONTEXTS);
  CHECK(most > 1 && most < 64);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, contexts, most));
  begin = PAMI_Wtime(client);
  cycles = PAMI_Wtimebase(client);

  /* Nothing is there: time passes all the same. */
  RETURNS(PAMI_EAGAIN, PAMI_Context_advance(contexts[0], 3));
  CHECK(PAMI_Wtime(client) > begin && PAMI_Wtimebase(client) > cycles);

  SUCCEEDS(PAMI_Context_post(contexts[0], &room[0], work, &calls));
  SUCCEEDS(PAMI_Context_post(contexts[0], &room[1], work, &calls));
  RETURNS(PAMI_INVAL, PAMI_Context_post(contexts[0], &room[1], NULL, &calls));
  CHECK(calls == 0);
  while (calls < 6) PAMI_Context_advance(contexts[0], 1);
  RETURNS(PAMI_EAGAIN, PAMI_Context_advance(contexts[0], 1));
  CHECK(calls == 6);

  SUCCEEDS(PAMI_Context_lock(contexts[1]));
  RETURNS(PAMI_EAGAIN, PAMI_Context_trylock(contexts[1]));
  RETURNS(PAMI_EAGAIN, PAMI_Context_trylock_advancev(&contexts[1], 1, 2));
  SUCCEEDS(PAMI_Context_unlock(contexts[1]));
  SUCCEEDS(PAMI_Context_trylock(contexts[1]));
  SUCCEEDS(PAMI_Context_unlock(contexts[1]));

  /* From every context to every context of the next task. */
  for (to = 0; to < most; to++) receive_by(contexts[to], DISPATCH, dispatched, &by_context[to]);
  for (from = 0; from < most; from++) {
    for (to = 0; to < most; to++) {
      pami_send_immediate_t send;
      memset(&send, 0, sizeof send);
      send.dispatch = DISPATCH;
      send.dest = endpoint(client, (me + 1) % tasks, to);
      SUCCEEDS(PAMI_Send_immediate(contexts[from], &send));
    }
    SUCCEEDS(PAMI_Fence_begin(contexts[from]));
    SUCCEEDS(PAMI_Fence_all(contexts[from], fenced, NULL));
    SUCCEEDS(PAMI_Fence_endpoint(contexts[from], fenced, NULL, endpoint(client, (me + 1) % tasks, 0)));
    SUCCEEDS(PAMI_Fence_end(contexts[from]));
  }
  while (arrived < most * most || fences < 2 * most) {
    if (arrived % 2) {
      PAMI_Context_advancev(contexts, most, 1);
    } else {
      PAMI_Context_trylock_advancev(contexts, most, 1);
    }
  }
  for (to = 0; to < most; to++) CHECK(by_context[to] == most);
  SUCCEEDS(PAMI_Context_destroyv(contexts, most));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("task %zu: progress\n", me);
  return 0;
}
