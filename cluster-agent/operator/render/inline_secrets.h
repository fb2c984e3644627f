/*
 * Secrets that a resource has as plain text. They go into one Secret, "<resource>-coroot-api-keys",
 * so that no object but the resource itself shows them. Pure.
 */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_INLINE_SECRETS_H
#define CLUSTER_AGENT_OPERATOR_RENDER_INLINE_SECRETS_H

#include <jansson.h>

#include "cluster-agent/operator/render/render.h"
#include "cluster-agent/operator/spec/coroot_spec.h"
#include "common/base.h"

#define INLINE_SECRET_NAME_BYTES 280

/* Where a secret is after all: in the Secret that the user names, or in ours. */
struct secret_place {
	struct coroot_secret_key key; /* name is NULL if there is no such secret at all */
	const char *text;             /* NULL unless it is in ours */
	char name[INLINE_SECRET_NAME_BYTES];
	char file[32];
};

/* The key that the agents send. */
void inline_agent_key(struct secret_place *ret, const struct coroot_spec *s);
/* The i-th key that the server accepts of the projects. */
void inline_project_key(struct secret_place *ret, const struct coroot_spec *s, size_t i);
/* The password of the page. */
void inline_page_key(struct secret_place *ret, const struct coroot_spec *s);
/* The password of an external ClickHouse. */
void inline_clickhouse_password(struct secret_place *ret, const struct coroot_spec *s);

/* "data" of that Secret: a new reference, or NULL if memory is short. */
json_t *inline_secret_data(const struct render_input *in);

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_INLINE_SECRETS_H */
