/* Functions that return a thread-local variable, as compilers make them. */
#include "node-agent/interpreter/thread_variable.h"

#include <elf.h>
#include <errno.h>

#include "test/lib/unit.h"

#define CODE_AT 0x1000u
#define GOT_AT 0x1100u /* the module's number, then the variable's offset */

static uint8_t file[0x200];

static int find(uint16_t machine, const void *code, size_t n, struct thread_variable *ret)
{
	const struct elf_layout layout = {
		.segments = {{.vaddr = CODE_AT, .file_bytes = sizeof(file), .executable = true}},
		.n_segments = 1,
		.machine = machine,
	};
	const int64_t offset = 24;
	struct byte_source src;

	memset(file, 0xcc, sizeof(file));
	memcpy(file, code, n);
	memcpy(file + (GOT_AT - CODE_AT + 8), &offset, sizeof(offset));
	byte_source_from_memory(&src, file, sizeof(file));
	return thread_variable_of_getter(&layout, &src, CODE_AT, ret);
}

static void check_x86(const char *code, size_t n, enum thread_variable_kind kind, int64_t offset,
		      uint64_t vaddr)
{
	struct thread_variable v;

	assert_int_equal(find(EM_X86_64, code, n, &v), 0);
	assert_int_equal(v.kind, kind);
	assert_int_equal(v.offset, offset);
	assert_int_equal(v.vaddr, vaddr);
}
#define CHECK_X86(code, kind, offset, vaddr) check_x86(code, sizeof(code) - 1, kind, offset, vaddr)

TEST(in_an_executable_it_is_at_a_constant_offset)
{
	/* mov %fs:-8,%rax; ret */
	CHECK_X86("\x64\x48\x8b\x04\x25\xf8\xff\xff\xff\xc3", THREAD_VARIABLE_OFFSET, -8, 0);
	/* endbr64; mov $-16,%rax; mov %fs:(%rax),%rax; ret */
	CHECK_X86("\xf3\x0f\x1e\xfa\x48\xc7\xc0\xf0\xff\xff\xff\x64\x48\x8b\x00\xc3",
		  THREAD_VARIABLE_OFFSET, -16, 0);
	/* mov %fs:0,%rax; mov -40(%rax),%rax; ret */
	CHECK_X86("\x64\x48\x8b\x04\x25\0\0\0\0\x48\x8b\x40\xd8\xc3", THREAD_VARIABLE_OFFSET, -40,
		  0);
	/* mov %fs:0,%rax; mov -400(%rax),%rax; ret */
	CHECK_X86("\x64\x48\x8b\x04\x25\0\0\0\0\x48\x8b\x80\x70\xfe\xff\xff\xc3",
		  THREAD_VARIABLE_OFFSET, -400, 0);
}

TEST(the_dynamic_linker_may_have_stored_its_offset)
{
	/* mov 0xf9(%rip),%rax; mov %fs:(%rax),%rax; ret */
	CHECK_X86("\x48\x8b\x05\xf9\0\0\0\x64\x48\x8b\x00\xc3", THREAD_VARIABLE_LINKED, 0, GOT_AT);
	/* mov %fs:0,%rax; add 0xf0(%rip),%rax; mov (%rax),%rax; ret */
	CHECK_X86("\x64\x48\x8b\x04\x25\0\0\0\0\x48\x03\x05\xf0\0\0\0\x48\x8b\x00\xc3",
		  THREAD_VARIABLE_LINKED, 0, GOT_AT);
	/* lea 0xf9(%rip),%rax; call *(%rax); mov %fs:(%rax),%rax */
	CHECK_X86("\x48\x8d\x05\xf9\0\0\0\xff\x10\x64\x48\x8b\x00\xc3", THREAD_VARIABLE_LINKED, 0,
		  GOT_AT + 8);
}

TEST(in_a_library_it_is_one_of_its_module)
{
	/* sub $8,%rsp; lea 0xf4(%rip),%rdi; call; mov (%rax),%rax: libpython3.13 of pyenv */
	CHECK_X86(
		"\x48\x83\xec\x08\x66\x48\x8d\x3d\xf4\0\0\0\x66\x66\x48\xe8\xbc\x22\xe3\xff\x48\x8b"
		"\x00\x48\x83\xc4\x08\xc3",
		THREAD_VARIABLE_MODULE, 24, GOT_AT);
	/* of a module with several: lea 0xf5(%rip),%rdi; call; mov 0x18(%rax),%rax */
	CHECK_X86("\x48\x83\xec\x08\x48\x8d\x3d\xf5\0\0\0\xe8\0\0\0\0\x48\x8b\x40\x18\xc3",
		  THREAD_VARIABLE_MODULE, 24 + 0x18, GOT_AT);
}

/* endbr64; mov 0xf6(%rip),%edi; jmp, or sub $8,%rsp; mov 0xf6(%rip),%edi; call */
TEST(it_may_be_behind_a_key)
{
	CHECK_X86("\xf3\x0f\x1e\xfa\x8b\x3d\xf6\0\0\0\xe9\0\0\0\0", THREAD_VARIABLE_KEY, 0, GOT_AT);
	CHECK_X86("\x48\x83\xec\x08\x8b\x3d\xf6\0\0\0\xe8\0\0\0\0\x48\x83\xc4\x08\xc3",
		  THREAD_VARIABLE_KEY, 0, GOT_AT);
}

