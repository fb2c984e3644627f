/*
 * Which labels of pods, namespaces or nodes become labels of profiles: the values of --pod-labels
 * and its like, as "app.kubernetes.io/version,team". Pure.
 */
#ifndef COMMON_KUBERNETES_LABEL_KEYS_H
#define COMMON_KUBERNETES_LABEL_KEYS_H

#include <jansson.h>

#include "common/base.h"
#include "common/err.h"

#define LABEL_KEYS_MAX 16u
#define POD_LABEL_KEYS_DEFAULT "app.kubernetes.io/version"

struct label_keys {
	char *text; /* owned; keys point into it */
	const char *keys[LABEL_KEYS_MAX];
	size_t n;
};

/*
 * list may be NULL, which is empty; blanks around a key do not matter. Returns 0, -ENOMEM, or
 * -EINVAL with a sentence about the list, which does not name the option.
 */
int label_keys_parse(struct label_keys *ret, const char *list, struct err *err) MUST_CHECK;
void label_keys_fini(struct label_keys *k);

/* The object's label, borrowed; NULL if it has none, or one that is empty or no label's value. */
const char *label_keys_value(const json_t *object, const char *key);

#endif /* COMMON_KUBERNETES_LABEL_KEYS_H */
