#include <errno.h>

#include "node-agent/gopclntab/gopclntab.h"
#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

#define TEXT 0x401000u
#define TEXT_BYTES 0x300u
#define DATA 0x500000u

/* Functions main.a, main.b[...] and main.c at 0, 0x100 and 0x180 of a text of 0x2f0 bytes. */
static const uint32_t starts[] = {0, 0x100, 0x180, 0x2f0};
static const char names[] = "\0main.a\0main.b[...]\0main.c";
static const uint32_t name_offsets[] = {1, 8, 20};

struct table {
	uint8_t bytes[1024];
	size_t len;
};

static void put(struct table *t, size_t at, uint64_t v, size_t len)
{
	memcpy(t->bytes + at, &v, len);
	if (at + len > t->len)
		t->len = at + len;
}

static void put_functions(struct table *t, size_t at, size_t base, size_t field, uint64_t text)
{
	size_t records = at + 7 * field; /* 3 pairs and the end */

	for (size_t i = 0; i < 4; i++)
		put(t, at + i * 2 * field, text + starts[i], field);
	for (size_t i = 0; i < 3; i++) {
		size_t record = records + i * 16;

		put(t, at + (i * 2 + 1) * field, record - base, field);
		put(t, record, text + starts[i], field);
		put(t, record + field, name_offsets[i], 4);
	}
}

static void make_table(struct table *t, enum gopclntab_version version, uint64_t text)
{
	static const uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
	size_t header = version == GOPCLNTAB_1_2 ? 16 : version == GOPCLNTAB_1_16 ? 64 : 72;

	memset(t, 0, sizeof(*t));
	put(t, 0, magics[version], 4);
	t->bytes[6] = 1;
	t->bytes[7] = 8;
	put(t, 8, 3, 8);
	if (version == GOPCLNTAB_1_2) {
		/* names are relative to the whole table: put them where the offsets say, 256 on */
		put_functions(t, header, 0, 8, text);
		for (size_t i = 0; i < 3; i++) {
			size_t record = header + 7 * 8 + i * 16;

			put(t, record + 8, 256 + name_offsets[i], 4);
		}
		memcpy(t->bytes + 256, names, sizeof(names));
		t->len = 256 + sizeof(names);
		return;
	}
	put(t, version == GOPCLNTAB_1_16 ? 24 : 32, 256, 8);    /* names */
	put(t, version == GOPCLNTAB_1_16 ? 56 : 64, header, 8); /* functions */
	if (version >= GOPCLNTAB_1_18)
		put(t, 24, text, 8);
	put_functions(t, header, header, version == GOPCLNTAB_1_16 ? 8 : 4,
		      version == GOPCLNTAB_1_16 ? text : 0);
	memcpy(t->bytes + 256, names, sizeof(names));
	t->len = 256 + sizeof(names);
}

struct fixture {
	struct elf_builder elf;
	struct byte_source src;
	struct elf_layout layout;
	struct gopclntab go;
};

/* .text with padding behind it, and the table in a section of this name. */
static void begin(struct fixture *f, const struct table *t, const char *section, size_t padding)
{
	Elf64_Shdr *text, *data;

	elf_builder_init(&f->elf, EM_X86_64);
	text = elf_builder_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT,
				   NULL, 0x2f0 + padding);
	data = elf_builder_section(&f->elf, section, SHT_PROGBITS, SHF_ALLOC, DATA, t->bytes,
				   t->len);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, text->sh_offset, TEXT, 0x2f0 + padding);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R, data->sh_offset, DATA, 0x1000);
}

static int open_it(struct fixture *f)
{
	elf_builder_finish(&f->elf);
	byte_source_from_memory(&f->src, f->elf.data, f->elf.len);
	assert_int_equal(elf_layout_parse(&f->layout, &f->src), 0);
	return gopclntab_open(&f->go, &f->layout, &f->src);
}

static void expect(const struct fixture *f, uint64_t vaddr, const char *expected)
{
	char name[64];
	int r = gopclntab_find(&f->go, &f->src, vaddr, name, sizeof(name));

	if (!expected) {
		assert_int_equal(r, -ENOENT);
		return;
	}
	assert_int_equal(r, 0);
	assert_string_equal(name, expected);
}

static void expect_all(const struct fixture *f)
{
	expect(f, TEXT - 1, NULL);
	expect(f, TEXT, "main.a");
	expect(f, TEXT + 0xff, "main.a");
	expect(f, TEXT + 0x100, "main.b[...]");
	expect(f, TEXT + 0x17f, "main.b[...]");
	expect(f, TEXT + 0x180, "main.c");
	expect(f, TEXT + 0x2ef, "main.c");
	expect(f, TEXT + 0x2f0, NULL);
	assert_false(gopclntab_covers(&f->go, TEXT + 0x2f0));
}

