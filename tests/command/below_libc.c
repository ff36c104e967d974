/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waits, threads and children below the functions of the C library: a section for each argument, whose name it prints when it has ended.
   A check that fails ends the program with status 1 and names its line. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pami.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      _Exit(1);                                                            \
    }                                                                      \
  } while (0)

static pami_client_t client;

static long nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

static double milliseconds(void) { return PAMI_Wtime(client) * 1e3; }

/* 20 ms have passed since then, and hardly more. */
static int took_20_ms(double begin) {
  double took = milliseconds() - begin;
  return took > 19.99 && took < 20.1;
}

static long futex(void *word, int operation, unsigned value, const void *time, void *second, unsigned third) {
  return syscall(SYS_futex, word, operation, value, time, second, third);
}

static struct timespec in_20_ms(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += 20000000;
  if (time.tv_nsec >= 1000000000) time.tv_sec++, time.tv_nsec -= 1000000000;
  return time;
}

/* Each wait of a lone thread takes its simulated time. */
static void timed(void) {
  struct timespec span = {0, 20000000};
  struct timeval short_span = {0, 20000};
  struct epoll_event event;
  unsigned word = 1;
  int ends[2], set = epoll_create1(0);
  double begin = milliseconds();
  CHECK(poll(NULL, 0, 20) == 0 && took_20_ms(begin));
  begin = milliseconds();
  CHECK(ppoll(NULL, 0, &span, NULL) == 0 && took_20_ms(begin));
  begin = milliseconds();
  CHECK(select(0, NULL, NULL, NULL, &short_span) == 0 && took_20_ms(begin) && short_span.tv_usec == 0);
  CHECK(pipe(ends) == 0);
  fd_set read_set;
  FD_ZERO(&read_set);
  FD_SET(ends[0], &read_set);
  begin = milliseconds();
  CHECK(pselect(ends[0] + 1, &read_set, NULL, NULL, &span, NULL) == 0 && took_20_ms(begin));
  CHECK(!FD_ISSET(ends[0], &read_set));
  begin = milliseconds();
  CHECK(epoll_wait(set, &event, 1, 20) == 0 && took_20_ms(begin));
  begin = milliseconds();
  CHECK(syscall(SYS_nanosleep, &span, NULL) == 0 && took_20_ms(begin));
  begin = milliseconds();
  CHECK(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &span, NULL) == 0 && took_20_ms(begin));
  begin = milliseconds();
  CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 1, &span, NULL, 0) == -1 && errno == ETIMEDOUT && took_20_ms(begin));
  struct timespec until = in_20_ms(CLOCK_MONOTONIC);
  begin = milliseconds();
  CHECK(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 1, &until, NULL, ~0u) == -1 && errno == ETIMEDOUT && took_20_ms(begin));
  CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == -1 && errno == EAGAIN);
  begin = milliseconds();
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  pthread_mutex_lock(&mutex);
  until = in_20_ms(CLOCK_MONOTONIC);
  begin = milliseconds();
  CHECK(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT && took_20_ms(begin));
  until = in_20_ms(CLOCK_REALTIME);
  begin = milliseconds();
  CHECK(pthread_cond_timedwait(&condition, &mutex, &until) == ETIMEDOUT && took_20_ms(begin));
  until = in_20_ms(CLOCK_MONOTONIC);
  begin = milliseconds();
  CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT && took_20_ms(begin));
  until = in_20_ms(CLOCK_MONOTONIC);
  begin = milliseconds();
  CHECK(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until) == -1 && errno == ETIMEDOUT && took_20_ms(begin));
  until = in_20_ms(CLOCK_REALTIME);
  begin = milliseconds();
  CHECK(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT && took_20_ms(begin));
}

static atomic_uint turn;

static void *answer(void *unused) {
  for (unsigned odd = 1; odd < 20; odd += 2) {
    while (turn != odd) futex(&turn, FUTEX_WAIT_PRIVATE, odd - 1, NULL, NULL, 0);
    turn++;
    CHECK(futex(&turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) <= 1);
  }
  return unused;
}

