/*
 * Where functions begin, of code whose exception tables say it as well: the two are compared.
 *
 * With arguments, prints the same for these files.
 */
#include "common/elf/code_starts.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/elf/eh_function.h"
#include "test/lib/unit.h"

#define TEXT 0x401000u
#define PIECE 262144u
#define MARGIN 4096u

static bool starts_at(const uint8_t *code, size_t len, uint16_t machine, uint32_t at)
{
	struct code_starts s;
	bool found = false;

	assert_int_equal(code_starts_find(&s, code, len, TEXT, machine), 0);
	for (uint32_t i = 0; i < s.n; i++) {
		assert_true(s.items[i] < len && (i == 0 || s.items[i - 1] < s.items[i]));
		found |= s.items[i] == at;
	}
	code_starts_fini(&s);
	return found;
}

#define STARTS_AT(at, ...)                                                                \
	starts_at((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), \
		  EM_X86_64, at)

#define NOP5 0x0f, 0x1f, 0x44, 0, 0
#define NOP8 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0

TEST(a_function_begins_where_a_call_leads)
{
	const uint8_t code[] = {
		0xe8, 2,    0, 0, 0, /* 0 call 7 */
		0x31, 0xc0,          /* 5 xor %eax, %eax */
		0xc3,                /* 7 ret */
	};

	assert_true(starts_at(code, sizeof(code), EM_X86_64, 7));
	assert_false(starts_at(code, sizeof(code), EM_X86_64, 5));
}

TEST(a_function_begins_behind_padding)
{
	assert_true(STARTS_AT(16, 0x31, 0xc0, 0xc3, NOP5, NOP8, 0x31, 0xc9, 0xc3));
	/* but not a loop */
	assert_false(STARTS_AT(16, 0xeb, 0x10, 0x90, NOP5, NOP8, 0x01, 0xc8, /* 16 add */
			       0x83, 0xe9, 1,                                /* 18 sub $1, %ecx */
			       0x85, 0xc9, /* 21 test %ecx, %ecx */
			       0x75, 0xf7, /* 23 jne 16 */
			       0xc3));     /* 25 ret */
}

TEST(what_frees_the_stack_of_another_is_no_function)
{
	assert_false(STARTS_AT(16, 0x53, 0xff, 0xe0, NOP5, NOP8, 0x5b, 0xc3)); /* pop %rbx */
	assert_false(STARTS_AT(16, 0x55, 0xff, 0xe0, NOP5, NOP8, 0xc9, 0xc3)); /* leave */
}

/* Of the first call it is not known whether it returns, but the second one leads to the same. */
TEST(a_call_that_never_returns_ends_a_function)
{
	static const uint8_t code[] = {
		0x50, 0x31, 0xc0, 0xe8, 0x40, 0,    0,    0,    NOP8, /* 0 call 0x48 */
		0x31, 0xc9, 0xc3, NOP5, NOP8,                         /* 0x10 */
		0x50, 0x31, 0xc0, 0xe8, 0x20, 0,    0,    0,    NOP8, /* 0x20 call 0x48 */
		0xf3, 0x0f, 0x1e, 0xfa, 0xc3, 0x66, 0x90, 0x90, NOP8, /* 0x30 endbr64 */
		0x31, 0xc0, 0xc3, NOP5, 0xf4, 0x90, 0x90, NOP5,       /* 0x40; 0x48 hlt */
	};

	assert_true(starts_at(code, sizeof(code), EM_X86_64, 0x10));
	assert_true(starts_at(code, sizeof(code), EM_X86_64, 0x30));
}

TEST(functions_of_arm64_begin_where_calls_lead_and_behind_returns)
{
	static const uint32_t code[] = {
		0x94000004, /* 0 bl 16 */
		0xd65f03c0, /* 4 ret */
		0xd503201f, /* 8 nop */
		0xd503201f, /* 12 nop */
		0xb4000040, /* 16 cbz x0, 24 */
		0xd65f03c0, /* 20 ret */
		0xa8c17bfd, /* 24 ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* 28 ret */
		0xa9bf7bfd, /* 32 stp x29, x30, [sp, #-16]! */
		0xd65f03c0, /* 36 ret */
	};

	assert_true(starts_at((const uint8_t *)code, sizeof(code), EM_AARCH64, 16));
	assert_false(starts_at((const uint8_t *)code, sizeof(code), EM_AARCH64, 24));
	assert_true(starts_at((const uint8_t *)code, sizeof(code), EM_AARCH64, 32));
}

