#include <errno.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "test/lib/unit.h"

#define MAPS                                                         \
	"MAPPED_LIBRARIES:\n"                                        \
	"00400000-00500000 r-xp 00001000 08:01 77 /usr/bin/server\n" \
	"00600000-00700000 rw-p 00000000 08:01 77 /usr/bin/server\n" \
	"7f0000000000-7f0000100000: /lib/libc.so.6 (@2000)\n"

static struct arena arena;
static struct profile p;
static struct err err;

static int start(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	p = (struct profile){0};
	return 0;
}

static int stop(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

/* From a block of exactly its size, so that ASan detects reads beyond it. */
static int decode(const void *data, size_t len)
{
	void *copy = malloc(len > 0 ? len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, data, len);
	r = pprof_decode(&p, &arena, copy, len, &err);
	free(copy);
	return r;
}

static void read_text(const char *text)
{
	assert_int_equal(decode(text, strlen(text)), 0);
}

static const char *frame(uint32_t sample, uint32_t at)
{
	return p.functions[p.locations[p.samples[sample].locations[at]].lines[0].function]
		.name.data;
}

static void check_type(uint32_t i, const char *type, const char *unit)
{
	assert_true(i < p.n_types);
	assert_string_equal(p.types[i].type.data, type);
	assert_string_equal(p.types[i].unit.data, unit);
}

TEST_FIXTURE(a_heap_profile_is_unsampled_and_named_by_its_maps, start, stop)
{
	read_text("heap profile: 1: 1024 [3: 3072] @ heap_v2/524288\n"
		  "1: 1024 [3: 3072] @ 0x00401001 0x7f0000000011\n" MAPS);
	check_type(0, "alloc_objects", "count");
	check_type(3, "inuse_space", "bytes");
	assert_int_equal(p.period, 524288);
	assert_int_equal(p.n_samples, 1);
	assert_int_equal(p.samples[0].values[0], 1537);
	assert_int_equal(p.samples[0].values[1], 1574400);
	assert_int_equal(p.samples[0].values[2], 512);
	assert_int_equal(p.samples[0].values[3], 524800);
	assert_string_equal(frame(0, 0), "server+0x2000");
	assert_string_equal(frame(0, 1), "libc.so.6+0x2010");
}

TEST_FIXTURE(the_rate_of_go_is_half_and_other_heaps_are_not_scaled, start, stop)
{
	read_text("heap profile: 1: 1024 [0: 0] @ heap/1048576\n1: 1024 [0: 0] @ 0x11\n");
	assert_int_equal(p.period, 524288);
	check_type(1, "space", "bytes");
	assert_int_equal(p.samples[0].values[0], 512);
	assert_string_equal(frame(0, 0), "0x10");
	read_text("heap profile: 1: 1024 [1: 1024] @ heapprofile\n1: 1024 [1: 1024] @ 0x11\n");
	assert_int_equal(p.samples[0].values[1], 1024);
	read_text("heap profile: 1: 1024 [1: 1024] @ growthz\n1: 1024 [1: 1024] @ 0x11\n");
	assert_int_equal(p.period, 1);
	assert_int_equal(p.samples[0].values[0], 1);
}

TEST_FIXTURE(contentions_become_nanoseconds, start, stop)
{
	read_text("--- contentionz 1 ---\ncycles/second = 2000000000\nsampling period = 10\n"
		  "ms since reset = 5\n100 3 @ 0x11 0x21\n--- Memory map: ---\n");
	check_type(0, "contentions", "count");
	check_type(1, "delay", "nanoseconds");
	assert_int_equal(p.samples[0].values[0], 30);
	assert_int_equal(p.samples[0].values[1], 500);
	assert_int_equal(p.duration_ns, 5000000);
}

TEST_FIXTURE(counts_of_go_keep_readable_lines_and_count_the_others, start, stop)
{
	read_text("goroutine profile: total 3\n2 @ 0x11 0x21\n#\t0x10\tmain.f+0x1\n\nbroken\n"
		  "1 @ 0x31\n");
	check_type(0, "goroutine", "count");
	assert_int_equal(p.n_samples, 2);
	assert_int_equal(p.samples[0].values[0], 2);
	assert_string_equal(frame(0, 1), "0x20");
	assert_int_equal(p.losses.n[PROFILE_LOSS_BROKEN_LINES], 1);
}

static size_t put_words(uint8_t *to, const uint64_t *words, size_t n, unsigned int form)
{
	unsigned int size = form < 2 ? 4 : 8;

	for (size_t i = 0; i < n; i++) {
		for (unsigned int b = 0; b < size; b++)
			to[i * size + b] = (uint8_t)(words[i] >> 8 * (form % 2 ? size - 1 - b : b));
	}
	return n * size;
}

TEST_FIXTURE(cpu_profiles_have_words_of_either_size_and_order, start, stop)
{
	static const uint64_t words[] = {0,        3, 0, 10000,    0,        5, 2, 0x401000,
					 0x402001, 2, 2, 0x401000, 0x403001, 0, 1, 0};

	for (unsigned int form = 0; form < 4; form++) {
		uint8_t data[1024];
		size_t len = put_words(data, words, ARRAY_SIZE(words), form);

		memcpy(data + len, MAPS, strlen(MAPS));
		assert_int_equal(decode(data, len + strlen(MAPS)), 0);
		check_type(0, "samples", "count");
		check_type(1, "cpu", "nanoseconds");
		assert_int_equal(p.period, 10000000);
		assert_int_equal(p.n_samples, 2);
		assert_int_equal(p.samples[0].values[0], 5);
		assert_int_equal(p.samples[0].values[1], 50000000);
		assert_string_equal(frame(0, 0), "server+0x2000");
		assert_string_equal(frame(1, 1), "server+0x4000");
		for (size_t cut = 0; cut < len; cut++)
			(void)!decode(data, cut);
	}
}

TEST_FIXTURE(a_frame_of_the_signal_handler_is_dropped, start, stop)
{
	static const uint64_t words[] = {0,    3, 0, 1,    0,    1,    3, 0x10, 0x99,
					 0x21, 1, 3, 0x12, 0x99, 0x31, 0, 1,    0};
	uint8_t data[256];

	assert_int_equal(decode(data, put_words(data, words, ARRAY_SIZE(words), 2)), 0);
	assert_int_equal(p.samples[0].n_locations, 2);
	assert_string_equal(frame(0, 1), "0x20");
	assert_string_equal(frame(1, 1), "0x30");
}

TEST_FIXTURE(nothing_readable_is_an_error, start, stop)
{
	static const char text[] = "heap profile: 1: 2 [1: 2] @ heap_v2/1\nx\n";

	assert_int_equal(decode(text, strlen(text)), -EBADMSG);
}
