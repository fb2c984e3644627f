#include <errno.h>

#include "cluster-agent/query/export/pprof_export.h"
#include "common/data/gzip.h"
#include "common/pprof/pprof_decode.h"
#include "proto/profile.pb-c.h"
#include "test/lib/unit.h"

#define F(s)                       \
	{                          \
		(s), sizeof(s) - 1 \
	}

#define VALUE(v) ((struct stack_value){.value = (v)})

static const struct query_filter filter = {.service = "/k8s/a/b",
					   .type = "ebpf:cpu:nanoseconds",
					   .from_ns = INT64_C(1000000000),
					   .to_ns = INT64_C(11000000000)};

TEST(stacks_come_back_from_the_pprof)
{
	static const struct flame_frame a[] = {F("work [x]:0"), F("operator new(int) n.cc:7")};
	static const struct flame_frame b[] = {F("idle :0"), F("operator new(int) n.cc:7")};
	CLEANUP(pprof_export_fini) struct pprof_export e;
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	buf_init(&out, 1 << 20);
	arena_init(&arena, 1 << 20);
	assert_int_equal(pprof_export_init(&e, 10), 0);
	assert_int_equal(pprof_export_add(&e, a, 2, VALUE(30)), 0);
	assert_int_equal(pprof_export_add(&e, b, 2, VALUE(12)), 0);
	e.duration_ns = INT64_C(4000000000);
	assert_int_equal(pprof_export_write(&e, &filter, &out, NULL), 0);
	assert_int_equal(pprof_decode(&p, &arena, out.data, out.len, NULL), 0);
	assert_int_equal(p.n_samples, 2);
	assert_int_equal(p.samples[0].values[0], 30);
	assert_int_equal(p.samples[0].locations[1], p.samples[1].locations[1]);
	{
		const struct profile_line *line = p.locations[p.samples[0].locations[1]].lines;

		assert_string_equal(p.functions[line->function].name.data, "operator new(int)");
		assert_string_equal(p.functions[line->function].file.data, "n.cc");
		assert_int_equal(line->line, 7);
	}
	assert_string_equal(p.types[0].type.data, "ebpf:cpu:nanoseconds");
	assert_string_equal(p.types[0].unit.data, "nanoseconds");
	assert_true(p.time_ns == filter.to_ns && p.duration_ns == INT64_C(4000000000));
	assert_int_equal(p.n_comments, 2);
	assert_string_equal(p.comments[0].data, "/k8s/a/b");
	assert_string_equal(p.comments[1].data,
			    "range 1970-01-01T00:00:01.000000Z/1970-01-01T00:00:11.000000Z");
}

static const char *text(const Perftools__Profiles__Profile *m, int64_t i)
{
	return m->string_table[i];
}

TEST(frames_without_a_name_have_an_address_in_a_mapping_with_the_build_id)
{
	static const struct flame_frame a[] = {
		F("libx.so+0x1110 [libx.so:0123abcd]:0"),
		F("libx.so+0x5008 [libx.so:0123abcd]:0"),
		F("a:b+0xfff [a:b:99]:0"),
		/* those have none */
		F("libx.so+0x1110 [libx.so]:0"),
		F("liby.so+0x1110 [libx.so:0123abcd]:0"),
		F("libx.so+0x [libx.so:0123abcd]:0"),
		F("libx.so+0x11z [libx.so:0123abcd]:0"),
		F("libx.so+0x12345678901234567 [libx.so:0123abcd]:0"),
		F("libx.so+0xffffffffffffffff [libx.so:0123abcd]:0"),
		F("libx.so [libx.so:0123abcd]:0"),
		F("+0x1 [:]:0"),
		F("work a.c:1"),
	};
	CLEANUP(pprof_export_fini) struct pprof_export e;
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(buf_fini) struct buf raw;
	Perftools__Profiles__Profile *m;
	const uint64_t space = UINT64_C(1) << 40;

	buf_init(&out, 1 << 20);
	buf_init(&raw, 1 << 20);
	assert_int_equal(pprof_export_init(&e, 10), 0);
	assert_int_equal(pprof_export_add(&e, a, ARRAY_SIZE(a), VALUE(1)), 0);
	assert_int_equal(pprof_export_write(&e, &filter, &out, NULL), 0);
	assert_int_equal(gzip_inflate(out.data, out.len, &raw), 0);
	m = perftools__profiles__profile__unpack(NULL, raw.len, (const uint8_t *)raw.data);
	assert_non_null(m);
	assert_int_equal(m->n_mapping, 3);
	/* the first one has no frames */
	assert_int_equal(m->n_location, 1 + ARRAY_SIZE(a));
	for (size_t i = 0; i < ARRAY_SIZE(a); i++) {
		size_t mapping = i < 2 ? 0 : i == 2 ? 1 : 2;

		assert_int_equal(m->location[1 + i]->n_line, 1);
		assert_int_equal(m->location[1 + i]->mapping_id, m->mapping[mapping]->id);
	}
	assert_true(m->location[1]->address == space + 0x1110);
	assert_true(m->location[2]->address == space + 0x5008);
	assert_true(m->location[3]->address == 2 * space + 0xfff);
	assert_true(m->location[4]->address == 0);
	assert_string_equal(text(m, m->mapping[0]->filename), "libx.so");
	assert_string_equal(text(m, m->mapping[0]->build_id), "0123abcd");
	assert_true(m->mapping[0]->memory_start == space + 0x1000);
	assert_true(m->mapping[0]->memory_limit == space + 0x6000);
	assert_true(m->mapping[0]->file_offset == 0x1000);
	assert_false(m->mapping[0]->has_functions);
	assert_string_equal(text(m, m->mapping[1]->filename), "a:b");
	assert_string_equal(text(m, m->mapping[1]->build_id), "99");
	assert_true(m->mapping[1]->memory_start == 2 * space);
	assert_true(m->mapping[2]->has_functions);
	perftools__profiles__profile__free_unpacked(m, NULL);
}