TEST(other_machines_and_too_much_code_are_refused)
{
	struct code_starts s;

	assert_int_equal(code_starts_find(&s, (const uint8_t *)"", 0, TEXT, EM_X86_64), 0);
	assert_int_equal(code_starts_before(&s, 0, &(uint32_t){0}), -ENOENT);
	code_starts_fini(&s);
	assert_int_equal(code_starts_find(&s, (const uint8_t *)"", 0, TEXT, EM_RISCV), -ENOTSUP);
	assert_int_equal(code_starts_find(&s, (const uint8_t *)"", CODE_STARTS_MAX_BYTES + 1, TEXT,
					  EM_X86_64),
			 -EFBIG);
}

/* ---- truth ---- */

struct truth {
	struct byte_source src;
	struct elf_layout layout;
	/* bytes: of the right function, of a part of one, of another one, of none that was found */
	uint64_t n_right, n_split, n_merged, n_none;
};

/*
 * Compares the functions that begin at aligned addresses, which those parts do not that compilers
 * move away as rarely executed.
 */
static void compare(struct truth *t, const struct code_starts *s, uint64_t base, uint64_t from,
		    uint64_t to)
{
	while (from < to) {
		uint64_t start, end;
		uint32_t at;

		if (eh_function_before(&t->layout, &t->src, from, &start, &end) < 0 ||
		    from >= end) {
			from++;
			continue;
		}
		for (; from < end && from < to; from++) {
			if (start % 16 != 0)
				continue;
			if (code_starts_before(s, (uint32_t)(from - base), &at) < 0)
				t->n_none++;
			else if (base + at == start)
				t->n_right++;
			else if (base + at > start)
				t->n_split++;
			else
				t->n_merged++;
		}
	}
}

static void compare_piece(struct truth *t, uint64_t from, uint64_t to)
{
	const struct elf_section *text = &t->layout.sections[ELF_SECTION_TEXT];
	uint64_t base = from - text->vaddr > MARGIN ? from - MARGIN : text->vaddr;
	uint64_t end = text->vaddr + text->size_bytes;
	AUTO_FREE uint8_t *code = malloc(PIECE + 2 * MARGIN);
	struct code_starts s;

	end = end - to > MARGIN ? to + MARGIN : end;
	assert_non_null(code);
	assert_int_equal(
		byte_source_read(&t->src, text->offset + (base - text->vaddr), code, end - base),
		0);
	assert_int_equal(code_starts_find(&s, code, end - base, base, t->layout.machine), 0);
	compare(t, &s, base, from, to);
	code_starts_fini(&s);
}

static void read_truth(struct truth *t, const char *path)
{
	const struct elf_section *text = &t->layout.sections[ELF_SECTION_TEXT];
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	double all;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	byte_source_from_fd(&t->src, fd, (uint64_t)st.st_size);
	assert_int_equal(elf_layout_parse(&t->layout, &t->src), 0);
	for (uint64_t at = 0; at < text->size_bytes; at += PIECE)
		compare_piece(t, text->vaddr + at,
			      text->vaddr + (text->size_bytes - at < PIECE ? text->size_bytes
									   : at + PIECE));
	all = (double)(t->n_right + t->n_split + t->n_merged + t->n_none) / 100;
	assert_true(all > 0);
	print_message("%s: %.2f %% right, %.2f %% split, %.2f %% merged, %.2f %% not found\n", path,
		      (double)t->n_right / all, (double)t->n_split / all, (double)t->n_merged / all,
		      (double)t->n_none / all);
}

TEST(functions_of_compiled_code_begin_where_its_tables_say)
{
	struct truth t = {0};
	uint64_t all;
	char path[4096];
	FILE *f = popen("cc -print-file-name=libstdc++.so.6", "re"); // NOLINT(cert-env33-c)

	assert_non_null(f);
	assert_non_null(fgets(path, sizeof(path), f));
	assert_int_equal(pclose(f), 0);
	path[strcspn(path, "\n")] = '\0';
	read_truth(&t, path);
	all = t.n_right + t.n_split + t.n_merged + t.n_none;
	assert_true(t.n_right * 100 > all * 97);
	assert_true(t.n_merged * 100 < all);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		read_truth(&(struct truth){0}, argv[i]);
	return argc > 1 ? 0 : unit_run(NULL, NULL);
}
