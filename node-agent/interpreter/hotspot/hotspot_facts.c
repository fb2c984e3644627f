#include "node-agent/interpreter/hotspot/hotspot_facts.h"

#include <errno.h>

enum fact {
	LOW_BOUND,
	HIGH_BOUND,
	HEAPS,
	HEAP, /* JDK 8 */
	CALL_STUB_RETURN,
	MAJOR_VERSION,
	ARRAY_DATA,
	HEAP_MEMORY,
	HEAP_SEGMENTS,
	HEAP_SHIFT,
	SPACE_LOW,
	SPACE_HIGH,
	BLOCK_BYTES,
	BLOB_NAME,
	BLOB_FRAME,
	BLOB_COMPLETE,
	BLOB_CODE_BEGIN,
	BLOB_CODE_OFFSET,
	BLOB_DATA,
	BLOB_MUTABLE,
	BLOB_RELOCATIONS,
	COMPILE_ID,
	ORIGINAL,
	DEOPT_POINTER, /* 9 to 22 */
	DEOPT_MH_POINTER,
	DEOPT_OFFSET_8, /* 8 */
	DEOPT_MH_OFFSET_8,
	DEOPT_OFFSET, /* 23 and later */
	DEOPT_MH_OFFSET,
	DEOPT_ENTRY_OFFSET, /* 26 and later */
	METHOD_9,           /* until 22 */
	METHOD,
	SCOPES_PCS,
	DEPENDENCIES,
	SCOPES_DATA_POINTER,
	SCOPES_DATA_OFFSET,
	METADATA,
	IMMUTABLE,
	CONST_METHOD,
	CONSTANTS,
	CONST_WORDS,
	CONST_FLAGS,
	CONST_FLAGS_21,
	CODE_BYTES,
	NAME_INDEX,
	CONST_BYTES,
	LINES_FLAG,
	LINES_FLAG_21,
	POOL_HOLDER,
	POOL_BYTES,
	KLASS_NAME,
	SYMBOL_LENGTH,
	SYMBOL_BODY,
	PC_BYTES,
	PC_OFFSET,
	PC_SCOPE,
	FACTS,
};

#define STATIC(type_, field_)                                              \
	{                                                                  \
		.type = (type_), .field = (field_), .kind = VM_FACT_STATIC \
	}
#define OFFSET(type_, field_)                                              \
	{                                                                  \
		.type = (type_), .field = (field_), .kind = VM_FACT_OFFSET \
	}
#define SIZE(type_)                                   \
	{                                             \
		.type = (type_), .kind = VM_FACT_SIZE \
	}
#define CONSTANT(name_)                                   \
	{                                                 \
		.type = (name_), .kind = VM_FACT_CONSTANT \
	}

