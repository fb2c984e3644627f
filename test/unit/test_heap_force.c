#include <errno.h>

#include "node-agent/go/heap/heap_reader.h"
#include "test/lib/go_child.h"
#include "test/lib/unit.h"

/* The Go program is the child; our own copy is not touched. */
static struct {
	uint64_t before;
	uint64_t rate;
	uint64_t behind;
	uint8_t disabled;
} variables __attribute__((used));

/* clang-format off */
__asm__(".set \"runtime.MemProfileRate\", variables + 8\n"
	".set \"runtime.disableMemoryProfiling\", variables + 24\n");
/* clang-format on */

/* A child with these values. */
static void begin(struct go_child *c, uint64_t rate, uint8_t disabled)
{
	variables.rate = rate;
	variables.disabled = disabled;
	go_child_begin(c, &variables, &variables + 1);
	go_child_put(c, GO_MEMORY_RATE, &variables.rate);
	go_child_put(c, GO_MEMORY_DISABLED, &variables.disabled);
}

static int force(struct go_child *c, enum heap_force_wish wish)
{
	return heap_force(&c->runtime, &c->id, wish);
}

static void expect_rate(struct go_child *c, uint64_t rate)
{
	uint64_t words[3];

	assert_int_equal(byte_source_read(&c->target.memory, (uint64_t)(uintptr_t)&variables, words,
					  sizeof(words)),
			 0);
	assert_int_equal(words[0], 0);
	assert_int_equal(words[1], rate);
	assert_int_equal(words[2], 0);
}

TEST(test_a_profiler_that_the_linker_switched_off_is_switched_on_and_off)
{
	struct go_child c;

	begin(&c, 0, 1);
	assert_int_equal(force(&c, HEAP_FORCE_OFF), 0);
	assert_int_equal(force(&c, HEAP_FORCE_ON), 1);
	expect_rate(&c, 524288);
	assert_int_equal(force(&c, HEAP_FORCE_ON), 0);
	assert_int_equal(force(&c, HEAP_FORCE_OFF), 1);
	expect_rate(&c, 0);
	go_child_end(&c);
}

/* What is remembered was found in another process, whose owner may have liked it so. */
TEST(test_an_address_from_another_process_is_not_written_to)
{
	struct go_child c;

	begin(&c, 0, 1);
	c.executable.at[GO_MEMORY_RATE] -= 8; /* 0 too, and a variable */
	assert_int_equal(force(&c, HEAP_FORCE_ON), 1);
	expect_rate(&c, 524288);
	go_child_end(&c);
}

TEST(test_a_rate_that_the_program_chose_stays)
{
	struct go_child c;

	begin(&c, 0, 0); /* off, but not by the linker */
	assert_int_equal(force(&c, HEAP_FORCE_ON), -EALREADY);
	expect_rate(&c, 0);
	go_child_end(&c);
	begin(&c, 4096, 1);
	assert_int_equal(force(&c, HEAP_FORCE_ON), -EALREADY);
	assert_int_equal(force(&c, HEAP_FORCE_OFF), -EALREADY);
	expect_rate(&c, 4096);
	go_child_end(&c);
	begin(&c, 524288, 0); /* the default of a program that uses the profiler */
	assert_int_equal(force(&c, HEAP_FORCE_OFF), -EALREADY);
	expect_rate(&c, 524288);
	go_child_end(&c);
}

TEST(test_unknown_releases_and_places_are_not_written_to)
{
	struct go_child c;

	begin(&c, 0, 1);
	c.runtime.image.minor = 28;
	assert_int_equal(force(&c, HEAP_FORCE_ON), -ENOTSUP);
	c.runtime.image.minor = 16;
	assert_int_equal(force(&c, HEAP_FORCE_ON), -ENOTSUP);
	c.runtime.image.minor = 24;
	c.runtime.modules[0].data[1].end = c.runtime.modules[0].data[1].start + 12;
	assert_int_equal(force(&c, HEAP_FORCE_ON), -ENOTSUP);
	c.executable.at[GO_MEMORY_DISABLED] = 0;
	assert_int_equal(force(&c, HEAP_FORCE_ON), -ENOTSUP);
	expect_rate(&c, 0);
	go_child_end(&c);
}

TEST(test_another_process_is_not_written_to)
{
	struct go_child c;

	begin(&c, 0, 1);
	c.id.start_time++;
	assert_int_equal(force(&c, HEAP_FORCE_ON), -ESRCH);
	c.id.start_time--;
	c.id.exe.ino++;
	assert_int_equal(force(&c, HEAP_FORCE_ON), -ESRCH);
	expect_rate(&c, 0);
	go_child_end(&c);
}
