/*
 * The loop is one piece of assembly (vm_x64.dasc), which no compiler touches: the same source gives
 * the same instructions but for offsets into the global state, which depend on what is built in. So
 * it is found by what it begins a call with, and the offsets are in instructions that have no other
 * form. Values of 64 bits (GC64) have a loop of their own; that of 32 bits is another source, and
 * has none of this.
 *
 * r14 is the dispatch table, which is at a distance from the global state.
 */
#include "node-agent/interpreter/lua/luajit_vm.h"

#include <elf.h>
#include <errno.h>

#include "common/elf/eh_function.h"

#define LOOP_MIN 8192u /* bytes; real ones have 16,450 to 17,500 */
#define LOOP_MAX 65535u
#define TEXT_MAX (64u << 20)
#define CHUNK_BYTES 65536u
#define ANYWHERE_IN_LOOP 64u  /* its unwinding information is the same for all of it */
#define OBJECT_THREAD 6u      /* ~LJ_TTHREAD */
#define TAG_FUNCTION 0x1fff7u /* LJ_TFUNC, in the upper 17 bits of a value */
#define STATE_C 1u            /* LJ_VMST_C */
#define RDX_IN_DWARF 1u
#define PROTO_BYTES 104u /* GCproto */

struct pattern {
	uint8_t n;
	uint8_t bytes[10];
};

/* push %rbp, %rbx, %r15, %r14; sub $40,%rsp */
static const struct pattern enters = {10,
				      {0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, 40}};

/* What says that struct chain_slots is as in layout_of_loop. */
static const struct pattern all_of[] = {
	{5, {0x48, 0x89, 0x7c, 0x24, 16}}, /* SAVE_L: mov %rdi,16(%rsp) */
	{5, {0x48, 0x89, 0x6c, 0x24, 24}}, /* SAVE_PC */
	{5, {0x4c, 0x89, 0x7c, 0x24, 32}}, /* SAVE_CFRAME */
	{4, {0x89, 0x54, 0x24, 8}},        /* SAVE_NRES */
	{4, {0x48, 0x89, 0x65, 80}},       /* L->cframe: mov %rsp,80(%rbp) */
	{4, {0x4c, 0x8b, 0x75, 16}},       /* L->glref: mov 16(%rbp),%r14 */
	{4, {0x48, 0x8b, 0x55, 32}},       /* L->base */
	{4, {0x4c, 0x8b, 0x7b, 0xb4}},     /* PC2PROTO(k): mov -76(%rbx),%r15 */
};

static const struct chain_slots layout_of_loop = {
	.state = 16,
	.from = 8,
	.globals = 16,
	.base = 32,
	.last = 48,
	.first = 56,
	.c_frame = 80,
	.kind = 8,
	.state_kind = OBJECT_THREAD,
	.base_register = RDX_IN_DWARF,
	.function_kind = 8,
	.instructions = 32,
	.code_bytes = PROTO_BYTES,
	.size = 12,
	.trace_code = 64,
	.trace_at = 72,
	.in_c = ~STATE_C,
	.resumes_at = ANYWHERE_IN_LOOP,
	.function_tag = TAG_FUNCTION,
};

struct code {
	const uint8_t *bytes;
	size_t n;
};

static bool is_at(const struct code *c, size_t at, const struct pattern *p)
{
	return at + p->n <= c->n && memcmp(c->bytes + at, p->bytes, p->n) == 0;
}

/* Returns c->n if it is not there. */
static size_t find(const struct code *c, size_t from, const struct pattern *p)
{
	for (size_t at = from; at + p->n <= c->n; at++) {
		if (is_at(c, at, p))
			return at;
	}
	return c->n;
}

/* The offset that follows the bytes of an instruction, of the first one from *at on; moves *at. */
static bool next_offset(const struct code *c, size_t *at, const struct pattern *p, int32_t *ret)
{
	*at = find(c, *at, p);
	if (*at + p->n + sizeof(*ret) > c->n)
		return false;
	*at += p->n;
	memcpy(ret, c->bytes + *at, sizeof(*ret));
	*at += sizeof(*ret);
	return true;
}

static bool has_offset(const struct code *c, const struct pattern *p, int32_t offset)
{
	size_t at = 0;
	int32_t o;

	while (next_offset(c, &at, p, &o)) {
		if (o == offset)
			return true;
	}
	return false;
}

