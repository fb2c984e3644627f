#include <errno.h>

#include "common/elf/elf_layout.h"
#include "common/elf/elf_plt.h"
#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

struct fixture {
	struct elf_builder elf;
	struct byte_source src;
	struct elf_layout layout;
};

static int parse(struct fixture *f)
{
	byte_source_from_memory(&f->src, f->elf.data, f->elf.len);
	return elf_layout_parse(&f->layout, &f->src);
}

TEST(addresses_are_found_by_the_segment)
{
	struct fixture f;
	uint64_t v = 0;

	elf_builder_init(&f.elf, EM_X86_64);
	elf_builder_segment(&f.elf, PT_LOAD, PF_R, 0, 0x400000, 0x6a4);
	/* shares its first page in the file with the previous one, as lld does */
	elf_builder_segment(&f.elf, PT_LOAD, PF_R | PF_X, 0x6b0, 0x4016b0, 0x1000);
	elf_builder_finish(&f.elf);
	assert_int_equal(parse(&f), 0);
	assert_int_equal(elf_layout_address(&f.layout, 0x6b0, &v), 0);
	assert_int_equal(v, 0x4016b0);
	assert_int_equal(elf_layout_address(&f.layout, 0x16af, &v), 0);
	assert_int_equal(v, 0x4026af);
	assert_int_equal(elf_layout_address(&f.layout, 0x1fff, &v), 0); /* padding to the page */
	assert_int_equal(elf_layout_address(&f.layout, 0x2000, &v), -ENOENT);
	assert_int_equal(elf_layout_offset(&f.layout, 0x4016b0, &v), 0);
	assert_int_equal(v, 0x6b0);
	assert_int_equal(elf_layout_offset(&f.layout, 0x4026b0, &v), -ENOENT);
	assert_true(elf_layout_is_text(&f.layout, 0x4016b0));
	assert_false(elf_layout_is_text(&f.layout, 0x400000));
}

TEST(what_a_file_has_is_mapped_in_whole_pages)
{
	static const struct {
		uint64_t vaddr;
		size_t len;
		bool mapped;
	} cases[] = {
		{0x400000, 8, true},      {0x3fffff, 1, false}, {0x3fffff, 2, true},
		{0x400fff, 1, true},      {0x401000, 1, false}, {0x401000, 0xfff, false},
		{0x401000, 0x1001, true},                       /* up to the next one */
		{0x402fff, 1, true},      {0x403000, 1, true},  /* of the file, and zeroed memory */
		{0x403fff, 1, true},      {0x404000, 8, false}, /* zeroed memory alone */
		{0x1000, 0x800000, true},
	};
	struct fixture f;

	elf_builder_init(&f.elf, EM_X86_64);
	elf_builder_segment(&f.elf, PT_LOAD, PF_R, 0, 0x400000, 0x6a4);
	elf_builder_segment(&f.elf, PT_LOAD, PF_R | PF_W, 0x2100, 0x402100, 0xf01);
	elf_builder_finish(&f.elf);
	assert_int_equal(parse(&f), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			elf_layout_is_mapped(&f.layout, cases[i].vaddr, cases[i].len, 0x1000),
			cases[i].mapped);
	assert_true(elf_layout_is_mapped(&f.layout, 0x408000, 1, 0x10000));
	f.layout.has_more_segments = true;
	assert_true(elf_layout_is_mapped(&f.layout, 0x408000, 1, 0x1000));
}

/* n segments of a page each, of which those from `code` on are executable. */
static int parse_many(struct elf_layout *ret, unsigned n, unsigned code)
{
	static struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[64];
	} file;
	struct byte_source src;

	file.eh = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(file.eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)n,
	};
	for (unsigned i = 0; i < n; i++)
		file.ph[i] = (Elf64_Phdr){.p_type = PT_LOAD,
					  .p_flags = i < code ? PF_R : PF_R | PF_X,
					  .p_offset = 0x1000 * i,
					  .p_vaddr = 0x1000 * i,
					  .p_filesz = 0x1000,
					  .p_memsz = 0x1000};
	byte_source_from_memory(&src, &file, sizeof(file));
	return elf_layout_parse(ret, &src);
}

