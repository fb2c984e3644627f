#include "common/http/http_base_path.h"

#include <errno.h>

#define ALLOWED                      \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789-._~"

/* Whether a part of a path is one that every client and proxy leaves as it is. */
static bool is_plain(const char *part, size_t len)
{
	return len > 0 && strspn(part, ALLOWED) >= len && !(len == 1 && part[0] == '.') &&
	       !(len == 2 && part[0] == '.' && part[1] == '.');
}

int http_base_path_parse(char ret[static HTTP_BASE_PATH_BYTES], const char *text, struct err *err)
{
	size_t len = text ? strlen(text) : 0;

	if (len > 0 && text[len - 1] == '/')
		len--;
	if (len >= HTTP_BASE_PATH_BYTES)
		return err_set(err, -EINVAL, "longer than %u bytes", HTTP_BASE_PATH_BYTES - 1);
	for (size_t at = 0; at < len;) {
		size_t n = strcspn(text + at + 1, "/");

		if (at + 1 + n > len)
			n = len - at - 1;
		if (text[at] != '/' || !is_plain(text + at + 1, n))
			return err_set(err, -EINVAL,
				       "not a path like /coroot of letters, digits and -._~");
		at += 1 + n;
	}
	if (len > 0)
		memcpy(ret, text, len);
	ret[len] = '\0';
	return 0;
}

const char *http_base_path_below(const char *base, const char *path)
{
	size_t len = strlen(base);

	if (len == 0 || strncmp(path, base, len) != 0)
		return NULL;
	return path[len] == '\0' || path[len] == '/' ? path + len : NULL;
}

bool http_base_path_collides(const char *base, const struct http_route *routes)
{
	for (; base[0] && routes->method; routes++) {
		size_t len = strlen(routes->path);

		if (http_base_path_below(base, routes->path))
			return true;
		if (len > 0 && routes->path[len - 1] == '*' &&
		    strncmp(base, routes->path, len - 1) == 0)
			return true;
	}
	return false;
}
