/*
 * How to reach an API server, and with which identity. kube_config_load.h fills it in, from
 * kubeconfig files or from the service account of the pod that we run in.
 */
#ifndef COMMON_KUBERNETES_KUBE_CONFIG_H
#define COMMON_KUBERNETES_KUBE_CONFIG_H

#include "common/base.h"

/* A command that prints an ExecCredential (client.authentication.k8s.io/v1 or v1beta1). */
struct kube_exec {
	char *command; /* NULL: no plugin */
	char **args;   /* NULL-terminated, without the command */
	char **env;    /* "NAME=value", NULL-terminated; added to our environment */
	char *api_version;
	bool provide_cluster_info;
	char *cluster_config; /* JSON: the plugin's extension in the cluster's entry */
};

/*
 * Owns its strings, which are NULL if not given. At most one of each pair "_file" and "_pem" is
 * set.
 */
struct kube_config {
	char *server;    /* https://host:port[/base], without a '/' at the end */
	char *namespace; /* of the context or service account, else "default" */
	char *tls_server_name;
	char *proxy_url; /* NULL: from http_proxy and the like */
	bool insecure_skip_verify;
	char *ca_file;
	char *ca_pem;
	char *cert_file;
	char *cert_pem;
	char *key_file;
	char *key_pem;
	char *token;
	char *token_file; /* read again when it changes; takes precedence over token */
	char *username;
	char *password;
	struct kube_exec exec;
};

/* *ret is zeroed before the call. Returns 0 or -ENOMEM; on failure *ret is zeroed again. */
int kube_config_copy(struct kube_config *ret, const struct kube_config *c) MUST_CHECK;

void kube_config_fini(struct kube_config *c);

#endif /* COMMON_KUBERNETES_KUBE_CONFIG_H */
