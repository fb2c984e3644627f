/* Fields of a multipart/form-data body (RFC 7578), in which some drivers send parameters. Pure. */
#ifndef CLUSTER_AGENT_SQL_SQL_FORM_H
#define CLUSTER_AGENT_SQL_SQL_FORM_H

#include "common/base.h"

/* Whether this value of Content-Type (may be NULL) says that the body is a form. */
bool sql_form_is_type(const char *content_type);

/*
 * Splits body, which is changed: fields are called in order, with texts inside it. Stops at the
 * first field for which fn does not return 0, and returns that. Returns 0, -EINVAL if body is no
 * form with the boundary of content_type, or has a zero byte, or -EPERM for an uploaded file.
 */
int sql_form_split(const char *content_type, char *body, size_t len,
		   int (*fn)(void *ctx, const char *name, const char *value), void *ctx) MUST_CHECK;

#endif /* CLUSTER_AGENT_SQL_SQL_FORM_H */
