#include <errno.h>

#include "node-agent/go/gc/gc_reader.h"
#include "test/lib/gc_process.h"

/* Variables that are others. */
#define ZEROS (GO_IMAGE_DATA + 0x2f00u)

static void assert_read(struct gc_process *f)
{
	struct gc_counters c;

	assert_int_equal(gc_reader_read(&f->rt, &c), 0);
	assert_int_equal(c.known, gc_reader_of(&f->rt));
	assert_int_equal(c.v[GC_CYCLES], GC_IMAGE_CYCLES);
	assert_int_equal(c.v[GC_PAUSE_NS], GC_IMAGE_PAUSE_NS);
	assert_int_equal(c.v[GC_LIVE_BYTES], GC_IMAGE_LIVE);
	assert_int_equal(c.v[GC_GOAL_BYTES], GC_IMAGE_GOAL);
}

TEST(variables_are_found_by_their_symbols)
{
	static const unsigned minors[] = {13, 15, 17, 20, 24};
	struct gc_process f;

	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		gc_process_begin(&f, minors[i], true);
		assert_read(&f);
	}
}

TEST(without_symbols_they_are_found_in_code)
{
	static const unsigned minors[] = {13, 15, 17, 20, 24};
	struct gc_process f;

	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		gc_process_begin(&f, minors[i], false);
		gc_process_put_code(&f);
		assert_read(&f);
		assert_int_equal(f.executable.at[GO_MEMORY_STATISTICS],
				 GC_PROCESS_MEMSTATS - GC_PROCESS_BIAS);
		if (minors[i] >= 17)
			assert_int_equal(f.executable.at[GO_GC_CONTROLLER],
					 GC_PROCESS_PACER - GC_PROCESS_BIAS);
	}
}

TEST(other_addresses_in_code_are_skipped)
{
	struct gc_process f;

	gc_process_begin(&f, 24, false);
	gc_process_put_lea(&f, GC_PROCESS_STKBUCKET, 0, GC_PROCESS_MEMSTATS + 8);
	gc_process_put_lea(&f, GC_PROCESS_STKBUCKET, 2,
			   GO_IMAGE_DATA + 0x3ff0); /* would end behind the data */
	gc_process_put_lea(&f, GC_PROCESS_GC_START, 0, ZEROS);
	gc_process_put_lea(&f, GC_PROCESS_GC_START, 1, GC_PROCESS_PACER + 4);
	gc_process_put_lea(&f, GC_PROCESS_GC_START, 3, GO_IMAGE_DATA + 0x3ff8);
	gc_process_put_code(&f);
	gc_process_put_lea(&f, GC_PROCESS_GC_START, 4, GC_PROCESS_PACER); /* twice is not two */
	assert_read(&f);
}

TEST(two_candidates_are_ambiguous_until_one_is_rejected)
{
	const uint64_t other = GC_PROCESS_PACER + 0x200;
	struct gc_counters c;
	struct gc_process f;

	gc_process_begin(&f, 24, false);
	gc_process_put_code(&f);
	gc_process_put_lea(&f, GC_PROCESS_GC_START, 0, other);
	memcpy(f.image.data + other, f.gc.pacer, f.gc.l.pacer.n_bytes);
	assert_int_equal(gc_reader_read(&f.rt, &c), -EBADMSG);
	assert_int_equal(c.known, 0);
	go_image_put(&f.image, other, 101, 4);
	assert_read(&f);
}

TEST(a_process_that_just_started_is_retried_later)
{
	struct gc_counters c;
	struct gc_process f;

	gc_process_begin(&f, 24, false);
	gc_process_put_code(&f);
	go_image_put(&f.image, GC_PROCESS_MEMSTATS + f.gc.l.memstats.buckhash_sys - 8u, 0, 8);
	assert_int_equal(gc_reader_read(&f.rt, &c), -EBADMSG);
	go_image_put(&f.image, GC_PROCESS_MEMSTATS + f.gc.l.memstats.buckhash_sys - 8u, 1, 8);
	assert_read(&f);
}

