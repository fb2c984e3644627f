/*
 * Any bytes as the memory of a Go process: goroutines, stacks and tables are read within
 * bounds, in bounded time, and every counted goroutine has a group. The first words select
 * the release and architecture, and say where everything is (test/lib/goroutine_image.h).
 */
#include <assert.h>

#include "node-agent/go/goroutine/goroutine_scan.h"

#define MAX_GOROUTINES 64u
#define MAX_STACK_BYTES (UINT64_C(1) << 22)
#define GROUPS_BYTES ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_header {
	uint8_t minor;
	uint8_t is_arm;
	uint8_t unused[6];
	uint64_t goroutines; /* 0x200 bytes each */
	uint64_t n;
	uint64_t table;
	uint64_t text;
};

static void check(const struct goroutine_groups *groups, const struct goroutine_tally *t)
{
	const struct goroutine_group **sorted;
	uint64_t sum = 0;
	size_t n;

	if (goroutine_groups_sorted(groups, &sorted, &n) < 0)
		abort();
	for (size_t i = 0; i < n; i++) {
		assert(sorted[i]->n > 0 && sorted[i]->place.n_pcs <= GOROUTINE_STACK_DEPTH_MAX);
		sum += sorted[i]->n;
	}
	assert(sum == t->n);
	assert(t->n <= MAX_GOROUTINES);
	assert(t->n_running + t->n_moved + t->n_limited + t->n_unreadable + t->n_broken +
		       t->n_cut <=
	       t->n);
	free(sorted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct goroutine_scan_config cfg = {
		.deadline_ns = UINT64_MAX,
		.max_stack_bytes = MAX_STACK_BYTES,
	};
	uint64_t addresses[MAX_GOROUTINES], count = 0;
	struct goroutine_groups *groups = NULL;
	struct goroutine_code *code = NULL;
	struct goroutine_tally tally;
	struct go_module module = {0};
	struct byte_source memory;
	struct fuzz_header h;

	if (size < sizeof(h) || size > 131072)
		return 0;
	memcpy(&h, data, sizeof(h));
	byte_source_from_memory(&memory, data, size);
	if (goroutine_layout_find(13 + h.minor % 15, &cfg.layout) < 0)
		abort();
	if (h.table >= size ||
	    gopclntab_open_at(&module.table, &memory, h.table, size - h.table, h.text) < 0)
		return 0;
	module.source = &memory;
	for (size_t i = 0; i < MAX_GOROUTINES; i++)
		addresses[i] = h.goroutines + 0x200 * i;
	cfg.memory = &memory;
	cfg.has_lr = h.is_arm & 1;
	cfg.addresses = addresses;
	cfg.n_addresses = h.n < MAX_GOROUTINES ? h.n : MAX_GOROUTINES;
	if (goroutine_code_new(&code, &module, 1, UINT64_MAX) < 0 ||
	    goroutine_groups_new(&groups, GROUPS_BYTES) < 0)
		abort();
	if (goroutine_scan(&cfg, code, groups, &tally) == 0)
		check(groups, &tally);
	if (goroutine_scan_count(&cfg, code, &count) == 0)
		assert(count <= MAX_GOROUTINES);
	goroutine_groups_free(groups);
	goroutine_code_free(code);
	return 0;
}
