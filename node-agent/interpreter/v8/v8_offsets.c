/*
 * V8 describes itself for debuggers by some hundred variables: offsets of fields and numbers of
 * types. They are exported, or until a file is stripped among its symbols. Their names change with
 * the C++ types of the fields, so each has several. What they lack is here, by release, as it was
 * found in the releases that Node.js 14 to 26 have.
 */
#include "node-agent/interpreter/v8/v8_offsets.h"

#include <errno.h>

#include "common/elf/eh_function.h"
#include "common/elf/elf_exports.h"
#include "node-agent/interpreter/interpreter_symbols.h"

#define RELEASE_MIN 804u
#define RELEASE_STREAMS 1100u /* code and instructions are two objects */
#define RELEASE_TRUSTED 1200u
#define RELEASE_TABLES 1000u /* of names of variables */
#define RELEASE_KINDS 900u
#define RELEASE_QUARTERS 1400u /* of tables of positions */
#define BUILTINS_BYTES_MAX (UINT64_C(64) << 20)
#define BUILTINS_BYTES_MIN (UINT64_C(512) << 10) /* those of Node.js 14 to 26 have 1.1 to 2.1 MB */

enum value {
	MAJOR,
	MINOR,
	STRING_MASK,
	FUNCTION,
	SFI,
	SCRIPT,
	SCOPE,
	ARRAY,
	BYTECODE,
	TRAMPOLINE,
	CODE,
	STREAM,
	SHARED,
	SFI_NAME,
	SFI_SCRIPT,
	SCOPE_NAMES,
	CODE_START,
	CODE_SIZE,
	CODE_FLAGS,
	STREAM_START,
	BYTECODE_DATA,
	KIND_BASELINE,
	LITERALS,
	DEOPT_SFI,
	DEOPT_SFI_WRAPPED,
	INLINING,
	FRAME_BYTECODE,
	VALUES,
};

#define NAMES_MAX 3

static const char *const value_names[VALUES][NAMES_MAX] = {
	[MAJOR] = {"_ZN2v88internal7Version6major_E"},
	[MINOR] = {"_ZN2v88internal7Version6minor_E"},
	[STRING_MASK] = {"v8dbg_IsNotStringMask"},
	[FUNCTION] = {"v8dbg_type_JSFunction__JS_FUNCTION_TYPE"},
	[SFI] = {"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"},
	[SCRIPT] = {"v8dbg_type_Script__SCRIPT_TYPE"},
	[SCOPE] = {"v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE"},
	[ARRAY] = {"v8dbg_type_FixedArray__FIXED_ARRAY_TYPE"},
	[BYTECODE] = {"v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE"},
	[TRAMPOLINE] = {"v8dbg_type_InterpreterData__INTERPRETER_DATA_TYPE"},
	[CODE] = {"v8dbg_type_Code__CODE_TYPE"},
	[STREAM] = {"v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE"},
	[SHARED] = {"v8dbg_class_JSFunction__shared__SharedFunctionInfo"},
	[SFI_NAME] =
		{"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object",
		 "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
		 "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"},
	[SFI_SCRIPT] = {"v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject",
			"v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_",
			"v8dbg_class_SharedFunctionInfo__raw_script__Tagged_Object_"},
	[SCOPE_NAMES] = {"v8dbg_scopeinfo_idx_first_vars"},
	[CODE_START] = {"v8dbg_class_Code__instruction_start__Address",
			"v8dbg_class_Code__instruction_start__uintptr_t"},
	[CODE_SIZE] = {"v8dbg_class_Code__instruction_size__int"},
	[CODE_FLAGS] = {"v8dbg_class_Code__flags__uint32_t"},
	[STREAM_START] = {"v8dbg_class_InstructionStream__instruction_start__uintptr_t"},
	[BYTECODE_DATA] = {"v8dbg_class_BytecodeArray__data__uintptr_t"},
	[KIND_BASELINE] = {"v8dbg_CodeKindBaseline"},
	[LITERALS] = {"v8dbg_DeoptimizationDataLiteralArrayIndex"},
	[DEOPT_SFI] = {"v8dbg_DeoptimizationDataSharedFunctionInfoIndex"},
	[DEOPT_SFI_WRAPPED] = {"v8dbg_DeoptimizationDataWrappedSharedFunctionInfoIndex"},
	[INLINING] = {"v8dbg_DeoptimizationDataInliningPositionsIndex"},
	[FRAME_BYTECODE] = {"v8dbg_off_fp_bytecode_offset"},
};

