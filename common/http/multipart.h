/*
 * Parts of a multipart/form-data body (RFC 7578). Pure; foreign data; borrows all from the body.
 */
#ifndef COMMON_HTTP_MULTIPART_H
#define COMMON_HTTP_MULTIPART_H

#include "common/base.h"

#define MULTIPART_BOUNDARY_MAX_BYTES 70u /* RFC 2046, 5.1.1 */

struct multipart_part {
	const char *name; /* not NUL-terminated: a byte of the body that is no part of it follows */
	size_t name_len;
	bool is_file;     /* has the name of a file */
	const char *data; /* likewise */
	size_t len;
};

struct multipart_reader {
	const char *p, *end; /* what is left of the body */
	bool begun;
	char mark[MULTIPART_BOUNDARY_MAX_BYTES + 4]; /* "\r\n--" and the boundary */
	size_t mark_len;
};

/*
 * Reads a value of Content-Type (may be NULL). Returns 1 if it is multipart/form-data, 0 if it is
 * another type, or -EBADMSG without a valid boundary. The caller then sets p and end.
 */
int multipart_begin(struct multipart_reader *ret, const char *content_type) MUST_CHECK;

/*
 * Returns 1 and the next part, 0 after the last, or -EBADMSG. What precedes the first boundary and
 * follows the last is ignored.
 */
int multipart_next(struct multipart_reader *m, struct multipart_part *ret) MUST_CHECK;

#endif /* COMMON_HTTP_MULTIPART_H */
