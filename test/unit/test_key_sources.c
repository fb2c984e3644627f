#include <errno.h>
#include <sys/stat.h>

#include "common/access/access_keys.h"
#include "common/access/key_sources.h"
#include "common/system/clock.h"
#include "test/lib/key_files.h"
#include "test/lib/unit.h"

static char dir[64];

static const char *in_dir(const char *name)
{
	static char paths[4][160];
	static unsigned next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static int begin(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "%.50s.d", key_file);
	return mkdir(dir, 0755);
}

static int end(void **state)
{
	(void)state;
	return remove_tree(dir);
}

/* A generation of a mounted volume, as the kubelet makes it: files below a directory of its own. */
static void make_generation(const char *generation, const char *a, const char *b)
{
	char path[160];

	assert_int_equal(mkdir(in_dir(generation), 0755), 0);
	snprintf(path, sizeof(path), "%s/inner", in_dir(generation));
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/a", in_dir(generation));
	key_file_write(path, a);
	snprintf(path, sizeof(path), "%s/inner/b", in_dir(generation));
	key_file_write(path, b);
}

static void use_generation(const char *generation)
{
	assert_int_equal(symlink(generation, in_dir("..data_tmp")), 0);
	assert_int_equal(rename(in_dir("..data_tmp"), in_dir("..data")), 0);
}

static void mount_volume(void)
{
	make_generation("..1", "one\n", "two");
	use_generation("..1");
	assert_int_equal(symlink("..data/a", in_dir("a")), 0);
	assert_int_equal(symlink("..data/inner", in_dir("inner")), 0);
}

TEST_FIXTURE(a_file_is_its_own_only_source, begin, end)
{
	struct key_sources s;

	key_file_write(key_file, "one\n");
	assert_int_equal(key_sources_list(&s, key_file, NULL), 0);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.paths[0], key_file);
	key_sources_fini(&s);
}

TEST_FIXTURE(a_mounted_volume_has_each_file_once, begin, end)
{
	struct key_sources s;

	mount_volume();
	key_file_write(in_dir(".hidden"), "no");
	assert_int_equal(key_sources_list(&s, dir, NULL), 0);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.paths[0], in_dir("a"));
	assert_string_equal(s.paths[1], in_dir("inner/b"));
	key_sources_fini(&s);
}

TEST_FIXTURE(what_holds_no_keys_is_named, begin, end)
{
	struct key_sources s;
	struct err err = {""};

	assert_int_equal(key_sources_list(&s, in_dir("none"), &err), -ENOENT);
	assert_non_null(strstr(err.msg, in_dir("none")));
	/* a link that leads nowhere, as of a file that disappears at this moment */
	assert_int_equal(symlink("nowhere", in_dir("gone")), 0);
	assert_int_equal(key_sources_list(&s, dir, &err), 0);
	assert_int_equal(s.n, 0);
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_int_equal(key_sources_list(&s, dir, &err), -EINVAL);
	assert_non_null(strstr(err.msg, in_dir("fifo: neither a file nor a directory of files")));
	assert_int_equal(unlink(in_dir("fifo")), 0);
	assert_int_equal(mkdir(in_dir("x"), 0755), 0);
	assert_int_equal(mkdir(in_dir("x/y"), 0755), 0);
	assert_int_equal(key_sources_list(&s, dir, &err), -EINVAL);
	assert_non_null(strstr(err.msg, in_dir("x/y: a directory too deep")));
}

TEST_FIXTURE(the_number_of_files_is_limited, begin, end)
{
	struct key_sources s;
	struct err err = {""};
	char name[16];

	for (unsigned i = 0; i < KEY_SOURCES_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		key_file_write(in_dir(name), "k");
	}
	assert_int_equal(key_sources_list(&s, dir, &err), 0);
	assert_int_equal(s.n, KEY_SOURCES_MAX);
	key_sources_fini(&s);
	key_file_write(in_dir("more"), "k");
	assert_int_equal(key_sources_list(&s, dir, &err), -E2BIG);
	assert_non_null(strstr(err.msg, "more than 256 files"));
}

static uint64_t stamp_of(const char *path)
{
	uint64_t stamp = 0;

	assert_int_equal(key_sources_stamp(path, &stamp), 0);
	return stamp;
}

TEST_FIXTURE(every_change_changes_the_stamp, begin, end)
{
	uint64_t stamp, next;

	mount_volume();
	stamp = stamp_of(dir);
	assert_int_equal(stamp_of(dir), stamp);
	make_generation("..2", "one\n", "two"); /* the same content; not in use yet */
	assert_int_equal(stamp_of(dir), stamp);
	use_generation("..2");
	next = stamp_of(dir);
	assert_int_not_equal(next, stamp);
	key_file_write(in_dir("inner/c"), "three");
	stamp = stamp_of(dir);
	assert_int_not_equal(next, stamp);
	assert_int_equal(unlink(in_dir("inner/c")), 0);
	assert_int_equal(stamp_of(dir), next);
	assert_int_not_equal(stamp_of(in_dir("none")), next);
}

static void wait_until(struct access_keys *k, const char *key, bool valid)
{
	eventually(access_keys_have(k, key) == valid);
}

TEST_FIXTURE(the_keys_of_a_directory_follow_the_volume, begin, end)
{
	CLEANUP(access_keys_freep) struct access_keys *k = NULL;
	struct err err = {""};

	mount_volume();
	assert_int_equal(access_keys_new(&k, NULL, dir, &err), 0);
	assert_true(access_keys_have(k, "one"));
	assert_true(access_keys_have(k, "two"));
	make_generation("..2", "three\n", "");
	use_generation("..2");
	wait_until(k, "three", true);
	assert_false(access_keys_have(k, "one"));
	assert_false(access_keys_have(k, "two"));
	/* without any key the last ones stay; the next change is seen again */
	make_generation("..3", "", "");
	use_generation("..3");
	key_file_write(in_dir("added"), "four");
	wait_until(k, "four", true);
	assert_false(access_keys_have(k, "three"));
	assert_int_equal(unlink(in_dir("added")), 0);
	make_generation("..4", "five", "");
	use_generation("..4");
	wait_until(k, "five", true);
	assert_false(access_keys_have(k, "four"));
}

TEST_FIXTURE(a_directory_without_keys_is_refused, begin, end)
{
	struct access_keys *k = NULL;
	struct err err = {""};

	assert_int_equal(access_keys_new(&k, NULL, dir, &err), -EINVAL);
	assert_non_null(strstr(err.msg, ".d: no key in it"));
	key_file_write(in_dir("bad"), "a\x07");
	assert_int_equal(access_keys_new(&k, NULL, dir, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "/bad: line 1 is not printable ASCII"));
	assert_int_equal(unlink(in_dir("bad")), 0);
	/* opening one for reading would wait for a writer */
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_int_equal(access_keys_new(&k, NULL, in_dir("fifo"), &err), -EINVAL);
	assert_null(k);
}

static int make_keys(void *unused)
{
	struct access_keys *k = NULL;
	int r = access_keys_new(&k, NULL, dir, NULL);

	(void)unused;
	access_keys_free(k);
	return r;
}

TEST_FIXTURE(lack_of_memory_is_reported, begin, end)
{
	mount_volume();
	check_oom(make_keys, NULL);
}

GROUP_FIXTURE(key_files_set_up, NULL)
