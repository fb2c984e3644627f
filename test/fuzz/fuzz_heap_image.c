/*
 * Any bytes as the memory of a Go process: the list of records, the module data and its tables are
 * read within bounds, in bounded time, and every record passed on is whole. The first byte says
 * which release, the second eight where the list begins.
 */
#include <assert.h>

#include "node-agent/heap/go_image.h"
#include "node-agent/heap/heap_history.h"
#include "node-agent/symbol/gopclntab_line.h"

#define MAX_BUCKETS 64u
#define MAX_READ_BYTES (UINT64_C(16) * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_bucket(void *ctx, const struct heap_bucket *b, uint64_t allocs)
{
	size_t *n = ctx;

	(void)allocs;
	assert(b->n_stack > 0 && b->n_stack <= HEAP_BUCKET_STACK_MAX);
	assert(b->active.frees <= b->active.allocs);
	assert(b->size > 0);
	assert(++*n <= MAX_BUCKETS);
	return 0;
}

static void read_list(const struct byte_source *memory, const struct heap_bucket_format *format,
		      uint64_t head)
{
	const struct heap_history_config cfg = {HEAP_HISTORY_FROM_ZERO, MAX_BUCKETS};
	static struct memory_windows *windows;
	const struct go_module module = {.data = {{0, 0}, {0, 0}, {0, memory->size_bytes}}};
	struct heap_round_result result;
	struct heap_history *h;
	uint64_t found;

	if (!windows && memory_windows_new(&windows) < 0)
		abort();
	if (heap_history_new(&h, &cfg) < 0)
		abort();
	for (int i = 0; i < 2; i++) {
		const struct heap_round round = {windows, format, head, UINT64_MAX};
		size_t n = 0;

		memory_windows_begin(windows, memory, MAX_READ_BYTES);
		if (heap_history_round(h, &round, on_bucket, &n, &result) == 0)
			heap_history_commit(h);
	}
	heap_history_free(h);
	memory_windows_begin(windows, memory, MAX_READ_BYTES);
	if (go_image_scan_buckets(windows, &module, format, &found) == 0)
		assert(found < memory->size_bytes);
}

static void read_module(const struct byte_source *memory, unsigned minor)
{
	const struct go_range all = {0, memory->size_bytes};
	static struct gopclntab_line line;
	struct gopclntab_trees trees = {.memory = memory};
	struct go_module m;

	if (go_module_scan(&m, memory, &all, minor) < 0)
		return;
	trees.gofunc = m.gofunc;
	for (uint64_t i = 0; i < 16; i++) {
		uint64_t address = m.table.first + (m.table.end - m.table.first) / 16 * i;

		if (gopclntab_find_line(&m.table, memory, &trees, address, &line) == 0)
			assert(line.name[0] && memchr(line.file, '\0', sizeof(line.file)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct go_range text = {0x400000, 0x500000};
	struct heap_bucket_format format = {.text = &text, .n_text = 1};
	struct byte_source memory;
	uint64_t head;
	unsigned minor;

	if (size < 16 || size > 65536)
		return 0;
	minor = 13 + data[0] % 16;
	format.has_bytes = minor < 27;
	memcpy(&head, data + 8, sizeof(head));
	byte_source_from_memory(&memory, data, size);
	read_list(&memory, &format, head);
	read_module(&memory, minor);
	return 0;
}
