#include <errno.h>

#include "node-agent/go/gc/gc_counters.h"
#include "test/lib/gc_image.h"
#include "test/lib/unit.h"

#define ALLOC_BYTES (7 * 8 + 5 * 32768 + 3 * 40000)
#define ALLOC_OBJECTS (7 + 5 + 3 + 100)

static int count(const struct gc_image *im, struct gc_counters *c)
{
	int r;

	*c = (struct gc_counters){0};
	r = gc_counters_add_memstats(c, &im->l, im->memstats, im->memstats);
	return r == 0 ? gc_counters_add_pacer(c, &im->l, im->pacer) : r;
}

TEST(each_release_has_its_offsets)
{
	/* of runtime.mstats and runtime.gcControllerState, as the DWARF of programs has them */
	static const struct {
		unsigned minor, numgc, total, end, live, marked;
	} known[] = {
		{13, 4288, 184, 2240, 5968, 5984}, {15, 4288, 184, 2240, 5968, 5984},
		{16, 4288, 184, 2240, 6000, 6016}, {17, 4280, 176, 2232, 48, 64},
		{18, 4280, 176, 2232, 120, 168},   {19, 7704, 3600, 5656, 136, 184},
		{20, 7704, 3600, 5656, 80, 128},   {21, 7704, 3600, 5656, 104, 152},
		{24, 7704, 3600, 5656, 104, 152},  {25, 7680, 3576, 5632, 104, 152},
		{26, 7680, 3576, 5632, 104, 152},  {27, 7680, 3576, 5632, 104, 152},
	};
	struct gc_layout l;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		assert_int_equal(gc_layout_get(known[i].minor, &l), 0);
		assert_int_equal(l.memstats.numgc, known[i].numgc);
		assert_int_equal(l.memstats.pause_total, known[i].total);
		assert_int_equal(l.memstats.pause_end, known[i].end);
		assert_int_equal(l.pacer.live, known[i].live);
		assert_int_equal(l.pacer.marked, known[i].marked);
	}
	assert_int_equal(gc_layout_get(12, &l), -ENOTSUP);
	assert_int_equal(gc_layout_get(28, &l), -ENOTSUP);
}

TEST(the_bytes_read_cover_all_fields)
{
	struct gc_layout l;

	for (unsigned minor = GC_MINOR_MIN; minor <= GC_MINOR_MAX; minor++) {
		assert_int_equal(gc_layout_get(minor, &l), 0);
		assert_true(l.memstats.n_bytes <= GC_MEMSTATS_MAX_BYTES);
		assert_true(l.memstats.n_bytes >= l.memstats.numgc + 4);
		if (l.memstats.deltas != GC_NONE)
			assert_true(l.memstats.n_bytes >=
				    l.memstats.deltas + 3 * l.delta.n_bytes + 4);
		assert_true(l.pacer.n_bytes <= GC_PACER_MAX_BYTES);
		assert_true(l.pacer.n_bytes >= l.pacer.marked + 8);
		if (l.pacer.in_use != GC_NONE)
			assert_true(l.pacer.n_bytes >= l.pacer.in_use + 48);
	}
}

TEST(every_counter_of_a_release_is_set)
{
	struct gc_counters c;
	struct gc_image im;

	for (unsigned minor = GC_MINOR_MIN; minor <= GC_MINOR_MAX; minor++) {
		gc_image_make(&im, minor);
		assert_int_equal(count(&im, &c), 0);
		assert_int_equal(c.known, gc_counters_of(&im.l));
		assert_int_equal(c.v[GC_CYCLES], GC_IMAGE_CYCLES);
		assert_int_equal(c.v[GC_PAUSE_NS], GC_IMAGE_PAUSE_NS);
		assert_int_equal(c.v[GC_LIVE_BYTES], GC_IMAGE_LIVE);
		assert_int_equal(c.v[GC_HEAP_BYTES], GC_IMAGE_HEAP);
		assert_int_equal(c.v[GC_GOAL_BYTES], GC_IMAGE_GOAL);
		assert_int_equal(gc_counters_have(&c, GC_ALLOC_BYTES), minor >= 16);
		assert_int_equal(c.v[GC_ALLOC_BYTES], minor >= 16 ? ALLOC_BYTES : 0);
		assert_int_equal(c.v[GC_ALLOC_OBJECTS], minor >= 16 ? ALLOC_OBJECTS : 0);
	}
}

TEST(live_bytes_are_unknown_before_the_first_collection)
{
	struct gc_counters c;
	struct gc_image im;

	gc_image_make(&im, 17);
	gc_image_put(im.memstats, im.l.memstats.numgc, 0, 4);
	gc_image_put(im.memstats, im.l.memstats.last_gc_unix, 0, 8);
	assert_int_equal(count(&im, &c), 0);
	assert_int_equal(c.known, gc_counters_of(&im.l) & ~(1u << GC_LIVE_BYTES));
}

