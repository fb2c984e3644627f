#include <errno.h>
#include <fcntl.h>

#include "common/symbols/symbol_file_writer.h"
#include "test/lib/unit.h"

static const uint8_t ID[] = {0xde, 0xad, 0xbe, 0xef};
#define BASE UINT64_C(0x401000)
#define N 300u

/* Functions of 16 bytes with a gap of 16 behind each; "f7" and, for each third, "src/f7.c". */
static void write_functions(struct buf *out)
{
	CLEANUP(symbol_file_writer_freep) struct symbol_file_writer *w = NULL;
	const struct symbol_file_segment segment = {BASE, 0x1000, 0x10000};
	char name[32], file[32];

	assert_int_equal(symbol_file_writer_new(&w, BASE, ID, sizeof(ID)), 0);
	symbol_file_writer_add_segment(w, &segment);
	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		snprintf(file, sizeof(file), "src/f%u.c", i);
		assert_int_equal(symbol_file_writer_add(w, BASE + 32 * (uint64_t)i,
							BASE + 32 * (uint64_t)i + 16, name,
							i % 3 == 0 ? file : NULL),
				 0);
	}
	assert_int_equal(symbol_file_writer_count(w), N);
	assert_int_equal(symbol_file_writer_finish(w, out), 0);
}

static int open_bytes(struct symbol_file **ret, const void *data, size_t len, struct err *err)
{
	const struct symbol_file_source src = {.data = data, .fd = -1, .n_bytes = len};

	return symbol_file_open(ret, &src, err);
}

static void check_names(const struct symbol_file *f)
{
	struct symbol_name found;
	char name[32];

	for (unsigned i = 0; i < N; i++) {
		uint64_t at = BASE + 32 * (uint64_t)i;

		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(symbol_file_find(f, at, &found), 0);
		assert_string_equal(found.name, name);
		assert_int_equal(found.file[0] != '\0', i % 3 == 0);
		assert_int_equal(symbol_file_find(f, at + 15, &found), 0);
		assert_string_equal(found.name, name);
		assert_int_equal(symbol_file_find(f, at + 16, &found), -ENOENT);
		assert_int_equal(symbol_file_find(f, at + 31, &found), -ENOENT);
	}
	assert_int_equal(symbol_file_find(f, BASE - 1, &found), -ENOENT);
	assert_int_equal(symbol_file_find(f, BASE + (UINT64_C(1) << 32), &found), -ENOENT);
	assert_int_equal(symbol_file_find(f, UINT64_MAX, &found), -ENOENT);
}

TEST(each_function_is_found_between_its_start_and_its_end)
{
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;

	buf_init(&out, 1 << 20);
	write_functions(&out);
	assert_int_equal(open_bytes(&f, out.data, out.len, NULL), 0);
	assert_int_equal(symbol_file_check(f, NULL), 0);
	assert_int_equal(symbol_file_header(f)->n_functions, N);
	assert_memory_equal(symbol_file_header(f)->build_id, ID, sizeof(ID));
	check_names(f);
}

TEST(names_are_read_from_a_file_as_from_memory)
{
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;
	struct symbol_file_source src = {.data = NULL};
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int fd = -1;

	buf_init(&out, 1 << 20);
	write_functions(&out);
	assert_true(asprintf(&path, "%s/x", temp_dir()) > 0);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, out.data, out.len), out.len);
	src.fd = fd;
	src.n_bytes = out.len;
	assert_int_equal(symbol_file_open(&f, &src, NULL), 0);
	check_names(f);
}

TEST(an_offset_in_the_file_is_an_address_only_where_code_is)
{
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;
	uint64_t vaddr = 0;

	buf_init(&out, 1 << 20);
	write_functions(&out);
	assert_int_equal(open_bytes(&f, out.data, out.len, NULL), 0);
	assert_int_equal(symbol_file_address(f, 0x1010, &vaddr), 0);
	assert_int_equal(vaddr, BASE + 0x10);
	assert_int_equal(symbol_file_address(f, 0xfff, &vaddr), -ENOENT);
	assert_int_equal(symbol_file_address(f, 0x11000, &vaddr), -ENOENT);
}

TEST(what_a_writer_gets_must_be_in_order)
{
	CLEANUP(symbol_file_writer_freep) struct symbol_file_writer *w = NULL;

	assert_int_equal(symbol_file_writer_new(&w, BASE, ID, sizeof(ID)), 0);
	assert_int_equal(symbol_file_writer_add(w, BASE + 8, BASE + 16, "a", NULL), 0);
	assert_int_equal(symbol_file_writer_add(w, BASE + 15, BASE + 20, "b", NULL), -EINVAL);
	assert_int_equal(symbol_file_writer_add(w, BASE + 16, BASE + 16, "b", NULL), -EINVAL);
	assert_int_equal(symbol_file_writer_add(w, BASE + 16, BASE + 17, "", NULL), -EINVAL);
	assert_int_equal(symbol_file_writer_add(w, BASE - 1, BASE + 17, "b", NULL), -EFBIG);
	assert_int_equal(
		symbol_file_writer_add(w, BASE + 16, BASE + (UINT64_C(1) << 32), "b", NULL),
		-EFBIG);
}

/* Changes 4 bytes at an offset and expects the file to be refused. */
static void refuse(const struct buf *good, size_t at, uint32_t value, const char *why)
{
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;
	AUTO_FREE char *bad = malloc(good->len);
	struct err err = {.msg = ""};

	assert_non_null(bad);
	memcpy(bad, good->data, good->len);
	memcpy(bad + at, &value, sizeof(value));
	assert_int_equal(open_bytes(&f, bad, good->len, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, why));
}

