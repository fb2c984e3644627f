/*
 * Sends requests for Leases, of one group or a single one, and classifies the answers. Loop thread
 * only.
 */
#ifndef COMMON_KUBERNETES_LEASE_REQUESTS_H
#define COMMON_KUBERNETES_LEASE_REQUESTS_H

#include "common/base.h"
#include "common/kubernetes/kube_client.h"
#include "common/kubernetes/lease_json.h"

enum lease_answer {
	LEASE_ANSWER_OK,
	LEASE_ANSWER_NONE,     /* 404 */
	LEASE_ANSWER_CONFLICT, /* 409: the Lease has changed since it was read */
	LEASE_ANSWER_FORBIDDEN,
	LEASE_ANSWER_TIMEOUT,
	LEASE_ANSWER_UNREACHABLE,
	LEASE_ANSWER_REFUSED, /* any other HTTP status */
	LEASE_ANSWER_BAD,     /* cannot be parsed */
	LEASE_ANSWER_MAX,
};

struct lease_requests_config {
	struct kube_client *client; /* borrowed */
	const char *namespace;
	const char *group;   /* NULL: no labels, and no list */
	int64_t duration_s;  /* written into the Lease */
	uint64_t timeout_ns; /* of one request */
};

struct lease_requests {
	struct lease_requests_config cfg;
	char *namespace;
	char *group;
	char *leases_path;
};

/* namespace and group must be DNS labels. Returns 0, -ENOMEM or -EINVAL. */
int lease_requests_init(struct lease_requests *q,
			const struct lease_requests_config *cfg) MUST_CHECK;
void lease_requests_fini(struct lease_requests *q);

/*
 * Makes "<group>-<name>" with characters replaced that the name of an object must not have. ret
 * has LEASE_NAME_BYTES. Returns 0, or -EINVAL if it is too long or nothing of name remains.
 */
int lease_requests_name(const char *group, const char *name, char *ret) MUST_CHECK;

/* Return what kube_client_send() does; done and ctx are passed to it. */
int lease_requests_get(struct lease_requests *q, const char *name, kube_done_fn done, void *ctx,
		       struct kube_call **ret) MUST_CHECK;
int lease_requests_list(struct lease_requests *q, kube_done_fn done, void *ctx,
			struct kube_call **ret) MUST_CHECK;
/* Creates the Lease if it has no version, else replaces that version. */
int lease_requests_put(struct lease_requests *q, const struct lease *l, kube_done_fn done,
		       void *ctx, struct kube_call **ret) MUST_CHECK;
int lease_requests_delete(struct lease_requests *q, const char *name, const char *version,
			  kube_done_fn done, void *ctx, struct kube_call **ret) MUST_CHECK;

/*
 * Classifies an answer, and with LEASE_ANSWER_OK parses it into *ret, which is zeroed before
 * the call.
 */
enum lease_answer lease_requests_read(struct lease_doc *ret, const struct kube_result *result);
/* Classifies an answer without looking at its body. */
enum lease_answer lease_requests_status(const struct kube_result *result);

#endif /* COMMON_KUBERNETES_LEASE_REQUESTS_H */
