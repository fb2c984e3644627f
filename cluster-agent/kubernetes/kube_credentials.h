/*
 * As whom requests are made: what of a kube_config changes while we run. Loop thread only.
 *
 * A token file is read again when it changes and before what was read is a minute old; while it
 * cannot be read, the token of before stays. What an exec plugin gave stays until a quarter of
 * its time, at most a minute, is left, or until it is refused; one run serves everybody who
 * waits for it.
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_CREDENTIALS_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_CREDENTIALS_H

#include "cluster-agent/kubernetes/kube_config.h"
#include "common/base.h"
#include "common/err.h"
#include "common/system/loop.h"

struct kube_credentials;

/* Borrowed until the next turn of the loop; NULL: none. */
struct kube_identity {
	const char *header;   /* "Authorization: …" */
	const char *cert_pem; /* in place of that of the kube_config */
	const char *key_pem;
	uint64_t generation; /* another one when any of them is */
};

enum kube_credentials_outcome {
	KUBE_CREDENTIALS_READY,
	KUBE_CREDENTIALS_FETCHING, /* fetched will be called */
};

/* A run of the plugin has ended: ask again, or err (else NULL) says why there is nothing. */
typedef void (*kube_fetched_fn)(void *ctx, const struct err *err);

/* cfg is borrowed. -ENOMEM. -EBADMSG: a token that cannot be sent, with a sentence in err. */
int kube_credentials_new(struct kube_credentials **ret, struct loop *l,
			 const struct kube_config *cfg, struct err *err) MUST_CHECK;
/* Kills the plugin. */
void kube_credentials_free(struct kube_credentials *c);
DEFINE_CLEANUP(struct kube_credentials *, kube_credentials_free);
/* Before the first kube_credentials_get(). */
void kube_credentials_on_fetched(struct kube_credentials *c, kube_fetched_fn fetched, void *ctx);

/* An outcome; -ENOMEM; -EACCES with a sentence in err. */
int kube_credentials_get(struct kube_credentials *c, struct kube_identity *ret,
			 struct err *err) MUST_CHECK;

/* The server refused those of this generation. Whether there are, or may be, others now. */
bool kube_credentials_refused(struct kube_credentials *c, uint64_t generation);

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_CREDENTIALS_H */
