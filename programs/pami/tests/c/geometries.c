/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Geometries: how they come and go, which algorithms they have, what is refused. */
#include "geometry.h"

enum { MOST_TASKS = 16, ROUNDS = 24 };

static pami_client_t client;
static pami_context_t contexts[64];
static size_t me, tasks, most;

/** Ends the program unless the sentence about the last result has `words`. */
static void says(const char *words) {
  char text[256];
  PAMI_Error_text(text, sizeof text);
  if (strstr(text, words) == NULL) {
    printf("`%s` has not `%s`\n", text, words);
    exit(1);
  }
}

/** Adds up the numbers of the tasks that take part, by a context. */
static unsigned long sum(pami_geometry_t geometry, pami_context_t context, size_t by) {
  pami_algorithm_t all[ALGORITHMS];
  pami_metadata_t data[ALGORITHMS];
  unsigned long mine = me + 1, all_of = 0;
  int left = 1;
  pami_xfer_t xfer;
  CHECK(by < algorithms(geometry, PAMI_XFER_ALLREDUCE, all, data));
  memset(&xfer, 0, sizeof xfer);
  xfer.algorithm = all[by];
  xfer.cb_done = ended;
  xfer.cookie = &left;
  xfer.cmd.xfer_allreduce.sndbuf = (char *)&mine;
  xfer.cmd.xfer_allreduce.rcvbuf = (char *)&all_of;
  xfer.cmd.xfer_allreduce.stype = xfer.cmd.xfer_allreduce.rtype = PAMI_TYPE_UNSIGNED_LONG;
  xfer.cmd.xfer_allreduce.stypecount = xfer.cmd.xfer_allreduce.rtypecount = 1;
  xfer.cmd.xfer_allreduce.op = PAMI_DATA_SUM;
  SUCCEEDS(PAMI_Collective(context, &xfer));
  await(context, &left);
  return all_of;
}

/** Whether a geometry is optimized. */
static size_t optimized(pami_geometry_t geometry) {
  pami_configuration_t attribute;
  attribute.name = PAMI_GEOMETRY_OPTIMIZE;
  SUCCEEDS(PAMI_Geometry_query(geometry, &attribute, 1));
  return attribute.value.intval;
}

/** Nobody has a geometry before all its tasks have created it. */
static void created_together(pami_geometry_t world) {
  pami_geometry_t geometry;
  pami_geometry_range_t range = {0, (pami_task_t)(tasks - 1)};
  int left = 1, i;
  if (me == 0) barrier(contexts[0], world);
  SUCCEEDS(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &geometry, PAMI_GEOMETRY_NULL, 5, &range, 1, contexts[0],
                                          ended, &left));
  CHECK(geometry != NULL);
  if (me != 0) {
    size_t lengths[2];
    for (i = 0; i < 20; i++) PAMI_Context_advance(contexts[0], 1);
    CHECK(left == 1);
    RETURNS(PAMI_INVAL, PAMI_Geometry_algorithms_num(geometry, PAMI_XFER_BARRIER, lengths));
    says("creation of geometry 5 has not ended");
    barrier(contexts[0], world);
  }
  await(contexts[0], &left);
  CHECK(sum(geometry, contexts[0], 0) == tasks * (tasks + 1) / 2);
  left = 1;
  SUCCEEDS(PAMI_Geometry_destroy(client, &geometry, contexts[0], ended, &left));
  CHECK(geometry == NULL);
  await(contexts[0], &left);
}

/** Geometries of changing tasks, one after the other under one number, in which each task is missing in turn. */
static void one_after_the_other(void) {
  size_t round, task;
  for (round = 0; round < ROUNDS; round++) {
    size_t out = round % tasks;
    pami_task_t list[MOST_TASKS];
    pami_geometry_t geometry;
    size_t count = 0;
    int left = 1;
    for (task = 0; task < tasks; task++) {
      size_t taken = (round & 1) ? tasks - 1 - task : task;
      if (taken != out) list[count++] = (pami_task_t)taken;
    }
    if (me == out || count == 0) continue;
    SUCCEEDS(PAMI_Geometry_create_tasklist(client, 0, NULL, 0, &geometry, PAMI_GEOMETRY_NULL, 0x80000001u, list, count,
                                           contexts[0], ended, &left));
    await(contexts[0], &left);
    CHECK(sum(geometry, contexts[0], round % 2) == tasks * (tasks + 1) / 2 - (out + 1));
    left = 1;
    SUCCEEDS(PAMI_Geometry_destroy(client, &geometry, contexts[0], ended, &left));
    await(contexts[0], &left);
  }
}