/* A variable that the file exports: its offset is stored when the library is loaded. */
TEST(the_offset_may_be_that_of_a_symbol)
{
	static const char code[] = "\x48\x8d\x3d\xf9\0\0\0\xe8\0\0\0\0\x48\x8b\x00\xc3";
	struct {
		uint8_t code[GOT_AT - CODE_AT + 16];
		Elf64_Rela relocations[2];
		Elf64_Sym symbols[3];
	} f = {.relocations = {{GOT_AT, ELF64_R_INFO(2, R_X86_64_DTPMOD64), 0},
			       {GOT_AT + 8, ELF64_R_INFO(2, R_X86_64_DTPOFF64), 4}},
	       .symbols = {[2] = {.st_value = 16}}};
	struct elf_layout layout = {
		.segments = {{.vaddr = CODE_AT, .file_bytes = sizeof(f), .executable = true}},
		.n_segments = 1,
		.machine = EM_X86_64,
	};
	struct thread_variable v;
	struct byte_source src;

	memcpy(f.code, code, sizeof(code) - 1);
	layout.sections[ELF_SECTION_RELA_DYN] =
		(struct elf_section){.offset = (size_t)((uint8_t *)f.relocations - (uint8_t *)&f),
				     .size_bytes = sizeof(f.relocations)};
	layout.sections[ELF_SECTION_DYNSYM] =
		(struct elf_section){.offset = (size_t)((uint8_t *)f.symbols - (uint8_t *)&f),
				     .size_bytes = sizeof(f.symbols)};
	byte_source_from_memory(&src, (const uint8_t *)&f, sizeof(f));
	assert_int_equal(thread_variable_of_getter(&layout, &src, CODE_AT, &v), 0);
	assert_int_equal(v.kind, THREAD_VARIABLE_MODULE);
	assert_int_equal(v.offset, 16 + 4);
	/* the file ends before the symbol, or it is another relocation */
	layout.sections[ELF_SECTION_DYNSYM].size_bytes = sizeof(Elf64_Sym) * 2;
	assert_int_equal(thread_variable_of_getter(&layout, &src, CODE_AT, &v), 0);
	assert_int_equal(v.offset, 0);
	f.relocations[1].r_info = ELF64_R_INFO(2, R_X86_64_64);
	assert_int_equal(thread_variable_of_getter(&layout, &src, CODE_AT, &v), 0);
	assert_int_equal(v.offset, 0);
}

static void check_arm64(const uint32_t *code, size_t n, enum thread_variable_kind kind,
			int64_t offset, uint64_t vaddr)
{
	struct thread_variable v;

	assert_int_equal(find(EM_AARCH64, code, n * 4, &v), 0);
	assert_int_equal(v.kind, kind);
	assert_int_equal(v.offset, offset);
	assert_int_equal(v.vaddr, vaddr);
}
#define CHECK_ARM64(code, kind, offset, vaddr) \
	check_arm64(code, ARRAY_SIZE(code), kind, offset, vaddr)

TEST(arm64_has_the_same_ways)
{
	/* mrs x0, tpidr_el0; add x0, x0, #0, lsl #12; add x0, x0, #0x10; ldr x0, [x0, #8]; ret */
	static const uint32_t local[] = {0xd53bd040, 0x91400000, 0x91004000, 0xf9400400,
					 0xd65f03c0};
	/* adrp x1, 0x1000; mrs x0, tpidr_el0; ldr x1, [x1, #0x100]; ldr x0, [x0, x1]; ret */
	static const uint32_t initial[] = {0x90000001, 0xd53bd040, 0xf9408021, 0xf8616800,
					   0xd65f03c0};
	/* adrp x0, 0x1000; ldr x1, [x0, #0x100]; add x0, x0, #0x100; blr x1; mrs x1, tpidr_el0;
	 * ldr x0, [x1, x0]; ret */
	static const uint32_t descriptor[] = {0x90000000, 0xf9408001, 0x91040000, 0xd63f0020,
					      0xd53bd041, 0xf8606820, 0xd65f03c0};

	CHECK_ARM64(local, THREAD_VARIABLE_OFFSET, 0x18, 0);
	CHECK_ARM64(initial, THREAD_VARIABLE_LINKED, 0, GOT_AT);
	CHECK_ARM64(descriptor, THREAD_VARIABLE_LINKED, 0, GOT_AT + 8);
}

TEST(other_code_is_not_understood)
{
	static const uint8_t x86[] = {0x31, 0xc0, 0xc3};
	static const uint32_t arm64[] = {0xd2800000, 0xd65f03c0};
	struct thread_variable v;

	assert_int_equal(find(EM_X86_64, x86, sizeof(x86), &v), -ENOENT);
	assert_int_equal(find(EM_AARCH64, arm64, sizeof(arm64), &v), -ENOENT);
}
