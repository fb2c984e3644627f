#include "cluster-agent/source/source_folders.h"

#include <errno.h>

#include "test/lib/unit.h"

static const char *path_in(const char *option, const char *file)
{
	static char path[256];
	struct source_folders f;
	const char *found = NULL;

	assert_int_equal(source_folders_parse(&f, option, NULL), 0);
	for (size_t i = 0; i < f.n && !found; i++)
		found = source_folder_path(&f.items[i], file);
	if (found)
		snprintf(path, sizeof(path), "%s", found);
	source_folders_fini(&f);
	return found ? path : NULL;
}

TEST(a_folder_has_files_below_it_and_relative_names)
{
	assert_string_equal(path_in("/src/cart", "/src/cart/a/b.go"), "a/b.go");
	assert_string_equal(path_in("/src/cart/", "a/b.go"), "a/b.go");
	assert_string_equal(path_in("/src/cart", "./b.c"), "b.c");
	assert_null(path_in("/src/cart", "/src/cart.go"));
	assert_null(path_in("/src/cart", "/src/cartoon/b.go"));
	assert_null(path_in("/src/cart", "/src/cart"));
	assert_null(path_in("/src/cart", "/src/cart/"));
	assert_null(path_in("", "a.go"));
	assert_null(path_in(NULL, "a.go"));
}

TEST(a_prefix_of_names_leads_to_a_folder)
{
	static const char option[] = "/build/=/src/cart,,github.com/acme=/src/acme\n/other";

	assert_string_equal(path_in(option, "/build/main.go"), "main.go");
	assert_string_equal(path_in(option, "github.com/acme/x/y.go"), "x/y.go");
	assert_string_equal(path_in("/build=/src", "/build/a.go"), "a.go");
	assert_null(path_in("/build=/src", "/src/a.go"));
	assert_null(path_in("/build=/src", "a.go"));
	assert_string_equal(path_in("=/src", "a.go"), "a.go");
}

TEST(no_path_leads_out_of_a_folder_or_to_what_is_hidden)
{
	static const char *const wrong[] = {
		"../etc/passwd",
		"a/../../etc/passwd",
		"/src/../etc/passwd",
		"/etc/passwd",
		"a//b.go",
		"a/./b.go",
		"/src//etc/passwd",
		".git/config",
		"a/.env",
		"",
		"/",
		"..",
		"a/..",
		"/src/a/",
	};
	char deep[5000];

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_null(path_in("/src", wrong[i]));
	memset(deep, 'a', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	assert_null(path_in("/src", deep));
}

TEST(what_is_no_folder_is_refused)
{
	static const char *const wrong[] = {"src", "/", "a=b", "/build=", "=", "/src,../x"};
	char many[4096] = "";
	struct source_folders f;
	struct err err = {""};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(source_folders_parse(&f, wrong[i], &err), -EINVAL);
	assert_string_equal(err.msg,
			    "--source-path: \"../x\" is not the absolute path of a folder");
	for (size_t i = 0; i <= SOURCE_FOLDERS_MAX; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "/a%zu,", i);
	assert_int_equal(source_folders_parse(&f, many, &err), -EINVAL);
}
