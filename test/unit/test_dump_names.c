/* Jitdumps that the test makes up, in the layout that perf's specification has. */
#include <errno.h>

#include "common/data/buf.h"
#include "node-agent/jit/jit_dump.h"
#include "node-agent/symbol/dump_names.h"
#include "test/lib/unit.h"

#define MAX_BYTES ((size_t)1024 * 1024)

/* ---- the file ---- */

static void put(struct buf *b, const void *data, size_t len)
{
	assert_int_equal(buf_add(b, data, len), 0);
}

static void put_u32(struct buf *b, uint32_t x)
{
	put(b, &x, sizeof(x));
}

static void put_u64(struct buf *b, uint64_t x)
{
	put(b, &x, sizeof(x));
}

static void put_header(struct buf *b)
{
	put_u32(b, 0x4a695444);
	put_u32(b, 1);
	put_u32(b, JIT_DUMP_HEADER_BYTES);
	for (unsigned i = 0; i < 3; i++)
		put_u32(b, 7);
	put_u64(b, 123);
	put_u64(b, 0);
}

static void put_head(struct buf *b, uint32_t id, size_t body)
{
	put_u32(b, id);
	put_u32(b, (uint32_t)(16 + body));
	put_u64(b, 123);
}

static void put_code(struct buf *b, uint64_t address, uint64_t size, uint64_t index,
		     const char *name)
{
	static const char code[2 * JIT_DUMP_NAME_BYTES];

	put_head(b, 0, 40 + strlen(name) + 1 + sizeof(code));
	put_u64(b, 7);
	put_u64(b, address);
	put_u64(b, address);
	put_u64(b, size);
	put_u64(b, index);
	put(b, name, strlen(name) + 1);
	put(b, code, sizeof(code));
}

static void put_move(struct buf *b, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	put_head(b, 1, 48);
	put_u64(b, 7);
	put_u64(b, to);
	put_u64(b, from);
	put_u64(b, to);
	put_u64(b, size);
	put_u64(b, index);
}

struct entry {
	uint64_t address;
	uint32_t line;
	const char *file;
};

static void put_lines(struct buf *b, uint64_t address, const struct entry *entries, size_t n)
{
	size_t bytes = 16;

	for (size_t i = 0; i < n; i++)
		bytes += 16 + strlen(entries[i].file) + 1;
	put_head(b, 2, bytes);
	put_u64(b, address);
	put_u64(b, n);
	for (size_t i = 0; i < n; i++) {
		put_u64(b, entries[i].address);
		put_u32(b, entries[i].line);
		put_u32(b, 0);
		put(b, entries[i].file, strlen(entries[i].file) + 1);
	}
}

static void put_unwinding(struct buf *b, const char *eh_frame, const char *header)
{
	size_t frame = strlen(eh_frame), head = strlen(header);

	put_head(b, 4, 24 + frame + head);
	put_u64(b, frame + head);
	put_u64(b, head);
	put_u64(b, frame + head);
	put(b, eh_frame, frame);
	put(b, header, head);
}

/* ---- what is read of it ---- */

static struct dump_names *names_of(const struct buf *b)
{
	struct dump_names *d;

	assert_int_equal(dump_names_new(&d, MAX_BYTES), 0);
	assert_int_equal(dump_names_add(d, b->data, b->len), 0);
	return d;
}

/* function NULL: none. */
static void expect(struct dump_names *d, uint64_t address, const char *function, const char *file,
		   uint32_t line)
{
	struct perf_map_name name;
	int r = dump_names_find(d, address, &name);

	assert_int_equal(r, function ? 0 : -ENOENT);
	if (!function)
		return;
	assert_string_equal(name.function, function);
	assert_string_equal(name.file, file);
	assert_int_equal(name.at_line, line);
}

