/*
 * The URL of one upload, from endpoint and labels: POST <endpoint>?service.name=…&host.name=…
 * Values are percent-encoded by RFC 3986. Pure.
 */
#ifndef COMMON_UPLOAD_UPLOAD_URL_H
#define COMMON_UPLOAD_UPLOAD_URL_H

#include "common/base.h"

struct upload_label {
	const char *name;
	const char *value; /* the label is omitted if this is NULL or "" */
};

#define UPLOAD_URL_MAX_BYTES 8192u /* no server accepts more */

/*
 * "service.name=…&host.name=…". labels end with a zeroed one. The caller owns *ret. Returns 0,
 * -ENOMEM, or -EFBIG if it would exceed UPLOAD_URL_MAX_BYTES.
 */
int upload_url_query(char **ret, const struct upload_label *labels) MUST_CHECK;

/* endpoint with the query appended. As above. */
int upload_url_join(char **ret, const char *endpoint, const char *query) MUST_CHECK;

/* Both together. */
int upload_url_make(char **ret, const char *endpoint, const struct upload_label *labels) MUST_CHECK;

/* "http://host:port[/base]" → "http://host:port[/base]/v1/profiles". Returns 0 or -ENOMEM. */
int upload_url_from_collector(char **ret, const char *collector) MUST_CHECK;

/* Removes "user:password@" in place, for URLs that are shown or logged. */
void upload_url_remove_user(char *url);

#endif /* COMMON_UPLOAD_UPLOAD_URL_H */
