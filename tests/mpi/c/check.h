/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared by the MPI programs: checks that end the program with status 1 and name the place, bytes that tell one message
 * from another, and sections, of which the arguments choose some. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** This task and the number of all. */
static int rank, size;

/** Ends the program unless `condition` holds. */
#define CHECK(condition)                                                                            \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      fprintf(stderr, "%s:%d: rank %d: not so: %s\n", __FILE__, __LINE__, rank, #condition);        \
      _Exit(1);                                                                                     \
    }                                                                                               \
  } while (0)

/** The same, with the number of the case. */
#define CHECK_AT(condition, place)                                                                  \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      fprintf(stderr, "%s:%d: rank %d: at %ld: not so: %s\n", __FILE__, __LINE__, rank,             \
              (long)(place), #condition);                                                           \
      _Exit(1);                                                                                     \
    }                                                                                               \
  } while (0)

/** Lengths around every limit: of what is injected (485), of a packet (512) and of eager messages (4096). */
static const int LENGTHS[] = {0,   1,   2,    3,    7,    8,    31,    32,    33,    484,  485,
                              486, 487, 511,  512,  513,  514,  4095,  4096,  4097,  65536, 1 << 20};
#define LENGTHS_COUNT ((int)(sizeof LENGTHS / sizeof *LENGTHS))

/** Bytes behind a buffer that nothing may change. */
#define GUARD 16

/** Byte `place` of message `number` of task `from`. */
static inline unsigned char byte_of(int from, int number, long place) {
  unsigned long x = (unsigned long)place * 2654435761UL + (unsigned long)from * 40503UL + (unsigned long)number * 9973UL;
  return (unsigned char)(x >> 7 ^ x);
}

/** A buffer of `length` bytes and a guard, filled with message `number` of task `from`. */
static inline unsigned char *message(int from, int number, int length) {
  unsigned char *buffer = malloc((size_t)length + GUARD);
  CHECK(buffer);
  for (int i = 0; i < length; i++) buffer[i] = byte_of(from, number, i);
  return buffer;
}

/** A buffer for `length` bytes and a guard, filled with bytes that no message has throughout. */
static inline unsigned char *room(int length) {
  unsigned char *buffer = malloc((size_t)length + GUARD);
  CHECK(buffer);
  memset(buffer, 0xa5, (size_t)length + GUARD);
  return buffer;
}

/** A buffer made by `room` for `capacity` bytes holds message `number` of task `from`, and nothing behind it; frees it. */
static inline void holds(unsigned char *buffer, int capacity, int from, int number, int length) {
  for (int i = 0; i < length; i++) CHECK_AT(buffer[i] == byte_of(from, number, i), i);
  for (int i = length; i < capacity + GUARD; i++) CHECK_AT(buffer[i] == 0xa5, i);
  free(buffer);
}

/** A status says this source, tag and length. */
static inline void says(const MPI_Status *status, int source, int tag, int length) {
  int count;
  CHECK(MPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS);
  CHECK_AT(status->MPI_SOURCE == source, status->MPI_SOURCE);
  CHECK_AT(status->MPI_TAG == tag, status->MPI_TAG);
  CHECK_AT(count == length, count);
}

/** A part of a program, by name. */
struct section {
  const char *name;
  void (*run)(void);
};

/** Runs the sections that the arguments name, or all; task 0 prints the name of each that has ended everywhere. */
static inline int run_initialized(int argc, char **argv, const struct section *sections, int count) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int chosen = 0;
  for (int i = 0; i < count; i++) {
    int wanted = argc == 1;
    for (int a = 1; a < argc; a++) wanted |= !strcmp(argv[a], sections[i].name);
    if (!wanted) continue;
    chosen++;
    sections[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      printf("%s\n", sections[i].name);
      fflush(stdout);
    }
  }
  CHECK(chosen >= 1 && (argc == 1 || chosen == argc - 1));
  MPI_Finalize();
  return 0;
}

/** The same, with MPI's initialisation. */
static inline int run_sections(int argc, char **argv, const struct section *sections, int count) {
  MPI_Init(&argc, &argv);
  return run_initialized(argc, argv, sections, count);
}

#endif
