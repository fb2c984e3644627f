#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/elf/elf_symbols.h"
#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

#define TEXT 0x1000u
#define TEXT_BYTES 0x3000u

struct fixture {
	struct elf_builder elf;
	struct byte_source src;
	struct elf_layout layout;
	struct elf_symbol_table *table;
};

/* An empty file with a text segment of two sections: .text to 0x3000, then .fini to 0x4000. */
static void begin(struct fixture *f)
{
	elf_builder_init(&f->elf, EM_X86_64);
	f->table = NULL;
	elf_builder_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, NULL,
			    0x2000);
	elf_builder_section(&f->elf, ".fini", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x3000, NULL,
			    0x1000);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, f->elf.sections[1].sh_offset, TEXT,
			    TEXT_BYTES);
}

static void load(struct fixture *f, uint64_t around, size_t max_bytes)
{
	elf_builder_finish(&f->elf);
	byte_source_from_memory(&f->src, f->elf.data, f->elf.len);
	assert_int_equal(elf_layout_parse(&f->layout, &f->src), 0);
	assert_int_equal(elf_symbol_table_new(&f->table, &f->layout, &f->src, around, max_bytes),
			 0);
}

static void end(struct fixture *f)
{
	elf_symbol_table_free(f->table);
}

static void expect(struct fixture *f, uint64_t vaddr, const char *expected)
{
	char name[256];
	int r = elf_symbol_table_find(f->table, &f->layout, &f->src, vaddr, name, sizeof(name));

	if (!expected) {
		assert_int_equal(r, -ENOENT);
		return;
	}
	assert_int_equal(r, 0);
	assert_string_equal(name, expected);
}

static void symbol(struct fixture *f, const char *name, unsigned bind, uint64_t value,
		   uint64_t size)
{
	elf_builder_symbol(&f->elf, name, bind, STT_FUNC, value, size);
}

TEST(a_sized_symbol_ends_where_it_ends)
{
	struct fixture f;

	begin(&f);
	symbol(&f, "second", STB_GLOBAL, 0x1200, 0x10);
	symbol(&f, "first", STB_GLOBAL, 0x1100, 0x20);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	expect(&f, 0x10ff, NULL);
	expect(&f, 0x1100, "first");
	expect(&f, 0x111f, "first");
	expect(&f, 0x1120, NULL);
	expect(&f, 0x11ff, NULL);
	expect(&f, 0x120f, "second");
	expect(&f, 0x1210, NULL);
	expect(&f, 0, NULL);
	expect(&f, UINT64_MAX, NULL);
	end(&f);
}

TEST(a_sizeless_symbol_ends_at_the_next_or_with_its_section)
{
	struct fixture f;

	begin(&f);
	symbol(&f, "label", STB_GLOBAL, 0x1100, 0);
	symbol(&f, "next", STB_GLOBAL, 0x1180, 8);
	symbol(&f, "tail", STB_GLOBAL, 0x2f00, 0);
	symbol(&f, "far", STB_GLOBAL, 0x3f80, 8);
	symbol(&f, "alone", STB_GLOBAL, 0x1200, 0);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	expect(&f, 0x117f, "label");
	expect(&f, 0x1188, NULL);
	expect(&f, 0x2fff, "tail");
	expect(&f, 0x3000, NULL);
	expect(&f, 0x1200 + ELF_SYMBOLS_SIZELESS_MAX_BYTES - 1, "alone");
	expect(&f, 0x1200 + ELF_SYMBOLS_SIZELESS_MAX_BYTES, NULL);
	end(&f);
}

TEST(a_symbol_ends_with_its_section_whatever_its_size)
{
	struct fixture f;

	begin(&f);
	symbol(&f, "swallows", STB_GLOBAL, 0x1100, 0x7fffffff);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	expect(&f, 0x2fff, "swallows");
	expect(&f, 0x3000, NULL);
	end(&f);
}

TEST(a_symbol_without_a_size_is_a_guess)
{
	struct fixture f;
	uint64_t start = 0;

	begin(&f);
	symbol(&f, "sized", STB_GLOBAL, 0x1100, 0x10);
	symbol(&f, "label", STB_GLOBAL, 0x1180, 0);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	assert_false(elf_symbol_table_guesses(f.table, 0x1108, &start));
	assert_false(elf_symbol_table_guesses(f.table, 0x1110, &start));
	assert_true(elf_symbol_table_guesses(f.table, 0x1188, &start));
	assert_int_equal(start, 0x1180);
	end(&f);
}

