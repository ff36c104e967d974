/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Common to the C programs about types: a matrix, types of its columns and of their destinations. */
#ifndef TYPES_H
#define TYPES_H

#include "check.h"
#include <stddef.h>

enum { COLUMNS = 7, MOST = 9000 };

static double matrix[MOST + 2][COLUMNS];

/** The value of an attribute of a type. */
static inline size_t attribute(pami_type_t type, pami_attribute_name_t name) {
  pami_configuration_t found;
  found.name = name;
  SUCCEEDS(PAMI_Type_query(type, &found, 1));
  return found.value.intval;
}

/** Ends the program unless a type has these attributes. */
static inline void attributes(pami_type_t type, size_t size, ptrdiff_t extent, size_t atom) {
  CHECK(attribute(type, PAMI_TYPE_DATA_SIZE) == size);
  CHECK((ptrdiff_t)attribute(type, PAMI_TYPE_DATA_EXTENT) == extent);
  CHECK(attribute(type, PAMI_TYPE_ATOM_SIZE) == atom);
}

/** A double of a column, again and again. */
static inline pami_type_t column(void) {
  pami_type_t type;
  SUCCEEDS(PAMI_Type_create(&type));
  SUCCEEDS(PAMI_Type_add_typed(type, PAMI_TYPE_DOUBLE, 0, 1, COLUMNS * sizeof(double)));
  SUCCEEDS(PAMI_Type_complete(type, sizeof(double)));
  return type;
}

/** Three pairs of doubles with holes between all of them. */
static inline pami_type_t pairs(void) {
  pami_type_t pair, type;
  SUCCEEDS(PAMI_Type_create(&pair));
  SUCCEEDS(PAMI_Type_add_typed(pair, PAMI_TYPE_DOUBLE, 0, 2, 16));
  SUCCEEDS(PAMI_Type_complete(pair, 8));
  SUCCEEDS(PAMI_Type_create(&type));
  SUCCEEDS(PAMI_Type_add_typed(type, pair, 8, 3, 40));
  SUCCEEDS(PAMI_Type_complete(type, 8));
  /* It goes on. */
  SUCCEEDS(PAMI_Type_destroy(&pair));
  CHECK(pair == PAMI_TYPE_NULL);
  return type;
}

/** Where double `place` of a row of such pairs is. */
static inline size_t in_pairs(size_t place) {
  return place / 6 * 16 + 1 + place % 6 / 2 * 5 + place % 2 * 2;
}

/** An element of the matrix of a task. */
static inline double value(size_t task, size_t row, size_t col) {
  return (double)(task * 100000 + row * COLUMNS + col) + 0.25;
}

/** Fills the matrix of a task. */
static inline void fill(size_t task) {
  size_t row, col;
  for (row = 0; row < MOST + 2; row++) {
    for (col = 0; col < COLUMNS; col++) matrix[row][col] = value(task, row, col);
  }
}

#endif
