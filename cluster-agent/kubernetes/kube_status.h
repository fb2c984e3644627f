/*
 * What the API server says of a request it refused: the "message" of its Status object
 * (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/). Pure.
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_STATUS_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_STATUS_H

#include "common/base.h"

#define KUBE_STATUS_MESSAGE_BYTES ((size_t)512)

/*
 * One line, valid UTF-8 without control characters, cut to fit: the message, or the first line
 * of a text that is no page, with "HTTP status N" in front of it; that alone when there is
 * nothing else.
 */
void kube_status_message(int status, const char *body, size_t len,
			 char ret[static KUBE_STATUS_MESSAGE_BYTES]);

/* What a program printed, as such a line; ret is "" when that is nothing. size is not 0. */
void kube_status_line(const char *text, size_t len, char *ret, size_t size);

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_STATUS_H */
