/*
 * Fails allocations, one by one. The linker's --wrap sends malloc() and its siblings here.
 * check_oom() runs a function again and again; each time one allocation later fails, until none
 * is left to fail.
 */
#include <errno.h>

#include "test/lib/unit.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);

static long countdown = -1; /* allocations until one fails; -1 if none shall */
static bool fired;

static bool fail_now(void)
{
	if (countdown < 0 || countdown-- > 0)
		return false;
	fired = true;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t n)
{
	return fail_now() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t m)
{
	return fail_now() ? NULL : __real_calloc(n, m);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fail_now() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	return fail_now() ? NULL : __real_strdup(s);
}

void check_oom(int (*body)(void *), void *arg)
{
	for (long n = 0;; n++) {
		int r;

		countdown = n;
		fired = false;
		r = body(arg);
		countdown = -1;
		if (!fired) {
			assert_int_equal(r, 0);
			return;
		}
		assert_int_equal(r, -ENOMEM);
	}
}

int call_without_memory(int (*body)(void *), void *arg)
{
	int r;

	countdown = 0;
	fired = false;
	r = body(arg);
	countdown = -1;
	assert_true(fired);
	return r;
}
