/*
 * Code that signal handlers return to, which makes the kernel restore all registers. Pure.
 *
 * glibc describes its own as the frame of a signal handler. Those of musl, of Go and of arm64's
 * vDSO are recognized by their instructions, as debuggers do.
 */
#ifndef NODE_AGENT_UNWIND_CFI_CFI_SIGNAL_H
#define NODE_AGENT_UNWIND_CFI_CFI_SIGNAL_H

#include <linux/types.h>

#include "common/base.h"

#include "bpf/unwind_table.h"

#define CFI_SIGNAL_FUNCTION_MAX_BYTES 64u
#define CFI_SIGNAL_CODE_MAX_BYTES 9u

/* For such code and for the byte before it, where walks look return addresses up. */
extern const struct unwind_rule cfi_signal_rule;

/* Offset of the first such code for this machine (EM_…), or -ENOENT. */
int cfi_signal_find(uint16_t machine, const uint8_t *code, size_t len);

#endif /* NODE_AGENT_UNWIND_CFI_CFI_SIGNAL_H */
