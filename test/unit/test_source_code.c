#include "cluster-agent/source/source_code.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "test/lib/unit.h"

static const char *dir;

static const char *in_dir(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void write_bytes(const char *name, const void *data, size_t len)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* A folder "src" with all kinds of files, and a secret beside it. */
static int make_files(void **state)
{
	(void)state;
	dir = temp_dir();
	if (mkdir(in_dir("src"), 0700) < 0 || mkdir(in_dir("src/sub"), 0700) < 0 ||
	    mkdir(in_dir("out"), 0700) < 0)
		return -1;
	write_bytes("secret", "secret", 6);
	write_bytes("out/a.c", "out", 3);
	write_bytes("src/sub/a.c", "int a;\n", 7);
	write_bytes("src/empty.c", "", 0);
	write_bytes("src/binary", "a\0b", 3);
	write_bytes("src/latin.c", "\xe4\n", 2);
	if (symlink("../secret", in_dir("src/link.c")) < 0 ||
	    symlink("../out", in_dir("src/away")) < 0 || symlink("src", in_dir("current")) < 0)
		return -1;
	return mkfifo(in_dir("src/pipe"), 0600);
}

GROUP_FIXTURE(make_files, NULL)

static const char *read_as(const char *folder, const char *file)
{
	static char text[256];
	CLEANUP(source_code_freep) struct source_code *s = NULL;
	CLEANUP(buf_fini) struct buf out;
	char option[256];
	struct err why = {""};
	int r;

	snprintf(option, sizeof(option), "/build=%s/%s", dir, folder);
	buf_init(&out, SOURCE_CODE_MAX_BYTES);
	assert_int_equal(source_code_new(&s, option, NULL, NULL), 0);
	r = source_code_read(s, file, &out, &why);
	if (r < 0)
		assert_int_equal(r, -ENOENT);
	snprintf(text, sizeof(text), "%s", r < 0 ? why.msg : out.len > 0 ? out.data : "");
	return text;
}

TEST(the_text_of_a_file_is_read)
{
	assert_string_equal(read_as("src", "/build/sub/a.c"), "int a;\n");
	assert_string_equal(read_as("src", "/build/empty.c"), "");
	assert_string_equal(read_as("src", "/build/latin.c"), "?\n");
	/* the folder itself may be a link */
	assert_string_equal(read_as("current", "/build/sub/a.c"), "int a;\n");
}

TEST(links_do_not_lead_out_of_a_folder)
{
	assert_string_equal(read_as("src", "/build/link.c"),
			    "\"link.c\" is a symbolic link, and these are not followed");
	assert_string_equal(read_as("src", "/build/away/a.c"),
			    "\"away/a.c\" is not in the folders of --source-path");
	assert_string_equal(read_as("src", "/build/../secret"),
			    "no folder of --source-path is for files with this name");
	assert_string_equal(read_as("src", "/etc/passwd"),
			    "no folder of --source-path is for files with this name");
}

TEST(what_is_no_text_is_not_shown)
{
	int fd;

	assert_string_equal(read_as("src", "/build/binary"), "\"binary\" is not a text");
	assert_string_equal(read_as("src", "/build/sub"), "\"sub\" is not a file");
	assert_string_equal(read_as("src", "/build/pipe"), "\"pipe\" is not a file");
	fd = open(in_dir("src/large.c"), O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)SOURCE_CODE_MAX_BYTES + 1), 0);
	close(fd);
	assert_string_equal(read_as("src", "/build/large.c"), "\"large.c\" is larger than 2 MiB");
}

TEST(the_next_folder_is_tried_where_a_file_is_missing)
{
	CLEANUP(source_code_freep) struct source_code *s = NULL;
	CLEANUP(buf_fini) struct buf out;
	char option[512];

	snprintf(option, sizeof(option), "%s/src,%s/out", dir, dir);
	buf_init(&out, 100);
	assert_int_equal(source_code_new(&s, option, NULL, NULL), 0);
	assert_true(source_code_has_folders(s));
	assert_int_equal(source_code_read(s, "a.c", &out, NULL), 0);
	assert_string_equal(out.data, "out");
}

TEST(without_the_options_there_is_nothing)
{
	CLEANUP(source_code_freep) struct source_code *s = NULL;
	struct err err = {""};

	assert_int_equal(source_code_new(&s, NULL, NULL, NULL), 0);
	assert_false(source_code_has_folders(s));
	source_code_free(TAKE_PTR(s));
	assert_int_equal(source_code_new(&s, "/a", "x", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--source-url-template"));
}
