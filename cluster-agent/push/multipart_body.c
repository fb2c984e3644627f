#include "cluster-agent/push/multipart_body.h"

#include <errno.h>
#include <strings.h>

#define FORM_DATA "multipart/form-data"

struct text {
	const char *p;
	const char *end;
};

static const char *find(const struct text *in, const char *what, size_t len)
{
	return memmem(in->p, (size_t)(in->end - in->p), what, len);
}

/* ---- the boundary ---- */

static const char *skip_spaces(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

int multipart_boundary(const char *content_type, const char **ret)
{
	const char *p = content_type ? content_type : "";
	size_t len;

	if (strncasecmp(p, FORM_DATA, strlen(FORM_DATA)) != 0)
		return 0;
	while ((p = strchr(p, ';'))) {
		p = skip_spaces(p + 1);
		if (strncasecmp(p, "boundary=", 9) == 0)
			break;
	}
	if (!p)
		return -EBADMSG;
	p += 9;
	len = *p == '"' ? strcspn(p + 1, "\"") : strcspn(p, "; \t");
	if (len == 0 || len > MULTIPART_BOUNDARY_MAX_BYTES)
		return -EBADMSG;
	*ret = *p == '"' ? p + 1 : p;
	return (int)len;
}

/* ---- headers of a part ---- */

/* The next line without its end; false after the last. */
static bool next_line(struct text *rest, struct text *ret)
{
	const char *newline;

	if (rest->p >= rest->end)
		return false;
	newline = memchr(rest->p, '\n', (size_t)(rest->end - rest->p));
	*ret = (struct text){rest->p, newline ?: rest->end};
	if (ret->end > ret->p && ret->end[-1] == '\r')
		ret->end--;
	rest->p = newline ? newline + 1 : rest->end;
	return true;
}

/* The parameter name of a Content-Disposition; false if it has none. */
static bool find_name(const struct text *line, struct multipart_part *part)
{
	static const char header[] = "content-disposition:";
	const char *p = line->p;
	struct text value;

	if ((size_t)(line->end - p) < strlen(header) || strncasecmp(p, header, strlen(header)) != 0)
		return false;
	while ((p = memchr(p, ';', (size_t)(line->end - p)))) {
		for (p++; p < line->end && *p == ' ';)
			p++;
		if (line->end - p > 5 && strncasecmp(p, "name=", 5) == 0)
			break;
	}
	if (!p)
		return false;
	value = (struct text){p + 5, line->end};
	if (*value.p == '"') {
		value.p++;
		value.end = memchr(value.p, '"', (size_t)(value.end - value.p)) ?: value.end;
	} else {
		value.end = memchr(value.p, ';', (size_t)(value.end - value.p)) ?: value.end;
	}
	part->name = value.p;
	part->name_len = (size_t)(value.end - value.p);
	return true;
}

/* Reads the headers; *rest is then the content. */
static int read_headers(struct text *rest, struct multipart_part *part)
{
	struct text line;

	while (next_line(rest, &line)) {
		if (line.p == line.end)
			return part->name ? 0 : -EBADMSG;
		(void)find_name(&line, part);
	}
	return -EBADMSG;
}

/* ---- parts ---- */

static int broken(struct err *err)
{
	return err_set(err, -EBADMSG, "the body is not valid multipart/form-data");
}

/* The content ends before the line break that precedes the next boundary. */
static int read_part(struct multipart_body *m, struct text *rest, const struct text *mark,
		     struct err *err)
{
	struct multipart_part *part;
	const char *next;

	if (m->n == MULTIPART_PARTS_MAX)
		return err_set(err, -EBADMSG, "more than %u parts in multipart/form-data",
			       MULTIPART_PARTS_MAX);
	part = &m->parts[m->n++];
	*part = (struct multipart_part){.name = NULL};
	if (read_headers(rest, part) < 0)
		return broken(err);
	/* an empty part has the line break that ends its headers */
	rest->p -= 2;
	next = find(rest, mark->p, (size_t)(mark->end - mark->p));
	if (!next)
		return broken(err);
	part->data = rest->p + 2;
	part->len = next > part->data ? (size_t)(next - part->data) : 0;
	rest->p = next + (mark->end - mark->p);
	return 0;
}

int multipart_body_parse(struct multipart_body *ret, const char *boundary, size_t boundary_len,
			 const void *body, size_t len, struct err *err)
{
	char mark[MULTIPART_BOUNDARY_MAX_BYTES + 4] = "\r\n--";
	struct text rest = {body, (const char *)body + len};
	const struct text all = {mark, mark + 4 + boundary_len};
	const char *first;

	ret->n = 0;
	if (boundary_len == 0 || boundary_len > MULTIPART_BOUNDARY_MAX_BYTES)
		return broken(err);
	memcpy(mark + 4, boundary, boundary_len);
	first = find(&rest, mark + 2, boundary_len + 2);
	if (!first)
		return broken(err);
	rest.p = first + boundary_len + 2;
	for (;;) {
		struct text line;
		int r;

		if (rest.end - rest.p >= 2 && memcmp(rest.p, "--", 2) == 0)
			return 0;
		/* what follows a boundary on its line is ignored */
		if (!next_line(&rest, &line))
			return broken(err);
		r = read_part(ret, &rest, &all, err);
		if (r < 0)
			return r;
	}
}

const struct multipart_part *multipart_find(const struct multipart_body *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].name_len == strlen(name) &&
		    memcmp(m->parts[i].name, name, strlen(name)) == 0)
			return &m->parts[i];
	return NULL;
}