/* The base is subtracted: its samples are negative, and come behind those of the selection. */
TEST(a_base_makes_negative_samples)
{
	static const struct flame_frame a[] = {F("work [x]:0")};
	CLEANUP(pprof_export_fini) struct pprof_export e;
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(buf_fini) struct buf raw;
	CLEANUP(arena_fini) struct arena arena;
	Perftools__Profiles__Profile *m;
	struct profile p;

	buf_init(&out, 1 << 20);
	buf_init(&raw, 1 << 20);
	arena_init(&arena, 1 << 20);
	assert_int_equal(pprof_export_init(&e, 10), 0);
	assert_int_equal(pprof_export_add(&e, a, 1, (struct stack_value){30, 12}), 0);
	assert_int_equal(pprof_export_add(&e, a, 1, (struct stack_value){0, 5}), 0);
	assert_int_equal(pprof_export_add(&e, a, 1, (struct stack_value){4, 0}), 0);
	assert_int_equal(pprof_export_write(&e, &filter, &out, NULL), 0);
	assert_int_equal(gzip_inflate(out.data, out.len, &raw), 0);
	m = perftools__profiles__profile__unpack(NULL, raw.len, (const uint8_t *)raw.data);
	assert_non_null(m);
	assert_int_equal(m->n_sample, 4);
	assert_int_equal(m->sample[0]->value[0], 30);
	assert_int_equal(m->sample[1]->value[0], -12);
	assert_int_equal(m->sample[2]->value[0], -5);
	assert_int_equal(m->sample[3]->value[0], 4);
	perftools__profiles__profile__free_unpacked(m, NULL);
	/* it cannot be stored again */
	assert_int_equal(pprof_decode(&p, &arena, out.data, out.len, NULL), -EBADMSG);
	assert_non_null(memmem(raw.data, raw.len, "\x32\x0bpprof::base", 13));
}

/* Frames that are inlined into another one are lines of its location. */
TEST(inlined_frames_are_lines_of_one_location)
{
	static const struct flame_frame a[] = {F("leaf a.go:1:inlined"), F("mid a.go:2:inlined"),
					       F("outer b.go:3"), F("root c.go:4")};
	static const struct flame_frame b[] = {F("mid a.go:2:inlined"), F("outer b.go:3"),
					       F("root c.go:4:inlined")};
	static const char *const names[] = {"leaf", "mid", "outer"};
	CLEANUP(pprof_export_fini) struct pprof_export e;
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(arena_fini) struct arena arena;
	const struct profile_location *l;
	struct profile p;

	buf_init(&out, 1 << 20);
	arena_init(&arena, 1 << 20);
	assert_int_equal(pprof_export_init(&e, 10), 0);
	assert_int_equal(pprof_export_add(&e, a, 4, VALUE(30)), 0);
	assert_int_equal(pprof_export_add(&e, b, 3, VALUE(12)), 0);
	assert_int_equal(pprof_export_write(&e, &filter, &out, NULL), 0);
	assert_int_equal(pprof_decode(&p, &arena, out.data, out.len, NULL), 0);
	assert_int_equal(p.samples[0].n_locations, 2);
	l = &p.locations[p.samples[0].locations[0]];
	assert_int_equal(l->n_lines, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_string_equal(p.functions[l->lines[i].function].name.data, names[i]);
		assert_int_equal(l->lines[i].line, i + 1);
	}
	/* another chain is another location; a mark at the root has nothing to be inlined into */
	assert_int_equal(p.samples[1].n_locations, 2);
	assert_int_equal(p.locations[p.samples[1].locations[0]].n_lines, 2);
	assert_int_equal(p.locations[p.samples[1].locations[1]].n_lines, 1);
}

