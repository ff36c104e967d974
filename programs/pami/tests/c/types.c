/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Types in one task: data from one place to another, and what is refused. */
#include "types.h"

enum { DATA = 5 };

static size_t calls;

/** Ends the program unless the sentence about the last result has `words`. */
static void says(const char *words) {
  char text[256];
  PAMI_Error_text(text, sizeof text);
  if (strstr(text, words) == NULL) {
    printf("`%s` has not `%s`\n", text, words);
    exit(1);
  }
}

static void twice_and_source(void *target, void *source, size_t bytes, void *cookie) {
  double *to = target, *from = source;
  size_t place;
  CHECK(cookie == &calls && bytes > 0 && bytes % sizeof *to == 0);
  for (place = 0; place < bytes / sizeof *to; place++) to[place] = 2 * to[place] + from[place];
  calls++;
}

/** In one task. */
static void transforms(void) {
  double row[4], swapped[16];
  long double longs[3] = {1.5L, 1e300L * 1e300L, -2}, more[3] = {0.125L, 3, -7};
  struct { double value; int index; } pair = {3, 9}, other = {3, 4}, larger = {5, 6};
  short low[4] = {1, -2, 3, 4}, from[4] = {5, 1, 9, -9};
  pami_type_t back, type = column();
  size_t place;
  attributes(type, 8, COLUMNS * 8, 8);
  SUCCEEDS(PAMI_Type_transform_data(&matrix[0][3], type, 16, row, PAMI_TYPE_BYTE, 0, 32, PAMI_DATA_COPY, NULL));
  for (place = 0; place < 4; place++) CHECK(row[place] == value(0, place + 2, 3));
  /* Backwards, and the cursor is where it began. */
  SUCCEEDS(PAMI_Type_create(&back));
  SUCCEEDS(PAMI_Type_add_simple(back, 8, 24, 4, (size_t)-8));
  SUCCEEDS(PAMI_Type_add_simple(back, 8, 8, 0, 8));
  SUCCEEDS(PAMI_Type_complete(back, 8));
  attributes(back, 32, 0, 8);
  SUCCEEDS(PAMI_Type_transform_data(row, back, 0, swapped, PAMI_TYPE_DOUBLE, 8, 32, PAMI_DATA_COPY, NULL));
  for (place = 0; place < 4; place++) CHECK(swapped[place + 1] == row[3 - place]);
  /* A row onto itself, the other way round. */
  SUCCEEDS(PAMI_Type_transform_data(row, back, 0, row, PAMI_TYPE_DOUBLE, 0, 32, PAMI_DATA_COPY, NULL));
  for (place = 0; place < 4; place++) CHECK(row[place] == swapped[place + 1]);
  calls = 0;
  SUCCEEDS(PAMI_Type_transform_data(&matrix[0][3], type, 0, row, back, 8, 16, twice_and_source, &calls));
  CHECK(calls == 2 && row[2] == 2 * swapped[3] + value(0, 0, 3) && row[1] == 2 * swapped[2] + value(0, 1, 3));
  calls = 0;

  SUCCEEDS(PAMI_Type_transform_data(more, PAMI_TYPE_LONG_DOUBLE, 0, longs, PAMI_TYPE_LONG_DOUBLE, 0, sizeof longs,
                                    PAMI_DATA_SUM, NULL));
  CHECK(longs[0] == 1.625L && longs[1] == 1e300L * 1e300L + 3 && longs[2] == -9);
  SUCCEEDS(PAMI_Type_transform_data(more, PAMI_TYPE_LONG_DOUBLE, 0, longs, PAMI_TYPE_LONG_DOUBLE, 0, sizeof longs,
                                    PAMI_DATA_PROD, NULL));
  CHECK(longs[0] == 0.203125L && longs[1] == (1e300L * 1e300L + 3) * 3 && longs[2] == 63);
  SUCCEEDS(PAMI_Type_transform_data(&other, PAMI_TYPE_LOC_DOUBLE_INT, 0, &pair, PAMI_TYPE_LOC_DOUBLE_INT, 0,
                                    sizeof pair, PAMI_DATA_MAXLOC, NULL));
  CHECK(pair.value == 3 && pair.index == 4);
  SUCCEEDS(PAMI_Type_transform_data(&larger, PAMI_TYPE_BYTE, 0, &pair, PAMI_TYPE_LOC_DOUBLE_INT, 0, sizeof pair,
                                    PAMI_DATA_MAXLOC, NULL));
  CHECK(pair.value == 5 && pair.index == 6);
  SUCCEEDS(PAMI_Type_transform_data(from, PAMI_TYPE_SIGNED_SHORT, 2, low, PAMI_TYPE_SIGNED_SHORT, 0, 6, PAMI_DATA_MIN,
                                    NULL));
  CHECK(low[0] == 1 && low[1] == -2 && low[2] == -9 && low[3] == 4);
  SUCCEEDS(PAMI_Type_destroy(&type));
  SUCCEEDS(PAMI_Type_destroy(&back));
}

/** A send to this task of the first double of the matrix. */
static pami_send_typed_t a_double(pami_client_t client, pami_type_t type) {
  pami_send_typed_t send;
  memset(&send, 0, sizeof send);
  send.send.data.iov_base = matrix;
  send.send.data.iov_len = sizeof(double);
  send.send.dispatch = DATA;
  send.send.dest = endpoint(client, 0, 0);
  send.typed.type = type;
  send.typed.data_fn = PAMI_DATA_COPY;
  return send;
}

static void nothing(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                    const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  (void)context, (void)cookie, (void)header_addr, (void)header_size;
  (void)pipe_addr, (void)data_size, (void)origin, (void)recv;
}