TEST(what_is_no_table_is_refused)
{
	const size_t functions =
		sizeof(struct symbol_file_header) + sizeof(struct symbol_file_segment);
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;

	buf_init(&out, 1 << 20);
	write_functions(&out);
	refuse(&out, 0, 1, "begins with something else");
	refuse(&out, offsetof(struct symbol_file_header, n_segments), 17, "too large");
	refuse(&out, offsetof(struct symbol_file_header, n_functions), N - 1, "incomplete");
	refuse(&out, offsetof(struct symbol_file_header, n_functions), UINT32_MAX, "too large");
	refuse(&out, offsetof(struct symbol_file_header, text_bytes), UINT32_MAX, "incomplete");
	refuse(&out, offsetof(struct symbol_file_header, build_id_bytes), 0, "no build id");
	refuse(&out, offsetof(struct symbol_file_header, build_id_bytes), 33, "no build id");
	refuse(&out, functions, 64, "not in order");
	refuse(&out, functions + 4, 0, "not in order");
	refuse(&out, functions + 4, UINT32_MAX, "not in order");
	refuse(&out, functions + 8, 0, "outside of its text");
	refuse(&out, functions + 8, UINT32_MAX, "outside of its text");
	refuse(&out, functions + 12, UINT32_MAX, "outside of its text");
	refuse(&out, out.len - 4, UINT32_MAX, "text does not end");
	for (size_t len = 0; len < out.len; len += 41)
		assert_int_equal(open_bytes(&f, out.data, len, NULL), -EBADMSG);
}

TEST(a_changed_byte_is_found_by_the_checksum)
{
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;

	buf_init(&out, 1 << 20);
	write_functions(&out);
	out.data[out.len - 3] ^= 1;
	assert_int_equal(open_bytes(&f, out.data, out.len, NULL), 0);
	assert_int_equal(symbol_file_check(f, NULL), -EBADMSG);
}

TEST(texts_of_strangers_become_printable_and_short)
{
	CLEANUP(symbol_file_writer_freep) struct symbol_file_writer *w = NULL;
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;
	CLEANUP(buf_fini) struct buf out;
	struct symbol_name found;
	char name[3000];

	buf_init(&out, 1 << 20);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(symbol_file_writer_new(&w, 0, ID, sizeof(ID)), 0);
	assert_int_equal(symbol_file_writer_add(w, 0, 8, "a\x1b[31m\xff", "my file\n.c"), 0);
	assert_int_equal(symbol_file_writer_add(w, 8, 16, name, NULL), 0);
	assert_int_equal(symbol_file_writer_finish(w, &out), 0);
	assert_int_equal(open_bytes(&f, out.data, out.len, NULL), 0);
	assert_int_equal(symbol_file_find(f, 0, &found), 0);
	assert_string_equal(found.name, "a?[31m?");
	assert_string_equal(found.file, "my_file?.c");
	assert_int_equal(symbol_file_find(f, 8, &found), 0);
	assert_int_equal(strlen(found.name), LIMIT_SYMBOL_NAME_BYTES);
}

TEST(a_table_without_functions_has_no_names)
{
	CLEANUP(symbol_file_writer_freep) struct symbol_file_writer *w = NULL;
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;
	CLEANUP(buf_fini) struct buf out;
	struct symbol_name found;

	buf_init(&out, 1 << 20);
	assert_int_equal(symbol_file_writer_new(&w, 0, ID, sizeof(ID)), 0);
	assert_int_equal(symbol_file_writer_finish(w, &out), 0);
	assert_int_equal(open_bytes(&f, out.data, out.len, NULL), 0);
	assert_int_equal(symbol_file_find(f, 0, &found), -ENOENT);
}

TEST(a_build_id_is_an_even_number_of_small_digits)
{
	static const char *const bad[] = {"", "a", "abc", "AB", "0x12", "zz", "12 4"};
	uint8_t id[SYMBOL_BUILD_ID_MAX_BYTES];
	char text[2 * SYMBOL_BUILD_ID_MAX_BYTES + 1], longest[65];

	assert_int_equal(symbol_build_id_parse("deadbeef", 8, id), 4);
	assert_memory_equal(id, ID, 4);
	symbol_build_id_text(id, 4, text);
	assert_string_equal(text, "deadbeef");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(symbol_build_id_parse(bad[i], strlen(bad[i]), id), 0);
	memset(longest, 'f', sizeof(longest));
	assert_int_equal(symbol_build_id_parse(longest, 64, id), 32);
	assert_int_equal(symbol_build_id_parse(longest, 66, id), 0);
}

static int make(void *arg)
{
	CLEANUP(symbol_file_writer_freep) struct symbol_file_writer *w = NULL;
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;
	CLEANUP(buf_fini) struct buf out;
	int r;

	(void)arg;
	buf_init(&out, 1 << 20);
	r = symbol_file_writer_new(&w, 0, ID, sizeof(ID));
	if (r == 0)
		r = symbol_file_writer_add(w, 0, 8, "name", "file");
	if (r == 0)
		r = symbol_file_writer_finish(w, &out);
	if (r == 0)
		r = open_bytes(&f, out.data, out.len, NULL);
	return r == 0 ? symbol_file_check(f, NULL) : r;
}

TEST(every_failed_allocation_is_reported)
{
	check_oom(make, NULL);
}