TEST(functions_have_names_and_the_newest_has_an_address)
{
	CLEANUP(buf_fini) struct buf b;
	CLEANUP(dump_names_freep) struct dump_names *d = NULL;

	buf_init(&b, MAX_BYTES);
	put_header(&b);
	put_code(&b, 0x1000, 0x100, 1, "py::run:/app/a.py");
	put_code(&b, 0x1080, 0x20, 2, "inside; [odd] \xff");
	put_head(&b, 3, 0);  /* the end of another process's, which was appended to */
	put_head(&b, 99, 8); /* of a later version */
	put_u64(&b, 0);
	put_code(&b, 0x2000, 0x10, 3, "next");
	d = names_of(&b);
	expect(d, 0xfff, NULL, NULL, 0);
	expect(d, 0x1000, "run", "/app/a.py", 0);
	expect(d, 0x1080, "inside; [odd] ?", "[jit]", 0);
	expect(d, 0x10a0, "run", "/app/a.py", 0);
	expect(d, 0x2008, "next", "[jit]", 0);
	assert_false(dump_names_is_broken(d));
}

TEST(code_that_moved_has_its_name_where_it_is_now)
{
	CLEANUP(buf_fini) struct buf b;
	CLEANUP(dump_names_freep) struct dump_names *d = NULL;

	buf_init(&b, MAX_BYTES);
	put_header(&b);
	put_code(&b, 0x1000, 0x100, 1, "first");
	put_code(&b, 0x2000, 0x100, 2, "second");
	put_move(&b, 0x1000, 0x3000, 0x100, 1);
	put_code(&b, 0x1000, 0x100, 3, "third");
	put_move(&b, 0x3000, 0x4000, 0x80, 1);
	put_move(&b, 0x5000, 0x6000, 0x80, 77); /* of nothing */
	d = names_of(&b);
	expect(d, 0x1000, "third", "[jit]", 0);
	expect(d, 0x2000, "second", "[jit]", 0);
	expect(d, 0x4010, "first", "[jit]", 0);
	expect(d, 0x4090, NULL, NULL, 0);
	expect(d, 0x6000, NULL, NULL, 0);
}

TEST(lines_are_those_of_the_functions_own_file)
{
	static const struct entry lines[] = {{0x2000, 10, "/a b.c"},
					     {0x2010, 12, "\xff"},
					     {0x2018, 900, "/in.h"},
					     {0x2020, 14, "/a b.c"},
					     {0x9000, 99, "/a b.c"}};
	/* V8 counts an ELF header */
	static const struct entry v8[] = {{0x3040, 7, "file:///app/x.js"},
					  {0x3060, 9, "file:///app/x.js"}};
	CLEANUP(buf_fini) struct buf b;
	CLEANUP(dump_names_freep) struct dump_names *d = NULL;
	struct perf_map_name name;

	buf_init(&b, MAX_BYTES);
	put_header(&b);
	put_lines(&b, 0x2000, lines, ARRAY_SIZE(lines));
	put_code(&b, 0x2000, 0x40, 1, "f");
	put_lines(&b, 0x3000, v8, ARRAY_SIZE(v8));
	put_code(&b, 0x3000, 0x40, 2, "JS:*g file:///app/x.js:6:1");
	put_lines(&b, 0x4000, lines, ARRAY_SIZE(lines)); /* of another address */
	put_code(&b, 0x5000, 0x40, 3, "h");
	put_code(&b, 0x4000, 0x40, 4, "i");
	d = names_of(&b);
	expect(d, 0x2000, "f", "/a_b.c", 10);
	expect(d, 0x2017, "f", "/a_b.c", 12);
	expect(d, 0x2018, "f", "/a_b.c", 12);
	expect(d, 0x2030, "f", "/a_b.c", 14);
	expect(d, 0x301f, "g", "/app/x.js", 7);
	expect(d, 0x3020, "g", "/app/x.js", 9);
	expect(d, 0x5000, "h", "[jit]", 0);
	expect(d, 0x4000, "i", "[jit]", 0);
	assert_int_equal(dump_names_find(d, 0x3000, &name), 0);
	assert_int_equal(name.line, 6);
}