/** Two geometries with one number at the same time, of tasks that have nothing in common. */
static void side_by_side(void) {
  pami_geometry_range_t ranges[MOST_TASKS];
  size_t count = 0, task, expected = 0;
  pami_geometry_t geometry;
  int left = 1;
  for (task = me % 2; task < tasks; task += 2) {
    ranges[count].lo = ranges[count].hi = (pami_task_t)task;
    count++;
    expected += task + 1;
  }
  SUCCEEDS(PAMI_Geometry_create_taskrange(client, most - 1, NULL, 0, &geometry, PAMI_GEOMETRY_NULL, 9, ranges, count,
                                          contexts[most - 1], ended, &left));
  await(contexts[most - 1], &left);
  CHECK(sum(geometry, contexts[most - 1], 0) == expected);
  CHECK(sum(geometry, contexts[most - 1], 1) == expected);
  left = 1;
  SUCCEEDS(PAMI_Geometry_destroy(client, &geometry, contexts[most - 1], ended, &left));
  await(contexts[most - 1], &left);
}

/** A part of a parent, which all tasks of the parent create. */
static void part_of_a_parent(pami_geometry_t world) {
  pami_geometry_range_t range = {0, (pami_task_t)(tasks / 2)};
  pami_geometry_t geometry = world;
  int left = 1;
  SUCCEEDS(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &geometry, world, 3, &range, 1, contexts[0], ended, &left));
  await(contexts[0], &left);
  CHECK((geometry != NULL) == (me <= tasks / 2));
  if (geometry == NULL) return;
  CHECK(sum(geometry, contexts[0], 0) == (tasks / 2 + 1) * (tasks / 2 + 2) / 2);
  left = 1;
  SUCCEEDS(PAMI_Geometry_destroy(client, &geometry, contexts[0], ended, &left));
  await(contexts[0], &left);
}

/** All endpoints of all tasks: barriers, in which each context does its part. */
static void all_endpoints(void) {
  pami_endpoint_t endpoints[MOST_TASKS * 64];
  pami_geometry_t geometry;
  pami_algorithm_t all[ALGORITHMS];
  pami_metadata_t data[ALGORITHMS];
  size_t task, offset, count = 0, round;
  int left = 1;
  for (offset = 0; offset < most; offset++)
    for (task = 0; task < tasks; task++) endpoints[count++] = endpoint(client, task, offset);
  SUCCEEDS(PAMI_Geometry_create_endpointlist(client, NULL, 0, &geometry, 4, endpoints, count, contexts[most - 1], ended,
                                             &left));
  while (left) PAMI_Context_advancev(contexts, most, 1);
  CHECK(algorithms(geometry, PAMI_XFER_BARRIER, all, data) > 0);
  for (round = 0; round < 3; round++) {
    left = 0;
    for (offset = 0; offset < most; offset++) {
      pami_xfer_t xfer;
      int i;
      memset(&xfer, 0, sizeof xfer);
      xfer.algorithm = all[0];
      xfer.cb_done = ended;
      xfer.cookie = &left;
      left++;
      SUCCEEDS(PAMI_Collective(contexts[offset], &xfer));
      if (offset + 1 < most && most > 1) {
        for (i = 0; i < 5; i++) PAMI_Context_advancev(contexts, most, 1);
        CHECK(left == (int)offset + 1);
      }
    }
    while (left) PAMI_Context_advancev(contexts, most, 1);
  }
  CHECK(algorithms(geometry, PAMI_XFER_ALLREDUCE, all, data) > 0);
  left = 1;
  SUCCEEDS(PAMI_Geometry_destroy(client, &geometry, contexts[0], ended, &left));
  while (left) PAMI_Context_advancev(contexts, most, 1);
}

