/*
 * The text is read twice: first its comments, and how many numbers its lines end in, since both
 * decide what the lines mean; then its stacks.
 */
#include "cluster-agent/push/folded_stacks.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/push/profile_builder.h"
#include "common/limits.h"
#include "common/text/parse.h"

struct span {
	const char *p;
	const char *end;
};

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

static bool begins_with(const struct span *s, const char *prefix)
{
	size_t len = strlen(prefix);

	return (size_t)(s->end - s->p) >= len && memcmp(s->p, prefix, len) == 0;
}

/* ---- numbers ---- */

/*
 * Takes the last word of the line if it is a number, and the blanks before it. py-spy writes
 * samples without Python frames as a number after a blank.
 */
static bool take_number(struct span *line, struct span *ret)
{
	const char *end = line->end, *p;
	double v;

	while (end > line->p && is_blank(end[-1]))
		end--;
	p = end;
	while (p > line->p && !is_blank(p[-1]))
		p--;
	/* beyond what a double holds, it is a number all the same */
	if (p == line->p || parse_real(p, (size_t)(end - p), &v) == -EINVAL)
		return false;
	*ret = (struct span){p, end};
	line->end = p;
	return true;
}

/* Austin's "time,idle,memory"; the time counts. */
static bool take_times(struct span *line, struct span *ret)
{
	struct span s = *line;
	const char *p, *comma;

	trim(&s);
	p = s.end;
	while (p > s.p && !is_blank(p[-1]))
		p--;
	comma = memchr(p, ',', (size_t)(s.end - p));
	if (p == s.p || !comma)
		return false;
	*ret = (struct span){p, comma};
	line->end = p;
	return true;
}

/* ---- what the text says about itself ---- */

struct survey {
	bool is_austin;
	bool has_mode;
	bool is_full; /* lines have time, idle time and memory */
	struct folded_unit unit;
	uint64_t n_lines; /* with a number at their end */
	uint64_t n_pairs; /* of these, with two */
};

/* py-spy writes messages to the same stream: "py-spy> Stopped sampling because process exited". */
static bool is_message(const struct span *line)
{
	return begins_with(line, "py-spy> ");
}

/* Names of functions may begin with "#": "#<Class:Shop>#save", and private ones of JavaScript. */
static bool is_comment(const struct span *line)
{
	size_t len = (size_t)(line->end - line->p);

	return len > 0 && line->p[0] == '#' &&
	       (len == 1 || is_blank(line->p[1]) ||
		(line->p[1] != '<' && !memchr(line->p, ';', len)));
}

/* Austin: https://github.com/P403n1x87/austin, "Metadata" and "Normal mode". */
static void read_comment(struct survey *s, const struct span *line)
{
	static const struct {
		const char *comment;
		struct folded_unit unit;
		bool is_full;
	} modes[] = {
		{"# mode: wall", {"wall", "nanoseconds", 1000, false}, false},
		{"# mode: cpu", {"cpu", "nanoseconds", 1000, false}, false},
		{"# mode: memory", {"alloc_space", "bytes", 1, false}, false},
		{"# mode: full", {"wall", "nanoseconds", 1000, false}, true},
	};

	s->is_austin = s->is_austin || begins_with(line, "# austin: ");
	for (size_t i = 0; i < ARRAY_SIZE(modes) && s->is_austin; i++) {
		if (!begins_with(line, modes[i].comment))
			continue;
		s->unit = modes[i].unit;
		s->is_full = modes[i].is_full;
		s->has_mode = true;
	}
}

static void survey_line(struct survey *s, struct span line)
{
	struct span first = line, number;

	trim(&first);
	if (is_comment(&first)) {
		read_comment(s, &first);
		return;
	}
	if (is_message(&first) || !take_number(&line, &number))
		return;
	s->n_lines++;
	s->n_pairs += take_number(&line, &number);
}

/* ---- one line ---- */

struct reader {
	struct profile_builder builder;
	struct profile_losses *losses; /* of the profile */
	const struct folded_config *cfg;
	struct survey survey;
	struct folded_unit unit;
	double carry; /* what rounding has left of the values so far: -0.5 to 0.5 */
	uint64_t n_line;
	uint64_t first_broken;
	struct err *err;
};

