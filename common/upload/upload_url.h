/*
 * Endpoint + labels → URL of one upload: POST <endpoint>?service.name=…&host.name=…
 * Pure. Values are percent-encoded as RFC 3986 asks for in a query.
 */
#ifndef COMMON_UPLOAD_UPLOAD_URL_H
#define COMMON_UPLOAD_UPLOAD_URL_H

#include "common/base.h"

struct upload_label {
	const char *name;
	const char *value; /* NULL or "": the label is left out */
};

/*
 * *ret is NUL-terminated and owned by the caller. labels ends with a zeroed one.
 * -ENOMEM; -EFBIG when the URL would be longer than 8 KiB, which no server takes.
 */
int upload_url_make(char **ret, const char *endpoint, const struct upload_label *labels) MUST_CHECK;

/* collector endpoint ("http://host:port[/base]") → its profiles endpoint. -ENOMEM. */
int upload_url_from_collector(char **ret, const char *collector) MUST_CHECK;

#endif /* COMMON_UPLOAD_UPLOAD_URL_H */