#define NONE INT32_MIN

/* The int that a variable begins with, as it is in the file. */
static int read_int(const struct elf_layout *layout, const struct byte_source *src, uint64_t vaddr,
		    int32_t *ret)
{
	uint64_t offset;

	if (vaddr == 0 || elf_layout_offset(layout, vaddr, &offset) < 0)
		return 0;
	return byte_source_read(src, offset, ret, sizeof(*ret));
}

/*
 * Sets values from `from` on, or NONE. Those of the release are exported by files that do not
 * export the others.
 */
static int read_values(const struct elf_layout *layout, const struct byte_source *src, size_t from,
		       size_t to, int32_t ret[VALUES])
{
	const char *names[VALUES];
	uint64_t vaddrs[VALUES];
	int r;

	_Static_assert(VALUES <= ELF_EXPORTS_NAMES_MAX, "they are found at once");
	for (size_t i = from; i < to; i++)
		ret[i] = NONE;
	for (size_t k = 0; k < NAMES_MAX; k++) {
		size_t n = 0, of[VALUES];

		for (size_t i = from; i < to; i++) {
			if (ret[i] != NONE || !value_names[i][k])
				continue;
			of[n] = i;
			names[n++] = value_names[i][k];
		}
		r = n > 0 ? interpreter_symbols_find(layout, src, names, vaddrs, n) : 0;
		for (size_t i = 0; r >= 0 && i < n; i++)
			r = read_int(layout, src, vaddrs[i], &ret[of[i]]);
		if (r < 0)
			return r;
	}
	return 0;
}

static uint8_t or_else(int32_t value, uint8_t otherwise)
{
	return value == NONE || value < 0 || value > 255 ? otherwise : (uint8_t)value;
}

static uint16_t type_of(int32_t value)
{
	return value == NONE || value < 0 || value >= UINT16_MAX ? UINT16_MAX - 1 : (uint16_t)value;
}

/* ---- by release ---- */

static void set_types(const int32_t v[VALUES], struct v8_layout *l)
{
	l->string_mask = (uint16_t)v[STRING_MASK];
	l->type_function = type_of(v[FUNCTION]);
	l->type_sfi = type_of(v[SFI]);
	l->type_script = type_of(v[SCRIPT]);
	l->type_scope = type_of(v[SCOPE]);
	l->type_array = type_of(v[ARRAY]);
	l->type_bytecode = type_of(v[BYTECODE]);
	l->type_trampoline = type_of(v[TRAMPOLINE]);
	l->type_code = type_of(v[CODE]);
	l->type_stream = type_of(v[v[STREAM] == NONE ? CODE : STREAM]);
}

static void set_code(const int32_t v[VALUES], struct v8_layout *l)
{
	bool streams = l->release >= RELEASE_STREAMS, trusted = l->release >= RELEASE_TRUSTED;

	l->stream_start = or_else(v[streams ? STREAM_START : CODE_START], 96);
	l->stream_code = streams ? 8 : 0;
	l->code_start = or_else(v[CODE_START], 40);
	l->code_flags = or_else(v[CODE_FLAGS], l->release < RELEASE_KINDS ? 44 : 48);
	l->code_size = or_else(v[CODE_SIZE], streams ? 56 : 40);
	l->code_data = trusted ? 8 : 16;
	l->code_positions = trusted ? 16 : 24;
	l->table_from_entry = l->release >= RELEASE_KINDS;
	l->table_of_quarters = l->release >= RELEASE_QUARTERS;
	l->kind_shift = l->release < RELEASE_KINDS ? 1 : 0;
	l->kind_mask = l->release < RELEASE_KINDS ? 31 : 15;
	l->kind_baseline = or_else(v[KIND_BASELINE], l->release < RELEASE_KINDS ? UINT8_MAX : 11);
	l->kind_regexp = l->release < RELEASE_KINDS || l->release >= RELEASE_QUARTERS ? 4 : 3;
	l->deopt_literals = or_else(v[LITERALS], 2);
	l->deopt_sfi = or_else(v[v[DEOPT_SFI] == NONE ? DEOPT_SFI_WRAPPED : DEOPT_SFI], 6);
	l->deopt_inlining = or_else(v[INLINING], 7);
	l->wrapper_sfi = v[DEOPT_SFI_WRAPPED] == NONE ? 0 : 8;
}

