#include "common/kubernetes/kube_endpoint.h"

#include <errno.h>
#include <strings.h>

static const char https[] = "https://";

void kube_endpoint_fini(struct kube_endpoint *e)
{
	free(e->base);
	free(e->connect_to);
	free(e->host_header);
	*e = (struct kube_endpoint){0};
}

/*
 * Puts the expected name into the URL, so that TLS sends and checks it, and connects to the
 * address.
 */
static int rename_server(struct kube_endpoint *ret, const char *server, const char *name,
			 struct err *err)
{
	const char *host = server + strlen(https), *path, *colon;
	size_t host_len;
	int len;

	if (strncasecmp(server, https, strlen(https)) != 0)
		return err_set(err, -ENOTSUP, "a tls-server-name for %s, which has no TLS", server);
	len = (int)strcspn(host, "/");
	path = host + len;
	colon = memrchr(host, ':', (size_t)len);
	if (colon && memchr(colon, ']', (size_t)(path - colon)))
		colon = NULL;
	host_len = colon ? (size_t)(colon - host) : (size_t)len;
	if (host_len == 0 || memchr(host, '@', (size_t)len))
		return err_set(err, -ENOTSUP, "a tls-server-name for the server \"%.*s\"", len,
			       host);
	if (!colon)
		colon = path;
	if (asprintf(&ret->base, "%s%s%.*s%s", https, name, (int)(path - colon), colon, path) < 0) {
		ret->base = NULL;
		return -ENOMEM;
	}
	if (asprintf(&ret->connect_to, "%.*s%s", len, host, colon == path ? ":443" : "") < 0) {
		ret->connect_to = NULL;
		return -ENOMEM;
	}
	if (asprintf(&ret->host_header, "Host: %.*s", len, host) < 0) {
		ret->host_header = NULL;
		return -ENOMEM;
	}
	return 0;
}

int kube_endpoint_make(struct kube_endpoint *ret, const char *server, const char *tls_server_name,
		       struct err *err)
{
	int r = 0;

	if (tls_server_name) {
		r = rename_server(ret, server, tls_server_name, err);
	} else {
		ret->base = strdup(server);
		r = ret->base ? 0 : -ENOMEM;
	}
	if (r < 0)
		kube_endpoint_fini(ret);
	return r;
}
