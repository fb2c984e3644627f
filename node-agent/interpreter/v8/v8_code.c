/*
 * V8 finds code by its pages. What is in front of the instructions of all code is an object with
 * the same map, so here it is searched from the address down.
 */
#include "node-agent/interpreter/v8/v8_code.h"

#include <errno.h>

#include "node-agent/interpreter/v8/v8_deopt.h"

#define PAGE_BYTES 4096u
#define CODE_ALIGNMENT 32u
#define CANDIDATES_MAX 256u
#define TRAMPOLINE_BYTECODE 8u
#define BASELINE_BYTECODE 16u /* of what a function has beside its baseline code, in V8 9 */
#define SIZE_MAX_BYTES (16u << 20)
#define BYTECODES_MAX 256u
#define BYTECODE_WIDE 0u
#define BYTECODE_EXTRA_WIDE 1u
#define BYTECODE_BYTES_MAX (1u << 20)

/* ---- finding ---- */

static uint32_t number(struct v8_heap *h, uint64_t object, unsigned offset)
{
	uint32_t ret;

	return v8_read(h, (object & ~V8_TAGS) + offset, &ret, sizeof(ret)) < 0 ? 0 : ret;
}

static enum v8_code_kind kind_of(const struct v8_layout *l, uint32_t flags)
{
	uint32_t kind = flags >> l->kind_shift & l->kind_mask;

	if (kind == l->kind_regexp)
		return V8_CODE_REGEXP;
	if (l->kind_baseline == UINT8_MAX)
		return kind == 0 ? V8_CODE_OPTIMISED : V8_CODE_OTHER;
	if (kind == l->kind_baseline)
		return V8_CODE_BASELINE;
	return kind > l->kind_baseline ? V8_CODE_OPTIMISED : V8_CODE_OTHER;
}

/* Whether the object has code with the address. */
static bool has_code(struct v8_heap *h, uint64_t stream, uint64_t pc, struct v8_code *ret)
{
	const struct v8_layout *l = h->layout;
	uint64_t code = l->stream_code ? v8_word(h, stream, l->stream_code) : stream;
	uint32_t size;

	ret->start = (stream & ~V8_TAGS) + l->stream_start;
	if (!v8_is_object(code) || v8_type(h, stream) != l->type_stream ||
	    (l->stream_code && v8_word(h, code, l->code_start) != ret->start))
		return false;
	size = number(h, code, l->code_size);
	if (size > SIZE_MAX_BYTES || pc - ret->start >= size)
		return false;
	ret->size = size;
	ret->kind = kind_of(l, number(h, code, l->code_flags));
	ret->data = v8_word(h, code, l->code_data);
	ret->positions = v8_word(h, code, l->code_positions);
	return true;
}

/* Instructions begin at aligned addresses. */
static uint64_t last_candidate(const struct v8_layout *l, uint64_t pc)
{
	return (pc & ~(uint64_t)(CODE_ALIGNMENT - 1)) - l->stream_start;
}

int v8_code_find(struct v8_heap *h, uint64_t pc, struct v8_code *ret)
{
	uint64_t words[PAGE_BYTES / sizeof(uint64_t)], page = 0;
	uint64_t at = last_candidate(h->layout, pc);
	unsigned n_candidates = 0;

	for (; pc - at < V8_CODE_MAX && at > PAGE_BYTES; at -= CODE_ALIGNMENT) {
		uint64_t map;

		if (page != (at & ~(uint64_t)(PAGE_BYTES - 1))) {
			page = at & ~(uint64_t)(PAGE_BYTES - 1);
			if (v8_read(h, page, words, sizeof(words)) < 0)
				break;
		}
		map = words[(at - page) / sizeof(uint64_t)];
		if (!v8_is_object(map) || (map & V8_TAGS) != 1)
			continue;
		if (has_code(h, at | 1, pc, ret))
			return 0;
		if (++n_candidates > CANDIDATES_MAX)
			break;
	}
	return -ENOENT;
}

/* ---- positions ---- */

#define POSITION(raw) ((int64_t)((raw) >> 1 & 0x3fffffff) - 1)
#define INLINING(raw) ((int64_t)((raw) >> 31 & 0xffff) - 1)

