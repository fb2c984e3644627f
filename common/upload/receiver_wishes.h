/*
 * What a receiver wishes profiles to be like: GET on the address that takes them answers a small
 * JSON object, if the receiver is one of ours:
 *   {"naming":"own","extraLabels":true}
 * Any other receiver is taken for a Coroot server: it finds profiles by the names that Coroot's
 * agents use, and stores every label that it gets. Pure; input is untrusted.
 */
#ifndef COMMON_UPLOAD_RECEIVER_WISHES_H
#define COMMON_UPLOAD_RECEIVER_WISHES_H

#include "common/base.h"
#include "common/text/kube_names.h"

#define RECEIVER_WISHES_BYTES 1024 /* more than any answer needs */

struct receiver_wishes {
	enum kube_naming naming;
	bool extra_labels; /* k8s.namespace.name and the like are welcome */
};

/* Of a receiver that has not been asked, or does not know the question. */
#define RECEIVER_WISHES_COROOT ((struct receiver_wishes){KUBE_NAMING_COROOT, false})
#define RECEIVER_WISHES_OWN ((struct receiver_wishes){KUBE_NAMING_OWN, true})

/* Returns 0, or -EBADMSG if body is not such an object. Unknown members are ignored. */
int receiver_wishes_parse(struct receiver_wishes *ret, const char *body, size_t len) MUST_CHECK;

/* The body of the answer, static. */
const char *receiver_wishes_json(const struct receiver_wishes *w);

#endif /* COMMON_UPLOAD_RECEIVER_WISHES_H */
