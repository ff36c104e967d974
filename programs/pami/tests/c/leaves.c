/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Task 1, or with an argument all tasks, ends without having ended its client. */
#include "check.h"

int main(int count, char **arguments) {
  pami_client_t client;
  SUCCEEDS(PAMI_Client_create("leaves", &client, NULL, 0));
  (void)arguments;
  if (count > 1 || client_number(client, PAMI_CLIENT_TASK_ID) == 1) return 0;
  SUCCEEDS(PAMI_Client_destroy(&client));
  return 0;
}