/* The last entry at or before an offset. Returns false if there is none. */
static bool find_position(struct v8_heap *h, uint64_t table, uint32_t offset, uint64_t *ret)
{
	uint64_t code, position, sum = 0;
	struct v8_numbers n;
	int64_t at = h->layout->table_from_entry ? -1 : 0;
	bool any = false;

	v8_numbers_begin(&n, h, table);
	while (v8_numbers_next(&n, &code) && v8_numbers_next(&n, &position)) {
		at += (int64_t)(code >> (h->layout->table_of_quarters ? 2 : 1));
		if (at > (int64_t)offset)
			break;
		sum += (uint64_t)v8_signed(position);
		*ret = sum;
		any = true;
	}
	return any;
}

/* ---- inlined functions ---- */

static uint64_t element(struct v8_heap *h, uint64_t array, uint32_t index, uint32_t max)
{
	if (index >= v8_length(h, array, max))
		return 0;
	return v8_word(h, array, V8_ARRAY_DATA + index * (unsigned)sizeof(uint64_t));
}

static uint64_t unwrapped(struct v8_heap *h, uint64_t object)
{
	const struct v8_layout *l = h->layout;

	if (l->wrapper_sfi && v8_is_object(object) && v8_type(h, object) != l->type_sfi)
		object = v8_word(h, object, l->wrapper_sfi);
	return object | 2 * (object & 1);
}

struct inlining {
	uint64_t position;
	int32_t function; /* index of a literal; below 0: the function itself */
	int32_t pad;
};

#define ARRAY_MAX (1u << 16)

static bool find_inlining(struct v8_heap *h, uint64_t data, int64_t id, struct inlining *ret)
{
	uint64_t array = element(h, data, h->layout->deopt_inlining, ARRAY_MAX);
	uint64_t at = (uint64_t)id * sizeof(*ret);

	return id >= 0 && at + sizeof(*ret) <= v8_length(h, array, V8_NUMBERS_MAX) &&
	       v8_read(h, (array & ~V8_TAGS) + V8_ARRAY_DATA + at, ret, sizeof(*ret)) == 0;
}

/* In how many functions that one is inlined. */
static uint32_t count_callers(struct v8_heap *h, uint64_t data, int64_t id, uint32_t max)
{
	struct inlining in;
	uint32_t n = 0;

	while (n < max && find_inlining(h, data, id, &in)) {
		id = INLINING(in.position);
		n++;
	}
	return n;
}

/* Where a call is in code without positions. Returns false if it is none. */
static bool find_call(struct v8_heap *h, const struct v8_code *code, uint64_t pc, uint32_t level,
		      struct v8_place *ret)
{
	const struct v8_layout *l = h->layout;
	struct v8_deopt_frame frames[V8_INLINED_MAX + 1], *f;
	uint64_t literals, bytecode;
	uint32_t n;

	if (v8_length(h, code->positions, V8_NUMBERS_MAX) > 0)
		return false;
	n = v8_deopt_find(h, code, pc, frames);
	if (level >= n)
		return false;
	f = &frames[n - 1 - level];
	literals = element(h, code->data, l->deopt_literals, ARRAY_MAX);
	if (f->literal < 0 || f->offset < 0)
		return false;
	ret->sfi = unwrapped(h, element(h, literals, (uint32_t)f->literal, ARRAY_MAX));
	bytecode = v8_bytecode_of(h, v8_word(h, ret->sfi, l->sfi_data));
	if (bytecode)
		ret->position = v8_bytecode_position(h, bytecode, (uint32_t)f->offset);
	ret->n_callers = n - 1 - level;
	return true;
}

int v8_code_place(struct v8_heap *h, const struct v8_code *code, uint64_t pc, uint32_t level,
		  struct v8_place *ret)
{
	const struct v8_layout *l = h->layout;
	struct inlining in = {.function = -1};
	uint64_t raw = 0, literals;
	int64_t id;

	*ret = (struct v8_place){.position = -1};
	if (find_call(h, code, pc, level, ret))
		return 0;
	if (!find_position(h, code->positions, (uint32_t)(pc - code->start), &raw))
		raw = 0;
	if (raw & 1) /* not of a script */
		raw = 0;
	id = INLINING(raw);
	for (uint32_t i = 0; i < level; i++) {
		if (!find_inlining(h, code->data, id, &in))
			return -EBADMSG;
		raw = in.position;
		id = INLINING(raw);
	}
	ret->position = POSITION(raw);
	ret->sfi = unwrapped(h, element(h, code->data, l->deopt_sfi, ARRAY_MAX));
	if (id < 0 || level >= V8_INLINED_MAX)
		return 0;
	if (!find_inlining(h, code->data, id, &in)) {
		ret->position = -1;
		return 0;
	}
	literals = element(h, code->data, l->deopt_literals, ARRAY_MAX);
	if (in.function >= 0)
		ret->sfi = unwrapped(h, element(h, literals, (uint32_t)in.function, ARRAY_MAX));
	ret->n_callers = count_callers(h, code->data, id, V8_INLINED_MAX - level);
	return 0;
}

