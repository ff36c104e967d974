/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ends of tasks that have several threads, one for each argument. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

static pami_client_t client;
static pthread_mutex_t mutex[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *ends_the_process(void *argument) {
  usleep(10);
  printf("the process ends\n");
  exit(*(int *)argument);
}

static void *outlives_the_first(void *argument) {
  usleep(100);
  printf("argument %d\n", *(int *)argument);
  return NULL;
}

static void *takes_both(void *argument) {
  int one = *(int *)argument;
  pthread_mutex_lock(&mutex[one]);
  usleep(10);
  pthread_mutex_lock(&mutex[!one]);
  return NULL;
}

static void *waits_for_ever(void *argument) {
  pthread_mutex_lock(&mutex[0]);
  return argument;
}

static void *crashes(void *argument) {
  *(volatile char *)argument = 1;
  return NULL;
}

static void *loops(void *argument) {
  while (argument) PAMI_Context_advance(argument, 1);
  return NULL;
}

static pthread_t start(void *(*routine)(void *), void *argument) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, routine, argument) == 0);
  return thread;
}

int main(int count, char **arguments) {
  static int numbers[] = {0, 1, 3};
  const char *how = count > 1 ? arguments[1] : "";
  SUCCEEDS(PAMI_Client_create("ends", &client, NULL, 0));
  if (!strcmp(how, "exit") || !strcmp(how, "fail")) {
    start(waits_for_ever, NULL);
    pthread_join(start(ends_the_process, &numbers[!strcmp(how, "fail") ? 2 : 0]), NULL);
  } else if (!strcmp(how, "first")) {
    start(outlives_the_first, &numbers[1]);
    pthread_exit(NULL);
  } else if (!strcmp(how, "return")) {
    pami_context_t context;
    SUCCEEDS(PAMI_Context_createv(client, NULL, 0, &context, 1));
    pthread_mutex_lock(&mutex[0]);
    start(waits_for_ever, NULL);
    start(loops, context);
    usleep(10);
    printf("the first thread returns\n");
    return 0;
  } else if (!strcmp(how, "deadlock")) {
    pthread_t other = start(takes_both, &numbers[0]);
    start(takes_both, &numbers[1]);
    pthread_join(other, NULL);
  } else if (!strcmp(how, "crash")) {
    pthread_join(start(crashes, NULL), NULL);
  } else if (!strcmp(how, "many")) {
    pthread_t threads[3];
    int n, round;
    for (round = 0; round < 100; round++) {
      for (n = 0; n < 3; n++) threads[n] = start(outlives_the_first, &numbers[n]);
      for (n = 0; n < 3; n++) CHECK(pthread_join(threads[n], NULL) == 0);
    }
    SUCCEEDS(PAMI_Client_destroy(&client));
  }
  return 0;
}
