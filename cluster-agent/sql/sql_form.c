#include "cluster-agent/sql/sql_form.h"

#include <errno.h>

#include "common/http/multipart.h"

bool sql_form_is_type(const char *content_type)
{
	struct multipart_reader m;

	return multipart_begin(&m, content_type) != 0;
}

/* Texts are ended in place, by a byte that is part of neither. */
int sql_form_split(const char *content_type, char *body, size_t len,
		   int (*fn)(void *ctx, const char *name, const char *value), void *ctx)
{
	struct multipart_reader m;
	struct multipart_part part;
	int r = multipart_begin(&m, content_type), n;

	if (r <= 0 || memchr(body, '\0', len))
		return -EINVAL;
	m.p = body;
	m.end = body + len;
	while ((n = multipart_next(&m, &part)) > 0) {
		if (part.is_file)
			return -EPERM;
		body[part.name + part.name_len - body] = '\0';
		body[part.data + part.len - body] = '\0';
		r = fn(ctx, part.name, part.data);
		if (r != 0)
			return r;
	}
	return n < 0 ? -EINVAL : 0;
}
