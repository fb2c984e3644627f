/*
 * Kernels on which sampling can freeze the machine, by version.
 */
#ifndef NODE_AGENT_SAMPLE_KNOWN_KERNELS_H
#define NODE_AGENT_SAMPLE_KNOWN_KERNELS_H

#include "common/base.h"
#include "common/err.h"

struct kernel_version {
	unsigned major;
	unsigned minor;
	unsigned patch;
};

/*
 * The version of the stable kernel that a running one was made from. release and version are those
 * of uname(2). Distributions often keep the release at X.Y.0: Debian has the version in `version`,
 * Ubuntu at the end of /proc/version_signature, which is "" elsewhere. Pure. Returns 0, or -EBADMSG
 * if there is no version.
 */
int kernel_version_parse(const char *release, const char *version, const char *signature,
			 struct kernel_version *ret) MUST_CHECK;

/* Returns whether reading user memory in a BPF program can freeze this kernel. Pure. */
bool kernel_is_known_bad(const struct kernel_version *v);

/* Returns 0, or -EOPNOTSUPP with one sentence in err if the running kernel is known to be bad. */
int known_kernels_check(struct err *err) MUST_CHECK;

#endif /* NODE_AGENT_SAMPLE_KNOWN_KERNELS_H */
