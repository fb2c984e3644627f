#include "node-agent/interpreter/v8/v8_names.h"

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/v8/v8_code.h"
#include "node-agent/interpreter/v8/v8_heap.h"
#include "node-agent/interpreter/v8/v8_lines.h"

#include "bpf/frame_chain.h"

#define SCRIPT_NAME 16u

/* ScopeInfo: after its flags come how many parameters and how many variables there are */
#define SCOPE_VARIABLES 2u
#define SCOPE_HAS_CLASS (1u << 10)
#define SCOPE_RECEIVER(flags) ((flags) >> 7 & 3)
#define SCOPE_RECEIVER_UNUSED 3u
#define SCOPE_FUNCTION (3u << 12)
#define SCOPE_INFERRED (1u << 14)
#define SCOPE_NAMES_MAX 75u /* more are in a table */
#define SCOPE_WORDS_MAX 8192u
#define NAMES_AFTER_POSITION 5u

struct scope {
	uint64_t name;     /* a string, or 0 */
	uint64_t inferred; /* likewise */
	int64_t start;     /* position; below 0: not known */
};

static uint64_t scope_word(struct v8_heap *h, uint64_t scope, uint32_t index)
{
	if (index > SCOPE_WORDS_MAX)
		return 0;
	return v8_word(h, scope, h->layout->scope_words + index * (unsigned)sizeof(uint64_t));
}

static uint64_t string_at(struct v8_heap *h, uint64_t scope, uint32_t index)
{
	uint64_t word = scope_word(h, scope, index);

	return v8_is_object(word) && v8_is_string_type(h, v8_type(h, word)) ? word : 0;
}

static int64_t position_at(struct v8_heap *h, uint64_t scope, uint32_t index)
{
	uint64_t word = scope_word(h, scope, index);

	return v8_is_integer(word) && v8_integer(word) >= 0 ? v8_integer(word) : -1;
}

/* Flags are an integer, or the lower half of a word. */
static uint32_t scope_flags(struct v8_heap *h, uint64_t scope)
{
	uint64_t word = scope_word(h, scope, 0);

	return v8_is_integer(word) ? (uint32_t)(word >> 32) : (uint32_t)word;
}

static void read_scope(struct v8_heap *h, uint64_t scope, struct scope *ret)
{
	const struct v8_layout *l = h->layout;
	uint32_t flags = scope_flags(h, scope), at = l->scope_names;
	int64_t n = position_at(h, scope, SCOPE_VARIABLES);

	if (n < 0 || n > SCOPE_WORDS_MAX)
		return;
	at += l->scope_has_table && n >= SCOPE_NAMES_MAX ? 1 : (uint32_t)n;
	at += (uint32_t)n;
	at += (flags & SCOPE_HAS_CLASS) != 0;
	if (l->scope_has_receiver && SCOPE_RECEIVER(flags) != SCOPE_RECEIVER_UNUSED)
		at += SCOPE_RECEIVER(flags) != 0;
	if (flags & SCOPE_FUNCTION) {
		ret->name = string_at(h, scope, at);
		at += 2;
	}
	if (flags & SCOPE_INFERRED)
		ret->inferred = string_at(h, scope, at++);
	ret->start = position_at(
		h, scope, l->scope_names == NAMES_AFTER_POSITION ? NAMES_AFTER_POSITION - 2 : at);
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len > n && strcmp(text + len - n, end) == 0 && text[len - n - 1] == '.';
}

/* Of a string or a scope. */
static int read_function(struct v8_heap *h, uint64_t object, struct scope *scope,
			 struct interpreter_name *ret)
{
	char inferred[INTERPRETER_FUNCTION_BYTES] = "";
	uint16_t type = v8_is_object(object) ? v8_type(h, object) : V8_NO_TYPE;
	int r = 0;

	*scope = (struct scope){.start = -1};
	if (v8_is_string_type(h, type))
		scope->name = object;
	else if (type == h->layout->type_scope)
		read_scope(h, object, scope);
	if (scope->name)
		r = v8_string_read(h, scope->name, ret->function, sizeof(ret->function));
	if (r == 0 && scope->inferred)
		r = v8_string_read(h, scope->inferred, inferred, sizeof(inferred));
	if (r < 0)
		return r;
	if (ret->function[0] == '\0' || ends_with(inferred, ret->function))
		snprintf(ret->function, sizeof(ret->function), "%s",
			 inferred[0] ? inferred : "(anonymous)");
	return 0;
}

/* Modules have an address. */
static void make_path(char *file)
{
	static const char scheme[] = "file://";
	size_t n = sizeof(scheme) - 1;

	if (strncmp(file, scheme, n) == 0 && file[n] == '/')
		memmove(file, file + n, strlen(file + n) + 1);
}

