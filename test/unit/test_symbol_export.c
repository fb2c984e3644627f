#include <errno.h>
#include <lzma.h>

#include "common/symbols/symbol_export.h"
#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

#define TEXT 0x401000u
#define TEXT_BYTES 0x1000u

struct fixture {
	struct elf_builder elf;
	struct buf out;
	struct symbol_file *file;
	struct err err;
};

static const struct {
	Elf64_Nhdr header;
	char name[4];
	uint8_t id[4];
} note = {{4, 4, NT_GNU_BUILD_ID}, "GNU", {0xab, 0xcd, 0xef, 0x01}};

/* A program at a fixed address; is_debug: its debug file, whose code has no bytes. */
static void begin(struct fixture *f, bool is_debug, bool with_id)
{
	const uint64_t flags = SHF_ALLOC | SHF_EXECINSTR;
	Elf64_Shdr *text, *notes;

	memset(f, 0, sizeof(*f));
	elf_builder_init(&f->elf, EM_X86_64);
	buf_init(&f->out, 1 << 20);
	text = is_debug ? elf_builder_section(&f->elf, ".text", SHT_NOBITS, flags, TEXT, NULL, 0)
			: elf_builder_section(&f->elf, ".text", SHT_PROGBITS, flags, TEXT, NULL,
					      TEXT_BYTES);
	text->sh_size = TEXT_BYTES;
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, is_debug ? 64 : text->sh_offset, TEXT,
			    TEXT_BYTES);
	if (is_debug)
		((Elf64_Phdr *)(void *)(f->elf.data + sizeof(Elf64_Ehdr)))->p_filesz = 0;
	if (!with_id)
		return;
	notes = elf_builder_section(&f->elf, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0x400200,
				    &note, sizeof(note));
	elf_builder_segment(&f->elf, PT_NOTE, PF_R, notes->sh_offset, 0x400200, sizeof(note));
}

static void symbol(struct fixture *f, const char *name, uint64_t at, uint64_t size)
{
	elf_builder_symbol(&f->elf, name, STB_GLOBAL, STT_FUNC, TEXT + at, size);
}

static int export(struct fixture *f, struct symbol_export *ret)
{
	struct byte_source src;

	elf_builder_symbol_table(&f->elf, SHT_SYMTAB);
	elf_builder_finish(&f->elf);
	byte_source_from_memory(&src, f->elf.data, f->elf.len);
	return symbol_export(&src, &f->out, ret, &f->err);
}

static void open_table(struct fixture *f)
{
	struct symbol_file_source src = {.fd = -1};

	src.data = f->out.data;
	src.n_bytes = f->out.len;
	assert_int_equal(symbol_file_open(&f->file, &src, NULL), 0);
	assert_int_equal(symbol_file_check(f->file, NULL), 0);
}

static void load(struct fixture *f, struct symbol_export *ret)
{
	assert_int_equal(export(f, ret), 0);
	open_table(f);
}

static void end(struct fixture *f)
{
	symbol_file_free(f->file);
	buf_fini(&f->out);
}

static void expect(struct fixture *f, uint64_t at, const char *expected)
{
	struct symbol_name found;
	int r = symbol_file_find(f->file, TEXT + at, &found);

	assert_int_equal(r, expected ? 0 : -ENOENT);
	if (expected)
		assert_string_equal(found.name, expected);
}

TEST(functions_have_the_names_that_the_symbolizer_shows)
{
	struct symbol_export made;
	struct fixture f;

	begin(&f, false, true);
	symbol(&f, "_ZN4shop5priceEi", 0x100, 0x40);
	symbol(&f, "__alias", 0x200, 0x20);
	symbol(&f, "alias", 0x200, 0x20);
	load(&f, &made);
	assert_string_equal(made.build_id, "abcdef01");
	assert_int_equal(made.n_functions, 2);
	expect(&f, 0x0ff, NULL);
	expect(&f, 0x100, "shop::price(int)");
	expect(&f, 0x13f, "shop::price(int)");
	expect(&f, 0x140, NULL);
	expect(&f, 0x21f, "alias");
	end(&f);
}

TEST(a_function_within_another_one_has_its_own_code_only)
{
	struct symbol_export made;
	struct fixture f;

	begin(&f, false, true);
	symbol(&f, "outer", 0x100, 0x100);
	symbol(&f, "inner", 0x140, 0x20);
	load(&f, &made);
	expect(&f, 0x13f, "outer");
	expect(&f, 0x140, "inner");
	expect(&f, 0x15f, "inner");
	expect(&f, 0x160, "outer");
	expect(&f, 0x1ff, "outer");
	expect(&f, 0x200, NULL);
	end(&f);
}

