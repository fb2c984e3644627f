/*
 * Distinct elements of one size, numbered from 0 in the order of first sight, such as the
 * functions and locations of a pprof. Pure.
 */
#ifndef COMMON_DATA_NUMBER_TABLE_H
#define COMMON_DATA_NUMBER_TABLE_H

#include "common/base.h"
#include "common/data/number_index.h"

struct number_table {
	uint8_t *elements;
	uint32_t n, cap;
	size_t element_bytes;
	size_t max_bytes; /* of elements and index */
	struct number_index index;
};

/* Elements are compared as bytes, padding included. Allocates nothing. */
void number_table_init(struct number_table *t, size_t element_bytes, size_t max_bytes);
void number_table_fini(struct number_table *t);

/* Frees the index. Afterwards only number_table_get() and _fini() are allowed. */
void number_table_seal(struct number_table *t);

/*
 * Finds an element, or adds it, and stores its number. Returns 0, -ENOMEM, or -ENOBUFS if it
 * is full.
 */
int number_table_add(struct number_table *t, const void *element, uint32_t *ret) MUST_CHECK;

/* number is below t->n. Valid until the next number_table_add(). */
static inline const void *number_table_get(const struct number_table *t, uint32_t number)
{
	return t->elements + number * t->element_bytes;
}

#endif /* COMMON_DATA_NUMBER_TABLE_H */