static void refusals(pami_client_t client, pami_context_t context) {
  pami_type_t type, none = NULL, gone, byte = PAMI_TYPE_BYTE;
  pami_configuration_t wrong;
  pami_send_typed_t send;
  double to[2] = {0};
  void *bytes;
  char text[64];
  size_t size;
  RETURNS(PAMI_INVAL, PAMI_Type_create(NULL));
  SUCCEEDS(PAMI_Type_create(&type));
  SUCCEEDS(PAMI_Type_add_simple(type, 12, 0, 2, 16));
  RETURNS(PAMI_INVAL, PAMI_Type_add_typed(type, type, 0, 1, 8));
  says("subtype: the type is not complete");
  RETURNS(PAMI_INVAL, PAMI_Type_add_typed(type, NULL, 0, 1, 8));
  RETURNS(PAMI_INVAL, PAMI_Type_add_simple(type, 12, 0, (size_t)-1, 16));
  says("more data than there are addresses");
  RETURNS(PAMI_INVAL, PAMI_Type_serialize(type, &bytes, &size));
  RETURNS(PAMI_INVAL, PAMI_Type_transform_data(to, PAMI_TYPE_BYTE, 0, to, type, 0, 8, PAMI_DATA_COPY, NULL));
  says("the type is not complete");
  wrong.name = PAMI_TYPE_DATA_SIZE;
  RETURNS(PAMI_INVAL, PAMI_Type_query(type, &wrong, 1));
  send = a_double(client, type);
  RETURNS(PAMI_INVAL, PAMI_Send_typed(context, &send));
  says("the type is not complete");
  RETURNS(PAMI_INVAL, PAMI_Type_complete(type, 8));
  says("no multiples of the atom size 8");
  RETURNS(PAMI_INVAL, PAMI_Type_complete(type, 0));
  SUCCEEDS(PAMI_Type_complete(type, 4));
  attributes(type, 24, 32, 4);
  RETURNS(PAMI_INVAL, PAMI_Type_complete(type, 4));
  RETURNS(PAMI_INVAL, PAMI_Type_add_simple(type, 4, 0, 1, 4));
  says("the type is complete");
  wrong.name = PAMI_CLIENT_NUM_TASKS;
  RETURNS(PAMI_INVAL, PAMI_Type_query(type, &wrong, 1));
  RETURNS(PAMI_INVAL, PAMI_Type_transform_data(to, type, 0, to, PAMI_TYPE_DOUBLE, 0, 6, PAMI_DATA_SUM, NULL));
  says("divide units of 8 bytes");
  RETURNS(PAMI_INVAL, PAMI_Type_transform_data(to, PAMI_TYPE_BYTE, 0, to, type, 0, 8, PAMI_DATA_SUM, NULL));
  says("not of one predefined type");
  RETURNS(PAMI_INVAL, PAMI_Type_transform_data(to, PAMI_TYPE_FLOAT, 0, to, PAMI_TYPE_DOUBLE, 0, 8, PAMI_DATA_SUM, NULL));
  RETURNS(PAMI_INVAL, PAMI_Type_transform_data(NULL, PAMI_TYPE_BYTE, 0, to, type, 0, 8, PAMI_DATA_COPY, NULL));
  says("no address");
  send = a_double(client, type);
  send.typed.offset = 2;
  send.typed.data_fn = twice_and_source;
  RETURNS(PAMI_INVAL, PAMI_Send_typed(context, &send));
  says("divide units of 4 bytes");
  send.typed.offset = 0;
  send.send.dispatch = 99;
  RETURNS(PAMI_INVAL, PAMI_Send_typed(context, &send));
  says("dispatch 99 is not set");
  CHECK(calls == 0);

  RETURNS(PAMI_INVAL, PAMI_Type_serialize(type, NULL, &size));
  SUCCEEDS(PAMI_Type_serialize(type, &bytes, &size));
  CHECK(size > 1 && size < sizeof text);
  memcpy(text, bytes, size);
  RETURNS(PAMI_INVAL, PAMI_Type_deserialize(&gone, text, size - 1));
  says("are not a type");
  text[0]++;
  RETURNS(PAMI_INVAL, PAMI_Type_deserialize(&gone, text, size));
  RETURNS(PAMI_INVAL, PAMI_Type_deserialize(&gone, NULL, size));

  gone = type;
  SUCCEEDS(PAMI_Type_destroy(&type));
  RETURNS(PAMI_INVAL, PAMI_Type_destroy(&gone));
  says("is not a valid type");
  RETURNS(PAMI_INVAL, PAMI_Type_destroy(&none));
  RETURNS(PAMI_INVAL, PAMI_Type_destroy(&byte));
  RETURNS(PAMI_INVAL, PAMI_Type_add_simple(PAMI_TYPE_BYTE, 4, 0, 1, 4));
  says("the type is predefined");
  RETURNS(PAMI_INVAL, PAMI_Type_destroy(NULL));
}

int main(void) {
  pami_client_t client;
  pami_context_t context;
  pami_configuration_t atom;

  SUCCEEDS(PAMI_Client_create("types", &client, NULL, 0));
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  receive_by(context, DATA, nothing, NULL);
  atom.name = PAMI_DISPATCH_ATOM_SIZE_MAX;
  SUCCEEDS(PAMI_Dispatch_query(context, DATA, &atom, 1));
  CHECK(atom.value.intval >= attribute(PAMI_TYPE_LOC_LONGDOUBLE_INT, PAMI_TYPE_ATOM_SIZE));
  fill(0);
  transforms();
  refusals(client, context);
  printf("types\n");
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  return 0;
}
