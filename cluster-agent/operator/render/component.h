/*
 * The objects of one component of a resource: its templates, and values for their places. Pure.
 *
 * Functions that give a value leave the place empty if there is nothing to give: NULL, false, 0.
 * They remember a lack of memory, which component_add() returns.
 */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_COMPONENT_H
#define CLUSTER_AGENT_OPERATOR_RENDER_COMPONENT_H

#include <jansson.h>

#include "cluster-agent/operator/render/object_template.h"
#include "cluster-agent/operator/render/render.h"
#include "common/base.h"

struct component {
	const struct render_input *in;
	struct object_scope scope; /* values owned */
	json_t *annotations;       /* of its pods; owned */
	int error;
};

/*
 * name is that of its templates, and the end of its objects' names: "node-agent". Gives what the
 * user says of the pods; image is the default. To be ended by component_fini() in any case.
 */
void component_begin(struct component *c, const struct render_input *in, const char *name,
		     const struct coroot_pod *pod, const char *image);
void component_fini(struct component *c);

void component_text(struct component *c, const char *name, const char *value);
void component_number(struct component *c, const char *name, int64_t value);
void component_flag(struct component *c, const char *name, bool value);
void component_json(struct component *c, const char *name, const json_t *value);
/* value is taken over; NULL is a lack of memory. */
void component_made(struct component *c, const char *name, json_t *value);
/* {"name", "key"} */
void component_secret(struct component *c, const char *name, const struct coroot_secret_key *key);

/* Another annotation of the pods. */
void component_annotation(struct component *c, const char *name, const char *value);
/* Of volumes; the annotations are the user's and marks, which win and may be NULL. */
void component_storage(struct component *c, const struct coroot_storage *storage, json_t *marks);
/* How many pods have volumes of their own. */
void component_replicas(struct component *c, int64_t n);
/*
 * What both agents have: where they send profiles, their key, how they verify the server, and
 * rights that variables of pod, the agent's, ask for.
 */
void component_agent(struct component *c, const struct coroot_pod *pod,
		     const struct coroot_agent_tls *tls);

/* Whether a user's environment has the variable with that value, or any if value is NULL. */
bool component_env_has(const json_t *env, const char *name, const char *value);

/* Adds the objects of a part. Returns 0, -ENOMEM, or -EBADMSG or -EINVAL if a template is wrong. */
int component_add(struct rendered *out, struct component *c, const char *part) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_COMPONENT_H */
