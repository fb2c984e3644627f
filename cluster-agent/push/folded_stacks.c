#include "cluster-agent/push/folded_stacks.h"

#include <errno.h>

#include "cluster-agent/push/profile_builder.h"
#include "common/limits.h"
#include "common/text/parse.h"

struct span {
	const char *p;
	const char *end;
};

static bool ends_with(const struct span *s, const char *suffix)
{
	size_t len = strlen(suffix);

	return (size_t)(s->end - s->p) > len && memcmp(s->end - len, suffix, len) == 0;
}

/* ---- one frame ---- */

/* Whether text is "file:12"; then *ret_line is the number and *text the file. */
static bool take_line(struct span *text, int64_t *ret_line)
{
	const char *colon = memrchr(text->p, ':', (size_t)(text->end - text->p));
	uint64_t line;

	if (!colon || colon == text->p ||
	    parse_u64(colon + 1, (size_t)(text->end - colon - 1), 0, INT32_MAX, &line) < 0)
		return false;
	*ret_line = (int64_t)line;
	text->end = colon;
	return true;
}

static struct profile_string string_of(const char *p, const char *end)
{
	return (struct profile_string){p, (size_t)(end - p)};
}

/* The bracket that the last character closes, if a space stands before it; or NULL. */
static const char *find_opening(const struct span *s)
{
	unsigned depth = 0;

	for (const char *p = s->end - 1; p > s->p; p--) {
		depth += *p == ')';
		depth -= *p == '(';
		if (depth == 0)
			return *p == '(' && p[-1] == ' ' ? p : NULL;
	}
	return NULL;
}

/* "leaf (file.py:12)" and "leaf (libfoo.so)" */
static bool read_brackets(struct frame_source *f, const struct span *s)
{
	const char *opening = find_opening(s);
	struct span inside;

	if (!opening || opening - 1 == s->p)
		return false;
	inside = (struct span){opening + 1, s->end - 1};
	if (!take_line(&inside, &f->line) &&
	    (!memchr(inside.p, '.', (size_t)(inside.end - inside.p)) ||
	     memchr(inside.p, ' ', (size_t)(inside.end - inside.p))))
		return false;
	f->name = string_of(s->p, opening - 1);
	f->file = string_of(inside.p, inside.end);
	return true;
}

/* "leaf - file.rb:12" and "leaf - (unknown)" */
static bool read_dash(struct frame_source *f, const struct span *s)
{
	struct span file = {NULL, s->end};
	const char *p = s->p;

	while ((p = memmem(p, (size_t)(s->end - p), " - ", 3))) {
		file.p = p + 3;
		p++;
	}
	if (!file.p || file.p - 3 == s->p)
		return false;
	if (take_line(&file, &f->line))
		f->file = string_of(file.p, file.end);
	else if (!ends_with(s, " - (unknown)"))
		return false;
	f->name = string_of(s->p, file.p - 3);
	return true;
}

static void read_frame(struct frame_source *f, struct span s)
{
	static const struct profile_string kernel = {"[kernel]", sizeof("[kernel]") - 1};

	*f = (struct frame_source){.file = {"", 0}};
	if (ends_with(&s, "_[k]")) {
		f->name = string_of(s.p, s.end - 4);
		f->file = kernel;
	} else if (ends_with(&s, "_[j]") || ends_with(&s, "_[i]")) {
		f->name = string_of(s.p, s.end - 4);
	} else if (!read_brackets(f, &s) && !read_dash(f, &s)) {
		f->name = string_of(s.p, s.end);
	}
}

/* ---- one line ---- */

struct reader {
	struct profile_builder builder;
	uint32_t n_line;
	struct err *err;
};

/* Frames are root first in the text and leaf first in a profile. */
static int add_stack(struct reader *r, const struct span *stack, int64_t value)
{
	UNINITIALIZED uint32_t locations[LIMIT_PPROF_STACK_DEPTH];
	uint32_t n = 0;
	const char *end = stack->end;

	while (end > stack->p) {
		const char *semicolon = memrchr(stack->p, ';', (size_t)(end - stack->p));
		const char *from = semicolon ? semicolon + 1 : stack->p;
		struct frame_source frame;
		int e;

		if (n == LIMIT_PPROF_STACK_DEPTH)
			return err_set(r->err, -EFBIG, "stack deeper than %u",
				       LIMIT_PPROF_STACK_DEPTH);
		if (from < end) {
			read_frame(&frame, (struct span){from, end});
			e = profile_builder_add_frame(&r->builder, &frame, &locations[n++]);
			if (e < 0)
				return e;
		}
		end = semicolon ? semicolon : stack->p;
	}
	return profile_builder_add_sample(&r->builder, locations, n, &value);
}

/* py-spy writes messages to the same stream: "py-spy> Stopped sampling because process exited". */
static bool is_message(const struct span *line)
{
	static const char prompt[] = "py-spy> ";

	return (size_t)(line->end - line->p) >= strlen(prompt) &&
	       memcmp(line->p, prompt, strlen(prompt)) == 0;
}

static int read_line(struct reader *r, struct span line, enum folded_form form)
{
	uint64_t value = 1;

	while (line.end > line.p && (line.end[-1] == '\r' || line.end[-1] == ' '))
		line.end--;
	if (line.end == line.p || is_message(&line))
		return 0;
	if (form == FOLDED_VALUES) {
		const char *space = memrchr(line.p, ' ', (size_t)(line.end - line.p));

		/* py-spy writes samples without Python frames as a value alone, after a space */
		if (!space ||
		    parse_u64(space + 1, (size_t)(line.end - space - 1), 0, INT64_MAX, &value) < 0)
			return err_set(r->err, -EBADMSG,
				       "line %u is not \"frame;frame value\", folded stacks, which "
				       "is the default format",
				       r->n_line);
		line.end = space;
	}
	return add_stack(r, &line, (int64_t)value);
}

int folded_stacks_read(struct profile *ret, struct arena *arena, const char *text, size_t len,
		       enum folded_form form, struct err *err)
{
	static const struct profile_value_type no_type = {{"", 0}, {"", 0}};
	struct reader r = {.err = err};
	struct span rest = {text, text + len};
	int e = profile_builder_init(&r.builder, arena, 1, err);

	while (e == 0 && rest.p < rest.end) {
		const char *newline = memchr(rest.p, '\n', (size_t)(rest.end - rest.p));
		struct span line = {rest.p, newline ?: rest.end};

		r.n_line++;
		e = read_line(&r, line, form);
		rest.p = newline ? newline + 1 : rest.end;
	}
	if (e < 0)
		return e;
	*ret = r.builder.profile;
	ret->types = arena_alloc(arena, sizeof(*ret->types));
	if (!ret->types)
		return arena_error(arena, sizeof(*ret->types));
	ret->types[0] = no_type;
	ret->period_type = no_type;
	return 0;
}
