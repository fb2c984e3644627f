/* Secrets with random content, which the operator makes once and then leaves alone. */
#ifndef CLUSTER_AGENT_OPERATOR_RECONCILE_SECRET_MAKER_H
#define CLUSTER_AGENT_OPERATOR_RECONCILE_SECRET_MAKER_H

#include <jansson.h>

#include "cluster-agent/operator/render/rendered.h"
#include "cluster-agent/operator/spec/coroot_spec.h"
#include "common/base.h"

#define SECRET_MAKER_MAX_BYTES 256

/* Fills ret with len random letters and digits and a NUL. Returns 0, or -errno of getrandom(2). */
int secret_maker_text(char *ret, size_t len) MUST_CHECK;

/* Whether a Secret of the API server has that key, even an empty one. */
bool secret_maker_has(const json_t *secret, const char *key);
/* Whether an operator made that Secret, so that keys may be added. */
bool secret_maker_may_add(const json_t *secret);

/*
 * The Secret to be created, or, if existing is not NULL, the merge patch that adds the key to it.
 * Nobody owns it: it outlives the resource, as those of Coroot's operator do. NULL without memory
 * or random bytes.
 */
json_t *secret_maker_body(const struct coroot_spec *s, const struct wanted_secret *wanted,
			  const json_t *existing);

#endif /* CLUSTER_AGENT_OPERATOR_RECONCILE_SECRET_MAKER_H */
