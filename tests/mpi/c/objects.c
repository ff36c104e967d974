/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Objects of MPI beside messages: communicators and groups, types, topologies, attributes, errors, files. An even number of tasks, four or
 * more. */
#include "check.h"
#include <stddef.h>
#include <unistd.h>

/** Halves, their duplicates, a group of the even tasks, and an intercommunicator between the halves. */
static void communicators(void) {
  MPI_Comm half, copy, even, inter, merged;
  MPI_Group all, evens;
  int local, locals, result, sum = 0, upper = rank >= size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, upper, -rank, &half);
  MPI_Comm_rank(half, &local);
  MPI_Comm_size(half, &locals);
  /* The key turns the order. */
  CHECK_AT(local == (upper ? size - 1 - rank : size / 2 - 1 - rank), local);
  MPI_Comm_dup(half, &copy);
  MPI_Comm_compare(half, copy, &result);
  CHECK_AT(result == MPI_CONGRUENT, result);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
  int first = upper ? size / 2 : 0, last = upper ? size - 1 : size / 2 - 1;
  CHECK_AT(sum == (first + last) * locals / 2, sum);

  int range[1][3] = {{0, size - 1, 2}};
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_range_incl(all, 1, range, &evens);
  MPI_Comm_create(MPI_COMM_WORLD, evens, &even);
  CHECK((even == MPI_COMM_NULL) == (rank % 2));
  if (even != MPI_COMM_NULL) {
    int there[2] = {0, 1}, here[2];
    MPI_Group_translate_ranks(evens, 2, there, all, here);
    CHECK(here[0] == 0 && here[1] == 2);
    MPI_Comm_free(&even);
  }
  if (rank % 2 == 0) {
    CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, evens, 5, &even) == MPI_SUCCESS);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, even);
    CHECK_AT(sum == (size - 1) / 2 * 2, sum);
    MPI_Comm_free(&even);
  }
  MPI_Group_free(&evens);
  MPI_Group_free(&all);

  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? size / 2 - 1 : size - 1, 9, &inter);
  int others, value = rank, got = -1;
  MPI_Comm_remote_size(inter, &others);
  CHECK_AT(others == size - locals, others);
  MPI_Sendrecv(&value, 1, MPI_INT, local % others, 1, &got, 1, MPI_INT, local % others, 1, inter, MPI_STATUS_IGNORE);
  CHECK_AT(got == (upper ? size / 2 - 1 - local : size - 1 - local), got);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MIN, inter);
  CHECK_AT(sum == (upper ? 0 : size / 2), sum);
  MPI_Intercomm_merge(inter, upper, &merged);
  MPI_Comm_size(merged, &locals);
  CHECK_AT(locals == size, locals);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&half);
}

