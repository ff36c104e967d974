/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A profiling tool: counts barriers and sums, and prints their numbers at the end. */
#include <mpi.h>
#include <stdio.h>

static int barriers, sums;

int MPI_Barrier(MPI_Comm comm) {
  barriers++;
  return PMPI_Barrier(comm);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  sums++;
  return PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) printf("%d barriers, %d sums\n", barriers, sums);
  return PMPI_Finalize();
}
