#include <stdio.h>

#include "common/flame/frame_text.h"
#include "test/lib/unit.h"

struct sample {
	const char *text;
	const char *name;
	const char *file;
	int64_t line;
	bool inlined;
};

static const struct sample samples[] = {
	{"main.work /src/app/main.go:42", "main.work", "/src/app/main.go", 42},
	{"operator new(unsigned long) [libstdc++.so.6]:0", "operator new(unsigned long)",
	 "[libstdc++.so.6]", 0},
	{"std::map<int, char>::find(int const&) map.h:7", "std::map<int, char>::find(int const&)",
	 "map.h", 7},
	/* as Coroot's node-agent writes them */
	{"tcp_sendmsg :0", "tcp_sendmsg", "", 0},
	{"[truncated] :0", "[truncated]", "", 0},
	{"libc.so.6+0x1234 [libc.so.6]:0", "libc.so.6+0x1234", "[libc.so.6]", 0},
	/* colons in the name and in the file */
	{"std::sort<T> C:/x.cpp:9", "std::sort<T>", "C:/x.cpp", 9},
	{"a::b c::d", "a::b c::d", "", 0},
	/* of another form: all name */
	{"", "", "", 0},
	{" ", " ", "", 0},
	{"name", "name", "", 0},
	{"two words", "two words", "", 0},
	{"name file:", "name file:", "", 0},
	{"name file:12x", "name file:12x", "", 0},
	{"name file:99999999999999999999", "name file:99999999999999999999", "", 0},
	{"name:12", "name:12", "", 0},
	{"name file:-1", "name", "file", 0},
	{" :0", "", "", 0},
	{" file:3", "", "file", 3},
	{"main.add /src/app/main.go:7:inlined", "main.add", "/src/app/main.go", 7, true},
	{"add :0:inlined", "add", "", 0, true},
	/* the mark belongs to a line */
	{":inlined", ":inlined", "", 0},
	{"name:inlined", "name:inlined", "", 0},
	{"two words:inlined", "two words:inlined", "", 0},
	{"name file:7:inlined:inlined", "name file:7:inlined:inlined", "", 0},
	{"name file:7:inline", "name file:7:inline", "", 0},
};

TEST(is_split_from_the_right)
{
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		const struct sample *s = &samples[i];
		struct frame_text t;

		frame_text_split(&t, s->text, strlen(s->text));
		assert_int_equal(t.name_len, strlen(s->name));
		assert_memory_equal(t.name, s->name, t.name_len);
		assert_int_equal(t.file_len, strlen(s->file));
		assert_memory_equal(t.file, s->file, t.file_len);
		assert_int_equal(t.line, s->line);
		assert_int_equal(t.inlined, s->inlined);
	}
}

TEST(does_not_read_beyond_its_length)
{
	struct frame_text t;

	frame_text_split(&t, "name file:12", strlen("name file:1"));
	assert_int_equal(t.line, 1);
	frame_text_split(&t, "name file:12", strlen("name"));
	assert_int_equal(t.name_len, 4);
	assert_int_equal(t.file_len, 0);
}

/* The page's test reads the same file. */
TEST(files_of_two_releases_have_one_key)
{
	char long_file[FRAME_FILE_KEY_MAX + 1], buf[FRAME_FILE_KEY_MAX];
	FILE *f = fopen("test/data/file_keys.tsv", "re");
	char line[2048];
	const char *key;
	int n = 0;

	assert_non_null(f);
	for (; fgets(line, sizeof(line), f); n++) {
		char *expected = line, *file = strsep(&expected, "\t");
		size_t len = frame_file_key(file, strlen(file), buf, &key);

		assert_non_null(expected);
		expected[strcspn(expected, "\n")] = '\0';
		assert_int_equal(len, strlen(expected));
		assert_memory_equal(key, expected, len);
	}
	fclose(f);
	assert_true(n > 10);
	memset(long_file, '/', sizeof(long_file));
	assert_int_equal(frame_file_key(long_file, sizeof(long_file), buf, &key),
			 sizeof(long_file));
	assert_ptr_equal(key, long_file);
}

static bool is_native(const char *file)
{
	return frame_file_is_native(file, strlen(file));
}

static bool is_label(const char *file)
{
	return frame_file_is_label(file, strlen(file));
}

TEST(native_files_are_told_from_those_of_interpreters)
{
	assert_true(is_native("main.c"));
	assert_true(is_native("/usr/include/c++/12/vector"));
	assert_true(is_native("library/core/src/slice/sort.rs"));
	assert_true(is_native("memmove-vec-unaligned-erms.S"));
	assert_false(is_native(""));
	assert_false(is_native("."));
	assert_false(is_native("a."));
	assert_false(is_native("c"));
	assert_false(is_native("app.d/run"));
	assert_false(is_native("/app/main.py"));
	assert_false(is_native("/src/net/http/server.go"));
	assert_false(is_native("a.verylongending"));
	assert_false(is_native("[libc.so.6]"));
	assert_true(is_label("[libc.so.6]"));
	assert_true(is_label("[kernel.so]"));
	assert_false(is_label("[kernel]"));
	assert_false(is_label("[]"));
	assert_false(is_label("main.c"));
	assert_false(is_label(""));
}
