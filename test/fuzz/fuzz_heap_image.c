/*
 * Any bytes as the memory of a Go process: the list of records, the module data and its
 * tables are read within bounds, in bounded time, and every record passed on is complete. The
 * first byte selects the release, the second the profiler, the third whether the hashes of
 * records are corrected first, as no fuzzer would guess them. The second eight bytes are the
 * address of the list's head.
 */
#include <assert.h>
#include <errno.h>

#include "node-agent/go/heap/heap_profile.h"
#include "node-agent/go/record/bucket_history.h"
#include "node-agent/go/record/go_bucket_scan.h"
#include "node-agent/gopclntab/gopclntab_line.h"

#define MAX_BUCKETS 64u
#define MAX_READ_BYTES (UINT64_C(16) * 1024 * 1024)
#define MAX_INPUT_BYTES 65536u
#define LOCK_WORDS 2u
#define HEADER_WORDS 6u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	const struct go_bucket_format *format;
	size_t n;
};

static int on_bucket(void *ctx, const struct go_bucket *b, const uint64_t *before, uint64_t *now)
{
	struct seen *seen = ctx;
	bool is_memory = seen->format->type == GO_BUCKET_MEMORY;
	struct heap_counts c;

	(void)before;
	assert((b->n_stack > 0 || !is_memory) && b->n_stack <= GO_BUCKET_STACK_MAX);
	assert((b->size > 0) == is_memory);
	assert(++seen->n <= MAX_BUCKETS);
	if (!is_memory) {
		memcpy(now, b->words, LOCK_WORDS * sizeof(*now));
		return 0;
	}
	if (heap_counts_decode(b, seen->format->n_words, &c) < 0) {
		seen->n--; /* it is read again */
		return -EAGAIN;
	}
	assert(c.active.frees <= c.active.allocs);
	*now = c.active.allocs;
	return 0;
}

static void read_list(const struct byte_source *memory, const struct go_bucket_format *format,
		      uint64_t head)
{
	const struct bucket_history_config cfg = {
		.start = BUCKET_HISTORY_FROM_ZERO,
		.n_counters = format->type == GO_BUCKET_MEMORY ? 1 : LOCK_WORDS,
		.max_buckets = MAX_BUCKETS,
	};
	static struct memory_windows *windows;
	const struct go_module module = {.data = {{0, 0}, {0, 0}, {0, memory->size_bytes}}};
	struct bucket_round_result result;
	struct bucket_history *h;
	uint64_t found;

	if (!windows && memory_windows_new(&windows) < 0)
		abort();
	if (bucket_history_new(&h, &cfg) < 0)
		abort();
	for (int i = 0; i < 2; i++) {
		const struct bucket_round round = {windows, format, head, UINT64_MAX};
		struct seen seen = {format, 0};

		memory_windows_begin(windows, memory, MAX_READ_BYTES);
		if (bucket_history_round(h, &round, on_bucket, &seen, &result) == 0)
			bucket_history_commit(h);
	}
	bucket_history_free(h);
	memory_windows_begin(windows, memory, MAX_READ_BYTES);
	if (go_bucket_scan(windows, &module, format, &found) == 0)
		assert(found < memory->size_bytes);
}

static void read_module(const struct byte_source *memory, unsigned minor)
{
	const struct go_range all = {0, memory->size_bytes};
	static struct gopclntab_line line;
	struct gopclntab_trees trees = {.memory = memory};
	struct go_module m;

	if (go_module_scan(&m, memory, NULL, &all, minor) < 0)
		return;
	trees.gofunc = m.gofunc;
	for (uint64_t i = 0; i < 16; i++) {
		uint64_t address = m.table.first + (m.table.end - m.table.first) / 16 * i;

		if (gopclntab_find_line(&m.table, memory, &trees, address, &line) == 0)
			assert(line.name[0] && memchr(line.file, '\0', sizeof(line.file)));
	}
}

/* At every place where a record could be. */
static void mend_hashes(uint64_t *words, size_t n, const struct go_bucket_format *format)
{
	for (size_t i = 0; i + HEADER_WORDS < n; i++) {
		uint64_t *h = words + i, n_stack = h[5];

		if (h[2] == (uint64_t)format->type && n_stack > 0 &&
		    n_stack <= n - i - HEADER_WORDS)
			h[3] = go_bucket_hash(h + HEADER_WORDS, (size_t)n_stack, h[4]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE uint64_t *words = NULL;
	const struct go_range text = {0x400000, 0x500000};
	struct go_bucket_format format = {.text = &text, .n_text = 1};
	struct byte_source memory;
	unsigned minor;

	if (size < 16 || size > MAX_INPUT_BYTES)
		return 0;
	minor = 13 + data[0] % 16;
	format.type = (enum go_bucket_type)(GO_BUCKET_MEMORY + data[1] % 3);
	format.n_words = format.type == GO_BUCKET_MEMORY ? heap_counts_words(minor) : LOCK_WORDS;
	words = malloc(size); /* the exact size, so that ASan notices one byte too many */
	if (!words)
		abort();
	memcpy(words, data, size);
	if (data[2] & 1)
		mend_hashes(words, size / sizeof(*words), &format);
	byte_source_from_memory(&memory, words, size);
	read_list(&memory, &format, words[1]);
	read_module(&memory, minor);
	return 0;
}