TEST(all_four_layouts_are_read)
{
	for (int v = GOPCLNTAB_1_2; v <= GOPCLNTAB_1_20; v++) {
		struct fixture f;
		struct table t;

		make_table(&t, (enum gopclntab_version)v, TEXT);
		begin(&f, &t, ".gopclntab", 0x100);
		assert_int_equal(open_it(&f), 0);
		assert_int_equal(f.go.version, v);
		expect_all(&f);
	}
}

TEST(a_table_in_another_section_is_found)
{
	static const char *const sections[] = {".data.rel.ro.gopclntab", ".data.rel.ro", ".rodata"};

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		struct fixture f;
		struct table t, moved = {.len = 0};

		make_table(&t, GOPCLNTAB_1_20, TEXT);
		if (i > 0) /* not at the beginning */
			put(&moved, 47, 0, 1);
		memcpy(moved.bytes + moved.len, t.bytes, t.len);
		moved.len += t.len;
		begin(&f, &moved, sections[i], 0x100);
		elf_builder_section(&f.elf, ".go.buildinfo", SHT_PROGBITS, SHF_ALLOC, 0, NULL, 16);
		assert_int_equal(open_it(&f), 0);
		expect_all(&f);
	}
}

/* A file without section headers, with module data as of a release from 1.16 on. */
static int open_headerless(struct fixture *f, const struct table *t, const uint64_t module[24])
{
	Elf64_Shdr *data;

	begin(f, t, ".gopclntab", 0x200);
	data = elf_builder_section(&f->elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE,
				   DATA + 0x2000, module, 24 * sizeof(*module));
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_W, data->sh_offset, DATA + 0x2000,
			    24 * sizeof(*module));
	/* the segment of the table is larger than the table, and all of it is read */
	elf_builder_section(&f->elf, ".bss", SHT_PROGBITS, 0, 0, NULL, 0x1000);
	elf_builder_finish(&f->elf);
	elf_builder_header(&f->elf)->e_shoff = 0;
	byte_source_from_memory(&f->src, f->elf.data, f->elf.len);
	assert_int_equal(elf_layout_parse(&f->layout, &f->src), 0);
	return gopclntab_open(&f->go, &f->layout, &f->src);
}

TEST(without_headers_the_module_data_confirm_a_table)
{
	static const uint64_t texts[] = {TEXT, 0}; /* in the header */

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		uint64_t module[24] = {[0] = DATA,
				       [20] = TEXT,
				       [21] = TEXT + 0x2f0,
				       [22] = TEXT,
				       [23] = TEXT + 0x2f0};
		struct fixture f;
		struct table t;

		make_table(&t, GOPCLNTAB_1_20, texts[i]);
		assert_int_equal(open_headerless(&f, &t, module), 0);
		expect_all(&f);
		for (size_t word = 0; word < ARRAY_SIZE(module); word++) {
			uint64_t value = module[word];

			if (value == 0)
				continue;
			module[word] -= 16;
			assert_int_equal(open_headerless(&f, &t, module), -ENOENT);
			module[word] = value;
		}
	}
}

TEST(other_files_are_not_searched)
{
	struct fixture f;
	struct table t;

	make_table(&t, GOPCLNTAB_1_20, TEXT);
	begin(&f, &t, ".rodata", 0);
	assert_int_equal(open_it(&f), -ENOENT);
}

TEST(without_a_text_start_a_file_of_go_alone_starts_with_its_text)
{
	struct fixture f;
	struct table t;

	make_table(&t, GOPCLNTAB_1_20, 0);
	begin(&f, &t, ".gopclntab", 0x10);
	assert_int_equal(open_it(&f), 0);
	expect_all(&f);
}

/* There is C code before or behind Go's, and nothing says which. */
TEST(without_a_text_start_a_mixed_file_is_not_guessed_at)
{
	struct fixture f;
	struct table t;

	make_table(&t, GOPCLNTAB_1_20, 0);
	begin(&f, &t, ".gopclntab", 0x200);
	assert_int_equal(open_it(&f), -ENOENT);
}

TEST(the_symbol_of_the_text_start_is_used)
{
	struct fixture f;
	struct table t;

	make_table(&t, GOPCLNTAB_1_20, 0);
	begin(&f, &t, ".gopclntab", 0x200);
	elf_builder_symbol(&f.elf, "runtime.text", STB_LOCAL, STT_FUNC, TEXT + 0x100, 0);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	assert_int_equal(open_it(&f), 0);
	expect(&f, TEXT + 0x80, NULL);
	expect(&f, TEXT + 0x180, "main.a");
}

