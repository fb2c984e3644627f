/*
 * What passes the guard has, outside of quotes and comments, no second statement and no zero byte;
 * cutting a trailing comment off does not change the verdict.
 */
#include <assert.h>

#include "cluster-agent/sql/sql_guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *sql = (const char *)data;
	struct sql_facts facts, again;
	struct err err = {0};
	AUTO_FREE char *longer = NULL;
	int r = sql_guard_check(sql, size, &facts, &err);

	assert(r == 0 || err.msg[0]);
	assert(strlen(facts.format) < sizeof(facts.format));
	if (r < 0 || size + 8 > SQL_GUARD_MAX_BYTES)
		return 0;
	assert(!memchr(sql, '\0', size));
	longer = malloc(size + 8);
	if (!longer)
		return 0;
	memcpy(longer, sql, size);
	memcpy(longer + size, "\n-- end\n", 8);
	assert(sql_guard_check(longer, size + 8, &again, NULL) == 0);
	memcpy(longer + size, "\n;DROP x", 8);
	assert(sql_guard_check(longer, size + 8, &again, NULL) < 0);
	memcpy(longer + size, "\nfile(1)", 8);
	assert(sql_guard_check(longer, size + 8, &again, NULL) < 0);
	return 0;
}
