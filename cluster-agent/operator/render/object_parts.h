/*
 * Pieces of Kubernetes objects that several renderers need. Pure. Functions that return a json_t
 * return a new reference, or NULL if memory is short; those that take one take it over.
 */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_OBJECT_PARTS_H
#define CLUSTER_AGENT_OPERATOR_RENDER_OBJECT_PARTS_H

#include <jansson.h>

#include "cluster-agent/operator/spec/coroot_spec.h"
#include "common/base.h"

#define OBJECT_OWNER_LABEL "coroot.com/owner-uid" /* uid of the resource; on every object */
#define OBJECT_MANAGED_BY "coroot-operator"

#define OBJECT_NOBODY 65534 /* uid and gid of all pods but the node-agent's */

/* "<resource>-<suffix>", or "<resource>" if suffix is NULL. */
json_t *object_name(const struct coroot_spec *s, const char *suffix);
/* managed-by, part-of and component, as selectors and pods have them. */
json_t *object_selector_labels(const struct coroot_spec *s, const char *component);
/*
 * "metadata" of an object in the resource's namespace: name "<resource>-<suffix>" ("<resource>" if
 * suffix is NULL), those labels and the owner's, and an owner reference unless owned is false.
 * annotations may be NULL; borrowed.
 */
json_t *object_metadata(const struct coroot_spec *s, const char *component, const char *suffix,
			const json_t *annotations, bool owned);
/* The same of a cluster-scoped object, "<namespace>.<resource>.<suffix>"; nobody owns it. */
json_t *object_cluster_metadata(const struct coroot_spec *s, const char *component,
				const char *suffix);

/*
 * Set a member of an object unless there is nothing to set: NULL, an empty array or object, 0.
 * Return 0 or -ENOMEM, so do not use json_pack("s:o*"), which leaves out what a lack of memory has
 * made NULL. object_set_made() takes v over, and NULL is a lack of memory.
 */
int object_set_shared(json_t *object, const char *key, const json_t *v) MUST_CHECK;
int object_set_made(json_t *object, const char *key, json_t *v) MUST_CHECK;
int object_set_text(json_t *object, const char *key, const char *value) MUST_CHECK;
int object_set_number(json_t *object, const char *key, int64_t value) MUST_CHECK;

/* Environment. Each appends to env, an array. Return 0 or -ENOMEM. */
int object_env_text(json_t *env, const char *name, const char *value) MUST_CHECK;
int object_env_secret(json_t *env, const char *name,
		      const struct coroot_secret_key *key) MUST_CHECK;
int object_env_field(json_t *env, const char *name, const char *field_path) MUST_CHECK;
/*
 * Appends the user's variables. One that is there already is replaced, since server-side apply
 * refuses a name twice.
 */
int object_env_user(json_t *env, const json_t *user) MUST_CHECK;

/*
 * A pod of a component. Of what is taken over, only init_containers may be NULL, since NULL is what
 * a lack of memory makes; empty arrays and objects are left out.
 */
struct object_pod {
	const struct coroot_spec *spec;
	const char *component; /* "coroot-node-agent" */
	const struct coroot_pod *pod;
	const char *service_account; /* suffix: "node-agent" */
	bool host_pid;
	bool mounts_token;        /* of the service account */
	json_t *security_context; /* of the pod; taken over */
	json_t *containers;       /* arrays; taken over */
	json_t *init_containers;  /* NULL: none */
	json_t *volumes;
	const char *priority_class;  /* NULL: none */
	const char *pull_secret;     /* beside the user's; NULL: none */
	int64_t termination_grace_s; /* 0: Kubernetes' default */
};
/* {"metadata", "spec"} of a pod template. */
json_t *object_pod_template(const struct object_pod *p);

/* Security contexts that Pod Security "restricted" admits: uid and gid 65534, nothing to write. */
json_t *object_restricted_pod(void);
json_t *object_restricted_container(void);

/* {"requests": …, "limits": …}: given by the user, else the defaults; quantities as text. */
json_t *object_resources(const json_t *user, const char *cpu_request, const char *memory_request,
			 const char *cpu_limit, const char *memory_limit);
/* An HTTP probe: GET path at the container's port of that name. */
json_t *object_http_probe(const char *path, const char *port, bool tls, int64_t period_s,
			  int64_t failures);

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_OBJECT_PARTS_H */
