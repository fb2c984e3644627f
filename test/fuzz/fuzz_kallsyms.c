/* Any text as /proc/kallsyms: the same result whatever the pieces it comes in. */
#include <assert.h>

#include "node-agent/symbol/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct kallsyms *parse(const char *text, size_t len, size_t step)
{
	CLEANUP(kallsyms_freep) struct kallsyms *k = NULL;

	if (kallsyms_new(&k) < 0)
		return NULL;
	for (size_t i = 0; i < len; i += step) {
		if (kallsyms_add(k, text + i, len - i < step ? len - i : step) < 0)
			return NULL;
	}
	return kallsyms_finish(k) < 0 ? NULL : TAKE_PTR(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(kallsyms_freep) struct kallsyms *a = parse((const char *)data, size, size + 1);
	CLEANUP(kallsyms_freep) struct kallsyms *b = parse((const char *)data, size, 3);

	assert(!a == !b);
	if (!a)
		return 0;
	assert(kallsyms_count(a) == kallsyms_count(b));
	for (uint64_t address = 0xffffffff81000000; address < 0xffffffff81000400; address += 16) {
		const char *x = kallsyms_find(a, address), *y = kallsyms_find(b, address);

		assert(!x == !y);
		assert(!x || strcmp(x, y) == 0);
	}
	(void)kallsyms_find(a, 0);
	(void)kallsyms_find(a, UINT64_MAX);
	return 0;
}
