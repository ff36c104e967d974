/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The extension of the torus: every task is where it says, and a task is found where it is. */
#include "check.h"
#include <pami_ext_torus.h>

int main(void) {
  pami_client_t client;
  pami_context_t context;
  pami_extension_t extension, closed;
  pami_extension_torus_information_fn information;
  pami_extension_torus_task2torus_fn task_to_torus;
  pami_extension_torus_torus2task_fn torus_to_task;
  const pami_extension_torus_information_t *torus;
  size_t me, tasks, task, place, at[8];
  pami_task_t found;

  SUCCEEDS(PAMI_Client_create("torus", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  CHECK(PAMI_Extension_symbol(NULL, "information") == NULL);
  RETURNS(PAMI_INVAL, PAMI_Extension_open(client, "EXT_torus_network", NULL));
  SUCCEEDS(PAMI_Extension_open(client, "EXT_torus_network", &extension));
  information = (pami_extension_torus_information_fn)PAMI_Extension_symbol(extension, "information");
  task_to_torus = (pami_extension_torus_task2torus_fn)PAMI_Extension_symbol(extension, "task2torus");
  torus_to_task = (pami_extension_torus_torus2task_fn)PAMI_Extension_symbol(extension, "torus2task");
  CHECK(information != NULL && task_to_torus != NULL && torus_to_task != NULL);
  CHECK(PAMI_Extension_symbol(extension, "else") == NULL);

  torus = information();
  CHECK(torus != NULL && torus->dims == 5);
  for (task = 0; task < tasks; task++) {
    SUCCEEDS(task_to_torus((pami_task_t)task, at));
    for (place = 0; place < torus->dims; place++) {
      CHECK(at[place] < torus->size[place] && torus->torus[place] <= 1);
      CHECK(task != me || at[place] == torus->coord[place]);
    }
    SUCCEEDS(torus_to_task(at, &found));
    CHECK(found == task);
  }
  RETURNS(PAMI_INVAL, task_to_torus((pami_task_t)tasks, at));
  at[0] = torus->size[0];
  RETURNS(PAMI_INVAL, torus_to_task(at, &found));

  closed = extension;
  SUCCEEDS(PAMI_Extension_close(extension));
  RETURNS(PAMI_INVAL, PAMI_Extension_close(closed));
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("%zu: %zux%zu %zu%zu\n", me, torus->size[0], torus->size[1], torus->torus[0], torus->torus[1]);
  return 0;
}
