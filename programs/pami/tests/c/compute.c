/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Computation takes the simulated time that the program says, and with --compute that of the processor. Prints how long a loop has
 * taken, microseconds. */
#include "check.h"
#include "gyre.h"

int main(void) {
  pami_client_t client;
  double begin, took;
  volatile double sum = 0;
  int turn;

  /* Before there is a machine. */
  gyre_compute(1000000000);
  SUCCEEDS(PAMI_Client_create("compute", &client, NULL, 0));
  begin = PAMI_Wtime(client);
  gyre_compute(3000000000);
  took = PAMI_Wtime(client) - begin;
  /* Differences of doubles are rounded, and a thousandfold measured time may be some milliseconds. */
  CHECK(took > 2.999999 && took < 3.1);
  begin = PAMI_Wtime(client);
  for (turn = 0; turn < 10000000; turn++) sum += turn;
  took = PAMI_Wtime(client) - begin;
  printf("%ld\n", (long)(took * 1e6));
  SUCCEEDS(PAMI_Client_destroy(&client));
  return 0;
}
