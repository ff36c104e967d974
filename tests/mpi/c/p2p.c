/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages between two tasks: every length at a limit, every mode, matching, order, errors. */
#include "check.h"

static const MPI_Comm WORLD = MPI_COMM_WORLD;

/** Partners of this task in round `round`: the tasks form pairs, or a chain round all. */
static int to_of(int round) { return round == 0 ? (rank ^ 1) : (rank + size / 2) % size; }
static int from_of(int round) { return round == 0 ? (rank ^ 1) : (rank + size - size / 2) % size; }

/** Every length, by blocking sends: one side of each pair sends first. */
static void blocking(void) {
  for (int l = 0; l < LENGTHS_COUNT; l++) {
    int length = LENGTHS[l], peer = rank ^ 1;
    unsigned char *out = message(rank, l, length), *in = room(length);
    MPI_Status status;
    for (int turn = 0; turn < 2; turn++) {
      if (turn == (rank & 1))
        MPI_Send(out, length, MPI_BYTE, peer, l, WORLD);
      else
        MPI_Recv(in, length, MPI_BYTE, peer, l, WORLD, &status);
    }
    says(&status, peer, l, length);
    holds(in, length, peer, l, length);
    free(out);
  }
}

/** Every length both ways at once, the receive posted before or after the send, into more room than needed. */
static void nonblocking(void) {
  for (int l = 0; l < LENGTHS_COUNT; l++)
    for (int round = 0; round < 4; round++) {
      int length = LENGTHS[l], to = to_of(round & 1), from = from_of(round & 1), capacity = length + 24;
      unsigned char *out = message(rank, l + round, length), *in = room(capacity);
      MPI_Request requests[2];
      MPI_Status statuses[2];
      if (round & 2) MPI_Irecv(in, capacity, MPI_BYTE, from, l, WORLD, &requests[0]);
      MPI_Isend(out, length, MPI_BYTE, to, l, WORLD, &requests[1]);
      if (!(round & 2)) MPI_Irecv(in, capacity, MPI_BYTE, from, l, WORLD, &requests[0]);
      MPI_Waitall(2, requests, statuses);
      says(&statuses[0], from, l, length);
      holds(in, capacity, from, l + round, length);
      free(out);
    }
}

/** A synchronous send of any length ends after its receive has begun, and not before. */
static void synchronous(void) {
  for (int l = 0; l < LENGTHS_COUNT; l++) {
    int length = LENGTHS[l], peer = rank ^ 1, done;
    unsigned char *out = message(rank, l, length), *in = room(length);
    MPI_Request request;
    MPI_Status status;
    for (int turn = 0; turn < 2; turn++) {
      if (turn == (rank & 1)) {
        MPI_Issend(out, length, MPI_BYTE, peer, l, WORLD, &request);
        /* The partner answers only after this: it has not received by then. */
        for (int i = 0; i < 50; i++) {
          MPI_Test(&request, &done, MPI_STATUS_IGNORE);
          CHECK_AT(!done, length);
        }
        MPI_Send(NULL, 0, MPI_BYTE, peer, 1000, WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(NULL, 0, MPI_BYTE, peer, 1000, WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, length, MPI_BYTE, peer, l, WORLD, &status);
      }
    }
    says(&status, peer, l, length);
    holds(in, length, peer, l, length);
    if (rank & 1)
      MPI_Ssend(out, length, MPI_BYTE, peer, l, WORLD);
    else {
      in = room(length);
      MPI_Recv(in, length, MPI_BYTE, peer, l, WORLD, &status);
      holds(in, length, peer, l, length);
    }
    free(out);
  }
}

/** A ready send of any length finds the receive that the partner has told of. */
static void ready(void) {
  for (int l = 0; l < LENGTHS_COUNT; l++) {
    int length = LENGTHS[l], peer = rank ^ 1;
    unsigned char *out = message(rank, l, length), *in = room(length);
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(in, length, MPI_BYTE, peer, l, WORLD, &request);
    MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, 1000, NULL, 0, MPI_BYTE, peer, 1000, WORLD, MPI_STATUS_IGNORE);
    MPI_Rsend(out, length, MPI_BYTE, peer, l, WORLD);
    MPI_Wait(&request, &status);
    says(&status, peer, l, length);
    holds(in, length, peer, l, length);
    free(out);
  }
}

