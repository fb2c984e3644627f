/*
 * The table is of the regular builds on 64-bit machines. Its numbers were read from the debug
 * information of 3.6.15, 3.7.16, 3.8.18, 3.9.18, 3.10.13, 3.11.7 and 3.12.1; no later patch release
 * has moved these fields. Builds that differ (Py_TRACE_REFS) are refused by python_release.c.
 *
 * A description has the offsets of any build, also those of free-threaded and debug builds. Its
 * order is that of pycore_runtime.h (3.13) and pycore_debug_offsets.h (3.14, 3.15), and changes
 * between minor releases only.
 */
#include "node-agent/interpreter/python/python_offsets.h"

#include <errno.h>

#define COOKIE "xdebugpy"
#define OFFSET_MAX 4096u                  /* in objects and frames */
#define INTERPRETER_OFFSET_MAX (1u << 24) /* in the state of an interpreter */

struct release {
	struct python_thread_offsets thread;
	struct chain_frames frames;
	struct python_layout objects;
};

/* Objects of all releases without a description. */
#define OBJECT_HEAD .object_type = 8, .type_name = 24, .bytes_size = 16, .bytes_data = 32
#define OLD_STR \
	.str_length = 16, .str_state = 32, .str_kind_shift = 2, .str_ascii = 48, .str_compact = 72
#define OLD_FRAMES(lasti)                                                                       \
	.next_is = CHAIN_NEXT_WORD, .end_is = CHAIN_END_EACH, .n_bytes = (lasti) + 8 - 24,      \
	.from = 24, .code = 32, .at = (lasti), .next = 24, .end = 24, .end_at = CHAIN_END_HERE, \
	.at_mask = UINT32_MAX
#define OLD_THREAD .n_steps = 1, .steps = {24}, .interpreter = 16, .has_gil = true

static const struct release releases[] = {
	[6] = {.thread = {OLD_THREAD},
	       .frames = {OLD_FRAMES(120), .check = 112},
	       .objects = {OBJECT_HEAD, OLD_STR, .line_format = PYTHON_LINES_LNOTAB,
			   .index_bytes = 1, .code_name = 104, .code_filename = 96,
			   .code_firstlineno = 36, .code_lines = 112}},
	[7] = {.thread = {OLD_THREAD, .collecting = 632, .key_to_current = 24},
	       .frames = {OLD_FRAMES(104), .check = 112},
	       .objects = {OBJECT_HEAD, OLD_STR, .line_format = PYTHON_LINES_LNOTAB,
			   .index_bytes = 1, .code_name = 104, .code_filename = 96,
			   .code_firstlineno = 36, .code_lines = 112}},
	[8] = {.thread = {OLD_THREAD, .collecting = 544, .key_to_current = 24},
	       .frames = {OLD_FRAMES(104), .check = 120},
	       .objects = {OBJECT_HEAD, OLD_STR, .line_format = PYTHON_LINES_LNOTAB,
			   .index_bytes = 1, .code_name = 112, .code_filename = 104,
			   .code_firstlineno = 40, .code_lines = 120}},
	[9] = {.thread = {OLD_THREAD, .collecting = 816, .key_to_current = 16},
	       .frames = {OLD_FRAMES(104), .check = 120},
	       .objects = {OBJECT_HEAD, OLD_STR, .line_format = PYTHON_LINES_LNOTAB,
			   .index_bytes = 1, .code_name = 112, .code_filename = 104,
			   .code_firstlineno = 40, .code_lines = 120}},
	[10] = {.thread = {OLD_THREAD, .collecting = 816, .key_to_current = 16},
		.frames = {OLD_FRAMES(96), .check = 120},
		.objects = {OBJECT_HEAD, OLD_STR, .line_format = PYTHON_LINES_RANGES,
			    .index_bytes = 2, .code_name = 112, .code_filename = 104,
			    .code_firstlineno = 40, .code_lines = 120}},
	/* tstate->cframe->current_frame; a cframe lies in the native frame of its run */
	[11] = {.thread = {.n_steps = 2,
			   .steps = {56, 8},
			   .has_anchor = true,
			   .interpreter = 16,
			   .collecting = 848,
			   .key_to_current = 16,
			   .has_gil = true},
		.frames = {.next_is = CHAIN_NEXT_WORD,
			   .end_is = CHAIN_END_LAST,
			   .n_bytes = 48,
			   .from = 32,
			   .code = 32,
			   .at = 56,
			   .next = 48,
			   .end = 64,
			   .end_at = CHAIN_END_HERE,
			   .check = 136,
			   .anchor_next = 16,
			   .at_mask = UINT64_MAX,
			   .end_mask = 0xffULL << 32,
			   .end_value = 1ULL << 32}, /* is_entry */
		.objects = {OBJECT_HEAD, OLD_STR, .line_format = PYTHON_LINES_LOCATIONS,
			    .code_name = 120, .code_qualname = 128, .code_filename = 112,
			    .code_firstlineno = 72, .code_lines = 136, .code_bytecode = 184,
			    .code_units = 16}},
	[12] = {.thread = {.n_steps = 2,
			   .steps = {56, 0},
			   .interpreter = 16,
			   .collecting = 312,
			   .has_gil = true},
		.frames = {.next_is = CHAIN_NEXT_WORD,
			   .end_is = CHAIN_END_BETWEEN,
			   .n_bytes = 72,
			   .code = 0,
			   .at = 56,
			   .next = 8,
			   .end = 64,
			   .end_at = CHAIN_END_HERE,
			   .check = 88,
			   .at_mask = UINT64_MAX,
			   .end_mask = 0xffULL << 48,
			   .end_value = 3ULL << 48}, /* owner: FRAME_OWNED_BY_CSTACK */
		.objects = {OBJECT_HEAD, .str_length = 16, .str_state = 32, .str_kind_shift = 2,
			    .str_ascii = 40, .str_compact = 56,
			    .line_format = PYTHON_LINES_LOCATIONS, .code_name = 120,
			    .code_qualname = 128, .code_filename = 112, .code_firstlineno = 68,
			    .code_lines = 136, .code_bytecode = 192, .code_units = 16}},
};

