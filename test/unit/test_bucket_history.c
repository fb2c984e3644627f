#include <errno.h>

#include "node-agent/go/record/bucket_history.h"
#include "test/lib/heap_image.h"
#include "test/lib/unit.h"

#define A 0x1000u
#define B 0x3000u
#define C 0x2000u

struct fixture {
	struct heap_image image;
	struct memory_windows *windows;
	struct bucket_history *history;
	struct bucket_round_result result;
	uint64_t max_bytes;
	uint64_t deadline_ns;
	/* what the last round reported */
	size_t n;
	uint64_t sum; /* of allocs */
	uint64_t allocs
		[8]; /* of the last round, by the number of frames, which differs per record */
};

static void begin(struct fixture *f, bool has_bytes, enum bucket_history_start start, size_t max)
{
	const struct bucket_history_config cfg = {start, 1, max};

	memset(f, 0, sizeof(*f));
	heap_image_init(&f->image, has_bytes);
	f->max_bytes = UINT64_MAX;
	f->deadline_ns = UINT64_MAX;
	assert_int_equal(memory_windows_new(&f->windows), 0);
	assert_int_equal(bucket_history_new(&f->history, &cfg), 0);
}

static void end(struct fixture *f)
{
	bucket_history_free(f->history);
	memory_windows_free(f->windows);
}

static int on_bucket(void *ctx, const struct go_bucket *b, const uint64_t *before, uint64_t *now)
{
	struct fixture *f = ctx;
	struct heap_counts c;

	assert_true(b->n_stack < ARRAY_SIZE(f->allocs));
	if (heap_counts_decode(b, f->image.format.n_words, &c) < 0)
		return -EAGAIN;
	*now = c.active.allocs + c.future.allocs;
	f->allocs[b->n_stack] = before ? *now - *before : 0;
	f->sum += f->allocs[b->n_stack];
	f->n++;
	return 0;
}

static int do_round(struct fixture *f)
{
	const struct bucket_round round = {
		.windows = f->windows,
		.format = &f->image.format,
		.head_address = HEAP_IMAGE_HEAD,
		.deadline_ns = f->deadline_ns,
	};

	f->n = 0;
	f->sum = 0;
	memset(f->allocs, 0xff, sizeof(f->allocs));
	memory_windows_begin(f->windows, &f->image.source, f->max_bytes);
	return bucket_history_round(f->history, &round, on_bucket, f, &f->result);
}

/* Records of 2 and of 3 frames: A → B. */
static void put_two(struct fixture *f)
{
	heap_image_record(&f->image, A, B, 16, 2, 1);
	heap_image_record(&f->image, B, 0, 4096, 3, 2);
	heap_image_count(&f->image, A, 0, (struct heap_pair){10, 4});
	heap_image_count(&f->image, A, 2, (struct heap_pair){5, 0});
	heap_image_count(&f->image, B, 0, (struct heap_pair){7, 7});
	heap_image_put(&f->image, HEAP_IMAGE_HEAD, A);
}

static void check_layout(bool has_bytes)
{
	struct fixture f;

	begin(&f, has_bytes, BUCKET_HISTORY_FROM_ZERO, 10);
	put_two(&f);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.allocs[2], 15);
	assert_int_equal(f.allocs[3], 7);
	bucket_history_commit(f.history);

	/* nothing, then more of one and a new one */
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.allocs[2], 0);
	bucket_history_commit(f.history);
	heap_image_count(&f.image, A, 3, (struct heap_pair){3, 1});
	heap_image_record(&f.image, C, A, 32, 4, 3);
	heap_image_count(&f.image, C, 1, (struct heap_pair){2, 0});
	heap_image_put(&f.image, HEAP_IMAGE_HEAD, C);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.n, 3);
	assert_int_equal(f.allocs[2], 3);
	assert_int_equal(f.allocs[3], 0);
	assert_int_equal(f.allocs[4], 2);
	end(&f);
}

TEST(test_each_round_reports_the_increase_since_the_previous_one)
{
	check_layout(true);
	check_layout(false);
}

TEST(test_counts_from_before_the_first_round_are_not_reported)
{
	struct fixture f;

	begin(&f, true, BUCKET_HISTORY_FROM_NOW, 10);
	put_two(&f);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.allocs[2], 0);
	bucket_history_commit(f.history);
	heap_image_count(&f.image, A, 2, (struct heap_pair){6, 0});
	heap_image_record(&f.image, C, A, 32, 4, 3);
	heap_image_count(&f.image, C, 1, (struct heap_pair){2, 0});
	heap_image_put(&f.image, HEAP_IMAGE_HEAD, C);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.allocs[2], 1);
	assert_int_equal(f.allocs[4], 2);
	end(&f);
}

