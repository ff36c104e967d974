/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Common to the C programs with geometries. */
#ifndef GEOMETRY_H
#define GEOMETRY_H

#include "check.h"

/** Most algorithms of a kind. */
enum { ALGORITHMS = 16 };

/** The end of something: `result` must be success, and `cookie` counts what has not ended. */
static inline void ended(pami_context_t context, void *cookie, pami_result_t result) {
  if (result != PAMI_SUCCESS) {
    char text[256];
    PAMI_Error_text(text, sizeof text);
    printf("ends with %d: %s\n", result, text);
    exit(1);
  }
  CHECK(context != NULL && *(int *)cookie > 0);
  --*(int *)cookie;
}

/** Advances a context until nothing is left. */
static inline void await(pami_context_t context, const int *left) {
  while (*(volatile const int *)left) PAMI_Context_advance(context, 1);
}

/** The algorithms of a geometry for a kind: those that always work first. Returns how many there are. */
static inline size_t algorithms(pami_geometry_t geometry, pami_xfer_type_t kind, pami_algorithm_t *all,
                                pami_metadata_t *data) {
  size_t lengths[2];
  SUCCEEDS(PAMI_Geometry_algorithms_num(geometry, kind, lengths));
  CHECK(lengths[0] + lengths[1] <= ALGORITHMS);
  SUCCEEDS(PAMI_Geometry_algorithms_query(geometry, kind, all, data, lengths[0], all + lengths[0],
                                          data + lengths[0], lengths[1]));
  return lengths[0] + lengths[1];
}

/** Waits until all of a geometry have come. */
static inline void barrier(pami_context_t context, pami_geometry_t geometry) {
  pami_algorithm_t all[ALGORITHMS];
  pami_metadata_t data[ALGORITHMS];
  pami_xfer_t xfer;
  int left = 1;
  CHECK(algorithms(geometry, PAMI_XFER_BARRIER, all, data) > 0);
  memset(&xfer, 0, sizeof xfer);
  xfer.algorithm = all[0];
  xfer.cb_done = ended;
  xfer.cookie = &left;
  SUCCEEDS(PAMI_Collective(context, &xfer));
  await(context, &left);
}

#endif