/* ---- bytecode ---- */

uint64_t v8_bytecode_of(struct v8_heap *h, uint64_t data)
{
	const struct v8_layout *l = h->layout;

	for (unsigned i = 0; i < 4 && v8_is_object(data); i++) {
		uint16_t type = v8_type(h, data);

		if (type == l->type_bytecode)
			return data;
		if (type == l->type_trampoline)
			data = v8_word(h, data, TRAMPOLINE_BYTECODE);
		else if (type == l->type_code && l->release >= 1000)
			data = v8_word(h, data, l->code_data);
		else
			data = l->release < 1000 ? v8_word(h, data, BASELINE_BYTECODE) : 0;
	}
	return 0;
}

int64_t v8_bytecode_position(struct v8_heap *h, uint64_t bytecode, uint32_t offset)
{
	uint64_t table = v8_word(h, bytecode, h->layout->bytecode_positions), raw;

	return find_position(h, table, offset, &raw) && !(raw & 1) ? POSITION(raw) : -1;
}

struct bytecodes {
	uint8_t sizes[3][BYTECODES_MAX];
	uint64_t at; /* of the next one */
	uint32_t length;
	uint32_t offset; /* of what is in bytes */
	uint32_t n;
	uint8_t bytes[256];
};

static bool bytecodes_begin(struct v8_heap *h, uint64_t bias, uint64_t bytecode,
			    struct bytecodes *ret)
{
	const struct v8_layout *l = h->layout;
	uint64_t sizes = bias + l->bytecode_sizes;

	*ret = (struct bytecodes){
		.at = (bytecode & ~V8_TAGS) + l->bytecode_data,
		.length = v8_length(h, bytecode, BYTECODE_BYTES_MAX),
	};
	if (l->n_bytecodes == 0 || l->n_bytecodes > BYTECODES_MAX)
		return false;
	for (unsigned i = 0; i < 3; i++) {
		if (v8_read(h, sizes + (uint64_t)i * l->n_bytecodes, ret->sizes[i],
			    l->n_bytecodes) < 0)
			return false;
	}
	return true;
}

static bool byte_at(struct v8_heap *h, struct bytecodes *b, uint32_t offset, uint8_t *ret)
{
	if (offset >= b->length)
		return false;
	if (offset - b->offset >= b->n) {
		b->offset = offset;
		b->n = b->length - offset < sizeof(b->bytes) ? b->length - offset
							     : (uint32_t)sizeof(b->bytes);
		if (v8_read(h, b->at + offset, b->bytes, b->n) < 0)
			return false;
	}
	*ret = b->bytes[offset - b->offset];
	return true;
}

/* The length of the bytecode at an offset, with what makes its operands wider; 0: it is none. */
static uint32_t size_at(struct v8_heap *h, struct bytecodes *b, uint32_t offset)
{
	uint32_t prefix = 0, size;
	unsigned scale = 0;
	uint8_t byte;

	if (!byte_at(h, b, offset, &byte))
		return 0;
	if (byte == BYTECODE_WIDE || byte == BYTECODE_EXTRA_WIDE) {
		scale = byte == BYTECODE_WIDE ? 1 : 2;
		prefix = 1;
		if (!byte_at(h, b, offset + 1, &byte))
			return 0;
	}
	size = b->sizes[scale][byte];
	return size == 0 ? 0 : prefix + size;
}

int64_t v8_baseline_offset(struct v8_heap *h, uint64_t bias, const struct v8_code *code,
			   uint64_t bytecode, uint64_t pc)
{
	uint64_t end = 0, bytes;
	struct bytecodes b;
	struct v8_numbers n;
	uint32_t offset = 0, size;

	if (!bytecodes_begin(h, bias, bytecode, &b))
		return -1;
	v8_numbers_begin(&n, h, code->positions);
	if (!v8_numbers_next(&n, &end) || pc - code->start < end) /* it has just begun */
		return -1;
	while (v8_numbers_next(&n, &bytes)) {
		end += bytes;
		if (pc - code->start < end)
			return offset;
		size = size_at(h, &b, offset);
		if (size == 0)
			return -1;
		offset += size;
	}
	return -1;
}
