/* Any name of /ingest, "app{label=value}": texts are UTF-8, and no name occurs twice. */
#include <assert.h>

#include "cluster-agent/push/series_labels.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_fini) struct arena arena;
	struct series_labels l = {.arena = &arena};

	arena_init(&arena, (size_t)1 << 20);
	if (series_labels_add_app(&l, (const char *)data, size, NULL) < 0)
		return 0;
	assert(l.n <= SERIES_LABELS_MAX);
	assert(utf8_is_valid(l.service.data ? l.service.data : "", l.service.len));
	for (size_t i = 0; i < l.n; i++) {
		assert(l.items[i].name.len > 0 && l.items[i].value.len > 0);
		assert(utf8_is_valid(l.items[i].name.data, l.items[i].name.len));
		assert(utf8_is_valid(l.items[i].value.data, l.items[i].value.len));
		for (size_t j = 0; j < i; j++)
			assert(strcmp(l.items[i].name.data, l.items[j].name.data) != 0);
	}
	return 0;
}