static int64_t value_of(struct reader *r, const struct span *number)
{
	size_t len = (size_t)(number->end - number->p);
	uint64_t whole;
	int64_t value;
	double real = 0;

	if (parse_u64(number->p, len, 0, INT64_MAX, &whole) == 0 &&
	    !__builtin_mul_overflow((int64_t)whole, r->unit.factor, &value))
		return value;
	if (parse_real(number->p, len, &real) < 0)
		real = number->p[0] == '-' ? -INFINITY : INFINITY;
	if (real < 0) {
		r->losses->n[PROFILE_LOSS_NEGATIVE_VALUES]++;
		return 0;
	}
	real = real * (double)r->unit.factor + r->carry;
	if (real >= 0x1p63) {
		r->losses->n[PROFILE_LOSS_CLAMPED_VALUES]++;
		return INT64_MAX;
	}
	r->carry = real - floor(real + 0.5);
	return (int64_t)floor(real + 0.5);
}

static int add_stack(struct reader *r, const struct span *stack, int64_t value)
{
	return folded_frames_add(&r->builder, stack->p, (size_t)(stack->end - stack->p),
				 r->survey.is_austin, value);
}

static int leave_out(struct reader *r)
{
	if (r->losses->n[PROFILE_LOSS_BROKEN_LINES]++ == 0)
		r->first_broken = r->n_line;
	return 0;
}

static int read_line(struct reader *r, struct span line)
{
	struct span text = line, number, first;

	trim(&text);
	if (text.p == text.end || is_comment(&text) || is_message(&text))
		return 0;
	if (r->cfg->form == FOLDED_LINES)
		return add_stack(r, &text, r->unit.factor);
	if (r->survey.is_full && take_times(&line, &number))
		return add_stack(r, &line, value_of(r, &number));
	if (!take_number(&line, &number))
		return leave_out(r);
	if (r->survey.n_pairs == r->survey.n_lines && take_number(&line, &first) &&
	    r->survey.is_full)
		number = first;
	return add_stack(r, &line, value_of(r, &number));
}

/* ---- all lines ---- */

/* Returns false at the end. */
static bool next_line(struct span *rest, struct span *ret)
{
	const char *newline;

	if (rest->p == rest->end)
		return false;
	newline = memchr(rest->p, '\n', (size_t)(rest->end - rest->p));
	*ret = (struct span){rest->p, newline ?: rest->end};
	rest->p = newline ? newline + 1 : rest->end;
	return true;
}

static int read_lines(struct reader *r, struct span text)
{
	struct span rest = text, line;
	int e = 0;

	while (next_line(&rest, &line))
		survey_line(&r->survey, line);
	if (r->cfg->unit_is_default && r->survey.has_mode && r->cfg->form == FOLDED_VALUES)
		r->unit = r->survey.unit;
	for (rest = text; e == 0 && next_line(&rest, &line);) {
		r->n_line++;
		e = read_line(r, line);
	}
	if (e == 0 && r->first_broken > 0 && r->builder.profile.n_samples == 0)
		return err_set(
			r->err, -EBADMSG,
			"line %llu is not \"frame;frame value\", folded stacks, which is the "
			"default format, and no other line is",
			(unsigned long long)r->first_broken);
	return e;
}

int folded_stacks_read(struct profile *ret, struct arena *arena, const char *text, size_t len,
		       const struct folded_config *cfg, struct err *err)
{
	struct reader r = {.cfg = cfg, .unit = cfg->unit, .err = err};
	struct span all = {text, text + len};
	int e = profile_builder_init(&r.builder, arena, 1, err);

	r.losses = &r.builder.profile.losses;
	if (begins_with(&all, "\xef\xbb\xbf"))
		all.p += 3;
	if (e == 0)
		e = read_lines(&r, all);
	if (e == 0)
		e = folded_unit_set(&r.builder.profile, &r.unit);
	if (e == 0)
		*ret = r.builder.profile;
	return e;
}