TEST(of_too_many_segments_those_of_data_are_left_out)
{
	struct elf_layout l;

	assert_int_equal(parse_many(&l, ELF_LAYOUT_SEGMENTS_MAX, 10), 0);
	assert_false(l.has_more_segments);
	assert_int_equal(parse_many(&l, 20, 18), 0);
	assert_true(l.has_more_segments);
	assert_false(l.lacks_code);
	assert_true(elf_layout_is_text(&l, 0x12000) && elf_layout_is_text(&l, 0x13fff));
	assert_int_equal(l.segments[0].vaddr, 0);
	assert_int_equal(l.text_end, 0x14000);
	assert_int_equal(parse_many(&l, 20, 3), 0);
	assert_true(l.lacks_code);
	assert_int_equal(l.segments[0].vaddr, 0x3000);
	assert_int_equal(l.segments[ELF_LAYOUT_SEGMENTS_MAX - 1].vaddr, 0x12000);
}

TEST(other_files_are_refused)
{
	struct fixture f;

	elf_builder_init(&f.elf, EM_X86_64);
	elf_builder_segment(&f.elf, PT_LOAD, PF_R | PF_X, 0, 0, 64);
	elf_builder_finish(&f.elf);
	assert_int_equal(parse(&f), 0);
	f.elf.data[EI_CLASS] = ELFCLASS32;
	assert_int_equal(parse(&f), -ENOEXEC);
	f.elf.data[EI_CLASS] = ELFCLASS64;
	f.elf.data[1] = 'x';
	assert_int_equal(parse(&f), -ENOEXEC);
	f.elf.len = 10;
	assert_int_equal(parse(&f), -ENOEXEC);
	f.elf.len = 0;
	assert_int_equal(parse(&f), -ENOEXEC);
}

/* A truncated file is refused, or everything in its layout lies within what is left. */
TEST(a_file_cut_anywhere_has_no_offsets_behind_its_end)
{
	struct fixture f;
	size_t len;

	elf_builder_init(&f.elf, EM_X86_64);
	elf_builder_section(&f.elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, NULL,
			    64);
	elf_builder_segment(&f.elf, PT_LOAD, PF_R | PF_X, f.elf.sections[1].sh_offset, 0x1000, 64);
	elf_builder_symbol(&f.elf, "main", STB_GLOBAL, STT_FUNC, 0x1000, 16);
	elf_builder_symbol_table(&f.elf, SHT_SYMTAB);
	elf_builder_finish(&f.elf);
	len = f.elf.len;
	assert_int_equal(parse(&f), 0);
	assert_true(f.layout.sections[ELF_SECTION_SYMTAB].size_bytes > 0);
	for (f.elf.len = 0; f.elf.len < len; f.elf.len++) {
		if (parse(&f) < 0)
			continue;
		for (size_t i = 0; i < ELF_SECTION_MAX; i++) {
			const struct elf_section *s = &f.layout.sections[i];

			assert_true(s->offset + s->size_bytes <= f.elf.len);
		}
	}
}

TEST(a_file_without_section_headers_still_has_addresses)
{
	struct fixture f;
	uint64_t v;

	elf_builder_init(&f.elf, EM_X86_64);
	elf_builder_segment(&f.elf, PT_LOAD, PF_R | PF_X, 0, 0x1000, 64);
	assert_int_equal(parse(&f), 0);
	assert_int_equal(elf_layout_address(&f.layout, 32, &v), 0);
	assert_int_equal(v, 0x1020);
}

struct counted {
	const struct elf_builder *elf;
	unsigned n_reads;
};

static int read_counted(void *ctx, uint64_t offset, void *to, size_t len)
{
	struct counted *c = ctx;

	c->n_reads++;
	assert_true(len <= c->elf->len - offset);
	memcpy(to, c->elf->data + offset, len);
	return 0;
}

/* Each read of a file of overlayfs is made on another thread. */
static unsigned parse_counted(struct fixture *f)
{
	struct counted c = {.elf = &f->elf};
	struct byte_source src;

	byte_source_from_reader(&src, read_counted, &c, f->elf.len);
	assert_int_equal(elf_layout_parse(&f->layout, &src), 0);
	assert_int_equal(f->layout.sections[ELF_SECTION_TEXT].size_bytes, 64);
	assert_int_equal(f->layout.sections[ELF_SECTION_EH_FRAME].size_bytes, 32);
	return c.n_reads;
}

TEST(sections_are_found_with_few_reads_unless_their_names_are_long)
{
	char name[100];
	struct fixture f;

	for (size_t len = 4; len < sizeof(name); len *= 24) {
		unsigned n_reads;

		memset(name, 'x', len);
		name[len] = '\0';
		elf_builder_init(&f.elf, EM_X86_64);
		elf_builder_segment(&f.elf, PT_LOAD, PF_R | PF_X, 0, 0x1000, 64);
		elf_builder_segment(&f.elf, PT_LOAD, PF_R, 0, 0x2000, 64);
		for (unsigned i = 0; i < 12; i++)
			elf_builder_section(&f.elf, name, SHT_PROGBITS, SHF_ALLOC, 0x1000, NULL, 4);
		elf_builder_section(&f.elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				    0x1000, NULL, 64);
		elf_builder_section(&f.elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x1100, NULL, 32);
		elf_builder_finish(&f.elf);
		n_reads = parse_counted(&f);
		if (len == 4)
			assert_in_range(n_reads, 1, 6);
		else
			assert_true(n_reads > 14);
	}
}