/* Threads take turns by a futex of their own. */
static void futexes(void) {
  pthread_t thread;
  turn = 0;
  CHECK(pthread_create(&thread, NULL, answer, NULL) == 0);
  for (unsigned even = 0; even < 20; even += 2) {
    while (turn != even) futex(&turn, FUTEX_WAIT_PRIVATE, even - 1, NULL, NULL, 0);
    turn++;
    futex(&turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
  pthread_join(thread, NULL);
  CHECK(turn == 20);
}

static int to[2], back[2];

static void *echo(void *unused) {
  char text[8192];
  ssize_t bytes;
  while ((bytes = read(to[0], text, sizeof text)) > 0) CHECK(write(back[1], text, bytes) == bytes);
  close(back[1]);
  return unused;
}

/* Threads wait for each other's bytes. */
static void pipes(void) {
  static char text[300000], got[300000];
  size_t come = 0;
  pthread_t thread;
  CHECK(pipe(to) == 0 && pipe(back) == 0);
  memset(text, 'x', sizeof text);
  CHECK(pthread_create(&thread, NULL, echo, NULL) == 0);
  for (size_t sent = 0; sent < sizeof text; sent += 60000) {
    CHECK(write(to[1], text + sent, 60000) == 60000);
    while (come < sent + 60000) {
      ssize_t bytes = read(back[0], got + come, sizeof got - come);
      CHECK(bytes > 0);
      come += bytes;
    }
  }
  struct pollfd end = {back[0], POLLIN, 0};
  CHECK(poll(&end, 1, 5) == 0);
  close(to[1]);
  CHECK(poll(&end, 1, -1) == 1 && (end.revents & POLLHUP));
  pthread_join(thread, NULL);
  CHECK(memcmp(text, got, sizeof text) == 0);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int stop;
static long polls;

static void *poll_in_vain(void *unused) {
  while (!stop) {
    pthread_mutex_lock(&lock);
    usleep(1);
    polls++;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

/* A thread that takes a lock again and again does not keep others from it. */
static void fair(void) {
  pthread_t thread;
  stop = 0;
  CHECK(pthread_create(&thread, NULL, poll_in_vain, NULL) == 0);
  for (int time = 0; time < 20; time++) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    usleep(1);
  }
  stop = 1;
  pthread_join(thread, NULL);
  CHECK(polls < 100);
}

static volatile int cleaned;
static void clean(void *unused) {
  (void)unused;
  cleaned++;
}

static sem_t never;
static void *sleep_for_ever(void *how) {
  int before;
  pthread_cleanup_push(clean, NULL);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  CHECK(before == PTHREAD_CANCEL_ENABLE);
  usleep(10);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  for (;;) {
    if (how == (void *)0) usleep(1);
    if (how == (void *)1) sleep(1000000);
    if (how == (void *)2) sem_wait(&never);
    if (how == (void *)3) poll(NULL, 0, -1);
    if (how == (void *)4) pthread_testcancel(), sched_yield();
  }
  pthread_cleanup_pop(0);
  return NULL;
}

/* Threads end by pthread_cancel, whatever they wait for. */
static void cancelled(void) {
  sem_init(&never, 0, 0);
  for (long how = 0; how < 5; how++) {
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, sleep_for_ever, (void *)how) == 0);
    if (how % 2) usleep(100);
    CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED && cleaned == how + 1);
  }
  CHECK(milliseconds() < 1000);
}

static void on_signal(int number) { cleaned = number; }

/* Blocking of all signals, in a handler too, lets calls through. */
static void signals(void) {
  struct sigaction action = {.sa_handler = on_signal}, old;
  sigset_t all, before;
  sigfillset(&all);
  action.sa_mask = all;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == on_signal);
  CHECK(sigaction(SIGSYS, &action, NULL) == 0);
  CHECK(raise(SIGUSR1) == 0 && cleaned == SIGUSR1);
  cleaned = 0;
  CHECK(sigprocmask(SIG_SETMASK, &all, &before) == 0 && raise(SIGUSR1) == 0 && getppid() > 0 && cleaned == 0);
  CHECK(sigprocmask(SIG_SETMASK, &before, &all) == 0 && cleaned == SIGUSR1 && sigismember(&all, SIGUSR1) == 1);
}

extern char **environ;

/* Children have a time of their own, and none is killed. */
static void children(void) {
  int status;
  long begin = nanoseconds();
  pid_t child = fork();
  if (child == 0) {
    long before = nanoseconds();
    usleep(1000);
    long slept = nanoseconds() - before;
    _exit(before - begin >= 0 && before - begin < 1000000 && slept >= 1000000 && slept < 1100000 ? 5 : 6);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
  child = vfork();
  if (child == 0) _exit(7);
  CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  CHECK(WEXITSTATUS(system("sleep 0.01; exit 3")) == 3);
  char line[16] = "";
  FILE *stream = popen("echo yes", "r");
  CHECK(stream && fgets(line, sizeof line, stream) && strcmp(line, "yes\n") == 0 && pclose(stream) == 0);
  char *words[] = {"true", NULL};
  CHECK(posix_spawnp(&child, "true", NULL, NULL, words, environ) == 0);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(posix_spawnp(&child, "/no/such/program", NULL, NULL, words, environ) == ENOENT);
}

/* A thread waits for a semaphore that a child posts. */
static void *await(void *semaphore) {
  CHECK(sem_wait(semaphore) == 0);
  return NULL;
}

static void shared(void) {
  sem_t *semaphore = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_t thread;
  int status;
  sem_init(semaphore, 1, 0);
  CHECK(pthread_create(&thread, NULL, await, semaphore) == 0);
  pid_t child = fork();
  if (child == 0) {
    usleep(100);
    sem_post(semaphore);
    sem_post(semaphore);
    _exit(0);
  }
  CHECK(sem_wait(semaphore) == 0);
  pthread_join(thread, NULL);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int count, char **words) {
  static const struct {
    const char *name;
    void (*run)(void);
  } SECTIONS[] = {{"timed", timed}, {"futexes", futexes}, {"pipes", pipes}, {"fair", fair}, {"cancelled", cancelled},
                  {"signals", signals}, {"children", children}, {"shared", shared}};
  CHECK(PAMI_Client_create("below", &client, NULL, 0) == PAMI_SUCCESS);
  for (int word = 1; word < count; word++) {
    for (size_t section = 0; section < sizeof SECTIONS / sizeof *SECTIONS; section++) {
      if (strcmp(SECTIONS[section].name, words[word]) != 0) continue;
      SECTIONS[section].run();
      puts(words[word]);
    }
  }
  CHECK(PAMI_Client_destroy(&client) == PAMI_SUCCESS);
  return 0;
}
