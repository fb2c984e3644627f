#include <errno.h>

#include "node-agent/go/image/go_release.h"
#include "test/lib/elf_builder.h"
#include "test/lib/go_image_builder.h"
#include "test/lib/unit.h"

#define VARIABLE (GO_IMAGE_DATA + 0x100u)
#define OTHER (GO_IMAGE_DATA + 0x200u)
#define TEXTS (GO_IMAGE_DATA + 0x300u)
#define SCHEDINIT (GO_IMAGE_TEXT + 0x100u) /* the second function */

static const char *const names[] = {"main.a", "runtime.schedinit", "main.c"};
static const char *const others[] = {"main.a", "runtime.schedinit2", "main.c"};

struct fixture {
	struct elf_builder elf;
	struct go_image_builder image;
	struct byte_source file;
	struct elf_layout layout;
	struct go_image loaded;
};

static void put_string(struct fixture *f, uint64_t variable, uint64_t text, const char *version)
{
	go_image_put(&f->image, variable, text, 8);
	go_image_put(&f->image, variable + 8, strlen(version), 8);
	memcpy(f->image.data + text, version, strlen(version));
}

/* cmpq $0, address(%rip), as the i-th instruction of schedinit() */
static void put_test(struct fixture *f, unsigned i, uint64_t address)
{
	uint64_t at = SCHEDINIT + i * 8u;

	go_image_put(&f->image, at, 0x3d8348, 3);
	go_image_put(&f->image, at + 3, address - (at + 8), 4);
}

/* The program in memory, and a file of its code that does not say where anything is in it. */
static void begin(struct fixture *f, unsigned minor, const char *version)
{
	Elf64_Shdr *text;

	memset(f, 0, sizeof(*f));
	go_image_build(&f->image, minor, names);
	put_string(f, VARIABLE, TEXTS, version);
	put_test(f, 1, VARIABLE + 8);
	put_test(f, 2, GO_IMAGE_DATA + 0x800); /* another variable */
	elf_builder_init(&f->elf, EM_X86_64);
	text = elf_builder_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				   GO_IMAGE_TEXT, NULL, GO_IMAGE_TEXT_BYTES);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, text->sh_offset, GO_IMAGE_TEXT,
			    GO_IMAGE_TEXT_BYTES);
	elf_builder_symbol(&f->elf, "runtime.firstmoduledata", STB_LOCAL, STT_OBJECT,
			   GO_IMAGE_MODULE, 8);
	elf_builder_symbol_table(&f->elf, SHT_SYMTAB);
}

static int minor_of(struct fixture *f, unsigned *ret)
{
	elf_builder_finish(&f->elf);
	byte_source_from_memory(&f->file, f->elf.data, f->elf.len);
	assert_int_equal(elf_layout_parse(&f->layout, &f->file), 0);
	f->loaded = (struct go_image){
		.layout = &f->layout, .file = &f->file, .memory = &f->image.memory};
	return go_release_minor(&f->loaded, ret);
}

TEST(the_variable_says_the_release)
{
	for (unsigned minor = 13; minor <= 27; minor++) {
		struct fixture f;
		char version[32];
		unsigned got;

		snprintf(version, sizeof(version), minor % 2 ? "go1.%u.7" : "devel go1.%u-abc",
			 minor);
		begin(&f, minor, version);
		assert_int_equal(minor_of(&f, &got), 0);
		assert_int_equal(got, minor);
	}
}

TEST(both_words_of_the_variable_lead_to_it)
{
	struct fixture f;
	unsigned got;

	begin(&f, 24, "go1.24.1");
	put_test(&f, 1, VARIABLE);
	assert_int_equal(minor_of(&f, &got), 0);
	assert_int_equal(got, 24);
}

TEST(a_release_that_is_not_certain_is_unknown)
{
	static const char *const versions[] = {"unknown", "",     "go1",      "go2.1",
					       "xgo1.24", "1.24", "my go1.24"};
	struct fixture f;
	unsigned got;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		begin(&f, 24, versions[i]);
		assert_int_equal(minor_of(&f, &got), -ENOTSUP);
	}
	/* two that differ */
	begin(&f, 24, "go1.24.1");
	put_string(&f, OTHER, TEXTS + 0x40, "go1.23.1");
	put_test(&f, 3, OTHER + 8);
	assert_int_equal(minor_of(&f, &got), -ENOTSUP);
	/* too long, and not in memory */
	begin(&f, 24, "go1.24.1");
	go_image_put(&f.image, VARIABLE + 8, 1000, 8);
	assert_int_equal(minor_of(&f, &got), -ENOTSUP);
	begin(&f, 24, "go1.24.1");
	go_image_put(&f.image, VARIABLE, GO_IMAGE_BYTES, 8);
	assert_int_equal(minor_of(&f, &got), -ENOTSUP);
	/* outside the program's data */
	begin(&f, 24, "go1.24.1");
	put_string(&f, 0x200, TEXTS, "go1.24.1");
	put_test(&f, 1, 0x208);
	assert_int_equal(minor_of(&f, &got), -ENOTSUP);
}