/** Buffered sends end without a receive, and their data may change at once. */
static void buffered(void) {
  int attached = 0;
  for (int l = 0; l < LENGTHS_COUNT; l++) attached += LENGTHS[l] + MPI_BSEND_OVERHEAD;
  void *memory = malloc((size_t)attached);
  MPI_Buffer_attach(memory, attached);
  for (int l = 0; l < LENGTHS_COUNT; l++) {
    unsigned char *out = message(rank, l, LENGTHS[l]);
    MPI_Bsend(out, LENGTHS[l], MPI_BYTE, rank ^ 1, l, WORLD);
    memset(out, 0, (size_t)LENGTHS[l]);
    free(out);
  }
  for (int l = 0; l < LENGTHS_COUNT; l++) {
    unsigned char *in = room(LENGTHS[l]);
    MPI_Recv(in, LENGTHS[l], MPI_BYTE, rank ^ 1, l, WORLD, MPI_STATUS_IGNORE);
    holds(in, LENGTHS[l], rank ^ 1, l, LENGTHS[l]);
  }
  MPI_Buffer_detach(&memory, &attached);
  free(memory);
}

/** Task 0 takes from any source with any tag what all others send; of each source in order. */
static void wildcards(void) {
  enum { EACH = 12 };
  if (rank != 0) {
    for (int n = 0; n < EACH; n++) {
      int length = LENGTHS[(n * 5) % (LENGTHS_COUNT - 1)];
      unsigned char *out = message(rank, n, length);
      MPI_Send(out, length, MPI_BYTE, 0, 10 + n, WORLD);
      free(out);
    }
    return;
  }
  int next[256] = {0};
  CHECK(size <= 256);
  for (int n = 0; n < EACH * (size - 1); n++) {
    unsigned char *in = room(65536);
    MPI_Status status;
    MPI_Recv(in, 65536, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
    int source = status.MPI_SOURCE, number = next[source]++;
    says(&status, source, 10 + number, LENGTHS[(number * 5) % (LENGTHS_COUNT - 1)]);
    holds(in, 65536, source, number, LENGTHS[(number * 5) % (LENGTHS_COUNT - 1)]);
  }
  for (int source = 1; source < size; source++) CHECK(next[source] == EACH);
}

/** A receive of one source with any tag, and one of any source with one tag, leave other messages alone. */
static void half_wildcards(void) {
  int peer = rank ^ 1, value = rank, got[3];
  MPI_Status status;
  MPI_Request requests[3];
  for (int n = 0; n < 3; n++) MPI_Isend(&value, 1, MPI_INT, peer, 20 + n, WORLD, &requests[n]);
  MPI_Recv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, 21, WORLD, &status);
  says(&status, peer, 21, 4);
  MPI_Recv(&got[1], 1, MPI_INT, peer, MPI_ANY_TAG, WORLD, &status);
  says(&status, peer, 20, 4);
  MPI_Recv(&got[2], 1, MPI_INT, peer, MPI_ANY_TAG, WORLD, &status);
  says(&status, peer, 22, 4);
  for (int n = 0; n < 3; n++) CHECK(got[n] == peer);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/** Messages that come before their receives, taken in the opposite order; between them one whose receive was there. */
static void unexpected(void) {
  int peer = rank ^ 1;
  unsigned char *out[LENGTHS_COUNT], *early = room(64), *late = message(rank, 99, 64);
  MPI_Request requests[LENGTHS_COUNT], expected;
  MPI_Irecv(early, 64, MPI_BYTE, peer, 99, WORLD, &expected);
  MPI_Barrier(WORLD);
  for (int l = 0; l < LENGTHS_COUNT; l++) {
    out[l] = message(rank, l, LENGTHS[l]);
    MPI_Isend(out[l], LENGTHS[l], MPI_BYTE, peer, l, WORLD, &requests[l]);
  }
  MPI_Send(late, 64, MPI_BYTE, peer, 99, WORLD);
  MPI_Wait(&expected, MPI_STATUS_IGNORE);
  holds(early, 64, peer, 99, 64);
  for (int l = LENGTHS_COUNT - 1; l >= 0; l--) {
    unsigned char *in = room(LENGTHS[l]);
    MPI_Status status;
    MPI_Recv(in, LENGTHS[l], MPI_BYTE, peer, l, WORLD, &status);
    says(&status, peer, l, LENGTHS[l]);
    holds(in, LENGTHS[l], peer, l, LENGTHS[l]);
  }
  MPI_Waitall(LENGTHS_COUNT, requests, MPI_STATUSES_IGNORE);
  for (int l = 0; l < LENGTHS_COUNT; l++) free(out[l]);
  free(late);
}

/** Messages of a pair with one tag are received in the order in which they were sent, whatever their lengths. */
static void order(void) {
  enum { COUNT = 120 };
  static const int MIXED[] = {8, 5000, 0, 600, 485, 4097, 4096, 1};
  for (int turn = 0; turn < 2; turn++) {
    if (turn == (rank & 1)) {
      MPI_Request requests[COUNT];
      unsigned char *out[COUNT];
      for (int n = 0; n < COUNT; n++) {
        int length = MIXED[n * 3 % 8];
        out[n] = message(rank, n, length);
        MPI_Isend(out[n], length, MPI_BYTE, rank ^ 1, 5, WORLD, &requests[n]);
      }
      MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
      for (int n = 0; n < COUNT; n++) free(out[n]);
    } else {
      for (int n = 0; n < COUNT; n++) {
        unsigned char *in = room(5000);
        MPI_Status status;
        MPI_Recv(in, 5000, MPI_BYTE, rank ^ 1, 5, WORLD, &status);
        says(&status, rank ^ 1, 5, MIXED[n * 3 % 8]);
        holds(in, 5000, rank ^ 1, n, MIXED[n * 3 % 8]);
      }
    }
  }
}

/** More data than the receive has room for: MPI_ERR_TRUNCATE there alone, nothing behind the room, and all goes on. */
static void truncation(void) {
  static const int CASES[][2] = {{50, 10}, {485, 484}, {512, 100}, {4096, 4095}, {4097, 4096}, {100000, 1000}, {300, 0}};
  MPI_Comm comm;
  int peer = rank ^ 1;
  MPI_Comm_dup(WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int c = 0; c < 7; c++)
    for (int posted = 0; posted < 2; posted++) {
      int length = CASES[c][0], capacity = CASES[c][1], class;
      unsigned char *out = message(rank, c, length), *in = room(capacity), *next = room(length);
      MPI_Request send, receive;
      MPI_Status status;
      if (posted) MPI_Irecv(in, capacity, MPI_BYTE, peer, c, comm, &receive);
      MPI_Barrier(comm);
      MPI_Isend(out, length, MPI_BYTE, peer, c, comm, &send);
      if (!posted) {
        MPI_Barrier(comm);
        MPI_Irecv(in, capacity, MPI_BYTE, peer, c, comm, &receive);
      }
      int error = MPI_Wait(&receive, &status);
      MPI_Error_class(error, &class);
      CHECK_AT(class == MPI_ERR_TRUNCATE, class);
      for (int i = capacity; i < capacity + GUARD; i++) CHECK_AT(in[i] == 0xa5, i);
      free(in);
      CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      CHECK(MPI_Sendrecv(out, length, MPI_BYTE, peer, c, next, length, MPI_BYTE, peer, c, comm, &status) ==
            MPI_SUCCESS);
      holds(next, length, peer, c, length);
      free(out);
    }
  MPI_Comm_free(&comm);
}

/** A cancelled receive takes nothing; the next one with the same tag gets the message. */
static void cancel(void) {
  int peer = rank ^ 1, cancelled;
  for (int c = 0; c < 2; c++) {
    int length = c ? 5000 : 100;
    unsigned char *never = room(length), *in = room(length), *out = message(rank, c, length);
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(never, length, MPI_BYTE, c ? MPI_ANY_SOURCE : peer, 7, WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled);
    // Nobody sends before.
    MPI_Barrier(WORLD);
    MPI_Sendrecv(out, length, MPI_BYTE, peer, 7, in, length, MPI_BYTE, peer, 7, WORLD, &status);
    says(&status, peer, 7, length);
    holds(in, length, peer, c, length);
    holds(never, length, 0, 0, 0);
    free(out);
  }
}

/** Probes report a message and leave it; a matched probe takes it from every other receive. */
static void probe(void) {
  int peer = rank ^ 1, found;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &found, &status);
  CHECK(!found);
  MPI_Barrier(WORLD);
  for (int l = 0; l < LENGTHS_COUNT; l++) {
    int length = LENGTHS[l];
    unsigned char *out = message(rank, l, length), *second = message(rank, l + 1, length), *in = room(length);
    MPI_Request requests[2];
    MPI_Message taken, no_message;
    MPI_Isend(out, length, MPI_BYTE, peer, l, WORLD, &requests[0]);
    MPI_Isend(second, length, MPI_BYTE, peer, l, WORLD, &requests[1]);
    MPI_Probe(MPI_ANY_SOURCE, l, WORLD, &status);
    says(&status, peer, l, length);
    do MPI_Iprobe(peer, MPI_ANY_TAG, WORLD, &found, &status);
    while (!found);
    says(&status, peer, l, length);
    MPI_Iprobe(peer, 1000, WORLD, &found, &status);
    CHECK(!found);
    MPI_Mprobe(peer, l, WORLD, &taken, &status);
    says(&status, peer, l, length);
    MPI_Improbe(peer, 1000, WORLD, &found, &no_message, &status);
    CHECK(!found);
    MPI_Recv(in, length, MPI_BYTE, peer, l, WORLD, &status);
    holds(in, length, peer, l + 1, length);
    in = room(length);
    if (l & 1) {
      MPI_Request request;
      MPI_Imrecv(in, length, MPI_BYTE, &taken, &request);
      MPI_Wait(&request, &status);
    } else {
      MPI_Mrecv(in, length, MPI_BYTE, &taken, &status);
    }
    says(&status, peer, l, length);
    holds(in, length, peer, l, length);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    free(out);
    free(second);
  }
}