/** An optimized geometry has a barrier of the collective network, and gives it back. */
static void hardware(pami_geometry_t world) {
  pami_configuration_t optimize;
  pami_algorithm_t all[ALGORITHMS];
  pami_metadata_t data[ALGORITHMS];
  size_t count, i, round, before, with = 0;
  CHECK(optimized(world) == 0);
  before = algorithms(world, PAMI_XFER_BARRIER, all, data);
  for (i = 0; i < before; i++) CHECK(!data[i].check_perf.values.hw_accel);
  optimize.name = PAMI_GEOMETRY_OPTIMIZE;
  for (round = 0; round < 2; round++) {
    int left = 1;
    optimize.value.intval = 1;
    SUCCEEDS(PAMI_Geometry_update(world, &optimize, 1, contexts[0], ended, &left));
    await(contexts[0], &left);
    CHECK(optimized(world) == 1);
    count = algorithms(world, PAMI_XFER_BARRIER, all, data);
    for (i = 0; i < count; i++) {
      pami_xfer_t xfer;
      with += data[i].check_perf.values.hw_accel;
      memset(&xfer, 0, sizeof xfer);
      xfer.algorithm = all[i];
      xfer.cb_done = ended;
      xfer.cookie = &left;
      left = 1;
      SUCCEEDS(PAMI_Collective(contexts[0], &xfer));
      await(contexts[0], &left);
    }
    CHECK(with == round + 1 && count == before + 1);
    CHECK(sum(world, contexts[0], 0) == tasks * (tasks + 1) / 2);
    left = 1;
    optimize.value.intval = 0;
    SUCCEEDS(PAMI_Geometry_update(world, &optimize, 1, contexts[0], ended, &left));
    await(contexts[0], &left);
    CHECK(optimized(world) == 0 && algorithms(world, PAMI_XFER_BARRIER, all, data) == before);
  }
}

/** A geometry that is optimized from its creation on, and destroyed like that. */
static void created_with_hardware(void) {
  pami_configuration_t optimize;
  pami_geometry_range_t range = {0, (pami_task_t)(tasks - 1)};
  pami_geometry_t geometry;
  int round;
  optimize.name = PAMI_GEOMETRY_OPTIMIZE;
  optimize.value.intval = 1;
  for (round = 0; round < 3; round++) {
    int left = 1;
    SUCCEEDS(PAMI_Geometry_create_taskrange(client, 0, &optimize, 1, &geometry, PAMI_GEOMETRY_NULL, 11, &range, 1,
                                            contexts[0], ended, &left));
    await(contexts[0], &left);
    CHECK(optimized(geometry) == 1);
    barrier(contexts[0], geometry);
    left = 1;
    SUCCEEDS(PAMI_Geometry_destroy(client, &geometry, contexts[0], ended, &left));
    await(contexts[0], &left);
  }
}