TEST(a_symbol_without_a_size_reaches_to_the_next_one)
{
	struct symbol_export made;
	struct fixture f;

	begin(&f, false, true);
	symbol(&f, "assembly", 0x100, 0);
	symbol(&f, "next", 0x180, 0x10);
	load(&f, &made);
	expect(&f, 0x17f, "assembly");
	expect(&f, 0x180, "next");
	expect(&f, 0x190, NULL);
	end(&f);
}

TEST(a_debug_file_has_the_addresses_of_its_program_but_no_offsets)
{
	struct symbol_export made;
	struct fixture f;
	uint64_t vaddr;

	begin(&f, true, true);
	symbol(&f, "work", 0x100, 0x40);
	load(&f, &made);
	expect(&f, 0x100, "work");
	expect(&f, 0x140, NULL);
	assert_int_equal(symbol_file_address(f.file, 0x100, &vaddr), -ENOENT);
	end(&f);

	begin(&f, false, true);
	symbol(&f, "work", 0x100, 0x40);
	load(&f, &made);
	assert_int_equal(symbol_file_address(f.file, f.elf.sections[1].sh_offset + 0x100, &vaddr),
			 0);
	assert_int_equal(vaddr, TEXT + 0x100);
	end(&f);
}

/* Adds .gnu_debugdata with this file to a program, and exports that. */
static int export_with_mini(struct fixture *f, const void *mini, size_t len,
			    struct symbol_export *ret)
{
	size_t cap = lzma_stream_buffer_bound(len), packed_len = 0;
	AUTO_FREE uint8_t *packed = malloc(cap);
	struct byte_source src;

	assert_non_null(packed);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, mini, len, packed,
						 &packed_len, cap),
			 LZMA_OK);
	begin(f, false, true);
	elf_builder_section(&f->elf, ".gnu_debugdata", SHT_PROGBITS, 0, 0, packed, packed_len);
	elf_builder_finish(&f->elf);
	byte_source_from_memory(&src, f->elf.data, f->elf.len);
	return symbol_export(&src, &f->out, ret, &f->err);
}

TEST(symbols_that_a_stripped_program_has_compressed_are_there)
{
	struct symbol_export made;
	struct fixture f, mini;

	begin(&mini, true, true);
	symbol(&mini, "work", 0x100, 0x40);
	symbol(&mini, "_ZN3foo3barEi", 0x200, 0x10);
	elf_builder_symbol_table(&mini.elf, SHT_SYMTAB);
	elf_builder_finish(&mini.elf);
	assert_int_equal(export_with_mini(&f, mini.elf.data, mini.elf.len, &made), 0);
	assert_int_equal(made.n_functions, 2);
	assert_string_equal(made.build_id, "abcdef01");
	open_table(&f);
	expect(&f, 0x110, "work");
	expect(&f, 0x20f, "foo::bar(int)");
	/* as the program has its code, offsets are known */
	assert_int_equal(symbol_file_header(f.file)->n_segments, 1);
	end(&f);
	assert_int_equal(export_with_mini(&f, "no ELF file", 11, &made), -ENODATA);
	assert_non_null(strstr(f.err.msg, "stripped"));
	end(&f);
	end(&mini);
}

TEST(what_cannot_be_used_is_refused_with_the_reason)
{
	struct symbol_export made;
	struct byte_source src;
	struct fixture f;

	begin(&f, false, false);
	symbol(&f, "work", 0x100, 0x40);
	assert_int_equal(export(&f, &made), -ENODATA);
	assert_non_null(strstr(f.err.msg, "no build id"));
	end(&f);

	begin(&f, false, true);
	elf_builder_finish(&f.elf);
	byte_source_from_memory(&src, f.elf.data, f.elf.len);
	assert_int_equal(symbol_export(&src, &f.out, &made, &f.err), -ENODATA);
	assert_non_null(strstr(f.err.msg, "stripped"));
	end(&f);

	begin(&f, false, true);
	elf_builder_symbol(&f.elf, "data", STB_GLOBAL, STT_OBJECT, TEXT + 8, 8);
	assert_int_equal(export(&f, &made), -ENODATA);
	assert_non_null(strstr(f.err.msg, "no functions"));
	byte_source_from_memory(&src, "#!/bin/sh\n", 10);
	assert_int_equal(symbol_export(&src, &f.out, &made, &f.err), -ENOEXEC);
	byte_source_from_memory(&src, f.elf.data, 80);
	assert_int_equal(symbol_export(&src, &f.out, &made, &f.err), -EBADMSG);
	end(&f);
}
