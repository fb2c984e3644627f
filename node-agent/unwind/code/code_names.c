/*
 * Symbols have their names in any order, so the table of names is read once, from the start.
 * Linkers let a name be the end of another one: a symbol may begin within a string.
 */
#include "node-agent/unwind/code/code_names.h"

#include <errno.h>

#include "common/data/array.h"

#define NAME(text)                     \
	{                              \
		text, sizeof(text) - 1 \
	}
static const struct {
	const char *text;
	size_t len;
} never[] = {
	NAME("abort"),
	NAME("exit"),
	NAME("_exit"),
	NAME("_Exit"),
	NAME("quick_exit"),
	NAME("pthread_exit"),
	NAME("thrd_exit"),
	NAME("longjmp"),
	NAME("_longjmp"),
	NAME("siglongjmp"),
	NAME("__longjmp_chk"),
	NAME("err"),
	NAME("errx"),
	NAME("verr"),
	NAME("verrx"),
	NAME("__assert_fail"),
	NAME("__assert_perror_fail"),
	NAME("__stack_chk_fail"),
	NAME("__chk_fail"),
	NAME("__fortify_fail"),
	NAME("__libc_fatal"),
	NAME("_Unwind_Resume"),
	NAME("__cxa_throw"),
	NAME("__cxa_rethrow"),
	NAME("__cxa_throw_bad_array_new_length"),
	NAME("__cxa_bad_cast"),
	NAME("__cxa_pure_virtual"),
	NAME("_ZSt9terminatev"),
	NAME("_ZSt17__throw_bad_allocv"),
	NAME("_ZSt19__throw_logic_errorPKc"),
	NAME("_ZSt20__throw_length_errorPKc"),
	NAME("_ZSt20__throw_out_of_rangePKc"),
	NAME("_ZSt24__throw_out_of_range_fmtPKcz"),
	NAME("_ZSt28__throw_bad_array_new_lengthv"),
	NAME("_ZSt16__throw_bad_castv"),
	NAME("_ZSt25__throw_bad_function_callv"),
	NAME("_ZSt20__throw_system_errori"),
	NAME("_ZSt24__throw_invalid_argumentPKc"),
	NAME("_ZSt21__throw_runtime_errorPKc"),
	NAME("_ZSt19__throw_ios_failurePKc"),
	NAME("rust_panic"),
};

static const char part[] = ".cold";
#define PART_BYTES (sizeof(part) - 1)

static int add(struct code_names *n, uint64_t first, uint64_t last, enum code_name what)
{
	if (n->n == CODE_NAMES_MAX || last > UINT32_MAX)
		return 0;
	if (ARRAY_RESERVE(n->items, n->max, n->n + 1) < 0)
		return -ENOMEM;
	n->items[n->n++] = (struct code_name_place){
		.first = (uint32_t)first,
		.last = (uint32_t)last,
		.what = what,
	};
	return 0;
}

static bool ends_with(const uint8_t *string, size_t len, const char *end, size_t end_len)
{
	return len >= end_len && string[len - 1] == (uint8_t)end[end_len - 1] &&
	       memcmp(string + len - end_len, end, end_len) == 0;
}

/* The string at this offset of the table. */
static int look_at(struct code_names *n, const uint8_t *string, size_t len, uint64_t offset)
{
	if (len > PART_BYTES && ends_with(string, len, part, PART_BYTES))
		return add(n, offset, offset + len - PART_BYTES - 1, CODE_NAME_PART);
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		uint64_t at = offset + len - never[i].len;

		if (ends_with(string, len, never[i].text, never[i].len)) {
			int r = add(n, at, at, CODE_NAME_NEVER);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* The whole strings of a piece of the table. Stores how many bytes they have. */
static int look_through(struct code_names *n, const uint8_t *text, size_t len, uint64_t offset,
			size_t *ret_len)
{
	size_t at = 0;

	while (at < len) {
		const uint8_t *end = memchr(text + at, 0, len - at);
		int r;

		if (!end)
			break;
		r = look_at(n, text + at, (size_t)(end - text) - at, offset + at);
		if (r < 0)
			return r;
		at = (size_t)(end - text) + 1;
	}
	*ret_len = at;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct code_name_place *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

int code_names_find(struct code_names *ret, const struct elf_section *strings,
		    struct file_windows *windows)
{
	uint64_t at = 0;
	int r = 0;

	*ret = (struct code_names){.n = 0};
	while (r == 0 && at < strings->size_bytes) {
		uint64_t left = strings->size_bytes - at;
		size_t len =
			left < FILE_WINDOWS_LENGTH_MAX ? (size_t)left : FILE_WINDOWS_LENGTH_MAX;
		const uint8_t *text;
		size_t done = 0;

		r = file_windows_get(windows, strings->offset + at, len, &text);
		if (r == 0)
			r = look_through(ret, text, len, at, &done);
		at += done > 0 ? done : len; /* a longer string is none of these */
	}
	if (r < 0)
		code_names_fini(ret);
	else if (ret->n > 0)
		qsort(ret->items, ret->n, sizeof(*ret->items), compare);
	return r;
}

void code_names_fini(struct code_names *n)
{
	free(n->items);
	*n = (struct code_names){.n = 0};
}

enum code_name code_names_kind(const struct code_names *n, uint32_t name)
{
	uint32_t from = 0, to = n->n;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (n->items[middle].last < name)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == n->n || n->items[from].first > name)
		return CODE_NAME_PLAIN;
	return (enum code_name)n->items[from].what;
}
