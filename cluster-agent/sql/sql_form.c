/*
 *	--boundary CRLF headers CRLF CRLF value CRLF --boundary CRLF … --boundary-- [CRLF …]
 *
 * Values are ended in place, where the CRLF before the next boundary begins. Only what clients
 * write is understood: a line break is CRLF, a field has its name in quotes, and there is nothing
 * before the first boundary. Anything else is refused rather than guessed.
 */
#include "cluster-agent/sql/sql_form.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>

#define TYPE "multipart/form-data"
#define MAX_BOUNDARY 70u /* RFC 2046 */
#define MAX_DELIMITER (MAX_BOUNDARY + 4)

bool sql_form_is_type(const char *content_type)
{
	const size_t n = sizeof(TYPE) - 1;

	return content_type && strncasecmp(content_type, TYPE, n) == 0 &&
	       (content_type[n] == '\0' || content_type[n] == ';' || content_type[n] == ' ');
}

/* Writes "\r\n--" and the boundary into ret. Returns its length, or 0 if there is none. */
static size_t read_delimiter(const char *content_type, char *ret)
{
	const char *b = strcasestr(content_type, "boundary=");
	size_t len;

	if (!b)
		return 0;
	b += strlen("boundary=");
	if (*b == '"')
		len = strcspn(++b, "\"");
	else
		len = strcspn(b, "; \t");
	if (len == 0 || len > MAX_BOUNDARY)
		return 0;
	snprintf(ret, MAX_DELIMITER + 1, "\r\n--%.*s", (int)len, b);
	return len + 4;
}

/* Ends the name in place. Returns NULL if the headers of a field have none, or name a file. */
static char *field_name(char *headers, bool *ret_file)
{
	char *line = strcasestr(headers, "content-disposition: form-data;"), *name, *end;

	if (!line)
		return NULL;
	end = strstr(line, "\r\n");
	if (end)
		*end = '\0';
	*ret_file = strcasestr(line, "filename") != NULL;
	name = strcasestr(line, " name=\"");
	if (!name)
		return NULL;
	name += strlen(" name=\"");
	end = strchr(name, '"');
	if (!end)
		return NULL;
	*end = '\0';
	return name;
}

/* Takes the field at *pos, which is behind its boundary, and moves *pos behind the next one. */
static int split_field(char **pos, char *end, const char *delimiter, size_t len, char **ret_name,
		       char **ret_value)
{
	bool is_file = false;
	char *value, *next;

	if (end - *pos < 2 || memcmp(*pos, "\r\n", 2) != 0)
		return -EINVAL;
	/* headers end with an empty line */
	value = memmem(*pos, (size_t)(end - *pos), "\r\n\r\n", 4);
	if (!value)
		return -EINVAL;
	*value = '\0';
	value += 4;
	/* an empty value ends with the line break of that empty line, or with its own */
	next = memmem(value, (size_t)(end - value), delimiter, len);
	if (!next)
		return -EINVAL;
	*next = '\0';
	*ret_name = field_name(*pos, &is_file);
	*ret_value = value;
	*pos = next + len;
	return is_file ? -EPERM : *ret_name ? 0 : -EINVAL;
}

int sql_form_split(const char *content_type, char *body, size_t len,
		   int (*fn)(void *ctx, const char *name, const char *value), void *ctx)
{
	char delimiter[MAX_DELIMITER + 1], *end = body + len, *pos, *name, *value;
	size_t n = read_delimiter(content_type, delimiter);
	int r = 0;

	/* the first boundary has no line break before it */
	if (n == 0 || len < n - 2 || memcmp(body, delimiter + 2, n - 2) != 0 ||
	    memchr(body, '\0', len))
		return -EINVAL;
	pos = body + n - 2;
	while (r == 0 && !(end - pos >= 2 && memcmp(pos, "--", 2) == 0)) {
		r = split_field(&pos, end, delimiter, n, &name, &value);
		if (r == 0)
			r = fn(ctx, name, value);
	}
	return r;
}
