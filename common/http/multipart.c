#include "common/http/multipart.h"

#include <errno.h>
#include <strings.h>

#define FORM_DATA "multipart/form-data"

struct text {
	const char *p;
	const char *end;
};

/* ---- the boundary ---- */

static const char *skip_spaces(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

int multipart_begin(struct multipart_reader *ret, const char *content_type)
{
	const char *p = content_type ?: "";
	size_t len = strlen(FORM_DATA);

	*ret = (struct multipart_reader){.p = NULL};
	if (strncasecmp(p, FORM_DATA, len) != 0 || (p[len] && !strchr("; \t", p[len])))
		return 0;
	while ((p = strchr(p, ';'))) {
		p = skip_spaces(p + 1);
		if (strncasecmp(p, "boundary=", 9) == 0)
			break;
	}
	if (!p)
		return -EBADMSG;
	p += 9;
	len = *p == '"' ? strcspn(++p, "\"") : strcspn(p, "; \t");
	if (len == 0 || len > MULTIPART_BOUNDARY_MAX_BYTES)
		return -EBADMSG;
	memcpy(ret->mark, "\r\n--", 4);
	memcpy(ret->mark + 4, p, len);
	ret->mark_len = len + 4;
	return 1;
}

/* ---- headers of a part ---- */

/* The next line without its end; false after the last. */
static bool next_line(struct multipart_reader *m, struct text *ret)
{
	const char *newline;

	if (m->p >= m->end)
		return false;
	newline = memchr(m->p, '\n', (size_t)(m->end - m->p));
	*ret = (struct text){m->p, newline ?: m->end};
	if (ret->end > ret->p && ret->end[-1] == '\r')
		ret->end--;
	m->p = newline ? newline + 1 : m->end;
	return true;
}

/* Takes the next parameter of a header off its line; false after the last, or if it is broken. */
static bool next_param(struct text *line, struct text *ret_key, struct text *ret_value)
{
	const char *p = memchr(line->p, ';', (size_t)(line->end - line->p)), *end;

	if (!p)
		return false;
	for (p++; p < line->end && (*p == ' ' || *p == '\t');)
		p++;
	*ret_key = (struct text){p, memchr(p, '=', (size_t)(line->end - p))};
	if (!ret_key->end)
		return false;
	p = ret_key->end + 1;
	if (p < line->end && *p == '"') {
		p++;
		end = memchr(p, '"', (size_t)(line->end - p));
		if (!end)
			return false;
	} else {
		end = memchr(p, ';', (size_t)(line->end - p)) ?: line->end;
	}
	*ret_value = (struct text){p, end};
	line->p = end;
	return true;
}

static bool begins_with(const struct text *t, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(t->end - t->p) >= len && strncasecmp(t->p, word, len) == 0;
}

/* Reads the headers; m is then at the content. */
static int read_headers(struct multipart_reader *m, struct multipart_part *part)
{
	struct text line, key, value;

	while (next_line(m, &line)) {
		if (line.p == line.end)
			return part->name ? 0 : -EBADMSG;
		if (!begins_with(&line, "content-disposition:"))
			continue;
		while (next_param(&line, &key, &value)) {
			if (begins_with(&key, "filename"))
				part->is_file = true;
			if (key.end - key.p != 4 || !begins_with(&key, "name"))
				continue;
			part->name = value.p;
			part->name_len = (size_t)(value.end - value.p);
		}
	}
	return -EBADMSG;
}

/* ---- parts ---- */

/* Moves past the next boundary; its line break may be missing at the start of the body. */
static const char *pass_boundary(struct multipart_reader *m)
{
	size_t optional = m->begun ? 0 : 2;
	const char *at =
		memmem(m->p, (size_t)(m->end - m->p), m->mark + optional, m->mark_len - optional);

	if (at)
		m->p = at + m->mark_len - optional;
	return at;
}

/* The content ends before the line break that precedes the next boundary. */
int multipart_next(struct multipart_reader *m, struct multipart_part *ret)
{
	struct text line;
	const char *next;

	if (!m->begun && !pass_boundary(m))
		return -EBADMSG;
	m->begun = true;
	if (m->end - m->p >= 2 && memcmp(m->p, "--", 2) == 0)
		return 0;
	if (!next_line(m, &line))
		return -EBADMSG;
	while (line.p < line.end && (*line.p == ' ' || *line.p == '\t'))
		line.p++;
	*ret = (struct multipart_part){.name = NULL};
	if (line.p < line.end || read_headers(m, ret) < 0)
		return -EBADMSG;
	/* an empty part has the line break that ends its headers */
	m->p -= 2;
	ret->data = m->p + 2;
	next = pass_boundary(m);
	if (!next)
		return -EBADMSG;
	ret->len = next > ret->data ? (size_t)(next - ret->data) : 0;
	return 1;
}
