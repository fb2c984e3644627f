/*
 * Names of Kubernetes objects. Pure; the input is untrusted. A name that passes can be part of a
 * URL's path as it is.
 */
#ifndef COMMON_TEXT_KUBE_OBJECT_NAME_H
#define COMMON_TEXT_KUBE_OBJECT_NAME_H

#include "common/base.h"

/* RFC 1123 label, as namespaces and services are named: at most 63 of a-z, 0-9 and '-'. */
bool kube_name_is_label(const char *s);
/* RFC 1123 subdomain, as most objects are named: labels joined by '.', at most 253 bytes. */
bool kube_name_is_subdomain(const char *s);

#endif /* COMMON_TEXT_KUBE_OBJECT_NAME_H */
