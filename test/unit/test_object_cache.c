#include "node-agent/symbol/object_cache.h"

#include <errno.h>

#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

struct fixture {
	struct elf_builder elf;
	struct byte_source src;
};

static void begin(struct fixture *f)
{
	elf_builder_init(&f->elf, EM_X86_64);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, 0, 0x1000, 64);
	elf_builder_finish(&f->elf);
	byte_source_from_memory(&f->src, f->elf.data, f->elf.len);
}

TEST(names_are_base_names_without_blanks)
{
	static const char *const cases[][2] = {
		{"/usr/lib/libc.so.6", "libc.so.6"},
		{"/opt/my app/bin 1 (deleted)", "bin_1"},
		{"[vdso]", "[vdso]"},
		{"/a/b\nc", "b?c"},
		{"/", "/"},
		{"plain", "plain"},
		{"/memfd:jit (deleted)", "memfd:jit"},
		{"/memfd:runc_cloned:/proc/self/exe (deleted)", "memfd:runc_cloned"},
		{"/dev/shm/tool", "tool"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *name = object_name_of_path(cases[i][0]);

		assert_string_equal(name, cases[i][1]);
	}
}

TEST(a_file_is_known_by_all_of_its_identity)
{
	CLEANUP(object_cache_freep) struct object_cache *c = NULL;
	const struct file_id id = {1, 2, 3, 4};
	struct fixture f;
	struct object *o;

	begin(&f);
	assert_int_equal(object_cache_new(&c), 0);
	assert_int_equal(object_cache_add(c, &id, "/bin/a b", &f.src, &o), 0);
	assert_string_equal(o->label, "[a_b]");
	assert_ptr_equal(object_cache_get(c, &id), o);
	for (int i = 0; i < 4; i++) {
		struct file_id other = id;
		uint64_t *const fields[] = {&other.dev, &other.ino, &other.size_bytes,
					    &other.mtime_ns};

		++*fields[i];
		assert_null(object_cache_get(c, &other));
	}
}

TEST(a_file_that_is_no_elf_file_is_remembered)
{
	CLEANUP(object_cache_freep) struct object_cache *c = NULL;
	const struct file_id id = {1, 2, 3, 4};
	struct byte_source src;
	struct object *o;

	byte_source_from_memory(&src, "#!/bin/sh\n", 10);
	assert_int_equal(object_cache_new(&c), 0);
	assert_int_equal(object_cache_add(c, &id, "/bin/script", &src, &o), 0);
	assert_int_equal(object_cache_get(c, &id)->status, -ENOEXEC);
}

TEST(the_ones_in_use_outlive_the_idle)
{
	CLEANUP(object_cache_freep) struct object_cache *c = NULL;
	struct file_id id = {0};
	struct fixture f;
	struct object *o;

	begin(&f);
	assert_int_equal(object_cache_new(&c), 0);
	for (id.ino = 0; id.ino < OBJECT_CACHE_MAX; id.ino++)
		assert_int_equal(object_cache_add(c, &id, "/bin/a", &f.src, &o), 0);
	for (int i = 0; i < 2; i++)
		object_cache_end_cycle(c);
	id.ino = 500;
	assert_non_null(object_cache_get(c, &id));
	id.ino = OBJECT_CACHE_MAX;
	assert_int_equal(object_cache_add(c, &id, "/bin/a", &f.src, &o), 0);
	assert_int_equal(object_cache_count(c), 2);
	id.ino = 500;
	assert_non_null(object_cache_get(c, &id));
}

TEST(with_all_in_use_the_first_one_goes)
{
	CLEANUP(object_cache_freep) struct object_cache *c = NULL;
	struct file_id id = {0};
	struct fixture f;
	struct object *o;

	begin(&f);
	assert_int_equal(object_cache_new(&c), 0);
	for (id.ino = 0; id.ino < OBJECT_CACHE_MAX + 3; id.ino++)
		assert_int_equal(object_cache_add(c, &id, "/bin/a", &f.src, &o), 0);
	assert_int_equal(object_cache_count(c), OBJECT_CACHE_MAX);
	id.ino = 2;
	assert_null(object_cache_get(c, &id));
	id.ino = 3;
	assert_non_null(object_cache_get(c, &id));
}

static int new_and_add(void *arg)
{
	CLEANUP(object_cache_freep) struct object_cache *c = NULL;
	const struct file_id id = {1, 2, 3, 4};
	struct fixture *f = arg;
	struct object *o;
	int r;

	r = object_cache_new(&c);
	return r < 0 ? r : object_cache_add(c, &id, "/bin/a", &f->src, &o);
}

TEST(survives_every_failed_allocation)
{
	struct fixture f;

	begin(&f);
	check_oom(new_and_add, &f);
}