/** Columns, structures, indexed and nested types, sent around a ring and unpacked. */
static void types(void) {
  enum { ROWS = 9, COLUMNS = 7 };
  int next = (rank + 1) % size, last = (rank + size - 1) % size;
  double matrix[ROWS][COLUMNS], column[ROWS];
  MPI_Datatype vector, resized, indexed, record;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) matrix[i][j] = 1000 * rank + 10 * i + j;
  MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &vector);
  MPI_Type_create_resized(vector, 0, sizeof(double), &resized);
  MPI_Type_commit(&resized);
  double columns[2 * ROWS];
  MPI_Sendrecv(&matrix[0][2], 2, resized, next, 0, columns, 2 * ROWS, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 2 * ROWS; i++) CHECK_AT(columns[i] == 1000 * last + 10 * (i % ROWS) + 2 + i / ROWS, i);
  MPI_Aint lower, extent;
  int bytes;
  MPI_Type_get_extent(resized, &lower, &extent);
  MPI_Type_size(resized, &bytes);
  CHECK(lower == 0 && extent == sizeof(double) && bytes == ROWS * (int)sizeof(double));

  int lengths[3] = {1, 3, 2}, places[3] = {5, 0, 9};
  MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &indexed);
  MPI_Type_commit(&indexed);
  MPI_Sendrecv(matrix, 1, indexed, next, 1, column, 6, MPI_DOUBLE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int expected[6] = {5, 0, 1, 2, 12, 13};
  for (int i = 0; i < 6; i++) CHECK_AT(column[i] == 1000 * last + expected[i], i);

  struct record {
    char kind;
    double value;
    int count;
  } records[3], found[3];
  int ones[3] = {1, 1, 1};
  MPI_Aint offsets[3] = {offsetof(struct record, kind), offsetof(struct record, value), offsetof(struct record, count)};
  MPI_Datatype members[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, bare;
  MPI_Type_create_struct(3, ones, offsets, members, &bare);
  MPI_Type_create_resized(bare, 0, sizeof(struct record), &record);
  MPI_Type_commit(&record);
  for (int i = 0; i < 3; i++) records[i] = (struct record){(char)('a' + i), rank + 0.5 * i, 7 * rank + i};
  memset(found, 0, sizeof found);
  MPI_Sendrecv(records, 3, record, next, 2, found, 3, record, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 3; i++)
    CHECK_AT(found[i].kind == 'a' + i && found[i].value == last + 0.5 * i && found[i].count == 7 * last + i, i);

  char packed[256];
  int place = 0, room_needed;
  MPI_Pack_size(3, record, MPI_COMM_WORLD, &room_needed);
  CHECK_AT(room_needed <= (int)sizeof packed, room_needed);
  MPI_Pack(records, 3, record, packed, sizeof packed, &place, MPI_COMM_WORLD);
  MPI_Sendrecv_replace(packed, sizeof packed, MPI_PACKED, next, 3, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int filled = place;
  place = 0;
  memset(found, 0, sizeof found);
  MPI_Unpack(packed, filled, &place, found, 3, record, MPI_COMM_WORLD);
  CHECK_AT(place == filled && found[2].count == 7 * last + 2, place);
  MPI_Type_free(&record);
  MPI_Type_free(&bare);
  MPI_Type_free(&indexed);
  MPI_Type_free(&resized);
  MPI_Type_free(&vector);
}

/** A torus of all tasks, its rows, a graph, and exchanges with neighbours. */
static void topologies(void) {
  int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], up, down, kind;
  MPI_Comm grid, row, graph;
  MPI_Dims_create(size, 2, dims);
  CHECK_AT(dims[0] * dims[1] == size, dims[0]);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Topo_test(grid, &kind);
  CHECK_AT(kind == MPI_CART, kind);
  int place, self;
  MPI_Comm_rank(grid, &self);
  MPI_Cart_coords(grid, self, 2, coords);
  MPI_Cart_rank(grid, coords, &place);
  CHECK_AT(place == self, place);
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  int got = -1;
  MPI_Sendrecv(&self, 1, MPI_INT, down, 0, &got, 1, MPI_INT, up, 0, grid, MPI_STATUS_IGNORE);
  CHECK_AT(got == up, got);
  MPI_Cart_shift(grid, 1, 1, &up, &down);
  CHECK((coords[1] == 0) == (up == MPI_PROC_NULL) && (coords[1] == dims[1] - 1) == (down == MPI_PROC_NULL));
  int keeps[2] = {0, 1}, wide;
  MPI_Cart_sub(grid, keeps, &row);
  MPI_Comm_size(row, &wide);
  CHECK_AT(wide == dims[1], wide);
  int around[4] = {-1, -1, -1, -1};
  MPI_Neighbor_allgather(&self, 1, MPI_INT, around, 1, MPI_INT, grid);
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  CHECK(around[0] == up && around[1] == down);

  /* Everybody hears from the two before it. */
  int sources[2] = {(rank + size - 1) % size, (rank + size - 2) % size}, targets[2] = {(rank + 1) % size, (rank + 2) % size};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  int send[2] = {10 * rank, 10 * rank + 1}, receive[2] = {-1, -1};
  MPI_Neighbor_alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, graph);
  CHECK(receive[0] == 10 * sources[0] && receive[1] == 10 * sources[1] + 1);
  MPI_Comm_free(&graph);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
}

static int copies, deletes;

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *in, void *out, int *keep) {
  (void)comm, (void)key, (void)extra;
  copies++;
  *(void **)out = (char *)in + 1;
  *keep = 1;
  return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  deletes++;
  return MPI_SUCCESS;
}

/** Attributes go with duplicates, names and info are kept, predefined attributes are there. */
static void attributes(void) {
  static char words[2];
  int key, there, *bound, length;
  char *value, name[MPI_MAX_OBJECT_NAME];
  MPI_Comm copy;
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, words);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_get_attr(copy, key, &value, &there);
  CHECK(there && value == words + 1 && copies == 1);
  MPI_Comm_set_name(copy, "copy");
  MPI_Comm_get_name(copy, name, &length);
  CHECK(length == 4 && !strcmp(name, "copy"));
  MPI_Comm_free(&copy);
  CHECK_AT(deletes == 1, deletes);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  MPI_Comm_free_keyval(&key);
  CHECK_AT(deletes == 2, deletes);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &there);
  CHECK(there && *bound >= 32767);
  MPI_Info info;
  char text[16];
  MPI_Info_create(&info);
  MPI_Info_set(info, "color", "blue");
  int room_of = sizeof text;
  MPI_Info_get_string(info, "color", &room_of, text, &there);
  CHECK(there && !strcmp(text, "blue"));
  MPI_Info_free(&info);
}

static int handled;

static void handle(MPI_Comm *comm, int *code, ...) {
  (void)comm;
  int class;
  MPI_Error_class(*code, &class);
  handled = class;
}