TEST(test_records_added_to_an_empty_list_are_reported_in_full)
{
	struct fixture f;

	begin(&f, true, BUCKET_HISTORY_FROM_NOW, 10);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.n, 0);
	bucket_history_commit(f.history);
	put_two(&f);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.allocs[2], 15);
	end(&f);
}

TEST(test_a_round_that_was_not_committed_is_reported_again)
{
	struct fixture f;

	begin(&f, true, BUCKET_HISTORY_FROM_ZERO, 10);
	put_two(&f);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.allocs[2], 15);
	end(&f);
}

static void put_in_a_list(struct fixture *f, const uint64_t *addresses, size_t n, uint64_t next)
{
	for (size_t i = 0; i < n; i++) {
		heap_image_record(&f->image, addresses[i], next, 16, 2, addresses[i] >> 8);
		heap_image_count(&f->image, addresses[i], 0, (struct heap_pair){addresses[i], 0});
		next = addresses[i];
	}
	heap_image_put(&f->image, HEAP_IMAGE_HEAD, next);
}

TEST(test_every_record_is_reported_once_per_round)
{
	static const uint64_t first[] = {0x8000, 0x4000, 0x8100, 0x4100},
			      second[] = {0x9000, 0x2000, 0x6000, 0x4200, 0x8200};
	struct fixture f;

	begin(&f, true, BUCKET_HISTORY_FROM_ZERO, 100);
	put_in_a_list(&f, first, ARRAY_SIZE(first), 0);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.sum, 0x8000 + 0x4000 + 0x8100 + 0x4100);
	bucket_history_commit(f.history);
	put_in_a_list(&f, second, ARRAY_SIZE(second), 0x4100);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.n, 9);
	assert_int_equal(f.sum, 0x9000 + 0x2000 + 0x6000 + 0x4200 + 0x8200);
	bucket_history_commit(f.history);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.n, 9);
	assert_int_equal(f.sum, 0);
	end(&f);
}

TEST(test_broken_lists_end_with_a_reason)
{
	static const struct {
		uint64_t address, word;
		int result;
	} breaks[] = {
		{B + 8, A, -ELOOP},                      /* a circle */
		{B + 8, B, -ELOOP},                      /* of one */
		{A + 8, HEAP_IMAGE_BYTES * 4, -ENODATA}, /* outside */
		{A + 8, B + 1, -EBADMSG},                /* not aligned */
		{A + 8, 0x8000, -EBADMSG},               /* zeroed memory */
		{B + 40, 1u << 30, -EBADMSG},            /* a huge stack */
		{B + 40, 0, -EBADMSG},                   /* not a record */
		{B + 16, 2, -EBADMSG},                   /* of another profile */
		{B + 24, 1, -EBADMSG},                   /* the wrong hash */
		{B + 32, 0, -EBADMSG},                   /* objects without a size */
		{B + 48, 0x10, -EBADMSG},                /* no code */
	};

	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
		struct fixture f;

		begin(&f, true, BUCKET_HISTORY_FROM_ZERO, 10);
		put_two(&f);
		heap_image_put(&f.image, breaks[i].address, breaks[i].word);
		assert_int_equal(do_round(&f), breaks[i].result);
		/* mended, all is as if nothing had been */
		put_two(&f);
		assert_int_equal(do_round(&f), 0);
		assert_int_equal(f.allocs[2], 15);
		end(&f);
	}
}

TEST(test_limits_end_a_round)
{
	struct fixture f;

	begin(&f, true, BUCKET_HISTORY_FROM_ZERO, 1);
	put_two(&f);
	assert_int_equal(do_round(&f), -E2BIG);
	end(&f);

	begin(&f, true, BUCKET_HISTORY_FROM_ZERO, 10);
	put_two(&f);
	f.max_bytes = 100;
	assert_int_equal(do_round(&f), -EFBIG);
	end(&f);

	begin(&f, true, BUCKET_HISTORY_FROM_ZERO, 10000);
	for (uint64_t i = 0; i < 600; i++)
		heap_image_record(&f.image, 0x1000 + i * 256, i ? 0x1000 + (i - 1) * 256 : 0, 16, 2,
				  i);
	heap_image_put(&f.image, HEAP_IMAGE_HEAD, 0x1000 + 599 * 256);
	f.deadline_ns = 1;
	assert_int_equal(do_round(&f), -ETIME);
	f.deadline_ns = UINT64_MAX;
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.result.n_buckets, 600);
	end(&f);
}