static void add_module(struct fixture *f, uint64_t header, uint64_t min_pc, uint64_t text)
{
	uint64_t module[23] = {0};
	Elf64_Shdr *sh;

	module[0] = header;
	module[20] = min_pc;
	module[22] = text;
	sh = elf_builder_section(&f->elf, ".go.module", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE,
				 DATA + 0x2000, module, sizeof(module));
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_W, sh->sh_offset, DATA + 0x2000, 0x100);
}

TEST(the_module_data_says_the_text_start)
{
	struct fixture f;
	struct table t;

	make_table(&t, GOPCLNTAB_1_20, 0);
	begin(&f, &t, ".gopclntab", 0x200);
	add_module(&f, DATA, TEXT + 0x100, TEXT + 0x100);
	assert_int_equal(open_it(&f), 0);
	expect(&f, TEXT + 0x180, "main.a");
}

TEST(module_data_that_contradict_the_table_are_not_believed)
{
	struct fixture f;
	struct table t;

	make_table(&t, GOPCLNTAB_1_20, 0);
	begin(&f, &t, ".gopclntab", 0x200);
	add_module(&f, DATA + 16, TEXT + 0x100, TEXT + 0x100);
	assert_int_equal(open_it(&f), -ENOENT);
	begin(&f, &t, ".gopclntab", 0x200);
	add_module(&f, DATA, TEXT + 0x110, TEXT + 0x100);
	assert_int_equal(open_it(&f), -ENOENT);
}

TEST(relocations_of_the_module_data_are_applied)
{
	const Elf64_Rela relas[] = {
		{DATA + 0x2000 + 22 * 8, ELF64_R_INFO(0, R_X86_64_RELATIVE), TEXT + 0x100},
		{DATA + 0x2000 + 20 * 8, ELF64_R_INFO(0, R_X86_64_RELATIVE), TEXT + 0x100},
		{DATA + 0x2000, ELF64_R_INFO(0, R_X86_64_RELATIVE), DATA},
	};
	struct fixture f;
	struct table t;

	make_table(&t, GOPCLNTAB_1_20, 0);
	begin(&f, &t, ".gopclntab", 0x200);
	elf_builder_section(&f.elf, ".rela.dyn", SHT_RELA, SHF_ALLOC, 0, relas, sizeof(relas));
	add_module(&f, 0, 0, 0);
	assert_int_equal(open_it(&f), 0);
	expect(&f, TEXT + 0x180, "main.a");
}

TEST(the_relocation_of_the_header_is_applied)
{
	const Elf64_Rela rela = {DATA + 24, ELF64_R_INFO(0, R_X86_64_RELATIVE), TEXT + 0x100};
	struct fixture f;
	struct table t;

	make_table(&t, GOPCLNTAB_1_18, 0);
	begin(&f, &t, ".gopclntab", 0x200);
	elf_builder_section(&f.elf, ".rela.dyn", SHT_RELA, SHF_ALLOC, 0, &rela, sizeof(rela));
	assert_int_equal(open_it(&f), 0);
	expect(&f, TEXT + 0x180, "main.a");
}

/* Whichever number is wrong, no name comes from elsewhere, and no read is outside. */
TEST(broken_tables_give_no_names)
{
	for (int v = GOPCLNTAB_1_2; v <= GOPCLNTAB_1_20; v++) {
		struct table good;

		make_table(&good, (enum gopclntab_version)v, TEXT);
		for (size_t at = 0; at + 8 <= 176; at += 4) {
			struct table t = good;
			struct fixture f;
			char name[64];

			put(&t, at, UINT64_MAX, 4);
			begin(&f, &t, ".gopclntab", 0x100);
			if (open_it(&f) < 0)
				continue;
			for (uint64_t a = TEXT; a < TEXT + 0x2f0; a += 8) {
				if (gopclntab_find(&f.go, &f.src, a, name, sizeof(name)) == 0)
					assert_memory_equal(name, "main.", 5);
			}
		}
	}
}

