/*
 * What the renderers of several components need. Pure. Functions that return a json_t return a new
 * reference, or NULL if memory is short; the others 0 or -ENOMEM.
 */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_RENDER_PARTS_H
#define CLUSTER_AGENT_OPERATOR_RENDER_RENDER_PARTS_H

#include <jansson.h>

#include "cluster-agent/operator/render/object_parts.h"
#include "cluster-agent/operator/render/render.h"
#include "common/base.h"

/* The Service that the agents send to, "<resource>-coroot", and the names of its ports. */
#define RENDER_SERVER "coroot"
#define RENDER_PORT "http"
#define RENDER_GRPC_PORT "grpc"
/* Where the agents find the server's certificate. */
#define RENDER_CA_DIR "/config/ca"

/* Where the agents send profiles, without a '/' at the end; path is appended to it. */
json_t *render_agent_url(const struct render_input *in, const char *path);
/* Whether the server has a certificate. */
bool render_tls(const struct render_input *in);

/* Whether a user's environment has the variable with that value, or any if value is NULL. */
bool render_env_has(const json_t *env, const char *name, const char *value);
/* Whether it has the variable with a value that an agent's option takes for true. */
bool render_env_on(const json_t *env, const char *name);

/* Environment of both agents: the key that they send, and how they verify the server. */
int render_agent_key(json_t *env, const struct coroot_spec *s) MUST_CHECK;
int render_agent_trust(json_t *env, const struct render_input *in,
		       const struct coroot_agent_tls *tls) MUST_CHECK;
/* The volume of the certificate that the agent trusts and its mount, if there is one. */
int render_agent_ca(json_t *volumes, json_t *mounts, const struct render_input *in,
		    const struct coroot_agent_tls *tls) MUST_CHECK;
/*
 * Annotations of the agents' pods: the user's and, if the resource has the agents' key in it, one
 * that changes with the key, because a pod reads variables only when it starts.
 */
json_t *render_agent_annotations(const struct coroot_spec *s, const json_t *user);

/* Sets "image" and "imagePullPolicy" of a container. */
int render_image(json_t *container, const struct coroot_image *given,
		 const char *fallback) MUST_CHECK;

/*
 * Sets the probes of a container that serves on RENDER_PORT. The first start may take minutes: an
 * embedded engine reads its data, and a directory may be locked by a process that is ending.
 */
int render_probes(json_t *container, bool tls) MUST_CHECK;

/* Append a volume or a mount. */
int render_empty_dir(json_t *volumes, const char *name) MUST_CHECK;
/* A directory of the node, which is made if it is not there, and stays. */
int render_host_dir(json_t *volumes, const char *name, const char *path) MUST_CHECK;
int render_mount(json_t *mounts, const char *volume, const char *path, bool read_only) MUST_CHECK;
/* sources: array of render_secret_file(), taken over. */
int render_projected(json_t *volumes, const char *name, json_t *sources) MUST_CHECK;
/* One key of a Secret as a file. */
json_t *render_secret_file(const struct coroot_secret_key *key, const char *file);

int render_service_account(struct rendered *out, const struct coroot_spec *s, const char *component,
			   const char *suffix) MUST_CHECK;
/* Lets the service account use verbs on the pods of all namespaces; verbs is taken over. */
int render_pod_access(struct rendered *out, const struct coroot_spec *s, const char *component,
		      const char *suffix, json_t *verbs) MUST_CHECK;
/* "matchLabels" of a component's pods. */
json_t *render_selector(const struct coroot_spec *s, const char *component);

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_RENDER_PARTS_H */
