/* Task 1 ends without having ended its client. */
#include "check.h"

int main(void) {
  pami_client_t client;
  SUCCEEDS(PAMI_Client_create("leaves", &client, NULL, 0));
  if (client_number(client, PAMI_CLIENT_TASK_ID) == 1) return 0;
  SUCCEEDS(PAMI_Client_destroy(&client));
  return 0;
}