static const struct vm_fact all_facts[FACTS] = {
	[LOW_BOUND] = STATIC("CodeCache", "_low_bound"),
	[HIGH_BOUND] = STATIC("CodeCache", "_high_bound"),
	[HEAPS] = STATIC("CodeCache", "_heaps"),
	[HEAP] = STATIC("CodeCache", "_heap"),
	[CALL_STUB_RETURN] = STATIC("StubRoutines", "_call_stub_return_address"),
	[MAJOR_VERSION] = STATIC("Abstract_VM_Version", "_vm_major_version"),
	[ARRAY_DATA] = OFFSET("GrowableArray<int>", "_data"),
	[HEAP_MEMORY] = OFFSET("CodeHeap", "_memory"),
	[HEAP_SEGMENTS] = OFFSET("CodeHeap", "_segmap"),
	[HEAP_SHIFT] = OFFSET("CodeHeap", "_log2_segment_size"),
	[SPACE_LOW] = OFFSET("VirtualSpace", "_low"),
	[SPACE_HIGH] = OFFSET("VirtualSpace", "_high"),
	[BLOCK_BYTES] = SIZE("HeapBlock"),
	[BLOB_NAME] = OFFSET("CodeBlob", "_name"),
	[BLOB_FRAME] = OFFSET("CodeBlob", "_frame_size"),
	[BLOB_COMPLETE] = OFFSET("CodeBlob", "_frame_complete_offset"),
	[BLOB_CODE_BEGIN] = OFFSET("CodeBlob", "_code_begin"),
	[BLOB_CODE_OFFSET] = OFFSET("CodeBlob", "_code_offset"),
	[BLOB_DATA] = OFFSET("CodeBlob", "_data_offset"),
	[BLOB_MUTABLE] = OFFSET("CodeBlob", "_mutable_data"),
	[BLOB_RELOCATIONS] = OFFSET("CodeBlob", "_relocation_size"),
	[COMPILE_ID] = OFFSET("nmethod", "_compile_id"),
	[ORIGINAL] = OFFSET("nmethod", "_orig_pc_offset"),
	[DEOPT_POINTER] = OFFSET("CompiledMethod", "_deopt_handler_begin"),
	[DEOPT_MH_POINTER] = OFFSET("CompiledMethod", "_deopt_mh_handler_begin"),
	[DEOPT_OFFSET_8] = OFFSET("nmethod", "_deoptimize_offset"),
	[DEOPT_MH_OFFSET_8] = OFFSET("nmethod", "_deoptimize_mh_offset"),
	[DEOPT_OFFSET] = OFFSET("nmethod", "_deopt_handler_offset"),
	[DEOPT_MH_OFFSET] = OFFSET("nmethod", "_deopt_mh_handler_offset"),
	[DEOPT_ENTRY_OFFSET] = OFFSET("nmethod", "_deopt_handler_entry_offset"),
	[METHOD_9] = OFFSET("CompiledMethod", "_method"),
	[METHOD] = OFFSET("nmethod", "_method"),
	[SCOPES_PCS] = OFFSET("nmethod", "_scopes_pcs_offset"),
	[DEPENDENCIES] = OFFSET("nmethod", "_dependencies_offset"),
	[SCOPES_DATA_POINTER] = OFFSET("CompiledMethod", "_scopes_data_begin"),
	[SCOPES_DATA_OFFSET] = OFFSET("nmethod", "_scopes_data_offset"),
	[METADATA] = OFFSET("nmethod", "_metadata_offset"),
	[IMMUTABLE] = OFFSET("nmethod", "_immutable_data"),
	[CONST_METHOD] = OFFSET("Method", "_constMethod"),
	[CONSTANTS] = OFFSET("ConstMethod", "_constants"),
	[CONST_WORDS] = OFFSET("ConstMethod", "_constMethod_size"),
	[CONST_FLAGS] = OFFSET("ConstMethod", "_flags"),
	[CONST_FLAGS_21] = OFFSET("ConstMethod", "_flags._flags"),
	[CODE_BYTES] = OFFSET("ConstMethod", "_code_size"),
	[NAME_INDEX] = OFFSET("ConstMethod", "_name_index"),
	[CONST_BYTES] = SIZE("ConstMethod"),
	[LINES_FLAG] = CONSTANT("ConstMethod::_has_linenumber_table"),
	[LINES_FLAG_21] = CONSTANT("ConstMethodFlags::_misc_has_linenumber_table"),
	[POOL_HOLDER] = OFFSET("ConstantPool", "_pool_holder"),
	[POOL_BYTES] = SIZE("ConstantPool"),
	[KLASS_NAME] = OFFSET("Klass", "_name"),
	[SYMBOL_LENGTH] = OFFSET("Symbol", "_length"),
	[SYMBOL_BODY] = OFFSET("Symbol", "_body"),
	[PC_BYTES] = SIZE("PcDesc"),
	[PC_OFFSET] = OFFSET("PcDesc", "_pc_offset"),
	[PC_SCOPE] = OFFSET("PcDesc", "_scope_decode_offset"),
};

#define OBJECT_MAX_BYTES 4096u
#define PC_DESC_BYTES 16u
#define EXCESS_SINCE 19u /* JDK: bytes of compressed numbers are not 0 */

struct reading {
	uint64_t bias;
	const struct interpreter_memory *memory;
	struct vm_fact facts[FACTS];
};

static int read_memory(void *ctx, uint64_t offset, void *to, size_t len)
{
	int r = interpreter_read(ctx, offset, to, len);

	return r == -EFAULT ? -ENODATA : r;
}

static bool has(const struct reading *r, enum fact f)
{
	return r->facts[f].found;
}

static bool has_all(const struct reading *r, const enum fact *facts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!has(r, facts[i]))
			return false;
	}
	return true;
}

/* A value that is too large for an object is none: the caller finds it missing, as 0. */
static uint16_t value(const struct reading *r, enum fact f)
{
	uint64_t v = r->facts[f].value;

	return v < OBJECT_MAX_BYTES ? (uint16_t)v : 0;
}

