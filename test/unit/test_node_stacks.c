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
}

/* Chains cost what is kept of them: of the stacks the memory that they may take. */
TEST(the_stacks_of_a_chain_take_no_more_than_the_memory)
{
	arena_fini(&fx.arena);
	arena_init(&fx.arena, 8 * MIB);
	assert_int_equal(read_chain("a;", 50000, NODE_TREE), -EFBIG);
	assert_int_equal(read_chain("a;", 50000, NODE_TRIE), -EFBIG);
	assert_int_equal(read_chain("x", 50000, NODE_TRIE), -EFBIG);
	assert_non_null(strstr(fx.err.msg, "memory"));
	arena_fini(&fx.arena);
	arena_init(&fx.arena, LIMIT_PPROF_ARENA_BYTES);
}

TEST(nodes_without_names_cost_nothing)
{
	assert_int_equal(read_chain("", 300000, NODE_TREE), 0);
	assert_int_equal(fx.p.n_samples, 300000);
	assert_int_equal(read_chain("", 300000, NODE_TRIE), 0);
	assert_int_equal(fx.p.samples[299999].n_locations, 0);
	assert_int_equal(read_chain("", NODE_STACKS_MAX_DEPTH + 1, NODE_TREE), -EFBIG);
	assert_non_null(strstr(fx.err.msg, "below each other"));
}

/* One frame that each node continues is read again for each value. */
TEST(a_frame_is_not_read_again_without_end)
{
	struct node_config cfg = {NODE_TRIE, objects, 1000 * 1001 / 2};

	assert_int_equal(read_chain("x", 1000, NODE_TRIE), 0);
	arena_fini(&fx.arena);
	assert_int_equal(
		node_stacks_read(&fx.p, &fx.arena, fx.data.data, fx.data.len, &cfg, &fx.err), 0);
	cfg.max_text_bytes--;
	arena_fini(&fx.arena);
	assert_int_equal(
		node_stacks_read(&fx.p, &fx.arena, fx.data.data, fx.data.len, &cfg, &fx.err),
		-EFBIG);
	assert_non_null(strstr(fx.err.msg, "that nodes continue"));
}

static void add_random_nodes(struct profile_builder *expected, unsigned *seed, struct buf *text,
			     unsigned depth)
{
	static const char *const pieces[] = {"",   "a",      "b",   ";",     " ; ",
					     " (", "x.c:3)", " - ", "a;b;;c"};
	const char *piece = pieces[(unsigned)rand_r(seed) % ARRAY_SIZE(pieces)];
	const char n_children = depth == 0 ? 0 : (char)(1 + rand_r(seed) % 3);
	const char len = (char)strlen(piece), tail[] = {(char)(rand_r(seed) % 3), n_children};
	size_t old_len = text->len;

	assert_int_equal(buf_add(text, piece, (size_t)len), 0);
	assert_int_equal(buf_add(&fx.data, &len, 1), 0);
	assert_int_equal(buf_add(&fx.data, piece, (size_t)len), 0);
	assert_int_equal(buf_add(&fx.data, tail, 2), 0);
	if (tail[0] > 0)
		assert_int_equal(
			folded_frames_add(expected, text->data ?: "", text->len, false, tail[0]),
			0);
	for (char i = 0; i < n_children; i++)
		add_random_nodes(expected, seed, text, depth - 1);
	buf_truncate(text, old_len);
}

static void same_frame(const struct profile *p, uint32_t a, const struct profile *q, uint32_t b)
{
	const struct profile_line *l = p->locations[a].lines, *m = q->locations[b].lines;

	assert_int_equal(l->line, m->line);
	assert_string_equal(p->functions[l->function].name.data,
			    q->functions[m->function].name.data);
	assert_string_equal(p->functions[l->function].file.data,
			    q->functions[m->function].file.data);
}

static void same_samples(const struct profile *p, const struct profile *q)
{
	assert_int_equal(p->n_samples, q->n_samples);
	for (uint32_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i], *t = &q->samples[i];

		assert_int_equal(s->values[0], t->values[0]);
		assert_int_equal(s->n_locations, t->n_locations);
		for (uint32_t l = 0; l < s->n_locations; l++)
			same_frame(p, s->locations[l], q, t->locations[l]);
	}
}

TEST(wherever_the_pieces_of_a_trie_end_it_reads_as_the_whole_text)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct profile_builder expected;
		unsigned state_of_rand = seed;
		struct arena arena;
		struct buf text;

		arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
		buf_init(&text, 1000);
		buf_truncate(&fx.data, 0);
		assert_int_equal(profile_builder_init(&expected, &arena, 1, NULL), 0);
		add_random_nodes(&expected, &state_of_rand, &text, 6);
		assert_int_equal(read_bytes(fx.data.data, fx.data.len, NODE_TRIE, &objects), 0);
		same_samples(&fx.p, &expected.profile);
		buf_fini(&text);
		arena_fini(&arena);
	}
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