TEST(a_program_without_the_function_is_unknown)
{
	struct fixture f;
	unsigned got;

	begin(&f, 24, "go1.24.1");
	go_image_build(&f.image, 24, others);
	assert_int_equal(minor_of(&f, &got), -ENOTSUP);
}

TEST(without_module_data_it_is_not_go)
{
	struct fixture f;
	unsigned got;

	begin(&f, 24, "go1.24.1");
	memset(f.image.data + GO_IMAGE_MODULE, 0, 0x400);
	assert_int_equal(minor_of(&f, &got), -ENOENT);
}

TEST(the_file_is_believed_before_the_memory)
{
	const uint64_t string[2] = {OTHER, 8};
	uint8_t data[0x200] = {0};
	struct fixture f;
	Elf64_Shdr *sh;
	unsigned got;

	begin(&f, 24, "go1.99.1");
	memcpy(data, string, sizeof(string));
	memcpy(data + (OTHER - VARIABLE), "go1.24.1", 8);
	sh = elf_builder_section(&f.elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, VARIABLE,
				 data, sizeof(data));
	elf_builder_segment(&f.elf, PT_LOAD, PF_R | PF_W, sh->sh_offset, VARIABLE, sizeof(data));
	assert_int_equal(minor_of(&f, &got), 0);
	assert_int_equal(got, 24);
}

/* ---- detection ---- */

static int detect(const char *section, const char *const functions[], bool breaks)
{
	static struct fixture f;
	Elf64_Shdr *table, *text;

	memset(&f, 0, sizeof(f));
	go_image_build(&f.image, 24, functions);
	if (breaks)
		go_image_put_table(&f.image, 8, UINT64_MAX, 8); /* the number of functions */
	elf_builder_init(&f.elf, EM_X86_64);
	text = elf_builder_section(&f.elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				   GO_IMAGE_TEXT, NULL, GO_IMAGE_TEXT_BYTES);
	elf_builder_segment(&f.elf, PT_LOAD, PF_R | PF_X, text->sh_offset, GO_IMAGE_TEXT,
			    GO_IMAGE_TEXT_BYTES);
	table = elf_builder_section(&f.elf, section, SHT_PROGBITS, SHF_ALLOC, GO_IMAGE_TABLE,
				    f.image.data + GO_IMAGE_TABLE, GO_IMAGE_TABLE_BYTES);
	elf_builder_segment(&f.elf, PT_LOAD, PF_R, table->sh_offset, GO_IMAGE_TABLE,
			    GO_IMAGE_TABLE_BYTES);
	elf_builder_finish(&f.elf);
	byte_source_from_memory(&f.file, f.elf.data, f.elf.len);
	assert_int_equal(elf_layout_parse(&f.layout, &f.file), 0);
	return go_release_detect(&f.layout, &f.file);
}

TEST(a_table_with_functions_of_the_runtime_is_a_go_program)
{
	assert_int_equal(detect(".gopclntab", names, false), 1);
	assert_int_equal(detect(".data.rel.ro.gopclntab", names, false), 1);
}

TEST(other_programs_are_not)
{
	assert_int_equal(detect(".rodata", names, false), 0);     /* in the data of a C program */
	assert_int_equal(detect(".gopclntab", names, true), 0);   /* broken */
	assert_int_equal(detect(".gopclntab", others, false), 0); /* without the runtime */
}

TEST(without_headers_only_the_module_data_count)
{
	for (int has_module = 0; has_module < 2; has_module++) {
		static struct fixture f;
		Elf64_Shdr *all;

		memset(&f, 0, sizeof(f));
		go_image_build(&f.image, 24, names);
		if (!has_module)
			memset(f.image.data + GO_IMAGE_MODULE, 0, 0x400);
		elf_builder_init(&f.elf, EM_X86_64);
		all = elf_builder_section(&f.elf, ".all", SHT_PROGBITS, SHF_ALLOC, 0, f.image.data,
					  0xb000);
		elf_builder_segment(&f.elf, PT_LOAD, PF_R | PF_W | PF_X, all->sh_offset, 0, 0xb000);
		byte_source_from_memory(&f.file, f.elf.data, f.elf.len);
		assert_int_equal(elf_layout_parse(&f.layout, &f.file), 0);
		assert_int_equal(go_release_detect(&f.layout, &f.file), has_module);
	}
}