int python_offsets_of_release(unsigned minor, struct python_offsets *ret)
{
	if (minor < PYTHON_MINOR_FIRST || minor >= ARRAY_SIZE(releases))
		return -ENOTSUP;
	*ret = (struct python_offsets){
		.thread = releases[minor].thread,
		.frames = releases[minor].frames,
		.objects = releases[minor].objects,
	};
	ret->objects.minor = (uint8_t)minor;
	ret->objects.code_check = ret->frames.check;
	return 0;
}

/* Indexes of words in the description. A group begins with the size of what it describes. */
struct order {
	uint8_t interpreter_gc;
	uint8_t thread; /* size, prev, next, interp, current_frame */
	uint8_t frame;  /* size, previous, executable, instr_ptr, localsplus, owner, stackpointer */
	uint8_t code;   /* size, filename, name, qualname, linetable, firstlineno, argcount, … */
	uint8_t copies; /* co_tlbc; 0: there is none */
	uint8_t object; /* size, ob_type */
	uint8_t type;   /* size, tp_name */
	uint8_t bytes;  /* size, ob_size, ob_sval */
	uint8_t str;    /* size, state, length, asciiobject_size */
	uint8_t gc;     /* size, collecting */
	uint8_t set;    /* size, used, table, mask */
	/* size, gi_name, gi_iframe, gi_frame_state; 0: not looked for, as these are for tasks */
	uint8_t generator;
};

static const struct order orders[] = {
	[13] = {.interpreter_gc = 10,
		.thread = 19,
		.frame = 28,
		.code = 34,
		.object = 44,
		.type = 46,
		.bytes = 64,
		.str = 67,
		.gc = 71},
	[14] = {.interpreter_gc = 11,
		.thread = 22,
		.frame = 31,
		.code = 39,
		.copies = 49,
		.object = 50,
		.type = 52,
		.bytes = 74,
		.str = 77,
		.gc = 81,
		.set = 62,
		.generator = 83},
	[15] = {.interpreter_gc = 11,
		.thread = 22,
		.frame = 39,
		.code = 47,
		.copies = 57,
		.object = 58,
		.type = 60,
		.bytes = 86,
		.str = 89,
		.gc = 94,
		.set = 74,
		.generator = 99},
};

enum word { W_COOKIE, W_VERSION, W_FREE_THREADED };

struct description {
	uint64_t words[PYTHON_DESCRIPTION_BYTES / sizeof(uint64_t)];
	bool is_bad;
};

/* A word that is an offset of a field of size bytes in something whose size the group says. */
static uint16_t offset(struct description *d, unsigned group, unsigned i, unsigned size)
{
	uint64_t v = d->words[group + i], end = d->words[group];

	if (end > OFFSET_MAX || v > end || end - v < size)
		d->is_bad = true;
	return (uint16_t)v;
}

static void describe_objects(struct description *d, const struct order *o, unsigned minor,
			     struct python_layout *ret)
{
	bool free_threaded = d->words[W_FREE_THREADED] != 0;

