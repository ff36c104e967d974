/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Refusals, with their codes and texts. */
#include "check.h"

static void nothing(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                    const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  (void)context, (void)cookie, (void)header_addr, (void)header_size;
  (void)pipe_addr, (void)data_size, (void)origin, (void)recv;
}

/** Ends the program unless the sentence about the last result has `words`. */
static void says(const char *words) {
  char text[256];
  size_t length = PAMI_Error_text(text, sizeof text);
  CHECK(length == strlen(text));
  if (strstr(text, words) == NULL) {
    printf("`%s` has not `%s`\n", text, words);
    exit(1);
  }
}

int main(void) {
  pami_client_t client, other = NULL;
  pami_context_t contexts[64], context;
  pami_configuration_t attribute;
  pami_dispatch_callback_function by;
  pami_dispatch_hint_t hints;
  pami_send_t send;
  pami_send_typed_t typed;
  pami_geometry_t geometry;
  pami_geometry_range_t range;
  pami_type_t type;
  pami_endpoint_t found;
  pami_task_t task;
  size_t offset, most;
  char text[4];
  static char data[1024];

  RETURNS(PAMI_INVAL, PAMI_Client_create(NULL, &client, NULL, 0));
  SUCCEEDS(PAMI_Client_create("refusals", &client, NULL, 0));
  most = client_number(client, PAMI_CLIENT_NUM_CONTEXTS);
  CHECK(most >= 1 && most < 64);
  CHECK(client_number(client, PAMI_CLIENT_NUM_TASKS) == 2);
  CHECK(client_number(client, PAMI_CLIENT_NUM_LOCAL_TASKS) == 1);
  CHECK(client_number(client, PAMI_CLIENT_WTIMEBASE_MHZ) == 1600);
  attribute.name = PAMI_CLIENT_LOCAL_TASKS;
  SUCCEEDS(PAMI_Client_query(client, &attribute, 1));
  CHECK(attribute.value.intarray[0] == client_number(client, PAMI_CLIENT_TASK_ID));
  attribute.name = PAMI_CONTEXT_DISPATCH_ID_MAX;
  RETURNS(PAMI_INVAL, PAMI_Client_query(client, &attribute, 1));
  says("attribute 200");
  RETURNS(PAMI_INVAL, PAMI_Client_update(client, &attribute, 1));

  RETURNS(PAMI_INVAL, PAMI_Context_createv(client, &attribute, 1, contexts, most));
  RETURNS(PAMI_INVAL, PAMI_Context_createv(client, NULL, 0, contexts, most + 1));
  says("contexts, expected 1 to");
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, contexts, most));
  context = contexts[0];
  RETURNS(PAMI_INVAL, PAMI_Context_unlock(context));
  says("does not have the lock");
  SUCCEEDS(PAMI_Context_lock(context));
  RETURNS(PAMI_INVAL, PAMI_Context_lock(context));
  says("has the lock already");
  SUCCEEDS(PAMI_Context_unlock(context));
  SUCCEEDS(PAMI_Context_query(context, &attribute, 1));
  RETURNS(PAMI_INVAL, PAMI_Context_query(client, &attribute, 1));
  says("is not a valid context");
  RETURNS(PAMI_INVAL, PAMI_Client_query(context, &attribute, 1));
  RETURNS(PAMI_INVAL, PAMI_Context_advance(NULL, 1));
  RETURNS(PAMI_INVAL, PAMI_Context_advance((pami_context_t)0x12345678, 1));
  RETURNS(PAMI_INVAL, PAMI_Client_destroy(&client));
  says("still has contexts");
  RETURNS(PAMI_INVAL, PAMI_Client_destroy(&other));

  RETURNS(PAMI_INVAL, PAMI_Endpoint_create(client, 2, 0, &found));
  RETURNS(PAMI_INVAL, PAMI_Endpoint_create(client, 0, most, &found));
  RETURNS(PAMI_INVAL, PAMI_Endpoint_create(client, 0, 300, &found));
  found = endpoint(client, 1, most - 1);
  SUCCEEDS(PAMI_Endpoint_query(found, &task, &offset));
  CHECK(task == 1 && offset == most - 1);
  RETURNS(PAMI_INVAL, PAMI_Endpoint_query(PAMI_ENDPOINT_NULL, &task, &offset));

  by.p2p = nothing;
  memset(&hints, 0, sizeof hints);
  RETURNS(PAMI_INVAL, PAMI_Dispatch_set(context, attribute.value.intval + 1, by, NULL, hints));
  hints.use_shmem = PAMI_HINT_ENABLE;
  RETURNS(PAMI_ERROR, PAMI_Dispatch_set(context, 1, by, NULL, hints));
  says("use_shmem");
  memset(&hints, 0, sizeof hints);
  hints.buffer_registered = PAMI_HINT_ENABLE;
  hints.use_rdma = PAMI_HINT_DISABLE;
  RETURNS(PAMI_INVAL, PAMI_Dispatch_set(context, 1, by, NULL, hints));
  receive_by(context, 1, nothing, NULL);
  memset(&hints, 0, sizeof hints);
  RETURNS(PAMI_INVAL, PAMI_Dispatch_set(context, 1, by, NULL, hints));

  attribute.name = PAMI_DISPATCH_SEND_IMMEDIATE_MAX;
  SUCCEEDS(PAMI_Dispatch_query(context, 1, &attribute, 1));
  RETURNS(PAMI_INVAL, PAMI_Dispatch_query(context, 2, &attribute, 1));
  memset(&send, 0, sizeof send);
  send.send.dest = endpoint(client, 0, 0);
  send.send.dispatch = 2;
  RETURNS(PAMI_INVAL, PAMI_Send(context, &send));
  says("dispatch 2 is not set");
  send.send.dispatch = 1;
  send.send.data.iov_base = data;
  send.send.data.iov_len = attribute.value.intval + 1;
  RETURNS(PAMI_INVAL, PAMI_Send_immediate(context, &send.send));
  says("at once, expected at most");
  send.send.dest = PAMI_ENDPOINT_NULL;
  RETURNS(PAMI_INVAL, PAMI_Send(context, &send));
  send.send.dest = endpoint(client, 0, 0);
  send.send.data.iov_base = NULL;
  RETURNS(PAMI_INVAL, PAMI_Send(context, &send));
  RETURNS(PAMI_INVAL, PAMI_Send(context, NULL));

  /* Lengths and counts that no memory has. */
  send.send.dispatch = 1;
  send.send.header.iov_base = data;
  send.send.header.iov_len = SIZE_MAX;
  send.send.data.iov_base = data;
  send.send.data.iov_len = 2;
  RETURNS(PAMI_INVAL, PAMI_Send_immediate(context, &send.send));
  says("at once, expected at most");
  RETURNS(PAMI_INVAL, PAMI_Send(context, &send));
  send.send.header.iov_len = 0;
  send.send.data.iov_len = SIZE_MAX;
  RETURNS(PAMI_INVAL, PAMI_Send(context, &send));
  RETURNS(PAMI_INVAL, PAMI_Send_immediate(context, &send.send));
  memset(&typed, 0, sizeof typed);
  typed.send = send.send;
  typed.typed.type = PAMI_TYPE_BYTE;
  RETURNS(PAMI_INVAL, PAMI_Send_typed(context, &typed));
  task = 0;
  found = endpoint(client, 0, 0);
  CHECK(found == 0 && endpoint(client, 1, 0) == 1);
  range.lo = range.hi = 0;
  RETURNS(PAMI_INVAL, PAMI_Geometry_create_tasklist(client, 0, NULL, 0, &geometry, NULL, 1, &task, SIZE_MAX, context,
                                                    NULL, NULL));
  says("has some twice");
  RETURNS(PAMI_INVAL, PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &geometry, NULL, 1, &range, SIZE_MAX / 8,
                                                     context, NULL, NULL));
  RETURNS(PAMI_INVAL, PAMI_Geometry_create_endpointlist(client, NULL, 0, &geometry, 1, &found, SIZE_MAX / 4, context,
                                                        NULL, NULL));
  RETURNS(PAMI_INVAL, PAMI_Geometry_create_tasklist(client, 0, &attribute, SIZE_MAX / 16, &geometry, NULL, 1, &task, 1,
                                                    context, NULL, NULL));
  RETURNS(PAMI_INVAL, PAMI_Client_query(client, &attribute, SIZE_MAX));
  RETURNS(PAMI_INVAL, PAMI_Type_deserialize(&type, data, SIZE_MAX));
  RETURNS(PAMI_INVAL, PAMI_Type_transform_data(data, PAMI_TYPE_BYTE, 0, data + 512, PAMI_TYPE_BYTE, 0, SIZE_MAX, NULL,
                                               NULL));

  /* Fence regions. */
  RETURNS(PAMI_INVAL, PAMI_Fence_end(context));
  SUCCEEDS(PAMI_Fence_begin(context));
  RETURNS(PAMI_INVAL, PAMI_Fence_begin(context));
  says("open already");
  SUCCEEDS(PAMI_Fence_end(context));
  RETURNS(PAMI_INVAL, PAMI_Fence_end(context));
  says("no fence region is open");

  /* Missing functions. */
  RETURNS(PAMI_UNIMPL, PAMI_Extension_open(client, "EXT_none", NULL));
  says("extension `EXT_none` is not implemented");
  RETURNS(PAMI_INVAL, PAMI_Put(context, NULL));
  RETURNS(PAMI_UNIMPL, PAMI_Purge(context, NULL, 0));
  says("PAMI_Purge is not implemented");
  CHECK(PAMI_Error_text(text, sizeof text) == 3 && strcmp(text, "PAM") == 0);

  SUCCEEDS(PAMI_Context_destroyv(contexts, most));
  RETURNS(PAMI_INVAL, PAMI_Context_advance(context, 1));
  says("is not a valid");
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("refused\n");
  return 0;
}
