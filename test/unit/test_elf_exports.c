#include <elf.h>
#include <errno.h>

#include "common/elf/elf_exports.h"
#include "test/lib/unit.h"

#define STRINGS_BYTES 100000u /* several pieces */
#define SYMBOLS 700u          /* likewise */
#define VADDR 0x1000u

/* A file of strings and symbols, of which each is exported as its address says. */
struct file {
	char strings[STRINGS_BYTES];
	Elf64_Sym symbols[SYMBOLS];
};

static struct file file;
static struct elf_layout layout;
static struct byte_source src;

static void add(unsigned symbol, const char *name, uint32_t string, uint64_t vaddr,
		uint16_t section)
{
	memcpy(file.strings + string, name, strlen(name) + 1);
	file.symbols[symbol] = (Elf64_Sym){
		.st_name = string,
		.st_value = vaddr,
		.st_shndx = section,
	};
}

static int set_up(void **state)
{
	(void)state;
	memset(&file, 0, sizeof(file));
	layout = (struct elf_layout){0};
	layout.sections[ELF_SECTION_DYNSYM] = (struct elf_section){
		.offset = offsetof(struct file, symbols),
		.size_bytes = sizeof(file.symbols),
	};
	layout.sections[ELF_SECTION_DYNSYM_STRINGS] = (struct elf_section){
		.offset = offsetof(struct file, strings),
		.size_bytes = sizeof(file.strings),
	};
	byte_source_from_memory(&src, &file, sizeof(file));
	return 0;
}

static int find(const char *name, uint64_t *vaddr)
{
	return elf_exports_find(&layout, &src, &name, vaddr, 1);
}

/* Wherever its string is, also across the pieces in which strings are read. */
TEST_FIXTURE(finds_a_name_at_any_offset, set_up, NULL)
{
	uint64_t vaddr;

	for (uint32_t at = 32600; at < 32800; at++) {
		assert_int_equal(set_up(NULL), 0);
		add(SYMBOLS - 1, "an_exported_name", at, VADDR, 1);
		assert_int_equal(find("an_exported_name", &vaddr), 1);
		assert_int_equal(vaddr, VADDR);
	}
}

TEST_FIXTURE(finds_several_names, set_up, NULL)
{
	static const char *const names[] = {"first", "absent", "second"};
	uint64_t vaddrs[ARRAY_SIZE(names)] = {7, 7, 7};

	add(3, "second", 99000, 2 * VADDR, 1);
	add(600, "first", 10, VADDR, 1);
	assert_int_equal(elf_exports_find(&layout, &src, names, vaddrs, ARRAY_SIZE(names)), 2);
	assert_int_equal(vaddrs[0], VADDR);
	assert_int_equal(vaddrs[1], 0);
	assert_int_equal(vaddrs[2], 2 * VADDR);
}

TEST_FIXTURE(ignores_what_is_not_exported, set_up, NULL)
{
	uint64_t vaddr;

	add(1, "imported", 10, VADDR, SHN_UNDEF);
	add(2, "longer_name", 100, VADDR, 1);
	add(3, "shortened", 200, VADDR, 1);
	assert_int_equal(find("imported", &vaddr), 0);
	assert_int_equal(find("longer", &vaddr), 0);
	assert_int_equal(find("shortened_name", &vaddr), 0);
	assert_int_equal(find("name", &vaddr),
			 0); /* the end of a string, of which there is no symbol */
	assert_int_equal(vaddr, 0);
}

/* "Py_NewRef" is the end of "_Py_NewRef", in whichever order they are. */
TEST_FIXTURE(a_name_that_is_the_end_of_another_one_is_found, set_up, NULL)
{
	uint64_t vaddr;

	add(1, "_exported", 10, VADDR, 1);
	add(2, "exported", 40000, 2 * VADDR, 1);
	add(3, "xexported", 70000, 3 * VADDR, 1);
	assert_int_equal(find("exported", &vaddr), 1);
	assert_int_equal(vaddr, 2 * VADDR);
	/* a linker has left out the string itself */
	add(2, "something", 40000, 2 * VADDR, 1);
	file.symbols[4] = (Elf64_Sym){.st_name = 11, .st_value = 4 * VADDR, .st_shndx = 1};
	assert_int_equal(find("exported", &vaddr), 1);
	assert_int_equal(vaddr, 4 * VADDR);
	/* it may be the end of any of several */
	file.symbols[4].st_name = 70001;
	assert_int_equal(find("exported", &vaddr), 1);
	assert_int_equal(vaddr, 4 * VADDR);
}

TEST_FIXTURE(local_names_are_those_of_the_other_table, set_up, NULL)
{
	const char *name = "local";
	uint64_t vaddr;

	add(1, name, 10, VADDR, 1);
	assert_int_equal(elf_names_find(&layout, &src, &name, &vaddr, 1), 0);
	layout.sections[ELF_SECTION_SYMTAB] = layout.sections[ELF_SECTION_DYNSYM];
	layout.sections[ELF_SECTION_SYMTAB_STRINGS] = layout.sections[ELF_SECTION_DYNSYM_STRINGS];
	layout.sections[ELF_SECTION_DYNSYM].size_bytes = 0;
	assert_int_equal(find(name, &vaddr), 0);
	assert_int_equal(elf_names_find(&layout, &src, &name, &vaddr, 1), 1);
	assert_int_equal(vaddr, VADDR);
}

TEST_FIXTURE(refuses_what_is_too_much, set_up, NULL)
{
	const char *names[ELF_EXPORTS_NAMES_MAX + 1] = {0};
	char name[ELF_EXPORTS_NAME_MAX + 2] = {0};
	uint64_t vaddrs[ARRAY_SIZE(names)], vaddr;

	assert_int_equal(elf_exports_find(&layout, &src, names, vaddrs, ARRAY_SIZE(names)),
			 -EINVAL);
	memset(name, 'x', sizeof(name) - 1);
	assert_int_equal(find(name, &vaddr), -EINVAL);
	add(1, "name", 10, VADDR, 1);
	layout.sections[ELF_SECTION_DYNSYM].size_bytes = UINT64_C(1) << 40;
	assert_int_equal(find("name", &vaddr), -EFBIG);
	layout.sections[ELF_SECTION_DYNSYM].size_bytes = sizeof(file);
	assert_int_equal(find("name", &vaddr), -ENODATA); /* the file is shorter */
	layout.sections[ELF_SECTION_DYNSYM_STRINGS].size_bytes = ELF_EXPORTS_STRINGS_MAX + 1;
	assert_int_equal(find("name", &vaddr), -EFBIG);
	layout.sections[ELF_SECTION_DYNSYM_STRINGS].size_bytes = 0;
	assert_int_equal(find("name", &vaddr), 0);
}

static int find_oom(void *arg)
{
	uint64_t vaddr;
	int r = find(arg, &vaddr);

	return r < 0 ? r : 0;
}

TEST_FIXTURE(survives_lack_of_memory, set_up, NULL)
{
	check_oom(find_oom, (char[]){"name"});
}
