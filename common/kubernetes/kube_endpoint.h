/* Splits the URL of an API server into the parts that an HTTP request needs. Pure. */
#ifndef COMMON_KUBERNETES_KUBE_ENDPOINT_H
#define COMMON_KUBERNETES_KUBE_ENDPOINT_H

#include "common/base.h"
#include "common/err.h"

/* Strings are owned. */
struct kube_endpoint {
	char *base; /* the path of a request is appended to it */
	/* Only if the certificate has another name than the server's URL, else NULL: */
	char *connect_to;  /* "10.0.0.1:6443", "[::1]:6443" */
	char *host_header; /* "Host: …" with the server's own name */
};

/*
 * server and tls_server_name (may be NULL) are those of a kube_config. *ret is zeroed before
 * the call, and again on failure. Returns 0, -ENOMEM, or -ENOTSUP with a sentence in err if
 * tls_server_name is given for a URL without host, with a user, or without TLS.
 */
int kube_endpoint_make(struct kube_endpoint *ret, const char *server, const char *tls_server_name,
		       struct err *err) MUST_CHECK;
void kube_endpoint_fini(struct kube_endpoint *e);

#endif /* COMMON_KUBERNETES_KUBE_ENDPOINT_H */