TEST(implausible_content_sets_no_counter)
{
	struct gc_counters c;
	struct gc_process f;

	gc_process_begin(&f, 24, true);
	go_image_put(&f.image, GC_PROCESS_MEMSTATS + f.gc.l.memstats.buckhash_sys, UINT64_MAX, 8);
	assert_int_equal(gc_reader_read(&f.rt, &c), -EBADMSG);
	gc_process_begin(&f, 24, true);
	go_image_put(&f.image, GC_PROCESS_PACER, 101, 4);
	assert_int_equal(gc_reader_read(&f.rt, &c), -EBADMSG);
	assert_int_equal(c.known, 0);
}

TEST(a_variable_that_cannot_be_found_is_searched_once)
{
	struct gc_counters c;
	struct gc_process f;

	gc_process_begin(&f, 24, false);
	f.rt.modules[0].table.names_offset = f.rt.modules[0].table.units_offset; /* no names */
	assert_int_equal(gc_reader_read(&f.rt, &c), -ENOENT);
	assert_true(f.executable.searched >> GO_MEMORY_STATISTICS & 1);
	assert_int_equal(gc_reader_read(&f.rt, &c), -ENOENT);
}

TEST(an_unknown_release_is_not_read)
{
	struct gc_counters c;
	struct gc_process f;

	gc_process_begin(&f, 24, true);
	f.rt.image.minor = 28;
	assert_int_equal(gc_reader_of(&f.rt), 0);
	assert_int_equal(gc_reader_read(&f.rt, &c), -ENOTSUP);
}

TEST(memory_that_ends_is_an_error)
{
	struct gc_counters c;
	struct gc_process f;

	gc_process_begin(&f, 24, true);
	byte_source_from_memory(&f.image.memory, f.image.data, GC_PROCESS_PACER + 100);
	assert_int_equal(gc_reader_read(&f.rt, &c), -ENODATA);
	byte_source_from_memory(&f.image.memory, f.image.data, GC_PROCESS_MEMSTATS + 100);
	assert_int_equal(gc_reader_read(&f.rt, &c), -ENODATA);
	assert_int_equal(c.known, 0);
}

/* Memory in which somebody turns the ring of sums at each reading, as often. */
struct turning {
	struct gc_process *f;
	unsigned n_turns;
};

static int read_turning(void *ctx, uint64_t offset, void *to, size_t len)
{
	struct turning *t = ctx;
	uint8_t *ring = t->f->image.data + GC_PROCESS_MEMSTATS + gc_image_delta(&t->f->gc, 3);

	memcpy(to, t->f->image.data + offset, len);
	if (offset == GC_PROCESS_MEMSTATS && t->n_turns > 0) {
		t->n_turns--;
		*ring ^= 1; /* to the one before, whose next is not empty */
	}
	return 0;
}

TEST(sums_that_keep_changing_are_retried_a_few_times)
{
	struct gc_counters c;
	struct gc_process f;
	struct turning t = {.f = &f, .n_turns = 4};

	gc_process_begin(&f, 24, true);
	byte_source_from_reader(&f.image.memory, read_turning, &t, sizeof(f.image.data));
	assert_read(&f);
	assert_int_equal(t.n_turns, 0);
	t.n_turns = 1000;
	assert_int_equal(gc_reader_read(&f.rt, &c), -EBADMSG);
	assert_int_equal(c.known, 0);
	assert_true(t.n_turns > 900);
}

static int read_all(void *arg)
{
	struct gc_process *f = arg;
	struct gc_counters c;

	f->executable.searched = 0;
	return gc_reader_read(&f->rt, &c);
}

TEST(failed_allocations_are_survived)
{
	struct gc_process f;

	gc_process_begin(&f, 24, false);
	gc_process_put_code(&f);
	check_oom(read_all, &f);
}