static void set_rest(const int32_t v[VALUES], struct v8_layout *l)
{
	l->sfi_data = 8;
	l->sfi_name = or_else(v[SFI_NAME], 16);
	l->sfi_script = or_else(v[SFI_SCRIPT], 32);
	/* it was an array with a length */
	l->scope_words = l->release < RELEASE_KINDS ? 16 : 8;
	l->scope_names = or_else(v[SCOPE_NAMES], 3);
	l->scope_has_receiver = l->release < RELEASE_TABLES;
	l->scope_has_table = l->release >= RELEASE_TABLES;
	l->bytecode_data = or_else(v[BYTECODE_DATA], 54);
	l->bytecode_positions = l->release >= RELEASE_TRUSTED ? 24 : 32;
}

/* ---- sizes of bytecodes ---- */

#define BYTECODES_MIN 128u
#define BYTECODES_MAX 256u

/* Whether these are three rows of so many sizes: of operands as they are, of 2 and of 4 bytes. */
static bool are_rows(const uint8_t *sizes, size_t n)
{
	size_t n_scaled = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned one = sizes[i], two = sizes[n + i], four = sizes[2 * n + i];

		if (one == 0 || two < one || four - two != 2 * (two - one))
			return false;
		n_scaled += two > one;
	}
	return n_scaled > n / 2;
}

/* Sets what is known if they are at this address. */
static int read_bytecodes(const struct elf_layout *layout, const struct byte_source *src,
			  uint64_t vaddr, struct v8_layout *l)
{
	uint8_t sizes[3 * BYTECODES_MAX] = {0};
	uint64_t offset;
	int r = elf_layout_offset(layout, vaddr, &offset);

	if (r == 0)
		r = byte_source_read(src, offset, sizes, sizeof(sizes));
	if (r < 0)
		return r == -ENODATA || r == -ENOENT ? 0 : r;
	for (size_t n = BYTECODES_MIN; n < BYTECODES_MAX; n++) {
		if (are_rows(sizes, n))
			l->n_bytecodes = (uint16_t)n;
	}
	l->bytecode_sizes = l->n_bytecodes > 0 ? vaddr : 0;
	return 0;
}

#define RODATA_MAX (UINT64_C(64) << 20)
#define PIECE_BYTES 65536u
#define MATCHES_MAX 16u /* in a piece */

/* The first ones of all releases since Node.js 16. */
static const uint8_t first_sizes[] = {1, 1, 1, 1, 1, 2, 3, 4, 5, 5, 6, 2, 1, 2};

struct piece {
	uint8_t bytes[PIECE_BYTES];
	size_t n;
	uint64_t vaddr;
};

/* Stops at those that are the table's, and after too many. */
static int search_piece(const struct elf_layout *layout, const struct byte_source *src,
			const struct piece *piece, struct v8_layout *l)
{
	for (size_t from = 0, i = 0; i < MATCHES_MAX; i++) {
		const uint8_t *found = memmem(piece->bytes + from, piece->n - from, first_sizes,
					      sizeof(first_sizes));
		int r;

		if (!found)
			break;
		from = (size_t)(found - piece->bytes);
		r = read_bytecodes(layout, src, piece->vaddr + from++, l);
		if (r < 0 || l->n_bytecodes > 0)
			return r;
	}
	return 0;
}

/* Since Node.js 24, only files that are not stripped have their name. */
static int search_bytecodes(const struct elf_layout *layout, const struct byte_source *src,
			    struct v8_layout *l)
{
	const struct elf_section *rodata = &layout->sections[ELF_SECTION_RODATA];
	uint64_t end = rodata->size_bytes < RODATA_MAX ? rodata->size_bytes : RODATA_MAX;
	AUTO_FREE struct piece *piece = malloc(sizeof(*piece));

