/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two clients at once, each with its contexts, messages and collectives. With "one" the second is refused, which is said. */
#include "check.h"

static volatile size_t arrived[2], summed;

static void receive(pami_context_t context, void *cookie, const void *header, size_t header_size, const void *pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t *recv) {
  (void)context, (void)header, (void)header_size, (void)origin, (void)recv;
  CHECK(pipe != NULL && size == 1 && *(const char *)pipe == (char)(size_t)cookie);
  arrived[(size_t)cookie]++;
}

static void done(pami_context_t context, void *cookie, pami_result_t result) {
  (void)context, (void)cookie;
  CHECK(result == PAMI_SUCCESS);
  summed++;
}

/** The sum of the tasks' numbers by the client's own collective. */
static int32_t sum(pami_client_t client, pami_context_t context, int32_t own) {
  pami_geometry_t world;
  pami_algorithm_t algorithm;
  pami_metadata_t data;
  pami_xfer_t xfer;
  int32_t all = -1;
  SUCCEEDS(PAMI_Geometry_world(client, &world));
  SUCCEEDS(PAMI_Geometry_algorithms_query(world, PAMI_XFER_ALLREDUCE, &algorithm, &data, 1, NULL, NULL, 0));
  memset(&xfer, 0, sizeof xfer);
  xfer.cb_done = done;
  xfer.algorithm = algorithm;
  xfer.cmd.xfer_allreduce.op = PAMI_DATA_SUM;
  xfer.cmd.xfer_allreduce.sndbuf = (char *)&own;
  xfer.cmd.xfer_allreduce.rcvbuf = (char *)&all;
  xfer.cmd.xfer_allreduce.stype = xfer.cmd.xfer_allreduce.rtype = PAMI_TYPE_SIGNED_INT;
  xfer.cmd.xfer_allreduce.stypecount = xfer.cmd.xfer_allreduce.rtypecount = 1;
  summed = 0;
  SUCCEEDS(PAMI_Collective(context, &xfer));
  while (!summed) PAMI_Context_advance(context, 1);
  return all;
}

int main(int count, char **arguments) {
  static const char *const names[2] = {"A", "B"};
  pami_client_t clients[2];
  pami_context_t contexts[2];
  size_t me, tasks, place, number, contexts_of[2];
  if (count > 1 && strcmp(arguments[1], "one") == 0) {
    SUCCEEDS(PAMI_Client_create("A", &clients[0], NULL, 0));
    RETURNS(PAMI_ERROR, PAMI_Client_create("B", &clients[1], NULL, 0));
    SUCCEEDS(PAMI_Client_destroy(&clients[0]));
    return 0;
  }
  for (place = 0; place < 2; place++) {
    SUCCEEDS(PAMI_Client_create(names[place], &clients[place], NULL, 0));
    contexts_of[place] = client_number(clients[place], PAMI_CLIENT_NUM_CONTEXTS);
    SUCCEEDS(PAMI_Context_createv(clients[place], NULL, 0, &contexts[place], 1));
    receive_by(contexts[place], 1, receive, (void *)place);
  }
  CHECK(contexts_of[0] == contexts_of[1]);
  me = client_number(clients[0], PAMI_CLIENT_TASK_ID);
  tasks = client_number(clients[0], PAMI_CLIENT_NUM_TASKS);
  for (number = 0; number < 20; number++)
    for (place = 0; place < 2; place++) {
      char which = (char)place;
      pami_send_immediate_t send;
      memset(&send, 0, sizeof send);
      send.dest = endpoint(clients[place], (me + 1) % tasks, 0);
      send.dispatch = 1;
      send.data.iov_base = &which;
      send.data.iov_len = 1;
      SUCCEEDS(PAMI_Send_immediate(contexts[place], &send));
    }
  while (arrived[0] < 20 || arrived[1] < 20) PAMI_Context_advancev(contexts, 2, 1);
  for (place = 0; place < 2; place++)
    CHECK(sum(clients[place], contexts[place], (int32_t)me) == (int32_t)(tasks * (tasks - 1) / 2));
  for (place = 2; place-- > 0;) {
    SUCCEEDS(PAMI_Context_destroyv(&contexts[place], 1));
    SUCCEEDS(PAMI_Client_destroy(&clients[place]));
  }
  printf("%zu contexts each\n", contexts_of[0]);
  return 0;
}
