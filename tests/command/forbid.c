/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Executes a program that the system forbids something to:
     forbid WHAT... -- PROGRAM [ARGUMENTS...]
   memory: system calls that reach the memory of other processes; personality: to ask for addresses that are not random;
   debugging: to look into processes that do not let everybody; dispatch: to have system calls dispatched to the process.
   Ends with status 77 where this system does not let it forbid that. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static int impossible(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  return 77;
}

/* A system call is answered by EPERM from now on, in this process and those that it starts. */
static int forbid(unsigned call) {
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

/* prctl with this option is answered by EPERM from now on. */
static int forbid_option(unsigned option) {
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, option, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

/* What the superuser executes has none of these rights any more; nobody else has them. */
static int drop(void) {
  static const int rights[] = {CAP_SYS_PTRACE, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH};
  size_t number;
  for (number = 0; number < sizeof rights / sizeof *rights; number++) {
    if (prctl(PR_CAPBSET_READ, rights[number]) == 1 && geteuid() == 0 && prctl(PR_CAPBSET_DROP, rights[number]) != 0) {
      return 1;
    }
  }
  return 0;
}

int main(int count, char **words) {
  char byte;
  struct iovec here = {&byte, 1};
  int place;
  for (place = 1; place < count && strcmp(words[place], "--") != 0; place++) {
    const char *what = words[place];
    if (strcmp(what, "memory") == 0) {
      if (forbid(SYS_process_vm_readv) || forbid(SYS_process_vm_writev)) return impossible(what);
      if (process_vm_readv(getpid(), &here, 1, &here, 1, 0) != -1 || errno != EPERM) return impossible(what);
    } else if (strcmp(what, "personality") == 0) {
      if (forbid(SYS_personality)) return impossible(what);
      if (personality(0xffffffff) != -1 || errno != EPERM) return impossible(what);
    } else if (strcmp(what, "dispatch") == 0) {
      if (forbid_option(PR_SET_SYSCALL_USER_DISPATCH)) return impossible(what);
      if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0) != -1 || errno != EPERM) return impossible(what);
    } else if (strcmp(what, "debugging") == 0) {
      if (drop()) return impossible(what);
    } else {
      fprintf(stderr, "cannot forbid %s\n", what);
      return 1;
    }
  }
  if (place + 1 >= count) return 1;
  execv(words[place + 1], words + place + 1);
  return impossible(words[place + 1]);
}
