#include "test/lib/json_oom.h"

#include <jansson.h>

#include "common/base.h"

static void *allocate(size_t n)
{
	return malloc(n);
}

void json_oom_begin(void)
{
	json_set_alloc_funcs(allocate, free);
}

void json_oom_end(void)
{
	json_set_alloc_funcs(malloc, free);
}