/* G->jit_base is stored when generated code is entered, read and cleared when it is left. */
static bool find_trace_base(const struct code *c, int32_t *ret)
{
	static const struct pattern store = {3, {0x49, 0x89, 0x96}}; /* mov %rdx,o(%r14) */
	static const struct pattern load = {3, {0x49, 0x8b, 0x96}};
	static const struct pattern clear = {3, {0x49, 0xc7, 0x86}};
	size_t at = 0;

	while (next_offset(c, &at, &store, ret)) {
		if (has_offset(c, &load, *ret) && has_offset(c, &clear, *ret))
			return true;
	}
	return false;
}

/* J->trace: mov o(%r14),%rcx; mov (%rcx,%rax,8),%rax */
static bool find_traces(const struct code *c, int32_t *ret)
{
	static const struct pattern load = {3, {0x49, 0x8b, 0x8e}};
	static const struct pattern index = {4, {0x48, 0x8b, 0x04, 0xc1}};
	size_t at = 0;

	while (next_offset(c, &at, &load, ret)) {
		if (is_at(c, at, &index))
			return true;
	}
	return false;
}

/* G->vmstate: movl $~LJ_VMST_INTERP,o(%r14) */
static bool find_trace_number(const struct code *c, int32_t *ret)
{
	static const struct pattern store = {3, {0x41, 0xc7, 0x86}};
	static const struct pattern state = {4, {0xff, 0xff, 0xff, 0xff}};
	size_t at = 0;

	while (next_offset(c, &at, &store, ret)) {
		if (is_at(c, at, &state))
			return true;
	}
	return false;
}

static int read_slots(const struct code *c, struct chain_slots *ret)
{
	static const struct pattern add = {3, {0x49, 0x81, 0xc6}}; /* add $n,%r14 */
	int32_t dispatch, base, number, traces;
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all_of); i++) {
		if (find(c, 0, &all_of[i]) == c->n)
			return -ENOTSUP;
	}
	if (!next_offset(c, &at, &add, &dispatch) || !find_trace_base(c, &base) ||
	    !find_trace_number(c, &number) || !find_traces(c, &traces))
		return -ENOTSUP;
	*ret = layout_of_loop;
	ret->trace_base = (int32_t)((uint32_t)dispatch + (uint32_t)base);
	ret->trace_number = (int32_t)((uint32_t)dispatch + (uint32_t)number);
	ret->traces = (int32_t)((uint32_t)dispatch + (uint32_t)traces);
	return 0;
}

/* Sets *ret to the address of the first instructions that enter the loop. */
static int find_entry(const struct elf_layout *layout, const struct byte_source *src,
		      uint8_t *chunk, uint64_t *ret)
{
	const struct elf_section *text = &layout->sections[ELF_SECTION_TEXT];
	uint64_t end = text->size_bytes < TEXT_MAX ? text->size_bytes : TEXT_MAX;

	for (uint64_t at = 0; at < end; at += CHUNK_BYTES - enters.n + 1) {
		struct code c = {chunk, end - at < CHUNK_BYTES ? (size_t)(end - at) : CHUNK_BYTES};
		int r = byte_source_read(src, text->offset + at, chunk, c.n);
		size_t found;

		if (r < 0)
			return r;
		found = find(&c, 0, &enters);
		if (found < c.n) {
			*ret = text->vaddr + at + found;
			return 0;
		}
	}
	return -ENOTSUP;
}

int luajit_vm_find(const struct elf_layout *layout, const struct byte_source *src,
		   struct interpreter_range *ret_loop, struct chain_slots *ret_slots)
{
	AUTO_FREE uint8_t *bytes = malloc(CHUNK_BYTES);
	struct interpreter_range loop;
	uint64_t entry, offset = 0;
	struct code c;
	int r;

	if (!bytes)
		return -ENOMEM;
	if (layout->machine != EM_X86_64)
		return -ENOTSUP;
	r = find_entry(layout, src, bytes, &entry);
	if (r == 0)
		r = eh_function_before(layout, src, entry, &loop.start, &loop.end);
	if (r == 0)
		r = elf_layout_offset(layout, loop.start, &offset);
	if (r < 0)
		return r == -ENOENT ? -ENOTSUP : r;
	if (entry >= loop.end || loop.end - loop.start < LOOP_MIN ||
	    loop.end - loop.start > LOOP_MAX)
		return -ENOTSUP;
	c = (struct code){bytes, (size_t)(loop.end - loop.start)};
	r = byte_source_read(src, offset, bytes, c.n);
	if (r < 0)
		return r;
	*ret_loop = loop;
	return read_slots(&c, ret_slots);
}