/** Persistent requests send and receive again each time they are started. */
static void persistent(void) {
  static const int SOME[] = {0, 8, 485, 513, 4097, 65536};
  int peer = rank ^ 1;
  for (int l = 0; l < 6; l++) {
    int length = SOME[l];
    unsigned char *out = malloc((size_t)length + GUARD), *in = malloc((size_t)length + GUARD);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Recv_init(in, length, MPI_BYTE, peer, l, WORLD, &requests[0]);
    MPI_Send_init(out, length, MPI_BYTE, peer, l, WORLD, &requests[1]);
    for (int n = 0; n < 4; n++) {
      for (int i = 0; i < length; i++) out[i] = byte_of(rank, n, i);
      memset(in, 0xa5, (size_t)length);
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, statuses);
      says(&statuses[0], peer, l, length);
      for (int i = 0; i < length; i++) CHECK_AT(in[i] == byte_of(peer, n, i), i);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(in);
    free(out);
  }
}

/** Data with holes, sent from them and into them; what lies in the holes stays. */
static void vectors(void) {
  /* Blocks, bytes of each, bytes from one to the next. */
  static const int SHAPES[][3] = {{1, 5, 5}, {10, 3, 7}, {61, 8, 24}, {100, 1, 2}, {300, 17, 33}, {5000, 4, 12}, {7, 1000, 1003}};
  int peer = rank ^ 1;
  for (int s = 0; s < 7; s++)
    for (int how = 0; how < 3; how++) {
      int blocks = SHAPES[s][0], each = SHAPES[s][1], stride = SHAPES[s][2];
      int extent = (blocks - 1) * stride + each, length = blocks * each;
      MPI_Datatype vector;
      MPI_Status status;
      MPI_Type_vector(blocks, each, stride, MPI_BYTE, &vector);
      MPI_Type_commit(&vector);
      int holed_out = how != 1, holed_in = how != 0;
      unsigned char *out = room(holed_out ? extent : length), *in = room(holed_in ? extent : length);
      for (int i = 0; i < length; i++) out[holed_out ? i / each * stride + i % each : i] = byte_of(rank, s, i);
      MPI_Sendrecv(out, holed_out ? 1 : length, holed_out ? vector : MPI_BYTE, peer, s, in, holed_in ? 1 : length,
                   holed_in ? vector : MPI_BYTE, peer, s, WORLD, &status);
      says(&status, peer, s, length);
      unsigned char *wanted = room(holed_in ? extent : length);
      for (int i = 0; i < length; i++) wanted[holed_in ? i / each * stride + i % each : i] = byte_of(peer, s, i);
      for (int i = 0; i < (holed_in ? extent : length) + GUARD; i++) CHECK_AT(in[i] == wanted[i], i);
      free(wanted);
      free(in);
      free(out);
      MPI_Type_free(&vector);
    }
}

