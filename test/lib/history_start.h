/* Tests whether a history of heap records reports what was counted before its first round. */
#ifndef TEST_LIB_HISTORY_START_H
#define TEST_LIB_HISTORY_START_H

#include "node-agent/go/record/bucket_history.h"
#include "test/lib/heap_image.h"
#include "test/lib/unit.h"

static inline int history_start_see(void *ctx, const struct go_bucket *b, const uint64_t *before,
				    uint64_t *now)
{
	bool *known = ctx;

	(void)b;
	*known = before != NULL;
	*now = 0;
	return 0;
}

/* Runs the first round of the history. */
static inline bool history_starts_from_zero(struct bucket_history *h)
{
	CLEANUP(memory_windows_freep) struct memory_windows *w = NULL;
	static struct heap_image image;
	struct bucket_round round = {NULL, &image.format, HEAP_IMAGE_HEAD, UINT64_MAX};
	struct bucket_round_result result;
	bool known = false;

	heap_image_init(&image, true);
	heap_image_record(&image, 0x1000, 0, 16, 2, 1);
	heap_image_put(&image, HEAP_IMAGE_HEAD, 0x1000);
	assert_int_equal(memory_windows_new(&w), 0);
	memory_windows_begin(w, &image.source, UINT64_MAX);
	round.windows = w;
	assert_int_equal(bucket_history_round(h, &round, history_start_see, &known, &result), 0);
	assert_int_equal(result.n_buckets, 1);
	return known;
}

#endif /* TEST_LIB_HISTORY_START_H */