	*ret = (struct python_layout){
		.minor = (uint8_t)minor,
		.line_format = PYTHON_LINES_LOCATIONS,
		/* since 3.14 a byte, which is written at once, is in front of it */
		.str_kind_shift = free_threaded && minor >= 14 ? 8 : 2,
		.object_type = offset(d, o->object, 1, 8),
		.type_name = offset(d, o->type, 1, 8),
		.code_filename = offset(d, o->code, 1, 8),
		.code_name = offset(d, o->code, 2, 8),
		.code_qualname = offset(d, o->code, 3, 8),
		.code_lines = offset(d, o->code, 4, 8),
		.code_firstlineno = offset(d, o->code, 5, 4),
		.code_bytecode = offset(d, o->code, 9, 1),
		.code_copies =
			o->copies ? offset(d, o->code, (unsigned)(o->copies - o->code), 8) : 0,
		.code_units = offset(d, o->bytes, 1, 8), /* as of all objects of variable size */
		/* co_version, a serial number, and what is in front of it */
		.code_check = (uint16_t)(offset(d, o->code, 7, 8) - 8),
		.str_state = offset(d, o->str, 1, 4),
		.str_length = offset(d, o->str, 2, 8),
		.str_ascii = offset(d, o->str, 3, 8),
		.bytes_size = offset(d, o->bytes, 1, 8),
		.bytes_data = offset(d, o->bytes, 2, 1),
	};
	/* PyCompactUnicodeObject adds the length of its UTF-8 and a pointer to it */
	ret->str_compact = (uint16_t)(ret->str_ascii + 16);
	if (ret->code_check > OFFSET_MAX || ret->str_ascii < ret->str_state)
		d->is_bad = true;
}

static void describe_frames(struct description *d, const struct order *o, unsigned check,
			    struct chain_frames *ret)
{
	uint16_t owner = offset(d, o->frame, 5, 1), last = (uint16_t)(owner & ~7u);

	*ret = (struct chain_frames){
		.next_is = CHAIN_NEXT_WORD,
		.end_is = CHAIN_END_BETWEEN,
		.code = offset(d, o->frame, 2, 8),
		.at = offset(d, o->frame, 3, 8),
		.next = (int16_t)offset(d, o->frame, 1, 8),
		.end = last,
		.end_at = CHAIN_END_HERE,
		.check = (uint16_t)check,
		.at_mask = UINT64_MAX,
		.end_mask = 0xffULL << (owner & 7) * 8,
		.end_value = 3ULL << (owner & 7) * 8, /* FRAME_OWNED_BY_INTERPRETER, …CSTACK */
	};
	if (last < ret->at)
		last = ret->at;
	ret->n_bytes = (uint16_t)(last + 8);
	if (ret->n_bytes > CHAIN_FRAME_WORDS * 8 || ret->code >= ret->n_bytes ||
	    ret->next >= ret->n_bytes || (ret->code | ret->at | ret->next) & 7)
		d->is_bad = true;
}

/*
 * What a coroutine awaits is the last of its values in 3.14, and the last but one since 3.15. Its
 * state is FRAME_SUSPENDED_YIELD_FROM then (pycore_frame.h).
 */
static void describe_tasks(const struct description *all, const struct order *o,
			   const struct python_layout *l, struct chain_tasks *ret)
{
	struct description d = *all;

	*ret = (struct chain_tasks){.frame = 0};
	if (o->generator == 0)
		return;
	*ret = (struct chain_tasks){
		.type = l->object_type,
		.frame = offset(&d, o->generator, 2, 8),
		.state = offset(&d, o->generator, 3, 1),
		.top = offset(&d, o->frame, 6, 8),
		.awaits = l->minor == 14 ? 8 : 16,
		.set_used = offset(&d, o->set, 1, 8),
		.set_table = offset(&d, o->set, 2, 8),
		.set_mask = offset(&d, o->set, 3, 8),
		.text_bytes = l->str_length,
		.text = l->str_ascii,
		.awaits_state = l->minor == 14 ? (uint8_t)-1 : 2,
	};
	if (d.is_bad || (ret->frame | ret->top) & 7)
		ret->frame = 0;
}

int python_offsets_described(const uint8_t *description, uint32_t version,
			     struct python_offsets *ret)
{
	unsigned minor = version >> 16 & 0xff;
	struct description d = {0};
	const struct order *o;
	uint64_t gc;

	memcpy(d.words, description, sizeof(d.words));
	if (version >> 24 != 3 || minor < PYTHON_MINOR_DESCRIBED || minor > PYTHON_MINOR_LAST)
		return -ENOTSUP;
	if (memcmp(description, COOKIE, 8) != 0 || d.words[W_VERSION] != version)
		return -ENOTSUP;
	o = &orders[minor];
	*ret = (struct python_offsets){
		.thread = {.n_steps = 1,
			   .steps = {offset(&d, o->thread, 4, 8)},
			   .interpreter = offset(&d, o->thread, 3, 8),
			   .has_gil = d.words[W_FREE_THREADED] == 0},
	};
	describe_objects(&d, o, minor, &ret->objects);
	describe_frames(&d, o, ret->objects.code_check, &ret->frames);
	describe_tasks(&d, o, &ret->objects, &ret->tasks);
	if (ret->tasks.top + sizeof(uint64_t) > ret->frames.n_bytes)
		ret->tasks.frame = 0;
	gc = d.words[o->interpreter_gc];
	if (gc > INTERPRETER_OFFSET_MAX)
		return -ENOTSUP;
	ret->thread.collecting = (uint32_t)(gc + offset(&d, o->gc, 1, 4));
	return d.is_bad ? -ENOTSUP : 0;
}
