/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * Extension "EXT_torus_network" of PAMI: places of tasks in the torus.
 *
 * Coordinates are arrays of `dims` numbers (pami_extension_torus_information_t). The last one may be the place of a task
 * within its node.
 */
#ifndef PAMI_EXT_TORUS_H
#define PAMI_EXT_TORUS_H

#include "pami.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The torus as this task sees it. The arrays have `dims` numbers each and belong to the extension. */
typedef struct pami_extension_torus_information {
  size_t dims;   /**< Number of dimensions. */
  size_t *coord; /**< Coordinates of this task. */
  size_t *size;  /**< Length of each dimension. */
  size_t *torus; /**< 1 for a dimension that is a ring, 0 for one that is a line. */
} pami_extension_torus_information_t;

/** Symbol "information": the torus. */
typedef const pami_extension_torus_information_t *(*pami_extension_torus_information_fn)(void);

/**
 * Symbol "task2torus": coordinates of a task.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: the task does not exist
 */
typedef pami_result_t (*pami_extension_torus_task2torus_fn)(pami_task_t task, size_t addr[]);

/**
 * Symbol "torus2task": the task at coordinates.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: the place does not exist; PAMI_ERROR: it has no task
 */
typedef pami_result_t (*pami_extension_torus_torus2task_fn)(size_t addr[], pami_task_t *task);

#ifdef __cplusplus
}
#endif

#endif
