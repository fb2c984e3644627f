/* Where requests go, cut into what an HTTP request needs of it. Pure. */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_ENDPOINT_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_ENDPOINT_H

#include "common/base.h"
#include "common/err.h"

/* Strings are owned. */
struct kube_endpoint {
	char *base; /* a path is put behind it */
	/* When a certificate is expected to have another name than the server; else NULL: */
	char *connect_to;  /* "10.0.0.1:6443", "[::1]:6443" */
	char *host_header; /* "Host: …": the server's own name */
};

/*
 * server and tls_server_name (may be NULL) as of a kube_config. ret is zeroed before, and after
 * a failure. -ENOMEM; -ENOTSUP: tls_server_name with a server that has no host, a user or no
 * TLS, with a sentence in err.
 */
int kube_endpoint_make(struct kube_endpoint *ret, const char *server, const char *tls_server_name,
		       struct err *err) MUST_CHECK;
void kube_endpoint_fini(struct kube_endpoint *e);

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_ENDPOINT_H */
