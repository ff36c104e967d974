/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Task 1 polls for a message that nobody sends, with "lock" under the lock of its context; task 0
 * ends its client, or with "end" its process. */
#include "check.h"

int main(int count, char **arguments) {
  const char *how = count > 1 ? arguments[1] : "";
  int lock = strcmp(how, "lock") == 0;
  pami_client_t client;
  pami_context_t context;
  SUCCEEDS(PAMI_Client_create("no_message", &client, NULL, 0));
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
  if (client_number(client, PAMI_CLIENT_TASK_ID) == 0 && strcmp(how, "end") == 0) return 0;
  while (client_number(client, PAMI_CLIENT_TASK_ID) == 1) {
    if (lock) SUCCEEDS(PAMI_Context_lock(context));
    PAMI_Context_advance(context, 1);
    if (lock) SUCCEEDS(PAMI_Context_unlock(context));
  }
  SUCCEEDS(PAMI_Context_destroyv(&context, 1));
  SUCCEEDS(PAMI_Client_destroy(&client));
  return 0;
}
