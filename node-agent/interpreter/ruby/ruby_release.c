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
#define CORE_BYTES_MIN 8192u    /* of vm_exec_core(): 17 to 24 KB */
#define LOADS_BYTES 8u          /* between two loads */
#define SYMBOLS_BYTES 64u       /* of rb_sym_all_symbols(), up to where it loads the table */
#define RUNNER_BYTES_MAX 16384u /* of a function that runs compiled code: some 3 KB */
#define MOVE_BYTES 3u           /* mov %r,%rdi */

/* From vm_core.h, iseq.h and rstring.h of each release, as on 64-bit machines. */
static const struct release {
	uint16_t number; /* 100 * major + minor */
	struct ruby_layout layout;
} releases[] = {
	{207, {56, 120, 8, RUBY_CLASS_VARIABLES, 12, true, false, 0}},
	{300, {56, 120, 8, RUBY_CLASS_VARIABLES, 12, true, false, 0}},
	{301, {64, 120, 12, RUBY_CLASS_VARIABLES, 12, true, false, 0}},
	{302, {64, 112, 12, RUBY_CLASS_SHAPES, 12, false, true, 0}},
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

/* The register of mov 16(%r),%rsi, which has n bytes; 16: it is another instruction. */
static unsigned loaded_from(const uint8_t *code, size_t n)
{
	unsigned high = code[0] == 0x49 ? 8 : 0, low = code[2] & 7u;

	if ((code[0] != 0x48 && !high) || code[1] != 0x8b || code[n - 1] != 16)
		return 16;
	if (n == 5)
		return high && code[2] == 0x74 && code[3] == 0x24 ? 12 : 16;
	return (code[2] & 0xf8) == 0x70 && low != 4 ? high + low : 16;
}

/* The register of mov %r,%rdi; 17: it is another instruction. */
static unsigned moved_from(const uint8_t *code)
{
	unsigned high = code[0] == 0x4c ? 8 : 0;

	if ((code[0] != 0x48 && !high) || code[1] != 0x89 || (code[2] & 0xc7) != 0xc7)
		return 17;
	return high + (code[2] >> 3 & 7);
}

/*
 * Whether code calls a pointer with a rb_execution_context_t and its cfp: what Ruby's compilers
 * have made. C functions are called with a frame that is in a register by then.
 */
static bool runs_compiled(const uint8_t *code, size_t n)
{
	for (size_t i = MOVE_BYTES + 5; i + 3 <= n; i++) {
		const uint8_t *call = code + i + (code[i] == 0x41);

		if (call[0] != 0xff || (call[1] & 0xf8) != 0xd0)
			continue;
		for (size_t load = 4; load <= 5; load++) {
			const uint8_t *first = code + i - MOVE_BYTES - load;

			if (loaded_from(first, load) == moved_from(first + load) ||
			    loaded_from(first + MOVE_BYTES, load) == moved_from(first))
				return true;
		}
	}
	return false;
}

/*
 * Adds what the loop calls to run compiled code, if the compiler has not put it into the loop: it
 * is part of it likewise. Returns how many functions there are.
 */
static int add_runners(const struct elf_layout *layout, const struct byte_source *src,
		       uint64_t ret[RUBY_LOOPS_MAX], int n)
{
	struct interpreter_range calls[CALLS_MAX];
	AUTO_FREE uint8_t *code = NULL;
	int n_calls, r;

	if (layout->machine != EM_X86_64)
		return n;
	n_calls = interpreter_calls_find(layout, src, ret[n - 1], calls, CALLS_MAX);
	if (n_calls < 0)
		return n_calls;
	code = malloc(RUNNER_BYTES_MAX);
	if (!code)
		return -ENOMEM;
	for (int i = 0; i < n_calls && n < RUBY_LOOPS_MAX; i++) {
		size_t bytes = (size_t)(calls[i].end - calls[i].start);

		if (bytes > RUNNER_BYTES_MAX)
			continue;
		r = read_at(layout, src, calls[i].start, code, bytes);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r == 0 && runs_compiled(code, bytes))
			ret[n++] = calls[i].start;
	}
	return n;
}

int ruby_loops_find(const struct elf_layout *layout, const struct byte_source *src,
		    const uint64_t evals[2], uint64_t exec, uint64_t ret[RUBY_LOOPS_MAX])
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
	ret[1] = core.start;
	/* else the compiler has put it into its caller */
	return add_runners(layout, src, ret, core.end - core.start < CORE_BYTES_MIN ? 1 : 2);
}
