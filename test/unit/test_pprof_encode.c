#include <errno.h>

#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/pprof/pprof_encode.h"
#include "proto/profile.pb-c.h"
#include "test/lib/unit.h"

#define STR(s)                   \
	{                        \
		s, sizeof(s) - 1 \
	}

static struct profile_value_type types[] = {
	{STR("ebpf:cpu:nanoseconds"), STR("nanoseconds")},
	{STR("ebpf:samples:count"), STR("count")},
};
static struct profile_function functions[] = {
	{STR("main"), STR("main.c")},
	{STR("inlined"), STR("main.c")},
	{STR("[unknown]"), STR("")},
};
static const struct profile_line lines[] = {{1, 7}, {0, 300}, {2, 0}, {0, -1}};
static struct profile_location locations[] = {
	{&lines[0], 2, 0x401000},
	{&lines[2], 1, 0},
	{&lines[2], 1, UINT64_MAX},
	{&lines[3], 1, 1},
};
static const uint32_t stack[] = {1, 0, 3, 2, 0};
static const int64_t values[] = {INT64_MAX - 1, 0, INT64_MAX, 2, 1, 300};
static struct profile_sample samples[] = {
	{stack, 5, &values[0]},
	{stack, 0, &values[2]},
	{stack + 2, 1, &values[4]},
};
static struct profile_string comments[] = {STR("lost:ring_full=3"), STR(""), STR("main")};

static const struct profile profile = {
	.types = types,
	.n_types = ARRAY_SIZE(types),
	.functions = functions,
	.n_functions = ARRAY_SIZE(functions),
	.locations = locations,
	.n_locations = ARRAY_SIZE(locations),
	.samples = samples,
	.n_samples = ARRAY_SIZE(samples),
	.comments = comments,
	.n_comments = ARRAY_SIZE(comments),
	.period_type = {STR("cpu"), STR("nanoseconds")},
	.period = 10101010,
	.time_ns = INT64_C(1700000000000000000),
	.duration_ns = INT64_C(60000000000),
};

static void assert_same_string(const struct profile_string *a, const struct profile_string *b)
{
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->data, b->data, a->len + 1);
}

static void assert_same_type(const struct profile_value_type *a, const struct profile_value_type *b)
{
	assert_same_string(&a->type, &b->type);
	assert_same_string(&a->unit, &b->unit);
}

static void assert_same_location(const struct profile_location *a, const struct profile_location *b)
{
	assert_true(a->address == b->address);
	assert_int_equal(a->n_lines, b->n_lines);
	for (uint32_t i = 0; i < a->n_lines; i++) {
		assert_int_equal(a->lines[i].function, b->lines[i].function);
		assert_int_equal(a->lines[i].line, b->lines[i].line);
	}
}

static void assert_same_sample(const struct profile_sample *a, const struct profile_sample *b,
			       uint32_t n_types)
{
	assert_int_equal(a->n_locations, b->n_locations);
	assert_memory_equal(a->locations, b->locations, a->n_locations * sizeof(uint32_t));
	assert_memory_equal(a->values, b->values, n_types * sizeof(int64_t));
}

static void assert_same(const struct profile *a, const struct profile *b)
{
	assert_int_equal(a->n_types, b->n_types);
	assert_int_equal(a->n_functions, b->n_functions);
	assert_int_equal(a->n_locations, b->n_locations);
	assert_int_equal(a->n_samples, b->n_samples);
	assert_int_equal(a->n_comments, b->n_comments);
	for (uint32_t i = 0; i < a->n_types; i++)
		assert_same_type(&a->types[i], &b->types[i]);
	for (uint32_t i = 0; i < a->n_functions; i++) {
		assert_same_string(&a->functions[i].name, &b->functions[i].name);
		assert_same_string(&a->functions[i].file, &b->functions[i].file);
	}
	for (uint32_t i = 0; i < a->n_locations; i++)
		assert_same_location(&a->locations[i], &b->locations[i]);
	for (uint32_t i = 0; i < a->n_samples; i++)
		assert_same_sample(&a->samples[i], &b->samples[i], a->n_types);
	for (uint32_t i = 0; i < a->n_comments; i++)
		assert_same_string(&a->comments[i], &b->comments[i]);
	assert_same_type(&a->period_type, &b->period_type);
	assert_true(a->period == b->period && a->time_ns == b->time_ns &&
		    a->duration_ns == b->duration_ns);
}

