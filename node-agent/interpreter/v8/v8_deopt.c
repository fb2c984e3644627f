/*
 * Maglev, V8's second compiler, makes no table of positions in Node.js 24.0 to 24.19; in 24.21 it
 * does. But each call may have to go on in the interpreter, so V8 keeps which functions it is in
 * then, with the offsets in their bytecode:
 *
 *   return address -> safepoint table, behind the instructions -> number of an entry
 *   entry          -> deoptimization data -> where its translation begins
 *   translation    -> one operation for each frame, and for each value in it
 *
 * An operation is a byte, with numbers of 7 bits a byte behind it. How many there are depends on
 * the operation, and operations are numbered by release. A translation may take operations over
 * from one before it. That the numbers are right is proven for each piece of code: operations from
 * the first byte on lead to where the entry says that its translation begins.
 *
 * Places between calls have nothing of this kind.
 *
 * Sources: codegen/maglev-safepoint-table.h, objects/deoptimization-data.h and .cc, and
 * deoptimizer/translation-opcode.h of V8.
 */
#include "node-agent/interpreter/v8/v8_deopt.h"

#define RELEASE 1306u
#define BYTES_MAX 32768u /* of a safepoint table, and of translations */
#define STEPS_MAX 4096u  /* operations of a translation */

/* ---- safepoints ---- */

struct safepoints {
	uint32_t stack_slots;
	uint32_t n;
	uint32_t configuration;
	uint32_t tagged_slots;
};

#define HAS_DEOPT 1u
#define REGISTERS_SHIFT 1u
#define PC_SHIFT 4u
#define INDEX_SHIFT 7u
#define SIZE_MASK 7u

static uint32_t read_number(const uint8_t *at, unsigned n)
{
	uint32_t ret = 0;

	for (unsigned i = 0; i < n && i < sizeof(ret); i++)
		ret |= (uint32_t)at[i] << 8 * i;
	return ret;
}

/* The number of the entry of a return address; below 0: there is none. */
static int64_t find_entry(struct v8_heap *h, const struct v8_code *code, uint32_t offset)
{
	unsigned pc_bytes, index_bytes, entry_bytes;
	AUTO_FREE uint8_t *table = NULL;
	struct safepoints s;

	if (v8_read(h, code->start + code->size, &s, sizeof(s)) < 0 ||
	    !(s.configuration & HAS_DEOPT))
		return -1;
	pc_bytes = s.configuration >> PC_SHIFT & SIZE_MASK;
	index_bytes = s.configuration >> INDEX_SHIFT & SIZE_MASK;
	/* with the address that replaces it, and how many registers are on the stack */
	entry_bytes =
		2 * pc_bytes + index_bytes + 1 + (s.configuration >> REGISTERS_SHIFT & SIZE_MASK);
	if (s.n == 0 || s.n > BYTES_MAX / entry_bytes)
		return -1;
	table = malloc((size_t)s.n * entry_bytes);
	if (!table ||
	    v8_read(h, code->start + code->size + sizeof(s), table, (size_t)s.n * entry_bytes) < 0)
		return -1;
	for (uint32_t i = 0; i < s.n; i++) {
		const uint8_t *entry = table + (size_t)i * entry_bytes;

		if (read_number(entry, pc_bytes) == offset)
			return (int64_t)read_number(entry + pc_bytes, index_bytes) - 1;
	}
	return -1;
}

/* ---- translations ---- */

/* Operations by number; the first four are frames of functions and builtins. */
enum {
	FUNCTION_WITH_RESULT = 0,
	FUNCTION = 1,
	BUILTIN = 2,
	BUILTIN_THAT_CATCHES = 3,
	BEGIN = 14,
	BEGIN_WITH_FEEDBACK = 15,
	MATCH_PREVIOUS = 44,
	OPERATIONS = 45, /* a byte from here on is MATCH_PREVIOUS, with the number in the byte */
};

static const uint8_t n_operands[OPERATIONS] = {
	6, 4, 3, 3, 2, 1, 3, 4, 3, 3, 2, 1, 0, 0, 3, 3, 1, 1, 1, 0, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 2, 1,
};

struct translations {
	uint8_t *bytes;
	uint32_t n;
	uint32_t at;
	uint32_t previous;  /* likewise, in the translation that operations are taken over from */
	uint32_t n_matched; /* operations that are, with this one */
	uint32_t n_own;     /* that were not, since the last one that was */
	bool is_bad;
};

static uint8_t next_byte(struct translations *t, uint32_t *at)
{
	if (*at < t->n)
		return t->bytes[(*at)++];
	t->is_bad = true;
	return 0;
}

static uint32_t next_unsigned(struct translations *t, uint32_t *at)
{
	uint32_t ret = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 32; shift += 7) {
		byte = next_byte(t, at);
		ret |= (uint32_t)(byte & 127) << shift;
		if (!(byte & 128))
			return ret;
	}
	t->is_bad = true;
	return 0;
}

/* Of the operation that was the last one. */
static uint32_t next_operand(struct translations *t)
{
	return next_unsigned(t, t->n_matched > 0 ? &t->previous : &t->at);
}

