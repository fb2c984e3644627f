/*
 * Extracts the API server's reason for refusing a request: the "message" of its Status object
 * (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/). Pure.
 */
#ifndef COMMON_KUBERNETES_KUBE_STATUS_H
#define COMMON_KUBERNETES_KUBE_STATUS_H

#include "common/base.h"

#define KUBE_STATUS_MESSAGE_BYTES ((size_t)512)

/*
 * Makes one line of valid UTF-8 without control characters, truncated to fit: the message if
 * there is one; else "HTTP status N", followed by the first line of the body if that is plain
 * text.
 */
void kube_status_message(int status, const char *body, size_t len,
			 char ret[static KUBE_STATUS_MESSAGE_BYTES]);

/* Makes such a line of a program's output; *ret is "" if there is none. size is not 0. */
void kube_status_line(const char *text, size_t len, char *ret, size_t size);

#endif /* COMMON_KUBERNETES_KUBE_STATUS_H */
