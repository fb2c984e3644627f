/* Processes are images in memory. */
#include <errno.h>

#include "node-agent/go/profile/go_counters.h"
#include "test/lib/gc_process.h"

struct fixture {
	struct gc_process process;
	struct go_opened opened;
	struct metric unread[GO_COUNTERS_UNREAD_MAX];
	struct container_values values;
};

static void start(struct fixture *f, unsigned minor)
{
	memset(f, 0, sizeof(*f));
	gc_process_begin(&f->process, minor, true);
	f->opened.runtime = &f->process.rt;
}

static int read_all(struct fixture *f)
{
	return go_counters_read(&f->opened, f->unread, &f->values);
}

/* UINT64_MAX: not known. */
static uint64_t value(const struct fixture *f, unsigned which)
{
	return f->values.known >> which & 1 ? f->values.v[which] : UINT64_MAX;
}

TEST(what_a_process_counts_is_read)
{
	struct fixture f;

	start(&f, 24);
	assert_int_equal(read_all(&f), 0);
	assert_int_equal(value(&f, GC_CYCLES), GC_IMAGE_CYCLES);
	assert_int_equal(value(&f, GC_PAUSE_NS), GC_IMAGE_PAUSE_NS);
	assert_int_equal(value(&f, GC_ALLOC_OBJECTS), 115);
	assert_int_equal(value(&f, GC_ALLOC_BYTES), 283896);
	assert_int_equal(value(&f, GC_GOAL_BYTES), GC_IMAGE_GOAL);
	/* it has no list of goroutines */
	assert_int_equal(value(&f, GO_COUNTERS_GOROUTINES), UINT64_MAX);
	assert_int_equal(f.values.unread, UINT32_C(1) << GO_COUNTERS_GOROUTINES);
	assert_int_equal(metric_get(&f.unread[GO_COUNTERS_UNREAD_GOROUTINES]), 1);
}

TEST(a_reading_without_sense_has_no_values_and_is_counted)
{
	struct fixture f;
	size_t buckhash_sys;

	start(&f, 24);
	buckhash_sys = GC_PROCESS_MEMSTATS + f.process.gc.l.memstats.buckhash_sys;
	go_image_put(&f.process.image, buckhash_sys, UINT64_MAX, 8);
	assert_int_equal(read_all(&f), 0);
	assert_int_equal(metric_get(&f.unread[GO_COUNTERS_UNREAD_IMPLAUSIBLE]), 1);
	assert_int_equal(f.values.known, 0);
	/* so that gauges stay what they were */
	assert_true(f.values.unread >> GC_LIVE_BYTES & 1);
}

TEST(a_release_that_is_not_known_is_counted)
{
	struct fixture f;

	start(&f, 24);
	f.process.rt.image.minor = 28;
	assert_int_equal(read_all(&f), 0);
	assert_int_equal(metric_get(&f.unread[GO_COUNTERS_UNREAD_RELEASE]), 1);
	assert_int_equal(f.values.known, 0);
}

TEST(variables_that_are_not_there_are_counted)
{
	struct fixture f;

	start(&f, 24);
	f.process.executable.searched = UINT32_MAX;
	assert_int_equal(read_all(&f), 0);
	assert_int_equal(metric_get(&f.unread[GO_COUNTERS_UNREAD_NOT_FOUND]), 1);
}

TEST(a_process_whose_memory_cannot_be_read_is_an_error)
{
	struct fixture f;

	start(&f, 24);
	byte_source_from_memory(&f.process.image.memory, f.process.image.data,
				GC_PROCESS_MEMSTATS + 8);
	assert_int_equal(read_all(&f), -ENODATA);
}

TEST(allocations_of_the_profile_are_taken_where_nothing_is_exact)
{
	const struct heap_reading heap = {.alloc_objects = 3, .alloc_bytes = 5000};
	struct fixture f;

	start(&f, 15);
	f.values = go_counters_of_heap(&f.opened, &heap);
	assert_int_equal(value(&f, GC_ALLOC_BYTES), 5000);
	assert_int_equal(value(&f, GC_ALLOC_OBJECTS), 3);
	assert_int_equal(read_all(&f), 0);
	assert_int_equal(value(&f, GC_ALLOC_BYTES), UINT64_MAX);
	assert_int_equal(value(&f, GC_CYCLES), GC_IMAGE_CYCLES);
	start(&f, 24);
	assert_int_equal(go_counters_of_heap(&f.opened, &heap).known, 0);
}

TEST(a_profiler_that_is_off_counts_no_allocations)
{
	const struct heap_reading off = {.off = true}, forced = {.forced = true};
	struct fixture f;

	start(&f, 15);
	assert_int_equal(go_counters_of_heap(&f.opened, &off).known, 0);
	assert_int_equal(go_counters_of_heap(&f.opened, &forced).known, 0);
}