TEST(an_absent_goal_is_not_set)
{
	static const unsigned minors[] = {13, 17, 19, 27};
	struct gc_counters c;
	struct gc_image im;

	for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
		gc_image_make(&im, minors[i]);
		gc_image_put(im.pacer, im.l.pacer.goal, UINT64_MAX, 8);
		assert_int_equal(count(&im, &c), 0);
		assert_int_equal(c.known, gc_counters_of(&im.l) & ~(1u << GC_GOAL_BYTES));
	}
}

static uint64_t goal_of(const struct gc_image *im)
{
	struct gc_counters c;

	assert_int_equal(count(im, &c), 0);
	return c.v[GC_GOAL_BYTES];
}

TEST(the_goal_moves_with_sweeping_and_the_trigger)
{
	struct gc_image im;

	gc_image_make(&im, 22);
	gc_image_put(im.pacer, im.l.pacer.goal + 8u, GC_IMAGE_GOAL + 1, 8);
	assert_int_equal(goal_of(&im), GC_IMAGE_GOAL + 1);
	gc_image_put(im.pacer, im.l.pacer.goal + 16u, GC_IMAGE_GOAL, 8);
	assert_int_equal(goal_of(&im), GC_IMAGE_GOAL + 65536);
	gc_image_put(im.pacer, im.l.pacer.goal + 16u, GC_IMAGE_GOAL - 65536, 8);
	assert_int_equal(goal_of(&im), GC_IMAGE_GOAL + 1);
}

/*
 * Of 9,000,000 bytes that are mapped 7,800,000 are no heap: 1,000,000 are free and 200,000
 * allocated.
 */
TEST(a_limit_of_memory_makes_the_goal_smaller)
{
	static const struct {
		unsigned minor;
		uint64_t limit, goal;
	} cases[] = {
		{19, 7800000 + 5000000, 5000000 - 1048576},
		{21, 7800000 + 5000000, 5000000 - 1048576},
		/*
		 * three percent; not below what lives; hardly anything left; more is mapped
		 * than allowed
		 */
		{21, 7800000 + 40000000, GC_IMAGE_GOAL},
		{21, 7800000 + 3500000, GC_IMAGE_LIVE},
		{21, 7800000 + 1000, GC_IMAGE_LIVE},
		{21, 5000000, GC_IMAGE_LIVE},
		{19, 8000000, GC_IMAGE_LIVE},
	};
	struct gc_image im;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		gc_image_make(&im, cases[i].minor);
		gc_image_put(im.pacer, im.l.pacer.limit, cases[i].limit, 8);
		assert_int_equal(goal_of(&im), cases[i].goal);
	}
	gc_image_make(&im, 21);
	gc_image_put(im.pacer, im.l.pacer.goal, UINT64_MAX, 8);
	gc_image_put(im.pacer, im.l.pacer.limit, 7800000 + UINT64_C(100000000), 8);
	assert_int_equal(goal_of(&im), 97000000);
	gc_image_make(&im, 19);
	gc_image_put(im.pacer, im.l.pacer.goal, UINT64_MAX, 8);
	gc_image_put(im.pacer, im.l.pacer.limit, 7800000 + UINT64_C(100000000), 8);
	assert_int_equal(goal_of(&im), 100000000 - 1048576);
}

TEST(a_goal_with_contradictory_inputs_is_not_set)
{
	struct gc_counters c;
	struct gc_image im;

	gc_image_make(&im, 21);
	gc_image_put(im.pacer, im.l.pacer.in_use + 16u, 9000000,
		     8); /* all that is mapped is free */
	assert_int_equal(count(&im, &c), 0);
	assert_false(gc_counters_have(&c, GC_GOAL_BYTES));
	assert_true(gc_counters_have(&c, GC_ALLOC_BYTES));
}