TEST(pieces_may_end_anywhere_and_code_need_not_be_read)
{
	static const struct entry lines[] = {{0x2000, 10, "/a.c"}, {0x2010, 12, "/a.c"}};
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, MAX_BYTES);
	put_header(&b);
	put_code(&b, 0x1000, 0x10, 1, "first");
	put_lines(&b, 0x2000, lines, ARRAY_SIZE(lines));
	put_code(&b, 0x2000, 0x40, 2, "second");
	for (size_t step = 1; step < 2 * b.len; step += step / 4 + 1) {
		CLEANUP(dump_names_freep) struct dump_names *d = NULL;
		size_t skipped = 0;

		assert_int_equal(dump_names_new(&d, MAX_BYTES), 0);
		for (size_t i = 0; i < b.len;) {
			size_t n = (size_t)dump_names_skip(d, b.len - i);

			skipped += n;
			if (n == 0) {
				n = step < b.len - i ? step : b.len - i;
				assert_int_equal(dump_names_add(d, b.data + i, n), 0);
			}
			i += n;
		}
		assert_true(skipped > JIT_DUMP_NAME_BYTES || step > 1000);
		expect(d, 0x1000, "first", "[jit]", 0);
		expect(d, 0x2020, "second", "/a.c", 12);
	}
}

TEST(what_is_no_dump_is_not_read)
{
	CLEANUP(buf_fini) struct buf b;
	CLEANUP(dump_names_freep) struct dump_names *zeros = NULL;
	CLEANUP(dump_names_freep) struct dump_names *d = NULL;
	const char nothing[64] = {0};

	assert_int_equal(dump_names_new(&zeros, MAX_BYTES), 0);
	assert_int_equal(dump_names_add(zeros, nothing, sizeof(nothing)), 0);
	assert_true(dump_names_is_broken(zeros));
	buf_init(&b, MAX_BYTES);
	put_header(&b);
	put_code(&b, 0x1000, 0x10, 1, "first");
	put(&b, nothing, 16); /* no record has no size */
	put_code(&b, 0x2000, 0x10, 1, "behind");
	d = names_of(&b);
	assert_true(dump_names_is_broken(d));
	expect(d, 0x1000, "first", "[jit]", 0);
	expect(d, 0x2000, NULL, NULL, 0);
}

TEST(memory_is_bounded_and_moves_end)
{
	enum { N = 2000 };
	CLEANUP(dump_names_freep) struct dump_names *d = NULL;
	CLEANUP(buf_fini) struct buf b;
	char name[32];

	buf_init(&b, 64 * MAX_BYTES);
	put_header(&b);
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(name, sizeof(name), "f%u", i);
		put_code(&b, 0x100000 + 16 * i, 16, i, name);
	}
	for (unsigned i = 0; i < 20 * N; i++)
		put_move(&b, 0, 16 * i, 16, UINT64_MAX - i); /* nobody's: each looks at all */
	d = names_of(&b);
	assert_in_range(dump_names_bytes(d), 1, 2 * MAX_BYTES);
	expect(d, 0x100000 + 16 * (N - 1), "f1999", "[jit]", 0);
}

struct last {
	struct jit_dump_code code;
	char eh_frame[64];
};

static int keep_code(void *ctx, const struct jit_dump_code *c)
{
	struct last *l = ctx;

	l->code = *c;
	assert_true(c->eh_frame_len < sizeof(l->eh_frame));
	memcpy(l->eh_frame, c->eh_frame ?: "", c->eh_frame_len);
	l->eh_frame[c->eh_frame_len] = '\0';
	return 0;
}

TEST(unwinding_is_of_the_function_behind_it)
{
	CLEANUP(jit_dump_freep) struct jit_dump *d = NULL;
	CLEANUP(buf_fini) struct buf b;
	struct last last = {0};
	const struct jit_dump_sink sink = {.on_code = keep_code, .ctx = &last};

	buf_init(&b, MAX_BYTES);
	put_header(&b);
	put_unwinding(&b, "frames", "header");
	put_code(&b, 0x1000, 0x10, 1, "first");
	assert_int_equal(jit_dump_new(&d, &sink), 0);
	assert_int_equal(jit_dump_add(d, b.data, b.len), 0);
	assert_string_equal(last.eh_frame, "frames");
	assert_int_equal(last.code.address, 0x1000);
	b.len = 0;
	put_code(&b, 0x2000, 0x10, 2, "second");
	assert_int_equal(jit_dump_add(d, b.data, b.len), 0);
	assert_int_equal(last.code.address, 0x2000);
	assert_null(last.code.eh_frame);
}
