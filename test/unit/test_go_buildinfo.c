#include <errno.h>

#include "node-agent/go/image/go_buildinfo.h"
#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

#define DATA 0x500000u
#define BIAS 0x100u

struct fixture {
	struct elf_builder elf;
	struct byte_source file;
	struct elf_layout layout;
	struct go_buildinfo info;
	uint8_t blob[256];
};

static int parse(const char *text, unsigned *ret)
{
	return go_version_parse(text, strlen(text), ret);
}

TEST(test_versions_are_read_in_all_their_forms)
{
	static const struct {
		const char *text;
		unsigned minor;
	} good[] = {
		{"go1.24.3", 24},
		{"go1.9", 9},
		{"devel go1.27-0a1b2c Mon", 27},
		{"go1.26rc1", 26},
		{"go1.24.1 X:nosynchashtriemap", 24},
	};
	static const char *const bad[] = {"", "go2.1", "go1.", "go1.x", "go1.12345", "1.24"};
	unsigned minor;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(parse(good[i].text, &minor), 0);
		assert_int_equal(minor, good[i].minor);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse(bad[i], &minor), -EBADMSG);
}

/* With the version in the section, or pointed to. */
static void make_blob(struct fixture *f, const char *version)
{
	memset(f->blob, 0, sizeof(f->blob));
	memcpy(f->blob, "\xff Go buildinf:", 14);
	f->blob[14] = 8;
	f->blob[15] = version ? 2 : 0;
	if (!version)
		return;
	f->blob[32] = (uint8_t)strlen(version);
	memcpy(f->blob + 33, version, strlen(version));
}

static int find(struct fixture *f, const char *section, bool headers)
{
	Elf64_Shdr *sh;

	elf_builder_init(&f->elf, EM_X86_64);
	sh = elf_builder_section(&f->elf, section, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA,
				 f->blob, sizeof(f->blob));
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_W, sh->sh_offset, DATA, sizeof(f->blob));
	elf_builder_finish(&f->elf);
	if (!headers)
		elf_builder_header(&f->elf)->e_shoff = 0;
	byte_source_from_memory(&f->file, f->elf.data, f->elf.len);
	assert_int_equal(elf_layout_parse(&f->layout, &f->file), 0);
	return go_buildinfo_find(&f->info, &f->layout, &f->file);
}

TEST(test_the_section_is_found_with_and_without_headers)
{
	static struct fixture f;
	unsigned minor;

	make_blob(&f, "go1.22.1");
	for (int headers = 0; headers < 2; headers++) {
		assert_int_equal(find(&f, ".go.buildinfo", headers), 0);
		assert_int_equal(f.info.vaddr, DATA);
		assert_int_equal(
			go_buildinfo_minor(&f.info, &f.layout, &f.file, &f.file, 0, &minor), 0);
		assert_int_equal(minor, 22);
	}
}

TEST(test_other_files_are_not_go_programs)
{
	static struct fixture f;

	memset(f.blob, 0, sizeof(f.blob));
	assert_int_equal(find(&f, ".data", false), -ENOENT);
	assert_int_equal(find(&f, ".go.buildinfo", true), -ENOENT);
}

TEST(test_old_releases_point_to_their_version)
{
	static struct fixture f;
	static uint8_t memory[0x600000];
	uint64_t pointer = 0x1000, string[2] = {0x2000, 8};
	struct byte_source source;
	unsigned minor;

	make_blob(&f, NULL);
	assert_int_equal(find(&f, ".go.buildinfo", true), 0);
	byte_source_from_memory(&source, memory, sizeof(memory));
	memcpy(memory + DATA + BIAS + 16, &pointer, sizeof(pointer));
	memcpy(memory + pointer, string, sizeof(string));
	memcpy(memory + string[0], "go1.17.5", 8);
	assert_int_equal(go_buildinfo_minor(&f.info, &f.layout, &f.file, &source, BIAS, &minor), 0);
	assert_int_equal(minor, 17);

	string[1] = 1 << 20;
	memcpy(memory + pointer, string, sizeof(string));
	assert_int_equal(go_buildinfo_minor(&f.info, &f.layout, &f.file, &source, BIAS, &minor),
			 -EBADMSG);
}

static void put(struct fixture *f, size_t at, uint64_t v)
{
	memcpy(f->blob + at, &v, sizeof(v));
}

TEST(test_the_version_in_the_file_wins_over_the_one_in_memory)
{
	static struct fixture f;
	static uint8_t memory[0x600000];
	struct byte_source source;
	unsigned minor;

	make_blob(&f, NULL);
	put(&f, 16, DATA + 0x40);
	put(&f, 0x40, DATA + 0x80);
	put(&f, 0x48, 8);
	memcpy(f.blob + 0x80, "go1.16.5", 8);
	assert_int_equal(find(&f, ".go.buildinfo", true), 0);
	memcpy(memory + DATA, f.blob, sizeof(f.blob));
	memcpy(memory + DATA + 0x80, "go1.27.5", 8);
	byte_source_from_memory(&source, memory, sizeof(memory));
	assert_int_equal(go_buildinfo_minor(&f.info, &f.layout, &f.file, &source, 0, &minor), 0);
	assert_int_equal(minor, 16);
	/* the file has no pointer to a version, only the relocated memory has */
	f.elf.data[f.info.offset + 0x80] = 'x';
	assert_int_equal(go_buildinfo_minor(&f.info, &f.layout, &f.file, &source, 0, &minor), 0);
	assert_int_equal(minor, 27);
	f.elf.data[f.info.offset + 0x48] = 200; /* too long */
	assert_int_equal(go_buildinfo_minor(&f.info, &f.layout, &f.file, &source, 0, &minor), 0);
	f.elf.data[f.info.offset + 18] = 0; /* outside of the file */
	assert_int_equal(go_buildinfo_minor(&f.info, &f.layout, &f.file, &source, 0, &minor), 0);
	assert_int_equal(minor, 27);
}
