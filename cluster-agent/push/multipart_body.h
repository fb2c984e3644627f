/*
 * Parts of a multipart/form-data body (RFC 7578). Pure; foreign data; borrows all from the body.
 */
#ifndef CLUSTER_AGENT_PUSH_MULTIPART_BODY_H
#define CLUSTER_AGENT_PUSH_MULTIPART_BODY_H

#include "common/base.h"
#include "common/err.h"

#define MULTIPART_PARTS_MAX 16u
#define MULTIPART_BOUNDARY_MAX_BYTES 70u /* RFC 2046, 5.1.1 */

struct multipart_part {
	const char *name; /* not NUL-terminated */
	size_t name_len;
	const char *data;
	size_t len;
};

struct multipart_body {
	struct multipart_part parts[MULTIPART_PARTS_MAX];
	size_t n;
};

/*
 * Finds the boundary in a value of Content-Type. Returns its length, and *ret within that value;
 * 0 if the type is not multipart/form-data; or -EBADMSG without a valid boundary.
 */
int multipart_boundary(const char *content_type, const char **ret);

/*
 * Returns 0, or -EBADMSG if the body does not have the form or more than MULTIPART_PARTS_MAX parts
 * (with one line in err). What precedes the first boundary and follows the last is ignored.
 */
int multipart_body_parse(struct multipart_body *ret, const char *boundary, size_t boundary_len,
			 const void *body, size_t len, struct err *err) MUST_CHECK;

/* NULL if there is none of that name. */
const struct multipart_part *multipart_find(const struct multipart_body *m, const char *name);

#endif /* CLUSTER_AGENT_PUSH_MULTIPART_BODY_H */
