/*
 * What a pod's name says about its owner. Pure.
 *
 * The rules are Coroot's (coroot-node-agent, common/otel.go), so that every agent gives a
 * workload the name that a Coroot server expects, also those agents that know nothing of a pod
 * but its name. They may be wrong (a bare pod "web-2" is taken for a replica of "web"), but
 * they are wrong in the same way everywhere.
 */
#ifndef COMMON_TEXT_KUBE_NAMES_H
#define COMMON_TEXT_KUBE_NAMES_H

#include "common/base.h"

/*
 * Length of the beginning of a pod's name that is its owner's; 0: no rule fits. Tried in this
 * order, where x is one of bcdfghjklmnpqrstvwxz2456789:
 *   Deployment         <owner>-<1 to 10 hex digits>-xxxxx
 *   DaemonSet, Job     <owner>-xxxxx
 *   StatefulSet        <owner>-<decimal digits>
 */
size_t kube_owner_len(const char *pod, size_t len);

#endif /* COMMON_TEXT_KUBE_NAMES_H */
