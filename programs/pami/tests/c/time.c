/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Clocks, sleeps and waits with a deadline of the C library are the machine's. An argument, `sleep`, `nanosleep`, `cond` or `sem`, is
 * a wait for longer than there is time. */
#define _DEFAULT_SOURCE
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double of(clockid_t clock) {
  struct timespec now;
  CHECK(clock_gettime(clock, &now) == 0);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

/** Waits for ever. */
static void wait_by(const char *call) {
  struct timespec end = {INT64_MAX, 0};
  if (strcmp(call, "sleep") == 0) sleep(UINT32_MAX);
  if (strcmp(call, "nanosleep") == 0) nanosleep(&end, NULL);
  if (strcmp(call, "cond") == 0) pthread_cond_timedwait(&condition, &mutex, &end);
  if (strcmp(call, "sem") == 0) sem_timedwait(&semaphore, &end);
}

/** Waits with a deadline in some seconds, which nothing but its time ends. */
static void deadlines(void) {
  struct timespec end;
  double begin = of(CLOCK_REALTIME), waited;
  CHECK(clock_gettime(CLOCK_REALTIME, &end) == 0);
  end.tv_sec += 3;
  CHECK(pthread_cond_timedwait(&condition, &mutex, &end) == ETIMEDOUT);
  waited = of(CLOCK_REALTIME) - begin;
  CHECK(waited > 2.999 && waited < 3.001);
  end.tv_sec += 2;
  CHECK(sem_timedwait(&semaphore, &end) == -1 && errno == ETIMEDOUT);
  waited = of(CLOCK_REALTIME) - begin;
  CHECK(waited > 4.999 && waited < 5.001);
  end.tv_nsec = 1000000000;
  CHECK(pthread_cond_timedwait(&condition, &mutex, &end) == EINVAL);
  CHECK(sem_timedwait(&semaphore, &end) == -1 && errno == EINVAL);
}

int main(int count, char **words) {
  static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID};
  pami_client_t client;
  struct timespec time_of;
  struct timeval day;
  double begin, slept;
  size_t clock, place;
  long text[2];
  volatile double sum = 0;

  CHECK(of(CLOCK_MONOTONIC) > 0);
  CHECK(sem_init(&semaphore, 0, 0) == 0 && pthread_mutex_lock(&mutex) == 0);
  SUCCEEDS(PAMI_Client_create("time", &client, NULL, 0));
  if (count > 1) wait_by(words[1]);
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
  deadlines();
  text[0] = (long)(of(CLOCK_REALTIME) * 1e6);
  text[1] = (long)(PAMI_Wtime(client) * 1e6);
  printf("%ld %ld\n", text[0], text[1]);
  SUCCEEDS(PAMI_Client_destroy(&client));
  return 0;
}
