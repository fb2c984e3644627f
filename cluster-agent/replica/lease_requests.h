/*
 * The requests about Leases of one group, and what their answers mean. Loop thread only.
 */
#ifndef CLUSTER_AGENT_REPLICA_LEASE_REQUESTS_H
#define CLUSTER_AGENT_REPLICA_LEASE_REQUESTS_H

#include "cluster-agent/kubernetes/kube_client.h"
#include "cluster-agent/replica/lease_json.h"
#include "common/base.h"

enum lease_answer {
	LEASE_ANSWER_OK,
	LEASE_ANSWER_NONE,     /* 404 */
	LEASE_ANSWER_CONFLICT, /* it is not as it was thought to be */
	LEASE_ANSWER_FORBIDDEN,
	LEASE_ANSWER_TIMEOUT,
	LEASE_ANSWER_UNREACHABLE,
	LEASE_ANSWER_REFUSED, /* any other status */
	LEASE_ANSWER_BAD,     /* not understood */
	LEASE_ANSWER_MAX,
};

struct lease_requests {
	struct kube_client *client; /* borrowed */
	char *namespace;
	char *group;
	char *leases_path;
};

/* namespace and group: DNS labels. -ENOMEM; -EINVAL. */
int lease_requests_init(struct lease_requests *q, struct kube_client *client, const char *namespace,
			const char *group) MUST_CHECK;
void lease_requests_fini(struct lease_requests *q);

/*
 * "<group>-<name>", what may not be in the name of an object replaced. ret has LEASE_NAME_BYTES.
 * -EINVAL: too long, or nothing of name is left.
 */
int lease_requests_name(const char *group, const char *name, char *ret) MUST_CHECK;

/* The results of kube_client_send(); done and ctx are for that too. */
int lease_requests_get(struct lease_requests *q, const char *name, kube_done_fn done, void *ctx,
		       struct kube_call **ret) MUST_CHECK;
int lease_requests_list(struct lease_requests *q, kube_done_fn done, void *ctx,
			struct kube_call **ret) MUST_CHECK;
/* Creates what has no version, else replaces that version. */
int lease_requests_put(struct lease_requests *q, const struct lease *l, kube_done_fn done,
		       void *ctx, struct kube_call **ret) MUST_CHECK;
int lease_requests_delete(struct lease_requests *q, const char *name, const char *version,
			  kube_done_fn done, void *ctx, struct kube_call **ret) MUST_CHECK;

/* With LEASE_ANSWER_OK: what is in the answer; ret is zeroed before. */
enum lease_answer lease_requests_read(struct lease_doc *ret, const struct kube_result *result);
/* Of a request whose answer's body does not matter. */
enum lease_answer lease_requests_status(const struct kube_result *result);

#endif /* CLUSTER_AGENT_REPLICA_LEASE_REQUESTS_H */
