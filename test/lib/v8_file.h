/*
 * A file with V8 as nm(1) shows it: numbers by the names of their symbols, and code in which there
 * is a gap between two functions, where the builtins are.
 */
#ifndef TEST_LIB_V8_FILE_H
#define TEST_LIB_V8_FILE_H

#include "common/base.h"
#include "test/lib/elf_functions.h"

#define V8_FILE_BYTES (2u << 20) /* with the builtins; the builder has the first part */
#define V8_FILE_FUNCTION_BYTES 64u
#define V8_FILE_BYTECODE_SIZES "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"

struct v8_file_value {
	const char *name;
	int32_t value;
};

/* Node.js 24 */
static const struct v8_file_value v8_file_24[] = {
	{"_ZN2v88internal7Version6major_E", 13},
	{"_ZN2v88internal7Version6minor_E", 6},
	{"v8dbg_IsNotStringMask", -128},
	{"v8dbg_type_JSFunction__JS_FUNCTION_TYPE", 2065},
	{"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 282},
	{"v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE", 192},
	{"v8dbg_type_Code__CODE_TYPE", 187},
	{"v8dbg_class_JSFunction__shared__SharedFunctionInfo", 32},
	{"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_", 24},
	{"v8dbg_scopeinfo_idx_first_vars", 5},
	{"v8dbg_class_Code__instruction_start__Address", 40},
	{"v8dbg_class_Code__instruction_size__int", 56},
	{"v8dbg_class_Code__flags__uint32_t", 52},
	{"v8dbg_class_InstructionStream__instruction_start__uintptr_t", 32},
	{"v8dbg_class_BytecodeArray__data__uintptr_t", 64},
	{"v8dbg_CodeKindBaseline", 10},
	{"v8dbg_DeoptimizationDataLiteralArrayIndex", 3},
	{"v8dbg_DeoptimizationDataWrappedSharedFunctionInfoIndex", 7},
	{"v8dbg_DeoptimizationDataInliningPositionsIndex", 8},
	{"v8dbg_off_fp_bytecode_offset", -40},
};

/* Node.js 14, which describes less of itself */
static const struct v8_file_value v8_file_14[] = {
	{"_ZN2v88internal7Version6major_E", 8},
	{"_ZN2v88internal7Version6minor_E", 4},
	{"v8dbg_IsNotStringMask", -64},
	{"v8dbg_type_JSFunction__JS_FUNCTION_TYPE", 1092},
	{"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 173},
	{"v8dbg_type_Code__CODE_TYPE", 158},
	{"v8dbg_class_JSFunction__shared__SharedFunctionInfo", 24},
	{"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", 16},
	{"v8dbg_scopeinfo_idx_first_vars", 3},
	{"v8dbg_class_Code__instruction_start__uintptr_t", 96},
	{"v8dbg_class_Code__instruction_size__int", 40},
};

struct v8_file_plan {
	const struct v8_file_value *values;
	size_t n_values;
	const char *without; /* a value that is left out; or NULL */
	uint64_t gap_bytes;  /* of code between functions */
	bool has_names;      /* of the builtins, which are then the last quarter of the gap */
	const uint8_t *bytecode_sizes; /* NULL: there are none */
	size_t n_bytecode_sizes;
};

struct v8_file {
	struct elf_builder elf;
	uint64_t gap; /* where it begins: an address, and an offset in the file */
	uint8_t bytes[V8_FILE_BYTES];
};

static inline void v8_file_names(struct v8_file *f, const struct v8_file_plan *plan, uint64_t data)
{
	int32_t bytes = (int32_t)(plan->gap_bytes / 4);

	memcpy(f->elf.data + data, &bytes, sizeof(bytes));
	elf_builder_symbol(&f->elf, "v8_Default_embedded_blob_code_size_", STB_LOCAL, STT_OBJECT,
			   data, 4);
	elf_builder_symbol(&f->elf, "v8_Default_embedded_blob_code_", STB_LOCAL, STT_FUNC,
			   f->gap + plan->gap_bytes - plan->gap_bytes / 4, 0);
	elf_builder_symbol_table(&f->elf, SHT_SYMTAB);
}

static inline void v8_file_values(struct v8_file *f, const struct v8_file_plan *plan, uint64_t data)
{
	for (size_t i = 0; i < plan->n_values; i++) {
		const struct v8_file_value *v = &plan->values[i];

		memcpy(f->elf.data + data + 4 * i, &v->value, sizeof(v->value));
		if (!plan->without || strcmp(v->name, plan->without) != 0)
			elf_builder_symbol(&f->elf, v->name, STB_GLOBAL, STT_OBJECT, data + 4 * i,
					   4);
	}
	if (plan->bytecode_sizes &&
	    (!plan->without || strcmp(plan->without, V8_FILE_BYTECODE_SIZES) != 0))
		elf_builder_symbol(&f->elf, V8_FILE_BYTECODE_SIZES, STB_GLOBAL, STT_OBJECT,
				   data + 4 * plan->n_values, 0);
	elf_builder_symbol_table(&f->elf, SHT_DYNSYM);
}

/* Addresses are offsets in the file. */
static inline void v8_file_build(struct v8_file *f, const struct v8_file_plan *plan)
{
	uint8_t data[1024 + 8] = {0};
	struct elf_function functions[2];
	uint64_t at, text_bytes = plan->gap_bytes + 2 * V8_FILE_FUNCTION_BYTES;
	Elf64_Shdr *text, *rodata;

	elf_builder_init(&f->elf, EM_X86_64);
	assert(4 * plan->n_values + plan->n_bytecode_sizes <= sizeof(data) - 8);
	if (plan->bytecode_sizes)
		memcpy(data + 4 * plan->n_values, plan->bytecode_sizes, plan->n_bytecode_sizes);
	/* in front of what elf_builder_section() puts there, and behind all of that */
	text = elf_builder_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				   ELF_BUILDER_BYTES, NULL, 0);
	text->sh_offset = ELF_BUILDER_BYTES;
	text->sh_size = text_bytes;
	f->gap = ELF_BUILDER_BYTES + V8_FILE_FUNCTION_BYTES;
	functions[0] = (struct elf_function){ELF_BUILDER_BYTES, V8_FILE_FUNCTION_BYTES};
	functions[1] = (struct elf_function){f->gap + plan->gap_bytes, V8_FILE_FUNCTION_BYTES};
	assert(functions[1].start + V8_FILE_FUNCTION_BYTES <= V8_FILE_BYTES);
	rodata = elf_builder_section(&f->elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0, data,
				     sizeof(data));
	rodata->sh_addr = at = rodata->sh_offset;
	elf_builder_segment(&f->elf, PT_LOAD, PF_R, 0, 0, ELF_BUILDER_BYTES);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, ELF_BUILDER_BYTES, ELF_BUILDER_BYTES,
			    text_bytes);
	elf_functions_unwind(&f->elf, functions, ARRAY_SIZE(functions));
	v8_file_values(f, plan, at);
	if (plan->has_names)
		v8_file_names(f, plan, at + sizeof(data) - 8);
	elf_builder_finish(&f->elf);
	memset(f->bytes, 0, sizeof(f->bytes));
	memcpy(f->bytes, f->elf.data, sizeof(f->elf.data));
}

#endif /* TEST_LIB_V8_FILE_H */
