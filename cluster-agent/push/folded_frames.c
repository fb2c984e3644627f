#include "cluster-agent/push/folded_frames.h"

#include <errno.h>

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

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static void trim(struct span *s)
{
	while (s->end > s->p && is_blank(s->end[-1]))
		s->end--;
	while (s->end > s->p && is_blank(s->p[0]))
		s->p++;
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

/* "file.py:leaf:12" */
static bool read_austin(struct frame_source *f, const struct span *s)
{
	struct span rest = *s;
	const char *colon;

	if (!take_line(&rest, &f->line))
		return false;
	colon = memrchr(rest.p, ':', (size_t)(rest.end - rest.p));
	if (!colon || colon == rest.p || colon + 1 == rest.end) {
		f->line = 0;
		return false;
	}
	f->name = string_of(colon + 1, rest.end);
	f->file = string_of(rest.p, colon);
	return true;
}

static void read_frame(struct frame_source *f, struct span s, bool is_austin)
{
	static const struct profile_string kernel = {"[kernel]", sizeof("[kernel]") - 1};

	*f = (struct frame_source){.file = {"", 0}};
	if (ends_with(&s, "_[k]")) {
		f->name = string_of(s.p, s.end - 4);
		f->file = kernel;
	} else if (ends_with(&s, "_[j]") || ends_with(&s, "_[i]")) {
		f->name = string_of(s.p, s.end - 4);
	} else if (!(is_austin && read_austin(f, &s)) && !read_brackets(f, &s) &&
		   !read_dash(f, &s)) {
		f->name = string_of(s.p, s.end);
	}
}

/* ---- one stack ---- */

int folded_frames_add_truncated(struct profile_builder *b, uint32_t *ret_location)
{
	static const struct frame_source truncated = {{"[truncated]", 11}, {"", 0}, 0};

	b->profile.losses.n[PROFILE_LOSS_CUT_STACKS]++;
	return profile_builder_add_frame(b, &truncated, ret_location);
}

static int add_trimmed(struct profile_builder *b, struct span text, bool is_austin,
		       uint32_t *ret_location)
{
	struct frame_source frame;

	read_frame(&frame, text, is_austin);
	return profile_builder_add_frame(b, &frame, ret_location);
}

int folded_frames_add_frame(struct profile_builder *b, const char *text, size_t len,
			    uint32_t *ret_location)
{
	struct span s = {text, text + len};

	trim(&s);
	return s.p == s.end ? 1 : add_trimmed(b, s, false, ret_location);
}

/* Frames are root first in the text and leaf first in a profile. */
int folded_frames_add(struct profile_builder *b, const char *stack, size_t len, bool is_austin,
		      int64_t value)
{
	UNINITIALIZED uint32_t locations[LIMIT_PPROF_STACK_DEPTH];
	uint32_t n = 0;
	const char *end = stack + len;
	int e = 0;

	while (end > stack && e == 0) {
		const char *semicolon = memrchr(stack, ';', (size_t)(end - stack));
		struct span text = {semicolon ? semicolon + 1 : stack, end};
		end = semicolon ? semicolon : stack;
		trim(&text);
		if (text.p == text.end)
			continue;
		if (n == LIMIT_PPROF_STACK_DEPTH - 1) {
			e = folded_frames_add_truncated(b, &locations[n++]);
			break;
		}
		e = add_trimmed(b, text, is_austin, &locations[n++]);
	}
	return e < 0 ? e : profile_builder_add_sample(b, locations, n, &value);
}

int64_t folded_unit_apply(const struct folded_unit *unit, uint64_t value,
			  struct profile_losses *losses)
{
	int64_t v;

	if (!__builtin_mul_overflow(value, unit->factor, &v))
		return v;
	losses->n[PROFILE_LOSS_CLAMPED_VALUES]++;
	return INT64_MAX;
}

static struct profile_string text_of(const char *s)
{
	return (struct profile_string){s, strlen(s)};
}

int folded_unit_set(struct profile *p, const struct folded_unit *unit)
{
	p->types = arena_alloc(p->arena, sizeof(*p->types));
	if (!p->types)
		return arena_error(p->arena, sizeof(*p->types));
	p->types[0] = (struct profile_value_type){text_of(unit->type), text_of(unit->unit)};
	p->period_type = (struct profile_value_type){{"", 0}, {"", 0}};
	if (unit->is_period) {
		p->period_type = p->types[0];
		p->period = unit->factor;
	}
	return 0;
}
