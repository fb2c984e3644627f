#include <stdio.h>

#include "common/flame/path_key.h"
#include "test/lib/unit.h"

/* Lines of a key, and name and file of each frame from the root down. */
static void check_line(char *line)
{
	struct path_key key = path_key_root();
	char *rest = line, text[20];
	const char *expected = strsep(&rest, "\t"), *name, *file;

	while ((name = strsep(&rest, "\t")) && (file = strsep(&rest, "\t")))
		key = path_key_child(key, path_key_of_name(name, strlen(name)),
				     path_key_of_file(file, strlen(file)));
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)path_key_number(key));
	assert_string_equal(text, expected);
}

/* The page's test reads the same file. */
TEST(is_what_the_page_computes)
{
	FILE *f = fopen("test/data/path_keys.tsv", "re");
	char line[4096];
	int n = 0;

	assert_non_null(f);
	for (; fgets(line, sizeof(line), f); n++) {
		line[strcspn(line, "\n")] = '\0';
		check_line(line);
	}
	fclose(f);
	assert_true(n > 5);
}

TEST(invalid_bytes_count_as_what_json_has_for_them)
{
	const struct path_key a = path_key_of_name("a\xff\xc3z", 4);
	const struct path_key b = path_key_of_name("a\xef\xbf\xbd\xef\xbf\xbdz", 8);

	assert_true(path_key_number(a) == path_key_number(b));
	assert_int_equal(path_key_of_file("\x80", 1), path_key_of_file("\xef\xbf\xbd", 3));
}
