/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of the program are threads of the machine: each has its own time, and they wait for each other in it. */
#include "check.h"
#include <errno.h>
#include "gyre.h"
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

enum { DISPATCH = 1, THREADS = 4, MESSAGES = 8, LENGTH = 300 };

static pami_client_t client;
static pami_context_t contexts[THREADS];
static size_t me, tasks;

static double now(void) { return PAMI_Wtime(client) * 1e6; }

/* --- Messages: a thread for each context, which sends to the same one of the next task. */

static char received[THREADS][MESSAGES][LENGTH];
static volatile size_t come[THREADS];

static void ended(pami_context_t context, void *cookie, pami_result_t result) {
  (void)context;
  CHECK(result == PAMI_SUCCESS);
  ++*(volatile size_t *)cookie;
}

static void dispatched(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                       const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv) {
  size_t offset = (size_t)cookie;
  unsigned char number;
  (void)context, (void)origin;
  CHECK(header_size == 1 && data_size == LENGTH);
  number = *(const unsigned char *)header_addr;
  CHECK(number < MESSAGES);
  if (pipe_addr) {
    memcpy(received[offset][number], pipe_addr, LENGTH);
    come[offset]++;
    return;
  }
  memset(recv, 0, sizeof *recv);
  recv->addr = received[offset][number];
  recv->type = PAMI_TYPE_BYTE;
  recv->local_fn = ended;
  recv->cookie = (void *)&come[offset];
}

static void *messages(void *argument) {
  size_t offset = (size_t)argument, number, place;
  volatile size_t sent = 0;
  char data[MESSAGES][LENGTH];
  pami_context_t context = contexts[offset];
  for (number = 0; number < MESSAGES; number++) {
    unsigned char header = (unsigned char)number;
    pami_send_t send;
    for (place = 0; place < LENGTH; place++) data[number][place] = byte_of(me * THREADS + offset, number, place);
    memset(&send, 0, sizeof send);
    send.send.dispatch = DISPATCH;
    send.send.dest = endpoint(client, (me + 1) % tasks, offset);
    send.send.header.iov_base = &header;
    send.send.header.iov_len = 1;
    send.send.data.iov_base = data[number];
    send.send.data.iov_len = LENGTH;
    send.events.cookie = (void *)&sent;
    send.events.local_fn = ended;
    SUCCEEDS(PAMI_Send(context, &send));
  }
  while (sent < MESSAGES || come[offset] < MESSAGES) PAMI_Context_advance(context, 100);
  for (number = 0; number < MESSAGES; number++) {
    size_t from = ((me + tasks - 1) % tasks) * THREADS + offset;
    for (place = 0; place < LENGTH; place++) CHECK(received[offset][number][place] == byte_of(from, number, place));
  }
  return (void *)(offset + 1);
}

/* --- One context that threads share by its lock. */

static volatile size_t inside, turns;

static void *shares(void *argument) {
  size_t turn;
  (void)argument;
  for (turn = 0; turn < 20; turn++) {
    SUCCEEDS(PAMI_Context_lock(contexts[0]));
    CHECK(inside++ == 0);
    PAMI_Context_advance(contexts[0], 1);
    usleep(1);
    CHECK(--inside == 0);
    turns++;
    SUCCEEDS(PAMI_Context_unlock(contexts[0]));
  }
  return NULL;
}

/* --- Work that one thread posts to the context of another, which has long slept. */

static volatile double posted_at, done_at;

static pami_result_t work(pami_context_t context, void *cookie) {
  CHECK(context == contexts[1] && cookie == &posted_at);
  done_at = now();
  return PAMI_SUCCESS;
}

static void *progresses(void *argument) {
  (void)argument;
  while (done_at == 0) PAMI_Context_advance(contexts[1], 1000);
  return NULL;
}

/* --- Mutexes, conditions, semaphores, barriers, locks of readers and writers, spin locks. */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int ready, go, readers, most_readers, serial, in_spin;

static void *primitives(void *argument) {
  size_t number = (size_t)argument, round;
  double begin;
  int last;
  pthread_mutex_lock(&mutex);
  ready++;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  pthread_mutex_lock(&mutex);
  while (!go) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  /* The last to arrive has slept longest; none leaves before. */
  for (round = 0; round < 3; round++) {
    begin = now();
    usleep(10 * (unsigned)number);
    last = pthread_barrier_wait(&barrier);
    CHECK(last == 0 || last == PTHREAD_BARRIER_SERIAL_THREAD);
    CHECK(now() - begin >= 10 * (THREADS - 1) - 0.5);
    if (last) __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
  }
  CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
  readers++;
  if (readers > most_readers) most_readers = readers;
  usleep(20);
  readers--;
  CHECK(pthread_rwlock_unlock(&rwlock) == 0);
  CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
  CHECK(readers == 0);
  readers = 1;
  usleep(3);
  readers = 0;
  CHECK(pthread_rwlock_unlock(&rwlock) == 0);
  CHECK(pthread_spin_lock(&spin) == 0);
  CHECK(in_spin++ == 0);
  usleep(2);
  in_spin--;
  CHECK(pthread_spin_unlock(&spin) == 0);
  CHECK(sem_wait(&semaphore) == 0);
  return argument;
}

/* A time this many microseconds from now. */
static struct timespec in(long microseconds) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += microseconds * 1000;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

