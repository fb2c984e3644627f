/*
 * How to reach an API server and as whom: a kubeconfig file, or the service
 * account of the pod we run in.
 *
 * Sources: k8s.io/client-go/tools/clientcmd/api/v1/types.go (kubeconfig) and
 * rest.InClusterConfig() (KUBERNETES_SERVICE_HOST, _PORT and the files under
 * /var/run/secrets/kubernetes.io/serviceaccount).
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_CONFIG_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_CONFIG_H

#include "common/base.h"
#include "common/err.h"

#define KUBE_CONFIG_FILE_BYTES ((size_t)4 * 1024 * 1024)
#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* A command that prints an ExecCredential (client.authentication.k8s.io/v1 or v1beta1). */
struct kube_exec {
	char *command; /* NULL: there is none */
	char **args;   /* NULL-terminated, without the command */
	char **env;    /* "NAME=value", NULL-terminated; added to ours */
	char *api_version;
	bool provide_cluster_info;
	char *cluster_config; /* JSON; what the cluster's entry has for the plugin */
};

/* Strings are owned; NULL when not given. Of a pair "_file" and "_pem" at most one is set. */
struct kube_config {
	char *server;    /* https://host:port[/base], without a '/' at the end */
	char *namespace; /* of the context or service account; "default" when neither says */
	char *tls_server_name;
	char *proxy_url; /* NULL: as the environment says */
	bool insecure_skip_verify;
	char *ca_file;
	char *ca_pem;
	char *cert_file;
	char *cert_pem;
	char *key_file;
	char *key_pem;
	char *token;
	char *token_file; /* read again when it changes; wins over token, as in client-go */
	char *username;
	char *password;
	struct kube_exec exec;
};

/* Whether we are in a pod that has a token of its service account in dir, as client-go decides it. */
bool kube_config_in_cluster(const char *dir);

/*
 * ret is zeroed before. -ENOENT: not in a pod; -EINVAL: its environment makes no sense; -errno of
 * reading the token. With a sentence in err. -ENOMEM.
 */
int kube_config_load_service_account(struct kube_config *ret, const char *dir,
				     struct err *err) MUST_CHECK;

/*
 * path: a file, or several as in KUBECONFIG ("a:b"), of which some may be missing and the first wins.
 * context: NULL for the current-context. ret is zeroed before. -errno of reading; -EFBIG; -EBADMSG:
 * not a kubeconfig; -ENOENT: also no such context, cluster or user; -ENOTSUP: an auth-provider,
 * which client-go has dropped too, impersonation, or a plugin that asks at a terminal. With a
 * sentence in err. -ENOMEM.
 */
int kube_config_load_file(struct kube_config *ret, const char *path, const char *context,
			  struct err *err) MUST_CHECK;

/* ret is zeroed before. -ENOMEM. */
int kube_config_copy(struct kube_config *ret, const struct kube_config *c) MUST_CHECK;

void kube_config_fini(struct kube_config *c);

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_CONFIG_H */
