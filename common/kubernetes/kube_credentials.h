/*
 * Provides the identity for requests: the part of a kube_config that changes while we run. Loop
 * thread only.
 *
 * A token file is read again when it changes, and before the token is a minute old; if it
 * cannot be read, the previous token stays in use. Credentials from an exec plugin are used
 * until a quarter of their lifetime is left (a minute at most), or until the server refuses
 * them; one run of the plugin serves all waiting requests.
 */
#ifndef COMMON_KUBERNETES_KUBE_CREDENTIALS_H
#define COMMON_KUBERNETES_KUBE_CREDENTIALS_H

#include "common/base.h"
#include "common/err.h"
#include "common/kubernetes/kube_config.h"
#include "common/system/loop.h"

struct kube_credentials;

/* Strings are borrowed until the next turn of the loop; NULL if there is none. */
struct kube_identity {
	const char *header;   /* "Authorization: …" */
	const char *cert_pem; /* replaces that of the kube_config */
	const char *key_pem;
	uint64_t generation; /* changes whenever one of them changes */
};

enum kube_credentials_outcome {
	KUBE_CREDENTIALS_READY,
	KUBE_CREDENTIALS_FETCHING, /* the plugin is running; fetched will be called */
};

/*
 * The plugin has ended. Call kube_credentials_get() again, unless err (else NULL) says why it
 * failed.
 */
typedef void (*kube_fetched_fn)(void *ctx, const struct err *err);

/*
 * cfg is borrowed. Returns 0, -ENOMEM, or -EBADMSG with a sentence in err if the token cannot
 * be sent in a header.
 */
int kube_credentials_new(struct kube_credentials **ret, struct loop *l,
			 const struct kube_config *cfg, struct err *err) MUST_CHECK;
/* Kills the plugin. */
void kube_credentials_free(struct kube_credentials *c);
DEFINE_CLEANUP(struct kube_credentials *, kube_credentials_free);
/* Call before the first kube_credentials_get(). */
void kube_credentials_on_fetched(struct kube_credentials *c, kube_fetched_fn fetched, void *ctx);

/* Returns an outcome, -ENOMEM, or -EACCES with a sentence in err. */
int kube_credentials_get(struct kube_credentials *c, struct kube_identity *ret,
			 struct err *err) MUST_CHECK;

/*
 * The server answered 401 to the credentials of this generation. Returns whether others are
 * available, or may be after a run of the plugin.
 */
bool kube_credentials_refused(struct kube_credentials *c, uint64_t generation);

#endif /* COMMON_KUBERNETES_KUBE_CREDENTIALS_H */