TEST(decodes_to_the_same_profile)
{
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf out;
	struct err err = {0};
	struct profile p;

	arena_init(&arena, 1024 * 1024);
	buf_init(&out, 1024 * 1024);
	assert_int_equal(pprof_encode(&profile, &out), 0);
	assert_true(gzip_detect(out.data, out.len));
	assert_int_equal(pprof_decode(&p, &arena, out.data, out.len, &err), 0);
	assert_same(&profile, &p);
}

/* Our decoder could share a mistake with our encoder; the generated code does not. */
TEST(the_generated_code_reads_it)
{
	CLEANUP(buf_fini) struct buf zipped, raw;
	Perftools__Profiles__Profile *p;

	buf_init(&zipped, 1024 * 1024);
	buf_init(&raw, 1024 * 1024);
	assert_int_equal(pprof_encode(&profile, &zipped), 0);
	assert_int_equal(gzip_inflate(zipped.data, zipped.len, &raw), 0);
	p = perftools__profiles__profile__unpack(NULL, raw.len, (const uint8_t *)raw.data);
	assert_non_null(p);

	assert_int_equal(p->n_sample_type, 2);
	assert_string_equal(p->string_table[p->sample_type[1]->type], "ebpf:samples:count");
	assert_string_equal(p->string_table[0], "");
	assert_int_equal(p->n_mapping, 1);
	assert_int_equal(p->mapping[0]->id, 1);
	assert_true(p->mapping[0]->has_functions);
	assert_int_equal(p->n_location, 4);
	assert_int_equal(p->location[0]->id, 1);
	assert_int_equal(p->location[0]->mapping_id, 1);
	assert_int_equal(p->location[0]->address, 0x401000);
	assert_int_equal(p->location[0]->n_line, 2);
	assert_int_equal(p->location[0]->line[0]->function_id, 2);
	assert_int_equal(p->location[0]->line[0]->line, 7);
	assert_string_equal(p->string_table[p->function[1]->name], "inlined");
	assert_string_equal(p->string_table[p->function[1]->filename], "main.c");
	assert_int_equal(p->n_sample, 3);
	assert_int_equal(p->sample[0]->n_location_id, 5);
	assert_int_equal(p->sample[0]->location_id[0], 2);
	assert_true(p->sample[0]->value[0] == INT64_MAX - 1);
	assert_string_equal(p->string_table[p->period_type->type], "cpu");
	assert_int_equal(p->period, 10101010);
	assert_int_equal(p->n_comment, 3);
	assert_string_equal(p->string_table[p->comment[0]], "lost:ring_full=3");
	perftools__profiles__profile__free_unpacked(p, NULL);
}

TEST(each_string_is_written_once)
{
	CLEANUP(buf_fini) struct buf zipped, raw;
	const char *first;

	buf_init(&zipped, 1024 * 1024);
	buf_init(&raw, 1024 * 1024);
	assert_int_equal(pprof_encode(&profile, &zipped), 0);
	assert_int_equal(gzip_inflate(zipped.data, zipped.len, &raw), 0);
	first = memmem(raw.data, raw.len, "main.c", 6);
	assert_non_null(first);
	assert_null(memmem(first + 6, raw.len - (size_t)(first + 6 - raw.data), "main.c", 6));
}

TEST(appends_within_the_limit)
{
	CLEANUP(buf_fini) struct buf out;
	size_t len;

	buf_init(&out, 1024 * 1024);
	assert_int_equal(buf_add(&out, "head", 4), 0);
	assert_int_equal(pprof_encode(&profile, &out), 0);
	assert_memory_equal(out.data, "head\x1f\x8b", 6);
	len = out.len - 4;
	buf_fini(&out);
	buf_init(&out, len - 1);
	assert_int_equal(pprof_encode(&profile, &out), -EFBIG);
	assert_int_equal(out.len, 0);
}

static int encode(void *arg)
{
	CLEANUP(buf_fini) struct buf out;

	(void)arg;
	buf_init(&out, 1024 * 1024);
	return pprof_encode(&profile, &out);
}

TEST(survives_every_failed_allocation)
{
	check_oom(encode, NULL);
}