TEST(test_a_round_that_fails_costs_no_memory)
{
	struct fixture f;
	size_t bytes;

	begin(&f, true, BUCKET_HISTORY_FROM_ZERO, 500);
	bytes = bucket_history_bytes(f.history);
	for (uint64_t i = 0; i < 600; i++)
		heap_image_record(&f.image, 0x1000 + i * 256, i ? 0x1000 + (i - 1) * 256 : 0, 16, 2,
				  i);
	heap_image_put(&f.image, HEAP_IMAGE_HEAD, 0x1000 + 599 * 256);
	assert_int_equal(do_round(&f), -E2BIG);
	assert_int_equal(bucket_history_bytes(f.history), bytes);
	heap_image_put(&f.image, HEAP_IMAGE_HEAD, 0x1000 + 499 * 256);
	assert_int_equal(do_round(&f), 0);
	assert_in_range(bucket_history_bytes(f.history), bytes + 500 * 24, bytes + 800 * 24);
	end(&f);
}

TEST(test_another_list_starts_a_new_history)
{
	struct fixture f;

	begin(&f, true, BUCKET_HISTORY_FROM_ZERO, 10);
	put_two(&f);
	assert_int_equal(do_round(&f), 0);
	bucket_history_commit(f.history);
	heap_image_record(&f.image, C, 0, 32, 4, 3);
	heap_image_count(&f.image, C, 0, (struct heap_pair){2, 0});
	heap_image_put(&f.image, HEAP_IMAGE_HEAD, C);
	assert_int_equal(do_round(&f), -ESTALE);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.allocs[4], 0);
	end(&f);
}

TEST(test_counters_that_contradict_each_other_are_left_out)
{
	struct fixture f;

	begin(&f, true, BUCKET_HISTORY_FROM_ZERO, 10);
	put_two(&f);
	heap_image_put(&f.image, B + 48 + 3 * 8 + 16, 1); /* bytes are not count times size */
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.result.n_torn, 1);
	bucket_history_commit(f.history);
	heap_image_count(&f.image, B, 0, (struct heap_pair){7, 7});
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.allocs[3], 7);
	assert_int_equal(f.allocs[2], 0);
	end(&f);
}

TEST(test_a_record_that_could_not_be_read_at_first_begins_when_it_can)
{
	struct fixture f;

	begin(&f, true, BUCKET_HISTORY_FROM_NOW, 10);
	put_two(&f);
	heap_image_put(&f.image, B + 48 + 3 * 8 + 16, 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(do_round(&f), 0);
		assert_int_equal(f.result.n_torn, 1);
		bucket_history_commit(f.history);
	}
	heap_image_count(&f.image, B, 0, (struct heap_pair){7, 7});
	/* not committed: the next one begins with it too */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(do_round(&f), 0);
		assert_int_equal(f.result.n_torn, 0);
		assert_int_equal(f.allocs[3], 0);
	}
	bucket_history_commit(f.history);
	heap_image_count(&f.image, B, 0, (struct heap_pair){9, 7});
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.allocs[3], 2);
	end(&f);
}

TEST(test_a_record_beside_unreadable_memory_is_read)
{
	struct fixture f;

	begin(&f, false, BUCKET_HISTORY_FROM_ZERO, 10);
	put_two(&f);
	/* memory ends behind B, in the middle of a window */
	byte_source_from_memory(&f.image.source, f.image.data, B + 48 + 3 * 8 + 64);
	assert_int_equal(do_round(&f), 0);
	assert_int_equal(f.n, 2);
	end(&f);
}

static int make(void *arg)
{
	const struct bucket_history_config cfg = {BUCKET_HISTORY_FROM_ZERO, 1, 10};
	CLEANUP(memory_windows_freep) struct memory_windows *w = NULL;
	CLEANUP(bucket_history_freep) struct bucket_history *h = NULL;
	struct fixture *f = arg;
	const struct bucket_round round = {NULL, &f->image.format, HEAP_IMAGE_HEAD, UINT64_MAX};
	struct bucket_round copy = round;
	int r;

	f->n = 0;
	r = memory_windows_new(&w);
	if (r == 0)
		r = bucket_history_new(&h, &cfg);
	if (r < 0)
		return r;
	copy.windows = w;
	memory_windows_begin(w, &f->image.source, UINT64_MAX);
	r = bucket_history_round(h, &copy, on_bucket, f, &f->result);
	if (r < 0)
		return r;
	bucket_history_commit(h);
	heap_image_put(&f->image, HEAP_IMAGE_HEAD, C);
	memory_windows_begin(w, &f->image.source, UINT64_MAX);
	r = bucket_history_round(h, &copy, on_bucket, f, &f->result);
	heap_image_put(&f->image, HEAP_IMAGE_HEAD, A);
	return r;
}

TEST(test_failed_allocations_are_survived)
{
	static struct fixture f;

	heap_image_init(&f.image, true);
	put_two(&f);
	heap_image_record(&f.image, C, A, 32, 4, 3); /* between the two: it has to be merged */
	check_oom(make, &f);
}
