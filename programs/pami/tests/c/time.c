/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Clocks and sleeps of the C library are the machine's. */
#define _DEFAULT_SOURCE
#include "check.h"

#include <errno.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double of(clockid_t clock) {
  struct timespec now;
  CHECK(clock_gettime(clock, &now) == 0);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(void) {
  static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID};
  pami_client_t client;
  struct timespec time_of;
  struct timeval day;
  double begin, slept;
  size_t clock, place;
  long text[2];
  volatile double sum = 0;

  CHECK(of(CLOCK_MONOTONIC) > 0);
  SUCCEEDS(PAMI_Client_create("time", &client, NULL, 0));
  for (clock = 0; clock < sizeof clocks / sizeof *clocks; clock++) {
    begin = of(clocks[clock]);
    CHECK(begin > 1767225600.0 && begin < 1767225601.0);
    /* Computation takes no time; a look at a clock takes some, and doubles are rounded. */
    for (place = 0; place < 1000000; place++) sum += place;
    CHECK(of(clocks[clock]) - begin < 1e-6);
  }
  begin = PAMI_Wtime(client);
  sleep(2);
  slept = PAMI_Wtime(client) - begin;
  /* Differences of doubles are rounded. */
  CHECK(slept > 1.9999999 && slept < 2.001);
  begin = PAMI_Wtime(client);
  usleep(1500);
  slept = PAMI_Wtime(client) - begin;
  CHECK(slept > 0.0014999 && slept < 0.0016);
  begin = of(CLOCK_MONOTONIC);
  time_of.tv_sec = 0;
  time_of.tv_nsec = 250000000;
  CHECK(nanosleep(&time_of, NULL) == 0);
  slept = of(CLOCK_MONOTONIC) - begin;
  CHECK(slept > 0.24999 && slept < 0.251);
  CHECK(gettimeofday(&day, NULL) == 0);
  CHECK(day.tv_sec == 1767225602 && time(NULL) == day.tv_sec);
  time_of.tv_nsec = 1000000000;
  errno = 0;
  CHECK(nanosleep(&time_of, NULL) == -1 && errno == EINVAL);
  text[0] = (long)(of(CLOCK_REALTIME) * 1e6);
  text[1] = (long)(PAMI_Wtime(client) * 1e6);
  printf("%ld %ld\n", text[0], text[1]);
  SUCCEEDS(PAMI_Client_destroy(&client));
  return 0;
}
