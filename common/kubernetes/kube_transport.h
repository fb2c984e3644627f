/*
 * Keeps the http_client for a kube_config, and makes a new one for later requests whenever the
 * CA, the client certificate or the certificate of a plugin has changed: an http_client keeps
 * connections that were authenticated with what it was made with. The old one is freed when its
 * last request has ended. Loop thread only.
 */
#ifndef COMMON_KUBERNETES_KUBE_TRANSPORT_H
#define COMMON_KUBERNETES_KUBE_TRANSPORT_H

#include "common/base.h"
#include "common/http/http.h"
#include "common/kubernetes/kube_config.h"
#include "common/kubernetes/kube_credentials.h"
#include "common/system/loop.h"

struct kube_transports;
struct kube_transport; /* an http_client and the number of requests that use it */

/* cfg is borrowed. Returns 0 or -ENOMEM. */
int kube_transports_new(struct kube_transports **ret, struct loop *l,
			const struct kube_config *cfg) MUST_CHECK;
/* Cancels all requests. */
void kube_transports_free(struct kube_transports *ts);
DEFINE_CLEANUP(struct kube_transports *, kube_transports_free);

/* For one request, until kube_transport_put(). Returns 0, -ENOMEM, -EMFILE … */
int kube_transports_get(struct kube_transports *ts, const struct kube_identity *who,
			struct kube_transport **ret) MUST_CHECK;
struct http_client *kube_transport_http(const struct kube_transport *t);
void kube_transport_put(struct kube_transport *t);

/*
 * Frees old transports without requests. Do not call from within a callback of an http_client.
 */
void kube_transports_sweep(struct kube_transports *ts);

#endif /* COMMON_KUBERNETES_KUBE_TRANSPORT_H */
