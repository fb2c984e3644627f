/*
 * Files of distributions have no symbols but exported ones, and those of the loop and of the table
 * of names are not among them. They are found by what exported functions call and load.
 */
#include "node-agent/interpreter/ruby/ruby_release.h"

#include <elf.h>
#include <errno.h>

#include "common/elf/eh_function.h"
#include "node-agent/interpreter/interpreter_loops.h"

#define CALLS_MAX 128u
#define CORE_BYTES_MIN 8192u /* of vm_exec_core(): 17 to 24 KB */
#define LOADS_BYTES 8u       /* between two loads */
#define SYMBOLS_BYTES 64u    /* of rb_sym_all_symbols(), up to where it loads the table */

/* From vm_core.h, iseq.h and rstring.h of each release, as on 64-bit machines. */
static const struct release {
	uint16_t number; /* 100 * major + minor */
	struct ruby_layout layout;
} releases[] = {
	{207, {56, 120, 8, RUBY_CLASS_VARIABLES, 12, true, false, 0}},
	{300, {56, 120, 8, RUBY_CLASS_VARIABLES, 12, true, false, 0}},
	{301, {64, 120, 12, RUBY_CLASS_VARIABLES, 12, true, false, 0}},
	{302, {64, 112, 12, RUBY_CLASS_NAMELESS, 12, false, true, 0}},
	{303, {56, 112, 12, RUBY_CLASS_FIELDS, 12, false, true, 0}},
	{304, {56, 112, 12, RUBY_CLASS_FIELDS, 13, false, true, 0}},
	{400, {56, 112, 12, RUBY_CLASS_BOXED, 13, false, true, 0}},
};

static int read_at(const struct elf_layout *layout, const struct byte_source *src, uint64_t vaddr,
		   void *to, size_t n)
{
	uint64_t offset;
	int r = elf_layout_offset(layout, vaddr, &offset);

	if (r == 0)
		r = byte_source_read(src, offset, to, n);
	return r == -ENODATA ? -ENOENT : r;
}

/* ---- releases ---- */

/* "3.1.2"; 0: it is none. */
static unsigned number_of(const char *text)
{
	if (text[0] < '0' || text[0] > '9' || text[1] != '.' || text[2] < '0' || text[2] > '9' ||
	    text[3] != '.')
		return 0;
	return (unsigned)(text[0] - '0') * 100 + (unsigned)(text[2] - '0');
}

int ruby_release_find(const struct elf_layout *layout, const struct byte_source *src,
		      uint64_t version, struct ruby_layout *ret)
{
	char text[4];
	int r = read_at(layout, src, version, text, sizeof(text));

	if (r < 0)
		return r == -ENOENT ? -ENOTSUP : r;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		if (releases[i].number == number_of(text)) {
			*ret = releases[i].layout;
			return 0;
		}
	}
	return -ENOTSUP;
}

/* ---- the table of names ---- */

int ruby_symbols_find(const struct elf_layout *layout, const struct byte_source *src,
		      uint64_t function, uint64_t *ret)
{
	uint8_t code[SYMBOLS_BYTES];
	int r = read_at(layout, src, function, code, sizeof(code));

	if (r < 0)
		return r;
	for (size_t i = 0; layout->machine == EM_X86_64 && i + 7 <= sizeof(code); i++) {
		size_t end = i + 7, left = sizeof(code) - end;
		int32_t distance;

		/* mov symbols.str_sym,%rax; soon: mov num_entries(%rax),%rdi */
		if (memcmp(code + i, "\x48\x8b\x05", 3) != 0 ||
		    !memmem(code + end, left < LOADS_BYTES ? left : LOADS_BYTES, "\x48\x8b\x78\x10",
			    4))
			continue;
		memcpy(&distance, code + i + 3, sizeof(distance));
		*ret = function + end + (uint64_t)(int64_t)distance + sizeof(uint64_t);
		return 0;
	}
	return -ENOENT;
}

/* ---- the loop ---- */

/* Which function both call. */
static int find_exec(const struct elf_layout *layout, const struct byte_source *src,
		     const uint64_t evals[2], uint64_t *ret)
{
	struct interpreter_range calls[2][CALLS_MAX];
	int n[2];

	for (size_t i = 0; i < 2; i++) {
		n[i] = evals[i] ? interpreter_calls_find(layout, src, evals[i], calls[i], CALLS_MAX)
				: 0;
		if (n[i] < 0)
			return n[i];
	}
	*ret = 0;
	for (int i = 0; i < n[0]; i++) {
		for (int j = 0; j < n[1]; j++) {
			if (calls[0][i].start == calls[1][j].start)
				*ret = calls[0][i].start;
		}
	}
	return *ret ? 0 : -ENOENT;
}

int ruby_loops_find(const struct elf_layout *layout, const struct byte_source *src,
		    const uint64_t evals[2], uint64_t exec, uint64_t ret[2])
{
	struct interpreter_range calls[CALLS_MAX], core = {0};
	int n, r = exec ? 0 : find_exec(layout, src, evals, &exec);

	if (r < 0)
		return r;
	ret[0] = exec;
	n = interpreter_calls_find(layout, src, exec, calls, CALLS_MAX);
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		if (calls[i].end - calls[i].start > core.end - core.start)
			core = calls[i];
	}
	if (core.end - core.start < CORE_BYTES_MIN) /* the compiler has put it into its caller */
		return 1;
	ret[1] = core.start;
	return 2;
}
