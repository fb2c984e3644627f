/*
 * Derives the owner of a pod from the pod's name. Pure.
 *
 * The rules are Coroot's (coroot-node-agent, common/otel.go), so that every agent gives a
 * workload the name that a Coroot server expects, even an agent that knows nothing about a pod
 * but its name. They can be wrong (a bare pod "web-2" is taken for a replica of "web"), but are
 * wrong in the same way everywhere.
 */
#ifndef COMMON_TEXT_KUBE_NAMES_H
#define COMMON_TEXT_KUBE_NAMES_H

#include "common/base.h"

/*
 * Returns the length of the owner's name, with which the pod's name begins, or 0 if no rule
 * matches. The rules in their order, where x is one of bcdfghjklmnpqrstvwxz2456789:
 *   Deployment         <owner>-<1 to 10 hex digits>-xxxxx
 *   DaemonSet, Job     <owner>-xxxxx
 *   StatefulSet        <owner>-<decimal digits>
 */
size_t kube_owner_len(const char *pod, size_t len);

#endif /* COMMON_TEXT_KUBE_NAMES_H */