static void deadlines(void) {
  struct timespec time;
  double begin = now();
  pthread_mutex_lock(&mutex);
  time = in(30);
  CHECK(pthread_cond_timedwait(&condition, &mutex, &time) == ETIMEDOUT);
  pthread_mutex_unlock(&mutex);
  CHECK(now() - begin > 30.0 - 0.1 && now() - begin < 35);
  begin = now();
  time = in(40);
  CHECK(sem_timedwait(&semaphore, &time) == -1 && errno == ETIMEDOUT);
  CHECK(now() - begin > 40.0 - 0.1 && now() - begin < 45);
  begin = now();
  time = in(50);
  CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, NULL) == 0);
  CHECK(now() - begin > 50.0 - 0.1 && now() - begin < 55);
  time = in(-10);
  CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, NULL) == 0);
}

static void *holds(void *argument) {
  (void)argument;
  pthread_mutex_lock(&mutex);
  usleep(100);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

/* --- Ends of threads. */

static void *exits(void *argument) {
  usleep(7);
  pthread_exit(argument);
}

static sem_t gone;

static void *detached(void *argument) {
  CHECK(pthread_detach(pthread_self()) == 0);
  sem_post(argument);
  return NULL;
}

/** Begins to wait at a later time than the one at which it is woken, though before that on the host. */
static void *computes(void *argument) {
  gyre_compute(20000);
  CHECK(sem_wait(argument) == 0);
  return NULL;
}

static void *spins(void *argument) {
  while (!*(volatile int *)argument) sched_yield();
  return NULL;
}

static pthread_t start(void *(*routine)(void *), void *argument) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, routine, argument) == 0);
  return thread;
}

static void *result_of(pthread_t thread) {
  void *result;
  CHECK(pthread_join(thread, &result) == 0);
  return result;
}

int main(int count, char **arguments) {
  pthread_t threads[THREADS];
  volatile int flag = 0;
  struct timespec time;
  double begin;
  size_t n;

  SUCCEEDS(PAMI_Client_create("threads", &client, NULL, 0));
  me = client_number(client, PAMI_CLIENT_TASK_ID);
  tasks = client_number(client, PAMI_CLIENT_NUM_TASKS);
  CHECK(client_number(client, PAMI_CLIENT_HWTHREADS_AVAILABLE) == THREADS);
  SUCCEEDS(PAMI_Context_createv(client, NULL, 0, contexts, THREADS));
  for (n = 0; n < THREADS; n++) receive_by(contexts[n], DISPATCH, dispatched, (void *)n);

  /* Two that sleep at the same time take the time of one. */
  begin = now();
  for (n = 0; n < 2; n++) threads[n] = start(exits, (void *)(n + 5));
  for (n = 0; n < 2; n++) CHECK(result_of(threads[n]) == (void *)(n + 5));
  CHECK(now() - begin > 6.9 && now() - begin < 10);

  for (n = 0; n < THREADS; n++) threads[n] = start(messages, (void *)n);
  for (n = 0; n < THREADS; n++) CHECK(result_of(threads[n]) == (void *)(n + 1));

  for (n = 0; n < THREADS; n++) threads[n] = start(shares, NULL);
  for (n = 0; n < THREADS; n++) result_of(threads[n]);
  CHECK(turns == 20 * THREADS);

  threads[0] = start(progresses, NULL);
  usleep(2000);
  posted_at = now();
  SUCCEEDS(PAMI_Context_post(contexts[1], NULL, work, (void *)&posted_at));
  result_of(threads[0]);
  CHECK(done_at > posted_at - 0.1 && done_at - posted_at < 5);

  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
  CHECK(sem_init(&semaphore, 0, 0) == 0);
  for (n = 0; n < THREADS; n++) threads[n] = start(primitives, (void *)n);
  pthread_mutex_lock(&mutex);
  while (ready < THREADS) pthread_cond_wait(&condition, &mutex);
  go = 1;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  for (n = 0; n < THREADS; n++) CHECK(sem_post(&semaphore) == 0);
  for (n = 0; n < THREADS; n++) CHECK(result_of(threads[n]) == (void *)n);
  CHECK(serial == 3 && most_readers == THREADS);
  CHECK(pthread_barrier_destroy(&barrier) == 0);

  deadlines();
  threads[0] = start(holds, NULL);
  usleep(10);
  time = in(20);
  CHECK(pthread_mutex_timedlock(&mutex, &time) == ETIMEDOUT);
  CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
  /* It comes to no cancellation point any more. */
  CHECK(pthread_cancel(threads[0]) == 0);
  CHECK(result_of(threads[0]) == NULL);

  sem_init(&gone, 0, 0);
  for (n = 0; n < 50; n++) {
    start(detached, &gone);
    sem_wait(&gone);
  }
  threads[0] = start(computes, &gone);
  usleep(5);
  sem_post(&gone);
  result_of(threads[0]);

  /* One that yields lets others go on. */
  threads[0] = start(spins, (void *)&flag);
  usleep(5);
  flag = 1;
  result_of(threads[0]);

  SUCCEEDS(PAMI_Context_destroyv(contexts, THREADS));
  SUCCEEDS(PAMI_Client_destroy(&client));
  printf("task %zu: threads\n", me);
  (void)count, (void)arguments;
  return 0;
}
