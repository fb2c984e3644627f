/*
 * What every unit test includes: cmocka with the headers it wants, and
 * check_oom() for constructors and decoders.
 */
#ifndef TEST_LIB_UNIT_H
#define TEST_LIB_UNIT_H

/* cmocka.h wants these four before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base.h"

/*
 * Run body once per allocation it makes, failing that allocation; it must
 * return -ENOMEM each time and 0 in the last run, in which nothing failed.
 * Leaks are ASan's to find. Reaches allocations of our own objects only (the
 * linker wraps malloc, calloc, realloc and strdup), not those inside libraries.
 */
void check_oom(int (*body)(void *), void *arg);

/* Calls body once while its first allocation fails; returns what it returned. */
int call_without_memory(int (*body)(void *), void *arg);

#endif /* TEST_LIB_UNIT_H */
