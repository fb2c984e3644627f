/* The objects that a Coroot resource stands for, as JSON, ready to be applied. Pure. */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_RENDERED_H
#define CLUSTER_AGENT_OPERATOR_RENDER_RENDERED_H

#include <jansson.h>

#include "cluster-agent/operator/render/object_kinds.h"
#include "common/base.h"

/* What the templates write on every object. */
#define OBJECT_OWNER_LABEL "coroot.com/owner-uid" /* uid of the resource */
#define OBJECT_MANAGED_BY "coroot-operator"

struct rendered_object {
	enum object_kind kind;
	const char *namespace; /* borrowed from body; NULL if cluster-scoped */
	const char *name;      /* borrowed from body */
	json_t *body;          /* with apiVersion, kind and metadata */
};

/* A Secret that is made once, with random letters and digits, and never changed or deleted. */
struct wanted_secret {
	const char *name; /* borrowed from the spec, or from names */
	const char *key;
	size_t length;
};

/* Zeroed before its first use. */
struct rendered {
	struct rendered_object *objects;
	size_t n_objects;
	struct wanted_secret *secrets;
	size_t n_secrets;
	json_t *names; /* array that keeps strings made here */
};

/*
 * Takes body over, also on failure; NULL is -ENOMEM. apiVersion is set here, by its kind. Returns
 * 0, -ENOMEM, or -EINVAL if it has no kind that is known, or no name.
 */
int rendered_add(struct rendered *r, json_t *body) MUST_CHECK;
/* name and key are copied. Asked for twice is asked for once. Returns 0 or -ENOMEM. */
int rendered_want_secret(struct rendered *r, const char *name, const char *key,
			 size_t length) MUST_CHECK;
void rendered_fini(struct rendered *r);

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_RENDERED_H */
