/*
 * The vDSO: an ELF image which the kernel maps into every process, the same for all of one
 * kernel and class, so ours stands for everybody's 64-bit one.
 */
#ifndef NODE_AGENT_SYMBOL_VDSO_IMAGE_H
#define NODE_AGENT_SYMBOL_VDSO_IMAGE_H

#include "common/base.h"

/* A copy of our own, freed by the caller. -ENOENT: this process has none; -ENOMEM. */
int vdso_image_copy(void **ret, size_t *ret_len) MUST_CHECK;

#endif /* NODE_AGENT_SYMBOL_VDSO_IMAGE_H */