static uint16_t either(const struct reading *r, enum fact one, enum fact other)
{
	return value(r, has(r, one) ? one : other);
}

/* Of a variable, in the file. */
static uint64_t address(const struct reading *r, enum fact f)
{
	return has(r, f) ? r->facts[f].value - r->bias : 0;
}

static void set_deopt(const struct reading *r, struct chain_jvm *w)
{
	static const enum fact facts[][2] = {
		{DEOPT_POINTER, DEOPT_MH_POINTER},
		{DEOPT_OFFSET_8, DEOPT_MH_OFFSET_8},
		{DEOPT_OFFSET, DEOPT_MH_OFFSET},
		{DEOPT_ENTRY_OFFSET, DEOPT_ENTRY_OFFSET},
	};

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		if (!has(r, facts[i][0]))
			continue;
		w->deopt[0] = value(r, facts[i][0]);
		w->deopt[1] = has(r, facts[i][1]) ? value(r, facts[i][1]) : w->deopt[0];
		if (i > 0)
			w->flags |= CHAIN_JVM_DEOPT_OFFSET;
	}
}

/* The interpreter of JDK 8 keeps one word less in its frames. */
static struct chain_jvm walk_of(const struct reading *r)
{
	uint16_t memory = value(r, HEAP_MEMORY);
	struct chain_jvm w = {
		.low = address(r, LOW_BOUND),
		.high = address(r, HIGH_BOUND),
		.heaps = address(r, has(r, HEAPS) ? HEAPS : HEAP),
		.heaps_data = value(r, ARRAY_DATA),
		.heap_low = (uint16_t)(memory + value(r, SPACE_LOW)),
		.heap_high = (uint16_t)(memory + value(r, SPACE_HIGH)),
		.heap_segments = (uint16_t)(value(r, HEAP_SEGMENTS) + value(r, SPACE_LOW)),
		.heap_shift = value(r, HEAP_SHIFT),
		.blob_from = value(r, BLOCK_BYTES),
		.blob_name = value(r, BLOB_NAME),
		.blob_frame = value(r, BLOB_FRAME),
		.blob_complete = value(r, BLOB_COMPLETE),
		.blob_code = either(r, BLOB_CODE_BEGIN, BLOB_CODE_OFFSET),
		.compile_id = value(r, COMPILE_ID),
		.original = value(r, ORIGINAL),
		.const_method = value(r, CONST_METHOD),
		.bytecode = has(r, HEAPS) ? -8 : -7,
	};

	if (!has(r, BLOB_CODE_BEGIN))
		w.flags |= CHAIN_JVM_CODE_OFFSET;
	if (has(r, IMMUTABLE))
		w.flags |= CHAIN_JVM_COMPLETE_16;
	set_deopt(r, &w);
	return w;
}

static void set_scopes(const struct reading *r, struct hotspot_layout *l)
{
	l->nmethod_method = either(r, METHOD_9, METHOD);
	l->nmethod_scopes_pcs = value(r, SCOPES_PCS);
	l->scopes_pointer = has(r, SCOPES_DATA_POINTER);
	l->nmethod_scopes_data = either(r, SCOPES_DATA_POINTER, SCOPES_DATA_OFFSET);
	l->nmethod_pcs_end = either(r, DEPENDENCIES, SCOPES_DATA_OFFSET);
	l->nmethod_metadata = has(r, METADATA) ? value(r, METADATA) : 0;
	if (!has(r, IMMUTABLE))
		return;
	l->nmethod_immutable = value(r, IMMUTABLE);
	l->nmethod_pcs_end = l->nmethod_scopes_data;
	l->blob_data = value(r, BLOB_DATA);
	if (has(r, BLOB_MUTABLE)) {
		l->blob_mutable = value(r, BLOB_MUTABLE);
		l->blob_relocations = value(r, BLOB_RELOCATIONS);
	}
}

