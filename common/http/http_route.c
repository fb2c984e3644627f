#include "common/http/http_route.h"

static bool path_matches(const struct http_route *route, const char *path, bool exact)
{
	size_t len = strlen(route->path);
	bool is_prefix = len > 0 && route->path[len - 1] == '*';

	if (is_prefix == exact)
		return false;
	return exact ? strcmp(path, route->path) == 0 : strncmp(path, route->path, len - 1) == 0;
}

static bool method_matches(const struct http_route *route, const char *method)
{
	if (strcmp(method, "HEAD") == 0)
		method = "GET";
	return strcmp(method, route->method) == 0;
}

const struct http_route *http_route_find(const struct http_route *routes, const char *method,
					 const char *path, struct buf *allow)
{
	for (int exact = 1; exact >= 0; exact--) {
		for (const struct http_route *r = routes; r->method; r++) {
			bool is_get = strcmp(r->method, "GET") == 0;

			if (!path_matches(r, path, exact))
				continue;
			if (method_matches(r, method))
				return r;
			if (!strstr(allow->data ? allow->data : "", r->method) &&
			    buf_addf(allow, "%s%s%s", allow->len ? ", " : "", r->method,
				     is_get ? ", HEAD" : "") < 0)
				return NULL;
		}
	}
	return NULL;
}