/** Messages of a task to itself. */
static void self(void) {
  for (int l = 0; l < LENGTHS_COUNT; l++)
    for (int posted = 0; posted < 2; posted++) {
      int length = LENGTHS[l];
      unsigned char *out = message(rank, l, length), *in = room(length);
      MPI_Request requests[2];
      MPI_Status status;
      if (posted) MPI_Irecv(in, length, MPI_BYTE, rank, l, WORLD, &requests[0]);
      MPI_Isend(out, length, MPI_BYTE, rank, l, WORLD, &requests[1]);
      if (!posted) MPI_Irecv(in, length, MPI_BYTE, MPI_ANY_SOURCE, l, WORLD, &requests[0]);
      MPI_Wait(&requests[0], &status);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      says(&status, rank, l, length);
      holds(in, length, rank, l, length);
      free(out);
    }
}

/** Many messages both ways at once, of all lengths up to 64 KiB, received in the order of sending or the opposite one. */
static void many(void) {
  enum { COUNT = 200 };
  MPI_Request requests[2 * COUNT];
  unsigned char *out[COUNT], *in[COUNT];
  for (int opposite = 0; opposite < 2; opposite++) {
    int to = to_of(opposite), from = from_of(opposite);
    for (int n = 0; n < COUNT; n++) {
      int length = LENGTHS[n % (LENGTHS_COUNT - 1)];
      out[n] = message(rank, n, length);
      MPI_Isend(out[n], length, MPI_BYTE, to, n, WORLD, &requests[n]);
    }
    for (int k = 0; k < COUNT; k++) {
      int n = opposite ? COUNT - 1 - k : k, length = LENGTHS[n % (LENGTHS_COUNT - 1)];
      in[n] = room(length);
      MPI_Irecv(in[n], length, MPI_BYTE, from, n, WORLD, &requests[COUNT + n]);
    }
    MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE);
    for (int n = 0; n < COUNT; n++) {
      int length = LENGTHS[n % (LENGTHS_COUNT - 1)];
      holds(in[n], length, from, n, length);
      free(out[n]);
    }
  }
}