/* Each record would need a read of its own, in total more than the limit. */
TEST(a_name_is_sought_in_so_many_bytes_and_no_more)
{
	const uint64_t names_at = 256, records[] = {0x60000, 0x80000};
	struct gopclntab_function found;
	AUTO_FREE uint8_t *bytes = calloc(1, 0x100000);
	struct byte_source src;
	struct gopclntab go;
	struct table t;

	assert_non_null(bytes);
	make_table(&t, GOPCLNTAB_1_20, 0);
	put(&t, 40, names_at + sizeof(names), 8); /* the end of the names */
	memcpy(bytes, t.bytes, t.len);
	byte_source_from_memory(&src, bytes, 0x100000);
	assert_int_equal(gopclntab_open_at(&go, &src, 0, 0x100000, TEXT), 0);
	assert_int_equal(gopclntab_find_named(&go, &src, "main.b[...]", &found), 0);
	assert_int_equal(found.start, TEXT + 0x100);

	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t pair[] = {i, (uint32_t)records[i % 2] - 72};

		memcpy(bytes + 0x1000 + i * sizeof(pair), pair, sizeof(pair));
	}
	go.functions_offset = 0x1000;
	go.n_functions = 2000;
	assert_int_equal(gopclntab_find_named(&go, &src, "main.a", &found), -ENOENT);
	go.n_functions = 19999;
	assert_int_equal(gopclntab_find_named(&go, &src, "main.a", &found), -EFBIG);
	go.units_offset = GOPCLNTAB_NAMED_MAX_BYTES * 2;
	assert_int_equal(gopclntab_find_named(&go, &src, "main.z", &found), -EFBIG);
}

/* A file that is mostly holes, with pages of tables at its start; counts what is read of it. */
#define HOLE_AT 0x10000u
#define HOLE_BYTES (UINT64_C(1) << 30)

struct sparse {
	uint8_t pages[HOLE_AT];
	uint64_t bytes, reads;
	struct byte_source src;
};

static int read_sparse(void *ctx, uint64_t offset, void *to, size_t len)
{
	struct sparse *s = ctx;

	s->reads++;
	s->bytes += len;
	memset(to, 0, len);
	if (offset < HOLE_AT)
		memcpy(to, s->pages + offset, len < HOLE_AT - offset ? len : HOLE_AT - offset);
	return 0;
}

static void expect_limited(const struct sparse *s)
{
	assert_true(s->bytes + s->reads * BYTE_BUDGET_READ_BYTES <= GOPCLNTAB_OPEN_MAX_BYTES);
}

/* Many candidates and much data that may have their modules: the product must not be read. */
TEST(a_hostile_file_without_headers_costs_no_more_than_the_budget)
{
	AUTO_FREE struct sparse *s = calloc(1, sizeof(*s));
	struct elf_layout l = {.n_segments = ELF_LAYOUT_SEGMENTS_MAX, .machine = EM_X86_64};
	struct gopclntab go;
	struct table t;

	assert_non_null(s);
	make_table(&t, GOPCLNTAB_1_20, TEXT);
	for (size_t at = 0; at < HOLE_AT; at += sizeof(t.bytes))
		memcpy(s->pages + at, t.bytes, sizeof(t.bytes));
	byte_source_from_reader(&s->src, read_sparse, s, HOLE_AT + HOLE_BYTES);
	for (uint32_t i = 0; i < ELF_LAYOUT_SEGMENTS_MAX; i++) {
		bool is_data = i > 8;

		l.segments[i] = (struct elf_segment){
			.vaddr = DATA + i * HOLE_BYTES,
			.offset = is_data ? HOLE_AT : i * 0x1000,
			.file_bytes = is_data ? UINT64_C(64) << 20 : 0x1000,
			.executable = i == 0,
			.writable = is_data,
		};
	}
	assert_int_equal(gopclntab_open(&go, &l, &s->src), -ENOENT);
	assert_true(s->bytes > GOPCLNTAB_SCAN_MAX_BYTES);
	expect_limited(s);
}

TEST(hostile_relocations_cost_no_more_than_the_budget)
{
	AUTO_FREE struct sparse *s = calloc(1, sizeof(*s));
	struct elf_layout l = {.n_texts = 1, .machine = EM_X86_64};
	struct gopclntab go;
	struct table t;

	assert_non_null(s);
	make_table(&t, GOPCLNTAB_1_20, 0);
	memcpy(s->pages, t.bytes, t.len);
	byte_source_from_reader(&s->src, read_sparse, s, HOLE_AT + HOLE_BYTES);
	l.sections[ELF_SECTION_GOPCLNTAB] =
		(struct elf_section){.vaddr = DATA, .size_bytes = t.len};
	l.sections[ELF_SECTION_RELA_DYN] =
		(struct elf_section){.offset = HOLE_AT, .size_bytes = HOLE_BYTES};
	assert_int_equal(gopclntab_open(&go, &l, &s->src), -ENOENT);
	assert_true(s->bytes > GOPCLNTAB_SCAN_MAX_BYTES);
	expect_limited(s);
}
