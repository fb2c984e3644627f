/*
 * Any bytes as the memory of a Go process: its records of waits for locks are read within
 * bounds and in bounded time, and never more is reported than was counted. The first byte
 * selects the release, the second the profiler, the second eight are the address of the
 * list's head; the second half of the bytes is the memory of the second round.
 */
#include <assert.h>
#include <errno.h>

#include "common/limits.h"
#include "node-agent/go/lock/lock_profile.h"
#include "node-agent/go/record/bucket_history.h"

#define MAX_BUCKETS 64u
#define MAX_READ_BYTES (UINT64_C(16) * 1024 * 1024)
#define PROFILE_BYTES (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct round_ctx {
	struct lock_profile *profile;
	unsigned minor;
	size_t n;
};

static int resolve(void *ctx, uint64_t address, bool all, struct frame_list *ret)
{
	(void)ctx;
	ret->frames[0] = (struct frame){"f", "f.go", (uint32_t)address, address};
	ret->n = 1;
	if (all)
		ret->frames[ret->n++] = (struct frame){"g", "f.go", 1, address + 1};
	return 0;
}

static bool is_runtime(void *ctx, uint64_t address)
{
	(void)ctx;
	return address % 2 == 0;
}

static int on_bucket(void *ctx, const struct go_bucket *b, const uint64_t *before, uint64_t *now)
{
	struct lock_counts c, since = {0};
	struct round_ctx *d = ctx;
	int r;

	assert(b->n_stack <= GO_BUCKET_STACK_MAX && b->size == 0);
	r = lock_counts_decode(b, d->minor, &c);
	if (r < 0)
		return r;
	now[0] = c.waits;
	now[1] = c.ticks;
	if (before && c.waits >= before[0] && c.ticks >= before[1]) {
		since.waits = c.waits - before[0];
		since.ticks = c.ticks - before[1];
	}
	assert(since.waits <= c.waits && since.ticks <= c.ticks);
	assert(++d->n <= MAX_BUCKETS);
	return lock_profile_add(d->profile, b, &since);
}

static void read_round(struct bucket_history *h, const struct bucket_round *round,
		       struct lock_profile_config *cfg)
{
	struct round_ctx d = {.minor = cfg->minor};
	CLEANUP(buf_fini) struct buf out;
	struct bucket_round_result result;
	size_t n;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	cfg->out = &out;
	if (lock_profile_new(&d.profile, cfg) < 0)
		abort();
	if (bucket_history_round(h, round, on_bucket, &d, &result) == 0) {
		bucket_history_commit(h);
		if (lock_profile_finish(d.profile, 1, 1, &n) == 0)
			assert((n == 0) == (out.len == 0));
	}
	lock_profile_free(d.profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bucket_history_config history = {BUCKET_HISTORY_FROM_ZERO, 2, MAX_BUCKETS};
	const struct go_range text = {0x400000, 0x500000};
	struct go_bucket_format format = {.n_words = LOCK_COUNTS_WORDS, .text = &text, .n_text = 1};
	struct lock_profile_config cfg = {
		.resolver = {resolve, is_runtime, NULL},
		.ns_per_tick = 0.4,
		.max_bytes = PROFILE_BYTES,
	};
	static struct memory_windows *windows;
	struct bucket_history *h;
	uint64_t head;

	if (size < 32 || size > 65536)
		return 0;
	cfg.minor = 13 + data[0] % 16;
	cfg.kind = data[1] % 2 ? LOCK_MUTEX : LOCK_BLOCK;
	cfg.factor = lock_counts_factor(cfg.kind, cfg.minor, data[2]);
	format.type = cfg.kind == LOCK_MUTEX ? GO_BUCKET_MUTEX : GO_BUCKET_BLOCK;
	memcpy(&head, data + 8, sizeof(head));
	if (!windows && memory_windows_new(&windows) < 0)
		abort();
	if (bucket_history_new(&h, &history) < 0)
		abort();
	for (int i = 0; i < 2; i++) {
		const struct bucket_round round = {windows, &format, head, UINT64_MAX};
		size_t half = size / 2;
		struct byte_source memory;

		byte_source_from_memory(&memory, data + (i ? half : 0), half);
		memory_windows_begin(windows, &memory, MAX_READ_BYTES);
		read_round(h, &round, &cfg);
	}
	bucket_history_free(h);
	return 0;
}
