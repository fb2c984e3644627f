/* Trees and tries of Pyroscope's old clients. The short ones are those of Pyroscope's own tests. */
#include <errno.h>

#include "cluster-agent/push/node_stacks.h"
#include "common/data/buf.h"
#include "common/limits.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

static const struct folded_unit objects = {"alloc_objects", "count", 1, false};
static const struct folded_unit samples_of_10_ms = {"cpu", "nanoseconds", 10000000, true};

struct fixture {
	struct arena arena;
	struct profile p;
	struct buf data;
	struct err err;
};

static struct fixture fx;

static int read_bytes(const void *data, size_t len, enum node_form form,
		      const struct folded_unit *unit)
{
	arena_fini(&fx.arena);
	fx.err.msg[0] = '\0';
	return node_stacks_read(&fx.p, &fx.arena, data, len, &(struct node_config){form, *unit},
				&fx.err);
}

#define READ(text, form, unit) read_bytes((text), sizeof(text) - 1, (form), (unit))

static void stack_is(uint32_t sample, const char *stack, int64_t value)
{
	const struct profile_sample *s = &fx.p.samples[sample];
	char text[256] = "";

	assert_true(sample < fx.p.n_samples);
	for (uint32_t l = 0; l < s->n_locations; l++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", l ? "<" : "",
			 fx.p.functions[fx.p.locations[s->locations[l]].lines[0].function]
				 .name.data);
	assert_string_equal(text, stack);
	assert_int_equal(s->values[0], value);
}

TEST(a_tree_has_a_frame_in_each_node)
{
	assert_int_equal(READ("\x00\x00\x01\x01"
			      "a\x00\x02\x01"
			      "b\x01\x00\x01"
			      "c\x02\x00",
			      NODE_TREE, &objects),
			 0);
	assert_int_equal(fx.p.n_samples, 2);
	stack_is(0, "b<a", 1);
	stack_is(1, "c<a", 2);
	assert_string_equal(fx.p.types[0].type.data, "alloc_objects");
	/* nodes with a value and children, and names with anything */
	assert_int_equal(READ("\x00\x05\x02\x03"
			      "a;b\x07\x01\x01"
			      "c\x80\x01\x00\x01"
			      "d\x01\x00",
			      NODE_TREE, &samples_of_10_ms),
			 0);
	assert_int_equal(fx.p.n_samples, 4);
	stack_is(0, "", 50000000);
	stack_is(1, "a;b", 70000000);
	stack_is(2, "c<a;b", 1280000000);
	stack_is(3, "d", 10000000);
	assert_int_equal(fx.p.period, 10000000);
}

TEST(a_trie_has_a_piece_of_text_in_each_node)
{
	assert_int_equal(READ("\x00\x00\x01\x02"
			      "ab\x00\x02\x01"
			      "c\x01\x00\x01"
			      "d\x02\x00",
			      NODE_TRIE, &objects),
			 0);
	assert_int_equal(fx.p.n_samples, 2);
	stack_is(0, "abc", 1);
	stack_is(1, "abd", 2);
	assert_int_equal(READ("\x00\x00\x02\x06"
			      "main;f\x03\x02\x03"
			      "oo;\x00\x01\x05"
			      "b - x\x04\x00\x0a"
			      ";b (a.b:7)\x02\x00\x01"
			      "x\x01\x00",
			      NODE_TRIE, &objects),
			 0);
	assert_int_equal(fx.p.n_samples, 4);
	stack_is(0, "f<main", 3);
	stack_is(1, "b - x<foo<main", 4);
	stack_is(2, "b<f<main", 2);
	stack_is(3, "x", 1);
}

TEST(hostile_ones_are_refused)
{
	static const struct {
		const char *data;
		size_t len;
	} bad[] = {
#define BAD(text) {(text), sizeof(text) - 1}
		BAD("\x00"),
		BAD("\x00\x00"),
		BAD("\x05"
		    "ab\x00\x00"),
		BAD("\x00\x00\x02\x01"
		    "a\x01\x00"),
		BAD("\x00\x00\x00\x00"),
		BAD("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
		    "ab"),
		BAD("\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		BAD("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
		BAD("main;a 1"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		for (int form = NODE_TREE; form <= NODE_TRIE; form++) {
			assert_int_equal(
				read_bytes(bad[i].data, bad[i].len, (enum node_form)form, &objects),
				-EBADMSG);
			assert_memory_equal(fx.err.msg, "not a valid tr", 14);
		}
}

TEST(values_beyond_63_bits_are_cut_and_counted)
{
	assert_int_equal(
		READ("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", NODE_TREE, &objects), 0);
	stack_is(0, "", INT64_MAX);
	assert_int_equal(fx.p.losses.n[PROFILE_LOSS_CLAMPED_VALUES], 1);
}

/* n nodes below each other, each with the name and a value. */
static int read_chain(const char *name, size_t n, enum node_form form)
{
	buf_truncate(&fx.data, 0);
	for (size_t i = 0; i < n; i++) {
		const char head = (char)strlen(name), tail[] = {1, i + 1 < n};

		assert_int_equal(buf_add(&fx.data, &head, 1), 0);
		assert_int_equal(buf_add(&fx.data, name, strlen(name)), 0);
		assert_int_equal(buf_add(&fx.data, tail, 2), 0);
	}
	return read_bytes(fx.data.data, fx.data.len, form, &objects);
}

TEST(depth_is_cut_or_refused)
{
	assert_int_equal(read_chain("ab", 5000, NODE_TREE), 0);
	assert_int_equal(fx.p.n_samples, 5000);
	assert_int_equal(fx.p.samples[4999].n_locations, LIMIT_PPROF_STACK_DEPTH);
	assert_int_equal(fx.p.losses.n[PROFILE_LOSS_CUT_STACKS], 5000 - 4095);
	assert_int_equal(read_chain("a;", 5000, NODE_TRIE), 0);
	assert_int_equal(fx.p.losses.n[PROFILE_LOSS_CUT_STACKS], 5000 - 4095);
	/* neither time nor memory is squared */
	assert_int_equal(read_chain("", 900000, NODE_TREE), -EFBIG);
	assert_int_equal(read_chain("a;", 500000, NODE_TREE), -EFBIG);
	assert_int_equal(read_chain("a;", 500000, NODE_TRIE), -EFBIG);
	assert_int_equal(read_chain("", 1500000, NODE_TREE), -EFBIG);
}

static int read_again(void *arg)
{
	(void)arg;
	return READ("\x00\x00\x01\x02"
		    "ab\x00\x02\x01"
		    "c\x01\x00\x01"
		    "d\x02\x00",
		    NODE_TRIE, &objects);
}

TEST(memory_may_run_out)
{
	check_oom(read_again, NULL);
}

static int set_up(void **state)
{
	(void)state;
	arena_init(&fx.arena, LIMIT_PPROF_ARENA_BYTES);
	buf_init(&fx.data, 64 * MIB);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_fini(&fx.arena);
	buf_fini(&fx.data);
	return 0;
}

GROUP_FIXTURE(set_up, tear_down)