/** Refusals. */
static void refusals(pami_geometry_t world) {
  pami_geometry_t geometry = NULL, copy = world;
  pami_geometry_range_t range = {0, (pami_task_t)(tasks - 1)}, outside = {0, (pami_task_t)tasks};
  pami_task_t twice[2] = {(pami_task_t)me, (pami_task_t)me}, other = (pami_task_t)((me + 1) % tasks);
  pami_configuration_t attribute;
  pami_algorithm_t all[ALGORITHMS];
  pami_metadata_t data[ALGORITHMS];
  pami_type_t holes;
  size_t lengths[2], kind;
  pami_xfer_t xfer;
  int value = 1, result;

  RETURNS(PAMI_INVAL, PAMI_Geometry_world(contexts[0], &geometry));
  RETURNS(PAMI_INVAL, PAMI_Geometry_world(client, NULL));
  RETURNS(PAMI_INVAL, PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &geometry, PAMI_GEOMETRY_NULL, 0, &range, 1,
                                                     contexts[0], ended, NULL));
  says("0 is the number of the world");
  RETURNS(PAMI_INVAL, PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &geometry, PAMI_GEOMETRY_NULL, 1, &outside, 1,
                                                     contexts[0], ended, NULL));
  says("tasks 0 to");
  RETURNS(PAMI_INVAL, PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &geometry, PAMI_GEOMETRY_NULL, 1, NULL, 0,
                                                     contexts[0], ended, NULL));
  RETURNS(PAMI_INVAL, PAMI_Geometry_create_taskrange(client, most, NULL, 0, &geometry, PAMI_GEOMETRY_NULL, 1, &range, 1,
                                                     contexts[0], ended, NULL));
  RETURNS(PAMI_INVAL, PAMI_Geometry_create_taskrange(client, PAMI_ALL_CONTEXTS, NULL, 0, &geometry, world, 1, &range, 1,
                                                     contexts[0], ended, NULL));
  says("has no parent");
  RETURNS(PAMI_INVAL, PAMI_Geometry_create_tasklist(client, 0, NULL, 0, &geometry, PAMI_GEOMETRY_NULL, 1, twice, 2,
                                                    contexts[0], ended, NULL));
  says("twice");
  if (tasks > 1) {
    RETURNS(PAMI_INVAL, PAMI_Geometry_create_tasklist(client, 0, NULL, 0, &geometry, PAMI_GEOMETRY_NULL, 1, &other, 1,
                                                      contexts[0], ended, NULL));
    says("this task does not belong");
  }
  attribute.name = PAMI_CLIENT_TASK_ID;
  attribute.value.intval = 0;
  RETURNS(PAMI_INVAL, PAMI_Geometry_create_taskrange(client, 0, &attribute, 1, &geometry, PAMI_GEOMETRY_NULL, 1, &range,
                                                     1, contexts[0], ended, NULL));
  RETURNS(PAMI_INVAL, PAMI_Geometry_update(world, &attribute, 1, contexts[0], ended, NULL));
  RETURNS(PAMI_INVAL, PAMI_Geometry_query(world, &attribute, 1));
  RETURNS(PAMI_INVAL, PAMI_Geometry_query(client, &attribute, 1));
  says("is not a valid geometry");
  RETURNS(PAMI_INVAL, PAMI_Geometry_destroy(client, &copy, contexts[0], ended, NULL));
  says("the world cannot be destroyed");
  CHECK(copy == world && geometry == NULL);

  for (kind = PAMI_XFER_AMBROADCAST; kind < PAMI_XFER_COUNT; kind++) {
    SUCCEEDS(PAMI_Geometry_algorithms_num(world, (pami_xfer_type_t)kind, lengths));
    CHECK(lengths[0] == 1 && lengths[1] == 0);
  }
  RETURNS(PAMI_INVAL, PAMI_Geometry_algorithms_num(world, PAMI_XFER_COUNT, lengths));
  RETURNS(PAMI_INVAL, PAMI_Geometry_algorithms_query(world, PAMI_XFER_BARRIER, all, NULL, ALGORITHMS, NULL, NULL, 0));

  memset(&xfer, 0, sizeof xfer);
  RETURNS(PAMI_INVAL, PAMI_Collective(contexts[0], NULL));
  RETURNS(PAMI_INVAL, PAMI_Collective(contexts[0], &xfer));
  xfer.algorithm = 0x123456789;
  RETURNS(PAMI_INVAL, PAMI_Collective(contexts[0], &xfer));
  algorithms(world, PAMI_XFER_BARRIER, all, data);
  xfer.algorithm = all[0];
  if (most > 1) {
    RETURNS(PAMI_INVAL, PAMI_Collective(contexts[1], &xfer));
    says("is not an endpoint of the geometry");
  }
  algorithms(world, PAMI_XFER_BROADCAST, all, data);
  xfer.algorithm = all[0];
  xfer.cmd.xfer_broadcast.root = PAMI_ENDPOINT_NULL;
  xfer.cmd.xfer_broadcast.buf = (char *)&value;
  xfer.cmd.xfer_broadcast.type = PAMI_TYPE_SIGNED_INT;
  xfer.cmd.xfer_broadcast.typecount = 1;
  RETURNS(PAMI_INVAL, PAMI_Collective(contexts[0], &xfer));
  says("is not in the geometry");
  xfer.cmd.xfer_broadcast.root = endpoint(client, 0, 0);
  xfer.cmd.xfer_broadcast.buf = NULL;
  RETURNS(PAMI_INVAL, PAMI_Collective(contexts[0], &xfer));
  says("a buffer has no address");
  xfer.cmd.xfer_broadcast.type = PAMI_TYPE_NULL;
  RETURNS(PAMI_INVAL, PAMI_Collective(contexts[0], &xfer));
  SUCCEEDS(PAMI_Type_create(&holes));
  SUCCEEDS(PAMI_Type_add_simple(holes, 4, 0, 2, 8));
  SUCCEEDS(PAMI_Type_complete(holes, 4));
  xfer.cmd.xfer_broadcast.type = holes;
  CHECK(!data[0].check_correct.values.contigsflags && !data[0].check_correct.values.contigrflags);
  CHECK(data[0].check_fn(&xfer).bitmask == 0);
  RETURNS(PAMI_INVAL, PAMI_Collective(contexts[0], &xfer));
  says("the data has no address");
  SUCCEEDS(PAMI_Type_destroy(&holes));

  algorithms(world, PAMI_XFER_ALLREDUCE, all, data);
  memset(&xfer, 0, sizeof xfer);
  xfer.algorithm = all[0];
  xfer.cmd.xfer_allreduce.sndbuf = (char *)&value;
  xfer.cmd.xfer_allreduce.rcvbuf = (char *)&result;
  xfer.cmd.xfer_allreduce.stype = xfer.cmd.xfer_allreduce.rtype = PAMI_TYPE_FLOAT;
  xfer.cmd.xfer_allreduce.stypecount = xfer.cmd.xfer_allreduce.rtypecount = 1;
  RETURNS(PAMI_INVAL, PAMI_Collective(contexts[0], &xfer));
  says("the operation is null");
  xfer.cmd.xfer_allreduce.op = PAMI_DATA_BAND;
  CHECK(data[0].check_fn(&xfer).check.datatype_op);
  RETURNS(PAMI_INVAL, PAMI_Collective(contexts[0], &xfer));
  says("is not defined on the type");
  xfer.cmd.xfer_allreduce.op = PAMI_DATA_SUM;
  xfer.cmd.xfer_allreduce.rtypecount = 2;
  RETURNS(PAMI_INVAL, PAMI_Collective(contexts[0], &xfer));
  says("8 bytes are received where 4 are sent");
}