TEST(sums_that_are_being_merged_are_retried)
{
	struct gc_counters c = {0};
	struct gc_image im, later;

	for (unsigned minor = 16; minor <= GC_MINOR_MAX; minor++) {
		gc_image_make(&im, minor);
		later = im;
		/* somebody has turned the ring meanwhile: */
		gc_image_put(later.memstats, gc_image_delta(&im, 3), GC_IMAGE_WRITING + 1, 4);
		assert_int_equal(gc_counters_add_memstats(&c, &im.l, im.memstats, later.memstats),
				 -EAGAIN);
		/* … and has added to the older sum */
		later = im;
		gc_image_allocate(&later, GC_IMAGE_WRITING - 1, 5, 1);
		assert_int_equal(gc_counters_add_memstats(&c, &im.l, im.memstats, later.memstats),
				 -EAGAIN);
		/* the current sum may change */
		later = im;
		gc_image_allocate(&later, GC_IMAGE_WRITING, 5, 1);
		assert_int_equal(gc_counters_add_memstats(&c, &im.l, im.memstats, later.memstats),
				 0);
		/* … which was the older one when it was read: the ring has been turned twice */
		gc_image_allocate(&im, GC_IMAGE_WRITING, 5, 900);
		assert_int_equal(gc_counters_add_memstats(&c, &im.l, im.memstats, later.memstats),
				 -EAGAIN);
		/* the last one is not empty yet */
		gc_image_allocate(&im, GC_IMAGE_WRITING + 1, 5, 1);
		assert_int_equal(count(&im, &c), -EAGAIN);
	}
}

TEST(a_part_of_a_sum_may_be_negative)
{
	struct gc_counters c;
	struct gc_image im;

	gc_image_make(&im, 18);
	gc_image_allocate(&im, GC_IMAGE_WRITING, 67, (uint64_t)-2); /* given back */
	assert_int_equal(count(&im, &c), 0);
	assert_int_equal(c.v[GC_ALLOC_BYTES], ALLOC_BYTES - 2 * 32768);
	assert_int_equal(c.v[GC_ALLOC_OBJECTS], ALLOC_OBJECTS - 2);
}

TEST(the_bytes_of_other_variables_are_rejected)
{
	static const struct {
		size_t offset; /* in the memory of 1.18 */
		uint64_t v;
		size_t len;
		int want;
	} broken[] = {
		{120, UINT64_C(1) << 48, 8, -EBADMSG},       /* mcache_sys */
		{120, 0, 8, -EAGAIN},                        /* not yet */
		{4280, 0, 4, -EAGAIN},                       /* no cycle, but a last one */
		{4280, GC_IMAGE_CYCLES + 1, 4, -EAGAIN},     /* one whose end is not there */
		{168, 0, 8, -EAGAIN},                        /* no last one */
		{168, GC_IMAGE_LAST_NS + 1, 8, -EAGAIN},     /* another one */
		{176, UINT64_C(1) << 62, 8, -EBADMSG},       /* a hundred years of pauses */
		{128, UINT64_C(1) << 48, 8, -EBADMSG},       /* buckhash_sys */
		{5960 + 3 * 1184, 3, 4, -EBADMSG},           /* there are three sums */
		{4304, 1, 4, -EBADMSG},                      /* no size class 0 */
		{4304 + 24, 0, 4, -EBADMSG},                 /* sizes grow */
		{4304 + 67 * 24, 32769, 4, -EBADMSG},        /* not a small one */
		{5960 + 56, UINT64_C(1) << 62, 8, -EBADMSG}, /* bytes of large objects */
		{5960 + 64, UINT64_C(1) << 62, 8, -EBADMSG}, /* their number */
	};
	struct gc_counters c;
	struct gc_image im;

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		gc_image_make(&im, 18);
		gc_image_put(im.memstats, broken[i].offset, broken[i].v, broken[i].len);
		assert_int_equal(count(&im, &c), broken[i].want);
	}
}

TEST(implausible_pacers_are_rejected)
{
	static const struct {
		size_t offset; /* in the memory of 1.22 */
		uint64_t v;
		size_t len;
		int want;
	} broken[] = {
		{0, 101, 4, -EAGAIN},            /* a percentage without its minimum */
		{0, UINT32_MAX - 1, 4, -EAGAIN}, /* -2 */
		{0, 1000000001, 4, -EAGAIN},
		{104, 0, 8, -EAGAIN}, /* no heap */
		{272, 0, 8, -EAGAIN},
		{104, UINT64_C(1) << 48, 8, -EBADMSG}, /* more than there are addresses */
		{152, UINT64_C(1) << 48, 8, -EBADMSG},
		{272 + 24, UINT64_C(1) << 62, 8, -EBADMSG},
	};
	struct gc_counters c;
	struct gc_image im;

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		gc_image_make(&im, 22);
		gc_image_put(im.pacer, broken[i].offset, broken[i].v, broken[i].len);
		assert_int_equal(count(&im, &c), broken[i].want);
	}
	/* switched off: the minimum is what the runtime computes from -1 */
	gc_image_make(&im, 22);
	gc_image_put(im.pacer, 0, UINT32_MAX, 4);
	gc_image_put(im.pacer, 16, UINT64_C(184467440737053573), 8);
	assert_int_equal(count(&im, &c), 0);
}
