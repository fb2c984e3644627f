#include "test/store/server_form.h"

#include <errno.h>

/* One part without its boundary: headers, an empty line, the value. */
static int parse_part(char *part, char *end, void (*field)(void *, const char *, const char *),
		      void *ctx)
{
	static const char key[] = "name=\"";
	char *value, *name, *quote;

	*end = '\0';
	value = strstr(part, "\r\n\r\n");
	name = strstr(part, key);
	if (!value || !name || name > value)
		return -EBADMSG;
	name += strlen(key);
	quote = strchr(name, '"');
	if (!quote || quote > value)
		return -EBADMSG;
	*quote = '\0';
	field(ctx, name, value + 4);
	return 0;
}

int server_form_parse(const char *content_type, char *body, size_t len,
		      void (*field)(void *ctx, const char *name, const char *value), void *ctx)
{
	static const char type[] = "multipart/form-data; boundary=";
	char boundary[80];
	char *at, *next, *end = body + len;
	size_t n;

	if (!content_type || strncmp(content_type, type, strlen(type)) != 0)
		return -ENOENT;
	snprintf(boundary, sizeof(boundary), "\r\n--%s", content_type + strlen(type));
	n = strlen(boundary);
	/* the first one begins the body, without a line break */
	if (len < n - 2 || memcmp(body, boundary + 2, n - 2) != 0)
		return -EBADMSG;
	for (at = body + n - 2; end - at >= 2 && memcmp(at, "--", 2) != 0; at = next + n) {
		int r;

		next = memmem(at, (size_t)(end - at), boundary, n);
		if (!next)
			return -EBADMSG;
		r = parse_part(at, next, field, ctx);
		if (r < 0)
			return r;
	}
	return 0;
}
