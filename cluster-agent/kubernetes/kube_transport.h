/*
 * The http_client of a kube_config, and a new one for later requests whenever a file of its CA
 * or certificate, or the certificate of a plugin, has changed: connections know what they were
 * made with. The old one goes when its last request has ended. Loop thread only.
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_TRANSPORT_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_TRANSPORT_H

#include "cluster-agent/kubernetes/kube_config.h"
#include "cluster-agent/kubernetes/kube_credentials.h"
#include "common/base.h"
#include "common/http/http.h"
#include "common/system/loop.h"

struct kube_transports;
struct kube_transport; /* one http_client and how many requests use it */

/* cfg is borrowed. -ENOMEM. */
int kube_transports_new(struct kube_transports **ret, struct loop *l,
			const struct kube_config *cfg) MUST_CHECK;
/* Cancels what is under way. */
void kube_transports_free(struct kube_transports *ts);
DEFINE_CLEANUP(struct kube_transports *, kube_transports_free);

/* For one request, until kube_transport_put(). -ENOMEM, -EMFILE … */
int kube_transports_get(struct kube_transports *ts, const struct kube_identity *who,
			struct kube_transport **ret) MUST_CHECK;
struct http_client *kube_transport_http(const struct kube_transport *t);
void kube_transport_put(struct kube_transport *t);

/* Free those nobody uses any more. Not from inside a callback of theirs. */
void kube_transports_sweep(struct kube_transports *ts);

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_TRANSPORT_H */
