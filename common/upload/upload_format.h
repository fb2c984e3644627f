/*
 * What a receiver is sent if it does not take a pprof with its labels in the URL. Queue and spool
 * keep pprofs all the same, so that the receiver may be changed while profiles wait; they become
 * what is sent at each attempt.
 */
#ifndef COMMON_UPLOAD_UPLOAD_FORMAT_H
#define COMMON_UPLOAD_UPLOAD_FORMAT_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"
#include "common/upload/upload_item.h"

#define UPLOAD_FORMAT_MAX_HEADERS 20u

struct upload_format {
	const char *headers[UPLOAD_FORMAT_MAX_HEADERS]; /* "Name: value" */
	size_t n_headers;
	/*
	 * Appends the body for an item. Returns 0, -EBADMSG or -EFBIG if that is not possible, or
	 * -ENOMEM.
	 */
	int (*encode)(const struct upload_format *f, const struct upload_item *item,
		      struct buf *out);
	/* Whether an answer of 2xx with that body means that all was stored. */
	bool (*is_stored)(const void *body, size_t len);
	const char *program; /* the sender's name and version */
	const char *version;
	char *text; /* where headers are */
};

/*
 * OTLP over HTTP (otlp_encode.h). headers are further ones, "name=value,…", as in
 * OTEL_EXPORTER_OTLP_HEADERS; NULL: none. program and version are borrowed. Returns 0, -ENOMEM, or
 * -EINVAL with a sentence in err.
 */
int upload_format_new_otlp(struct upload_format **ret, const char *headers, const char *program,
			   const char *version, struct err *err) MUST_CHECK;
void upload_format_free(struct upload_format *f);
DEFINE_CLEANUP(struct upload_format *, upload_format_free);

/*
 * "http://host:4318" → "http://host:4318/v1development/profiles", as OTEL_EXPORTER_OTLP_ENDPOINT
 * is read; a URL that ends so already is copied. Returns 0 or -ENOMEM.
 */
int upload_format_otlp_url(char **ret, const char *endpoint) MUST_CHECK;

#endif /* COMMON_UPLOAD_UPLOAD_FORMAT_H */
