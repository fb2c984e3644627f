/* What a Pod object of the API says about names. Pure; the input is untrusted. */
#ifndef COMMON_KUBERNETES_KUBE_POD_H
#define COMMON_KUBERNETES_KUBE_POD_H

#include <jansson.h>

#include "common/base.h"
#include "common/text/kube_names.h"

/* Returns the text if kube_part_is_valid(), else NULL. Borrowed. */
const char *kube_part_text(const json_t *v);

/*
 * What the pod's workload is called: by its annotation if that is valid, else the workload behind
 * its controller (kube_owner_name()), or, if it has lost that, the one in its labels. Of a pod that
 * never had one, it is what the pod's name was generated from. If it has owners that are no
 * controllers, the name decides as kube_owner_len() says. Any other is its own workload, named
 * without the node it runs on. *ret is "" if the pod has no valid name.
 */
void kube_pod_owner(char ret[static KUBE_PART_BYTES], const json_t *pod);

/* Whether a kubelet runs it by a file of its own: its controller is a node. */
bool kube_pod_is_static(const json_t *pod);

#endif /* COMMON_KUBERNETES_KUBE_POD_H */