TEST(a_sizeless_symbol_of_a_stripped_file_is_its_address_alone)
{
	struct fixture f;

	begin(&f);
	symbol(&f, "exported", STB_GLOBAL, 0x1100, 0);
	elf_builder_symbol_table(&f.elf, SHT_DYNSYM);
	load(&f, TEXT, 4096);
	expect(&f, 0x1100, "exported");
	expect(&f, 0x1101, NULL);
	end(&f);
}

TEST(an_inner_function_wins_and_a_label_does_not)
{
	struct fixture f;

	begin(&f);
	symbol(&f, "outer", STB_GLOBAL, 0x1100, 0x100);
	symbol(&f, "inner", STB_LOCAL, 0x1140, 0x10);
	elf_builder_symbol(&f.elf, "label", STB_LOCAL, STT_NOTYPE, 0x1180, 0);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	expect(&f, 0x113f, "outer");
	expect(&f, 0x1140, "inner");
	expect(&f, 0x1150, "outer");
	expect(&f, 0x1184, "outer");
	end(&f);
}

TEST(the_best_of_several_names_is_chosen)
{
	struct fixture f;

	begin(&f);
	symbol(&f, "__read", STB_GLOBAL, 0x1100, 0x10);
	symbol(&f, "read", STB_WEAK, 0x1100, 0x10);
	symbol(&f, "a", STB_LOCAL, 0x1100, 0x10);
	symbol(&f, "strong", STB_GLOBAL, 0x1200, 0x10);
	symbol(&f, "weak", STB_WEAK, 0x1200, 0x10);
	symbol(&f, "longer", STB_GLOBAL, 0x1300, 0x10);
	symbol(&f, "short", STB_GLOBAL, 0x1300, 0x10);
	symbol(&f, "bb", STB_GLOBAL, 0x1400, 0x10);
	symbol(&f, "ba", STB_GLOBAL, 0x1400, 0x10);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	expect(&f, 0x1100, "read");
	expect(&f, 0x1200, "strong");
	expect(&f, 0x1300, "short");
	expect(&f, 0x1400, "ba");
	end(&f);
}

TEST(what_is_no_function_does_not_count)
{
	struct fixture f;

	begin(&f);
	elf_builder_symbol(&f.elf, "object", STB_GLOBAL, STT_OBJECT, 0x1100, 0x10);
	elf_builder_symbol(&f.elf, "section", STB_LOCAL, STT_SECTION, 0x1100, 0);
	elf_builder_symbol(&f.elf, "data", STB_GLOBAL, STT_FUNC, 0x9000, 0x10);
	elf_builder_symbol(&f.elf, "import", STB_GLOBAL, STT_FUNC, 0x1100, 0x10);
	f.elf.symbols[4].st_shndx = SHN_UNDEF;
	elf_builder_symbol(&f.elf, "constant", STB_GLOBAL, STT_NOTYPE, 0x1100, 0);
	f.elf.symbols[5].st_shndx = SHN_ABS;
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	assert_int_equal(elf_symbol_table_count(f.table), 0);
	expect(&f, 0x1100, NULL);
	end(&f);
}

TEST(both_tables_count_and_doubles_once)
{
	struct fixture f;

	begin(&f);
	symbol(&f, "exported", STB_GLOBAL, 0x1100, 0x10);
	symbol(&f, "kept", STB_GLOBAL, 0x1200, 0x10);
	elf_builder_symbol_table(&f.elf, SHT_DYNSYM);
	symbol(&f, "exported", STB_GLOBAL, 0x1100, 0x10);
	symbol(&f, "internal", STB_LOCAL, 0x1300, 0x10);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	assert_int_equal(elf_symbol_table_count(f.table), 3);
	expect(&f, 0x1100, "exported");
	expect(&f, 0x1200, "kept");
	expect(&f, 0x1300, "internal");
	end(&f);
}

/* 200 symbols of 12 bytes do not fit into 1 KiB: each address still finds its own. */
TEST(a_table_over_the_limit_covers_a_part)
{
	struct fixture f;

	begin(&f);
	for (unsigned i = 0; i < 200; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		symbol(&f, name, STB_GLOBAL, TEXT + i * 0x20, 0x20);
	}
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 1024);
	assert_false(elf_symbol_table_covers(f.table, TEXT + 199 * 0x20));
	for (unsigned a = 0; a < 200 * 0x20; a++) {
		char name[16];

		if (!elf_symbol_table_covers(f.table, TEXT + a)) {
			elf_symbol_table_free(f.table);
			assert_int_equal(
				elf_symbol_table_new(&f.table, &f.layout, &f.src, TEXT + a, 1024),
				0);
			assert_true(elf_symbol_table_covers(f.table, TEXT + a));
			assert_true(elf_symbol_table_bytes(f.table) < 2048);
		}
		snprintf(name, sizeof(name), "f%u", a / 0x20);
		expect(&f, TEXT + a, name);
	}
	end(&f);
}