/** Wrong arguments have their error classes, by return and by handler. */
static void errors(void) {
  int word = 0, class, length;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Error_class(MPI_Send(&word, 1, MPI_INT, size, 0, comm), &class);
  CHECK_AT(class == MPI_ERR_RANK, class);
  MPI_Error_class(MPI_Send(&word, -1, MPI_INT, 0, 0, comm), &class);
  CHECK_AT(class == MPI_ERR_COUNT, class);
  MPI_Error_class(MPI_Send(&word, 1, MPI_INT, 0, -7, comm), &class);
  CHECK_AT(class == MPI_ERR_TAG, class);
  int root = MPI_Bcast(&word, 1, MPI_INT, size + 3, comm);
  MPI_Error_class(root, &class);
  CHECK_AT(class == MPI_ERR_ROOT, class);
  MPI_Error_string(root, text, &length);
  CHECK(length > 0);
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Recv(&word, 1, MPI_INT, size, 0, comm, MPI_STATUS_IGNORE);
  CHECK_AT(handled == MPI_ERR_RANK, handled);
  /* A message that is too long: the receive says so, and the communicator goes on. */
  int long_one[4] = {1, 2, 3, 4}, next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Request request;
  MPI_Isend(long_one, 4, MPI_INT, next, 0, comm, &request);
  MPI_Error_class(MPI_Recv(&word, 1, MPI_INT, last, 0, comm, MPI_STATUS_IGNORE), &class);
  CHECK_AT(class == MPI_ERR_TRUNCATE, class);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &word, 1, MPI_INT, last, 1, comm, MPI_STATUS_IGNORE);
  CHECK_AT(word == last, word);
  int own_class, own_code;
  MPI_Add_error_class(&own_class);
  MPI_Add_error_code(own_class, &own_code);
  MPI_Add_error_string(own_code, "own");
  MPI_Error_string(own_code, text, &length);
  CHECK(!strcmp(text, "own"));
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

/** All write parts of a file of the current folder in turns, read what others have written, and see the end of it. */
static void files(void) {
  enum { WORDS = 100 };
  MPI_File file;
  MPI_Status status;
  MPI_Offset bytes;
  MPI_Datatype turns;
  int words[WORDS], found[WORDS], count;
  char name[64];
  snprintf(name, sizeof name, "objects-%d.bin", size);
  for (int i = 0; i < WORDS; i++) words[i] = 1000 * rank + i;
  CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  MPI_Type_vector(WORDS / 10, 10, 10 * size, MPI_INT, &turns);
  MPI_Type_commit(&turns);
  MPI_File_set_view(file, 10 * (MPI_Offset)sizeof(int) * rank, MPI_INT, turns, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, words, WORDS, MPI_INT, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK_AT(count == WORDS, count);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_size(file, &bytes);
  CHECK_AT(bytes == WORDS * size * (MPI_Offset)sizeof(int), bytes);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  /* Words of all tasks in turn, ten of each. */
  MPI_File_read_at(file, WORDS * rank, found, WORDS, MPI_INT, &status);
  for (int i = 0; i < WORDS; i++) {
    int at = WORDS * rank + i, block = at / 10;
    CHECK_AT(found[i] == 1000 * (block % size) + block / size * 10 + at % 10, i);
  }
  MPI_File_seek(file, 0, MPI_SEEK_END);
  MPI_File_read(file, found, 1, MPI_INT, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK_AT(count == 0, count);
  int error = MPI_File_write_at(file, -4, words, 1, MPI_INT, &status), class;
  MPI_Error_class(error, &class);
  CHECK_AT(class == MPI_ERR_ARG, class);
  MPI_File_close(&file);
  MPI_Type_free(&turns);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    CHECK(MPI_File_delete(name, MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(access(name, F_OK) != 0);
  }
}

/** Writes to a file and reads it while others wait: the C library does it in threads of its own. */
static void background_files(void) {
  enum { PARTS = 4, WORDS = 10000 };
  static int words[PARTS][WORDS], found[PARTS][WORDS];
  MPI_File file;
  MPI_Request requests[PARTS];
  char name[64];
  snprintf(name, sizeof name, "objects-%d-%d.bin", size, rank);
  CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) ==
        MPI_SUCCESS);
  for (int i = 0; i < PARTS; i++) {
    for (int j = 0; j < WORDS; j++) words[i][j] = i + j + rank;
    MPI_File_iwrite_at(file, i * (MPI_Offset)sizeof words[i], words[i], WORDS, MPI_INT, &requests[i]);
  }
  MPI_Waitall(PARTS, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < PARTS; i++)
    MPI_File_iread_at(file, i * (MPI_Offset)sizeof found[i], found[i], WORDS, MPI_INT, &requests[i]);
  MPI_Waitall(PARTS, requests, MPI_STATUSES_IGNORE);
  CHECK(!memcmp(words, found, sizeof words));
  MPI_File_close(&file);
}

int main(int argc, char **argv) {
  static const struct section SECTIONS[] = {
      {"communicators", communicators}, {"types", types},   {"topologies", topologies},
      {"attributes", attributes},       {"errors", errors}, {"files", files},
      {"background_files", background_files},
  };
  int level, there, version, subversion;
  MPI_Initialized(&there);
  CHECK(!there);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  CHECK_AT(level >= MPI_THREAD_SERIALIZED, level);
  MPI_Get_version(&version, &subversion);
  CHECK_AT(version >= 3, version);
  return run_initialized(argc, argv, SECTIONS, sizeof SECTIONS / sizeof *SECTIONS);
}
