/*
 * Included by every unit test: cmocka with the headers it needs, and check_oom() for
 * constructors and decoders.
 */
#ifndef TEST_LIB_UNIT_H
#define TEST_LIB_UNIT_H

/* cmocka.h needs these four before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base.h"

/*
 * Runs body once per allocation that it makes, failing that allocation. It must return -ENOMEM
 * each time, and 0 in the last run, in which nothing failed. ASan finds the leaks. Only
 * allocations in our own objects fail (the linker wraps malloc, calloc, realloc and strdup),
 * not those in libraries.
 */
void check_oom(int (*body)(void *), void *arg);

/* Calls body once while its first allocation fails; returns what it returned. */
int call_without_memory(int (*body)(void *), void *arg);

#endif /* TEST_LIB_UNIT_H */
