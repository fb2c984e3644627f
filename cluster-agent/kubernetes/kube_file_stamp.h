/*
 * Whether a file is still the one that was read. Names of one that is not there have a stamp
 * too.
 */
#ifndef CLUSTER_AGENT_KUBERNETES_KUBE_FILE_STAMP_H
#define CLUSTER_AGENT_KUBERNETES_KUBE_FILE_STAMP_H

#include "common/base.h"

struct kube_file_stamp {
	uint64_t dev, ino, size, changed_ns; /* all 0: not there */
};

/* path may be NULL: not there. Follows symbolic links, as those of a mounted Secret. */
struct kube_file_stamp kube_file_stamp(const char *path);
bool kube_file_stamp_equal(const struct kube_file_stamp *a, const struct kube_file_stamp *b);

#endif /* CLUSTER_AGENT_KUBERNETES_KUBE_FILE_STAMP_H */