	if (!piece)
		return -ENOMEM;
	for (uint64_t at = 0; at < end && l->n_bytecodes == 0;
	     at += PIECE_BYTES - sizeof(first_sizes) + 1) {
		int r;

		piece->n = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;
		piece->vaddr = rodata->vaddr + at;
		r = byte_source_read(src, rodata->offset + at, piece->bytes, piece->n);
		if (r == 0)
			r = search_piece(layout, src, piece, l);
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_bytecodes(const struct elf_layout *layout, const struct byte_source *src,
			  struct v8_layout *l)
{
	static const char *const name = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE";
	uint64_t vaddr;
	int r = interpreter_symbols_find(layout, src, &name, &vaddr, 1);

	if (r > 0)
		r = read_bytecodes(layout, src, vaddr, l);
	if (r == 0 && l->n_bytecodes == 0 && l->kind_baseline != UINT8_MAX)
		r = search_bytecodes(layout, src, l);
	return r;
}

/* ---- builtins ---- */

enum blob { BLOB_CODE, BLOB_CODE_DATA, BLOB_DATA, BLOB_CODE_SIZE, BLOB_SIZE, BLOBS };

/*
 * The linker knows nothing of what is in the builtins, so in a stripped file they are code that is
 * in no function: megabytes of it, where what is written in assembly otherwise has some 100 KB.
 */
static int find_unnamed_builtins(const struct elf_layout *layout, const struct byte_source *src,
				 struct v8_offsets *ret)
{
	uint64_t start, end;
	int r = eh_function_gap(layout, src, &start, &end);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (end - start >= BUILTINS_BYTES_MIN && end - start <= BUILTINS_BYTES_MAX) {
		ret->builtins = start;
		ret->builtins_bytes = end - start;
	}
	return 0;
}

/* Some of these names are of the code in one release, and of a pointer to it in another. */
static int find_builtins(const struct elf_layout *layout, const struct byte_source *src,
			 struct v8_offsets *ret)
{
	static const char *const names[BLOBS] = {
		[BLOB_CODE] = "v8_Default_embedded_blob_code_",
		[BLOB_CODE_DATA] = "v8_Default_embedded_blob_code_data_",
		[BLOB_DATA] = "v8_Default_embedded_blob_data_",
		[BLOB_CODE_SIZE] = "v8_Default_embedded_blob_code_size_",
		[BLOB_SIZE] = "v8_Default_embedded_blob_size_",
	};
	uint64_t vaddrs[BLOBS];
	int32_t bytes = 0;
	int r = elf_names_find(layout, src, names, vaddrs, BLOBS);

	for (size_t i = 0; r > 0 && i <= BLOB_DATA && ret->builtins == 0; i++) {
		if (elf_layout_is_text(layout, vaddrs[i]))
			ret->builtins = vaddrs[i];
	}
	if (r < 0 || ret->builtins == 0)
		return r < 0 ? r : find_unnamed_builtins(layout, src, ret);
	r = read_int(layout, src, vaddrs[BLOB_CODE_SIZE] ?: vaddrs[BLOB_SIZE], &bytes);
	if (bytes > 0 && (uint64_t)bytes <= BUILTINS_BYTES_MAX)
		ret->builtins_bytes = (uint64_t)bytes;
	return r;
}

int v8_offsets_find(const struct elf_layout *layout, const struct byte_source *src,
		    struct v8_offsets *ret)
{
	int32_t v[VALUES];
	int r = read_values(layout, src, MAJOR, MINOR + 1, v);

	if (r == 0)
		r = read_values(layout, src, MINOR + 1, VALUES, v);
	if (r < 0)
		return r;
	*ret = (struct v8_offsets){0};
	if (v[MAJOR] < 0 || v[MINOR] < 0 || v[MAJOR] > 99 || v[MINOR] > 99 || v[SFI] == NONE ||
	    v[SHARED] == NONE || v[STRING_MASK] == NONE)
		return -ENOTSUP;
	ret->layout.release = (uint16_t)(100 * v[MAJOR] + v[MINOR]);
	if (ret->layout.release < RELEASE_MIN)
		return -ENOTSUP;
	set_types(v, &ret->layout);
	set_code(v, &ret->layout);
	set_rest(v, &ret->layout);
	ret->function_shared = or_else(v[SHARED], 24);
	ret->frame_bytecode = v[FRAME_BYTECODE] == NONE
				      ? ret->layout.release < RELEASE_KINDS ? 32 : 40
				      : (uint8_t)-v[FRAME_BYTECODE];
	r = find_bytecodes(layout, src, &ret->layout);
	return r < 0 ? r : find_builtins(layout, src, ret);
}
