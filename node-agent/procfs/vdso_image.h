/*
 * The vDSO: an ELF image that the kernel maps into every process. All 64-bit processes have
 * the same, so the agent's own one serves for all.
 */
#ifndef NODE_AGENT_PROCFS_VDSO_IMAGE_H
#define NODE_AGENT_PROCFS_VDSO_IMAGE_H

#include "common/base.h"

/* Copies it; the caller frees the copy. Returns 0, -ENOENT if there is no vDSO, or -ENOMEM. */
int vdso_image_copy(void **ret, size_t *ret_len) MUST_CHECK;

#endif /* NODE_AGENT_PROCFS_VDSO_IMAGE_H */
