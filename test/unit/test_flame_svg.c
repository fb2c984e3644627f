#include <errno.h>

#include "common/flame/flame_svg.h"
#include "common/flame/pprof_stacks.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define F(s)                       \
	{                          \
		(s), sizeof(s) - 1 \
	}

static void format(int64_t value, char ret[static FLAME_SVG_VALUE_BYTES])
{
	snprintf(ret, FLAME_SVG_VALUE_BYTES, "%lld ms", (long long)value);
}

static const struct flame_svg_texts texts = {"a <title>", "", format};

static int draw(struct buf *out, const struct flame_frame *frames, size_t n)
{
	const struct flame_view_limits limits = {1000, 1000, 0};
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};
	int r = flame_tree_new(&t, NULL);

	if (r == 0)
		r = flame_tree_add(t, frames, n, (struct stack_value){3, 0});
	if (r == 0)
		r = flame_tree_add(t, frames + 1, n - 1, (struct stack_value){1, 0});
	if (r == 0)
		r = flame_tree_view(t, &limits, &v);
	return r == 0 ? flame_svg_write(out, &v, &texts) : r;
}

TEST(frames_have_titles_shares_and_widths)
{
	static const struct flame_frame stack[] = {F("operator<(A&) a.c:3"), F("main [x]:0")};
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 1 << 20);
	assert_int_equal(draw(&out, stack, 2), 0);
	assert_non_null(strstr(out.data, ">a &lt;title&gt;</text>"));
	assert_non_null(strstr(out.data, "<title>operator&lt;(A&amp;) (a.c): 3 ms, 75.00%</title>"
					 "<rect x=\"6.0\" y=\"46\" width=\"891.00\""));
	assert_non_null(strstr(out.data, "<title>main ([x]): 4 ms, 100.00%</title>"));
	assert_non_null(strstr(out.data, "</svg>\n"));
	assert_null(strstr(out.data, "<script"));
}

TEST(names_that_are_no_text_become_question_marks)
{
	static const struct flame_frame stack[] = {F("\xff\x01] x :0"), F("main :0")};
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 1 << 20);
	assert_int_equal(draw(&out, stack, 2), 0);
	assert_non_null(strstr(out.data, "<title>\?\?] x: 3 ms"));
}

static int draw_any(void *arg)
{
	static const struct flame_frame stack[] = {F("a :0"), F("main :0")};
	CLEANUP(buf_fini) struct buf out;

	(void)arg;
	buf_init(&out, 1 << 20);
	return draw(&out, stack, 2);
}

TEST(every_failed_allocation_is_reported)
{
	check_oom(draw_any, NULL);
}

/* ---- the stacks of a pprof ---- */

static int add(void *ctx, const struct flame_frame *frames, size_t n, struct stack_value value)
{
	struct buf *b = ctx;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = buf_addf(b, "%.*s|", (int)frames[i].len, frames[i].text);
	return r == 0 ? buf_addf(b, "%lld\n", (long long)value.value) : r;
}

TEST(a_pprof_has_its_stacks_as_frames)
{
	static const struct made_sample samples[] = {{{5, 9}, 2, {7}}, {{9}, 1, {0}}};
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf b;
	struct profile_line lines[] = {{0, 3}, {1, 4}};
	struct profile p;

	arena_init(&arena, 1 << 20);
	buf_init(&b, 1000);
	p = made_profile(&arena, "a/count", samples, ARRAY_SIZE(samples));
	p.functions[0].file = (struct profile_string){"a b.c", 5};
	p.locations[p.samples[0].locations[0]].lines = lines;
	p.locations[p.samples[0].locations[0]].n_lines = 2;
	assert_int_equal(pprof_stacks_each(&p, 0, add, &b), 0);
	assert_string_equal(strchr(b.data, ' '), " a_b.c:3:inlined|f1 f1.go:4|f9 f9.go:19|7\n");
	b.len = 0;
	assert_int_equal(pprof_stacks_each(&p, 0, add, &b), 0);
}
