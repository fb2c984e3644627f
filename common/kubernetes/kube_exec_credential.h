/*
 * Writes the input of an exec plugin and parses its output. Pure. Source:
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/, client-go credential
 * plugins
 */
#ifndef COMMON_KUBERNETES_KUBE_EXEC_CREDENTIAL_H
#define COMMON_KUBERNETES_KUBE_EXEC_CREDENTIAL_H

#include "common/base.h"
#include "common/err.h"
#include "common/kubernetes/kube_config.h"

/* A token, or a certificate with its key, or both. */
struct kube_exec_credential {
	char *token; /* printable ASCII without spaces */
	char *cert_pem;
	char *key_pem;
	int64_t expires_ns; /* since the Unix epoch; INT64_MAX if not given */
};

/*
 * *ret is zeroed before the call, and again on failure. Returns 0, -ENOMEM, or -EBADMSG with a
 * sentence in err, which does not quote the text because it may contain secrets.
 */
int kube_exec_credential_parse(struct kube_exec_credential *ret, const char *text, size_t len,
			       const char *api_version, struct err *err) MUST_CHECK;
void kube_exec_credential_fini(struct kube_exec_credential *c);

/*
 * Makes the value of KUBERNETES_EXEC_INFO. ca_pem is NULL if the cluster has no CA of its own.
 * The caller frees *ret. Returns 0, -ENOMEM or -EFBIG.
 */
int kube_exec_info(char **ret, const struct kube_config *cfg, const char *ca_pem) MUST_CHECK;

/* Returns whether the text can be sent as a bearer token: printable ASCII without spaces. */
bool kube_token_is_usable(const char *token);

#endif /* COMMON_KUBERNETES_KUBE_EXEC_CREDENTIAL_H */