static void add_note(struct fixture *f, uint32_t type, const char name[4], const char *id)
{
	uint8_t note[128];
	const Elf64_Nhdr nh = {4, (uint32_t)strlen(id), type};
	Elf64_Shdr *sh;

	memcpy(note, &nh, sizeof(nh));
	memcpy(note + sizeof(nh), name, 4);
	memcpy(note + sizeof(nh) + 4, id, strlen(id));
	sh = elf_builder_section(&f->elf, ".note", SHT_NOTE, SHF_ALLOC, 0, note,
				 sizeof(nh) + 4 + ((strlen(id) + 3) & ~(size_t)3));
	elf_builder_segment(&f->elf, PT_NOTE, PF_R, sh->sh_offset, 0, sh->sh_size);
}

TEST(the_build_id_is_gnus_before_gos)
{
	struct fixture gnu, go, both;

	for (int i = 0; i < 3; i++) {
		struct fixture *f = i == 0 ? &gnu : i == 1 ? &go : &both;

		elf_builder_init(&f->elf, EM_X86_64);
		elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, 0, 0, 64);
		if (i != 1)
			add_note(f, NT_GNU_BUILD_ID, "GNU", "01234567");
		if (i != 0)
			add_note(f, 4, "Go\0", "abc/def");
		elf_builder_finish(&f->elf);
		assert_int_equal(parse(f), 0);
		assert_true(f->layout.has_build_id);
	}
	assert_false(gnu.layout.is_go);
	assert_true(go.layout.is_go && both.layout.is_go);
	assert_memory_equal(both.layout.build_id, gnu.layout.build_id, 16);
	assert_memory_not_equal(go.layout.build_id, gnu.layout.build_id, 16);
}

TEST(dwarf_is_found_under_the_name_that_older_linkers_give_it_compressed)
{
	static const char *const names[] = {".debug_info", ".zdebug_info", ".zdebug_line"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_FREE struct elf_builder *b = calloc(1, sizeof(*b));
		struct elf_layout l;
		struct byte_source src;

		assert_non_null(b);
		elf_builder_init(b, EM_X86_64);
		elf_builder_section(b, names[i], SHT_PROGBITS, 0, 0, "dwarf", 5);
		elf_builder_finish(b);
		byte_source_from_memory(&src, b->data, b->len);
		assert_int_equal(elf_layout_parse_debug(&l, &src), 0);
		assert_int_equal(l.sections[ELF_SECTION_DEBUG_INFO].size_bytes, i < 2 ? 5 : 0);
	}
}

/* endbr64; jmp *slot(%rip) in a section of stubs, and the relocation of the slot. */
TEST(a_linkage_stub_has_the_name_of_its_import)
{
	static const uint8_t stub[16] = {0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xf6, 0x1f, 0, 0};
	const Elf64_Rela rela = {0x4000, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0};
	struct fixture f;
	char name[32];
	Elf64_Shdr *sh;

	elf_builder_init(&f.elf, EM_X86_64);
	sh = elf_builder_section(&f.elf, ".plt.sec", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				 0x2000, stub, sizeof(stub));
	elf_builder_segment(&f.elf, PT_LOAD, PF_R | PF_X, sh->sh_offset, 0x2000, sizeof(stub));
	elf_builder_section(&f.elf, ".rela.plt", SHT_RELA, SHF_ALLOC, 0, &rela, sizeof(rela));
	elf_builder_symbol(&f.elf, "puts", STB_GLOBAL, STT_FUNC, 0, 0);
	elf_builder_symbol_table(&f.elf, SHT_DYNSYM);
	elf_builder_finish(&f.elf);
	assert_int_equal(parse(&f), 0);
	/* 0x200a is the end of the jump, 0x1ff6 further is 0x4000 */
	assert_int_equal(elf_plt_find(&f.layout, &f.src, 0x2004, name, sizeof(name)), 0);
	assert_string_equal(name, "puts");
	assert_int_equal(elf_plt_find(&f.layout, &f.src, 0x2010, name, sizeof(name)), -ENOENT);
	f.elf.data[sh->sh_offset + 6]++; /* another slot */
	assert_int_equal(elf_plt_find(&f.layout, &f.src, 0x2004, name, sizeof(name)), -ENOENT);
}