/** MPI_PROC_NULL as a partner ends at once; a buffer may be sent from and received into. */
static void special(void) {
  int value = rank, peer = rank ^ 1;
  MPI_Status status;
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && value == rank);
  static unsigned char both[70000];
  for (int i = 0; i < 70000; i++) both[i] = byte_of(rank, 3, i);
  MPI_Sendrecv_replace(both, 70000, MPI_BYTE, peer, 3, peer, 3, WORLD, &status);
  says(&status, peer, 3, 70000);
  for (int i = 0; i < 70000; i++) CHECK_AT(both[i] == byte_of(peer, 3, i), i);
}

int main(int argc, char **argv) {
  static const struct section SECTIONS[] = {
      {"blocking", blocking},   {"nonblocking", nonblocking}, {"synchronous", synchronous},
      {"ready", ready},         {"buffered", buffered},       {"wildcards", wildcards},
      {"half_wildcards", half_wildcards}, {"unexpected", unexpected}, {"order", order},
      {"truncation", truncation}, {"cancel", cancel},         {"probe", probe},
      {"persistent", persistent}, {"vectors", vectors},       {"self", self},
      {"many", many},           {"special", special}};
  return run_sections(argc, argv, SECTIONS, sizeof SECTIONS / sizeof *SECTIONS);
}
