#include "node-agent/profile/code_places.h"

#include <errno.h>

#include "common/limits.h"
#include "test/lib/unit.h"

static int set_up(void **state)
{
	struct code_places *c;

	assert_int_equal(code_places_new(&c, MIB), 0);
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	code_places_free(*state);
	return 0;
}

static struct symbol_file file(uint32_t number, const char *path, const char *build_id)
{
	const char *slash = strrchr(path, '/');
	struct symbol_file f = {
		.number = number,
		.path = path,
		.name = slash ? slash + 1 : path,
		.start = 0x1000,
		.end = 0x5000,
		.offset = 0x1000,
		.relocatable = true,
	};

	snprintf(f.build_id, sizeof(f.build_id), "%s", build_id);
	return f;
}

static uint32_t map(struct code_places *c, const struct symbol_file *f, uint64_t *ret_base)
{
	uint32_t mapping;

	assert_int_equal(code_places_map(c, f, false, &mapping, ret_base), 0);
	return mapping;
}

TEST_FIXTURE(mappings_do_not_overlap_and_copies_share_one, set_up, tear_down)
{
	struct symbol_file a = file(1, "/lib/a.so", "0a"), copy = file(2, "/other/a.so", "0a");
	struct symbol_file b = file(3, "/lib/b.so", ""), b2 = file(4, "/lib/b.so", "");
	struct symbol_file fixed = file(5, "/bin/fixed", "05");
	const struct profile_mapping *m;
	uint64_t base[5];
	size_t n;

	fixed.relocatable = false;
	fixed.start = 0x401000;
	fixed.end = 0x500000;
	assert_int_equal(map(*state, &a, &base[0]), 1);
	assert_int_equal(map(*state, &copy, &base[1]), 1);
	assert_int_equal(map(*state, &b, &base[2]), 2);
	assert_int_equal(map(*state, &b2, &base[3]), 3); /* no build id: another file */
	assert_int_equal(map(*state, &b, &base[3]), 2);
	assert_int_equal(map(*state, &fixed, &base[4]), 4);
	m = code_places_mappings(*state, &n);
	assert_int_equal(n, 4);
	assert_int_equal(base[0], base[1]);
	assert_int_equal(base[2], base[3]);
	assert_int_equal(base[4], 0);
	assert_int_equal(m[3].start, 0x401000);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(m[i].end - m[i].start, 0x4000);
		assert_int_equal(m[i].offset, 0x1000);
		assert_true(m[i].start > m[3].end);
		assert_true(i == 0 || m[i].start >= m[i - 1].end);
	}
	assert_int_equal(m[0].start, base[0] + 0x1000);
	assert_string_equal(m[0].file.data, "/lib/a.so");
	assert_string_equal(m[0].build_id.data, "0a");
}

static uint32_t place(struct code_places *c, uint32_t mapping, uint64_t address,
		      const char *function, uint64_t line)
{
	struct symbol_location *l = calloc(1, sizeof(*l) + sizeof(l->frames[0]));
	const struct code_place p = {l, address, mapping};
	uint32_t n;

	assert_non_null(l);
	l->n = 1;
	l->frames[0] = (struct symbol_frame){function, "f.c", line};
	assert_int_equal(code_places_add(c, &p, &n), 0);
	assert_int_equal(code_places_get(c, n)->address, address);
	free(l);
	return n;
}

TEST_FIXTURE(what_is_not_resolved_is_left_to_tools, set_up, tear_down)
{
	struct symbol_file named = file(1, "/lib/a.so", "0a"), bare = file(2, "/lib/b.so", "0b");
	const struct profile_mapping *m;
	uint64_t base;
	size_t n;

	(void)map(*state, &named, &base);
	(void)map(*state, &bare, &base);
	(void)place(*state, 1, 0x1234, "work", 7);
	(void)place(*state, 1, 0x1240, "b.so+0x12", 7); /* of another file */
	(void)place(*state, 2, 0x1234, "malloc@plt", 0);
	(void)place(*state, 2, 0x1240, "b.so+0x1200", 0);
	m = code_places_mappings(*state, &n);
	assert_true(m[0].has_functions);
	assert_true(m[0].has_lines);
	assert_false(m[0].has_inlined);
	assert_false(m[1].has_functions);
}

TEST_FIXTURE(equal_places_are_one, set_up, tear_down)
{
	const struct symbol_location l = {.n = 0};
	const struct code_place a = {&l, 0, 0}, b = {&l, 1, 0};
	uint32_t n[3];

	assert_int_equal(code_places_add(*state, &a, &n[0]), 0);
	assert_int_equal(code_places_add(*state, &b, &n[1]), 0);
	assert_int_equal(code_places_add(*state, &a, &n[2]), 0);
	assert_int_equal(n[0], n[2]);
	assert_int_not_equal(n[0], n[1]);
}

TEST_FIXTURE(hostile_files_are_not_listed, set_up, tear_down)
{
	struct symbol_file f = file(1, "/lib/a.so", "");
	uint32_t mapping;
	uint64_t base;
	size_t n;

	f.end = f.start;
	assert_int_equal(code_places_map(*state, &f, false, &mapping, &base), -ENOBUFS);
	f.end = UINT64_MAX;
	assert_int_equal(code_places_map(*state, &f, false, &mapping, &base), -ENOBUFS);
	f.end = UINT64_C(1) << 45;
	for (f.number = 1; f.number <= 2; f.number++)
		(void)map(*state, &f, &base);
	assert_int_equal(code_places_map(*state, &f, false, &mapping, &base), -ENOBUFS);
	f.end = 0x2000;
	f.relocatable = false;
	for (f.number = 10;
	     code_places_map(*state, &f, false, &mapping, &base) == 0 && f.number < 10000;)
		f.number++;
	(void)code_places_mappings(*state, &n);
	assert_true(n <= CODE_PLACES_MAPPINGS_MAX);
}

static int build(void *arg)
{
	const struct symbol_file f = file(1, "/lib/a.so", "0a");
	CLEANUP(code_places_freep) struct code_places *c = NULL;
	const struct code_place p = {0};
	uint32_t n;
	uint64_t base;
	int r = code_places_new(&c, MIB);

	(void)arg;
	if (r == 0)
		r = code_places_map(c, &f, true, &n, &base);
	return r == 0 ? code_places_add(c, &p, &n) : r;
}

TEST(memory_may_be_missing)
{
	check_oom(build, NULL);
}
