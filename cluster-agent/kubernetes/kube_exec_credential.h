/*
 * What is said to an exec plugin and what it answers. Pure. Source:
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_EXEC_CREDENTIAL_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_EXEC_CREDENTIAL_H

#include "cluster-agent/kubernetes/kube_config.h"
#include "common/base.h"
#include "common/err.h"

/* A token, or a certificate with its key, or both. */
struct kube_exec_credential {
	char *token; /* printable ASCII without spaces */
	char *cert_pem;
	char *key_pem;
	int64_t expires_ns; /* since the epoch; INT64_MAX: not said */
};

/*
 * ret is zeroed before, and after a failure. -EBADMSG with a sentence that shows nothing of the
 * text, which may be secret; -ENOMEM.
 */
int kube_exec_credential_parse(struct kube_exec_credential *ret, const char *text, size_t len,
			       const char *api_version, struct err *err) MUST_CHECK;
void kube_exec_credential_fini(struct kube_exec_credential *c);

/*
 * The value of KUBERNETES_EXEC_INFO. ca_pem: the CA, NULL when there is none of its own. *ret
 * is the caller's. -ENOMEM; -EFBIG.
 */
int kube_exec_info(char **ret, const struct kube_config *cfg, const char *ca_pem) MUST_CHECK;

/* Whether a text can be sent as a bearer token. */
bool kube_token_is_usable(const char *token);

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_EXEC_CREDENTIAL_H */