TEST(a_part_that_cannot_fit_is_refused)
{
	struct fixture f;
	struct elf_symbol_table *t;

	begin(&f);
	for (unsigned i = 0; i < 10; i++)
		symbol(&f, "same", STB_GLOBAL, TEXT, 1);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	assert_int_equal(elf_symbol_table_new(&t, &f.layout, &f.src, TEXT, 100), -EFBIG);
	assert_int_equal(elf_symbol_table_new(&t, &f.layout, &f.src, 0x9000, 4096), -EFBIG);
	end(&f);
}

TEST(a_file_that_changed_gives_no_wrong_name)
{
	struct fixture f;
	Elf64_Sym *sym;

	begin(&f);
	symbol(&f, "old", STB_GLOBAL, 0x1100, 0x10);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	expect(&f, 0x1100, "old");
	sym = (Elf64_Sym *)(void *)(f.elf.data + f.layout.sections[ELF_SECTION_SYMTAB].offset) + 1;
	sym->st_value = 0x1108;
	expect(&f, 0x1100, NULL);
	end(&f);
}

TEST(a_symbol_is_found_by_its_name)
{
	struct fixture f;
	uint64_t vaddr;

	begin(&f);
	elf_builder_symbol(&f.elf, "runtime.textual", STB_LOCAL, STT_FUNC, 0x1100, 0x10);
	elf_builder_symbol(&f.elf, "runtime.text", STB_LOCAL, STT_FUNC, 0x1200, 0x10);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	assert_int_equal(elf_symbol_address(&f.layout, &f.src, "runtime.text", &vaddr), 0);
	assert_int_equal(vaddr, 0x1200);
	assert_int_equal(elf_symbol_address(&f.layout, &f.src, "runtime", &vaddr), -ENOENT);
	end(&f);
}

static int new_and_find(void *arg)
{
	struct fixture *f = arg;
	CLEANUP(elf_symbol_table_freep) struct elf_symbol_table *t = NULL;
	char name[64];
	int r;

	r = elf_symbol_table_new(&t, &f->layout, &f->src, TEXT, 4096);
	if (r < 0)
		return r;
	return elf_symbol_table_find(t, &f->layout, &f->src, 0x1100, name, sizeof(name));
}

TEST(survives_every_failed_allocation)
{
	struct fixture f;

	begin(&f);
	symbol(&f, "f", STB_GLOBAL, 0x1100, 0x10);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	check_oom(new_and_find, &f);
	end(&f);
}

/* The names at 0x1100, 0x1120 … of a file for that machine; NULL: none. */
static void expect_names(uint16_t machine, unsigned type, const char *const *names,
			 const char *const *found, size_t n)
{
	struct fixture f;

	begin(&f);
	((Elf64_Ehdr *)(void *)f.elf.data)->e_machine = machine;
	for (size_t i = 0; i < n; i++)
		elf_builder_symbol(&f.elf, names[i], STB_GLOBAL, type, 0x1100 + 0x20 * i, 0x20);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	load(&f, TEXT, 4096);
	for (size_t i = 0; i < n; i++)
		expect(&f, 0x1110 + 0x20 * i, found[i]);
	end(&f);
}

TEST(only_arms_marks_of_code_and_data_are_no_names)
{
	static const char *const swift[] = {"$s4shop5OrderV5totalSdvg", "$S4shop3runyyF", "$$", "$",
					    "$x.y"};
	static const char *const marks[] = {
		"$x", "$d", "$d.12", "$a", "$t.3", "$xrv64gc", "$s4shop3runyyF", "$dup", "$"};
	static const char *const arm[] = {
		NULL, NULL, NULL, NULL, NULL, "$xrv64gc", "$s4shop3runyyF", "$dup", "$"};
	static const char *const riscv[] = {
		NULL, NULL, NULL, "$a", "$t.3", NULL, "$s4shop3runyyF", "$dup", "$"};

	expect_names(EM_X86_64, STT_FUNC, swift, swift, ARRAY_SIZE(swift));
	expect_names(EM_X86_64, STT_FUNC, marks, marks, ARRAY_SIZE(marks));
	expect_names(EM_AARCH64, STT_NOTYPE, marks, arm, ARRAY_SIZE(marks));
	expect_names(EM_AARCH64, STT_FUNC, swift, swift, 4);
	expect_names(EM_ARM, STT_NOTYPE, marks, arm, ARRAY_SIZE(marks));
	expect_names(EM_RISCV, STT_NOTYPE, marks, riscv, ARRAY_SIZE(marks));
}
