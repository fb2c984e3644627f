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

/*
 * labels end with a zeroed one. The caller owns *ret. Returns 0, -ENOMEM, or -EFBIG if the URL
 * would exceed 8 KiB, which no server accepts.
 */
int upload_url_make(char **ret, const char *endpoint, const struct upload_label *labels) MUST_CHECK;

/* "http://host:port[/base]" → "http://host:port[/base]/v1/profiles". Returns 0 or -ENOMEM. */
int upload_url_from_collector(char **ret, const char *collector) MUST_CHECK;

/* Removes "user:password@" in place, for URLs that are shown or logged. */
void upload_url_remove_user(char *url);

#endif /* COMMON_UPLOAD_UPLOAD_URL_H */
