#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cluster-agent/store/store_marker.h"
#include "test/lib/unit.h"

static const char *dir;

static int make_dir(void **state)
{
	(void)state;
	dir = temp_dir();
	return 0;
}

static void write_file(const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void mark(const char *lines)
{
	assert_int_equal(store_marker_write(dir, lines, strlen(lines), NULL), 0);
}

static int check(struct err *err)
{
	*err = (struct err){0};
	return store_marker_check(dir, err);
}

TEST_FIXTURE(what_is_named_must_be_there, make_dir, NULL)
{
	struct err err;
	char path[100];

	assert_int_equal(check(&err), 0); /* of an older version */
	write_file("table.sql", "CREATE");
	snprintf(path, sizeof(path), "%s/data", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	mark("table.sql\ndata/\n");
	assert_int_equal(check(&err), 0);

	write_file("table.sql", "");
	assert_int_equal(check(&err), -ENOENT);
	assert_non_null(strstr(err.msg, "/table.sql is empty"));
	mark("data/\n");
	assert_int_equal(check(&err), 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(check(&err), -ENOENT);
	assert_non_null(strstr(err.msg, "/data/ is missing"));
}

TEST_FIXTURE(a_damaged_marker_is_an_error_that_names_it, make_dir, NULL)
{
	static const char *const damaged[] = {
		"", "a\n", "a", "aend\n", "\nend\n", "/etc\nend\n", "../x\nend\n", "a\nen",
	};
	struct err err;

	write_file("a", "x");
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		write_file(STORE_MARKER, damaged[i]);
		assert_int_equal(check(&err), -EBADMSG);
		assert_non_null(strstr(err.msg, STORE_MARKER));
	}
	write_file(STORE_MARKER, "a\nend\n");
	assert_int_equal(check(&err), 0);
}

TEST(a_directory_that_is_not_there_is_an_error)
{
	struct err err = {0};

	assert_int_equal(store_marker_check("/nonexistent", &err), -ENOENT);
	assert_int_equal(store_marker_write("/nonexistent", "a\n", 2, &err), -ENOENT);
}