/** All contexts of each task, where that is one: of a part of the world then, as with its offset. */
static void only_context(pami_geometry_t world) {
  pami_geometry_range_t range = {0, (pami_task_t)(tasks - 1)};
  pami_geometry_t geometry = NULL;
  pami_configuration_t setting;
  int left = 1;
  setting.name = PAMI_CLIENT_CONST_CONTEXTS;
  setting.value.intval = 1;
  SUCCEEDS(PAMI_Context_createv(client, &setting, 1, contexts, 1));
  SUCCEEDS(PAMI_Geometry_create_taskrange(client, PAMI_ALL_CONTEXTS, NULL, 0, &geometry, world, 90, &range, 1,
                                          contexts[0], ended, &left));
  await(contexts[0], &left);
  barrier(contexts[0], geometry);
  left = 1;
  SUCCEEDS(PAMI_Geometry_destroy(client, &geometry, contexts[0], ended, &left));
  await(contexts[0], &left);
  SUCCEEDS(PAMI_Context_destroyv(contexts, 1));
}

int main(void) {
  pami_geometry_t world, again;

  SUCCEEDS(PAMI_Client_create("geometries", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  most = client_number(client, PAMI_CLIENT_NUM_CONTEXTS);
  CHECK(tasks <= MOST_TASKS && most >= 1 && most < 64);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, contexts, most));
  SUCCEEDS(PAMI_Geometry_world(client, &world));
  SUCCEEDS(PAMI_Geometry_world(client, &again));
  CHECK(world == again && world != NULL);

  refusals(world);
  created_together(world);
  one_after_the_other();
  barrier(contexts[0], world);
  side_by_side();
  part_of_a_parent(world);
  all_endpoints();
  hardware(world);
  created_with_hardware();
  barrier(contexts[0], world);

  SUCCEEDS(PAMI_Context_destroyv(contexts, most));
  only_context(world);
  SUCCEEDS(PAMI_Client_destroy(&client));
  RETURNS(PAMI_INVAL, PAMI_Geometry_query(world, NULL, 0));
  printf("task %zu of %zu: geometries\n", me, tasks);
  return 0;
}