/* The limit of a profile's depth is one of locations, which may have many frames. */
TEST(a_deep_stack_may_have_inlined_frames)
{
	enum { LOCATIONS = 3000, INLINED = 2 };
	static struct flame_frame frames[LOCATIONS * (INLINED + 1)];
	static const struct flame_frame inlined = F("leaf a.go:1:inlined"), outer = F("f b.go:3");
	CLEANUP(pprof_export_fini) struct pprof_export e;
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i] = i % (INLINED + 1) == INLINED ? outer : inlined;
	buf_init(&out, 1 << 20);
	arena_init(&arena, 1 << 20);
	assert_int_equal(pprof_export_init(&e, 10), 0);
	assert_int_equal(pprof_export_add(&e, frames, ARRAY_SIZE(frames), VALUE(30)), 0);
	assert_int_equal(pprof_export_write(&e, &filter, &out, NULL), 0);
	assert_int_equal(pprof_decode(&p, &arena, out.data, out.len, NULL), 0);
	assert_int_equal(p.samples[0].n_locations, LOCATIONS);
	for (uint32_t i = 0; i < LOCATIONS; i++)
		assert_int_equal(p.samples[0].locations[i], p.samples[0].locations[0]);
	assert_int_equal(p.locations[p.samples[0].locations[0]].n_lines, INLINED + 1);
}

TEST(takes_no_more_than_announced)
{
	static const struct flame_frame f[] = {F("a :0")};
	CLEANUP(pprof_export_fini) struct pprof_export e;

	assert_int_equal(pprof_export_init(&e, 1), 0);
	assert_int_equal(pprof_export_add(&e, f, 1, VALUE(1)), 0);
	assert_int_equal(pprof_export_add(&e, f, 1, VALUE(1)), -EFBIG);
}

/* Leaves the arena no more than its last chunk has. */
static void forbid_more(struct pprof_export *e)
{
	e->arena.limit_bytes = e->arena.used_bytes;
}

TEST(stacks_beyond_the_limit_are_too_large_and_not_out_of_memory)
{
	static const struct flame_frame f[] = {F("a :0")};
	CLEANUP(pprof_export_fini) struct pprof_export e;
	int r = 0;

	assert_int_equal(pprof_export_init(&e, 1000000), 0);
	forbid_more(&e);
	for (unsigned i = 0; i < 1000000 && r == 0; i++)
		r = pprof_export_add(&e, f, 1, VALUE(1));
	assert_int_equal(r, -EFBIG);
}

TEST(texts_beyond_the_limit_are_too_large_and_not_out_of_memory)
{
	CLEANUP(pprof_export_fini) struct pprof_export e;
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 1 << 20);
	assert_int_equal(pprof_export_init(&e, 2), 0);
	for (size_t i = 0; i < 2; i++) {
		static char text[60000];
		const struct flame_frame f = {text, sizeof(text) - i};

		memset(text, 'a', sizeof(text));
		assert_int_equal(pprof_export_add(&e, &f, 1, VALUE(1)), 0);
	}
	forbid_more(&e);
	assert_int_equal(pprof_export_write(&e, &filter, &out, NULL), -EFBIG);
}

static int export_some(void *arg)
{
	static const struct flame_frame f[] = {F("a :0"), F("b c:1")};
	CLEANUP(pprof_export_fini) struct pprof_export e;
	int r = pprof_export_init(&e, 4);

	(void)arg;
	return r == 0 ? pprof_export_add(&e, f, 2, VALUE(1)) : r;
}

TEST(survives_every_failed_allocation)
{
	check_oom(export_some, NULL);
}
