/*
 * The path below which a server can be reached as well as at the root, for a proxy or an Ingress
 * that passes paths on as they are. Pure.
 */
#ifndef COMMON_HTTP_HTTP_BASE_PATH_H
#define COMMON_HTTP_HTTP_BASE_PATH_H

#include "common/base.h"
#include "common/err.h"
#include "common/http/http_route.h"

#define HTTP_BASE_PATH_BYTES 129u /* with the NUL */

/*
 * Makes "/coroot" of "/coroot/", and "" of "/", "" and NULL. Parts are of letters, digits, '-',
 * '.', '_' and '~', and neither empty nor "." nor "..". Returns 0, or -EINVAL with a sentence.
 */
int http_base_path_parse(char ret[static HTTP_BASE_PATH_BYTES], const char *text,
			 struct err *err) MUST_CHECK;

/*
 * The rest of path, "/…", if it is below base; "" if it is base itself; NULL if it is elsewhere, as
 * all paths are if base is "".
 */
const char *http_base_path_below(const char *base, const char *path);

/* Whether a request for a path below base could mean one of the routes at the root. */
bool http_base_path_collides(const char *base, const struct http_route *routes);

#endif /* COMMON_HTTP_HTTP_BASE_PATH_H */