static int read_sfi(struct v8_heap *h, uint64_t sfi, int64_t position, struct interpreter_name *ret)
{
	const struct v8_layout *l = h->layout;
	uint64_t script = v8_word(h, sfi, l->sfi_script), name;
	struct scope scope;
	int r;

	if (!v8_is_object(script) || v8_type(h, script) != l->type_script)
		return -ENXIO; /* V8's own */
	r = read_function(h, v8_word(h, sfi, l->sfi_name), &scope, ret);
	if (r < 0)
		return r;
	name = v8_word(h, script, SCRIPT_NAME);
	if (v8_is_object(name) && v8_is_string_type(h, v8_type(h, name)))
		r = v8_string_read(h, name, ret->file, sizeof(ret->file));
	if (r < 0)
		return r;
	make_path(ret->file);
	ret->start_line = v8_line_of(h, script, scope.start);
	ret->line = position < 0 ? ret->start_line : v8_line_of(h, script, position);
	return 0;
}

/* What the walk computed (v8_walk.bpf.h). */
static bool is_same(struct v8_heap *h, uint64_t sfi, uint32_t check)
{
	return check == 0 || check == chain_check(v8_word(h, sfi, h->layout->sfi_name));
}

static int64_t position_in_bytecode(struct v8_heap *h, uint64_t sfi, uint64_t at)
{
	uint64_t bytecode = v8_bytecode_of(h, v8_word(h, sfi, h->layout->sfi_data));
	uint32_t offset = (uint32_t)at, first = h->layout->bytecode_data - 1u;

	return bytecode ? v8_bytecode_position(h, bytecode, offset > first ? offset - first : 0)
			: -1;
}

/* Of generated code; sfi may be 0, and is changed. */
static int find_place(struct v8_heap *h, uint64_t bias, const struct interpreter_frame *f,
		      struct v8_place *place)
{
	struct v8_code code;
	uint64_t bytecode, own;
	int64_t offset;

	if (v8_code_find(h, f->at, &code) < 0)
		return 0;
	switch (code.kind) {
	case V8_CODE_REGEXP:
		return -EDOM;
	case V8_CODE_OPTIMISED:
		return v8_code_place(h, &code, f->at, f->level, place);
	case V8_CODE_BASELINE:
		bytecode = v8_bytecode_of(h, code.data);
		own = v8_bytecode_of(h, v8_word(h, place->sfi, h->layout->sfi_data));
		if (bytecode == 0) /* V8 9 has it with the function */
			bytecode = own;
		if (own != 0 && own != bytecode) /* that of the caller */
			return -ENXIO;
		offset = bytecode ? v8_baseline_offset(h, bias, &code, bytecode, f->at) : -1;
		if (offset >= 0)
			place->position = v8_bytecode_position(h, bytecode, (uint32_t)offset);
		return 0;
	case V8_CODE_OTHER:
		break;
	}
	return 0;
}

static int read_frame(struct v8_heap *h, uint64_t bias, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	const struct v8_layout *layout = h->layout;
	struct v8_place place = {.sfi = f->code ? f->code | 1 : 0, .position = -1};
	uint64_t sfi = place.sfi;
	int r = 0;

	*ret = (struct interpreter_name){0};
	if (sfi && (v8_type(h, sfi) != layout->type_sfi))
		sfi = place.sfi = 0;
	if (sfi && !is_same(h, sfi, f->check))
		return -ESTALE;
	if (f->at & CHAIN_AT_BYTECODE)
		place.position = sfi ? position_in_bytecode(h, sfi, f->at) : -1;
	else
		r = find_place(h, bias, f, &place);
	if (r == -EDOM) {
		snprintf(ret->function, sizeof(ret->function), "(regular expression)");
		return 0;
	}
	if (r < 0)
		return r;
	if (!v8_is_object(place.sfi))
		place.sfi = sfi;
	if (place.sfi == 0 || v8_type(h, place.sfi) != layout->type_sfi)
		return -ENXIO;
	r = read_sfi(h, place.sfi, place.position, ret);
	ret->n_callers = (uint8_t)place.n_callers;
	return r == 0 && sfi && !is_same(h, sfi, f->check) ? -ESTALE : r;
}

/* What cannot be read is taken for V8's own where it may be that, but not once nothing can. */
int v8_name_read(const struct v8_layout *layout, uint64_t bias,
		 const struct interpreter_memory *memory, const struct interpreter_frame *f,
		 struct interpreter_name *ret)
{
	struct v8_heap h = {.layout = layout, .memory = memory};
	int r = read_frame(&h, bias, f, ret);

	return r < 0 && h.is_gone ? -ESRCH : r;
}