static void set_methods(const struct reading *r, struct hotspot_layout *l)
{
	l->const_constants = value(r, CONSTANTS);
	l->const_words = value(r, CONST_WORDS);
	l->const_flags = either(r, CONST_FLAGS, CONST_FLAGS_21);
	l->const_code_bytes = value(r, CODE_BYTES);
	l->const_name = value(r, NAME_INDEX);
	l->const_bytes = value(r, CONST_BYTES);
	l->lines_flag = (uint8_t)either(r, LINES_FLAG, LINES_FLAG_21);
	l->pool_holder = value(r, POOL_HOLDER);
	l->pool_bytes = value(r, POOL_BYTES);
	l->klass_name = value(r, KLASS_NAME);
	l->symbol_length = value(r, SYMBOL_LENGTH);
	l->symbol_body = value(r, SYMBOL_BODY);
}

static bool is_enough(const struct reading *r)
{
	static const enum fact always[] = {
		HEAP_MEMORY, HEAP_SEGMENTS, HEAP_SHIFT,    SPACE_LOW,   SPACE_HIGH,    BLOCK_BYTES,
		BLOB_NAME,   BLOB_FRAME,    COMPILE_ID,    ORIGINAL,    SCOPES_PCS,    CONST_METHOD,
		CONSTANTS,   CONST_WORDS,   CODE_BYTES,    NAME_INDEX,  CONST_BYTES,   POOL_HOLDER,
		POOL_BYTES,  KLASS_NAME,    SYMBOL_LENGTH, SYMBOL_BODY, BLOB_COMPLETE,
	};
	static const enum fact many[] = {LOW_BOUND, HIGH_BOUND, HEAPS, ARRAY_DATA};

	return has_all(r, always, ARRAY_SIZE(always)) &&
	       (has(r, HEAP) || has_all(r, many, ARRAY_SIZE(many))) &&
	       (has(r, BLOB_CODE_BEGIN) || has(r, BLOB_CODE_OFFSET)) &&
	       (has(r, METHOD) || has(r, METHOD_9)) &&
	       (has(r, SCOPES_DATA_POINTER) || has(r, SCOPES_DATA_OFFSET)) &&
	       (has(r, METADATA) || has(r, BLOB_MUTABLE)) && value(r, POOL_BYTES) > 0 &&
	       value(r, CONST_BYTES) > 0 && value(r, BLOCK_BYTES) > 0;
}

/* What a PcDesc is has never changed, so that it is written down here. */
static bool is_pc_known(const struct reading *r)
{
	return (!has(r, PC_BYTES) || value(r, PC_BYTES) == PC_DESC_BYTES) &&
	       (!has(r, PC_OFFSET) || value(r, PC_OFFSET) == 0) &&
	       (!has(r, PC_SCOPE) || value(r, PC_SCOPE) == 4);
}

/* Also, whose numbers are compressed how. JDK 8 counts its HotSpot as 25. */
static int read_version(const struct reading *r, struct hotspot_layout *l)
{
	uint32_t version = 0;
	int e;

	if (!has(r, HEAPS)) {
		l->byte_excess = 0;
		return 0;
	}
	if (!has(r, MAJOR_VERSION))
		return -ENOTSUP;
	e = interpreter_read(r->memory, r->facts[MAJOR_VERSION].value, &version, sizeof(version));
	l->byte_excess = version >= EXCESS_SINCE;
	return e;
}

int hotspot_facts_read(struct hotspot_layout *l, uint64_t bias,
		       const struct interpreter_memory *memory)
{
	struct interpreter_memory borrowed = *memory;
	struct reading r = {.bias = bias, .memory = memory};
	struct vm_variables variables = l->variables;
	struct byte_source src;
	int e;

	for (size_t i = 0; i < VM_VARIABLES; i++) {
		if (variables.at[i] == 0)
			return -ENOTSUP;
		variables.at[i] += bias;
	}
	memcpy(r.facts, all_facts, sizeof(r.facts));
	byte_source_from_reader(&src, read_memory, &borrowed, INT64_MAX);
	e = vm_structs_find(&src, &variables, r.facts, FACTS);
	if (e == -EBADMSG || e == -ENODATA) /* the variables are not set yet */
		return -EAGAIN;
	if (e < 0)
		return e == -EFBIG || e == -ENOENT ? -ENOTSUP : e;
	if (!is_enough(&r) || !is_pc_known(&r))
		return -ENOTSUP;
	e = read_version(&r, l);
	if (e < 0)
		return e;
	l->walk = walk_of(&r);
	l->call_stub = address(&r, CALL_STUB_RETURN);
	set_scopes(&r, l);
	set_methods(&r, l);
	l->complete = true;
	return 0;
}
