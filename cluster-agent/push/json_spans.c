#include "cluster-agent/push/json_spans.h"

#include <errno.h>

#include "common/text/parse.h"

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

/* p is at the first quote. Returns the character after the last one, or NULL. */
static const char *skip_text(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		if (*p == '"')
			return p + 1;
		if (*p == '\\')
			p++;
	}
	return NULL;
}

/* p is at an opening bracket. */
static const char *skip_brackets(const char *p, const char *end)
{
	size_t depth = 0;

	while (p < end) {
		if (*p == '"') {
			p = skip_text(p, end);
			if (!p)
				return NULL;
			continue;
		}
		depth += *p == '[' || *p == '{';
		depth -= *p == ']' || *p == '}';
		p++;
		if (depth == 0)
			return p;
	}
	return NULL;
}

/* Returns the character after the value at p, or NULL if there is none. */
static const char *skip_value(const char *p, const char *end)
{
	const char *from = p;

	if (p == end)
		return NULL;
	if (*p == '"')
		return skip_text(p, end);
	if (*p == '[' || *p == '{')
		return skip_brackets(p, end);
	while (p < end && !strchr(",:]} \t\r\n\"[{", *p))
		p++;
	return p > from ? p : NULL;
}

bool json_span_first(const char *text, size_t len, struct json_span *ret)
{
	const char *end = text + len;
	const char *p = skip_blanks(text, end), *after;

	after = skip_value(p, end);
	if (!after)
		return false;
	*ret = (struct json_span){p, after};
	return true;
}

bool json_walk_open(struct json_walk *w, const struct json_span *value, char open)
{
	if (value->p == value->end || *value->p != open)
		return false;
	*w = (struct json_walk){value->p + 1, value->end, open == '[' ? ']' : '}', false};
	return true;
}

static bool next_name(struct json_walk *w, struct json_span *ret)
{
	const char *after = w->p < w->end && *w->p == '"' ? skip_text(w->p, w->end) : NULL;

	if (!after)
		return false;
	*ret = (struct json_span){w->p + 1, after - 1};
	w->p = skip_blanks(after, w->end);
	if (w->p == w->end || *w->p != ':')
		return false;
	w->p = skip_blanks(w->p + 1, w->end);
	return true;
}

int json_walk_next(struct json_walk *w, struct json_span *name, struct json_span *value)
{
	const char *after;
	struct json_span unused;

	w->p = skip_blanks(w->p, w->end);
	if (w->p == w->end)
		return -EBADMSG;
	if (*w->p == w->close)
		return 0;
	if (w->started) {
		if (*w->p != ',')
			return -EBADMSG;
		w->p = skip_blanks(w->p + 1, w->end);
	}
	w->started = true;
	if (w->close == '}' && !next_name(w, name ?: &unused))
		return -EBADMSG;
	after = skip_value(w->p, w->end);
	if (!after)
		return -EBADMSG;
	*value = (struct json_span){w->p, after};
	w->p = after;
	return 1;
}

bool json_span_is(const struct json_span *s, const char *text)
{
	size_t len = (size_t)(s->end - s->p);

	return len == strlen(text) && memcmp(s->p, text, len) == 0;
}

bool json_span_number(const struct json_span *s, double *ret)
{
	return parse_real(s->p, (size_t)(s->end - s->p), ret) == 0;
}