static int32_t signed_operand(struct translations *t)
{
	uint32_t v = next_operand(t);

	return v & 1 ? -(int32_t)(v >> 1) : (int32_t)(v >> 1);
}

static uint8_t previous_operation(struct translations *t)
{
	uint8_t operation = next_byte(t, &t->previous);

	if (operation >= MATCH_PREVIOUS)
		t->is_bad = true;
	return t->is_bad ? 0 : operation;
}

static uint8_t begin_matching(struct translations *t)
{
	for (; t->n_own > 0 && !t->is_bad; t->n_own--) {
		uint8_t operation = previous_operation(t);

		for (unsigned i = 0; i < n_operands[operation]; i++)
			(void)next_unsigned(t, &t->previous);
	}
	return previous_operation(t);
}

static uint8_t next_operation(struct translations *t)
{
	uint8_t operation;

	if (t->n_matched > 0 && --t->n_matched > 0)
		return previous_operation(t);
	operation = next_byte(t, &t->at);
	if (operation >= OPERATIONS || operation == MATCH_PREVIOUS) {
		t->n_matched = operation >= OPERATIONS ? operation - (uint32_t)OPERATIONS
						       : next_unsigned(t, &t->at);
		if (t->n_matched == 0)
			t->is_bad = true;
		return begin_matching(t);
	}
	t->n_own++;
	return operation;
}

/* Sets how many frames of functions and builtins there are. */
static bool begin_translation(struct translations *t, uint32_t at, uint32_t *n_frames)
{
	uint32_t back;
	uint8_t operation;

	t->at = at;
	operation = next_byte(t, &t->at);
	back = next_operand(t);
	(void)signed_operand(t);
	*n_frames = (uint32_t)signed_operand(t);
	t->previous = at - back;
	t->n_own = 1;
	return !t->is_bad && back <= at && *n_frames > 0 &&
	       (operation == BEGIN || operation == BEGIN_WITH_FEEDBACK);
}

/* Whether operations from the first byte on lead there. */
static bool is_beginning(struct translations *t, uint32_t index)
{
	uint32_t at = 0;

	while (at < index && !t->is_bad) {
		uint8_t operation = next_byte(t, &at);

		for (unsigned i = 0; operation < OPERATIONS && i < n_operands[operation]; i++)
			(void)next_unsigned(t, &at);
	}
	return at == index && !t->is_bad;
}

static unsigned read_frames(struct translations *t, uint32_t n_frames,
			    struct v8_deopt_frame ret[V8_INLINED_MAX + 1])
{
	unsigned n = 0;

	for (unsigned steps = 0; n_frames > 0 && !t->is_bad && steps < STEPS_MAX; steps++) {
		uint8_t operation = next_operation(t);
		unsigned left = n_operands[operation];

		n_frames -= operation <= BUILTIN_THAT_CATCHES;
		if (operation <= FUNCTION) {
			if (n > V8_INLINED_MAX)
				return 0;
			ret[n].offset = signed_operand(t);
			ret[n++].literal = signed_operand(t);
			left -= 2;
		}
		while (left-- > 0)
			(void)next_operand(t);
	}
	return t->is_bad || n_frames > 0 ? 0 : n;
}

/* ---- both ---- */

#define FIRST_ENTRY 4u /* of the data, behind the positions of inlined functions */
#define ENTRY_WORDS 3u
#define ENTRY_TRANSLATION 1u

static uint64_t data_word(struct v8_heap *h, const struct v8_code *code, uint64_t index)
{
	if (index >= v8_length(h, code->data, V8_NUMBERS_MAX))
		return 1; /* no integer */
	return v8_word(h, code->data, V8_ARRAY_DATA + (unsigned)index * (unsigned)sizeof(uint64_t));
}

unsigned v8_deopt_find(struct v8_heap *h, const struct v8_code *code, uint64_t pc,
		       struct v8_deopt_frame ret[V8_INLINED_MAX + 1])
{
	struct translations t = {0};
	AUTO_FREE uint8_t *bytes = NULL;
	uint64_t translations, index;
	uint32_t n_frames;
	int64_t entry;

	if (h->layout->release != RELEASE)
		return 0;
	entry = find_entry(h, code, (uint32_t)(pc + 1 - code->start));
	if (entry < 0)
		return 0;
	index = data_word(h, code,
			  h->layout->deopt_inlining + FIRST_ENTRY + (uint64_t)entry * ENTRY_WORDS +
				  ENTRY_TRANSLATION);
	translations = data_word(h, code, 0);
	t.n = v8_length(h, translations, BYTES_MAX);
	if (!v8_is_integer(index) || v8_integer(index) < 0 || t.n == 0)
		return 0;
	t.bytes = bytes = malloc(t.n);
	if (!bytes || v8_read(h, (translations & ~V8_TAGS) + V8_ARRAY_DATA, bytes, t.n) < 0)
		return 0;
	if (!is_beginning(&t, (uint32_t)v8_integer(index)) ||
	    !begin_translation(&t, (uint32_t)v8_integer(index), &n_frames))
		return 0;
	return read_frames(&t, n_frames, ret);
}
