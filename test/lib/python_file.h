/*
 * A small ELF file that has what is looked for in CPython: its loop, of which a part is elsewhere,
 * another function, the description of 3.15, and exported symbols. Addresses are offsets in it.
 */
#ifndef TEST_LIB_PYTHON_FILE_H
#define TEST_LIB_PYTHON_FILE_H

#include <elf.h>

#include "test/lib/elf_functions.h"

#define PYTHON_FILE_FUNCTION_BYTES 128u

enum python_file_function { FILE_LOOP, FILE_OTHER, FILE_PART, FILE_GETTER, FILE_FUNCTIONS };

struct python_file {
	struct elf_builder elf;
	uint32_t version; /* Py_Version */
	bool has_version;
	uint64_t text; /* address of the functions, one after the other with gaps */
	uint64_t data; /* _PyRuntime */
};

static inline uint64_t python_file_at(const struct python_file *f, enum python_file_function i)
{
	return f->text + 256 * (uint64_t)i;
}

/* A jump from one function to another. */
static inline void python_file_jump(struct python_file *f, uint64_t from, uint64_t to)
{
	elf_functions_link(&f->elf, from, to, false);
}

static inline void python_file_unwind(struct python_file *f)
{
	struct elf_function functions[FILE_FUNCTIONS];

	for (unsigned i = 0; i < FILE_FUNCTIONS; i++)
		functions[i] =
			(struct elf_function){python_file_at(f, (enum python_file_function)i),
					      PYTHON_FILE_FUNCTION_BYTES};
	elf_functions_unwind(&f->elf, functions, FILE_FUNCTIONS);
}

/* The first words of _PyRuntime in 3.15.2, as far as they are read. */
static inline void python_file_description(uint64_t *words, uint32_t version)
{
	static const struct {
		uint8_t at;
		uint16_t values[16];
	} groups[] = {
		{11, {7400}},
		{22, {888, 0, 8, 16, 72, 80, 88, 96, 176, 184, 256, 32}},
		{39, {88, 8, 0, 56, 80, 74, 64, 0}},
		{47, {216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 0}},
		{58, {16, 8}},
		{60, {424, 24}},
		{74, {200, 24, 40, 32}},
		{86, {40, 16, 32}},
		{89, {64, 32, 16, 40, 56}},
		{94, {176, 112}},
		{99, {160, 24, 72, 67}},
	};

	memcpy(words, "xdebugpy", 8);
	words[1] = version;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		for (size_t j = 0; j < 16 && groups[i].at + j < 103; j++) {
			if (groups[i].values[j] != 0)
				words[groups[i].at + j] = groups[i].values[j];
		}
	}
}

static inline void python_file_begin(struct python_file *f, uint16_t machine)
{
	uint64_t words[110] = {0};

	elf_builder_init(&f->elf, machine);
	f->version = 0x30f02f0;
	f->has_version = true;
	f->text = elf_builder_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0,
				      NULL, 256 * FILE_FUNCTIONS)
			  ->sh_offset;
	f->elf.sections[1].sh_addr = f->text;
	python_file_description(words, f->version);
	f->data = elf_builder_section(&f->elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0,
				      words, sizeof(words))
			  ->sh_offset;
	/* two jumps to the part and back; the other function is called by a jump to its start */
	for (unsigned i = 1; i <= 2; i++) {
		uint64_t loop = python_file_at(f, FILE_LOOP), part = python_file_at(f, FILE_PART);

		python_file_jump(f, loop + i * 16, part + i * 8);
		python_file_jump(f, part + i * 16, loop + i * 8);
		python_file_jump(f, loop + 64 + i * 16, python_file_at(f, FILE_OTHER));
	}
}

static inline void python_file_function(struct python_file *f, const char *name,
					enum python_file_function i)
{
	elf_builder_symbol(&f->elf, name, STB_GLOBAL, STT_FUNC, python_file_at(f, i),
			   PYTHON_FILE_FUNCTION_BYTES);
}

static inline void python_file_object(struct python_file *f, const char *name, uint64_t at)
{
	elf_builder_symbol(&f->elf, name, STB_GLOBAL, STT_OBJECT, f->data + at, 8);
}

/* The symbols that a regular build exports. Call python_file_end() next. */
static inline void python_file_exports(struct python_file *f)
{
	python_file_function(f, "_PyEval_EvalFrameDefault", FILE_LOOP);
	python_file_function(f, "_PyThreadState_GetCurrent", FILE_GETTER);
	python_file_object(f, "_PyRuntime", 0);
	python_file_object(f, "PyCode_Type", 816);
	python_file_object(f, "PyUnicode_Type", 824);
	python_file_object(f, "PyBytes_Type", 832);
	python_file_object(f, "PyCoro_Type", 848);
	if (f->has_version)
		python_file_object(f, "Py_Version", 840);
}

static inline void python_file_end(struct python_file *f)
{
	elf_functions_u32(f->elf.data + f->data + 840, f->version);
	elf_builder_symbol_table(&f->elf, SHT_DYNSYM);
	python_file_unwind(f);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, 0, 0, ELF_BUILDER_BYTES / 2);
	elf_builder_finish(&f->elf);
}

#endif /* TEST_LIB_PYTHON_FILE_H */
