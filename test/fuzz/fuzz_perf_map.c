/*
 * Any text as a perf map: the same functions whatever the pieces it comes in, even if beginnings of
 * lines are taken for lines, and safe names.
 */
#include <assert.h>

#include "node-agent/symbol/perf_map.h"
#include "node-agent/symbol/perf_map_name.h"

/* Memory is short for more text that is added twice. */
#define RESTS_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct perf_map *parse(const char *text, size_t len, size_t step)
{
	CLEANUP(perf_map_freep) struct perf_map *m = NULL;

	if (perf_map_new(&m, 0) < 0)
		return NULL;
	for (size_t i = 0; i < len; i += step) {
		if (perf_map_add(m, text + i, len - i < step ? len - i : step) < 0)
			return NULL;
		if (len <= RESTS_MAX && perf_map_add_rest(m) < 0)
			return NULL;
	}
	return TAKE_PTR(m);
}

static void check_name(const char *text, size_t len)
{
	struct perf_map_name name;

	perf_map_name_parse(&name, text, len);
	assert(name.function[0] != '\0' && strlen(name.function) < sizeof(name.function));
	assert(name.file[0] != '\0' && strlen(name.file) < sizeof(name.file));
	assert(!strpbrk(name.file, " \n\t") && !strpbrk(name.function, "\n\t"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(perf_map_freep) struct perf_map *a = parse((const char *)data, size, size + 1);
	CLEANUP(perf_map_freep) struct perf_map *b = parse((const char *)data, size, 7);

	check_name((const char *)data, size);
	if (!a || !b)
		return 0;
	for (uint64_t address = 0; address < 0x4000; address += 13) {
		const char *x, *y;
		size_t x_len, y_len;
		int r = perf_map_find(a, address, &x, &x_len);

		assert(r == perf_map_find(b, address, &y, &y_len));
		if (r < 0)
			continue;
		assert(x_len == y_len && memcmp(x, y, x_len) == 0);
		check_name(x, x_len);
	}
	return 0;
}
